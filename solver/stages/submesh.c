/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sub-meshes of a cluster, the states of their packing (submesh.h has the conditions and why
 * they suffice), and their placement. */
#include "solver/stages/submesh.h"

enum { MAX_STATES = 4096, MAX_CONDITIONS = 32, MAX_FRACTIONS = 32 };

/* Numbers of whole nodes up to twice this one are all sizes of sub-meshes. */
enum { DENSE_NODES = 8 };

/* A packing condition: fractions of at least `unit` devices take at most `per_node` units of each
 * node that is not given away whole. A packing state has one digit per condition: the units taken,
 * where whole nodes count as full. */
typedef struct {
    int unit, per_node;
    int radix; /* units of the cluster plus 1 */
} Condition;

/* Whether a sub-mesh may have so many whole nodes. Beyond a few, the next larger number is an
 * eighth larger or more, except for those that divide the cluster. */
static bool is_size(int nodes, int all_nodes)
{
    int step = 1;
    while (nodes / step >= 2 * DENSE_NODES)
        step *= 2;
    return nodes % step == 0 || all_nodes % nodes == 0;
}

static void list_submeshes(MwArena *arena, MwSubmeshPacking *packing)
{
    MwStageCluster cluster = packing->cluster;
    packing->submeshes = MW_NEW(arena, MwStageSubmesh, MAX_FRACTIONS + cluster.nodes);
    for (int devices = 1; devices < cluster.devices_per_node; devices *= 2)
        packing->submeshes[packing->count++] = (MwStageSubmesh){0, devices};
    for (int i = 1; i <= cluster.nodes; i++)
        if (is_size(i, cluster.nodes))
            packing->submeshes[packing->count++] =
                (MwStageSubmesh){i, i * cluster.devices_per_node};
}

/* Lists a condition for each power of two in the number of devices of a node except the
 * greatest. */
static int list_conditions(MwStageCluster cluster, Condition *conditions)
{
    int count = 0;
    for (int devices_left = cluster.devices_per_node; devices_left & (devices_left - 1);) {
        int lowest = devices_left & -devices_left, unit = 2 * lowest;
        devices_left -= lowest;
        conditions[count++] =
            (Condition){unit, devices_left / unit, cluster.nodes * (devices_left / unit) + 1};
    }
    return count;
}

static int64_t count_states(const Condition *conditions, int condition_count)
{
    int64_t states = 1;
    for (int i = 0; i < condition_count && states <= MAX_STATES; i++)
        states *= conditions[i].radix;
    return states;
}

static int units_taken(const Condition *condition, MwStageSubmesh submesh)
{
    if (submesh.nodes > 0)
        return submesh.nodes * condition->per_node;
    return submesh.devices / condition->unit;
}

static int next_state(const Condition *conditions, int condition_count, MwStageSubmesh submesh,
                      int state)
{
    int next = 0, scale = 1;
    for (int i = 0; i < condition_count; i++) {
        int digit = state % conditions[i].radix + units_taken(&conditions[i], submesh);
        if (digit >= conditions[i].radix)
            return -1;
        next += scale * digit;
        scale *= conditions[i].radix;
        state /= conditions[i].radix;
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
    bool only_divisors = count_states(conditions, condition_count) > MAX_STATES;
    if (only_divisors)
        condition_count = 0;
    packing.state_count = (int)count_states(conditions, condition_count);
    packing.next = MW_NEW(arena, int, packing.count *packing.state_count);
    packing.previous = MW_NEW(arena, int, packing.count *packing.state_count);
    for (int i = 0; i < packing.count * packing.state_count; i++)
        packing.next[i] = packing.previous[i] = -1;
    for (int i = 0; i < packing.count; i++) {
        MwStageSubmesh submesh = packing.submeshes[i];
        if (only_divisors && submesh.nodes == 0 && cluster.devices_per_node % submesh.devices != 0)
            continue;
        for (int state = 0; state < packing.state_count; state++) {
            int next = next_state(conditions, condition_count, submesh, state);
            packing.next[i * packing.state_count + state] = next;
            if (next >= 0)
                packing.previous[i * packing.state_count + next] = state;
        }
    }
    return packing;
}

/* Returns the first device of the sub-mesh; used[node] is the number of devices taken. */
static int place_submesh(MwStageCluster cluster, MwStageSubmesh submesh, int *used)
{
    int node = 0, per_node = submesh.nodes > 0 ? cluster.devices_per_node : submesh.devices;
    while (node < cluster.nodes && used[node] + per_node > cluster.devices_per_node)
        node++;
    MW_ASSERT(node + mw_max(submesh.nodes, 1) <= cluster.nodes);
    int first = node * cluster.devices_per_node + used[node];
    for (int i = 0; i < mw_max(submesh.nodes, 1); i++)
        used[node + i] += per_node;
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
                first_device[i] = place_submesh(packing->cluster, packing->submeshes[size], used);
    mw_arena_free(&scratch);
}
