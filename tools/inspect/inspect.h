/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan shown to people and programs. Everything shown stands in the plan itself. */
#ifndef MW_TOOLS_INSPECT_INSPECT_H
#define MW_TOOLS_INSPECT_INSPECT_H

#include "base/quantity.h"
#include "base/text.h"
#include "runtime/plan/plan.h"

/* For a terminal: what was chosen for every operator, what it costs, and totals. Identical rows of
 * repeated layers are folded into one unless `all`. */
void mw_inspect_text(MwText *text, const MwPlan *plan, bool all);
/* One JSON object; docs/inspect.md lists its keys. */
void mw_inspect_json(MwText *text, const MwPlan *plan);
/* A Graphviz digraph of the operators, coloured by phase. */
void mw_inspect_dot(MwText *text, const MwPlan *plan);
/* One self-contained page. */
void mw_inspect_html(MwText *text, const MwPlan *plan);

/* What all formats show of one mesh beyond what the plan says outright. */
typedef struct {
    int64_t weight_bytes, state_bytes, input_bytes, other_bytes; /* of the arena, per device */
    int64_t communicated_bytes;                                  /* per device and step */
    int collective_count;                                        /* per step */
} MwInspectTotals;

MwInspectTotals mw_inspect_totals(const MwPlanMesh *mesh);

/* (objective - bound) / objective; 0 where both are 0. */
double mw_inspect_gap(const MwPlanCosts *costs);

/* The optimizer state of `weight` that is sharded most; NULL if it has none. */
const MwPlanWeight *mw_inspect_state_of(const MwPlanMesh *mesh, const MwPlanWeight *weight);

/* Texts in `arena`: "[S0, R]"; "f32[8, 128]". */
const char *mw_spec_string(MwArena *arena, MwSpec spec, int rank);
const char *mw_tensor_string(MwArena *arena, const MwTensor *tensor);

#endif
