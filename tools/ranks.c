/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Runs `argv` with its standard output thrown away; false after an error. */
static bool run_program(char *const *argv, MwDiags *diags)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        mw_diag_error(diags, mw_span_none(), "cannot start '%s': %s", argv[0], strerror(failed));
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    mw_diag_error(diags, mw_span_none(), "'%s' failed while it measured", argv[0]);
    return false;
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

bool mw_ranks_run(MwArena *arena, int ranks, const char *const *words, int count, MwDiags *diags)
{
    const char *mpirun[] = {"mpirun",    "--oversubscribe",
                            "--bind-to", "none",
                            "-n",        mw_arena_printf(arena, "%d", ranks)};
    const int before = ranks > 1 ? MW_COUNT(mpirun) : 0;
    char **argv = MW_NEW(arena, char *, before + count + 1);
    for (int i = 0; i < before + count; i++)
        argv[i] = mw_arena_strdup(arena, i < before ? mpirun[i] : words[i - before]);
    argv[before + count] = NULL;
    allow_mpirun();
    return run_program(argv, diags);
}

void mw_ranks_warn_if_busy(MwDiags *diags)
{
    double load;
    if (getloadavg(&load, 1) == 1 && load > 0.5)
        mw_diag_warning(diags, mw_span_none(),
                        "this machine was busy already (load %.1f), and is faster than it measures",
                        load);
}
