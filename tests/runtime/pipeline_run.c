/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of two stages as a program:
 * pipeline_run MESHES DEVICES MICRO_BATCHES [options of a run]. */
#include "runtime/run.h"
#include "tests/unit/pipeline_plan.h"
#include "tools/backends.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: pipeline_run MESHES DEVICES MICRO_BATCHES [options]\n");
        return 2;
    }
    MwArena *arena = mw_arena_new();
    const MwPlan *plan = pipeline_plan(arena, atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
    argv[3] = argv[0];
    int status = mw_run_main(argc - 3, argv + 3, plan, mw_kernel_table, mw_backends, "tested");
    mw_arena_free(&arena);
    return status;
}
