/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading numbers of bytes. argp_error ends the process for wrong usage. */
#ifndef MW_TOOLS_ARGUMENT_BYTES_H
#define MW_TOOLS_ARGUMENT_BYTES_H

#include <argp.h>
#include <stdint.h>

/* "16GB", "512MiB" or "4096": at least 1, less than 2^60. `what` is what it is, in the message:
 * "amount of memory". */
int64_t mw_argument_bytes(const struct argp_state *state, const char *what, const char *text);

#endif
