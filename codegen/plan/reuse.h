/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long ago the memory that an instruction uses was used before, in bytes that others used since
 * then: from which cache it comes (Mattson et al.: Evaluation techniques for storage hierarchies,
 * IBM Systems Journal 9(2), 1970, stack distances). Bytes that are used twice meanwhile count
 * twice, but never more than the arena has.
 *
 * The instructions of a stage are gone through once, program after program. What none of them used
 * before was used in the step before, an arena ago. The first run stands for all runs of a loop,
 * and one micro-batch for all. */
#ifndef MW_CODEGEN_PLAN_REUSE_H
#define MW_CODEGEN_PLAN_REUSE_H

#include "cost/cost.h"
#include "runtime/plan/plan.h"

typedef struct MwReuse MwReuse;

/* Nothing was used yet. The buffers have their places. Lies in `arena`, grows as MwAccesses. */
MwReuse *mw_reuse_new(MwArena *arena, const MwPlanBuffer *buffers, int buffer_count,
                      int64_t arena_bytes);

/* Notes that `instr` uses its operands, `bytes` of them in one run. Returns the seconds that these
 * take; 0 if the model has one bandwidth for all. */
double mw_reuse_s(MwReuse *reuse, const MwCostModel *model, const MwPlanInstr *instr, double bytes);

/* Bytes that all instructions so far have used. */
double mw_reuse_bytes(const MwReuse *reuse);

/* Notes that the instructions since then, a loop, run so often. */
void mw_reuse_repeat(MwReuse *reuse, double since_bytes, int64_t runs);

#endif
