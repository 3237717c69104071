/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The line of a terminal on which passes say how far they are. */
#ifndef MW_PASSES_PROGRESS_H
#define MW_PASSES_PROGRESS_H

#include "base/base.h"

#include <stdio.h>

typedef struct {
    FILE *out;   /* NULL: nothing is said */
    int columns; /* of the terminal */
} MwPassProgress;

/* Shows a text in the place of what the line has: as much of it as the terminal has columns for,
 * because a line that goes on in the next one could not be replaced. */
void mw_pass_progress_show(const MwPassProgress *progress, const char *format, ...) MW_PRINTF(2, 3);
/* Empties the line. */
void mw_pass_progress_clear(const MwPassProgress *progress);

#endif
