/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intra-op pass: every logical mesh of the cluster's devices is tried, and the one with the
 * least step time, the first of equals, is kept.
 *
 * In:  the shared graph (passes/share.c), the cluster, and the user's mesh and pins.
 * Out: compilation->sharding. */
#include "passes/sharding.h"

#include "base/quantity.h"
#include "passes/pass.h"
#include "passes/report.h"
#include "passes/units.h"

#include <math.h>

MwSpec mw_sharding_value_spec(const MwSharding *sharding, MwValueId value)
{
    const MwValue *v = mw_value(sharding->problem->graph, value);
    int result = value.index - mw_node(sharding->problem->graph, v->node)->first_result;
    return mw_sharding_strategy(sharding, v->node)->results[result];
}

/* ---- Meshes ---- */

typedef MW_VEC(MwMeshShape) MwMeshList;

/* All shapes of one and two axes, the longest inner axis first: it is the least fragmented. */
static MwMeshList all_meshes(MwArena *arena, int devices)
{
    MwMeshList list = {0};
    mw_vec_push(arena, &list, ((MwMeshShape){1, {devices}}));
    for (int outer = 2; outer <= devices / 2; outer++)
        if (devices % outer == 0)
            mw_vec_push(arena, &list, ((MwMeshShape){2, {outer, devices / outer}}));
    return list;
}

static bool choose_meshes(const MwCompilation *compilation, MwMeshList *list, MwDiags *diags)
{
    const MwCluster *cluster = compilation->cluster;
    const MwMeshShape *wanted = &compilation->options.mesh;
    int devices = cluster->nodes * cluster->devices_per_node;
    if (wanted->axis_count == 0) {
        *list = all_meshes(compilation->arena, devices);
        return true;
    }
    if (mw_mesh_devices(wanted) != devices) {
        char text[MW_MESH_TEXT_BYTES];
        mw_diag_error(diags, mw_span_none(), "--mesh %s has %d devices, cluster %s has %d",
                      mw_mesh_text(wanted, text), mw_mesh_devices(wanted), cluster->name, devices);
        return false;
    }
    mw_vec_push(compilation->arena, list, *wanted);
    return true;
}

/* ---- One mesh ---- */

typedef struct {
    const MwCompilation *compilation;
    MwMeshShape mesh;
    int64_t memory_bytes;
    int64_t kept_bytes; /* least that weights, gradients, states and inputs take */
    /* Why it cannot be this mesh: */
    int64_t needed_bytes; /* more than the memory; 0: that is not the reason */
    MwDiags *diags;
} Attempt;

static int micro_batches_of(const MwCompilation *compilation)
{
    return (int)mw_max(1, compilation->micro_batches);
}

/* What the error about memory advises. What is kept over micro-batches shrinks with more devices
 * only; the rest with more micro-batches too, in proportion at best. */
static void note_what_would_fit(const Attempt *attempt)
{
    MwArena *arena = attempt->compilation->arena;
    double kept = (double)attempt->kept_bytes, memory = (double)attempt->memory_bytes;
    if (kept >= memory) {
        mw_diag_note(attempt->diags, mw_span_none(),
                     "weights, gradients, optimizer states and inputs alone need %s, split as far "
                     "as they can be; it takes at least %.0f such devices",
                     mw_bytes_text(arena, kept),
                     ceil(kept / memory * mw_mesh_devices(&attempt->mesh)));
        return;
    }
    double parts = ((double)attempt->needed_bytes - kept) / (memory - kept);
    mw_diag_note(attempt->diags, mw_span_none(),
                 "it takes more devices, or at least %.0f micro-batches (--micro-batches)",
                 ceil(parts * micro_batches_of(attempt->compilation)));
}

