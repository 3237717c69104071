/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright compile MODEL.graph [-o OUT]`. */
#include "base/backend.h"
#include "base/clock.h"
#include "codegen/link/driver.h"
#include "tools/commands.h"
#include "tools/plan/summarize.h"
#include "tools/version.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether the GPUs of the cluster, if it has any and says which, run kernels. */
static bool runs_kernels(const MwSession *session, const MwPlan *plan, MwDiags *diags)
{
    const MwCluster *cluster = session->compilation.cluster;
    const int capability = (int)lround(10 * cluster->device.capability);
    if (strcmp(plan->backend, mw_backend_info(MW_BACKEND_cuda)->name) != 0 || capability == 0 ||
        capability >= MW_CUDA_LEAST_CAPABILITY)
        return true;
    mw_diag_error(diags, mw_span_none(),
                  "cluster %s is for planning alone: its GPUs are of compute capability %d.%d, and "
                  "kernels need %d.%d or later",
                  cluster->name, capability / 10, capability % 10, MW_CUDA_LEAST_CAPABILITY / 10,
                  MW_CUDA_LEAST_CAPABILITY % 10);
    return false;
}

/* Compiles kernels and links; its time goes to where the times of passes go. */
static void make_executable(MwSession *session, const MwPlan *plan)
{
    const double begin_s = mw_clock_s();
    FILE *times = session->options.pipeline.times;
    mw_codegen_executable(session->options.arena, plan, session->options.cuda_arch, mw_version,
                          session->options.output, session->diags);
    if (times)
        fprintf(times, "%-14s %9.3f ms  %7d kernels\n", "compiler", 1e3 * (mw_clock_s() - begin_s),
                plan->kernel_count);
}

int mw_command_compile(int argc, char **argv)
{
    static const MwToolCommand command = {
        .what = "Makes a parallel executable of a model, for a cluster.",
        .plans = true,
        .suffix = ""};
    MwSession session;
    mw_session_begin(&session, &command, argc, argv);
    const MwPlan *plan = mw_session_plan(&session);
    if (plan && runs_kernels(&session, plan, session.diags))
        make_executable(&session, plan);
    return mw_session_summarize(&session, plan);
}
