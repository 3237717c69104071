/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading arguments and writing results, for all commands. A function that is given argp's state
 * ends the process with argp_error for wrong usage. */
#ifndef MW_TOOLS_ARGUMENT_H
#define MW_TOOLS_ARGUMENT_H

#include "base/diag.h"
#include "base/spec.h"
#include "base/text.h"
#include "frontend/define.h"

#include <argp.h>

/* A whole number from 1 to 2^20. `what` is its name in the message: "the number of ranks". */
int mw_argument_count(const struct argp_state *state, const char *what, const char *text);
/* The index of `text` in `names`. `what` is what the names are of, in the message: "format". */
int mw_argument_choice(const struct argp_state *state, const char *what, const char *const *names,
                       int count, const char *text);

/* "4" or "2x4". */
MwMeshShape mw_argument_mesh(const struct argp_state *state, const char *text);

/* A time limit in seconds: more than 0, at most 1e9. */
double mw_argument_seconds(const struct argp_state *state, const char *text);

/* Seconds of a length of time with its unit, s, min, h or d, such as "90min": from 0 on, at most
 * 1e9 s. `what` is what it is, in the message: "a deadline". */
double mw_argument_duration(const struct argp_state *state, const char *what, const char *text);

/* The SIZE=VALUE of -D; its texts live in `arena` and in `text`. */
MwDefine mw_argument_define(const struct argp_state *state, MwArena *arena, const char *text);

/* Writes `text` to the file `path`, or to standard output if that is NULL. An error is added. */
void mw_result_write(const char *path, const MwText *text, MwDiags *diags);

/* Writes what was printed and is still buffered, since the disk may be full. Gives the exit status:
 * `status` if all was written, else one that is not 0. */
int mw_output_finish(int status);

#endif
