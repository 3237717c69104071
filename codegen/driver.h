/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a plan to an executable: the system's C compiler, and the runtime's archive. */
#ifndef MW_CODEGEN_DRIVER_H
#define MW_CODEGEN_DRIVER_H

#include "runtime/plan.h"

/* Writes the executable `path`: the runtime, the compiled kernels, and the plan's text in the
 * section that mw_plan_read finds it in. Compiles in a folder of its own under TMPDIR with the
 * compiler that the environment's CC names, else `cc`; the folder is kept where the compiler fails.
 * False after an error; what was at `path` is then as it was. */
bool mw_codegen_executable(MwArena *arena, const MwPlan *plan, const char *path, MwDiags *diags);

#endif
