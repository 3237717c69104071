/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/ranks.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs the words, which end with NULL; false after an error. */
static bool run_program(const char *const *words, int output, MwDiags *diags)
{
    const int status = mw_process_run(words, output);
    if (status < 0)
        mw_diag_error(diags, mw_span_none(), "cannot start '%s': %s", words[0], strerror(errno));
    else if (status > 0)
        mw_diag_error(diags, mw_span_none(), "'%s' failed while it measured", words[0]);
    return status == 0;
}

/* Ranks may outnumber cores, and root may start them, as in a container. */
static void allow_mpirun(void)
{
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (geteuid() != 0)
        return;
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

bool mw_ranks_run(MwArena *arena, int ranks, const char *const *words, int count, int output,
                  MwDiags *diags)
{
    const char *mpirun[] = {"mpirun",    "--oversubscribe",
                            "--bind-to", "none",
                            "-n",        mw_arena_printf(arena, "%d", ranks)};
    const int before = ranks > 1 ? MW_COUNT(mpirun) : 0;
    const char **all = MW_NEW(arena, const char *, before + count + 1);
    for (int i = 0; i < before + count; i++)
        all[i] = i < before ? mpirun[i] : words[i - before];
    all[before + count] = NULL;
    allow_mpirun();
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const bool good = run_program(all, output < 0 ? nowhere : output, diags);
    close(nowhere);
    return good;
}

void mw_ranks_warn_if_busy(MwDiags *diags)
{
    double load;
    if (getloadavg(&load, 1) == 1 && load > 0.5)
        mw_diag_warning(diags, mw_span_none(),
                        "this machine was busy already (load %.1f), and is faster than it measures",
                        load);
}
