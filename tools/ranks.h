/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks of a program on this machine, which mpirun starts. */
#ifndef MW_TOOLS_RANKS_H
#define MW_TOOLS_RANKS_H

#include "base/diag.h"

/* Runs `ranks` ranks of a program, of which one needs no mpirun, to their end. `words` are the path
 * of the program and its arguments; `output` is a file descriptor for their standard output, or -1,
 * which throws it away. False, after an error that names what could not be started or failed. */
bool mw_ranks_run(MwArena *arena, int ranks, const char *const *words, int count, int output,
                  MwDiags *diags);

/* Adds a warning if others use this machine, before anything is measured. */
void mw_ranks_warn_if_busy(MwDiags *diags);

#endif
