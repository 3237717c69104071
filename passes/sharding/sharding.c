/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intra-operator pass: tries every logical mesh of a stage's devices and keeps the one with
 * the least step time, the first of equals. A mesh whose lower bound is no better than the best
 * so far is not solved. Stages on different devices are solved at the same time, of those whose
 * graphs have the same shape the first before the others, which may take its choice.
 *
 * In:  the shared graph of each stage (passes/sharding/share.c), its devices, and the user's
 *      mesh and pins.
 * Out: the sharding of each stage. Stages on the same devices have the same logical mesh: the
 *      one with the least time for all of them. */
#include "base/hash.h"
#include "base/threads.h"
#include "cost/units.h"
#include "passes/pass.h"
#include "passes/sharding/alike.h"
#include "passes/sharding/meshes.h"
#include "passes/sharding/refuse.h"
#include "passes/sharding/report.h"
#include "passes/sharding/ring.h"
#include "passes/sharding/sharding_fit.h"
#include "passes/tuning.h"

#include <math.h>
#include <stdlib.h>

/* Least share of the time limit that a logical mesh has. The first one has half of it, as it has
 * the least bound and mostly is the best, the second one half of the rest, and so on. */
static const double LEAST_SHARE = 1.0 / 32;

/* ---- Meshes ---- */

/* The logical mesh on which the search for stages solved a very large stage, alone on mesh `index`
 * of the staging; NULL: there is none such. */
static const MwMeshShape *checked_mesh(const MwCompilation *compilation, int index)
{
    const MwStaging *staging = &compilation->staging;
    const int stage = mw_staging_stage_at(staging, index, 0);
    return staging->checked && staging->checked[stage].choice &&
                   mw_staging_chunks(staging, index) == 1 &&
                   staging->checked[stage].node_count > MW_TUNED_ONE_MESH_NODES
               ? &staging->checked[stage].mesh
               : NULL;
}

/* The logical meshes to try for mesh `index` of the staging. */
static MwMeshList choose_meshes(MwArena *arena, const MwCompilation *compilation, int index)
{
    const MwSubmesh *submesh = &compilation->staging.meshes[index];
    int devices = submesh->device_count;
    const MwMeshShape *wanted = &compilation->options.mesh;
    if (wanted->axis_count == 0)
        wanted = &submesh->shape;
    if (wanted->axis_count == 0 && checked_mesh(compilation, index))
        wanted = checked_mesh(compilation, index);
    if (wanted->axis_count == 0)
        return mw_mesh_shapes(arena, devices);
    MW_ASSERT(mw_mesh_devices(wanted) == devices);
    MwMeshList list = {0};
    mw_vec_push(arena, &list, *wanted);
    return list;
}

/* ---- One mesh ---- */

/* One stage on one logical mesh. */
typedef struct {
    const MwCompilation *compilation;
    MwArena *arena; /* of the problem and its solution */
    int stage;
    const MwGraph *graph;
    MwMeshShape mesh;
    const MwFlight *flight;
    int64_t memory_bytes;
    MwIntraProblem *problem;    /* NULL: its pins cannot be met */
    MwSharding *const *earlier; /* [earlier_count] of the chunks before it on this mesh */
    int earlier_count;
    bool is_like_another; /* an earlier stage is alike, and its choice fits */
    double time_limit_s;  /* 0: none */
    MwCost bound;         /* lower bound of the cost, without a memory limit */
    int64_t needed_bytes; /* of a device, if the mesh lacks memory; otherwise 0 */
    int64_t entries;      /* work of solving it (solver/stop.h) */
    MwDiags *diags;       /* why the mesh is not possible */
} StageAttempt;

static void refuse_memory(StageAttempt *attempt, const MwIntraProblem *problem,
                          const MwShardingFit *fit)
{
    attempt->needed_bytes = mw_max(fit->needed_bytes, fit->solution.peak_usage);
    mw_refuse_memory(problem, attempt->memory_bytes, attempt->needed_bytes,
                     fit->solution.infeasibility, attempt->diags);
}

