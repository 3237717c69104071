/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies as nodes of the intra-op problem, whose usage depends on one node each.
 *
 * A strategy of such a node is a spec that the taker may take and an amount of bytes that getting
 * there from some spec needs. It goes with strategies of the taker that take this spec, and with
 * those of the giver from whose spec no more bytes are needed; the least amount that does is the true
 * one, and is never worse than another. Costs stay on the edges between giver and taker. */
#include "passes/sharding/copies.h"

#include "ir/key_map.h"

#include <stdlib.h>

/* What the node of a copy looks like. */
typedef struct {
    int count;      /* strategies; 0: there is never a copy */
    int64_t *cost;  /* [count] nothing */
    int64_t *usage; /* [count] */
    int64_t *given; /* [strategies of the giver][count] 0 or MW_COST_INFINITE */
    int64_t *taken; /* [count][strategies of the taker] likewise */
} Kind;

typedef struct {
    MwIntraProblem *intra;
    MwArena *arena;
    const bool *watched;
    MwKeyMap kinds;
    MW_VEC(MwProblemNode) nodes;
    MW_VEC(MwProblemEdge) edges;
} Watch;

static int compare_bytes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The bytes from each strategy of the giver to the spec; none where there is no way, which the costs
 * forbid. */
static int64_t *bytes_to(const Watch *watch, const MwCopyPlace *place, const MwStrategyList *givers,
                         MwSpec to, bool is_made)
{
    const MwIntraProblem *intra = watch->intra;
    MwReshardTable *table = mw_reshard_table(
        intra->resharder, mw_value_tensor(intra->graph, place->value), givers->combine);
    int64_t *bytes = MW_NEW(watch->arena, int64_t, givers->count);
    for (int g = 0; g < givers->count; g++) {
        MwSpec from = givers->at[g].results[place->result];
        int source = mw_reshard_index(table, from), target = mw_reshard_index(table, to);
        if (mw_reshard_cost(table, source, target) >= MW_COST_INFINITE)
            continue;
        MwCopyBytes copy = mw_copy_bytes(intra, place->value, from, to);
        bytes[g] = is_made ? copy.made : copy.kept;
    }
    return bytes;
}

/* The first strategy that takes the value as `t` does. */
static int first_like(const MwCopyPlace *place, const MwStrategyList *takers, int t)
{
    int first = 0;
    while (!mw_spec_equal(mw_copy_spec(place, &takers->at[first]),
                          mw_copy_spec(place, &takers->at[t])))
        first++;
    return first;
}

/* One strategy of the kind: `amount` is enough for the spec that `t` takes. */
typedef struct {
    int t;
    int64_t amount;
    const int64_t *bytes; /* [strategies of the giver] */
} Choice;

typedef MW_VEC(Choice) Choices;

static Choices list_choices(const Watch *watch, const MwCopyPlace *place,
                            const MwStrategyList *givers, const MwStrategyList *takers,
                            bool is_made)
{
    Choices choices = {0};
    for (int t = 0; t < takers->count; t++) {
        if (first_like(place, takers, t) < t)
            continue;
        MwSpec to = mw_copy_spec(place, &takers->at[t]);
        const int64_t *bytes = bytes_to(watch, place, givers, to, is_made);
        int64_t *amounts = mw_arena_dup(watch->arena, bytes, sizeof *bytes * (size_t)givers->count);
        qsort(amounts, (size_t)givers->count, sizeof *amounts, compare_bytes);
        for (int g = 0; g < givers->count; g++)
            if (g == 0 || amounts[g] > amounts[g - 1])
                mw_vec_push(watch->arena, &choices, ((Choice){t, amounts[g], bytes}));
    }
    return choices;
}

