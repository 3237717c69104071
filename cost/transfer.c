/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of a transfer between two sub-meshes in closed form: those of its list of messages
 * (runtime/plan/transfer.h), without making the list.
 *
 * In:  the cluster, the tensor, its two placements.
 * Out: seconds of crossing and of passing on, and the faster way. Units: seconds, bytes,
 *      bytes/s.
 *
 * A hop (a round of messages) takes call + m * latency + the time of its bytes: the alpha-beta
 * model, as for collectives in cost/cost.c. m is the number of messages that one device sends or
 * receives, the larger of both. With
 *   b      bytes of the tensor
 *   n, n'  devices that send, and devices that receive a first copy
 *   w, w'  number of blocks in a dimension, under either spec
 *   k      devices at work in the fullest node of a sub-mesh
 * crossing is one hop, over the node's link if both sub-meshes are in one node, else over the
 * network:
 *   boxes  n + n' - gcd(n, n'). Fewer boxes cannot join n equal shares to n' equal ones, and as
 *          many do if the parts of one side can be cut to match the blocks of the other. There
 *          are at least as many as blocks of both specs intersect, the product over dimensions
 *          of w + w' - gcd(w, w'), and at most one for each element
 *   m      max(boxes / n, boxes / n'), rounded up
 *   bytes  the longer time of b / n at a sender's share of its link and b / n' at a receiver's.
 *          Each of the k devices of a node has a k-th of its network link.
 * Passing on, with r receiving devices per block, goes by the prime factors p of r: mesh axis by
 * mesh axis, greatest primes and longest distances first, p - 1 hops of one message each. When
 * gathering, a device has b / (blocks * r) at first and p times as much after each factor; in a
 * broadcast it always has b / blocks. A hop goes over the node's link if its devices are always
 * in one node.
 *
 * Sources: the bytes of a gather and of a broadcast by recursive doubling, Thakur, Rabenseifner,
 * Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005,
 * section 4.1; crossing once and gathering, Zhuang et al.: On Optimizing the Communication of
 * Model Parallelism, MLSys 2023, section 3. */
#include "cost/transfer.h"

#include "cost/cost.h"

#include <math.h>

/* ---- Position of a sub-mesh ---- */

typedef struct {
    const MwTensorPlacement *placement;
    int devices, blocks;
    int in_node;       /* devices in its fullest node */
    int first_holders; /* devices in its first node that are the first with their block */
    bool is_in_node;   /* the whole sub-mesh is in one node */
} Extent;

/* The position of a placement on the nodes, and its blocks. */
static Extent extent_of(const MwCluster *cluster, const MwTensorPlacement *placement, int rank)
{
    MwAxes axes = mw_spec_axes(placement->spec, rank);
    int per_node = cluster->devices_per_node;
    int devices = mw_mesh_devices(&placement->mesh);
    int head = (int)mw_min(devices, per_node - placement->first_device % per_node);
    MW_ASSERT(placement->first_device + devices <= cluster->nodes * per_node);
    Extent extent = {.placement = placement, .devices = devices, .is_in_node = head == devices};
    extent.blocks = mw_mesh_ways(&placement->mesh, axes);
    extent.in_node = (int)mw_max(head, mw_min(per_node, devices - head));
    for (int device = 0; device < head; device++) {
        int coordinate[MW_MAX_AXES];
        mw_mesh_coordinates(&placement->mesh, device, coordinate);
        extent.first_holders += mw_mesh_is_first(&placement->mesh, axes, coordinate);
    }
    return extent;
}

static int node_of(const MwCluster *cluster, const Extent *extent)
{
    return extent->placement->first_device / cluster->devices_per_node;
}

/* ---- Crossing ---- */

/* Number of boxes in which blocks of both specs intersect. */
static double blocks_meeting(const MwTensor *tensor, const MwTensorPlacement *from,
                             const MwTensorPlacement *to)
{
    double boxes = 1;
    for (int d = 0; d < tensor->rank; d++) {
        int a = mw_mesh_ways(&from->mesh, mw_spec_dim(from->spec, d));
        int b = mw_mesh_ways(&to->mesh, mw_spec_dim(to->spec, d));
        boxes *= (double)(a + b - mw_common_divisor(a, b));
    }
    return boxes;
}

/* Seconds of the hop between the sub-meshes. */
static double crossing_s(const MwCluster *cluster, const MwTensor *tensor, const Extent *from,
                         const Extent *to, bool broadcast)
{
    bool is_near =
        from->is_in_node && to->is_in_node && node_of(cluster, from) == node_of(cluster, to);
    const MwLink *link = is_near ? &cluster->node_link : &cluster->network_link;
    double bytes = (double)mw_tensor_bytes(tensor);
    int senders = from->devices, receivers = broadcast ? to->blocks : to->devices;
    double boxes = (double)(senders + receivers - mw_common_divisor(senders, receivers));
    boxes = fmax(boxes, blocks_meeting(tensor, from->placement, to->placement));
    boxes = fmin(boxes, (double)mw_tensor_elements(tensor));
    double messages = ceil(boxes / fmin(senders, receivers));
    int out_flows = is_near ? 1 : from->in_node;
    int in_flows = is_near ? 1 : broadcast ? to->first_holders : to->in_node;
    double out_s = bytes / senders / mw_cost_link_share(link, 2, out_flows, 1);
    double in_s = bytes / receivers / mw_cost_link_share(link, 2, in_flows, 1);
    return link->call_s + messages * link->latency_s + fmax(out_s, in_s);
}

/* ---- Passing on ---- */

/* One hop among devices that differ in a prime factor of an axis. They lie within `span`
 * consecutive devices that begin at a multiple of `span` within the mesh. */
static double hop_s(const MwCluster *cluster, const Extent *extent, int span, bool broadcast,
                    double bytes)
{
    bool is_aligned =
        cluster->devices_per_node % span == 0 && extent->placement->first_device % span == 0;
    bool is_near = extent->is_in_node || is_aligned;
    const MwLink *link = is_near ? &cluster->node_link : &cluster->network_link;
    int flows = is_near ? 1 : broadcast ? extent->first_holders : extent->in_node;
    return link->call_s + link->latency_s + bytes / mw_cost_link_share(link, 2, flows, 1);
}

/* All hops along the axes that do not split the tensor. */
static double passing_s(const MwCluster *cluster, const MwTensor *tensor, const Extent *extent,
                        bool broadcast)
{
    const MwMeshShape *mesh = &extent->placement->mesh;
    MwAxes axes = mw_spec_axes(extent->placement->spec, tensor->rank);
    double bytes = (double)mw_tensor_bytes(tensor) / (broadcast ? extent->blocks : extent->devices);
    bytes = fmax(bytes, mw_type_bytes(tensor->type));
    double total_s = 0;
    int span = extent->devices; /* devices that are equal in the axes and factors done so far */
    for (int axis = 0; axis < mesh->axis_count; axis++) {
        int inner = span / mesh->size[axis];
        while (span > inner && !(axes >> axis & 1)) {
            int prime = mw_greatest_prime(span / inner);
            total_s += (prime - 1) * hop_s(cluster, extent, span, broadcast, bytes);
            bytes *= broadcast ? 1 : prime;
            span /= prime;
        }
        span = inner;
    }
    return total_s;
}

static MwTransferCost cost_of(const MwCluster *cluster, const MwTensor *tensor, const Extent *from,
                              const Extent *to, bool broadcast)
{
    return (MwTransferCost){.crossing_s = crossing_s(cluster, tensor, from, to, broadcast),
                            .passing_s = passing_s(cluster, tensor, to, broadcast),
                            .broadcast = broadcast};
}

MwTransferCost mw_transfer_cost(const MwCluster *cluster, const MwTensor *tensor,
                                const MwTensorPlacement *from, const MwTensorPlacement *to)
{
    Extent source = extent_of(cluster, from, tensor->rank);
    Extent target = extent_of(cluster, to, tensor->rank);
    MwTransferCost gather = cost_of(cluster, tensor, &source, &target, false);
    MwTransferCost broadcast = cost_of(cluster, tensor, &source, &target, true);
    double gather_s = gather.crossing_s + gather.passing_s;
    return broadcast.crossing_s + broadcast.passing_s < gather_s ? broadcast : gather;
}
