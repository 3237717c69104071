/* SPDX-License-Identifier: MIT */
/* `mpirun -n N meshwright-run FILE.plan [options]` runs a plan file, or the plan in an executable
 * that `meshwright compile` made, with the options of such an executable. */
#include "runtime/run.h"
#include "tools/backends.h"

#include <stdio.h>
#include <string.h>

static int usage(FILE *out, int status)
{
    fputs("usage: mpirun -n RANKS meshwright-run FILE.plan [options]\n"
          "(meshwright-run FILE.plan --help lists the options)\n",
          out);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-')
        return argc > 1 && strcmp(argv[1], "--help") == 0 ? usage(stdout, 0) : usage(stderr, 2);
    return mw_run_file(argc, argv, mw_backends);
}
