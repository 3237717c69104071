/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop over attempts. Gaps between buffers are known only when the plan is built, so that what
 * the passes chose for the memory that there is may need more: then they choose again for less.
 * Excesses that the passes find themselves are final: for less memory there is no more to choose
 * from. */
#include "codegen/plan/plan_model.h"

#include "codegen/plan/build.h"
#include "ir/rewrite.h"
#include "passes/memory_target.h"
#include "passes/sharding/save_problem.h"
#include "passes/stages/known.h"
#include "passes/tuning.h"
#include "runtime/check/check.h"

#include <stdlib.h>

typedef struct {
    MwArena *arena;
    MwCompilation compilation;
    MwDiags *diags;
    const char *dump, *times; /* what the passes wrote; NULL: not wanted */
    MwPlan *plan;             /* NULL: none */
} Attempt;

/* ---- Output of the passes, kept until it is known whether it is delivered ---- */

typedef struct {
    FILE *file; /* NULL: not wanted */
    char *text;
    size_t bytes;
} Output;

static void output_open(Output *output)
{
    output->file = open_memstream(&output->text, &output->bytes);
    MW_ASSERT(output->file != NULL);
}

static const char *output_close(MwArena *arena, Output *output)
{
    if (!output->file)
        return NULL;
    fclose(output->file);
    const char *text = mw_arena_strndup(arena, output->text, output->bytes);
    free(output->text);
    return text;
}

/* ---- Attempts ---- */

static bool run_passes(const MwPlanRequest *request, Attempt *attempt)
{
    MwPipelineOptions pipeline = *request->pipeline;
    Output dump = {0}, times = {0};
    if (pipeline.dump_after != MW_PASS_COUNT)
        output_open(&dump);
    if (pipeline.times)
        output_open(&times);
    pipeline.dump = dump.file;
    pipeline.times = times.file;
    bool good = mw_pipeline_run(&attempt->compilation, &pipeline, attempt->diags);
    attempt->dump = output_close(attempt->arena, &dump);
    attempt->times = output_close(attempt->arena, &times);
    return good && pipeline.stop_after == MW_PASS_COUNT;
}

static Attempt *attempt_new(MwArena *around, const MwPlanRequest *request, MwStageKnown *known,
                            int64_t target_bytes)
{
    MwArena *arena = mw_arena_new_within(around);
    Attempt *attempt = MW_NEW(arena, Attempt, 1);
    *attempt = (Attempt){.arena = arena, .diags = mw_diags_new(arena)};
    attempt->compilation = (MwCompilation){.arena = arena,
                                           .options = *request->options,
                                           .cluster = request->cluster,
                                           .graph = mw_graph_copy(arena, request->graph),
                                           .known = known,
                                           .memory_target_bytes = target_bytes};
    if (run_passes(request, attempt))
        attempt->plan = mw_plan_build(&attempt->compilation, request->source, attempt->diags);
    if (attempt->plan && !mw_plan_check(attempt->plan, attempt->diags))
        attempt->plan = NULL;
    return attempt;
}

static void attempt_free(Attempt **attempt)
{
    MwArena *arena = (*attempt)->arena;
    mw_arena_free(&arena);
    *attempt = NULL;
}

/* Sets the target after an attempt without a plan; false if there is to be no other. */
static bool correct(MwMemoryTarget *target, const Attempt *attempt)
{
    switch (attempt->compilation.excess.kind) {
    case MW_EXCESS_NONE:
        return false;
    case MW_EXCESS_LAYOUT:
    case MW_EXCESS_SHARDING:
        return mw_memory_target_empty(target);
    case MW_EXCESS_ARENA:
        return mw_memory_target_exceeded(target, attempt->compilation.excess.needed_bytes);
    }
    MW_UNREACHABLE();
}

/* Writes all that there is to tell of an attempt. */
static bool deliver(const MwPlanRequest *request, const Attempt *attempt, MwDiags *diags)
{
    if (attempt->dump)
        fputs(attempt->dump, request->pipeline->dump);
    if (attempt->times)
        fputs(attempt->times, request->pipeline->times);
    mw_diags_append(diags, attempt->diags);
    return mw_problems_save(&attempt->compilation, diags);
}

MwPlanResult mw_plan_model(MwArena *arena, const MwPlanRequest *request, MwDiags *diags)
{
    MwStageKnown *known = mw_stage_known_new(arena);
    Attempt *first = attempt_new(arena, request, known, 0), *last = first;
    MwPlanResult result = {.attempts = 1};
    MwMemoryTarget target =
        mw_memory_target(mw_device_bytes(&first->compilation), MW_TUNED_MEMORY_CORRECTIONS);
    while (!last->plan && correct(&target, last)) {
        if (last != first)
            attempt_free(&last);
        last = attempt_new(arena, request, known, target.target_bytes);
        result.attempts++;
    }
    Attempt *delivered = last->plan ? last : first, *other = last->plan ? first : last;
    result.excess = delivered->compilation.excess;
    result.target_bytes = delivered->compilation.memory_target_bytes;
    if (deliver(request, delivered, diags))
        result.plan = delivered->plan;
    if (other != delivered)
        attempt_free(&other);
    return result;
}
