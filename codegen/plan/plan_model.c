/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop over attempts. Gaps between buffers are known only when the plan is built, so that what
 * the passes chose for the memory that there is may need more: then they choose again for less.
 * Excesses that the passes find themselves are final: for less memory there is no more to choose
 * from. Then other layouts are planned that may be quicker. Around both is another loop, over how
 * much padding sizes may have; and where nothing fits, or what fits recomputes most of its layers,
 * all of it once more with the states of optimizers on the host. */
#include "codegen/plan/plan_model.h"

#include "codegen/plan/build.h"
#include "codegen/plan/undivided.h"
#include "codegen/simulate/simulate.h"
#include "ir/rewrite.h"
#include "passes/memory_target.h"
#include "passes/sharding/save_problem.h"
#include "passes/stages/known.h"
#include "passes/tuning.h"
#include "runtime/check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    MwArena *arena;
    MwCompilation compilation;
    MwDiags *diags;
    const char *dump, *times; /* what the passes wrote; NULL: not wanted */
    MwPlan *plan;             /* NULL: none */
    bool is_wrong;            /* the checker refuses the plan: a mistake of the compiler */
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

/* Seconds of a step of the plan where messages share links. The timeline of the plan counts each
 * link between two stages by itself. */
static double simulated_s(const MwPlan *plan, const MwCluster *cluster)
{
    if (plan->mesh_count == 1)
        return plan->step_s;
    MwArena *scratch = mw_arena_new();
    const MwSimulateOptions options = {.cluster = cluster, .contention = true, .steps = 1};
    const MwSimulation *simulation = mw_simulate(scratch, plan, &options, mw_diags_new(scratch));
    const double step_s = simulation ? simulation->step_s : plan->step_s;
    mw_arena_free(&scratch);
    return step_s;
}

/* `after` NULL: a search for a layout; else the best one after that of `after` and those before
 * it. */
static Attempt *attempt_new(MwArena *around, const MwPlanRequest *request, MwStageKnown *known,
                            double most_padding, int64_t target_bytes, const Attempt *after)
{
    MwArena *arena = mw_arena_new_within(around);
    Attempt *attempt = MW_NEW(arena, Attempt, 1);
    *attempt = (Attempt){.arena = arena, .diags = mw_diags_new(arena)};
    attempt->compilation = (MwCompilation){.arena = arena,
                                           .options = *request->options,
                                           .cluster = request->cluster,
                                           .known = known,
                                           .most_padding = most_padding,
                                           .memory_target_bytes = target_bytes,
                                           .takes_next_layout = after != NULL};
    if (after && !after->plan)
        attempt->compilation.taken_layout_bytes = after->compilation.excess.needed_bytes;
    MwCompilation *compilation = &attempt->compilation;
    compilation->graph_arena = mw_arena_new_within(arena);
    compilation->graph = mw_graph_copy(compilation->graph_arena, request->graph);
    if (run_passes(request, attempt))
        attempt->plan = mw_plan_build(&attempt->compilation, request->source, attempt->diags);
    attempt->is_wrong = attempt->plan && !mw_plan_check(attempt->plan, attempt->diags);
    if (attempt->is_wrong)
        attempt->plan = NULL;
    if (attempt->plan) {
        attempt->plan->command = request->command;
        attempt->plan->step_s = simulated_s(attempt->plan, request->cluster);
    }
    return attempt;
}

static void attempt_free(Attempt **attempt)
{
    MwArena *arena = (*attempt)->arena;
    mw_arena_free(&arena);
    *attempt = NULL;
}

/* Whether the attempt has a late schedule (schedule.def) that nobody asked for. */
static bool is_late(const Attempt *attempt)
{
    const MwPipelineSchedule *schedule = attempt->compilation.staging.schedule;
    return schedule && !mw_wants_schedule(&attempt->compilation.options) &&
           mw_pipeline_info(schedule->kind)->late;
}

