/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schedules with one chunk on each mesh. All have one form with two numbers for each mesh:
 * how many forwards run ahead of the backwards, and how many micro-batches the weight gradients
 * are behind those of the inputs.
 *
 *     `ahead` forwards; then for each micro-batch: a forward (of the one `ahead` later), its
 *     backward, a weight task (of the one `behind` earlier); then the remaining weight tasks
 *
 * With p meshes and m micro-batches, on mesh i:
 *
 *                  ahead         behind   in flight
 *     gpipe        m             0        m
 *     1f1b         p - 1 - i     0        p - i
 *     eager-1f1b   2(p - 1 - i)  0        2(p - i) - 1
 *     zb-h1        p - 1 - i     i        p
 *     zb-h2        2(p - 1 - i)  2i       2p - 1
 *     inference    0             0        1
 *
 * At most ahead + 1 + behind micro-batches are in flight. A mesh whose backward waits for the
 * next mesh then has weight gradients to compute. Every mesh holds back as many weight tasks as
 * it runs fewer forwards ahead, so the remaining ones fill the time in which the backwards
 * drain. zb-h1 has the memory of 1f1b: on every mesh it has p in flight, as 1f1b has on its
 * first.
 *
 * Sources: GPipe (Huang et al. 2019, section 2.2; there backwards run in reverse order); 1F1B of
 * PipeDream-Flush (Narayanan et al. 2021, "Memory-Efficient Pipeline-Parallel DNN Training");
 * eager-1F1B of "On Optimizing the Communication of Model Parallelism" (Zhuang et al. 2023,
 * arXiv 2211.05322): a micro-batch goes to the next mesh and comes back while its mesh runs other
 * tasks, which a mesh of 1F1B does not have;
 * ZB-H1 and ZB-H2 of "Zero Bubble Pipeline Parallelism" (Qi et al. 2023, sections 2.1 and 2.2,
 * figure 3). */
#include "schedule/order.h"

typedef struct {
    int64_t ahead, behind;
} Lead;

/* The two numbers for a mesh with `mesh` meshes before it and `after` meshes after it. */
typedef Lead LeadOf(int64_t mesh, int64_t after, int64_t micro_batches);

static Lead lead_gpipe(int64_t mesh, int64_t after, int64_t micro_batches)
{
    (void)mesh, (void)after;
    return (Lead){micro_batches, 0};
}

static Lead lead_1f1b(int64_t mesh, int64_t after, int64_t micro_batches)
{
    (void)mesh, (void)micro_batches;
    return (Lead){after, 0};
}

static Lead lead_eager_1f1b(int64_t mesh, int64_t after, int64_t micro_batches)
{
    (void)mesh, (void)micro_batches;
    return (Lead){2 * after, 0};
}

static Lead lead_zb_h1(int64_t mesh, int64_t after, int64_t micro_batches)
{
    (void)micro_batches;
    return (Lead){after, mesh};
}

static Lead lead_zb_h2(int64_t mesh, int64_t after, int64_t micro_batches)
{
    (void)micro_batches;
    return (Lead){2 * after, 2 * mesh};
}

static Lead lead_inference(int64_t mesh, int64_t after, int64_t micro_batches)
{
    (void)mesh, (void)after, (void)micro_batches;
    return (Lead){0, 0};
}

/* Adds the tasks of a mesh in the order at the head of the file. */
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

static void add_inference(const MwPipelineSchedule *schedule, MwMeshSchedule *mesh)
{
    for (int k = 0; k < schedule->micro_batches; k++)
        mw_mesh_schedule_add(mesh, MW_TASK_FORWARD, k, 0);
}

static void add_all(MwPipelineSchedule *schedule, LeadOf *lead_of)
{
    const int meshes = schedule->mesh_count, m = schedule->micro_batches;
    for (int i = 0; i < meshes; i++) {
        MwMeshSchedule *mesh = &schedule->meshes[i];
        const Lead lead = lead_of(i, meshes - 1 - i, m);
        if (mw_pipeline_info(schedule->kind)->trains)
            add_training(schedule, mesh, lead);
        else
            add_inference(schedule, mesh);
        mesh->in_flight = mesh->slots[0] = (int)mw_min(lead.ahead + 1 + lead.behind, m);
    }
}

/* Defines both functions of a generator (order.h). */
#define ONE_CHUNK(name)                                                                            \
    void mw_pipeline_order_##name(MwPipelineSchedule *schedule, const MwStageTimes *times)         \
    {                                                                                              \
        (void)times;                                                                               \
        add_all(schedule, lead_##name);                                                            \
    }                                                                                              \
    int64_t mw_pipeline_in_flight_##name(int meshes, int mesh, int micro_batches)                  \
    {                                                                                              \
        const Lead lead = lead_##name(mesh, meshes - 1 - mesh, micro_batches);                     \
        return lead.ahead + 1 + lead.behind;                                                       \
    }

ONE_CHUNK(gpipe)
ONE_CHUNK(1f1b)
ONE_CHUNK(eager_1f1b)
ONE_CHUNK(zb_h1)
ONE_CHUNK(zb_h2)
ONE_CHUNK(inference)
