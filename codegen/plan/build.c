/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stages of a mesh share its arena, and all stages share the kernels; how a stage comes to its
 * units, their order and their memory is in spending.c. */
#include "codegen/plan/build.h"

#include "base/quantity.h"
#include "codegen/legal/library.h"
#include "codegen/plan/group.h"
#include "codegen/plan/merge.h"
#include "codegen/plan/predict.h"
#include "codegen/plan/report.h"
#include "codegen/plan/spending.h"
#include "codegen/plan/timeline.h"
#include "cost/transfer.h"
#include "ir/print.h"
#include "passes/sharding/report.h"
#include "schedule/check.h"

#include <math.h>

typedef struct {
    MwArena *arena; /* of the plan */
    MwArena *work;  /* for legal graphs, units and storage, which nothing needs afterwards */
    const MwCompilation *compilation;
    const MwBackendInfo *backend;
    MwKernelPool *pool;
    MwStageBuilder *stages; /* [stage_count] */
    int64_t *wanted_bytes;  /* [mesh_count] as in MwSpent */
    MwPlan *plan;
} Builder;

static const MwStaging *staging_of(const Builder *b)
{
    return &b->compilation->staging;
}

/* ---- Buffers ---- */

static void build_buffers(const Builder *b, const MwMeshStorage *storage, MwPlanMesh *mesh)
{
    mesh->buffer_count = storage->buffers.count;
    mesh->buffers = MW_NEW(b->arena, MwPlanBuffer, mesh->buffer_count);
    for (int i = 0; i < mesh->buffer_count; i++) {
        const MwStorageBuffer *from = &storage->buffers.at[i];
        mesh->buffers[i] = (MwPlanBuffer){
            .name = from->name ? from->name : mw_arena_printf(b->arena, "scratch.%d", i),
            .tensor = from->tensor,
            .offset = from->offset,
            .bytes = from->bytes,
            .slots = from->slots,
            .persistent = from->persistent};
    }
    mesh->arena_bytes = storage->arena_bytes;
    mesh->host_bytes = storage->host_bytes;
    mesh->has_host = storage->host_bytes > 0;
    mesh->costs.live_bytes = storage->live_bytes;
}

/* ---- Programs ---- */

/* Returns the name of a program: "forward", or "forward.1" if the mesh has several stages. */
static const char *program_name(const MwStageBuilder *s, MwPhase phase)
{
    const MwStaging *staging = &s->compilation->staging;
    if (mw_staging_chunks(staging, mw_staging_mesh(staging, s->index)) == 1)
        return mw_phase_name(phase);
    return mw_arena_printf(s->arena, "%s.%d", mw_phase_name(phase), s->index / staging->mesh_count);
}

/* Says whether a program is needed. Every micro-batch has a forward task, even if all outputs of
 * the model are known without one. */
static bool is_needed(MwPhase phase, const MwPlanProgram *program)
{
    return program->instr_count > 0 || phase == MW_PHASE_FORWARD;
}

/* Returns the program with its calls of one kernel grouped. The buffers of the mesh must have their
 * places. */
static MwPlanProgram group_calls(const Builder *b, const MwPlanMesh *mesh,
                                 const MwPlanProgram *program, bool waits, bool shares_update)
{
    const MwCostModel model = mw_cost_model(b->compilation->cluster, &mesh->shape);
    const MwWork nothing = {.kind = MW_WORK_STREAM, .type = MW_F32};
    const MwGrouping grouping = {.buffers = mesh->buffers,
                                 .host_begin = mw_host_begin(mesh->arena_bytes),
                                 .buffer_count = mesh->buffer_count,
                                 .kernels = b->pool->kernels.at,
                                 .kernel_count = b->pool->kernels.count,
                                 .launch_s = mw_cost_work_s(&model, &nothing),
                                 .waits = waits,
                                 .receives_part = shares_update};
    return mw_program_group(b->arena, &grouping, program);
}

/* Calls of the update may wait for each other; in the other programs there is communication that
 * wants to begin early. */
