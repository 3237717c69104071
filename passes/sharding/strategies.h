/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The strategies of nodes.
 *
 * Lists are interned by structure: nodes that agree in operator, types and attributes (except
 * names of random streams and values of constants) share one list, by pointer. */
#ifndef MW_PASSES_SHARDING_STRATEGIES_H
#define MW_PASSES_SHARDING_STRATEGIES_H

#include "ir/key_map.h"
#include "passes/sharding/strategy.h"

typedef struct {
    int count; /* at least 1: full replication is always possible */
    const MwStrategy *at;
    int operand_count, result_count;
    int index;         /* lists are numbered from 0 in order of first use */
    MwCombine combine; /* of the partial results */
} MwStrategyList;

/* How the place of a node in the graph changes its strategies. */
typedef enum {
    MW_STRATEGY_PLAIN,   /* those of its operator */
    MW_STRATEGY_WHOLE,   /* results may not be partial, because they leave the graph */
    MW_STRATEGY_PARTIAL, /* a source that may be stored partial: an accumulator */
} MwStrategyRole;

/* Appends to `key` everything that two nodes must agree in to have the same strategies. */
void mw_node_structure(MwArena *arena, MwKeyWords *key, const MwGraph *graph, MwNodeId node);

/* The lists of one cost model, each enumerated once. Lies in the arena given. */
typedef struct MwStrategyTable MwStrategyTable;

MwStrategyTable *mw_strategy_table_new(MwArena *arena, const MwCostModel *model);
/* The strategies of `node` in a fixed order. No two have the same specs. */
const MwStrategyList *mw_strategies(MwStrategyTable *table, const MwGraph *graph, MwNodeId node,
                                    MwStrategyRole role);
/* The strategies of `list` for which `keep` is true, in order; NULL if there are none. Lists of the
 * same strategies are one. */
const MwStrategyList *mw_strategies_kept(MwStrategyTable *table, const MwStrategyList *list,
                                         const bool *keep);
/* Those that give result `k` the spec `spec`. */
const MwStrategyList *mw_strategies_with_result(MwStrategyTable *table, const MwStrategyList *list,
                                                int k, MwSpec spec);
/* Those that have a ring, or those that have none. */
const MwStrategyList *mw_strategies_with_ring(MwStrategyTable *table, const MwStrategyList *list,
                                              bool ring);

#endif
