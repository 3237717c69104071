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

#include <stdio.h>

/* Allocates the measured times of the rows of a table of all-reduces, in `arena`. */
void mw_collective_times_new(MwArena *arena, MwCollectiveTable *table);

/* Measures the times, as one of the ranks that mpirun started, which are the devices of the table's
 * axis; each checks what it gets. The first prints them on standard output. Ends all ranks after a
 * message that names the rank and the cause, if something fails. */
void mw_collective_measure(MwArena *arena, MwCollectiveTable *table);

/* Takes the times from what the ranks printed. False, after an error, if they are not all there. */
bool mw_collective_times_read(MwCollectiveTable *table, FILE *printed, MwDiags *diags);

#endif
