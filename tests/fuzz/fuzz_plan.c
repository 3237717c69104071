/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of plans on any text, as it is and with a right checksum: it gives a plan that prints
 * as the same text, or an error. A plan that the checker accepts runs on the check device, and is
 * simulated, unless its times are none. */
#include "base/hash.h"
#include "codegen/simulate/simulate.h"
#include "runtime/check/check.h"
#include "runtime/verify.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"

#include <stdlib.h>
#include <string.h>

/* Small enough to run on every rank. */
static bool is_small(const MwPlan *plan)
{
    int64_t instrs = 0;
    for (int i = 0; i < plan->mesh_count; i++) {
        const MwPlanMesh *mesh = &plan->meshes[i];
        if (mesh->arena_bytes > 1 << 20)
            return false;
        for (int t = 0; t < mesh->task_count; t++)
            instrs += mesh->programs[mesh->tasks[t].program].instr_count;
    }
    return instrs < 1000 && plan->rank_count <= 16;
}

static void verify(MwArena *arena, const MwPlan *plan)
{
    char *said = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&said, &bytes);
    bool good = mw_plan_verify(arena, plan, out);
    fclose(out);
    if (!good)
        fputs(said, stderr);
    MW_ASSERT(good);
    free(said);
}

/* With the times of the plan, and with those on other links. */
static void simulate(MwArena *arena, const MwPlan *plan, MwDiags *diags)
{
    MwCluster cluster = test_cluster_of_nodes(8, 2);
    const MwStraggler straggler = {0, 2};
    MwSimulateOptions options = {.contention = true, .steps = 1};
    cluster.backend = plan->backend;
    for (int i = 0; i < 2; i++) {
        const MwSimulation *simulation = mw_simulate(arena, plan, &options, diags);
        MW_ASSERT(!simulation || simulation->step_s >= 0);
        options = (MwSimulateOptions){.cluster = &cluster,
                                      .contention = true,
                                      .collectives_in_line = true,
                                      .messages_in_line = true,
                                      .jitter = 0.1,
                                      .stragglers = &straggler,
                                      .straggler_count = 1,
                                      .seed = 1,
                                      .steps = 2,
                                      .records = true};
    }
}

static void read_plan(const char *text, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    const MwSource source = {"fuzz.plan", text, bytes};
    const MwPlan *plan = mw_plan_parse(arena, &source, diags);
    MW_ASSERT((plan == NULL) == (mw_diags_error_count(diags) > 0));
    if (plan) {
        MwText again = {.arena = arena};
        mw_plan_print(&again, plan);
        MW_ASSERT(again.bytes == bytes && memcmp(again.at, text, bytes) == 0);
        if (mw_plan_check(plan, diags) && is_small(plan)) {
            verify(arena, plan);
            simulate(arena, plan, diags);
        }
    }
    diags_text(arena, diags);
    mw_arena_free(&arena);
}

/* The text with its last line replaced by its checksum. */
static char *with_checksum(MwArena *arena, const char *text, size_t bytes)
{
    while (bytes > 0 && text[bytes - 1] == '\n')
        bytes--;
    while (bytes > 0 && text[bytes - 1] != '\n')
        bytes--;
    return mw_arena_printf(arena, "%.*schecksum %016llx\n", (int)bytes, text,
                           (unsigned long long)mw_hash_bytes(text, bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    const char *text = mw_arena_strndup(arena, (const char *)data, bytes);
    read_plan(text, bytes);
    const char *summed = with_checksum(arena, text, bytes);
    read_plan(summed, strlen(summed));
    mw_arena_free(&arena);
    return 0;
}
