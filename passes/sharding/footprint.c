/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/footprint.h"

#include "passes/sharding/copies.h"

typedef struct {
    MwArena *scratch;
    const MwSharding *sharding;
    const MwGraph *graph;
    const MwLife *lives;
    int64_t *change; /* [nodes + 1] bytes more at a time than at the one before */
} Footprint;

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
    const MwCopyPlaces places = mw_copy_places(f->scratch, f->graph, f->lives);
    for (int i = 0; i < places.count; i++) {
        const MwCopyPlace *place = &places.at[i];
        MwSpec from = mw_sharding_value_spec(sharding, place->value);
        MwSpec to = mw_copy_spec(place, mw_sharding_strategy(sharding, place->taker));
        MwCopyBytes bytes = mw_copy_bytes(sharding->problem, place->value, from, to);
        add(f, place->begin, place->begin + 1, bytes.made);
        add(f, place->begin + 1, place->end, bytes.kept);
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
