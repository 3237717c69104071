/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the axes of a mesh lie on the nodes of a cluster. */
#include "cost/cost.h"

/* Number of devices in the node of `first` that belong to its group along the axis (`first` has
 * coordinate 0); `even` tells whether every node of the group holds as many. */
static int devices_in_node(int first, int stride, int ways, int per_node, bool *even)
{
    int inner = 0, run = 0;
    *even = true;
    for (int i = 0; i < ways; i++) {
        run++;
        bool node_ends = i + 1 == ways ||
                         (first + i * stride) / per_node != (first + (i + 1) * stride) / per_node;
        if (!node_ends)
            continue;
        if (inner == 0)
            inner = run;
        *even &= run == inner;
        run = 0;
    }
    return inner;
}

/* The path of a mesh axis; the worst of its groups. */
static MwAxisPath axis_path(const MwCluster *cluster, const MwMeshShape *mesh, int axis)
{
    int ways = mesh->size[axis], devices = mw_mesh_devices(mesh), stride = 1;
    int per_node = cluster->devices_per_node;
    for (int i = axis + 1; i < mesh->axis_count; i++)
        stride *= mesh->size[i];
    int inner = ways;
    bool all_even = true;
    for (int device = 0; device < devices; device++) {
        bool even = true;
        if (device / stride % ways == 0)
            inner = (int)mw_min(inner, devices_in_node(device, stride, ways, per_node, &even));
        all_even &= even;
    }
    if (!all_even || ways % inner)
        inner = 1;
    int in_node = (int)mw_min(per_node, devices);
    return (MwAxisPath){.ways = ways,
                        .inner = inner,
                        .outer = ways / inner,
                        .sharers = (int)mw_max(1, in_node / inner)};
}

MwCostModel mw_cost_model(const MwCluster *cluster, const MwMeshShape *mesh)
{
    MW_ASSERT(mw_mesh_devices(mesh) <= mw_cluster_devices(cluster));
    MwCostModel model = {.cluster = cluster, .mesh = *mesh};
    for (int axis = 0; axis < mesh->axis_count; axis++)
        model.path[axis] = axis_path(cluster, mesh, axis);
    return model;
}
