/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forward phase of a model as a row of items, which layers are made of; shared by layers.c and
 * layer_items.c.
 *
 * An item is one operator that computes, with what is for free beside it (views, moves). Sources,
 * which are nodes without operands, belong to none. */
#ifndef MW_PASSES_GRAPH_LAYER_ITEMS_H
#define MW_PASSES_GRAPH_LAYER_ITEMS_H

#include "ir/ir.h"
#include "solver/stages/clustering.h"

typedef struct {
    /* Work in FLOPs, scaled to MW_CLUSTERING_WORK in all; the bytes of values that flow over a cut;
     * groups are the stages that values are pinned to. */
    int count; /* at least 1, if need be of an item that computes nothing */
    int64_t *work, *border_bytes;
    int *group;
    int *begin;   /* [count] index of its first node; 0 of item 0 */
    int *segment; /* [count] ascending from 0: items of one segment are neighbours of one place */
    int segment_count;
    /* [segment_count] the outermost repeat of more than one iteration, of which the segment is an
     * iteration; -1: what stands between repeats. */
    int *repeat;
} MwLayerItems;

/* All in `arena`. */
MwLayerItems mw_layer_items(MwArena *arena, const MwGraph *graph);

/* True of the nodes that items consist of. */
static inline bool mw_layer_is_laid(const MwNode *node)
{
    return node->phase == MW_PHASE_FORWARD && node->operand_count > 0;
}

#endif
