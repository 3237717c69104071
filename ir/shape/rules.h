/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shape rules, by family in the files beside this one.
 *
 * A rule looks at the operands and attributes of its context and gives result types, or adds an
 * error and returns false. Before a rule runs, shape.c has checked the operand count and what
 * holds for the attributes of every operator; after it, that the results have a size that can be
 * counted. */
#ifndef MW_IR_SHAPE_RULES_H
#define MW_IR_SHAPE_RULES_H

#include "ir/shape/context.h"

/* One rule for each name in the `shape` column. */
#define OP(id, name, operands, results, attrs, shape, ...) bool mw_shape_##shape(MwShapeContext *);
#include "ir/ops.def"

#endif
