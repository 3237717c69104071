/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  a layout with the costs of its stages, estimated (cost.h) or solved. Out: its step time
 * and memory, its name, and its staging. */
#include "passes/stages/layout.h"

#include "cost/transfer.h"
#include "schedule/generate.h"

#include <math.h>

int mw_stage_layout_meshes(const MwStageLayout *layout)
{
    return layout->stage_count
               ? mw_pipeline_meshes(layout->kind, layout->stage_count, layout->chunks)
               : 0;
}

/* [stages] */
static MwStageTimes *stage_times(MwArena *arena, const MwStageLayout *layout)
{
    MwStageTimes *times = MW_NEW(arena, MwStageTimes, layout->stage_count);
    for (int s = 0; s < layout->stage_count; s++)
        times[s] = layout->stages[s].times;
    return times;
}

MwPipelineSchedule *mw_stage_layout_schedule(MwArena *arena, const MwStageLayout *layout)
{
    MwArena *scratch = mw_arena_new();
    MwPipelineSchedule *schedule = mw_pipeline_schedule_timed(
        arena, layout->kind, mw_stage_layout_meshes(layout), layout->micro_batches, layout->chunks,
        stage_times(scratch, layout));
    mw_arena_free(&scratch);
    return schedule;
}

/* Where a tensor lies as far as that is known before stages are solved: the devices divide its
 * first dimension, the batch's, as far as they can, and the others its second. */
static MwTensorPlacement place_of(const MwTensor *tensor, MwStageDevices devices)
{
    const int ways = tensor->rank > 0 ? (int)mw_common_divisor(tensor->dim[0], devices.count) : 1;
    const int rest = devices.count / ways;
    const bool divides = rest > 1 && tensor->rank > 1 && tensor->dim[1] % rest == 0;
    MwSpec spec = mw_spec_replicated();
    if (ways > 1)
        spec = mw_spec_with_dim(spec, 0, 1 << 0);
    if (divides)
        spec = mw_spec_with_dim(spec, 1, 1 << 1);
    return (MwTensorPlacement){spec, {2, {ways, rest}}, devices.first};
}

double mw_stage_transfer_s(const MwCluster *cluster, const MwTensor *tensor, MwStageDevices from,
                           MwStageDevices to)
{
    const MwTensorPlacement a = place_of(tensor, from), b = place_of(tensor, to);
    const MwTransferCost cost = mw_transfer_cost(cluster, tensor, &a, &b);
    return cost.crossing_s + cost.passing_s;
}

static MwStageDevices devices_of(const MwLayoutStage *stage)
{
    return (MwStageDevices){stage->first_device, mw_mesh_devices(&stage->cost.mesh)};
}

/* Seconds of the transfers between two stages in one phase, one after another. */
static double boundary_s(const MwStageModel *model, const MwLayoutStage *from,
                         const MwLayoutStage *to, MwPhase phase)
{
    const MwStageBoundary *boundary = &model->boundaries[mw_max(from->begin, to->begin)][phase];
    double time_s = 0;
    for (int i = 0; i < boundary->count && from->first_device != to->first_device; i++)
        time_s += mw_stage_transfer_s(model->lowered[0].cluster, &boundary->at[i], devices_of(from),
                                      devices_of(to));
    return time_s;
}

/* The times of the tasks of stage `s` and of its transfers to both neighbours, and its memory. */
static MwStageTimes times_of(const MwStageModel *model, const MwStageLayout *layout, int s)
{
    const MwLayoutStage *stage = &layout->stages[s];
    MwStageTimes times = {0};
    times.task[MW_TASK_FORWARD] = stage->cost.forward_s;
    times.task[MW_TASK_BACKWARD] = stage->cost.backward_s + stage->cost.weight_s;
    times.task[MW_TASK_BACKWARD_INPUT] = stage->cost.backward_s;
    times.task[MW_TASK_WEIGHT] = stage->cost.weight_s;
    times.memory = (MwStageMemory){stage->cost.kept_bytes, stage->cost.saved_bytes,
                                   stage->cost.late_bytes, stage->cost.weight_bytes};
    if (s + 1 < layout->stage_count)
        times.to_next = boundary_s(model, stage, stage + 1, MW_PHASE_FORWARD);
    if (s > 0)
        times.to_previous = boundary_s(model, stage, stage - 1, MW_PHASE_BACKWARD);
    return times;
}

