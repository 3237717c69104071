/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/diff/differences.h"
#include "tools/inspect/pipeline.h"
#include "tools/inspect/totals.h"

#include <string.h>

/* ---- The plan ---- */

static void diff_head(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    mw_diff_text(to, "model", a->model, b->model);
    mw_diff_text(to, "source", a->source, b->source);
    mw_diff_text(to, "cluster", a->cluster, b->cluster);
    mw_diff_text(to, "backend", a->backend, b->backend);
    mw_diff_count(to, "ranks", a->rank_count, b->rank_count);
    mw_diff_count(to, "micro-batches", a->micro_batches, b->micro_batches);
    mw_diff_text(to, "schedule", a->schedule, b->schedule);
    mw_diff_count(to, "stages", a->stage_count, b->stage_count);
    mw_diff_count(to, "meshes", a->mesh_count, b->mesh_count);
}

/* Sums over the meshes of a plan, and its largest arena. */
typedef struct {
    MwPlanCosts costs;
    int64_t arena_bytes, communicated_bytes;
} Totals;

static Totals totals_of(const MwPlan *plan)
{
    Totals totals = {0};
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        totals.costs.objective_s += mesh->costs.objective_s;
        totals.costs.lower_bound_s += mesh->costs.lower_bound_s;
        totals.costs.compute_s += mesh->costs.compute_s;
        totals.costs.communication_s += mesh->costs.communication_s;
        totals.communicated_bytes += mw_inspect_totals(mesh).communicated_bytes;
        totals.arena_bytes = mw_max(totals.arena_bytes, mesh->arena_bytes);
    }
    return totals;
}

static void diff_prediction(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    const Totals ours = totals_of(a), theirs = totals_of(b);
    mw_diff_seconds(to, "step", a->step_s, b->step_s);
    mw_diff_seconds(to, "objective", ours.costs.objective_s, theirs.costs.objective_s);
    mw_diff_seconds(to, "lower bound", ours.costs.lower_bound_s, theirs.costs.lower_bound_s);
    mw_diff_seconds(to, "compute", ours.costs.compute_s, theirs.costs.compute_s);
    mw_diff_seconds(to, "communication", ours.costs.communication_s, theirs.costs.communication_s);
    mw_diff_bytes(to, "communicated", ours.communicated_bytes, theirs.communicated_bytes);
    mw_diff_bytes(to, "largest arena", ours.arena_bytes, theirs.arena_bytes);
}

/* ---- Stages and meshes ---- */

static void diff_stage(MwDifferences *to, const MwInspectStage *a, const MwInspectStage *b)
{
    mw_diff_text(to, "layers",
                 mw_inspect_range(to->arena, a->plan->first_layer, a->plan->layer_count),
                 mw_inspect_range(to->arena, b->plan->first_layer, b->plan->layer_count));
    mw_diff_count(to, "recomputed layers", a->plan->remat_layers, b->plan->remat_layers);
    mw_diff_count(to, "selectively recomputed layers", a->plan->selective_layers,
                  b->plan->selective_layers);
    mw_diff_count(to, "streamed layers", a->plan->streamed_layers, b->plan->streamed_layers);
    mw_diff_count(to, "mesh", a->plan->mesh, b->plan->mesh);
    mw_diff_seconds(to, "forward", a->plan->forward_s, b->plan->forward_s);
    mw_diff_seconds(to, "backward", a->plan->backward_s, b->plan->backward_s);
    mw_diff_seconds(to, "weight", a->plan->weight_s, b->plan->weight_s);
    mw_diff_seconds(to, "update", a->plan->update_s, b->plan->update_s);
    mw_diff_bytes(to, "activations", a->activation_bytes, b->activation_bytes);
    mw_diff_count(to, "in flight", a->in_flight, b->in_flight);
}

static const char *shape_text(MwArena *arena, const MwPlanMesh *mesh)
{
    char shape[MW_MESH_TEXT_BYTES];
    return mw_arena_printf(arena, "%s", mw_mesh_text(&mesh->shape, shape));
}

static const char *ranks_text(MwArena *arena, const MwPlanMesh *mesh)
{
    return mw_inspect_range(arena, mesh->first_rank, mw_mesh_devices(&mesh->shape));
}

/* "layers 2 to 3 on mesh 1"; NULL: the plan has fewer stages. */
static const char *stage_text(MwArena *arena, const MwPlan *plan, int id)
{
    if (id >= plan->stage_count)
        return NULL;
    const MwPlanStage *stage = &plan->stages[id];
    return mw_arena_printf(arena, "layers %s on mesh %d",
                           mw_inspect_range(arena, stage->first_layer, stage->layer_count),
                           stage->mesh);
}

/* "2x2, ranks 4 to 7"; NULL: the plan has fewer meshes. */
static const char *mesh_text(MwArena *arena, const MwPlan *plan, int id)
{
    if (id >= plan->mesh_count)
        return NULL;
    const MwPlanMesh *mesh = &plan->meshes[id];
    return mw_arena_printf(arena, "%s, ranks %s", shape_text(arena, mesh), ranks_text(arena, mesh));
}

