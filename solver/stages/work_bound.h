/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lower bound of the slowest stage of a cut, from the work of all: the devices that the stages
 * have are those of the cluster, so that one of them takes at least the time that an even share of
 * the work takes. */
#ifndef MW_SOLVER_STAGES_WORK_BOUND_H
#define MW_SOLVER_STAGES_WORK_BOUND_H

#include "solver/stages/table.h"

/* A lower bound of `steady` of every cut into stages on sub-meshes `submesh` (-1: any). With
 * `asked_only`, of cuts without entries that were not asked; MW_FORBIDDEN if there is none. Time
 * grows with the moves. */
int64_t mw_stage_work_bound(const MwStageTable *table, int submesh, bool asked_only);

#endif