static void refuse(StageAttempt *attempt, const MwIntraProblem *problem, const MwShardingFit *fit)
{
    char mesh[MW_MESH_TEXT_BYTES];
    const MwSolution *solution = &fit->solution;
    if (solution->status == MW_SOLVED_UNKNOWN)
        mw_diag_error(attempt->diags, mw_span_none(),
                      "no sharding that fits on a mesh of %s was found in time",
                      mw_mesh_text(&attempt->mesh, mesh));
    else if (fit->needed_bytes > 0 || solution->peak_usage > 0)
        refuse_memory(attempt, problem, fit);
    else
        mw_refuse_pins(problem, attempt->compilation->cluster, solution->infeasibility,
                       attempt->diags);
}

static void build_problem(StageAttempt *attempt)
{
    const MwCompilation *compilation = attempt->compilation;
    MwIntraQuery query = {.graph = attempt->graph,
                          .cluster = compilation->cluster,
                          .mesh = attempt->mesh,
                          .micro_batches = compilation->staging.micro_batches,
                          .flight = attempt->flight,
                          .memory_bytes = attempt->memory_bytes};
    attempt->problem = mw_intra_problem(attempt->arena, &query, attempt->diags);
}

/* A lower bound that is cheap to compute: that of the problem without a memory limit. */
static void find_bound(StageAttempt *attempt)
{
    MwArena *scratch = mw_arena_new();
    MwProblem problem = attempt->problem->problem;
    problem.usage_limit = MW_USAGE_UNLIMITED;
    const MwSolveOptions options = {.gap = 2 * MW_TUNED_LARGE_GAP, .quick = true};
    attempt->bound = mw_solve(scratch, &problem, &options).lower_bound;
    mw_arena_free(&scratch);
}

static bool is_alike(const StageAttempt *attempt, const MwSharding *other)
{
    return other && mw_intra_problems_alike(other->problem, attempt->problem);
}

/* The choice of the first earlier stage that is alike, where it fits here; else NULL. It costs the
 * same, and stages that are alike are many in a long pipeline. */
static MwSharding *find_alike(StageAttempt *attempt)
{
    const MwSharding *alike = NULL;
    for (int s = 0; s < attempt->stage && !alike; s++)
        if (is_alike(attempt, attempt->compilation->stages[s].sharding))
            alike = attempt->compilation->stages[s].sharding;
    for (int i = 0; i < attempt->earlier_count && !alike; i++)
        if (is_alike(attempt, attempt->earlier[i]))
            alike = attempt->earlier[i];
    return alike ? mw_sharding_of_choice(attempt->arena, attempt->problem, alike->choice,
                                         attempt->memory_bytes)
                 : NULL;
}

/* The choice that the search for stages found for the stage on this mesh, where it found one. The
 * graph is the same, unless the choice costs something else. */
static MwSharding *find_checked(StageAttempt *attempt)
{
    const MwStaging *staging = &attempt->compilation->staging;
    const MwStageChecked *checked = staging->checked ? &staging->checked[attempt->stage] : NULL;
    MwIntraProblem *problem = attempt->problem;
    if (!checked || !checked->choice || checked->node_count != problem->graph->nodes.count ||
        !mw_mesh_equal(&checked->mesh, &attempt->mesh))
        return NULL;
    for (int n = 0; n < checked->node_count; n++)
        if (checked->choice[n] >= problem->problem.nodes[n].strategy_count)
            return NULL;
    MwSharding *sharding =
        mw_sharding_of_choice(attempt->arena, problem, checked->choice, attempt->memory_bytes);
    if (!sharding || sharding->solution.cost != checked->cost)
        return NULL;
    sharding->lower_bound_s = checked->lower_bound_s;
    return sharding;
}

/* The cheaper one of these that costs less than `cutoff` (0: no cutoff), with a bound; NULL: there
 * is none. The problem has no nodes for copies afterwards. */
static MwSharding *find_known(StageAttempt *attempt, MwCost cutoff)
{
    MwSharding *alike = cutoff ? NULL : find_alike(attempt), *known = find_checked(attempt);
    attempt->is_like_another = alike != NULL;
    if (alike && attempt->bound == 0)
        find_bound(attempt);
    if (alike && (!known || alike->solution.cost < known->solution.cost))
        known = alike;
    if (!known || (cutoff && known->solution.cost >= cutoff))
        return NULL;
    known->lower_bound_s = fmax(known->lower_bound_s, mw_seconds(attempt->bound));
    known->solution.lower_bound = mw_picoseconds(known->lower_bound_s);
    return known;
}

