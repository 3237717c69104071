/* SPDX-License-Identifier: MIT */
/* The program that runs a plan: main of every executable that `meshwright compile` makes, and of
 * meshwright-run. */
#ifndef MW_RUNTIME_RUN_H
#define MW_RUNTIME_RUN_H

#include "runtime/kernel.h"
#include "runtime/plan.h"

/* `kernels` ends with a NULL name; NULL: the plan's kernel source is compiled first, by the C
 * compiler of the machine. Returns the exit status: 0; 1 after a fault or a loss that is not
 * finite; 2 for wrong arguments; 130 when interrupted. */
int mw_run_main(int argc, char **argv, const MwPlan *plan, const MwKernelEntry *kernels);
/* The same on a plan's text, as an executable holds it, and on the plan file argv[1]. */
int mw_run_text(int argc, char **argv, const char *text, size_t bytes,
                const MwKernelEntry *kernels);
int mw_run_file(int argc, char **argv);

#endif
