/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shape rules, by family in the .c files of this folder.
 *
 * A rule inspects the operands and attributes of its context and sets the result types, or adds
 * an error and returns false. Before a rule runs, shape.c checks the operand count and the
 * bounds of attributes; after it, that the number of elements of the results is representable. */
#ifndef MW_IR_SHAPE_RULES_H
#define MW_IR_SHAPE_RULES_H

#include "ir/shape/context.h"

/* One rule for each name in the `shape` column. */
#define OP(id, name, operands, results, attrs, shape, ...) bool mw_shape_##shape(MwShapeContext *);
#include "ir/ops.def"

#endif
