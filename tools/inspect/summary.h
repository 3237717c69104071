/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan in ten lines: what was chosen, in words, and what it is predicted to give. */
#ifndef MW_TOOLS_INSPECT_SUMMARY_H
#define MW_TOOLS_INSPECT_SUMMARY_H

#include "base/text.h"
#include "runtime/plan/plan.h"

/* "data 4 x tensor 2 x pipeline 4", in `arena`; where the meshes differ, each range of those that
 * are alike. */
const char *mw_inspect_parallelism(MwArena *arena, const MwPlan *plan);
/* The least of the meshes' (tools/inspect/roles.h). */
int mw_inspect_plan_zero_level(const MwPlan *plan);

/* What a step takes in. */
typedef struct {
    double samples; /* rows of the inputs that are parts of the batch; 0: none is */
    double tokens;  /* elements of the input `tokens`; 0: there is none */
} MwInspectBatch;

MwInspectBatch mw_inspect_batch(const MwPlan *plan);

/* The price of one step, USD, where the plan has one; else 0. Of a sample likewise. */
double mw_inspect_step_usd(const MwPlan *plan);
double mw_inspect_sample_usd(const MwPlan *plan);
/* "0.0123 USD a step, 12.3 USD a million samples, at 262 USD/h", of a plan that has a price. */
const char *mw_inspect_cost(MwArena *arena, const MwPlan *plan);

/* A number of a rate to four digits, and without an exponent. */
const char *mw_inspect_rate(MwArena *arena, double rate);

void mw_inspect_summary(MwText *text, const MwPlan *plan);

#endif
