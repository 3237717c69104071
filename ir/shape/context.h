/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The context that a shape rule works in, and helpers of the rules. */
#ifndef MW_IR_SHAPE_CONTEXT_H
#define MW_IR_SHAPE_CONTEXT_H

#include "ir/shape/query.h"

typedef struct {
    MwArena *arena;
    const MwShapeQuery *query;
    MwDiags *diags;
    MwTensor *results; /* [result_count] set by the rule */
    int result_count;
} MwShapeContext;

/* Adds an error at the node's span, after what the query calls the operator; returns false. */
bool mw_shape_fail(MwShapeContext *context, const char *format, ...) MW_PRINTF(2, 3);
/* Adds a note to the error just added; returns false. */
bool mw_shape_note(MwShapeContext *context, const char *format, ...) MW_PRINTF(2, 3);

/* Sets the results; returns true. */
bool mw_shape_give(MwShapeContext *context, const MwTensor *result);
bool mw_shape_give_all(MwShapeContext *context, const MwTensor *results, int count);

/* The type of operand `k`, and its text ("f32[8, 128]", in the arena). */
const MwTensor *mw_shape_operand(const MwShapeContext *context, int k);
const char *mw_shape_text(MwShapeContext *context, const MwTensor *tensor);
/* Returns how messages call operand `k`: "the left" or "the right" of two operands, otherwise
 * "the first operand", ..., "operand 6", ... */
const char *mw_shape_operand_name(MwShapeContext *context, int k);

const MwAttr *mw_shape_attr(const MwShapeContext *context, MwAttrKey key);
int64_t mw_shape_int(const MwShapeContext *context, MwAttrKey key);
double mw_shape_float(const MwShapeContext *context, MwAttrKey key);

/* Checks, each false after an error. This one also returns the axis that attribute `key` names. */
bool mw_shape_want_axis(MwShapeContext *context, MwAttrKey key, const MwTensor *tensor, int *axis);
bool mw_shape_want_rank(MwShapeContext *context, int k, int rank, const char *dims);
/* Numbers whose sum the type may hold: no bools, and no integers of 8 bits. */
bool mw_shape_want_addable(MwShapeContext *context, int k);
/* A type that operators compute with: no floats of 8 bits. */
bool mw_shape_want_computed(MwShapeContext *context, int k);
/* A floating-point type that operators compute with. */
bool mw_shape_want_float(MwShapeContext *context, int k);
bool mw_shape_want_same_types(MwShapeContext *context, int from, int to);
/* Operand `k` must have the shape of operand `like`, and if `typed` its type. */
bool mw_shape_want_like(MwShapeContext *context, int k, int like, bool typed);
/* Dimension `a` of operand `i` and dimension `b` of operand `j`, both called `what`, must have
 * equal sizes. */
bool mw_shape_want_equal(MwShapeContext *context, int i, int a, int j, int b, const char *what);

/* Replaces `type`, that of the operands of a sum, by that of its result. Attribute `type` may
 * give it: the same type, or f32 for floats of 16 bits. */
bool mw_shape_sum_type(MwShapeContext *context, MwType *type);
/* Returns attribute `type`, which must be given. */
bool mw_shape_want_type(MwShapeContext *context, MwType *type);

/* The shape that operands [from, to) broadcast to, with the type of operand `from`. */
bool mw_shape_broadcast_operands(MwShapeContext *context, int from, int to, MwTensor *result);

#endif