static void refuse_memory(Attempt *attempt, int64_t needed_bytes)
{
    MwArena *arena = attempt->compilation->arena;
    char mesh[MW_MESH_TEXT_BYTES];
    attempt->needed_bytes = needed_bytes;
    mw_diag_error(attempt->diags, mw_span_none(),
                  "on a mesh of %s a device needs %s of memory: %s more than the %s it has",
                  mw_mesh_text(&attempt->mesh, mesh), mw_bytes_text(arena, (double)needed_bytes),
                  mw_bytes_text(arena, (double)(needed_bytes - attempt->memory_bytes)),
                  mw_bytes_text(arena, (double)attempt->memory_bytes));
    note_what_would_fit(attempt);
}

static void refuse(Attempt *attempt, const MwSolution *solution, int64_t needed_bytes)
{
    char mesh[MW_MESH_TEXT_BYTES];
    mw_mesh_text(&attempt->mesh, mesh);
    if (solution->status == MW_SOLVED_UNKNOWN)
        mw_diag_error(attempt->diags, mw_span_none(),
                      "no sharding that fits on a mesh of %s was found in time", mesh);
    else if (solution->peak_usage > 0)
        refuse_memory(attempt, mw_max(needed_bytes, solution->peak_usage));
    else
        mw_diag_error(attempt->diags, mw_span_none(),
                      "on a mesh of %s no sharding meets all the pins", mesh);
}

/* NULL if there is none; `needed_bytes` is what is known already to be too much. */
static MwSharding *solve(Attempt *attempt, MwIntraProblem *problem, double limit_s,
                         int64_t needed_bytes)
{
    MwArena *arena = attempt->compilation->arena;
    MwSolveOptions options = {.time_limit_s = limit_s};
    MwSharding *sharding = MW_NEW(arena, MwSharding, 1);
    sharding->problem = problem;
    sharding->solution = mw_solve(arena, &problem->problem, &options);
    sharding->choice = sharding->solution.choice;
    if (!sharding->choice) {
        refuse(attempt, &sharding->solution, needed_bytes);
        return NULL;
    }
    sharding->objective_s = mw_seconds(sharding->solution.cost);
    sharding->lower_bound_s = mw_seconds(sharding->solution.lower_bound);
    sharding->peak_bytes = mw_sharding_peak(sharding);
    return sharding;
}

static int64_t least_usage(const MwProblemNode *node)
{
    int64_t least = INT64_MAX;
    for (int s = 0; s < node->strategy_count; s++)
        least = mw_min(least, node->usage[s]);
    return least;
}

/* The least bytes of what is there at the end of the last micro-batch. Gradients are states where
 * there are several micro-batches; where there is one, each weight has one all the same. */
static int64_t least_kept(const MwIntraProblem *intra)
{
    bool has_gradients = mw_has_value(intra->graph->train.loss) && intra->micro_batches == 1;
    int64_t bytes = 0;
    for (int n = 0; n < intra->problem.node_count; n++) {
        const MwProblemNode *node = &intra->problem.nodes[n];
        MwOp op = intra->graph->nodes.at[n].op;
        if (node->usage && mw_op_info(op)->lowering == MW_LOWER_SOURCE)
            bytes += least_usage(node) * (op == MW_OP_WEIGHT && has_gradients ? 2 : 1);
    }
    return bytes;
}

/* The best sharding on one mesh; NULL if there is none. The problem does not see the copies that
 * resharding makes, so where they are too much it is solved again with less memory: less by what was
 * too much, and from the second time on by a margin too; each time in half the time, so that all take
 * twice the first. The bound stays that of the whole memory. */