static void build_programs(const Builder *b, MwStageBuilder *s, int first_operator)
{
    MwEmitter emitter = {.arena = b->arena,
                         .legal = s->legal,
                         .units = s->units,
                         .storage = &s->storage,
                         .calls = s->calls,
                         .model = mw_cost_model(b->compilation->cluster, &s->stage->local->mesh),
                         .pool = b->pool,
                         .reuse = mw_reuse_new(b->work, s->mesh->buffers, s->mesh->buffer_count,
                                               s->mesh->arena_bytes)};
    for (int phase = 0; phase < MW_PHASE_UPDATE; phase++) {
        MwPlanProgram *made = &s->mesh->programs[s->mesh->program_count];
        made->name = program_name(s, (MwPhase)phase);
        mw_stage_builder_program(s, &emitter, first_operator, (MwPhase)phase, made);
        *made = group_calls(b, s->mesh, made, false, false);
        s->program[phase] = is_needed((MwPhase)phase, made) ? s->mesh->program_count++ : -1;
    }
    mw_stage_builder_program(s, &emitter, first_operator, MW_PHASE_UPDATE, &s->update);
    const bool shares_update = mw_staging_flight(staging_of(b), s->index).shares_update;
    s->update = group_calls(b, s->mesh, &s->update, true, shares_update);
}

/* One program for the updates of all stages of a mesh. */
static void build_update(const Builder *b, int index, MwPlanMesh *mesh)
{
    const int chunks = mw_staging_chunks(staging_of(b), index);
    MwPlanProgram *parts = MW_NEW(b->arena, MwPlanProgram, chunks);
    for (int chunk = 0; chunk < chunks; chunk++)
        parts[chunk] = b->stages[mw_staging_stage_at(staging_of(b), index, chunk)].update;
    MwPlanProgram update =
        mw_programs_merge(b->arena, mw_phase_name(MW_PHASE_UPDATE), parts, chunks);
    if (update.instr_count == 0)
        return;
    mesh->programs[mesh->program_count] = update;
    mesh->tasks[mesh->task_count++] = (MwPlanTask){mesh->program_count++, -1};
}

static void add_task(MwPlanMesh *mesh, int program, int micro_batch)
{
    if (program >= 0)
        mesh->tasks[mesh->task_count++] = (MwPlanTask){program, micro_batch};
}

static void build_tasks(const Builder *b, int index, MwPlanMesh *mesh)
{
    const MwPipelineSchedule *schedule = staging_of(b)->schedule;
    const MwMeshSchedule *tasks = &schedule->meshes[index];
    mesh->tasks = MW_NEW(b->arena, MwPlanTask, tasks->task_count + 1);
    for (int i = 0; i < tasks->task_count; i++) {
        const MwTask *task = &tasks->tasks[i];
        const MwStageBuilder *s = &b->stages[mw_pipeline_stage(schedule, index, task->chunk)];
        add_task(mesh, s->program[mw_task_phase(task->kind)], task->micro_batch);
    }
}

/* ---- Meshes ---- */

/* What is known of a stage before its units are formed. */
static void start_stage(const Builder *b, int index, MwPlanMesh *mesh)
{
    b->stages[index] = (MwStageBuilder){.arena = b->arena,
                                        .compilation = b->compilation,
                                        .index = index,
                                        .stage = &b->compilation->stages[index],
                                        .flight = mw_staging_flight(staging_of(b), index),
                                        .mesh = mesh};
}

/* Room for what the stages of a mesh add. */
static void make_room(const Builder *b, int index, MwPlanMesh *mesh)
{
    int nodes = 0, outputs = 0, metrics = 0, operators = 0, stages = 0;
    for (int chunk = 0; chunk < mw_staging_chunks(staging_of(b), index); chunk++) {
        const MwStage *stage =
            &b->compilation->stages[mw_staging_stage_at(staging_of(b), index, chunk)];
        nodes += stage->local->graph->nodes.count;
        outputs += stage->local->graph->outputs.count;
        metrics += stage->local->graph->metrics.count;
        operators += stage->report ? stage->report->count : 0;
        stages++;
    }
    mesh->inputs = MW_NEW(b->arena, MwPlanInput, nodes);
    mesh->outputs = MW_NEW(b->arena, MwPlanOutput, outputs);
    mesh->metrics = MW_NEW(b->arena, MwPlanMetric, metrics);
    mesh->weights = MW_NEW(b->arena, MwPlanWeight, nodes);
    mesh->operators = MW_NEW(b->arena, MwPlanOperator, operators);
    mesh->programs = MW_NEW(b->arena, MwPlanProgram, MW_PHASE_COUNT * stages);
}

