/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intra-op pass: every logical mesh of a stage's devices is tried, and the one with the least
 * step time, the first of equals, is kept. What cannot be better, by its bound, is not solved.
 *
 * In:  the shared graph of each stage (passes/sharding/share.c), the devices that it has, and the user's mesh
 *      and pins.
 * Out: the sharding of each stage. Stages on the same devices have the same logical mesh, that with
 *      the least time for all of them. */
#include "cost/units.h"
#include "passes/pass.h"
#include "passes/sharding/meshes.h"
#include "passes/sharding/refuse.h"
#include "passes/sharding/report.h"
#include "passes/sharding/sharding_fit.h"

#include <stdlib.h>

/* With many nodes, where memory binds, an answer that near the bound, as a share of its cost, will do:
 * no cost model is that exact, and the rest of the proof takes long. */
static const double NEAR = 0.0005;
enum { MANY_NODES = 300 };

/* ---- Meshes ---- */

/* Those that the devices of mesh `index` are tried as. */
static MwMeshList choose_meshes(const MwCompilation *compilation, int index)
{
    const MwSubmesh *submesh = &compilation->staging.meshes[index];
    int devices = submesh->device_count;
    const MwMeshShape *wanted = &compilation->options.mesh;
    if (wanted->axis_count == 0)
        wanted = &submesh->shape;
    if (wanted->axis_count == 0)
        return mw_mesh_shapes(compilation->arena, devices);
    MW_ASSERT(mw_mesh_devices(wanted) == devices);
    MwMeshList list = {0};
    mw_vec_push(compilation->arena, &list, *wanted);
    return list;
}

/* ---- One mesh ---- */

typedef struct {
    const MwCompilation *compilation;
    int stage;
    const MwGraph *graph;
    MwMeshShape mesh;
    const MwFlight *flight;
    int64_t memory_bytes;
    MwIntraProblem *problem; /* what is solved; NULL: pins do not allow it */
    MwCost bound;            /* of what it costs */
    /* Why it cannot be this mesh: */
    int64_t needed_bytes; /* more than the memory; 0: that is not the reason */
    MwDiags *diags;
} Attempt;

static void refuse_memory(Attempt *attempt, const MwIntraProblem *problem, const MwShardingFit *fit)
{
    attempt->needed_bytes = mw_max(fit->needed_bytes, fit->solution.peak_usage);
    mw_refuse_memory(problem, attempt->memory_bytes, attempt->needed_bytes,
                     fit->solution.infeasibility, attempt->diags);
}

static void refuse(Attempt *attempt, const MwIntraProblem *problem, const MwShardingFit *fit)
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

static void pose(Attempt *attempt)
{
    const MwCompilation *compilation = attempt->compilation;
    MwIntraQuery query = {.graph = attempt->graph,
                          .cluster = compilation->cluster,
                          .mesh = attempt->mesh,
                          .micro_batches = compilation->staging.micro_batches,
                          .flight = attempt->flight,
                          .memory_bytes = attempt->memory_bytes};
    attempt->problem = mw_intra_problem(compilation->arena, &query, attempt->diags);
}

/* A bound that is quickly found: as if memory had no limit. */
static void find_bound(Attempt *attempt)
{
    MwArena *scratch = mw_arena_new();
    MwProblem problem = attempt->problem->problem;
    problem.usage_limit = MW_USAGE_UNLIMITED;
    attempt->bound = mw_solve(scratch, &problem, &MW_SHARDING_QUICK).lower_bound;
    mw_arena_free(&scratch);
}

/* The best sharding on one mesh; NULL if there is none, or none that costs less than `cutoff`, as far
 * as is seen. Quick answers, which the choice of stages rests on, may fit where better ones do not. */
