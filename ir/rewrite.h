/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rebuilding a graph: a pass walks the old one and adds to the new one what it wants to keep. */
#ifndef MW_IR_REWRITE_H
#define MW_IR_REWRITE_H

#include "ir/ir.h"

typedef struct {
    const MwGraph *from;
    MwGraph *to;
    MwValueId *value; /* [values of from] its form in `to`; no value: not there (yet) */
} MwRewrite;

MwRewrite mw_rewrite_begin(const MwGraph *from);

/* New nodes get the place and phase of `node`, a node of `from`. */
void mw_rewrite_at(MwRewrite *rewrite, const MwNode *node);

/* The operands of `node` in `to`; all must be there. In the arena. */
MwValueId *mw_rewrite_operands(const MwRewrite *rewrite, const MwNode *node);

/* A copy of `node`, its place, phase and names included; notes the forms of its results. */
MwNodeId mw_rewrite_copy(MwRewrite *rewrite, const MwNode *node);

/* The same on other operands, values of `to`. */
MwNodeId mw_rewrite_copy_on(MwRewrite *rewrite, const MwNode *node, const MwValueId *operands);

/* Gives `to` the outputs, loss, assignments and pins of `from`. Pins of values that are not there
 * go; the others must be there. */
void mw_rewrite_finish(MwRewrite *rewrite);

/* The same graph, in `arena`; names and attributes are shared. */
MwGraph *mw_graph_copy(MwArena *arena, const MwGraph *graph);

#endif
