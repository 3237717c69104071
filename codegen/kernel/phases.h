/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phases of a row: a kernel walks the columns of a row once for the instructions that need
 * no row reduction, again for those that need the results of the first walk, and so on. A value
 * of one phase that a later phase needs is kept for the row, or computed again if that is
 * cheaper. All printers use this. */
#ifndef MW_CODEGEN_KERNEL_PHASES_H
#define MW_CODEGEN_KERNEL_PHASES_H

#include "codegen/kernel/kernel.h"

typedef struct {
    int count;
    /* [instructions] the phase in which it can run first. ROW instructions run before the
     * columns of that phase; POINT instructions and reductions of them run with the columns. */
    int *phase;
    /* [phases][instructions] whether the columns of the phase run the POINT instruction; from
     * the second phase on a kept value is read back. */
    bool **runs;
    bool *kept;
    /* [phases] whether no instruction runs in its columns. */
    bool *is_empty;
} MwPhases;

/* Whether phase p reads the value of instruction i that an earlier phase kept. */
bool mw_phases_reads_back(const MwPhases *phases, int p, int i);

/* What is done with values that are loaded. */
typedef enum {
    MW_LOADS_REPEATED, /* each phase loads them */
    MW_LOADS_KEPT,     /* where several phases need them, the first of these does */
    MW_LOADS_FIRST     /* the first phase does, where it can: all loads of a row are in flight */
} MwPhaseLoads;

/* Rows of more than `most_columns` columns keep nothing. */
MwPhases mw_phases_plan(MwArena *arena, const MwKernelDef *kernel, const MwNest *nest,
                        int64_t most_columns, MwPhaseLoads loads);

/* The largest number of values of a point that are kept at the same time. */
int mw_phases_most_kept(const MwPhases *phases, const MwNest *nest);

#endif