/* The attempt of the best layout. One with a late schedule that does not fit costs none of the
 * others its memory: the next one is taken instead. */
static Attempt *attempt_fitting(MwArena *arena, const MwPlanRequest *request, MwStageKnown *known,
                                double most_padding, int64_t target_bytes)
{
    Attempt *attempt = attempt_new(arena, request, known, most_padding, target_bytes, NULL);
    while (!attempt->plan && is_late(attempt) &&
           attempt->compilation.excess.kind != MW_EXCESS_NONE) {
        Attempt *next = attempt_new(arena, request, known, most_padding, target_bytes, attempt);
        const bool has_layout = next->compilation.staging.stage_count > 0;
        attempt_free(has_layout ? &attempt : &next);
        if (!has_layout)
            return attempt;
        attempt = next;
    }
    return attempt;
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
        return mw_memory_target_exceeded(target, attempt->compilation.excess.wanted_bytes,
                                         attempt->compilation.excess.estimated_bytes);
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

/* What planning for one limit of padding, or for several, gives. */
typedef struct {
    Attempt *attempt; /* with a plan or, where none has one, the first */
    int attempts;
    double padded_step_s; /* least time of a step with more padding; 0: none has a plan */
} Planned;

/* Whether `a` is delivered rather than `b`: a step of it takes less time, or `b` has no plan. A
 * mistake of the compiler is not hidden by a plan without it. */
static bool is_preferred(const Attempt *a, const Attempt *b)
{
    if (a->is_wrong || b->is_wrong)
        return a->is_wrong;
    return a->plan && (!b->plan || a->plan->step_s < b->plan->step_s);
}

/* ---- Finalists ---- */

/* Layouts whose plans were made, and the seconds of their steps. One with a late schedule comes
 * before all others, and takes the place of none. */
typedef struct {
    const char *name[2 + MW_TUNED_FINALISTS];
    double step_s[2 + MW_TUNED_FINALISTS];
    int count, late; /* late: how many of them have a late schedule, 0 or 1 */
    /* of the time limit of the solver, by counted work: what is left, and what solving the stages
     * of the last one took */
    double left_s, last_s;
} Finalists;

static bool is_finalist(const Finalists *finalists, const char *name)
{
    for (int i = 0; i < finalists->count; i++)
        if (strcmp(finalists->name[i], name) == 0)
            return true;
    return false;
}

/* Nodes of the graphs of all stages. */
static int64_t node_count(const Attempt *attempt)
{
    int64_t count = 0;
    for (int s = 0; s < attempt->compilation.staging.stage_count; s++)
        count += attempt->compilation.stages[s].graph->nodes.count;
    return count;
}

/* Whether the search knows another layout that may be quicker, and to plan it takes little: it
 * estimates that at about as much as the first that it took, or at no more than the quickest
 * takes. Its stages are taken to be as hard to solve as those of the last. */
static bool has_rival(const Finalists *finalists, const Attempt *attempt, double estimated_s)
{
    const MwStaging *staging = &attempt->compilation.staging;
    if (!staging->name || finalists->left_s < finalists->last_s ||
        (finalists->count - finalists->late) * node_count(attempt) > MW_TUNED_FINALIST_NODES)
        return false;
    for (int i = 0; i < staging->alternative_count; i++) {
        const MwStagingAlternative *rival = &staging->alternatives[i];
        if (strcmp(rival->reason, "time") == 0 && !is_finalist(finalists, rival->name) &&
            rival->step_s <=
                fmax((1 + MW_TUNED_ESTIMATE_MARGIN) * estimated_s, attempt->plan->step_s))
            return true;
    }
    return false;
}

static void add_finalist(Finalists *finalists, const Attempt *attempt)
{
    finalists->name[finalists->count] = attempt->compilation.staging.name;
    finalists->step_s[finalists->count++] = attempt->plan->step_s;
    finalists->last_s = attempt->compilation.solved_s;
    finalists->left_s -= finalists->last_s;
}

/* Gives the layouts that were planned and not taken the times of their plans. */
static void note_steps(const Finalists *finalists, MwPlan *plan)
{
    for (int i = 0; i < plan->alternative_count; i++)
        for (int k = 0; k < finalists->count; k++)
            if (strcmp(plan->alternatives[i].name, finalists->name[k]) == 0)
                plan->alternatives[i].step_s = finalists->step_s[k];
}

/* The search for layouts knows stages by estimates, and transfers apart from what they share links
 * with. So the best few of its layouts are planned in full, and their steps simulated: the quickest
 * is taken. */
static Attempt *plan_finalists(MwArena *arena, const MwPlanRequest *request, MwStageKnown *known,
                               double most_padding, Attempt *first)
{
    const double limit_s = request->options->solve_time_s;
    Finalists finalists = {.late = is_late(first), .left_s = limit_s > 0 ? limit_s : INFINITY};
    Attempt *best = first;
    const int64_t target_bytes = first->compilation.memory_target_bytes;
    double estimated_s = first->compilation.staging.step_s;
    bool is_over = false;
    add_finalist(&finalists, first);
    while (finalists.count - finalists.late <= MW_TUNED_FINALISTS && !is_over &&
           (finalists.count == finalists.late || has_rival(&finalists, best, estimated_s))) {
        Attempt *next = attempt_new(arena, request, known, most_padding, target_bytes, best);
        is_over = !next->plan;
        if (finalists.count == finalists.late)
            estimated_s = next->compilation.staging.step_s;
        if (next->plan)
            add_finalist(&finalists, next);
        const bool keeps = !is_preferred(next, best);
        attempt_free(keeps ? &next : &best);
        best = keeps ? best : next;
    }
    if (best->plan)
        note_steps(&finalists, best->plan);
    return best;
}

/* Plans with padding of at most `most_padding`, again with less memory where the arena needs too
 * much. */
static Planned plan_padded(MwArena *arena, const MwPlanRequest *request, double most_padding)
{
    MwStageKnown *known = mw_stage_known_new(arena);
    Attempt *first = attempt_fitting(arena, request, known, most_padding, 0), *last = first;
    Planned planned = {.attempts = 1};
    MwMemoryTarget target =
        mw_memory_target(mw_device_bytes(&first->compilation), MW_TUNED_MEMORY_CORRECTIONS);
    while (!last->plan && correct(&target, last)) {
        if (last != first)
            attempt_free(&last);
        last = attempt_fitting(arena, request, known, most_padding, target.target_bytes);
        planned.attempts++;
    }
    planned.attempt = last->plan ? last : first;
    Attempt *other = last->plan ? first : last;
    if (other != planned.attempt)
        attempt_free(&other);
    if (planned.attempt->plan && !request->options->takes_any)
        planned.attempt = plan_finalists(arena, request, known, most_padding, planned.attempt);
    return planned;
}

/* Whether a plan with less padding is not worth making. What it can do, the one that there is can
 * do too, for that share of work more. */
static bool is_padded_enough(const MwPlanRequest *request, const Attempt *attempt, double padding)
{
    return attempt->plan && (request->options->takes_any || padding <= MW_TUNED_STAGE_GAP);
}

/* Plans with much padding, with less and with none, and takes the quickest, of equally quick ones
 * that with the least padding. Where there is nothing to pad, or next to nothing, that is one
 * plan. */
static Planned plan_best(MwArena *arena, const MwPlanRequest *request)
{
    const double limits[] = {MW_TUNED_MOST_PADDING, MW_TUNED_SOME_PADDING, 0};
    const bool stops = request->pipeline->stop_after != MW_PASS_COUNT;
    Planned best = plan_padded(arena, request, limits[0]);
    double padding = best.attempt->compilation.padding;
    for (int i = 1; i < MW_COUNT(limits) && !stops; i++) {
        if (padding <= limits[i] || is_padded_enough(request, best.attempt, padding))
            continue;
        Planned other = plan_padded(arena, request, limits[i]);
        padding = other.attempt->compilation.padding;
        other.attempts += best.attempts;
        best.attempts = other.attempts;
        other.padded_step_s = best.attempt->plan ? best.attempt->plan->step_s : best.padded_step_s;
        const bool keeps = is_preferred(best.attempt, other.attempt);
        attempt_free(keeps ? &other.attempt : &best.attempt);
        best = keeps ? best : other;
    }
    return best;
}

/* Bytes of the weights of a model. */
static double weight_bytes(const MwGraph *graph)
{
    double bytes = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_WEIGHT)
            bytes +=
                (double)mw_tensor_bytes(&graph->values.at[graph->nodes.at[n].first_result].tensor);
    return bytes;
}

