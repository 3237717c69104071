/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interleaved schedule: 1f1b over several chunks of the model on each mesh. The first
 * micro-batch reaches the last mesh after one chunk of each mesh, so the bubble shrinks by the
 * number of chunks (Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU
 * Clusters", section 2.2). With one chunk it is 1f1b.
 *
 * Micro-batches go in rounds. Within a round the forwards run chunk by chunk, each for all
 * micro-batches of the round, and the backwards in the same way from the last chunk to the
 * first. Mesh i runs 2(p - 1 - i) + (v - 1) r forwards ahead of its backwards, where r is the
 * size of the longest round. (With p - 1 - i instead of 2(p - 1 - i) the bubble would be the
 * same if transfers took no time; they do take time.)
 *
 * In the source the rounds have p micro-batches, and p must divide m. Here m is any number: the
 * m micro-batches make floor(m / p) rounds (one if m < p) whose sizes differ by at most one, the
 * longer ones first. As no round is shorter than p, no mesh waits in the middle: the bubble is
 * (p - 1) / (v m) of the ideal time for every m from p on. (A short last round would save
 * memory, but where p is large the forwards ahead no longer provide what the backwards need, and
 * the meshes wait for one another.) */
#include "schedule/order.h"

/* The first `longer` rounds have size + 1 micro-batches, the others `size`. */
typedef struct {
    int size, longer;
} Rounds;

static Rounds rounds_of(const MwPipelineSchedule *schedule)
{
    int rounds = (int)mw_max(1, schedule->micro_batches / schedule->mesh_count);
    return (Rounds){schedule->micro_batches / rounds, schedule->micro_batches % rounds};
}

/* Task number `k` in the sequence of forwards or of backwards, which is the same on all meshes. */
static MwTask task_at(const MwPipelineSchedule *schedule, MwTaskKind kind, int k)
{
    const int chunks = schedule->chunks;
    const Rounds rounds = rounds_of(schedule);
    const int in_longer = rounds.longer * (rounds.size + 1) * chunks;
    int size = rounds.size + 1, micro_batch = 0;
    if (k >= in_longer) {
        size = rounds.size;
        micro_batch = rounds.longer * (rounds.size + 1);
        k -= in_longer;
    }
    int chunk = k / size % chunks;
    micro_batch += k / size / chunks * size + k % size;
    return (MwTask){kind, micro_batch, kind == MW_TASK_FORWARD ? chunk : chunks - 1 - chunk};
}

static void add(MwPipelineSchedule *schedule, MwMeshSchedule *mesh, MwTaskKind kind, int k)
{
    MwTask task = task_at(schedule, kind, k);
    mw_mesh_schedule_add(mesh, task.kind, task.micro_batch, task.chunk);
}

/* Number of forwards that mesh `i` runs before its first pair of a forward and a backward. */
static int64_t forwards_ahead(const MwPipelineSchedule *schedule, int i)
{
    const Rounds rounds = rounds_of(schedule);
    const int64_t after = schedule->mesh_count - 1 - i, longest = rounds.size + (rounds.longer > 0);
    return schedule->chunks == 1 ? after : 2 * after + (schedule->chunks - 1) * longest;
}

void mw_pipeline_order_interleaved(MwPipelineSchedule *schedule, const MwStageTimes *times)
{
    (void)times;
    const int pairs = schedule->micro_batches * schedule->chunks;
    for (int i = 0; i < schedule->mesh_count; i++) {
        MwMeshSchedule *mesh = &schedule->meshes[i];
        const int64_t ahead = forwards_ahead(schedule, i);
        for (int k = 0; k < mw_min(ahead, pairs); k++)
            add(schedule, mesh, MW_TASK_FORWARD, k);
        for (int k = 0; k < pairs; k++) {
            if (k + ahead < pairs)
                add(schedule, mesh, MW_TASK_FORWARD, (int)(k + ahead));
            add(schedule, mesh, MW_TASK_BACKWARD, k);
        }
        mesh->in_flight = (int)mw_min(ahead + 1, pairs);
        for (int c = 0; c < schedule->chunks; c++)
            mesh->slots[c] = mw_pipeline_slots(schedule, i, c, MW_TASK_FORWARD, MW_TASK_BACKWARD);
    }
}

/* Returns the number of micro-batches in flight on a mesh with one chunk; the schedule is then
 * 1f1b. */
int64_t mw_pipeline_in_flight_interleaved(int meshes, int mesh, int micro_batches)
{
    (void)micro_batches;
    return meshes - mesh;
}
