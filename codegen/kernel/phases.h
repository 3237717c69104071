/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the columns of a row are walked: in one pass (phase) for all that needs no row reduction, in
 * another for what needs those, and so on. A value of one phase that a later one needs is kept for
 * the row, or computed again where that is cheaper. Common to the printers. */
#ifndef MW_CODEGEN_KERNEL_PHASES_H
#define MW_CODEGEN_KERNEL_PHASES_H

#include "codegen/kernel/kernel.h"

typedef struct {
    int count;
    /* Per instruction: the phase it is ready in. ROW instructions run before the columns of that
     * phase, POINT instructions and what takes their values with them. */
    int *phase;
    /* Per phase and instruction: POINT instructions that its columns run; kept ones are read back
     * from the second phase on. */
    bool **runs;
    bool *kept;
    /* Per phase: nothing to do in its columns. */
    bool *is_empty;
} MwPhases;

/* Whether phase p has instruction i from where an earlier one kept it. */
bool mw_phases_reads_back(const MwPhases *phases, int p, int i);

/* Nothing is kept of rows of more than `most_columns`. `keeps_loads`: what is loaded is kept too, where
 * loading again costs more than to keep it. */
MwPhases mw_phases_plan(MwArena *arena, const MwKernelDef *kernel, const MwNest *nest,
                        int64_t most_columns, bool keeps_loads);

/* The most values of a point that are kept from one phase to the next at once. */
int mw_phases_most_kept(const MwPhases *phases, const MwNest *nest);

#endif
