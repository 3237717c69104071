/* SPDX-License-Identifier: MIT */
/* `mpirun -n N meshwright-run FILE.plan [options]` runs a plan file, or the plan in an executable
 * that `meshwright compile` made, with the options of such an executable. */
#include "runtime/run.h"
#include "runtime/run_options.h"
#include "tools/backends.h"
#include "tools/version.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "";
    if (strcmp(first, "--help") == 0) {
        mw_run_help(stdout, "meshwright-run FILE.plan");
        return 0;
    }
    if (strcmp(first, "--version") == 0) {
        printf("meshwright-run %s\n", mw_version);
        return 0;
    }
    if (!*first || *first == '-') {
        fputs("usage: mpirun -n RANKS meshwright-run FILE.plan [options]\n"
              "(meshwright-run --help lists the options)\n",
              stderr);
        return 2;
    }
    return mw_run_file(argc, argv, mw_backends, mw_version);
}