/* What a stage adds to its mesh. */
static void build_stage(const Builder *b, MwStageBuilder *s)
{
    MwPlanMesh *mesh = s->mesh;
    MwPlanStage *stage = &b->plan->stages[s->index];
    *stage = (MwPlanStage){.mesh = mw_staging_mesh(staging_of(b), s->index),
                           .first_program = mesh->program_count,
                           .first_operator = mesh->operator_count};
    build_programs(b, s, stage->first_operator);
    mw_plan_report_fill(b->arena, s->stage, mesh);
    stage->program_count = mesh->program_count - stage->first_program;
    stage->operator_count = mesh->operator_count - stage->first_operator;
    mw_stage_builder_inputs(s);
    mw_stage_builder_outputs(s);
    mw_stage_builder_metrics(s);
    mw_stage_builder_weights(s);
}

static void build_mesh(Builder *b, int index)
{
    MwPlanMesh *mesh = &b->plan->meshes[index];
    const int chunks = mw_staging_chunks(staging_of(b), index);
    MwStageBuilder **stages = MW_NEW(b->work, MwStageBuilder *, chunks);
    *mesh = (MwPlanMesh){.shape = b->compilation->stages[index].local->mesh,
                         .first_rank = staging_of(b)->meshes[index].first_device};
    make_room(b, index, mesh);
    for (int chunk = 0; chunk < chunks; chunk++) {
        const int stage = mw_staging_stage_at(staging_of(b), index, chunk);
        start_stage(b, stage, mesh);
        stages[chunk] = &b->stages[stage];
    }
    const MwSpendQuery query = {.work = b->work,
                                .stages = stages,
                                .count = chunks,
                                .pool = b->pool,
                                .overlaps = b->backend->overlaps,
                                .limit_bytes = mw_device_bytes(b->compilation)};
    const MwSpent spent = mw_spend_memory(&query);
    b->wanted_bytes[index] = spent.wanted_bytes;
    build_buffers(b, spent.storage, mesh);
    for (int chunk = 0; chunk < chunks; chunk++)
        build_stage(b, stages[chunk]);
    build_tasks(b, index, mesh);
    build_update(b, index, mesh);
}

/* ---- Transfers ---- */

/* Notes one end of every transfer that a stage takes part in. */
static void build_transfer_ends(const Builder *b, const MwStageBuilder *s)
{
    const MwGraph *local = s->stage->local->graph;
    int mesh = mw_staging_mesh(staging_of(b), s->index);
    for (int n = 0; n < local->nodes.count; n++) {
        const MwNode *node = &local->nodes.at[n];
        if (node->op != MW_OP_SEND && node->op != MW_OP_RECEIVE)
            continue;
        MwPlanTransfer *transfer = &b->plan->transfers[mw_node_int(node, MW_ATTR_TRANSFER)];
        MwSpec spec = s->stage->local->value_spec[node->first_result];
        if (node->op == MW_OP_RECEIVE) {
            transfer->to_mesh = mesh;
            transfer->to_spec = spec;
            transfer->to_buffer = mw_stage_builder_buffer(s, s->legal->form[node->first_result]);
            continue;
        }
        const MwNode *legal =
            mw_value_node(mw_stage_builder_graph(s), s->legal->form[node->first_result]);
        transfer->from_mesh = mesh;
        transfer->from_spec = spec;
        transfer->from_buffer = mw_stage_builder_buffer(s, legal->operands[0]);
    }
}

static MwTensorPlacement place_of(const Builder *b, int mesh, MwSpec spec)
{
    return (MwTensorPlacement){spec, b->plan->meshes[mesh].shape,
                               staging_of(b)->meshes[mesh].first_device};
}

static void price_transfer(const Builder *b, MwPlanTransfer *transfer)
{
    MwTensorPlacement from = place_of(b, transfer->from_mesh, transfer->from_spec);
    MwTensorPlacement to = place_of(b, transfer->to_mesh, transfer->to_spec);
    MwTransferCost cost = mw_transfer_cost(b->compilation->cluster, &transfer->tensor, &from, &to);
    transfer->broadcast = cost.broadcast;
    transfer->time_s = cost.crossing_s + cost.passing_s;
}

