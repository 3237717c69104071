/* SPDX-License-Identifier: MIT */
/* mpirun -n N meshwright-run FILE.plan [options]: runs a plan file, or the plan in an executable
 * that `meshwright compile` made, with the options of such an executable. */
#include "runtime/run.h"

#include <stdlib.h>
#include <string.h>

static int usage(FILE *out, int status)
{
    fputs("usage: mpirun -n RANKS meshwright-run FILE.plan [options]\n"
          "(meshwright-run FILE.plan --help lists the options)\n",
          out);
    return status;
}

/* The program's name with the file's, as a message that says how to run it must give them. */
static char **without_file(MwArena *arena, int argc, char **argv)
{
    char **args = MW_NEW(arena, char *, argc);
    memcpy(args, argv + 1, sizeof *args * (size_t)(argc - 1));
    args[0] = mw_arena_printf(arena, "%s %s", argv[0], argv[1]);
    return args;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-')
        return argc > 1 && strcmp(argv[1], "--help") == 0 ? usage(stdout, 0) : usage(stderr, 2);
    MwArena *arena = mw_arena_new();
    int status = mw_run_file(argc - 1, without_file(arena, argc, argv), argv[1]);
    mw_arena_free(&arena);
    return status;
}
