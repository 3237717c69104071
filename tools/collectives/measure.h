/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring all-reduces among ranks of this machine, for `collectives --run`: each algorithm by
 * messages, and what the executor does.
 *
 *     mw_collective_times_new → (ranks that mpirun starts: mw_collective_measure) →
 *     mw_collective_times_read */
#ifndef MW_TOOLS_COLLECTIVES_MEASURE_H
#define MW_TOOLS_COLLECTIVES_MEASURE_H

#include "base/diag.h"
#include "tools/collectives/table.h"

/* Allocates the measured times of the rows of a table of all-reduces, in `arena`. */
void mw_collective_times_new(MwArena *arena, MwCollectiveTable *table);

/* Measures the times, as one of the ranks that mpirun started, which are the devices of the table's
 * axis; each checks what it gets. The first writes them to the file at `path`. Ends all ranks after
 * a message that names the rank and the cause, if something fails. */
void mw_collective_measure(MwArena *arena, MwCollectiveTable *table, const char *path);

/* Takes the times from the file that ranks wrote. False, after an error, if it is not whole. */
bool mw_collective_times_read(MwArena *arena, MwCollectiveTable *table, const char *path,
                              MwDiags *diags);

#endif
