/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shardings that a value could have, each with the plan that has it and is else the best. */
#ifndef MW_TOOLS_EXPLAIN_CANDIDATES_H
#define MW_TOOLS_EXPLAIN_CANDIDATES_H

#include "base/vec.h"
#include "tools/session.h"

typedef struct {
    MwSpec spec; /* of the first result of the operator */
    bool is_chosen;
    const char *refused; /* why there is no plan with it; NULL: there is one */
    double step_s, compute_s, communication_s; /* of the plan */
    int64_t bytes; /* memory of a device, on the mesh that has the operator */
    /* of the operator, and of all others whose names match */
    double own_compute_s, own_communication_s;
} MwExplainCandidate;

typedef struct {
    const MwPlanOperator *op; /* the first that matches */
    const MwPlanMesh *mesh;
    int matching; /* operators of the mesh that match */
    MW_VEC(MwExplainCandidate)
    list; /* the chosen first, then by the time of a step; refused ones last */
} MwExplainCandidates;

/* The options that have the search choose the layout of `plan` again: its stages, schedule,
 * micro-batches and, where all meshes have one shape, mesh. */
MwCompileOptions mw_same_layout(const MwCompileOptions *options, const MwPlan *plan);

/* The candidates for the operators whose names match the glob, in `arena`; false after an error:
 * none matches. Plans the model once for each, at most MOST_CANDIDATES times. */
bool mw_explain_candidates(MwArena *arena, MwSession *session, const MwPlan *plan, const char *glob,
                           MwExplainCandidates *candidates, MwDiags *diags);

#endif