static MwSharding *try_mesh(Attempt *attempt, MwCost cutoff)
{
    const MwCompilation *compilation = attempt->compilation;
    MwArena *arena = compilation->arena;
    MwIntraProblem *problem = attempt->problem;
    MwSolveOptions quick = MW_SHARDING_QUICK;
    MwSolveOptions options = {.time_limit_s = compilation->options.solve_time_s /
                                              compilation->staging.stage_count,
                              .gap = problem->graph->nodes.count > MANY_NODES ? NEAR : 0};
    options.cutoff = quick.cutoff = cutoff;
    quick.time_limit_s = options.time_limit_s;
    MwShardingFit fit = mw_sharding_fit(arena, problem, attempt->memory_bytes, options);
    MwShardingFit second = {0};
    if (!fit.sharding && fit.needed_bytes > 0)
        second = mw_sharding_fit(arena, problem, attempt->memory_bytes, quick);
    if (second.sharding)
        second.sharding->lower_bound_s = fit.lower_bound_s;
    else if (!fit.sharding)
        refuse(attempt, problem, &fit);
    return second.sharding ? second.sharding : fit.sharding;
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

/* Says why it is no mesh: where all lack memory, of the one that lacks the least. */
static void refuse_all(MwCompilation *compilation, const Attempt *attempts, int count,
                       MwDiags *diags)
{
    const Attempt *least = &attempts[0];
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

/* All stages of one mesh, as one of its logical shapes. */
typedef struct {
    int index;
    Attempt *attempts;     /* [stages of the mesh] */
    const Attempt *failed; /* why it is not possible; NULL: it is, as far as is known */
    MwSharding **shardings;
    MwCost bound; /* of what all cost */
    MwCost cost;  /* of all, once they are solved */
} Shape;

/* Stages on one mesh share its memory in equal parts. */
static Attempt attempt_of(const MwCompilation *compilation, int stage, MwMeshShape mesh)
{
    const MwStaging *staging = &compilation->staging;
    MwFlight *flight = MW_NEW(compilation->arena, MwFlight, 1);
    *flight = mw_staging_flight(staging, stage);
    return (Attempt){.compilation = compilation,
                     .stage = stage,
                     .graph = compilation->stages[stage].graph,
                     .mesh = mesh,
                     .flight = flight,
                     .memory_bytes =
                         mw_memory_bytes(compilation) * staging->mesh_count / staging->stage_count,
                     .diags = mw_diags_new(compilation->arena)};
}

/* Its problems, and their bounds if it is not the only one. */
static Shape open_shape(const MwCompilation *compilation, int mesh, int stages,
                        const MwMeshList *meshes, int index)
{
    Shape out = {.index = index,
                 .attempts = MW_NEW(compilation->arena, Attempt, stages),
                 .shardings = MW_NEW(compilation->arena, MwSharding *, stages)};
    for (int i = 0; i < stages && !out.failed; i++) {
        Attempt *attempt = &out.attempts[i];
        int stage = mesh + i * compilation->staging.mesh_count;
        *attempt = attempt_of(compilation, stage, meshes->at[index]);
        pose(attempt);
        if (!attempt->problem)
            out.failed = attempt;
        else if (meshes->count > 1)
            find_bound(attempt);
        out.bound += attempt->bound;
    }
    return out;
}

/* What a shape must cost less than to be better than `best`; 0: there is none. Of equals the first
 * is. */
static MwCost cutoff_of(const Shape *shape, const Shape *best)
{
    return best ? best->cost + (shape->index < best->index) : 0;
}

static void try_shape(Shape *shape, int stages, MwCost cutoff)
{
    MwCost bound = shape->bound;
    for (int i = 0; i < stages && !shape->failed; i++) {
        Attempt *attempt = &shape->attempts[i];
        MwCost others = bound - attempt->bound;
        shape->shardings[i] = try_mesh(attempt, cutoff ? mw_max(cutoff - others, 1) : 0);
        if (!shape->shardings[i]) {
            shape->failed = attempt;
            return;
        }
        shape->cost += shape->shardings[i]->solution.cost;
        bound = others + shape->shardings[i]->solution.cost;
    }
}

/* The most promising first: the sooner a good one is found, the less is to be done on the others. */
static int compare_shapes(const void *a, const void *b)
{
    const Shape *x = a, *y = b;
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

/* The attempts that failed: one for each shape. */
static void refuse_shapes(MwCompilation *compilation, const Shape *shapes, int count,
                          MwDiags *diags)
{
    Attempt *failed = MW_NEW(compilation->arena, Attempt, count);
    for (int i = 0; i < count; i++)
        failed[shapes[i].index] = *shapes[i].failed;
    refuse_all(compilation, failed, count, diags);
}

static bool shard_mesh(MwCompilation *compilation, int mesh, MwDiags *diags)
{
    const MwStaging *staging = &compilation->staging;
    int stages = staging->stage_count / staging->mesh_count;
    MwMeshList meshes = choose_meshes(compilation, mesh);
    Shape *shapes = MW_NEW(compilation->arena, Shape, meshes.count);
    const Shape *best = NULL;
    for (int i = 0; i < meshes.count; i++)
        shapes[i] = open_shape(compilation, mesh, stages, &meshes, i);
    qsort(shapes, (size_t)meshes.count, sizeof *shapes, compare_shapes);
    for (int i = 0; i < meshes.count; i++) {
        MwCost cutoff = cutoff_of(&shapes[i], best);
        if (cutoff > 0 && shapes[i].bound >= cutoff)
            continue;
        try_shape(&shapes[i], stages, cutoff);
        if (!shapes[i].failed && (!best || shapes[i].cost < cutoff))
            best = &shapes[i];
    }
    if (!best)
        refuse_shapes(compilation, shapes, meshes.count, diags);
    for (int i = 0; i < stages && best; i++)
        keep_sharding(compilation, mesh + i * staging->mesh_count, best->shardings[i]);
    return best != NULL;
}

/* Operators on local shapes are what partition makes of a plan; a plan of them would be of nothing. */
static bool check_global(const MwGraph *graph, MwDiags *diags)
{
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op != MW_OP_SHARD && mw_op_info(node->op)->lowering != MW_LOWER_COLLECTIVE)
            continue;
        mw_diag_error(diags, node->origin.span,
                      "%s belongs to what one device runs: only the compiler writes it",
                      mw_op_info(node->op)->name);
        mw_diag_note(diags, mw_span_none(), "a dump after partition cannot be planned again");
        return false;
    }
    return true;
}

bool mw_pass_sharding(MwCompilation *compilation, MwDiags *diags)
{
    if (!check_global(compilation->graph, diags))
        return false;
    for (int mesh = 0; mesh < compilation->staging.mesh_count; mesh++)
        if (!shard_mesh(compilation, mesh, diags))
            return false;
    return true;
}