/* The cheaper one; NULL: there is none. */
static const MwSharding *cheaper(const MwSharding *a, const MwSharding *b)
{
    return a && (!b || a->solution.cost < b->solution.cost) ? a : b;
}

/* Whether a choice costs at most this share of its cost more than its lower bound. */
static bool is_within(const MwSharding *sharding, double lower_bound_s, double gap)
{
    return sharding->objective_s - lower_bound_s <= gap * sharding->objective_s;
}

/* Whether a solve found no choice, though there may be one, and none is known, or the best is far
 * from its bound. */
static bool is_far(const MwShardingFit *fit, const MwSharding *known)
{
    const MwSharding *best = cheaper(fit->sharding, known);
    return best ? !is_within(best, fmax(best->lower_bound_s, fit->lower_bound_s), MW_TUNED_FAR_GAP)
                : fit->needed_bytes > 0 || fit->solution.status == MW_SOLVED_UNKNOWN;
}

/* Solves the stage, of which `known` is known (NULL: nothing), in a share of the time limit. Where
 * that leaves it without a sharding, or far from its bound, solves it again until it is near, as
 * the search for stages did; that ends by itself. */
static MwShardingFit solve_in_share(StageAttempt *attempt, const MwSharding *known, MwCost cutoff,
                                    double share)
{
    MwIntraProblem *problem = attempt->problem;
    const MwSolveOptions options = {
        .time_limit_s = share * attempt->time_limit_s,
        .cutoff = cutoff,
        .gap = problem->graph->nodes.count > MW_TUNED_LARGE_NODES ? MW_TUNED_LARGE_GAP : 0};
    MwShardingFit fit = mw_sharding_fit(attempt->arena, problem, attempt->memory_bytes, options);
    attempt->entries = fit.entries;
    if (cutoff || !is_far(&fit, known))
        return fit;
    const MwProblem solved = problem->problem;
    MwShardingFit near =
        mw_sharding_fit(attempt->arena, problem, attempt->memory_bytes, MW_SHARDING_NEAR);
    const double lower_bound_s = fmax(fit.lower_bound_s, near.lower_bound_s);
    attempt->entries += near.entries;
    if (near.sharding && (!fit.sharding || near.solution.cost < fit.solution.cost))
        fit = near;
    else
        problem->problem = solved; /* with the copies of that solution */
    fit.lower_bound_s = lower_bound_s;
    return fit;
}

/* How near to its bound what is known of a stage must be, so that the stage is not solved. Where
 * another is alike, twice what the search for stages solves to is enough: stages with fewer
 * micro-batches in flight might use the memory, but of bench/planning llama-405b, with 64 stages,
 * the step is the same for 15.6 s of CPU instead of 22.6 s. */
static double known_gap(const StageAttempt *attempt)
{
    const bool is_large = attempt->problem->graph->nodes.count > MW_TUNED_LARGE_NODES;
    return attempt->is_like_another ? 2 * MW_TUNED_STAGE_GAP
           : is_large               ? 2 * MW_TUNED_LARGE_GAP
                                    : 0;
}

/* The best sharding of the stage on the mesh; NULL if none is found that costs less than `cutoff`
 * (0: no cutoff). `share` of the time limit is for the mesh. What is known of the stage is taken
 * where it is as near to its bound as is asked for, or nothing cheaper is found. */
static MwSharding *solve_stage(StageAttempt *attempt, MwCost cutoff, double share)
{
    MwSharding *known = find_known(attempt, cutoff);
    if (known && (attempt->compilation->options.takes_any ||
                  is_within(known, known->lower_bound_s, known_gap(attempt))))
        return known;
    const MwShardingFit fit = solve_in_share(attempt, known, cutoff, share);
    MwSharding *sharding = fit.sharding;
    if (known && cheaper(sharding, known) == known)
        sharding = find_known(attempt, cutoff); /* once more: the problem has other copies now */
    if (sharding)
        sharding->lower_bound_s =
            fmax(fmax(fit.lower_bound_s, sharding->lower_bound_s), mw_seconds(attempt->bound));
    else
        refuse(attempt, attempt->problem, &fit);
    return sharding;
}

