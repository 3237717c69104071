/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The updates of the stages on one mesh as one program. */
#ifndef MW_CODEGEN_PLAN_MERGE_H
#define MW_CODEGEN_PLAN_MERGE_H

#include "base/arena.h"
#include "runtime/plan/plan.h"

/* All instructions of `parts`, those of one part in their order. Receives come in the order of
 * their transfers, which is that of the whole model, and everything that can come before one does:
 * so no mesh waits for what another will send only after what this mesh has not sent yet. In each
 * part a receive stands after the sends and receives of lower transfers. */
MwPlanProgram mw_programs_merge(MwArena *arena, const char *name, const MwPlanProgram *parts,
                                int count);

#endif
