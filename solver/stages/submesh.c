/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sub-meshes of a cluster, the rows of their packing (submesh.h has the condition and why it
 * suffices), and their places. */
#include "solver/stages/submesh.h"

enum { MAX_ROWS = 4096, MAX_CONDITIONS = 32 };

/* Parts of at least `unit` devices may take `per_node` units of each node that is not given away
 * whole. A row is the units taken, whole nodes counted as full: one digit per condition. */
typedef struct {
    int unit, per_node;
    int radix; /* units of the cluster + 1 */
} Condition;

static void list_submeshes(MwArena *arena, MwSubmeshPacking *packing)
{
    MwStageCluster cluster = packing->cluster;
    int parts = 0;
    while ((1 << parts) < cluster.devices_per_node)
        parts++;
    packing->count = parts + cluster.nodes;
    packing->submeshes = MW_NEW(arena, MwStageSubmesh, packing->count);
    for (int i = 0; i < parts; i++)
        packing->submeshes[i] = (MwStageSubmesh){0, 1 << i};
    for (int i = 1; i <= cluster.nodes; i++)
        packing->submeshes[parts + i - 1] = (MwStageSubmesh){i, i * cluster.devices_per_node};
}

/* One per power of two in the devices of a node but the greatest. */
static int list_conditions(MwStageCluster cluster, Condition *conditions)
{
    int count = 0;
    for (int rest = cluster.devices_per_node; rest & (rest - 1);) {
        int lowest = rest & -rest, unit = 2 * lowest;
        rest -= lowest;
        conditions[count++] = (Condition){unit, rest / unit, cluster.nodes * (rest / unit) + 1};
    }
    return count;
}

static int64_t count_rows(const Condition *conditions, int condition_count)
{
    int64_t rows = 1;
    for (int i = 0; i < condition_count && rows <= MAX_ROWS; i++)
        rows *= conditions[i].radix;
    return rows;
}

static int units_taken(const Condition *condition, MwStageSubmesh submesh)
{
    if (submesh.nodes > 0)
        return submesh.nodes * condition->per_node;
    return submesh.devices / condition->unit;
}

static int next_row(const Condition *conditions, int condition_count, MwStageSubmesh submesh,
                    int row)
{
    int next = 0, scale = 1;
    for (int i = 0; i < condition_count; i++) {
        int digit = row % conditions[i].radix + units_taken(&conditions[i], submesh);
        if (digit >= conditions[i].radix)
            return -1;
        next += scale * digit;
        scale *= conditions[i].radix;
        row /= conditions[i].radix;
    }
    return next;
}

MwSubmeshPacking mw_submesh_packing_new(MwArena *arena, MwStageCluster cluster)
{
    MW_ASSERT(cluster.nodes > 0 && cluster.devices_per_node > 0);
    MwSubmeshPacking packing = {.cluster = cluster};
    list_submeshes(arena, &packing);
    Condition conditions[MAX_CONDITIONS];
    int condition_count = list_conditions(cluster, conditions);
    bool only_divisors = count_rows(conditions, condition_count) > MAX_ROWS;
    if (only_divisors)
        condition_count = 0;
    packing.row_count = (int)count_rows(conditions, condition_count);
    packing.next = MW_NEW(arena, int, packing.count *packing.row_count);
    packing.previous = MW_NEW(arena, int, packing.count *packing.row_count);
    for (int i = 0; i < packing.count * packing.row_count; i++)
        packing.next[i] = packing.previous[i] = -1;
    for (int i = 0; i < packing.count; i++) {
        MwStageSubmesh submesh = packing.submeshes[i];
        if (only_divisors && submesh.nodes == 0 && cluster.devices_per_node % submesh.devices != 0)
            continue;
        for (int row = 0; row < packing.row_count; row++) {
            int next = next_row(conditions, condition_count, submesh, row);
            packing.next[i * packing.row_count + row] = next;
            if (next >= 0)
                packing.previous[i * packing.row_count + next] = row;
        }
    }
    return packing;
}

/* Where a sub-mesh goes when `used` says how many devices of each node are taken. */
static int take_place(MwStageCluster cluster, MwStageSubmesh submesh, int *used)
{
    int node = 0, share = submesh.nodes > 0 ? cluster.devices_per_node : submesh.devices;
    while (node < cluster.nodes && used[node] + share > cluster.devices_per_node)
        node++;
    MW_ASSERT(node + mw_max(submesh.nodes, 1) <= cluster.nodes);
    int first = node * cluster.devices_per_node + used[node];
    for (int i = 0; i < mw_max(submesh.nodes, 1); i++)
        used[node + i] += share;
    return first;
}

void mw_submesh_packing_place(const MwSubmeshPacking *packing, int stage_count, const int *submesh,
                              int *first_device)
{
    MwArena *scratch = mw_arena_new();
    int *used = MW_NEW(scratch, int, packing->cluster.nodes);
    for (int size = packing->count - 1; size >= 0; size--)
        for (int i = 0; i < stage_count; i++)
            if (submesh[i] == size)
                first_device[i] = take_place(packing->cluster, packing->submeshes[size], used);
    mw_arena_free(&scratch);
}