static MwSharding *try_mesh(Attempt *attempt)
{
    enum { TRIES = 5, MARGIN = 100 };
    MwIntraQuery query = {.graph = attempt->compilation->graph,
                          .cluster = attempt->compilation->cluster,
                          .mesh = attempt->mesh,
                          .micro_batches = micro_batches_of(attempt->compilation),
                          .memory_bytes = attempt->memory_bytes};
    MwIntraProblem *problem = mw_intra_problem(attempt->compilation->arena, &query, attempt->diags);
    int64_t needed_bytes = 0;
    double lower_bound_s = 0;
    if (problem)
        attempt->kept_bytes = least_kept(problem);
    double limit_s = attempt->compilation->options.solve_time_s;
    for (int i = 0; problem && i < TRIES; i++, limit_s /= 2) {
        MwSharding *sharding = solve(attempt, problem, limit_s, needed_bytes);
        if (!sharding)
            return NULL;
        if (i == 0)
            lower_bound_s = sharding->lower_bound_s;
        sharding->lower_bound_s = lower_bound_s;
        if (sharding->peak_bytes <= attempt->memory_bytes)
            return sharding;
        needed_bytes = sharding->peak_bytes;
        int64_t excess = needed_bytes - attempt->memory_bytes;
        if (i > 0)
            excess += problem->problem.usage_limit / MARGIN;
        if (i == TRIES - 1 || excess >= problem->problem.usage_limit) {
            refuse_memory(attempt, needed_bytes);
            return NULL;
        }
        problem->problem.usage_limit -= excess;
    }
    return NULL;
}

/* ---- The pass ---- */

/* Writes the chosen spec of every value into the graph as its pin, so that a dump says what was
 * chosen, and compiling the dump chooses the same. */
static void record_specs(MwGraph *graph, const MwSharding *sharding)
{
    int *pin_of = MW_NEW(graph->arena, int, graph->values.count); /* index plus 1; 0: none */
    for (int i = 0; i < graph->pins.count; i++)
        pin_of[graph->pins.at[i].value.index] = i + 1;
    for (int v = 0; v < graph->values.count; v++) {
        MwValueId value = {v};
        if (!pin_of[v]) {
            MwPin pin = {.value = value, .stage = -1, .remat = -1};
            mw_vec_push(graph->arena, &graph->pins, pin);
            pin_of[v] = graph->pins.count;
        }
        MwPin *pin = &graph->pins.at[pin_of[v] - 1];
        pin->has_spec = true;
        pin->spec = mw_sharding_value_spec(sharding, value);
    }
}

static bool save_problem(const MwCompileOptions *options, const MwProblem *problem, MwDiags *diags)
{
    return (!options->save_problem || mw_problem_save(problem, options->save_problem, diags)) &&
           (!options->save_ilp || mw_problem_save_ilp(problem, options->save_ilp, diags));
}

/* Says why it is no mesh: where all lack memory, of the one that lacks the least. */
static void refuse_all(const Attempt *attempts, int count, MwDiags *diags)
{
    const Attempt *least = &attempts[0];
    for (int i = 0; i < count; i++)
        if (attempts[i].needed_bytes < least->needed_bytes)
            least = &attempts[i];
    for (int i = 0; i < count; i++)
        if (!least->needed_bytes || &attempts[i] == least)
            mw_diags_append(diags, attempts[i].diags);
}

bool mw_pass_sharding(MwCompilation *compilation, MwDiags *diags)
{
    MwMeshList meshes = {0};
    if (!choose_meshes(compilation, &meshes, diags))
        return false;
    const MwCompileOptions *options = &compilation->options;
    Attempt *attempts = MW_NEW(compilation->arena, Attempt, meshes.count);
    MwSharding *best = NULL;
    for (int i = 0; i < meshes.count; i++) {
        attempts[i] = (Attempt){.compilation = compilation,
                                .mesh = meshes.at[i],
                                .memory_bytes = options->memory_bytes
                                                    ? options->memory_bytes
                                                    : compilation->cluster->device.memory_bytes,
                                .diags = mw_diags_new(compilation->arena)};
        MwSharding *sharding = try_mesh(&attempts[i]);
        if (sharding && (!best || sharding->solution.cost < best->solution.cost))
            best = sharding;
    }
    if (!best) {
        refuse_all(attempts, meshes.count, diags);
        return false;
    }
    compilation->sharding = best;
    compilation->report = mw_report(compilation->arena, best);
    record_specs(compilation->graph, best);
    return save_problem(options, &best->problem->problem, diags);
}
