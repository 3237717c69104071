/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schedules with one chunk a mesh. They are one order with two numbers for each mesh: how many
 * forwards run ahead of the backwards, and how many micro-batches the weight gradients trail behind
 * those of the inputs.
 *
 *     ahead forwards; then for each micro-batch: forward (of the one `ahead` later), backward,
 *     weight (of the one `behind` earlier); then the weights that are left
 *
 * With p meshes and m micro-batches, on mesh i:
 *
 *               ahead         behind   in flight
 *     gpipe     m             0        m
 *     1f1b      p - 1 - i     0        p - i
 *     zb-h1     p - 1 - i     i        p
 *     zb-h2     2(p - 1 - i)  2i       2p - 1
 *
 * In flight are at most ahead + 1 + behind. A backward that waits for the mesh after it then finds
 * weight gradients to do meanwhile, and since every mesh keeps back as many as it ran fewer forwards
 * ahead, what is left of them fills the time in which the backwards drain. zb-h1 keeps 1f1b's memory:
 * its p in flight on every mesh are those of 1f1b's first.
 *
 * Sources: GPipe (Huang et al. 2019, section 2.2; there backwards run in reverse order); 1F1B of
 * PipeDream-Flush (Narayanan et al. 2021, "Memory-Efficient Pipeline-Parallel DNN Training"); ZB-H1
 * and ZB-H2 of "Zero Bubble Pipeline Parallelism" (Qi et al. 2023, sections 2.1 and 2.2, figure 3). */
#include "passes/schedule_order.h"

static void state_in_flight(MwMeshSchedule *mesh, int count)
{
    mesh->in_flight = mesh->slots[0] = count;
}

static void add_training(MwPipelineSchedule *schedule, int mesh_index, int64_t ahead,
                         int64_t behind)
{
    MwMeshSchedule *mesh = &schedule->meshes[mesh_index];
    const int m = schedule->micro_batches;
    const bool splits = mw_pipeline_info(schedule->kind)->splits;
    const int forwards = (int)mw_min(ahead, m), trailing = (int)mw_min(behind, m);
    for (int i = 0; i < forwards; i++)
        mw_mesh_schedule_add(mesh, MW_TASK_FORWARD, i, 0);
    for (int i = 0; i < m; i++) {
        if (i + forwards < m)
            mw_mesh_schedule_add(mesh, MW_TASK_FORWARD, i + forwards, 0);
        mw_mesh_schedule_add(mesh, splits ? MW_TASK_BACKWARD_INPUT : MW_TASK_BACKWARD, i, 0);
        if (splits && i >= trailing)
            mw_mesh_schedule_add(mesh, MW_TASK_WEIGHT, i - trailing, 0);
    }
    for (int i = m - trailing; i < m; i++)
        mw_mesh_schedule_add(mesh, MW_TASK_WEIGHT, i, 0);
    state_in_flight(mesh, (int)mw_min(ahead + 1 + behind, m));
}

void mw_pipeline_order_gpipe(MwPipelineSchedule *schedule)
{
    for (int i = 0; i < schedule->mesh_count; i++)
        add_training(schedule, i, schedule->micro_batches, 0);
}

void mw_pipeline_order_1f1b(MwPipelineSchedule *schedule)
{
    for (int i = 0; i < schedule->mesh_count; i++)
        add_training(schedule, i, schedule->mesh_count - 1 - i, 0);
}

/* ZB-H1 with `depth` 1, ZB-H2 with 2. */
static void add_zero_bubble(MwPipelineSchedule *schedule, int64_t depth)
{
    for (int i = 0; i < schedule->mesh_count; i++)
        add_training(schedule, i, depth * (schedule->mesh_count - 1 - i), depth * i);
}

void mw_pipeline_order_zb_h1(MwPipelineSchedule *schedule)
{
    add_zero_bubble(schedule, 1);
}

void mw_pipeline_order_zb_h2(MwPipelineSchedule *schedule)
{
    add_zero_bubble(schedule, 2);
}

void mw_pipeline_order_inference(MwPipelineSchedule *schedule)
{
    for (int i = 0; i < schedule->mesh_count; i++) {
        for (int m = 0; m < schedule->micro_batches; m++)
            mw_mesh_schedule_add(&schedule->meshes[i], MW_TASK_FORWARD, m, 0);
        state_in_flight(&schedule->meshes[i], 1);
    }
}
