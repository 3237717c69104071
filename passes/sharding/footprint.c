/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/footprint.h"

#include "ir/node_windows.h"
#include "passes/sharding/borders.h"
#include "passes/sharding/copies.h"
#include "passes/sharding/mirror.h"
#include "passes/sharding/ring.h"

typedef struct {
    MwArena *scratch;
    const MwIntraProblem *intra;
    const MwSharding *sharding; /* NULL: any */
    const MwGraph *graph;
    const MwLife *lives;
    int64_t *change; /* [nodes + 1] bytes at a time minus the bytes at the time before */
} Footprint;

/* Adds `bytes` to the usage at times [begin, end). */
static void add(Footprint *f, int64_t begin, int64_t end, int64_t bytes)
{
    if (begin >= end)
        return;
    f->change[begin] += bytes;
    f->change[end] -= bytes;
}

/* Usage of a node by the sharding, or the greatest by any. */
static int64_t usage_of(const Footprint *f, int n)
{
    const MwProblemNode *node = &f->intra->problem.nodes[n];
    if (f->sharding)
        return node->usage[f->sharding->choice[n]];
    int64_t most = 0;
    for (int i = 0; i < node->strategy_count; i++)
        most = mw_max(most, node->usage[i]);
    return most;
}

static void add_nodes(Footprint *f)
{
    for (int n = 0; n < f->graph->nodes.count; n++) {
        const MwProblemNode *node = &f->intra->problem.nodes[n];
        if (node->usage)
            add(f, node->begin, node->end, usage_of(f, n));
    }
}

/* Bytes of a copy by the sharding, or the greatest by any: no tensor on the way is larger than the
 * whole value, and there are three at most. */
static MwCopyBytes copy_bytes_of(const Footprint *f, const MwCopySite *site)
{
    if (!f->sharding) {
        const int64_t whole = mw_tensor_bytes(mw_value_tensor(f->graph, site->value));
        return (MwCopyBytes){2 * whole, whole};
    }
    return mw_copy_bytes(f->intra, site->value, mw_sharding_value_spec(f->sharding, site->value),
                         mw_copy_spec(site, mw_sharding_strategy(f->sharding, site->consumer)));
}

static void add_copies(Footprint *f)
{
    const MwCopySites sites = mw_copy_sites(f->scratch, f->graph, f->lives);
    for (int i = 0; i < sites.count; i++) {
        const MwCopySite *site = &sites.at[i];
        const MwCopyBytes bytes = copy_bytes_of(f, site);
        add(f, site->made, site->made + 1, bytes.making);
        add(f, site->begin, site->end, site->slots * bytes.kept);
    }
}

/* Bytes of the blocks with borders of a node by the sharding, or the greatest by any: where a
 * dimension is split, a block is half of it at most. */
static int64_t border_bytes_of(const Footprint *f, MwNodeId id)
{
    if (f->sharding) {
        const MwBorders borders =
            mw_borders(f->graph, id, mw_sharding_strategy(f->sharding, id), &f->intra->model);
        const MwTensor tensor = mw_borders_tensor(&borders);
        return borders.count ? mw_max(borders.takes, 1) * mw_tensor_bytes(&tensor) : 0;
    }
    const MwNode *node = mw_node(f->graph, id);
    const MwWindows windows = mw_windows(f->graph, node);
    MwTensor tensor = *mw_value_tensor(f->graph, mw_windows_x(node));
    for (int d = 0; d < windows.count; d++) {
        const MwWindowReach reach = mw_window_reach(&windows.dim[d]);
        const int64_t in = tensor.dim[d + 1],
                      most = mw_max(reach.before, 0) + mw_max(reach.after, 0);
        tensor.dim[d + 1] = mw_max(in, in / 2 + most);
    }
    return mw_max(mw_windows_taken(node->op), 1) * mw_tensor_bytes(&tensor);
}

static void add_borders(Footprint *f)
{
    for (int n = 0; n < f->graph->nodes.count; n++)
        if (mw_op_has_windows(f->graph->nodes.at[n].op))
            add(f, n, n + 1, border_bytes_of(f, (MwNodeId){n}));
}

static int64_t strategy_bytes(const Footprint *f, MwNodeId id, const MwStrategy *strategy)
{
    const MwMeshShape *mesh = &f->intra->model.mesh;
    return mw_has_ring(strategy)      ? mw_ring_bytes(f->graph, id, strategy, mesh)
           : mw_is_mirrored(strategy) ? mw_mirror_bytes(f->graph, id, strategy, mesh)
                                      : 0;
}

/* Bytes of a ring or of mirrored halves by the sharding, or the greatest by any. */
static int64_t strategy_bytes_of(const Footprint *f, MwNodeId id)
{
    const MwStrategyList *list = f->intra->lists[id.index];
    int64_t most = 0;
    for (int s = 0; s < list->count; s++)
        if (!f->sharding || f->sharding->choice[id.index] == s)
            most = mw_max(most, strategy_bytes(f, id, &list->at[s]));
    return most;
}

static void add_strategies(Footprint *f)
{
    for (int n = 0; n < f->graph->nodes.count; n++)
        add(f, n, n + 1, strategy_bytes_of(f, (MwNodeId){n}));
}

/* By `sharding` or, if that is NULL, at most by any. */
static int64_t *usage_at_times(MwArena *arena, const MwIntraProblem *intra,
                               const MwSharding *sharding)
{
    MwArena *scratch = mw_arena_new();
    const MwGraph *graph = intra->graph;
    int64_t *usage = MW_NEW(arena, int64_t, graph->nodes.count + 1);
    Footprint f = {.scratch = scratch,
                   .intra = intra,
                   .sharding = sharding,
                   .graph = graph,
                   .lives = mw_liveness(scratch, graph, intra->flight),
                   .change = usage};
    add_nodes(&f);
    add_copies(&f);
    add_borders(&f);
    add_strategies(&f);
    for (int n = 1; n < graph->nodes.count; n++)
        usage[n] += usage[n - 1];
    mw_arena_free(&scratch);
    return usage;
}

static int64_t peak_of(const MwIntraProblem *intra, const MwSharding *sharding)
{
    MwArena *scratch = mw_arena_new();
    const int64_t *usage = usage_at_times(scratch, intra, sharding);
    int64_t peak = 0;
    for (int n = 0; n < intra->graph->nodes.count; n++)
        peak = mw_max(peak, usage[n]);
    mw_arena_free(&scratch);
    return peak;
}

int64_t *mw_sharding_usage(MwArena *arena, const MwSharding *sharding)
{
    return usage_at_times(arena, sharding->problem, sharding);
}

int64_t mw_sharding_peak(const MwSharding *sharding)
{
    return peak_of(sharding->problem, sharding);
}

int64_t mw_sharding_most(const MwIntraProblem *problem)
{
    return peak_of(problem, NULL);
}
