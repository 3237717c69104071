/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which repeats of a model are its layers, and the work of a layer.
 *
 * A repeat may nest others. An *open* repeat is cut between its iterations; the body of any other
 * is cut like operators outside of repeats. */
#ifndef MW_PASSES_GRAPH_LAYER_REPEATS_H
#define MW_PASSES_GRAPH_LAYER_REPEATS_H

#include "ir/ir.h"

typedef struct {
    const MwGraph *graph;
    const int *group; /* [repeats] iterations of an open repeat that stay together; 0: not open */
    double unit;      /* FLOPs of about one layer; 0: the model computes nothing */
} MwLayerRepeats;

/* The part of a model that a node is in: consecutive iterations of an open repeat, or what is
 * outside of open repeats. */
typedef struct {
    int repeat; /* -1: outside */
    int group;  /* index among the groups of iterations of the repeat */
} MwLayerPart;

/* `flops` [nodes] is 0 for nodes that belong to no layer; `devices` is the number of devices of the
 * cluster. The result is in `arena`. */
MwLayerRepeats mw_layer_repeats(MwArena *arena, const MwGraph *graph, const double *flops,
                                int devices);

MwLayerPart mw_layer_part(const MwLayerRepeats *repeats, const MwNode *node);

static inline bool mw_layer_part_equal(MwLayerPart a, MwLayerPart b)
{
    return a.repeat == b.repeat && a.group == b.group;
}

#endif