static void diff_stages(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    const MwInspectPipeline ours = mw_inspect_pipeline(to->arena, a);
    const MwInspectPipeline theirs = mw_inspect_pipeline(to->arena, b);
    const int count = (int)mw_max(a->stage_count, b->stage_count);
    for (int s = 0; s < count; s++) {
        to->name = mw_arena_printf(to->arena, "%d", s);
        if (s < a->stage_count && s < b->stage_count)
            diff_stage(to, &ours.stages[s], &theirs.stages[s]);
        else
            mw_diff_text(to, "stage", stage_text(to->arena, a, s), stage_text(to->arena, b, s));
    }
}

static void diff_mesh(MwDifferences *to, const MwPlanMesh *a, const MwPlanMesh *b)
{
    const MwInspectTotals ours = mw_inspect_totals(a), theirs = mw_inspect_totals(b);
    mw_diff_text(to, "shape", shape_text(to->arena, a), shape_text(to->arena, b));
    mw_diff_text(to, "ranks", ranks_text(to->arena, a), ranks_text(to->arena, b));
    mw_diff_seconds(to, "busy", a->costs.step_s, b->costs.step_s);
    mw_diff_bytes(to, "arena", a->arena_bytes, b->arena_bytes);
    mw_diff_bytes(to, "on the host", a->host_bytes, b->host_bytes);
    mw_diff_bytes(to, "live at once", a->costs.live_bytes, b->costs.live_bytes);
    mw_diff_bytes(to, "weights", ours.weight_bytes, theirs.weight_bytes);
    mw_diff_bytes(to, "states", ours.state_bytes, theirs.state_bytes);
    mw_diff_bytes(to, "inputs", ours.input_bytes, theirs.input_bytes);
    mw_diff_bytes(to, "activations and scratch", ours.other_bytes, theirs.other_bytes);
}

static void diff_meshes(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    const int count = (int)mw_max(a->mesh_count, b->mesh_count);
    for (int m = 0; m < count; m++) {
        to->name = mw_arena_printf(to->arena, "%d", m);
        if (m < a->mesh_count && m < b->mesh_count)
            diff_mesh(to, &a->meshes[m], &b->meshes[m]);
        else
            mw_diff_text(to, "mesh", mesh_text(to->arena, a, m), mesh_text(to->arena, b, m));
    }
}

/* ---- Programs ---- */

static int64_t instr_count(const MwPlan *plan)
{
    int64_t count = 0;
    for (int m = 0; m < plan->mesh_count; m++)
        for (int p = 0; p < plan->meshes[m].program_count; p++)
            count += plan->meshes[m].programs[p].instr_count;
    return count;
}

static int64_t buffer_count(const MwPlan *plan)
{
    int64_t count = 0;
    for (int m = 0; m < plan->mesh_count; m++)
        count += plan->meshes[m].buffer_count;
    return count;
}

/* Without the command that made it: a plan is the same however it was asked for. */
static const char *plan_text(MwArena *arena, const MwPlan *plan)
{
    MwText text = {.arena = arena};
    MwPlan made = *plan;
    made.command = (MwPlanCommand){0};
    mw_plan_print(&text, &made);
    return text.at;
}

/* Counts stand for what is in the programs. Where they are equal as all else is, but the plans are
 * not, that is said. */
static void diff_programs(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    mw_diff_count(to, "kernels", a->kernel_count, b->kernel_count);
    mw_diff_count(to, "instructions", instr_count(a), instr_count(b));
    mw_diff_count(to, "buffers", buffer_count(a), buffer_count(b));
    mw_diff_count(to, "alternatives", a->alternative_count, b->alternative_count);
    if (to->all.count == 0 && strcmp(plan_text(to->arena, a), plan_text(to->arena, b)) != 0)
        mw_diff_text(to, "details", "as its text says", "otherwise");
}

/* ---- All ---- */

void mw_diff_plans(MwDifferences *to, const MwPlan *a, const MwPlan *b)
{
    static void (*const sections[MW_DIFF_SECTION_COUNT])(MwDifferences *, const MwPlan *,
                                                         const MwPlan *) = {
        [MW_DIFF_PLAN] = diff_head,
        [MW_DIFF_PREDICTION] = diff_prediction,
        [MW_DIFF_STAGES] = diff_stages,
        [MW_DIFF_MESHES] = diff_meshes,
        [MW_DIFF_COMMUNICATION] = mw_diff_communication,
        [MW_DIFF_OPERATORS] = mw_diff_operators,
        [MW_DIFF_WEIGHTS] = mw_diff_weights,
        [MW_DIFF_PROGRAMS] = diff_programs,
    };
    for (int s = 0; s < MW_DIFF_SECTION_COUNT; s++) {
        to->section = (MwDiffSection)s;
        to->name = NULL;
        sections[s](to, a, b);
    }
}
