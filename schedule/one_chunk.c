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
 *     inference 0             0        1
 *
 * In flight are at most ahead + 1 + behind. A backward that waits for the mesh after it then finds
 * weight gradients to do meanwhile, and since every mesh keeps back as many as it ran fewer forwards
 * ahead, what is left of them fills the time in which the backwards drain. zb-h1 keeps 1f1b's memory:
 * its p in flight on every mesh are those of 1f1b's first.
 *
 * Sources: GPipe (Huang et al. 2019, section 2.2; there backwards run in reverse order); 1F1B of
 * PipeDream-Flush (Narayanan et al. 2021, "Memory-Efficient Pipeline-Parallel DNN Training"); ZB-H1
 * and ZB-H2 of "Zero Bubble Pipeline Parallelism" (Qi et al. 2023, sections 2.1 and 2.2, figure 3). */
#include "schedule/order.h"

typedef struct {
    int64_t ahead, behind;
} Lead;

static Lead lead_of(MwPipelineKind kind, int meshes, int mesh, int micro_batches)
{
    const int64_t after = meshes - 1 - mesh;
    switch (kind) {
    case MW_PIPELINE_GPIPE:
        return (Lead){micro_batches, 0};
    case MW_PIPELINE_1F1B:
    case MW_PIPELINE_INTERLEAVED:
        return (Lead){after, 0};
    case MW_PIPELINE_ZB_H1:
        return (Lead){after, mesh};
    case MW_PIPELINE_ZB_H2:
        return (Lead){2 * after, 2 * (int64_t)mesh};
    case MW_PIPELINE_INFERENCE:
        return (Lead){0, 0};
    case MW_PIPELINE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

int mw_pipeline_in_flight(MwPipelineKind kind, int meshes, int mesh, int micro_batches)
{
    Lead lead = lead_of(kind, meshes, mesh, micro_batches);
    return (int)mw_min(lead.ahead + 1 + lead.behind, micro_batches);
}

static void add_training(const MwPipelineSchedule *schedule, MwMeshSchedule *mesh, Lead lead)
{
    const int m = schedule->micro_batches;
    const bool splits = mw_pipeline_info(schedule->kind)->splits;
    const int forwards = (int)mw_min(lead.ahead, m), trailing = (int)mw_min(lead.behind, m);
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
}

void mw_pipeline_order_one_chunk(MwPipelineSchedule *schedule)
{
    const int meshes = schedule->mesh_count, m = schedule->micro_batches;
    const bool trains = mw_pipeline_info(schedule->kind)->trains;
    for (int i = 0; i < meshes; i++) {
        MwMeshSchedule *mesh = &schedule->meshes[i];
        if (trains)
            add_training(schedule, mesh, lead_of(schedule->kind, meshes, i, m));
        for (int k = 0; k < m && !trains; k++)
            mw_mesh_schedule_add(mesh, MW_TASK_FORWARD, k, 0);
        mesh->in_flight = mesh->slots[0] = mw_pipeline_in_flight(schedule->kind, meshes, i, m);
    }
}