/* Seconds in which the host serves the stages of a mesh, one after another. */
static double host_s(const MwStageLayout *layout, int mesh)
{
    const int meshes = mw_stage_layout_meshes(layout);
    double time_s = 0;
    for (int s = 0; s < layout->stage_count; s++)
        if (mw_pipeline_mesh_of(layout->kind, meshes, s) == mesh)
            time_s += layout->stages[s].cost.host_s;
    return time_s;
}

/* Seconds after the last task: transfers between stages that the update needs, then the update. Of
 * the stages of a mesh that is the longest, as sums of the gradients of the others, which are most
 * of it, run beside tasks; but for what the host does. */
static double update_s(const MwStageModel *model, const MwStageLayout *layout)
{
    const int meshes = mw_stage_layout_meshes(layout);
    double most_s = 0, crossing_s = 0;
    for (int s = 0; s < layout->stage_count; s++) {
        const MwStageCost *cost = &layout->stages[s].cost;
        const double others_s =
            host_s(layout, mw_pipeline_mesh_of(layout->kind, meshes, s)) - cost->host_s;
        most_s = fmax(most_s, cost->step_s + others_s);
        if (s > 0)
            crossing_s = fmax(crossing_s, boundary_s(model, &layout->stages[s],
                                                     &layout->stages[s - 1], MW_PHASE_UPDATE));
    }
    return most_s + crossing_s;
}

/* Bytes that stage `s` holds between tasks, without its peak, which the stages of a mesh share. */
static double held_bytes(const MwStageLayout *layout, const MwPipelineSchedule *schedule, int s)
{
    const MwPipelineInfo *info = mw_pipeline_info(layout->kind);
    const MwStageCost *cost = &layout->stages[s].cost;
    const int meshes = schedule->mesh_count;
    const int mesh = mw_pipeline_mesh_of(layout->kind, meshes, s), chunk = s / meshes;
    double bytes = cost->kept_bytes;
    if (!info->trains)
        return bytes;
    MwTaskKind backward = info->splits ? MW_TASK_BACKWARD_INPUT : MW_TASK_BACKWARD;
    MwTaskKind last = info->splits ? MW_TASK_WEIGHT : MW_TASK_BACKWARD;
    bytes +=
        cost->saved_bytes * mw_pipeline_slots(schedule, mesh, chunk, MW_TASK_FORWARD, backward);
    bytes += cost->late_bytes * mw_pipeline_slots(schedule, mesh, chunk, MW_TASK_FORWARD, last);
    if (info->splits)
        bytes +=
            cost->weight_bytes * mw_pipeline_slots(schedule, mesh, chunk, backward, MW_TASK_WEIGHT);
    return bytes;
}

double mw_stage_layout_memory_share(const MwStageLayout *layout, int stage)
{
    const int meshes = mw_stage_layout_meshes(layout);
    const int mesh = mw_pipeline_mesh_of(layout->kind, meshes, stage);
    double held = 0, peak = 0;
    for (int s = 0; s < layout->stage_count; s++) {
        if (mw_pipeline_mesh_of(layout->kind, meshes, s) != mesh)
            continue;
        const double own_peak = mw_stage_cost_peak_bytes(&layout->stages[s].cost, layout->kind);
        held += layout->stages[s].needed_bytes - own_peak;
        peak = fmax(peak, own_peak);
    }
    const int chunks = mw_pipeline_chunks_of(layout->kind, meshes, layout->chunks, mesh);
    return held + peak > 0 ? layout->stages[stage].needed_bytes / (held + peak) : 1.0 / chunks;
}

/* [stages] the parts of the memory; NULL: all of it. */
static const double *memory_shares(MwArena *arena, const MwStageLayout *layout)
{
    if (mw_stage_layout_meshes(layout) == layout->stage_count)
        return NULL;
    double *shares = MW_NEW(arena, double, layout->stage_count);
    for (int s = 0; s < layout->stage_count; s++)
        shares[s] = mw_stage_layout_memory_share(layout, s);
    return shares;
}

/* The memory of the device that needs most; sets that of each stage too. */
static double needed_bytes(const MwStageLayout *layout, const MwPipelineSchedule *schedule)
{
    double most = 0;
    for (int mesh = 0; mesh < schedule->mesh_count; mesh++) {
        double bytes = 0, peak = 0;
        for (int chunk = 0; chunk < mw_pipeline_mesh_chunks(schedule, mesh); chunk++) {
            const int s = mw_pipeline_stage(schedule, mesh, chunk);
            MwLayoutStage *stage = &layout->stages[s];
            double held = held_bytes(layout, schedule, s);
            const double own_peak = mw_stage_cost_peak_bytes(&stage->cost, layout->kind);
            stage->needed_bytes = held + own_peak;
            bytes += held;
            peak = fmax(peak, own_peak);
        }
        most = fmax(most, bytes + peak);
    }
    return most;
}

