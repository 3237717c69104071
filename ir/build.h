/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adding nodes that the compiler itself wants. They are well formed by construction: a refusal of
 * the shape rules is our own mistake and ends the process. Nodes get graph->origin and phase. */
#ifndef MW_IR_BUILD_H
#define MW_IR_BUILD_H

#include "ir/ir.h"

MwNodeId mw_build_node(MwGraph *graph, const MwNodeSpec *spec);

/* Each gives the first result; `name` may be NULL. */
MwValueId mw_build(MwGraph *graph, const char *name, MwOp op, const MwValueId *operands, int count,
                   const MwAttr *attrs, int attr_count);
MwValueId mw_build_unary(MwGraph *graph, MwOp op, MwValueId x);
MwValueId mw_build_binary(MwGraph *graph, MwOp op, MwValueId a, MwValueId b);
MwValueId mw_build_select(MwGraph *graph, MwValueId condition, MwValueId a, MwValueId b);
/* All elements equal `value`. */
MwValueId mw_build_constant(MwGraph *graph, const MwTensor *tensor, double value);
/* f32[] */
MwValueId mw_build_scalar(MwGraph *graph, double value);

/* These give `x` itself where it has that shape or type already. */
MwValueId mw_build_cast(MwGraph *graph, MwValueId x, MwType type);
MwValueId mw_build_reshape(MwGraph *graph, MwValueId x, const MwTensor *shape);
MwValueId mw_build_broadcast(MwGraph *graph, MwValueId x, const MwTensor *shape);
/* Sums over the dimensions whose bit is in `dims`, which go unless `keep`. */
MwValueId mw_build_sum(MwGraph *graph, MwValueId x, unsigned dims, bool keep);
/* Sums `x` over the dimensions along which a tensor of the shape of `like` was stretched to become
 * like `x`; a sum of bf16 is in f32 where `like` is. */
MwValueId mw_build_sum_to(MwGraph *graph, MwValueId x, const MwTensor *like);

/* Names the values from index `first` to before `end` that have no name but a made-up one: `name`,
 * with suffixes. Values of identical layers so get names that differ in the layer alone. */
void mw_build_name_rest(MwGraph *graph, int first, int end, const char *name);

/* An attribute that lists the sizes of `tensor`. */
MwAttr mw_attr_shape(MwArena *arena, const MwTensor *tensor);

#endif
