/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a simulation shows. */
#ifndef MW_TOOLS_SIMULATE_PRINT_H
#define MW_TOOLS_SIMULATE_PRINT_H

#include "base/text.h"
#include "codegen/simulate/goodput.h"
#include "codegen/simulate/simulation.h"
#include "tools/simulate/measured.h"

typedef struct {
    const MwPlan *plan;
    const MwSimulateOptions *options;
    const MwSimulation *simulation;
    const MwMeasuredPlan *measured; /* NULL: times are predicted */
    const MwGoodputOptions *run;    /* NULL: no device fails */
    const MwGoodput *goodput;
} MwSimulateReport;

void mw_simulate_print_text(MwText *text, const MwSimulateReport *report);
void mw_simulate_print_json(MwText *text, const MwSimulateReport *report);

#endif
