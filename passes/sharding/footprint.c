/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/footprint.h"

#include "passes/sharding/copies.h"

typedef struct {
    MwArena *scratch;
    const MwSharding *sharding;
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

static void add_nodes(Footprint *f)
{
    const MwProblem *problem = &f->sharding->problem->problem;
    for (int n = 0; n < f->graph->nodes.count; n++) {
        const MwProblemNode *node = &problem->nodes[n];
        if (node->usage)
            add(f, node->begin, node->end, node->usage[f->sharding->choice[n]]);
    }
}

static void add_copies(Footprint *f)
{
    const MwSharding *sharding = f->sharding;
    const MwCopySites sites = mw_copy_sites(f->scratch, f->graph, f->lives);
    for (int i = 0; i < sites.count; i++) {
        const MwCopySite *site = &sites.at[i];
        MwSpec from = mw_sharding_value_spec(sharding, site->value);
        MwSpec to = mw_copy_spec(site, mw_sharding_strategy(sharding, site->consumer));
        MwCopyBytes bytes = mw_copy_bytes(sharding->problem, site->value, from, to);
        add(f, site->begin, site->begin + 1, bytes.peak);
        add(f, site->begin + 1, site->end, bytes.kept);
    }
}

int64_t *mw_sharding_usage(MwArena *arena, const MwSharding *sharding)
{
    MwArena *scratch = mw_arena_new();
    const MwGraph *graph = sharding->problem->graph;
    int64_t *usage = MW_NEW(arena, int64_t, graph->nodes.count + 1);
    Footprint f = {.scratch = scratch,
                   .sharding = sharding,
                   .graph = graph,
                   .lives = mw_liveness(scratch, graph, sharding->problem->flight),
                   .change = usage};
    add_nodes(&f);
    add_copies(&f);
    for (int n = 1; n < graph->nodes.count; n++)
        usage[n] += usage[n - 1];
    mw_arena_free(&scratch);
    return usage;
}

int64_t mw_sharding_peak(const MwSharding *sharding)
{
    MwArena *scratch = mw_arena_new();
    const int64_t *usage = mw_sharding_usage(scratch, sharding);
    int64_t peak = 0;
    for (int n = 0; n < sharding->problem->graph->nodes.count; n++)
        peak = mw_max(peak, usage[n]);
    mw_arena_free(&scratch);
    return peak;
}
