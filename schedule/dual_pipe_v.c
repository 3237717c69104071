/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DualPipeV: DualPipe (DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", section 3.2.1) on half of
 * its meshes. In DualPipe micro-batches enter at both ends of the meshes, which hold the model
 * twice; folded in the middle, mesh i has chunk i of the way down and its mirror image on the way
 * up (MW_PLACE_VEE), and the model is there once (https://github.com/deepseek-ai/DualPipe).
 *
 * With p meshes and m micro-batches, mesh i < p - 1 runs the steps below, where F and B stand for
 * the forward and for both halves of the backward in the chunk of that number, I for the gradients
 * of inputs alone, and W for the oldest gradients of weights that are left from an I:
 *
 *     F0                 2 (p - 1 - i) times
 *     F0 F1              i + 1
 *     I1 W F1            p - 1 - i
 *     F0 B1 F1 B0        m - 2p + i + 1
 *     B1 F1 B0           p - 1 - i
 *     B1 B0              i + 1, the second half of these 2 (i + 1) as I1, I0
 *     W I0               p - 1 - i
 *     W                  i + 1
 *
 * Mesh p - 1, which does both chunks at once, runs a forward p times, a backward and a forward
 * m - p times, then p backwards, of the second half of which the gradients of weights come last.
 *
 * The source runs a forward and a backward that stand together as one, the transfers of the one
 * behind the kernels of the other. Here they are tasks one after the other, and transfers run
 * beside any kernels. The bubble of the source is (p - 1) (F + 2 B - 3 W), the times being those of
 * a chunk and B with W in it. Here it is no longer, since a mesh need not wait for the W of a B.
 * At most 2p + 1 chunks are in flight.
 *
 * With fewer than 2p micro-batches the order is that of 2p, without those that are not there. With
 * one chunk on each mesh there is no way up, and the order is that of zb-h1. */
#include "schedule/order.h"

/* The tasks of one mesh while they are listed. */
typedef struct {
    const MwPipelineSchedule *schedule;
    MwMeshSchedule *mesh;
    int begun[MW_TASK_KIND_COUNT][2]; /* micro-batches, by kind and chunk */
    int *waiting;                     /* chunks of the gradients of weights that are left */
    int waiting_first, waiting_count;
} Listing;

static void add(Listing *list, MwTaskKind kind, int chunk)
{
    const int micro_batch = list->begun[kind][chunk]++;
    if (micro_batch < list->schedule->micro_batches)
        mw_mesh_schedule_add(list->mesh, kind, micro_batch, chunk);
}

static void forward(Listing *list, int chunk)
{
    add(list, MW_TASK_FORWARD, chunk);
}

static void backward(Listing *list, int chunk)
{
    add(list, MW_TASK_BACKWARD_INPUT, chunk);
    add(list, MW_TASK_WEIGHT, chunk);
}

static void backward_input(Listing *list, int chunk)
{
    add(list, MW_TASK_BACKWARD_INPUT, chunk);
    list->waiting[list->waiting_count++] = chunk;
}

static void weight(Listing *list)
{
    MW_ASSERT(list->waiting_first < list->waiting_count);
    add(list, MW_TASK_WEIGHT, list->waiting[list->waiting_first++]);
}

/* Backwards of the chunks by turns, the last chunk of the mesh first: the first half whole, of the
 * others the gradients of inputs. */
static void last_backwards(Listing *list, int count, int chunks)
{
    for (int k = 0; k < count; k++) {
        const int chunk = chunks - 1 - k % chunks;
        if (2 * k < count)
            backward(list, chunk);
        else
            backward_input(list, chunk);
    }
}

static void list_mesh(Listing *list, int i, int after, int rounds)
{
    for (int k = 0; k < 2 * after; k++)
        forward(list, 0);
    for (int k = 0; k < i + 1; k++) {
        forward(list, 0);
        forward(list, 1);
    }
    for (int k = 0; k < after; k++) {
        backward_input(list, 1);
        weight(list);
        forward(list, 1);
    }
    for (int k = 0; k < rounds + after; k++) {
        if (k < rounds)
            forward(list, 0);
        backward(list, 1);
        forward(list, 1);
        backward(list, 0);
    }
    last_backwards(list, 2 * (i + 1), 2);
    for (int k = 0; k < after; k++) {
        weight(list);
        backward_input(list, 0);
    }
    for (int k = 0; k < i + 1; k++)
        weight(list);
}

/* The mesh where stages turn. */
static void list_turn(Listing *list, int meshes, int micro_batches)
{
    for (int k = 0; k < meshes; k++)
        forward(list, 0);
    for (int k = meshes; k < micro_batches; k++) {
        backward(list, 0);
        forward(list, 0);
    }
    last_backwards(list, meshes, 1);
    while (list->waiting_first < list->waiting_count)
        weight(list);
}

void mw_pipeline_order_dual_pipe_v(MwPipelineSchedule *schedule, const MwStageTimes *times)
{
    const int meshes = schedule->mesh_count;
    const int micro_batches = (int)mw_max(schedule->micro_batches, 2 * meshes);
    if (schedule->chunks == 1) {
        mw_pipeline_order_zb_h1(schedule, times);
        return;
    }
    MwArena *scratch = mw_arena_new();
    for (int i = 0; i < meshes; i++) {
        Listing list = {.schedule = schedule,
                        .mesh = &schedule->meshes[i],
                        .waiting = MW_NEW(scratch, int, 2 * micro_batches)};
        if (i == meshes - 1)
            list_turn(&list, meshes, micro_batches);
        else
            list_mesh(&list, i, meshes - 1 - i, micro_batches - 2 * meshes + i + 1);
        mw_mesh_schedule_count(schedule, i);
    }
    mw_arena_free(&scratch);
}

int64_t mw_pipeline_in_flight_dual_pipe_v(int meshes, int mesh, int micro_batches)
{
    return mw_pipeline_in_flight_zb_h1(meshes, mesh, micro_batches);
}
