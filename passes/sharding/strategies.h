/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategies: the ways in which a node can run on a mesh.
 *
 * A strategy assigns each mesh axis to a factor of the node's sharding rule, which it splits; or to
 * carrying partial sums through, where the operator is linear; or to nothing, so that the devices
 * along that axis all do the same. It fixes the spec in which the node takes each operand and gives
 * each result.
 *
 * Lists are interned by structure: nodes that agree in operator, attributes (but for names of
 * random streams and values of constants) and types share one list, by pointer. */
#ifndef MW_PASSES_SHARDING_STRATEGIES_H
#define MW_PASSES_SHARDING_STRATEGIES_H

#include "cost/cost.h"
#include "ir/key_map.h"

typedef struct {
    const MwSpec *operands; /* [operand_count] */
    const MwSpec *results;  /* [result_count]; partial over split factors a result does not have */
    MwWork work;            /* of one device; see mw_cost_node_work */
    int idle_axes;          /* mesh axes of more than one device that are assigned to nothing */
} MwStrategy;

typedef struct {
    int count; /* at least 1: doing everything everywhere is always possible */
    const MwStrategy *at;
    int operand_count, result_count;
    int index;         /* of the list: lists are numbered from 0 in order of first use */
    MwCombine combine; /* how the partial results of these strategies combine */
} MwStrategyList;

/* What a node may do besides what its operator says. */
typedef enum {
    MW_STRATEGY_PLAIN,
    MW_STRATEGY_WHOLE,   /* results may not be partial: they leave the graph */
    MW_STRATEGY_PARTIAL, /* a source that may be stored partial: an accumulator */
} MwStrategyRole;

/* Adds to `key` what a node must agree in with another for both to have the same strategies. */
void mw_node_structure(MwArena *arena, MwKeyWords *key, const MwGraph *graph, MwNodeId node);

/* Remembers the lists; one per cost model. Lives in its arena. */
typedef struct MwStrategyTable MwStrategyTable;

MwStrategyTable *mw_strategy_table_new(MwArena *arena, const MwCostModel *model);
/* The strategies of `node`, in a fixed order, no two with the same specs. */
const MwStrategyList *mw_strategies(MwStrategyTable *table, const MwGraph *graph, MwNodeId node,
                                    MwStrategyRole role);
/* Those of them that give result `k` the spec `spec`; NULL if there are none. Interned likewise. */
const MwStrategyList *mw_strategies_with_result(MwStrategyTable *table, const MwStrategyList *list,
                                                int k, MwSpec spec);

#endif
