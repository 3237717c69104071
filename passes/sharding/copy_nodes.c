/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies as nodes of the intra-operator problem.
 *
 * The usage of a node depends on its own strategy alone, so the strategies of a copy's node
 * encode both specs: a strategy is a spec that the consumer may want, and an amount of bytes. It
 * is compatible with the strategies of the consumer that want this spec, and with those of the
 * producer from whose spec the copy needs no more bytes. The least compatible amount is the true
 * one and is never worse than another. Costs stay on the edge between producer and consumer. */
#include "passes/sharding/copies.h"

#include "ir/key_map.h"

#include <stdlib.h>

/* What a node counts of the bytes of a copy: how often. */
typedef struct {
    int making, kept;
} CopyParts;

/* The node of a copy and its edges. */
typedef struct {
    int count;      /* number of strategies; 0: there is never a copy */
    int64_t *cost;  /* [count] zero */
    int64_t *usage; /* [count] bytes */
    /* [strategies of the producer][count] 0, or MW_COST_INFINITE if incompatible */
    int64_t *from_producer;
    /* [count][strategies of the consumer] 0, or MW_COST_INFINITE if incompatible */
    int64_t *to_consumer;
} CopyTables;

typedef struct {
    MwIntraProblem *intra;
    MwArena *arena;
    const bool *modelled;
    MwKeyMap tables;
    MW_VEC(MwProblemNode) nodes;
    MW_VEC(MwProblemEdge) edges;
} CopyNodes;

static int compare_bytes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Bytes of the copy for each strategy of the producer; 0 where the spec cannot be reached, which
 * the cost of the edge between producer and consumer forbids. */
static int64_t *bytes_to(const CopyNodes *copies, const MwCopySite *site,
                         const MwStrategyList *producers, MwSpec to, CopyParts parts)
{
    const MwIntraProblem *intra = copies->intra;
    MwReshardTable *table = mw_reshard_table(
        intra->resharder, mw_value_tensor(intra->graph, site->value), producers->combine);
    int64_t *bytes = MW_NEW(copies->arena, int64_t, producers->count);
    const int target = mw_reshard_index(table, to);
    for (int g = 0; g < producers->count; g++) {
        MwSpec from = producers->at[g].results[site->result];
        if (mw_reshard_cost(table, mw_reshard_index(table, from), target) >= MW_COST_INFINITE)
            continue;
        MwCopyBytes copy = mw_copy_bytes(intra, site->value, from, to);
        bytes[g] = parts.making * copy.making + parts.kept * copy.kept;
    }
    return bytes;
}

/* The first strategy of the consumer with the spec of strategy `t`. */
static int first_with_same_spec(const MwCopySite *site, const MwStrategyList *consumers, int t)
{
    int first = 0;
    while (!mw_spec_equal(mw_copy_spec(site, &consumers->at[first]),
                          mw_copy_spec(site, &consumers->at[t])))
        first++;
    return first;
}

/* A strategy of the copy: the spec that strategy `t` of the consumer wants, and `amount` bytes. */
typedef struct {
    int t;
    int64_t amount;
    const int64_t *bytes; /* [strategies of the producer] */
} CopyStrategy;

typedef MW_VEC(CopyStrategy) CopyStrategies;

/* All pairs of a spec of the consumer and an amount of bytes that some spec of the producer
 * needs. */
static CopyStrategies list_copy_strategies(const CopyNodes *copies, const MwCopySite *site,
                                           const MwStrategyList *producers,
                                           const MwStrategyList *consumers, CopyParts parts)
{
    CopyStrategies strategies = {0};
    for (int t = 0; t < consumers->count; t++) {
        if (first_with_same_spec(site, consumers, t) < t)
            continue;
        MwSpec to = mw_copy_spec(site, &consumers->at[t]);
        const int64_t *bytes = bytes_to(copies, site, producers, to, parts);
        int64_t *amounts =
            mw_arena_dup(copies->arena, bytes, sizeof *bytes * (size_t)producers->count);
        qsort(amounts, (size_t)producers->count, sizeof *amounts, compare_bytes);
        for (int g = 0; g < producers->count; g++)
            if (g == 0 || amounts[g] > amounts[g - 1])
                mw_vec_push(copies->arena, &strategies, ((CopyStrategy){t, amounts[g], bytes}));
    }
    return strategies;
}