double mw_stage_layout_bytes(const MwStageLayout *layout, const MwPipelineSchedule *schedule,
                             int stage)
{
    return held_bytes(layout, schedule, stage) +
           mw_stage_cost_peak_bytes(&layout->stages[stage].cost, layout->kind);
}

void mw_stage_layout_price(const MwStageModel *model, MwStageLayout *layout)
{
    MwArena *scratch = mw_arena_new();
    for (int s = 0; s < layout->stage_count; s++)
        layout->stages[s].times = times_of(model, layout, s);
    const MwPipelineSchedule *schedule = mw_stage_layout_schedule(scratch, layout);
    const MwTimeline *timeline =
        mw_timeline_new_shared(scratch, schedule, stage_times(scratch, layout));
    layout->step_s = timeline->total + update_s(model, layout);
    layout->ideal_s = timeline->ideal + update_s(model, layout);
    layout->needed_bytes = needed_bytes(layout, schedule);
    mw_arena_free(&scratch);
}

double mw_stage_layout_even_s(const MwStageLayout *layout)
{
    double work_s = 0, devices = 0, most_s = 0;
    for (int s = 0; s < layout->stage_count; s++) {
        const MwStageCost *cost = &layout->stages[s].cost;
        const double time_s = mw_stage_cost_time_s(cost);
        work_s += mw_mesh_devices(&cost->mesh) * time_s;
        devices += mw_mesh_devices(&cost->mesh);
        most_s = fmax(most_s, time_s);
    }
    return most_s > 0 ? layout->step_s * work_s / (devices * most_s) : layout->step_s;
}

MwStageCostQuery mw_stage_layout_cost_query(const MwStageLayout *layout, int stage)
{
    const MwLayoutStage *asked = &layout->stages[stage];
    return (MwStageCostQuery){asked->begin, asked->end, mw_mesh_devices(&asked->cost.mesh),
                              layout->stage_count == 1};
}

/* A layout of one stage leaves the logical mesh to the pass sharding. */
MwStaging mw_stage_layout_staging(MwArena *arena, MwStageCosts *costs, const MwStageLayout *layout)
{
    const int mesh_count = mw_stage_layout_meshes(layout);
    int layers = layout->stages[layout->stage_count - 1].end;
    MwSubmesh *meshes = MW_NEW(arena, MwSubmesh, mesh_count);
    int *layer_stage = MW_NEW(arena, int, layers);
    MwRematLevel *remat = MW_NEW(arena, MwRematLevel, layers);
    for (int s = 0; s < layout->stage_count; s++) {
        const MwLayoutStage *stage = &layout->stages[s];
        MwStageCostQuery cost_query = mw_stage_layout_cost_query(layout, s);
        mw_stage_costs_recomputed(costs, &cost_query, &stage->cost, remat + stage->begin);
        meshes[mw_pipeline_mesh_of(layout->kind, mesh_count, s)] =
            (MwSubmesh){.first_device = stage->first_device,
                        .device_count = cost_query.devices,
                        .shape = mesh_count > 1 ? stage->cost.mesh : (MwMeshShape){0}};
        for (int l = stage->begin; l < stage->end; l++)
            layer_stage[l] = s;
    }
    return (MwStaging){.stage_count = layout->stage_count,
                       .mesh_count = mesh_count,
                       .meshes = meshes,
                       .layer_stage = layer_stage,
                       .layer_remat = remat,
                       .layer_count = layers,
                       .micro_batches = layout->micro_batches,
                       .memory_share = memory_shares(arena, layout),
                       .schedule = mw_stage_layout_schedule(arena, layout)};
}

const char *mw_stage_layout_name(MwArena *arena, const MwStageLayout *layout)
{
    const int meshes = mw_stage_layout_meshes(layout);
    const char *count = meshes == 0   ? "several stages"
                        : meshes == 1 ? "1 stage"
                                      : mw_arena_printf(arena, "%d stages", meshes);
    const char *chunks =
        layout->chunks > 1 ? mw_arena_printf(arena, " of %d chunks", layout->chunks) : "";
    const char *schedule =
        meshes == 1
            ? ""
            : mw_arena_printf(arena, ", %s%s", mw_pipeline_info(layout->kind)->name, chunks);
    return mw_arena_printf(arena, "%s%s, %d micro-batch%s", count, schedule, layout->micro_batches,
                           layout->micro_batches > 1 ? "es" : "");
}