static void fill_kind(const Watch *watch, const MwCopyPlace *place, bool is_made, Kind *kind)
{
    const MwStrategyList *givers = watch->intra->lists[place->giver.index];
    const MwStrategyList *takers = watch->intra->lists[place->taker.index];
    const Choices choices = list_choices(watch, place, givers, takers, is_made);
    int64_t most = 0;
    for (int c = 0; c < choices.count; c++)
        most = mw_max(most, choices.at[c].amount);
    if (most == 0)
        return;
    kind->count = choices.count;
    kind->cost = MW_NEW(watch->arena, int64_t, kind->count);
    kind->usage = MW_NEW(watch->arena, int64_t, kind->count);
    kind->given = MW_NEW(watch->arena, int64_t, givers->count * kind->count);
    kind->taken = MW_NEW(watch->arena, int64_t, kind->count * takers->count);
    for (int c = 0; c < kind->count; c++) {
        const Choice *choice = &choices.at[c];
        kind->usage[c] = choice->amount;
        for (int g = 0; g < givers->count; g++)
            if (choice->bytes[g] > choice->amount)
                kind->given[g * kind->count + c] = MW_COST_INFINITE;
        for (int t = 0; t < takers->count; t++)
            if (first_like(place, takers, t) != choice->t)
                kind->taken[c * takers->count + t] = MW_COST_INFINITE;
    }
}

/* Interned, so that what repeats is shared by pointer. */
static const Kind *kind_of(Watch *watch, const MwCopyPlace *place, bool is_made)
{
    const int64_t key[] = {watch->intra->lists[place->giver.index]->index,
                           watch->intra->lists[place->taker.index]->index, place->result,
                           place->operand, is_made};
    void **at = mw_key_map_at(watch->arena, &watch->kinds, key, sizeof key);
    if (*at)
        return *at;
    Kind *kind = *at = MW_NEW(watch->arena, Kind, 1);
    fill_kind(watch, place, is_made, kind);
    return kind;
}

static bool is_watched(const Watch *watch, int64_t begin, int64_t end)
{
    for (int64_t time = begin; time < end; time++)
        if (watch->watched[time])
            return true;
    return false;
}

static void add_copy(Watch *watch, const MwCopyPlace *place, int64_t begin, int64_t end,
                     bool is_made)
{
    if (!is_watched(watch, begin, end))
        return;
    const Kind *kind = kind_of(watch, place, is_made);
    if (kind->count == 0)
        return;
    const char *name = mw_value(watch->intra->graph, place->value)->name;
    const int node = watch->nodes.count;
    const MwProblemNode copy = {.strategy_count = kind->count,
                                .cost = kind->cost,
                                .usage = kind->usage,
                                .begin = begin,
                                .end = end,
                                .label = mw_arena_printf(watch->arena, "%s.copy", name)};
    mw_vec_push(watch->arena, &watch->nodes, copy);
    mw_vec_push(watch->arena, &watch->edges,
                ((MwProblemEdge){place->giver.index, node, kind->given}));
    mw_vec_push(watch->arena, &watch->edges,
                ((MwProblemEdge){node, place->taker.index, kind->taken}));
}

void mw_copies_watch(MwIntraProblem *intra, const bool *watched)
{
    MwArena *arena = intra->arena;
    MwProblem *problem = &intra->problem;
    Watch watch = {.intra = intra, .arena = arena, .watched = watched};
    for (int n = 0; n < intra->graph->nodes.count; n++)
        mw_vec_push(arena, &watch.nodes, problem->nodes[n]);
    for (int e = 0; e < intra->passage_count; e++)
        mw_vec_push(arena, &watch.edges, problem->edges[e]);
    const MwLife *lives = mw_liveness(arena, intra->graph, intra->flight);
    const MwCopyPlaces places = mw_copy_places(arena, intra->graph, lives);
    for (int i = 0; i < places.count; i++) {
        const MwCopyPlace *place = &places.at[i];
        add_copy(&watch, place, place->begin, place->begin + 1, true);
        add_copy(&watch, place, place->begin + 1, place->end, false);
    }
    problem->nodes = watch.nodes.at;
    problem->node_count = watch.nodes.count;
    problem->edges = watch.edges.at;
    problem->edge_count = watch.edges.count;
}
