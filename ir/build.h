/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adding nodes that the compiler itself needs. A shape rule that refuses such a node is a
 * mistake of the compiler and ends the process. Nodes get graph->origin and graph->phase. */
#ifndef MW_IR_BUILD_H
#define MW_IR_BUILD_H

#include "ir/ir.h"

MwNodeId mw_build_node(MwGraph *graph, const MwNodeSpec *spec);

/* Each function below adds one node and returns its first result. `name` may be NULL. */
MwValueId mw_build(MwGraph *graph, const char *name, MwOp op, const MwValueId *operands, int count,
                   const MwAttr *attrs, int attr_count);
MwValueId mw_build_unary(MwGraph *graph, MwOp op, MwValueId x);
MwValueId mw_build_binary(MwGraph *graph, MwOp op, MwValueId a, MwValueId b);
MwValueId mw_build_select(MwGraph *graph, MwValueId condition, MwValueId a, MwValueId b);
/* A constant with the type and shape of `tensor` whose elements all equal `value`. */
MwValueId mw_build_constant(MwGraph *graph, const MwTensor *tensor, double value);
/* A constant f32[]. */
MwValueId mw_build_scalar(MwGraph *graph, double value);

/* The next three return `x` itself if it has the type or shape already. */
MwValueId mw_build_cast(MwGraph *graph, MwValueId x, MwType type);
MwValueId mw_build_reshape(MwGraph *graph, MwValueId x, const MwTensor *shape);
MwValueId mw_build_broadcast(MwGraph *graph, MwValueId x, const MwTensor *shape);
/* The elements from `begin` on, before `end`, of a dimension; `x` itself if these are all. */
MwValueId mw_build_slice(MwGraph *graph, MwValueId x, int dim, int64_t begin, int64_t end);
/* The parts one after another along a dimension; one part is itself. */
MwValueId mw_build_concat(MwGraph *graph, const MwValueId *parts, int count, int dim);
/* The sum over the dimensions whose bit is set in `dims`; with `keep` they stay with size 1. */
MwValueId mw_build_sum(MwGraph *graph, MwValueId x, unsigned dims, bool keep);
/* The sum of `x` over the dimensions in which the shape of `like` is broadcast to the shape of
 * `x`. The sum of a tensor of 16 bits is f32 if `like` is. */
MwValueId mw_build_sum_to(MwGraph *graph, MwValueId x, const MwTensor *like);

/* A copy of `value` and of what it depends on. copy: [values, at least those that `value` may
 * depend on] the copies so far of the first results of nodes; no value elsewhere. */
MwValueId mw_build_copy(MwGraph *graph, MwValueId value, MwValueId *copy);

/* Names the values [first, end) that have generated names: `name`, with suffixes. So the names
 * of values of identical layers differ in the layer only. */
void mw_build_name_temporaries(MwGraph *graph, int first, int end, const char *name);

/* An attribute that lists the sizes of `tensor`. */
MwAttr mw_attr_shape(MwArena *arena, const MwTensor *tensor);

#endif
