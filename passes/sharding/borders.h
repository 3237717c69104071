/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Borders: what the windows of convolutions and pooling reach beyond the block of a device where a
 * strategy splits spatial dimensions.
 *
 * Let x be the tensor that windows slide over (ir/node_windows.h). Where x is an operand, a device
 * takes the borders of its block from the neighbours before it runs the node, as in the halo
 * exchange of GSPMD (Xu et al. 2021); where x is the result, it computes the borders as well, and
 * gives them to the neighbours, which add them to their blocks. Either way the local node has no
 * padding along these dimensions: what lies beyond the ends of x is such a border.
 *
 * Borders go round the ring of the devices that split the dimension, one shift for each direction,
 * and the end that has no neighbour replaces what comes round; or all devices gather the borders
 * of all, which is one call in the place of two, but of bytes that grow with the ways. The quicker
 * is taken. Along several mesh axes, where neighbours do not differ in one coordinate alone, it is
 * the latter. Several dimensions exchange one after another, so that corners go over two
 * neighbours. */
#ifndef MW_PASSES_SHARDING_BORDERS_H
#define MW_PASSES_SHARDING_BORDERS_H

#include "cost/reshard.h"
#include "ir/windows.h"
#include "passes/sharding/strategy.h"

/* Of a dimension of x that is split. */
typedef struct {
    int dim, ways;
    MwAxes axes;
    int64_t before, after; /* elements beyond the block */
    bool goes_round;       /* by shifts; else by an all-gather */
} MwBorder;

typedef struct {
    int takes;  /* operands, from the first on, that are x or of its shape (mw_windows_taken) */
    bool gives; /* the result is x or its gradient */
    int count;
    MwBorder at[MW_MAX_WINDOW_DIMS];
    MwTensor block;    /* of x on one device */
    double outside[2]; /* [takes] what lies beyond the ends of an operand */
} MwBorders;

/* The borders of node `id`; count is 0 if it has no windows, or no spatial dimension is split. */
MwBorders mw_borders(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                     const MwCostModel *model);
/* The block with its borders. */
MwTensor mw_borders_tensor(const MwBorders *borders);
/* Seconds of what the node exchanges, with its copies. */
double mw_borders_s(MwArena *arena, const MwBorders *borders, const MwCostModel *model);
/* The collectives that exchange them, in `arena`; the steps have no specs. */
MwReshardPath mw_borders_path(MwArena *arena, const MwBorders *borders, const MwCostModel *model);

/* Both add nodes to a local graph: the first from the block `x` of operand k to the block with its
 * borders, the second from the result with borders to the block. `name` is that of the operand or
 * result. */
MwValueId mw_borders_take(MwGraph *local, const MwBorders *borders, const MwMeshShape *mesh, int k,
                          MwValueId x, const char *name);
MwValueId mw_borders_give(MwGraph *local, const MwBorders *borders, const MwMeshShape *mesh,
                          MwValueId x, const char *name);

#endif
