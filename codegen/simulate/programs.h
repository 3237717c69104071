/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The programs of a mesh as a simulation sees them: their seconds, cut at the operations of their
 * traffic. */
#ifndef MW_CODEGEN_SIMULATE_PROGRAMS_H
#define MW_CODEGEN_SIMULATE_PROGRAMS_H

#include "runtime/plan/traffic.h"

typedef struct {
    /* [op_count + 1] from the operation before, or the beginning, to each, and to the end */
    double *piece_s;
    double *instr_s; /* [instr_count] from the beginning to each, where nothing is waited for */
    double time_s;
    double compute_s; /* of it, but for collectives that nothing hides */
    int coupled;      /* devices of the mesh that wait for each other in it */
} MwSimProgram;

/* [programs of the mesh]. `overlaps`: collectives run while kernels run. */
MwSimProgram *mw_sim_programs(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
                              bool overlaps);

#endif
