/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Library operators (the LIBRARY lines of ir/ops.def): the routine that a node calls, the form
 * that its operands need, and the arguments of the call. */
#ifndef MW_CODEGEN_LEGAL_LIBRARY_H
#define MW_CODEGEN_LEGAL_LIBRARY_H

#include "codegen/legal/legalize_rules.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/routine.h"

/* Library operators whose routines take all operands dense: each in its type, but floats in f32
 * where the backend takes no other. Of f32, the result is f32; it is cast to what the local graph
 * wants. mw_legal_dense_operands is their rule of legalization;
 * mw_legal_dense_ids is the rule where operand 0 is indices, which the routine takes in i32. */

/* The routine that a library operator calls. */
MwRoutine mw_library_routine(MwOp op);

/* The rule of legalization of a library operator. */
MwLegalRule *mw_library_rule(MwOp op);

/* The arguments of the call of `node`, a library operator of the legal graph; [arguments of the
 * routine] in `arena`. */
MwPlanArg *mw_library_args(MwArena *arena, const MwLegal *legal, const MwNode *node);

/* Sets in `args`, those of the call of `node`, that it writes result k with a layout in a larger
 * value: as a part of the rows of that. False, without a change, if the routine cannot. */
bool mw_library_place_result(const MwLegal *legal, const MwNode *node, int k,
                             const MwLayout *layout, MwPlanArg *args);

/* The size of the scratch operand of the call, in bytes; 0: it has none. */
int64_t mw_library_scratch_bytes(MwArena *arena, const MwLegal *legal, const MwNode *node);

#endif