/* ---- The pass ---- */

/* Writes the chosen spec of every value, and that its node has a ring, into the graph as its pin,
 * so that a dump shows the choice and compiling the dump makes the same choice. */
static void record_specs(MwGraph *graph, const MwSharding *sharding)
{
    int *pin_of = MW_NEW(graph->arena, int, graph->values.count); /* index plus 1; 0: none */
    for (int i = 0; i < graph->pins.count; i++)
        pin_of[graph->pins.at[i].value.index] = i + 1;
    for (int v = 0; v < graph->values.count; v++) {
        MwValueId value = {v};
        if (!pin_of[v]) {
            mw_vec_push(graph->arena, &graph->pins, mw_pin_new(value));
            pin_of[v] = graph->pins.count;
        }
        MwPin *pin = &graph->pins.at[pin_of[v] - 1];
        pin->has_spec = true;
        pin->spec = mw_sharding_value_spec(sharding, value);
        if (mw_has_ring(mw_sharding_strategy(sharding, mw_value(graph, value)->node)))
            pin->ring = true;
    }
}

/* Reports why no mesh is possible: for all meshes, or if all lack memory, for the one that lacks
 * the least. */
static void refuse_all(MwCompilation *compilation, const StageAttempt *attempts, int count,
                       MwDiags *diags)
{
    const StageAttempt *least = &attempts[0];
    for (int i = 0; i < count; i++)
        if (attempts[i].needed_bytes < least->needed_bytes)
            least = &attempts[i];
    for (int i = 0; i < count; i++)
        if (!least->needed_bytes || &attempts[i] == least)
            mw_diags_append(diags, attempts[i].diags);
    compilation->stages[least->stage].problem = least->problem;
    if (least->needed_bytes)
        compilation->excess =
            (MwExcess){.kind = MW_EXCESS_SHARDING,
                       .mesh = mw_staging_mesh(&compilation->staging, least->stage),
                       .needed_bytes = least->needed_bytes,
                       .limit_bytes = least->memory_bytes};
}

/* All stages of one mesh of the staging, on one logical mesh. */
typedef struct {
    int index;
    StageAttempt *attempts;     /* [stages of the mesh] */
    const StageAttempt *failed; /* the stage that makes it impossible; NULL: none so far */
    MwSharding **shardings;
    MwCost bound; /* lower bound of the cost of all stages */
    MwCost cost;  /* of all stages, once they are solved */
} MeshAttempt;

/* A mesh of the staging. What is allocated meanwhile is in its own arena, and no more is changed
 * than this: other meshes are solved at the same time. */
typedef struct {
    MwArena *arena;
    int mesh, stage_count;
    MwMeshList meshes;       /* logical ones */
    MeshAttempt *candidates; /* [meshes.count], by their bounds */
    MeshAttempt *best;       /* NULL: none has a sharding */
    double stage_limit_s;    /* time limit of a stage; 0: none */
    uint64_t shape;          /* equal for meshes whose stages have graphs of the same shape */
} Submesh;

/* The stage that is number `i` on the mesh. */
static int stage_of(const Submesh *submesh, const MwCompilation *compilation, int i)
{
    return mw_staging_stage_at(&compilation->staging, submesh->mesh, i);
}

/* Stages on one mesh share its memory. */
static StageAttempt attempt_of(const Submesh *submesh, const MwCompilation *compilation, int stage,
                               MwMeshShape mesh)
{
    MwArena *arena = submesh->arena;
    const MwStaging *staging = &compilation->staging;
    MwFlight *flight = MW_NEW(arena, MwFlight, 1);
    *flight = mw_staging_flight(staging, stage);
    return (StageAttempt){.compilation = compilation,
                          .arena = mw_arena_new_within(arena),
                          .stage = stage,
                          .graph = compilation->stages[stage].graph,
                          .mesh = mesh,
                          .time_limit_s = submesh->stage_limit_s,
                          .flight = flight,
                          .memory_bytes =
                              mw_staging_memory_bytes(staging, stage, mw_memory_bytes(compilation)),
                          .diags = mw_diags_new(arena)};
}

