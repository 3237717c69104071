/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a plan to an executable: the compilers of the system, and the runtime's archives. */
#ifndef MW_CODEGEN_LINK_DRIVER_H
#define MW_CODEGEN_LINK_DRIVER_H

#include "runtime/plan/plan.h"

/* Writes the executable `path`: the runtime, the compiled kernels, and the plan's text in the
 * section that mw_plan_read finds it in. Compiles in a folder of its own under TMPDIR, with the
 * compilers that the environment's CC and NVCC name, else `cc` and the nvcc that Meson found; the
 * folder is kept where a compiler fails. `cuda_arch` lists the GPUs that a plan for cuda shall run
 * on, by compute capability, "80,90"; NULL: those that the runtime was compiled for. `version` is
 * that of this meshwright, which the executable tells. False after an error; what was at `path` is
 * then as it was. */
bool mw_codegen_executable(MwArena *arena, const MwPlan *plan, const char *cuda_arch,
                           const char *version, const char *path, MwDiags *diags);

#endif
