/* SPDX-License-Identifier: MIT */
/* The program that runs a plan: main of every executable that `meshwright compile` makes, and of
 * meshwright-run. */
#ifndef MW_RUNTIME_RUN_H
#define MW_RUNTIME_RUN_H

#include "runtime/backend.h"

/* `backends` are those that the program was linked with, NULL after the last. `kernels` ends with a
 * NULL name; NULL: the plan's kernel source is compiled first. `version` is that of the meshwright
 * that made the program. Returns the exit status: 0; 1 after a fault or a loss that is not finite;
 * 2 for wrong arguments; 130 when interrupted. */
int mw_run_main(int argc, char **argv, const MwPlan *plan, const MwKernelEntry *kernels,
                const MwBackend *const *backends, const char *version);
/* These run the plan given as a text, which an executable holds, or as the plan file argv[1]. */
int mw_run_text(int argc, char **argv, const char *text, size_t bytes, const MwKernelEntry *kernels,
                const MwBackend *const *backends, const char *version);
int mw_run_file(int argc, char **argv, const MwBackend *const *backends, const char *version);

#endif