/* Whether an attempt lacks no more memory, as far as that is known, than a weight and its states
 * could take on a device, of which Adam has two and `ema` is one. */
static bool lacks_little(const MwPlanRequest *request, const MwExcess *excess)
{
    return (double)(excess->needed_bytes - excess->limit_bytes) <= 4 * weight_bytes(request->graph);
}

/* Whether states of optimizers could be kept on the host, of which nobody says anything. */
static bool may_offload(const MwPlanRequest *request)
{
    const MwGraph *graph = request->graph;
    bool may = !request->options->has_offload && request->cluster->host.memory_bytes > 0 &&
               graph->trains.count > 0;
    for (int i = 0; i < graph->trains.count; i++)
        may &= graph->trains.at[i].offload == MW_OFFLOAD_NONE;
    return may;
}

/* Whether memory is what an attempt lacks, and states on the host could give it that. */
static bool could_fit(const MwPlanRequest *request, const Attempt *attempt)
{
    return !attempt->plan && attempt->compilation.excess.kind != MW_EXCESS_NONE &&
           lacks_little(request, &attempt->compilation.excess);
}

/* Layers of a plan, and those that recompute all that they make. */
typedef struct {
    int count, recomputed;
} Layers;

static Layers layers_of(const MwPlan *plan)
{
    Layers layers = {0};
    for (int s = 0; s < plan->stage_count; s++) {
        layers.count += plan->stages[s].layer_count;
        layers.recomputed += plan->stages[s].remat_layers;
    }
    return layers;
}