static void build_transfers(Builder *b)
{
    const MwCompilation *c = b->compilation;
    b->plan->transfer_count = c->crossing_count;
    b->plan->transfers = MW_NEW(b->arena, MwPlanTransfer, c->crossing_count);
    for (int i = 0; i < c->crossing_count; i++)
        b->plan->transfers[i] =
            (MwPlanTransfer){.name = c->crossings[i].name, .tensor = c->crossings[i].tensor};
    for (int s = 0; s < c->staging.stage_count; s++)
        build_transfer_ends(b, &b->stages[s]);
    for (int i = 0; i < c->crossing_count; i++)
        price_transfer(b, &b->plan->transfers[i]);
}

/* ---- What was predicted ---- */

static double instrs_s(const MwPlanProgram *program)
{
    double time_s = 0;
    for (int i = 0; i < program->instr_count; i++)
        time_s += mw_plan_instr_runs(program, i) * program->instrs[i].time_s;
    return time_s;
}

/* The layers of a stage are next to each other. */
static void count_layers(const MwStaging *staging, int index, MwPlanStage *stage)
{
    stage->first_layer = -1;
    for (int l = 0; l < staging->layer_count; l++) {
        if (staging->layer_stage[l] != index)
            continue;
        if (stage->first_layer < 0)
            stage->first_layer = l;
        stage->layer_count++;
        if (!staging->layer_remat)
            continue;
        stage->remat_layers += staging->layer_remat[l] == MW_LAYER_RECOMPUTES;
        stage->selective_layers += staging->layer_remat[l] == MW_LAYER_SELECTIVE;
        stage->streamed_layers += staging->layer_remat[l] == MW_LAYER_STREAMS;
    }
    stage->streams = stage->streamed_layers > 0;
    stage->first_layer = (int)mw_max(stage->first_layer, 0);
}

static bool is_update(const MwPlanProgram *program)
{
    return mw_plan_program_phase(program) == MW_PHASE_UPDATE;
}

/* `program_s`: seconds of the programs of its mesh, of which the update is the last. A stage has of
 * it what its own instructions are. */
static void predict_stage(const Builder *b, int index, const double *program_s)
{
    const MwStageBuilder *s = &b->stages[index];
    MwPlanStage *stage = &b->plan->stages[index];
    double *const times[] = {[MW_PHASE_FORWARD] = &stage->forward_s,
                             [MW_PHASE_BACKWARD] = &stage->backward_s,
                             [MW_PHASE_BACKWARD_WEIGHT] = &stage->weight_s};
    for (int phase = 0; phase < MW_PHASE_UPDATE; phase++)
        if (s->program[phase] >= 0)
            *times[phase] = program_s[s->program[phase]];
    const int last = s->mesh->program_count - 1;
    const double all_s = instrs_s(&s->mesh->programs[last]);
    if (is_update(&s->mesh->programs[last]) && all_s > 0)
        stage->update_s = program_s[last] * instrs_s(&s->update) / all_s;
    count_layers(staging_of(b), index, stage);
}

/* The time that the mesh is at work in a step, and those of its stages. */
static void predict_mesh(const Builder *b, int index)
{
    MwPlanMesh *mesh = &b->plan->meshes[index];
    double *program_s = MW_NEW(b->work, double, mesh->program_count);
    for (int p = 0; p < mesh->program_count; p++)
        program_s[p] = is_update(&mesh->programs[p])
                           ? mw_predict_update_s(b->backend->overlaps, mesh)
                           : mw_predict_program_s(b->backend->overlaps, mesh, p);
    for (int t = 0; t < mesh->task_count; t++)
        mesh->costs.step_s += program_s[mesh->tasks[t].program];
    for (int chunk = 0; chunk < mw_staging_chunks(staging_of(b), index); chunk++)
        predict_stage(b, mw_staging_stage_at(staging_of(b), index, chunk), program_s);
}