/* Builds the problems of all stages, and their lower bounds if there is more than one logical
 * mesh. */
static MeshAttempt start_mesh(const Submesh *submesh, const MwCompilation *compilation, int index)
{
    const int stages = submesh->stage_count;
    MeshAttempt out = {.index = index,
                       .attempts = MW_NEW(submesh->arena, StageAttempt, stages),
                       .shardings = MW_NEW(submesh->arena, MwSharding *, stages)};
    for (int i = 0; i < stages && !out.failed; i++) {
        StageAttempt *attempt = &out.attempts[i];
        *attempt = attempt_of(submesh, compilation, stage_of(submesh, compilation, i),
                              submesh->meshes.at[index]);
        build_problem(attempt);
        if (!attempt->problem)
            out.failed = attempt;
        else if (submesh->meshes.count > 1)
            find_bound(attempt);
        out.bound += attempt->bound;
    }
    return out;
}

/* The cost below which a candidate beats `best`, 0 if there is no best yet. Of candidates with
 * equal costs the first in mesh order wins. */
static MwCost cutoff_of(const MeshAttempt *candidate, const MeshAttempt *best)
{
    return best ? best->cost + (candidate->index < best->index) : 0;
}

/* Solves all stages of a candidate in a share of the time limit; stops at the first that has no
 * sharding within the cutoff. */
static void solve_stages(MeshAttempt *candidate, int stages, MwCost cutoff, double share)
{
    MwCost bound = candidate->bound;
    for (int i = 0; i < stages && !candidate->failed; i++) {
        StageAttempt *attempt = &candidate->attempts[i];
        MwCost others = bound - attempt->bound;
        attempt->earlier = candidate->shardings;
        attempt->earlier_count = i;
        candidate->shardings[i] =
            solve_stage(attempt, cutoff ? mw_max(cutoff - others, 1) : 0, share);
        if (!candidate->shardings[i]) {
            candidate->failed = attempt;
            return;
        }
        candidate->cost += candidate->shardings[i]->solution.cost;
        bound = others + candidate->shardings[i]->solution.cost;
    }
}

/* Orders mesh attempts by lower bound: the sooner a good mesh is found, the more others the cutoff
 * rules out. */
static int by_bound(const void *a, const void *b)
{
    const MeshAttempt *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return x->index - y->index;
}

static void keep_sharding(MwCompilation *compilation, int index, MwSharding *sharding)
{
    MwStage *stage = &compilation->stages[index];
    stage->problem = sharding->problem;
    stage->sharding = sharding;
    stage->report = mw_report(compilation->arena, sharding);
    record_specs(stage->graph, sharding);
}

/* Frees the problems of a candidate that is not taken. */
static void drop(MeshAttempt *candidate, int stages)
{
    for (int i = 0; i < stages; i++)
        mw_arena_free(&candidate->attempts[i].arena);
}

/* Reports the stage that failed on each logical mesh. */
static void refuse_meshes(MwCompilation *compilation, const Submesh *submesh, MwDiags *diags)
{
    const int count = submesh->meshes.count;
    StageAttempt *failed = MW_NEW(compilation->arena, StageAttempt, count);
    for (int i = 0; i < count; i++)
        failed[submesh->candidates[i].index] = *submesh->candidates[i].failed;
    refuse_all(compilation, failed, count, diags);
}

/* Finds the best logical mesh for all stages on a mesh of the staging. */
static void shard_submesh(const MwCompilation *compilation, Submesh *submesh)
{
    const int stages = submesh->stage_count, count = submesh->meshes.count;
    MeshAttempt *candidates = submesh->candidates, *best = NULL;
    for (int i = 0; i < count; i++)
        candidates[i] = start_mesh(submesh, compilation, i);
    qsort(candidates, (size_t)count, sizeof *candidates, by_bound);
    double share = count > 1 ? 0.5 : 1;
    for (int i = 0; i < count; i++) {
        MwCost cutoff = cutoff_of(&candidates[i], best);
        if (cutoff > 0 && candidates[i].bound >= cutoff) {
            drop(&candidates[i], stages);
            continue;
        }
        solve_stages(&candidates[i], stages, cutoff, share);
        share = fmax(share / 2, LEAST_SHARE);
        const bool is_best = !candidates[i].failed && (!best || candidates[i].cost < cutoff);
        if (best)
            drop(is_best ? best : &candidates[i], stages);
        if (is_best)
            best = &candidates[i];
    }
    submesh->best = best;
}