static void fill_tables(const CopyNodes *copies, const MwCopySite *site, CopyParts parts,
                        CopyTables *tables)
{
    const MwStrategyList *producers = copies->intra->lists[site->producer.index];
    const MwStrategyList *consumers = copies->intra->lists[site->consumer.index];
    const CopyStrategies strategies =
        list_copy_strategies(copies, site, producers, consumers, parts);
    int64_t most = 0;
    for (int c = 0; c < strategies.count; c++)
        most = mw_max(most, strategies.at[c].amount);
    if (most == 0)
        return;
    tables->count = strategies.count;
    tables->cost = MW_NEW(copies->arena, int64_t, tables->count);
    tables->usage = MW_NEW(copies->arena, int64_t, tables->count);
    tables->from_producer = MW_NEW(copies->arena, int64_t, producers->count * tables->count);
    tables->to_consumer = MW_NEW(copies->arena, int64_t, tables->count * consumers->count);
    for (int c = 0; c < tables->count; c++) {
        const CopyStrategy *strategy = &strategies.at[c];
        tables->usage[c] = strategy->amount;
        for (int g = 0; g < producers->count; g++)
            if (strategy->bytes[g] > strategy->amount)
                tables->from_producer[g * tables->count + c] = MW_COST_INFINITE;
        for (int t = 0; t < consumers->count; t++)
            if (first_with_same_spec(site, consumers, t) != strategy->t)
                tables->to_consumer[c * consumers->count + t] = MW_COST_INFINITE;
    }
}

/* The tables are interned, so that equal ones are one pointer. */
static const CopyTables *tables_of(CopyNodes *copies, const MwCopySite *site, CopyParts parts)
{
    const int64_t key[] = {copies->intra->lists[site->producer.index]->index,
                           copies->intra->lists[site->consumer.index]->index,
                           site->result,
                           site->operand,
                           parts.making,
                           parts.kept};
    void **at = mw_key_map_at(copies->arena, &copies->tables, key, sizeof key);
    if (*at)
        return *at;
    CopyTables *tables = *at = MW_NEW(copies->arena, CopyTables, 1);
    fill_tables(copies, site, parts, tables);
    return tables;
}

static bool is_modelled(const CopyNodes *copies, int64_t begin, int64_t end)
{
    for (int64_t time = begin; time < end; time++)
        if (copies->modelled[time])
            return true;
    return false;
}

/* Adds the node of a copy that is live in [begin, end), if a modelled time lies there. */
static void add_copy(CopyNodes *copies, const MwCopySite *site, int64_t begin, int64_t end,
                     CopyParts parts)
{
    if (!is_modelled(copies, begin, end))
        return;
    const CopyTables *tables = tables_of(copies, site, parts);
    if (tables->count == 0)
        return;
    const char *name = mw_value(copies->intra->graph, site->value)->name;
    const int node = copies->nodes.count;
    const MwProblemNode copy = {.strategy_count = tables->count,
                                .cost = tables->cost,
                                .usage = tables->usage,
                                .begin = begin,
                                .end = end,
                                .label = mw_arena_printf(copies->arena, "%s.copy", name)};
    mw_vec_push(copies->arena, &copies->nodes, copy);
    mw_vec_push(copies->arena, &copies->edges,
                ((MwProblemEdge){site->producer.index, node, tables->from_producer}));
    mw_vec_push(copies->arena, &copies->edges,
                ((MwProblemEdge){node, site->consumer.index, tables->to_consumer}));
}

/* Adds the nodes of a copy: that which is live while the copy is made, and that which is live
 * before and after. */
static void add_copies(CopyNodes *copies, const MwCopySite *site)
{
    const bool begins = site->begin == site->made;
    add_copy(copies, site, site->made, site->made + 1, (CopyParts){1, begins ? site->slots : 0});
    add_copy(copies, site, site->begin + begins, site->end, (CopyParts){0, site->slots});
}

void mw_intra_problem_add_copies(MwIntraProblem *intra, const bool *modelled)
{
    MwArena *arena = intra->arena;
    MwProblem *problem = &intra->problem;
    CopyNodes copies = {.intra = intra, .arena = arena, .modelled = modelled};
    for (int n = 0; n < intra->graph->nodes.count; n++)
        mw_vec_push(arena, &copies.nodes, problem->nodes[n]);
    for (int e = 0; e < intra->value_edge_count; e++)
        mw_vec_push(arena, &copies.edges, problem->edges[e]);
    const MwLife *lives = mw_liveness(arena, intra->graph, intra->flight);
    const MwCopySites sites = mw_copy_sites(arena, intra->graph, lives);
    for (int i = 0; i < sites.count; i++)
        add_copies(&copies, &sites.at[i]);
    problem->nodes = copies.nodes.at;
    problem->node_count = copies.nodes.count;
    problem->edges = copies.edges.at;
    problem->edge_count = copies.edges.count;
}
