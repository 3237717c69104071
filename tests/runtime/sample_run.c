/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sample plan as a program: sample_run RANKS MICRO_BATCHES [options of a run]. */
#include "runtime/run.h"
#include "tests/unit/sample_plan.h"
#include "tools/backends.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: sample_run RANKS MICRO_BATCHES [options]\n");
        return 2;
    }
    MwArena *arena = mw_arena_new();
    const MwPlan *plan = sample_plan(arena, atoi(argv[1]), atoi(argv[2]));
    argv[2] = argv[0];
    int status = mw_run_main(argc - 2, argv + 2, plan, mw_kernel_table, mw_backends, "tested");
    mw_arena_free(&arena);
    return status;
}