/* Whether a plan could be quicker with something on the host: it recomputes many of its layers. On
 * many devices memory comes from these, and planning once more takes long. */
static bool could_pay(const MwPlanRequest *request, const MwPlan *plan)
{
    const Layers layers = plan ? layers_of(plan) : (Layers){0};
    return layers.recomputed * 4 > layers.count && !request->options->takes_any &&
           mw_cluster_devices(request->cluster) <= MW_TUNED_STAGE_UNITS;
}

/* Whether states there could pay, where it recomputes most: what is recomputed takes the time of
 * its forward once more, a quarter of that of all; and an update there, which reads and writes the
 * weights at least, takes less than these need. */
static bool could_update_there(const MwPlanRequest *request, const MwPlan *plan)
{
    const MwCluster *cluster = request->cluster;
    const Layers layers = layers_of(plan);
    return layers.recomputed * 2 > layers.count &&
           2 * weight_bytes(request->graph) / (cluster->nodes * cluster->host.update_bytes_per_s) <
               plan->step_s * layers.recomputed / (4 * layers.count);
}

/* Plans with other options; true if that is taken. */
static bool plan_with(MwArena *arena, const MwPlanRequest *request, const MwCompileOptions *options,
                      Planned *planned)
{
    MwPlanRequest with = *request;
    with.options = options;
    Planned other = plan_best(arena, &with);
    other.attempts += planned->attempts;
    planned->attempts = other.attempts;
    const bool is_taken = is_preferred(other.attempt, planned->attempt);
    attempt_free(is_taken ? &planned->attempt : &other.attempt);
    *planned = is_taken ? other : *planned;
    return is_taken;
}

