/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forward phase of a model as a row of items, which layers consist of; shared by layers.c
 * and layer_items.c.
 *
 * An item is one operator that computes, or those of a loop, with neighbours that do not (views,
 * moves). Sources, which are nodes without operands, belong to no item. */
#ifndef MW_PASSES_GRAPH_LAYER_ITEMS_H
#define MW_PASSES_GRAPH_LAYER_ITEMS_H

#include "ir/ir.h"
#include "solver/stages/clustering.h"

typedef struct {
    /* The fields of the clustering problem (solver/stages/clustering.h): work in FLOPs, scaled
     * to MW_CLUSTERING_WORK in total; the bytes of values that cross a cut before the item; the
     * stage that values of the item are pinned to. */
    int count; /* at least 1: a model that computes nothing has one item without work */
    int64_t *work, *border_bytes;
    int *group;
    int *begin; /* [count] index of the first node; 0 for item 0 */
    /* [count] looks rows up in a table that is larger than the weights of a layer; such an
     * operator is an item even if it computes nothing */
    bool *is_table;
    /* [count] ascending from 0; a segment is a part of the model (layer_repeats.h), or what stands
     * between two parts */
    int *segment;
    int segment_count;
    int64_t unit; /* work of about one layer, scaled as `work`; at least 1 */
} MwLayerItems;

/* The items of a graph for a cluster of so many devices; all fields in `arena`. */
MwLayerItems mw_layer_items(MwArena *arena, const MwGraph *graph, int devices);

/* Whether an item may contain the node. */
static inline bool mw_layer_has_node(const MwNode *node)
{
    return node->phase == MW_PHASE_FORWARD && node->operand_count > 0;
}

#endif