/* ---- All meshes ---- */

/* Equal for graphs with the same operators on the same shapes, in the same order. */
static uint64_t shape_of(const MwGraph *graph)
{
    uint64_t hash = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        hash = mw_hash_mix(hash, graph->nodes.at[n].op);
    for (int v = 0; v < graph->values.count; v++) {
        const MwTensor *tensor = &graph->values.at[v].tensor;
        hash = mw_hash_mix(hash, tensor->type);
        for (int d = 0; d < tensor->rank; d++)
            hash = mw_hash_mix(hash, (uint64_t)tensor->dim[d]);
    }
    return hash;
}

static Submesh submesh_of(const MwCompilation *compilation, int mesh)
{
    const MwStaging *staging = &compilation->staging;
    Submesh submesh = {.arena = mw_arena_new_within(compilation->arena),
                       .mesh = mesh,
                       .stage_count = mw_staging_chunks(staging, mesh)};
    submesh.meshes = choose_meshes(submesh.arena, compilation, mesh);
    submesh.candidates = MW_NEW(submesh.arena, MeshAttempt, submesh.meshes.count);
    for (int i = 0; i < submesh.stage_count; i++)
        submesh.shape = mw_hash_mix(
            submesh.shape, shape_of(compilation->stages[stage_of(&submesh, compilation, i)].graph));
    return submesh;
}

/* Meshes that are solved at the same time. */
typedef struct {
    const MwCompilation *compilation;
    MW_VEC(Submesh *) submeshes;
} Wave;

static void shard_one(void *context, int i)
{
    const Wave *wave = context;
    shard_submesh(wave->compilation, wave->submeshes.at[i]);
}

/* Work of solving the stages of a mesh. */
static int64_t solved_entries(const Submesh *submesh)
{
    int64_t entries = 0;
    for (int i = 0; i < submesh->meshes.count; i++)
        for (int k = 0; k < submesh->stage_count; k++)
            entries += submesh->candidates[i].attempts[k].entries;
    return entries;
}

/* Solves the meshes of a wave, whose stages share the time limit; false after errors. */
static bool shard_wave(MwCompilation *compilation, Wave *wave, MwDiags *diags)
{
    int stages = 0;
    for (int w = 0; w < wave->submeshes.count; w++)
        stages += wave->submeshes.at[w]->stage_count;
    for (int w = 0; w < wave->submeshes.count; w++)
        wave->submeshes.at[w]->stage_limit_s = compilation->options.solve_time_s / stages;
    mw_parallel(mw_solve_threads(), wave->submeshes.count, shard_one, wave);
    for (int w = 0; w < wave->submeshes.count; w++) {
        const Submesh *submesh = wave->submeshes.at[w];
        compilation->solved_s += MW_SECONDS_OF_ENTRY * (double)solved_entries(submesh);
        if (!submesh->best) {
            refuse_meshes(compilation, submesh, diags);
            return false;
        }
        for (int i = 0; i < submesh->stage_count; i++)
            keep_sharding(compilation, stage_of(submesh, compilation, i),
                          submesh->best->shardings[i]);
    }
    return true;
}

bool mw_pass_sharding(MwCompilation *compilation, MwDiags *diags)
{
    const int count = compilation->staging.mesh_count;
    Submesh *submeshes = MW_NEW(compilation->arena, Submesh, count);
    Wave first = {.compilation = compilation}, others = first;
    for (int mesh = 0; mesh < count; mesh++) {
        bool is_first = true;
        submeshes[mesh] = submesh_of(compilation, mesh);
        for (int i = 0; i < mesh; i++)
            is_first &= submeshes[i].shape != submeshes[mesh].shape;
        mw_vec_push(compilation->arena, &(is_first ? &first : &others)->submeshes,
                    &submeshes[mesh]);
    }
    return shard_wave(compilation, &first, diags) && shard_wave(compilation, &others, diags);
}