static void build_alternatives(Builder *b)
{
    const MwStaging *staging = staging_of(b);
    b->plan->alternative_count = staging->alternative_count;
    b->plan->alternatives = MW_NEW(b->arena, MwPlanAlternative, staging->alternative_count);
    for (int i = 0; i < staging->alternative_count; i++) {
        const MwStagingAlternative *from = &staging->alternatives[i];
        b->plan->alternatives[i] =
            (MwPlanAlternative){from->name, from->reason, from->step_s, from->needed_bytes};
    }
}

static double predict_step(const Builder *b, MwDiags *diags)
{
    const MwPipelineSchedule *schedule = staging_of(b)->schedule;
    const MwPlanEnds *ends = mw_plan_transfer_ends(b->arena, b->plan);
    const MwStageTimes *times = mw_plan_stage_times(b->arena, b->plan, ends);
    const MwTimeline *timeline = mw_timeline_new(b->arena, schedule, times);
    MW_ASSERT(mw_timeline_check(b->arena, schedule, times, timeline, diags));
    return timeline->total + mw_plan_update_s(b->plan, ends);
}

/* ---- The plan ---- */

static int rank_count(const MwStaging *staging)
{
    int count = 0;
    for (int i = 0; i < staging->mesh_count; i++)
        count += staging->meshes[i].device_count;
    return count;
}

static int largest_mesh(const MwPlan *plan)
{
    int largest = 0;
    for (int m = 1; m < plan->mesh_count; m++)
        if (plan->meshes[m].arena_bytes > plan->meshes[largest].arena_bytes)
            largest = m;
    return largest;
}

/* Whether the backend has the routine of a library operator. `told` [operators]: those whose
 * routine was missed already. */
static bool check_routine(const Builder *b, const MwNode *node, bool *told, MwDiags *diags)
{
    const MwOpInfo *info = mw_op_info(node->op);
    if (info->lowering != MW_LOWER_LIBRARY ||
        mw_routine_is_on(mw_library_routine(node->op), b->backend->id))
        return true;
    if (!told[node->op])
        mw_diag_error(diags, node->origin.span, "the backend '%s' has no routine for %s",
                      b->backend->name, info->name);
    told[node->op] = true;
    return false;
}

static bool check_routines(const Builder *b, MwDiags *diags)
{
    bool told[MW_OP_COUNT] = {0}, good = true;
    for (int s = 0; s < staging_of(b)->stage_count; s++) {
        const MwGraph *graph = b->compilation->stages[s].local->graph;
        for (int n = 0; n < graph->nodes.count; n++)
            good &= check_routine(b, &graph->nodes.at[n], told, diags);
    }
    return good;
}

/* The bytes of a device of a mesh from which on as a target the passes would have chosen the same:
 * the layout and the strategies of each stage need no more, of which a stage may use a share. */
static int64_t estimated_bytes(const MwCompilation *c, int mesh)
{
    const MwStaging *staging = &c->staging;
    double most = (double)staging->needed_bytes;
    for (int chunk = 0; chunk < mw_staging_chunks(staging, mesh); chunk++) {
        const int stage = mw_staging_stage_at(staging, mesh, chunk);
        const int64_t target = mw_memory_bytes(c);
        const double share =
            (double)mw_staging_memory_bytes(staging, stage, target) / (double)target;
        most = fmax(most, (double)c->stages[stage].sharding->peak_bytes / share);
    }
    return (int64_t)most;
}

static bool check_memory(const Builder *b, MwCompilation *c, MwDiags *diags)
{
    int mesh = largest_mesh(b->plan);
    int64_t bytes = b->plan->meshes[mesh].arena_bytes, limit = mw_device_bytes(c);
    if (!limit || bytes <= limit)
        return true;
    c->excess = (MwExcess){.kind = MW_EXCESS_ARENA,
                           .mesh = mesh,
                           .needed_bytes = bytes,
                           .limit_bytes = limit,
                           .wanted_bytes = mw_max(bytes, b->wanted_bytes[mesh]),
                           .estimated_bytes = estimated_bytes(c, mesh)};
    mw_diag_error(
        diags, mw_span_none(), "a device%s needs %s of memory: %s more than the %s it has",
        b->plan->mesh_count > 1 ? mw_arena_printf(b->arena, " of mesh %d", mesh) : "",
        mw_bytes_text(b->arena, (double)bytes), mw_bytes_text(b->arena, (double)(bytes - limit)),
        mw_bytes_text(b->arena, (double)limit));
    mw_diag_note(diags, mw_span_none(), "more devices, or devices with so much, would make it fit");
    return false;
}

