/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What commands share in reading their arguments and writing their result. Functions that are given
 * argp's state end the process with argp_error for wrong usage. */
#ifndef MW_TOOLS_ARGUMENT_H
#define MW_TOOLS_ARGUMENT_H

#include "base/diag.h"
#include "base/text.h"

#include <argp.h>

/* A whole number from 1 to 2^20; `what` is its name in the message: "the number of ranks". */
int mw_argument_count(const struct argp_state *state, const char *what, const char *text);
/* The index of `text` in `names`; `what` says what they are names of: "format". */
int mw_argument_choice(const struct argp_state *state, const char *what, const char *const *names,
                       int count, const char *text);

/* A time limit. */
double mw_argument_seconds(const struct argp_state *state, const char *text);

/* Writes `text` to the file `path`, or to standard output if that is NULL. */
void mw_result_write(const char *path, const MwText *text, MwDiags *diags);

/* What was printed may still wait to be written, to a disk that is full: writes it, and gives the
 * exit status, which is `status` if that went well. */
int mw_output_finish(int status);

#endif
