/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rebuilding a graph: a pass walks the old graph and adds to the new one what it keeps. */
#ifndef MW_IR_REWRITE_H
#define MW_IR_REWRITE_H

#include "ir/ir.h"

typedef struct {
    const MwGraph *from;
    MwGraph *to;
    MwValueId *value; /* [values of from] its form in `to`; no value: none yet */
} MwRewrite;

/* Begins a new graph like `from`, without nodes, in the arena of `from`. */
MwRewrite mw_rewrite_begin(const MwGraph *from);
/* The same in `arena`. */
MwRewrite mw_rewrite_begin_in(MwArena *arena, const MwGraph *from);

/* Sets the origin and phase of the next nodes to those of `node`, a node of `from`. */
void mw_rewrite_at(MwRewrite *rewrite, const MwNode *node);

/* The operands of `node` as values of `to`; all must exist. In the arena of `to`. */
MwValueId *mw_rewrite_operands(const MwRewrite *rewrite, const MwNode *node);

/* Copies `node` with its origin, phase and names, and records the forms of its results. */
MwNodeId mw_rewrite_copy(MwRewrite *rewrite, const MwNode *node);

/* Copies `node` on other operands, which are values of `to`. */
MwNodeId mw_rewrite_copy_on(MwRewrite *rewrite, const MwNode *node, const MwValueId *operands);

/* Copies the outputs, metrics, rates, assigns and pins of `from`. Pins of values without a form are
 * dropped; all other values must have one. */
void mw_rewrite_finish(MwRewrite *rewrite);

/* A copy of the graph in `arena`; names and attributes are shared. */
MwGraph *mw_graph_copy(MwArena *arena, const MwGraph *graph);

#endif