/* What is kept on the host fits there. */
static bool check_host(const Builder *b, MwDiags *diags)
{
    const MwCluster *cluster = b->compilation->cluster;
    const int64_t limit = mw_cluster_host_bytes(cluster);
    int64_t bytes = 0;
    for (int i = 0; i < b->plan->mesh_count; i++)
        bytes = (int64_t)mw_max(bytes, b->plan->meshes[i].host_bytes);
    if (bytes <= limit)
        return true;
    mw_diag_error(diags, mw_span_none(),
                  "a device keeps %s on the host: %s more than the %s that it has there",
                  mw_bytes_text(b->arena, (double)bytes),
                  mw_bytes_text(b->arena, (double)(bytes - limit)),
                  mw_bytes_text(b->arena, (double)limit));
    mw_diag_note(diags, mw_span_none(), "%d device%s of a node share%s its %s",
                 cluster->devices_per_node, cluster->devices_per_node > 1 ? "s" : "",
                 cluster->devices_per_node > 1 ? "" : "s",
                 mw_bytes_text(b->arena, (double)cluster->host.memory_bytes));
    return false;
}

/* Fills the plan; false if it does not fit, or the backend cannot run it. */
static bool build(Builder *b, MwCompilation *compilation, MwDiags *diags)
{
    if (!check_routines(b, diags))
        return false;
    for (int i = 0; i < staging_of(b)->mesh_count; i++) {
        build_mesh(b, i);
        mw_plan_report_ceilings(compilation->graph, &compilation->cluster->device,
                                &b->plan->meshes[i]);
    }
    if (!check_memory(b, compilation, diags) || !check_host(b, diags))
        return false;
    build_transfers(b);
    for (int i = 0; i < b->plan->mesh_count; i++)
        predict_mesh(b, i);
    build_alternatives(b);
    b->plan->step_s = predict_step(b, diags);
    b->plan->kernels = b->pool->kernels.at;
    b->plan->kernel_count = b->pool->kernels.count;
    b->plan->kernel_source = mw_kernel_pool_source(b->pool);
    return true;
}

MwPlan *mw_plan_build(MwCompilation *compilation, const char *source, MwDiags *diags)
{
    const MwStaging *staging = &compilation->staging;
    MwArena *arena = compilation->arena;
    const MwBackendInfo *backend = mw_backend_named(compilation->cluster->backend);
    Builder b = {.arena = arena,
                 .work = mw_arena_new_within(arena),
                 .compilation = compilation,
                 .backend = backend,
                 .pool = mw_kernel_pool_new(arena, mw_kernel_printer(backend->id)),
                 .stages = MW_NEW(arena, MwStageBuilder, staging->stage_count),
                 .wanted_bytes = MW_NEW(arena, int64_t, staging->mesh_count),
                 .plan = MW_NEW(arena, MwPlan, 1)};
    *b.plan = (MwPlan){.model = compilation->graph->name,
                       .source = source,
                       .cluster = compilation->cluster->name,
                       .backend = compilation->cluster->backend,
                       .rank_count = rank_count(staging),
                       .micro_batches = staging->micro_batches,
                       .schedule = staging->mesh_count == 1
                                       ? "none"
                                       : mw_pipeline_info(staging->schedule->kind)->name,
                       .device_bytes = mw_device_bytes(compilation),
                       .model_flops = compilation->model_flops,
                       .model_peak_s = compilation->model_peak_s,
                       .has_price = mw_cluster_usd_per_h(compilation->cluster) > 0,
                       .usd_per_h = mw_cluster_usd_per_h(compilation->cluster),
                       .meshes = MW_NEW(arena, MwPlanMesh, staging->mesh_count),
                       .mesh_count = staging->mesh_count,
                       .stages = MW_NEW(arena, MwPlanStage, staging->stage_count),
                       .stage_count = staging->stage_count};
    const bool good = build(&b, compilation, diags);
    mw_arena_free(&b.work);
    return good ? b.plan : NULL;
}