/* The same with activations on the host where that is quicker. */
static bool stream(MwArena *arena, const MwPlanRequest *request, Planned *planned)
{
    MwCompileOptions options = *request->options;
    options.may_stream = true;
    return plan_with(arena, request, &options, planned);
}

/* The same with states on the host besides, or weights too, of some quarters of the layers, 0: of
 * all. */
static bool offload_more(MwArena *arena, const MwPlanRequest *request, MwOffload kept, int quarters,
                         Planned *planned)
{
    MwCompileOptions options = *request->options;
    options.has_offload = true;
    options.offload = kept;
    options.offload_quarters = quarters;
    return plan_with(arena, request, &options, planned);
}

/* Bytes of the states of optimizers that a device has on its host; the most of all meshes. */
static double offloaded_bytes(const MwPlan *plan)
{
    double most = 0;
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        double bytes = 0;
        for (int i = 0; i < mesh->weight_count; i++) {
            const MwPlanBuffer *buffer = &mesh->buffers[mesh->weights[i].buffer];
            if (mesh->weights[i].is_state && mw_plan_is_on_host(mesh, buffer))
                bytes += (double)buffer->bytes;
        }
        most = fmax(most, bytes);
    }
    return most;
}

/* The fewest quarters of the layers whose states on the host could give what was lacking, of those
 * that a plan has there; 0: all. */
static int fewest_quarters(const MwPlan *plan, double lacking_bytes)
{
    for (int quarters = 1; quarters < 4; quarters++)
        if (lacking_bytes <= quarters * offloaded_bytes(plan) / 4)
            return quarters;
    return 0;
}

/* Plans with the states on the host where nothing fits without that, of as few layers as could do
 * if that is quicker; or else with the weights too. */
static void offload_to_fit(MwArena *arena, const MwPlanRequest *request, Planned *planned)
{
    const MwExcess excess = planned->attempt->compilation.excess;
    if (!offload_more(arena, request, MW_OFFLOAD_STATES, 0, planned)) {
        if (could_fit(request, planned->attempt))
            offload_more(arena, request, MW_OFFLOAD_WEIGHTS, 0, planned);
        return;
    }
    const MwPlan *plan = planned->attempt->plan;
    const int quarters =
        plan && !request->options->takes_any
            ? fewest_quarters(plan, (double)(excess.needed_bytes - excess.limit_bytes))
            : 0;
    if (quarters)
        offload_more(arena, request, MW_OFFLOAD_STATES, quarters, planned);
}

/* Plans with activations on the host, with the states, or with the weights too, where that alone
 * makes a plan fit, or one could be quicker. */
static void offload(MwArena *arena, const MwPlanRequest *request, Planned *planned)
{
    const bool pays = could_pay(request, planned->attempt->plan);
    if (!may_offload(request) || !(pays || could_fit(request, planned->attempt)))
        return;
    stream(arena, request, planned);
    if (!pays && could_fit(request, planned->attempt))
        offload_to_fit(arena, request, planned);
    else if (could_pay(request, planned->attempt->plan) &&
             could_update_there(request, planned->attempt->plan))
        offload_more(arena, request, MW_OFFLOAD_STATES, 0, planned);
}

MwPlanResult mw_plan_model(MwArena *arena, const MwPlanRequest *request, MwDiags *diags)
{
    Planned planned = plan_best(arena, request);
    offload(arena, request, &planned);
    const Attempt *delivered = planned.attempt;
    MwPlanResult result = {.attempts = planned.attempts,
                           .excess = delivered->compilation.excess,
                           .target_bytes = delivered->compilation.memory_target_bytes};
    if (deliver(request, delivered, diags))
        result.plan = delivered->plan;
    if (result.plan)
        mw_plan_warn_undivided(&delivered->compilation, result.plan, planned.padded_step_s, diags);
    return result;
}
