/* SPDX-License-Identifier: MIT */
/* What every part of the plan's checker works with: the plan, the place being checked, and how an
 * error is reported. */
#ifndef MW_RUNTIME_CHECK_REPORT_H
#define MW_RUNTIME_CHECK_REPORT_H

#include "runtime/plan/plan.h"

#include <math.h>

typedef struct {
    const MwPlan *plan;
    const MwPlanMesh *mesh; /* the mesh being checked; unset where a rule is about the whole plan */
    MwDiags *diags;
    MwArena *arena;    /* scratch memory, freed when the check ends */
    const char *place; /* prefix of every error: "mesh 0, program forward, instruction 3 (gemm)" */
} MwCheck;

/* Adds the error "PLACE: TEXT"; the text is cut at 400 bytes. */
void mw_check_error(const MwCheck *check, const char *format, ...) MW_PRINTF(2, 3);

/* Whether a prediction can be a time or an amount of work: traces and reports have no infinity. */
static inline bool mw_check_is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

#endif
