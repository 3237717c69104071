/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Result types from operand types and attributes: the `shape` column of ir/ops.def. */
#ifndef MW_IR_SHAPE_SHAPE_H
#define MW_IR_SHAPE_SHAPE_H

#include "ir/shape/query.h"

/* Fills `results`, allocated in `arena`, and their count. False after an error that names the
 * sizes that disagree. All operands and attribute values are checked, so that every node of a
 * graph is well formed. */
bool mw_shape_infer(MwArena *arena, const MwShapeQuery *query, MwTensor **results,
                    int *result_count, MwDiags *diags);

#endif
