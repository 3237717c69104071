/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipeline schedules: every one passes the checker, broken ones do not; bubbles and memory are
 * those that were published. */
#include "base/draws.h"
#include "schedule/check.h"
#include "schedule/generate.h"
#include "schedule/trial.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

enum { MAX_MESHES = 8, MAX_MICRO_BATCHES = 25, MAX_CHUNKS = 4, MAX_STAGES = 64 };

/* Fails with the errors in `diags`, if there are any. */
static void assert_none(MwArena *arena, const MwDiags *diags, const MwPipelineSchedule *schedule)
{
    ck_assert_msg(mw_diags_error_count(diags) == 0, "%d meshes, %d micro-batches, %d chunks: %s",
                  schedule->mesh_count, schedule->micro_batches, schedule->chunks,
                  diags_text(arena, diags));
}

/* The same times for every mesh, of which each chunk takes its part. */
static const MwStageTimes *times_of(double forward, double backward_input, double weight,
                                    double transfer, int chunks)
{
    static MwStageTimes times[MAX_STAGES];
    for (int s = 0; s < MAX_STAGES; s++)
        times[s] = (MwStageTimes){{[MW_TASK_FORWARD] = forward / chunks,
                                   [MW_TASK_BACKWARD] = (backward_input + weight) / chunks,
                                   [MW_TASK_BACKWARD_INPUT] = backward_input / chunks,
                                   [MW_TASK_WEIGHT] = weight / chunks},
                                  transfer,
                                  transfer};
    return times;
}

/* The same, where the stage in which the pipeline turns does the work of two chunks. */
static const MwStageTimes *times_for(const MwPipelineSchedule *schedule, double forward,
                                     double backward_input, double weight, double transfer)
{
    static MwStageTimes times[MAX_STAGES];
    const MwStageTimes *of_chunk =
        times_of(forward, backward_input, weight, transfer, schedule->chunks);
    for (int s = 0; s < mw_pipeline_stage_count(schedule); s++) {
        times[s] = *of_chunk;
        for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
            times[s].task[kind] *=
                mw_pipeline_parts_of(schedule->kind, schedule->mesh_count, schedule->chunks, s);
    }
    return times;
}

/* Calls `test` for every schedule of a range of sizes. */
static void for_all(void (*test)(MwArena *arena, const MwPipelineSchedule *schedule))
{
    for (int kind = 0; kind < MW_PIPELINE_COUNT; kind++) {
        const int max_chunks =
            (int)mw_min(MAX_CHUNKS, mw_pipeline_most_chunks((MwPipelineKind)kind));
        for (int p = 1; p <= MAX_MESHES; p++) {
            for (int m = 1; m <= MAX_MICRO_BATCHES; m++) {
                for (int v = 1; v <= max_chunks; v++) {
                    MwArena *arena = mw_arena_new();
                    test(arena, mw_pipeline_schedule_new(arena, (MwPipelineKind)kind, p, m, v));
                    mw_arena_free(&arena);
                }
            }
        }
    }
}

static void check_one(MwArena *arena, const MwPipelineSchedule *schedule)
{
    MwDiags *diags = mw_diags_new(arena);
    const MwStageTimes *times = times_for(schedule, 1.25, 1.5, 0.75, 0.3);
    mw_pipeline_schedule_check(arena, schedule, diags);
    assert_none(arena, diags, schedule);
    mw_timeline_check(arena, schedule, times, mw_timeline_new(arena, schedule, times), diags);
    assert_none(arena, diags, schedule);
}

START_TEST(schedules_pass_the_checker)
{
    for_all(check_one);
}
END_TEST

START_TEST(large_schedules_pass_the_checker)
{
    static const struct {
        MwPipelineKind kind;
        int meshes, micro_batches, chunks;
    } cases[] = {
        {MW_PIPELINE_1F1B, 64, 1024, 1},      {MW_PIPELINE_ZB_H2, 64, 1024, 1},
        {MW_PIPELINE_INTERLEAVED, 5, 9, 2},   {MW_PIPELINE_INTERLEAVED, 32, 63, 3},
        {MW_PIPELINE_INTERLEAVED, 31, 97, 5}, {MW_PIPELINE_INTERLEAVED, 64, 512, 8},
        {MW_PIPELINE_ZB_V, 64, 1024, 2},      {MW_PIPELINE_V_HALF, 33, 200, 2},
        {MW_PIPELINE_V_MIN, 64, 512, 2},      {MW_PIPELINE_DUAL_PIPE_V, 64, 512, 2},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwArena *arena = mw_arena_new();
        MwDiags *diags = mw_diags_new(arena);
        const MwPipelineSchedule *schedule = mw_pipeline_schedule_new(
            arena, cases[i].kind, cases[i].meshes, cases[i].micro_batches, cases[i].chunks);
        mw_pipeline_schedule_check(arena, schedule, diags);
        assert_none(arena, diags, schedule);
        mw_arena_free(&arena);
    }
}
END_TEST

/* Every stage is one chunk of one mesh, and every mesh has equal work. */
static void check_placement(MwArena *arena, const MwPipelineSchedule *schedule)
{
    const MwPipelineKind kind = schedule->kind;
    const int p = schedule->mesh_count, v = schedule->chunks;
    const int stages = mw_pipeline_stage_count(schedule);
    bool *found = MW_NEW(arena, bool, stages);
    ck_assert_int_eq(mw_pipeline_meshes(kind, stages, v), p);
    for (int i = 0; i < p; i++) {
        int parts = 0;
        for (int c = 0; c < mw_pipeline_mesh_chunks(schedule, i); c++) {
            const int s = mw_pipeline_stage(schedule, i, c);
            ck_assert(s >= 0 && s < stages && !found[s]);
            found[s] = true;
            parts += mw_pipeline_parts_of(kind, p, v, s);
            ck_assert_int_eq(mw_pipeline_mesh_of(kind, p, s), i);
            ck_assert_int_eq(s / p, c);
        }
        ck_assert_int_eq(parts, v);
    }
    for (int s = 0; s < stages; s++)
        ck_assert(found[s]);
}

START_TEST(stages_are_dealt_to_meshes)
{
    for_all(check_placement);
}
END_TEST

/* The stated numbers are not only kept but met, and slots are what the buffers need. */
static void check_stated(MwArena *arena, const MwPipelineSchedule *schedule)
{
    const int p = schedule->mesh_count, m = schedule->micro_batches;
    const MwPipelineInfo *info = mw_pipeline_info(schedule->kind);
    const MwTaskKind last = !info->trains  ? MW_TASK_FORWARD
                            : info->splits ? MW_TASK_WEIGHT
                                           : MW_TASK_BACKWARD;
    for (int i = 0; i < p; i++) {
        MwMeshSchedule *mesh = &schedule->meshes[i];
        int sum = 0;
        for (int c = 0; c < mw_pipeline_mesh_chunks(schedule, i); c++) {
            ck_assert_int_eq(mesh->slots[c],
                             mw_pipeline_slots(schedule, i, c, MW_TASK_FORWARD, last));
            ck_assert_int_le(mesh->slots[c], m);
            sum += mesh->slots[c];
        }
        ck_assert_int_le(mesh->in_flight, sum);
        mesh->in_flight--;
        ck_assert(!mw_pipeline_schedule_check(arena, schedule, mw_diags_new(arena)));
        mesh->in_flight++;
    }
}

START_TEST(stated_memory_is_met)
{
    for_all(check_stated);
}
END_TEST

START_TEST(in_flight_is_as_published)
{
    MwArena *arena = mw_arena_new();
    for (int p = 1; p <= MAX_MESHES; p++) {
        const int m = 3 * p;
        const MwPipelineSchedule *of[MW_PIPELINE_COUNT];
        for (int kind = 0; kind < MW_PIPELINE_COUNT; kind++)
            of[kind] = mw_pipeline_schedule_new(arena, (MwPipelineKind)kind, p, m, 1);
        for (int i = 0; i < p; i++) {
            ck_assert_int_eq(of[MW_PIPELINE_GPIPE]->meshes[i].in_flight, m);
            ck_assert_int_eq(of[MW_PIPELINE_1F1B]->meshes[i].in_flight, p - i);
            ck_assert_int_eq(of[MW_PIPELINE_EAGER_1F1B]->meshes[i].in_flight, 2 * (p - i) - 1);
            ck_assert_int_eq(of[MW_PIPELINE_INTERLEAVED]->meshes[i].in_flight, p - i);
            ck_assert_int_eq(of[MW_PIPELINE_ZB_H1]->meshes[i].in_flight, p);
            ck_assert_int_eq(of[MW_PIPELINE_ZB_H2]->meshes[i].in_flight, 2 * p - 1);
            ck_assert_int_le(of[MW_PIPELINE_ZB_1P]->meshes[i].in_flight, p);
            ck_assert_int_le(of[MW_PIPELINE_ZB_2P]->meshes[i].in_flight, 2 * p);
            ck_assert_int_eq(of[MW_PIPELINE_ZB_V]->meshes[i].in_flight, p);
            ck_assert_int_eq(of[MW_PIPELINE_V_HALF]->meshes[i].in_flight, p);
            ck_assert_int_eq(of[MW_PIPELINE_V_MIN]->meshes[i].in_flight, p);
            ck_assert_int_eq(of[MW_PIPELINE_DUAL_PIPE_V]->meshes[i].in_flight, p);
            ck_assert_int_eq(of[MW_PIPELINE_INFERENCE]->meshes[i].in_flight, 1);
        }
        for (int v = 2; v <= MAX_CHUNKS; v++) {
            const MwPipelineSchedule *interleaved =
                mw_pipeline_schedule_new(arena, MW_PIPELINE_INTERLEAVED, p, m, v);
            for (int i = 0; i < p; i++)
                ck_assert_int_eq(interleaved->meshes[i].in_flight,
                                 2 * (p - 1 - i) + (v - 1) * p + 1);
        }
        for (int i = 0; i < p; i++) { /* what the gradients of inputs need, and no more */
            ck_assert_int_eq(mw_pipeline_slots(of[MW_PIPELINE_ZB_H1], i, 0, MW_TASK_FORWARD,
                                               MW_TASK_BACKWARD_INPUT),
                             p - i);
            ck_assert_int_eq(mw_pipeline_slots(of[MW_PIPELINE_ZB_H1], i, 0, MW_TASK_BACKWARD_INPUT,
                                               MW_TASK_WEIGHT),
                             i + 1);
            ck_assert_int_eq(mw_pipeline_slots(of[MW_PIPELINE_ZB_H2], i, 0, MW_TASK_FORWARD,
                                               MW_TASK_BACKWARD_INPUT),
                             2 * (p - i) - 1);
        }
    }
    mw_arena_free(&arena);
}
END_TEST

/* Memory over time: fills held[task_count] with the activations that a mesh holds while each task
 * runs. The unit is what one micro-batch keeps of one chunk for its backward, of which
 * `weight_share` (0 to 1) is still needed for the gradients of weights once those of the inputs are
 * done. Gives the greatest. */
static double activations(const MwPipelineSchedule *schedule, int mesh, double weight_share,
                          double *held)
{
    const MwMeshSchedule *order = &schedule->meshes[mesh];
    const bool trains = mw_pipeline_info(schedule->kind)->trains;
    const double freed[MW_TASK_KIND_COUNT] = {
        [MW_TASK_FORWARD] = trains ? 0 : 1,
        [MW_TASK_BACKWARD] = 1,
        [MW_TASK_BACKWARD_INPUT] = 1 - weight_share,
        [MW_TASK_WEIGHT] = weight_share,
    };
    int ran[MW_TASK_KIND_COUNT] = {0};
    double most = 0;
    for (int i = 0; i < order->task_count; i++) {
        MwTaskKind kind = order->tasks[i].kind;
        held[i] = ran[MW_TASK_FORWARD] + (kind == MW_TASK_FORWARD);
        for (int k = 0; k < MW_TASK_KIND_COUNT;
             k++) /* counted, not summed up: no rounding adds up */
            held[i] -= ran[k] * freed[k];
        most = held[i] > most ? held[i] : most;
        ran[kind]++;
    }
    return most;
}

/* On no mesh does ZB-H1 hold more activations than 1F1B on its first, whatever part of them the
 * gradients of weights need; where they need none, it holds on each mesh what 1F1B holds there. */
START_TEST(zb_h1_keeps_the_memory_of_1f1b)
{
    for (int p = 1; p <= MAX_MESHES; p++) {
        for (int m = 1; m <= MAX_MICRO_BATCHES; m++) {
            MwArena *arena = mw_arena_new();
            const MwPipelineSchedule *plain =
                mw_pipeline_schedule_new(arena, MW_PIPELINE_1F1B, p, m, 1);
            const MwPipelineSchedule *zero =
                mw_pipeline_schedule_new(arena, MW_PIPELINE_ZB_H1, p, m, 1);
            double *held = MW_NEW(arena, double, 3 * m);
            double first = activations(plain, 0, 0, held);
            ck_assert_double_eq(first, mw_min(p, m));
            for (int i = 0; i < p; i++) {
                double here = activations(plain, i, 0, held);
                ck_assert_double_eq(activations(zero, i, 0, held), here);
                for (double share = 0; share <= 1; share += 0.125)
                    ck_assert_double_le(activations(zero, i, share, held), first);
            }
            mw_arena_free(&arena);
        }
    }
}
END_TEST

START_TEST(activations_over_time)
{
    MwArena *arena = mw_arena_new();
    double held[9];
    /* the second of two meshes: F0 B0 F1 B1 W0 F2 B2 W1 W2 */
    const MwPipelineSchedule *schedule =
        mw_pipeline_schedule_new(arena, MW_PIPELINE_ZB_H1, 2, 3, 1);
    static const double expected[] = {1, 1, 1.5, 1.5, 1, 1.5, 1.5, 1, 0.5};
    ck_assert_double_eq(activations(schedule, 1, 0.5, held), 1.5);
    for (int i = 0; i < MW_COUNT(expected); i++)
        ck_assert_double_eq(held[i], expected[i]);
    schedule = mw_pipeline_schedule_new(arena, MW_PIPELINE_INFERENCE, 2, 3, 1);
    ck_assert_double_eq(activations(schedule, 1, 0.5, held), 1);
    mw_arena_free(&arena);
}
END_TEST

static MwTimeline *timeline_of(MwArena *arena, MwPipelineKind kind, int p, int m, int v,
                               const MwStageTimes *times)
{
    return mw_timeline_new(arena, mw_pipeline_schedule_new(arena, kind, p, m, v), times);
}

/* Times are whole numbers of sixtieths, so sums of them need no tolerance but that of fractions. */
START_TEST(bubbles_are_those_of_the_formulas)
{
    for (int p = 1; p <= MAX_MESHES; p++) {
        for (int m = 1; m <= MAX_MICRO_BATCHES; m++) {
            MwArena *arena = mw_arena_new();
            const MwStageTimes *whole = times_of(60, 60, 60, 0, 1);
            const double rate = (double)(p - 1) / (m + p - 1);
            MwTimeline *gpipe = timeline_of(arena, MW_PIPELINE_GPIPE, p, m, 1, whole);
            MwTimeline *plain = timeline_of(arena, MW_PIPELINE_1F1B, p, m, 1, whole);
            ck_assert_double_eq_tol(gpipe->bubble_rate, rate, 1e-15);
            MwTimeline *eager = timeline_of(arena, MW_PIPELINE_EAGER_1F1B, p, m, 1, whole);
            ck_assert_double_eq_tol(plain->bubble_rate, rate, 1e-15);
            ck_assert_double_eq_tol(eager->bubble_rate, rate, 1e-15);
            ck_assert_double_eq(plain->total, 180.0 * (m + p - 1));
            for (int v = 1; v <= MAX_CHUNKS; v++) {
                const MwTimeline *t = timeline_of(arena, MW_PIPELINE_INTERLEAVED, p, m, v,
                                                  times_of(60, 60, 60, 0, v));
                /* fewer micro-batches than meshes: the first comes back late to each chunk */
                double late = p > m ? (v - 1) * (p - m) : 0;
                ck_assert_double_eq(t->ideal, 180 * m);
                ck_assert_double_eq_tol((t->cost - t->ideal) / t->ideal,
                                        (p - 1 + late) / ((double)v * m), 1e-15);
            }
            mw_arena_free(&arena);
        }
    }
}
END_TEST

/* Transfers of up to half of a micro-batch's work cost eager-1F1B what the first micro-batch takes
 * down the meshes and up again; in 1F1B every p-th one waits for them (Zhuang et al. 2023). */
START_TEST(transfers_hide_behind_eager_forwards)
{
    for (int p = 2; p <= MAX_MESHES; p++) {
        const int m = 4 * p;
        for (double transfer = 10; transfer <= 90; transfer += 20) {
            MwArena *arena = mw_arena_new();
            const MwStageTimes *times = times_of(60, 60, 60, transfer, 1);
            const MwTimeline *eager = timeline_of(arena, MW_PIPELINE_EAGER_1F1B, p, m, 1, times);
            const MwTimeline *plain = timeline_of(arena, MW_PIPELINE_1F1B, p, m, 1, times);
            const double first = (p - 1) * (180 + 2 * transfer);
            ck_assert_msg(eager->total <= 180 * m + first, "%d: %g", p, eager->total);
            ck_assert_double_ge(plain->total, eager->total + 2 * transfer);
            mw_arena_free(&arena);
        }
    }
}
END_TEST

/* With F = B = W, ZB-H1 leaves a third of 1F1B's bubble and ZB-H2 none (Qi et al. 2023, table 1:
 * (p - 1)(F + B - W) and (p - 1)(F + B - 2 W)). */
START_TEST(zero_bubble_schedules_leave_what_was_published)
{
    for (int p = 1; p <= MAX_MESHES; p++) {
        for (int m = 2 * p - 1; m <= 3 * p + 2; m++) {
            MwArena *arena = mw_arena_new();
            const MwStageTimes *times = times_of(5, 5, 5, 0, 1);
            MwTimeline *h1 = timeline_of(arena, MW_PIPELINE_ZB_H1, p, m, 1, times);
            MwTimeline *h2 = timeline_of(arena, MW_PIPELINE_ZB_H2, p, m, 1, times);
            ck_assert_double_eq(h1->cost - h1->ideal, 5 * (p - 1));
            ck_assert_double_eq(h2->cost - h2->ideal, 0);
            times = times_of(7, 6, 4, 0, 1);
            h1 = timeline_of(arena, MW_PIPELINE_ZB_H1, p, m, 1, times);
            h2 = timeline_of(arena, MW_PIPELINE_ZB_H2, p, m, 1, times);
            ck_assert_double_eq(h1->cost - h1->ideal, 9 * (p - 1));
            ck_assert_double_eq(h2->cost - h2->ideal, 5 * (p - 1));
            mw_arena_free(&arena);
        }
    }
}
END_TEST

/* In-flight micro-batches of a mesh, in chunks. */
static int chunks_in_flight(const MwPipelineSchedule *schedule, int mesh)
{
    return schedule->meshes[mesh].in_flight *
           mw_pipeline_parts_of(schedule->kind, schedule->mesh_count, schedule->chunks,
                                mw_pipeline_stage(schedule, mesh, 0));
}

/* The bubble of a schedule of two chunks with F = B = W: the longest span of a mesh beyond its
 * work, in tasks of a chunk. */
static double bubble_in_tasks(MwArena *arena, const MwPipelineSchedule *schedule)
{
    const MwTimeline *timeline = mw_timeline_new(arena, schedule, times_for(schedule, 2, 2, 2, 0));
    return timeline->cost - timeline->ideal;
}

/* With F = B = W there is no bubble, in the memory that 1F1B has on its first mesh: p micro-batches
 * of 2 chunks (Qi et al. 2023, section 6 and the table of their repository). */
START_TEST(zb_v_has_no_bubble_in_the_memory_of_1f1b)
{
    for (int p = 1; p <= 2 * MAX_MESHES; p++) {
        for (int m = 2 * p - 1; m <= 3 * p + 2; m++) {
            MwArena *arena = mw_arena_new();
            const MwPipelineSchedule *schedule =
                mw_pipeline_schedule_new(arena, MW_PIPELINE_ZB_V, p, m, 2);
            ck_assert_double_eq(bubble_in_tasks(arena, schedule), 0);
            for (int i = 0; i < p; i++)
                ck_assert_int_le(chunks_in_flight(schedule, i), 2 * p);
            mw_arena_free(&arena);
        }
    }
}
END_TEST

/* With F = B = W, v-half has half of 1F1B's bubble, 6(p - 1), and of its memory, 2p chunks, but for
 * a chunk or two; v-min has two thirds of its bubble and a third of its memory, but for as little
 * (Qi et al. 2024, section 3). */
START_TEST(v_half_and_v_min_keep_half_and_a_third_of_the_memory)
{
    for (int p = 1; p <= 2 * MAX_MESHES; p++) {
        for (int m = 2 * p - 1; m <= 3 * p + 2; m++) {
            MwArena *arena = mw_arena_new();
            const MwPipelineSchedule *half =
                mw_pipeline_schedule_new(arena, MW_PIPELINE_V_HALF, p, m, 2);
            const MwPipelineSchedule *third =
                mw_pipeline_schedule_new(arena, MW_PIPELINE_V_MIN, p, m, 2);
            ck_assert_double_le(bubble_in_tasks(arena, half), 3 * (p - 1));
            ck_assert_double_le(bubble_in_tasks(arena, third), 4 * (p - 1) + (p % 3 == 0));
            for (int i = 0; i < p; i++) {
                ck_assert_int_le(chunks_in_flight(half, i), p + 2 - p % 2);
                ck_assert_int_le(chunks_in_flight(third, i), 2 * ((p + 1) / 3) + 2);
            }
            mw_arena_free(&arena);
        }
    }
}
END_TEST

/* The table of DualPipe's repository, of 2p stages: a bubble of (p - 1) (F&B + B - 3 W), F, B and W
 * being the times of a chunk, B with W in it, and F&B those of a forward and a backward together;
 * 2p + 1 chunks in flight. Ours is shorter where a mesh need not wait for the W of a B. */
START_TEST(dual_pipe_v_is_as_published)
{
    static const struct {
        double forward, backward_input, weight;
    } times[] = {{2, 2, 2}, {2, 2.5, 1.5}, {4, 6, 2}};
    for (int p = 1; p <= 2 * MAX_MESHES; p++) {
        for (int m = 2 * p; m <= 3 * p + 2; m++) {
            MwArena *arena = mw_arena_new();
            const MwPipelineSchedule *schedule =
                mw_pipeline_schedule_new(arena, MW_PIPELINE_DUAL_PIPE_V, p, m, 2);
            for (int i = 0; i < p; i++)
                ck_assert_int_le(chunks_in_flight(schedule, i), 2 * p + 1);
            ck_assert_int_eq(chunks_in_flight(schedule, 0), p == 1 ? 2 : 2 * p + 1);
            for (int k = 0; k < MW_COUNT(times); k++) {
                const double f = times[k].forward / 2, w = times[k].weight / 2;
                const double b = times[k].backward_input / 2 + w;
                const MwTimeline *timeline =
                    mw_timeline_new(arena, schedule,
                                    times_for(schedule, times[k].forward, times[k].backward_input,
                                              times[k].weight, 0));
                ck_assert_double_le(timeline->cost - timeline->ideal,
                                    (p - 1) * (f + b + b - 3 * w) + 1e-9);
            }
            mw_arena_free(&arena);
        }
    }
}
END_TEST

/* Table 5 of Qi et al. 2023, from the profiles of table 9: all of its rows, but for 1F1B-I. What
 * gradients of weights keep, of what those of inputs keep, is M_W / M_B of table 1 with the sizes
 * of table 3: 32 / (34 + 5 a s / h). In the memory of p or 2p of M_B, the automatic schedules have
 * the bubbles that were published. */
START_TEST(published_profiles_give_the_published_bubbles)
{
    static const struct {
        int p, m;
        double f, b, w, comm, plain, h1, h2, zb_1p, zb_2p;
        double as_h; /* a s / h */
    } rows[] = {
        {8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1585, 0.1083, 0.1585, 0.0433,
         24 * 1024 / 2304.},
        {8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.1242, 0.0837, 0.1242, 0.0039,
         24 * 1024 / 2304.},
        {8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0674, 0.0444, 0.0674, 0.0026,
         24 * 1024 / 2304.},
        {8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.1323, 0.0698, 0.1323, 0.0029,
         32 * 1024 / 4096.},
        {8, 32, 29.802, 29.428, 19.530, 0.577, 0.1898, 0.1045, 0.0559, 0.1045, 0.0022,
         32 * 1024 / 4096.},
        {8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0554, 0.0294, 0.0554, 0.0010,
         32 * 1024 / 4096.},
        {16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1397, 0.0672, 0.1397, 0.0066,
         40 * 1024 / 5120.},
        {16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.1088, 0.0516, 0.1088, 0.0054,
         40 * 1024 / 5120.},
        {16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0576, 0.0266, 0.0576, 0.0028,
         40 * 1024 / 5120.},
        {32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646, 0.1421, 0.0641, 0.1421, 0.0038,
         48 * 1024 / 6144.},
        {32, 128, 10.408, 10.204, 7.703, 0.408, 0.2168, 0.1106, 0.0490, 0.1106, 0.0029,
         48 * 1024 / 6144.},
        {32, 256, 10.402, 10.248, 7.698, 0.460, 0.1352, 0.0594, 0.0257, 0.0594, 0.0018,
         48 * 1024 / 6144.},
    };
    static const struct {
        MwPipelineKind kind;
        int memory; /* in p M_B */
    } kinds[] = {{MW_PIPELINE_1F1B, 1},
                 {MW_PIPELINE_ZB_H1, 1},
                 {MW_PIPELINE_ZB_H2, 2},
                 {MW_PIPELINE_ZB_1P, 1},
                 {MW_PIPELINE_ZB_2P, 2}};
    for (int i = 0; i < MW_COUNT(rows); i++) {
        MwArena *arena = mw_arena_new();
        const int p = rows[i].p, m = rows[i].m;
        const double share = 32 / (34 + 5 * rows[i].as_h);
        MwStageTimes times[MAX_STAGES];
        double *held = MW_NEW(arena, double, 3 * m);
        for (int s = 0; s < p; s++) {
            times[s] = *times_of(rows[i].f, rows[i].b, rows[i].w, rows[i].comm, 1);
            times[s].memory = (MwStageMemory){.saved = 1 - share, .late = share};
        }
        const double published[] = {rows[i].plain, rows[i].h1, rows[i].h2, rows[i].zb_1p,
                                    rows[i].zb_2p};
        for (int k = 0; k < MW_COUNT(kinds); k++) {
            const MwPipelineSchedule *schedule =
                mw_pipeline_schedule_timed(arena, kinds[k].kind, p, m, 1, times);
            const double rate = mw_timeline_new(arena, schedule, times)->bubble_rate;
            ck_assert_msg(fabs(round(rate * 1e4) / 1e4 - published[k]) < 1e-9,
                          "row %d, %s: %.6f, published %.4f", i,
                          mw_pipeline_info(kinds[k].kind)->name, rate, published[k]);
            for (int mesh = 0; mesh < p; mesh++)
                ck_assert_double_le(activations(schedule, mesh, share, held),
                                    kinds[k].memory * p + 1e-9);
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* Random times of unequal meshes: never longer than the schedule by hand, never more memory than
 * the limit, and the checker passes. */
START_TEST(automatic_schedules_keep_their_limits)
{
    MwDraws draws = {.seed = 5};
    for (int round = 0; round < 200; round++) {
        MwArena *arena = mw_arena_new();
        const int p = 1 + mw_draw_below(&draws, MAX_MESHES), m = 1 + mw_draw_below(&draws, 30);
        MwStageTimes *times = MW_NEW(arena, MwStageTimes, p);
        double *held = MW_NEW(arena, double, 3 * m);
        const double share = mw_draw_below(&draws, 9) / 8.0;
        for (int s = 0; s < p; s++) {
            for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
                times[s].task[kind] = mw_draw_below(&draws, 9);
            times[s].to_next = mw_draw_below(&draws, 5);
            times[s].to_previous = mw_draw_below(&draws, 5);
            times[s].memory = (MwStageMemory){.saved = 1 - share, .late = share};
        }
        static const MwPipelineKind automatic[] = {MW_PIPELINE_ZB_1P, MW_PIPELINE_ZB_2P};
        static const MwPipelineKind by_hand[] = {MW_PIPELINE_ZB_H1, MW_PIPELINE_ZB_H2};
        for (int k = 0; k < 2; k++) {
            const MwPipelineSchedule *schedule =
                mw_pipeline_schedule_timed(arena, automatic[k], p, m, 1, times);
            MwDiags *diags = mw_diags_new(arena);
            mw_pipeline_schedule_check(arena, schedule, diags);
            assert_none(arena, diags, schedule);
            ck_assert_double_le(mw_timeline_new(arena, schedule, times)->cost,
                                timeline_of(arena, by_hand[k], p, m, 1, times)->cost);
            for (int mesh = 0; mesh < p; mesh++)
                ck_assert_double_le(activations(schedule, mesh, share, held), (k + 1) * p + 1e-9);
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* What the mesh that needs the most memory needs. */
static double most_memory(const MwPipelineSchedule *schedule, const MwStageTimes *times)
{
    double most = 0;
    for (int i = 0; i < schedule->mesh_count; i++) {
        double here = 0;
        for (int c = 0; c < mw_pipeline_mesh_chunks(schedule, i); c++) {
            const MwStageMemory *of = &times[mw_pipeline_stage(schedule, i, c)].memory;
            here += of->kept;
            here += of->saved *
                    mw_pipeline_slots(schedule, i, c, MW_TASK_FORWARD, MW_TASK_BACKWARD_INPUT);
            here += of->late * mw_pipeline_slots(schedule, i, c, MW_TASK_FORWARD, MW_TASK_WEIGHT);
            here += of->weight *
                    mw_pipeline_slots(schedule, i, c, MW_TASK_BACKWARD_INPUT, MW_TASK_WEIGHT);
        }
        most = fmax(most, here);
    }
    return most;
}

/* A timed schedule says how many results its stages must be able to send ahead, and needs no fewer:
 * with as many no mesh waits for ever for room to send. Some of the best orders need more than
 * two. */
START_TEST(timed_schedules_run_with_the_room_to_send_that_they_state)
{
    static const MwPipelineKind timed[] = {MW_PIPELINE_ZB_1P, MW_PIPELINE_ZB_2P, MW_PIPELINE_V_HALF,
                                           MW_PIPELINE_V_MIN};
    MwDraws draws = {.seed = 3};
    int more = 0;
    for (int round = 0; round < 200; round++) {
        MwArena *arena = mw_arena_new();
        const MwPipelineKind kind = timed[mw_draw_below(&draws, MW_COUNT(timed))];
        const int p = 1 + mw_draw_below(&draws, MAX_MESHES), m = 1 + mw_draw_below(&draws, 24);
        const int chunks = mw_pipeline_most_chunks(kind) > 1 ? 2 : 1;
        MwStageTimes *times = MW_NEW(arena, MwStageTimes, p * chunks);
        for (int s = 0; s < p * chunks; s++) {
            times[s] = (MwStageTimes){
                .to_next = mw_draw_below(&draws, 5),
                .to_previous = mw_draw_below(&draws, 5),
                .memory = {.saved = mw_draw_below(&draws, 9), .late = mw_draw_below(&draws, 9)}};
            for (int task = 0; task < MW_TASK_KIND_COUNT; task++)
                times[s].task[task] = mw_draw_below(&draws, 9);
        }
        const MwPipelineSchedule *schedule =
            mw_pipeline_schedule_timed(arena, kind, p, m, chunks, times);
        const int ahead = schedule->sends_ahead;
        ck_assert(mw_schedule_runs(arena, schedule, ahead));
        ck_assert(ahead == MW_SENDS_AHEAD || !mw_schedule_runs(arena, schedule, ahead - 1));
        more += ahead > MW_SENDS_AHEAD;
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(more, 0);
}
END_TEST

static const MwPipelineKind lean[] = {MW_PIPELINE_V_HALF, MW_PIPELINE_V_MIN};

/* Random times and memory of unequal stages, and of unequal F, B and W: never longer than the
 * published order, never more micro-batches in flight, or memory, than by it where it has the
 * most, no mesh waits for ever for room to send, and the checker passes. */
START_TEST(v_half_and_v_min_keep_their_memory_for_any_times)
{
    MwDraws draws = {.seed = 7};
    for (int round = 0; round < 300; round++) {
        MwArena *arena = mw_arena_new();
        const int p = 1 + mw_draw_below(&draws, 2 * MAX_MESHES);
        const int m = 1 + mw_draw_below(&draws, 40);
        MwStageTimes *times = MW_NEW(arena, MwStageTimes, 2 * p);
        for (int s = 0; s < 2 * p; s++) {
            times[s] =
                (MwStageTimes){.to_next = mw_draw_below(&draws, 5),
                               .to_previous = mw_draw_below(&draws, 5),
                               .memory = {mw_draw_below(&draws, 9), mw_draw_below(&draws, 9),
                                          mw_draw_below(&draws, 9), mw_draw_below(&draws, 9)}};
            for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
                times[s].task[kind] = mw_draw_below(&draws, 9);
        }
        for (int k = 0; k < MW_COUNT(lean); k++) {
            const MwPipelineSchedule *published = mw_pipeline_schedule_new(arena, lean[k], p, m, 2);
            const MwPipelineSchedule *schedule =
                mw_pipeline_schedule_timed(arena, lean[k], p, m, 2, times);
            MwDiags *diags = mw_diags_new(arena);
            mw_pipeline_schedule_check(arena, schedule, diags);
            assert_none(arena, diags, schedule);
            ck_assert_int_eq(schedule->sends_ahead, MW_SENDS_AHEAD);
            ck_assert_double_le(mw_timeline_new(arena, schedule, times)->cost,
                                mw_timeline_new(arena, published, times)->cost);
            ck_assert_double_le(most_memory(schedule, times),
                                most_memory(published, times) * (1 + 1e-9));
            int most = 0;
            for (int i = 0; i < p; i++)
                most = (int)mw_max(most, chunks_in_flight(published, i));
            for (int i = 0; i < p; i++)
                ck_assert_int_le(chunks_in_flight(schedule, i), most);
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* Where F, B and W differ, what is left of the bubble of the published order: at most so much of
 * it. Where all that is kept is kept for gradients of weights, v-min may wait for fewer. */
START_TEST(v_half_and_v_min_adapt_to_times)
{
    static const struct {
        MwPipelineKind kind;
        int p;
        double f, b, w, part;
    } cases[] = {
        {MW_PIPELINE_V_HALF, 4, 18.5, 18, 9.3, 0.80}, {MW_PIPELINE_V_HALF, 8, 18.5, 18, 9.3, 0.90},
        {MW_PIPELINE_V_HALF, 8, 10, 14, 6, 0.86},     {MW_PIPELINE_V_HALF, 4, 10, 12, 8, 0.75},
        {MW_PIPELINE_V_MIN, 6, 10, 14, 6, 0.76},      {MW_PIPELINE_V_MIN, 8, 10, 14, 6, 0.78},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwArena *arena = mw_arena_new();
        const int p = cases[i].p, m = 3 * p;
        const MwPipelineSchedule *published =
            mw_pipeline_schedule_new(arena, cases[i].kind, p, m, 2);
        MwStageTimes *times = mw_stage_times_new_clocks(arena, cases[i].kind, p, 2);
        for (int s = 0; s < 2 * p - 1; s++) {
            times[s].task[MW_TASK_FORWARD] *= cases[i].f;
            times[s].task[MW_TASK_BACKWARD_INPUT] *= cases[i].b;
            times[s].task[MW_TASK_WEIGHT] *= cases[i].w;
        }
        const MwPipelineSchedule *schedule =
            mw_pipeline_schedule_timed(arena, cases[i].kind, p, m, 2, times);
        const double before = mw_timeline_new(arena, published, times)->bubble_rate;
        const double after = mw_timeline_new(arena, schedule, times)->bubble_rate;
        ck_assert_msg(after <= cases[i].part * before, "case %d: %g, published %g", i, after,
                      before);
        mw_arena_free(&arena);
    }
}
END_TEST

/* A timeline by hand: two meshes, the second slower, transfers that take time. */
START_TEST(stages_may_take_different_times)
{
    MwArena *arena = mw_arena_new();
    const MwStageTimes times[] = {
        {{[MW_TASK_FORWARD] = 2, [MW_TASK_BACKWARD] = 3}, .to_next = 1, .to_previous = 100},
        {{[MW_TASK_FORWARD] = 4, [MW_TASK_BACKWARD] = 5}, .to_next = 100, .to_previous = 0.5},
    };
    MwTimeline *t = timeline_of(arena, MW_PIPELINE_1F1B, 2, 2, 1, times);
    static const MwTaskTime expected[2][4] = {
        {{0, 2}, {2, 4}, {12.5, 15.5}, {21.5, 24.5}}, /* F0 F1 B0 B1 */
        {{3, 7}, {7, 12}, {12, 16}, {16, 21}},        /* F0 B0 F1 B1 */
    };
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k++) {
            ck_assert_double_eq(t->meshes[i].tasks[k].start, expected[i][k].start);
            ck_assert_double_eq(t->meshes[i].tasks[k].end, expected[i][k].end);
        }
    }
    ck_assert_double_eq(t->meshes[0].span, 24.5);
    ck_assert_double_eq(t->meshes[1].span, 18);
    ck_assert_double_eq(t->meshes[0].busy, 10);
    ck_assert_double_eq(t->total, 24.5);
    ck_assert_double_eq(t->cost, 24.5);
    ck_assert_double_eq(t->ideal, 18);
    ck_assert_double_eq(t->bubble_rate, 6.5 / 24.5);
    mw_arena_free(&arena);
}
END_TEST

/* By hand: forwards of 1 and transfers of 5, one after another. Micro-batch k arrives at 1 + 5 (k +
 * 1) and runs for 1; without the queue it would at 6 + k. */
START_TEST(transfers_between_two_stages_go_one_after_another)
{
    MwArena *arena = mw_arena_new();
    const MwStageTimes times[] = {{{[MW_TASK_FORWARD] = 1}, .to_next = 5, .to_previous = 5},
                                  {{[MW_TASK_FORWARD] = 1}, .to_next = 5, .to_previous = 5}};
    MwTimeline *t = timeline_of(arena, MW_PIPELINE_INFERENCE, 2, 4, 1, times);
    for (int k = 0; k < 4; k++) {
        ck_assert_double_eq(t->meshes[0].tasks[k].start, k);
        ck_assert_double_eq(t->meshes[1].tasks[k].start, 1 + 5 * (k + 1));
    }
    ck_assert_double_eq(t->total, 22);
    mw_arena_free(&arena);
}
END_TEST

/* Of three meshes, the one in the middle sends activations to one neighbour and gradients to the
 * other: 2 transfers of 10 for each micro-batch, from when the first has arrived and run. Of two,
 * each sends to one. */
START_TEST(what_a_mesh_sends_may_share_a_link)
{
    enum { M = 16 };
    MwArena *arena = mw_arena_new();
    for (int p = 2; p <= 3; p++) {
        const MwPipelineSchedule *schedule =
            mw_pipeline_schedule_new(arena, MW_PIPELINE_1F1B, p, M, 1);
        const MwStageTimes *times = times_for(schedule, 1, 1, 0, 10);
        const double apart = mw_timeline_new(arena, schedule, times)->total;
        const double shared = mw_timeline_new_shared(arena, schedule, times)->total;
        if (p == 2) {
            ck_assert_double_eq(shared, apart);
        } else {
            ck_assert_double_ge(shared, 1 + 10 + 1 + 2 * M * 10);
            ck_assert_double_lt(apart, 1 + 10 + 1 + 2 * M * 10);
        }
    }
    mw_arena_free(&arena);
}
END_TEST

START_TEST(chunks_of_one_mesh_need_no_transfer)
{
    MwArena *arena = mw_arena_new();
    MwTimeline *t = timeline_of(arena, MW_PIPELINE_INTERLEAVED, 1, 3, 2, times_of(2, 2, 2, 50, 2));
    ck_assert_double_eq(t->total, 18);
    ck_assert_double_eq(t->bubble_rate, 0);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(clocks_count_tasks)
{
    MwArena *arena = mw_arena_new();
    const MwPipelineSchedule *schedule = mw_pipeline_schedule_new(arena, MW_PIPELINE_1F1B, 4, 8, 1);
    ck_assert_double_eq(mw_timeline_new_clocks(arena, schedule)->total, 2 * (8 + 3));
    schedule = mw_pipeline_schedule_new(arena, MW_PIPELINE_ZB_H2, 4, 8, 1);
    ck_assert_double_eq(mw_timeline_new_clocks(arena, schedule)->total, 3 * 8 + 3);
    schedule = mw_pipeline_schedule_new(arena, MW_PIPELINE_INFERENCE, 4, 8, 1);
    ck_assert_double_eq(mw_timeline_new_clocks(arena, schedule)->total, 8 + 3);
    mw_arena_free(&arena);
}
END_TEST

/* Ways to break a schedule of 3 meshes and 4 micro-batches (interleaved: 2 chunks), on mesh 1
 * unless it says otherwise, each with a part of the message that must name it. */
typedef struct {
    const char *what, *message;
    MwPipelineKind kind;
    void (*apply)(MwPipelineSchedule *schedule, MwMeshSchedule *mesh);
} Mutation;

#define BREAK(name, ...)                                                                           \
    static void name(MwPipelineSchedule *schedule, MwMeshSchedule *mesh)                           \
    {                                                                                              \
        (void)schedule, (void)mesh;                                                                \
        __VA_ARGS__;                                                                               \
    }

static void swap(MwMeshSchedule *mesh, int a, int b)
{
    MwTask task = mesh->tasks[a];
    mesh->tasks[a] = mesh->tasks[b];
    mesh->tasks[b] = task;
}

BREAK(drop_last, mesh->task_count--)
BREAK(repeat_first, mesh->tasks[1] = mesh->tasks[0])
BREAK(backward_first, swap(mesh, 0, 4)) /* mesh 1: F0 F1 F2 F3 B0 ... */
BREAK(later_first, swap(mesh, 0, 1))
BREAK(micro_batch_too_high, mesh->tasks[0].micro_batch = 4)
BREAK(micro_batch_negative, mesh->tasks[0].micro_batch = -1)
BREAK(chunk_too_high, mesh->tasks[0].chunk = 1)
BREAK(kind_of_another, mesh->tasks[2].kind = MW_TASK_BACKWARD_INPUT)
BREAK(kind_of_none, mesh->tasks[2].kind = MW_TASK_KIND_COUNT)
BREAK(weight_first, swap(mesh, 2, 5)) /* mesh 1: F0 F1 B0 F2 B1 W0 ... */
BREAK(other_chunk_first, {
    for (int i = 0; i < mesh->task_count; i++)
        mesh->tasks[i].chunk = 1 - mesh->tasks[i].chunk;
})
BREAK(more_in_flight, mesh->in_flight--)
BREAK(too_few_slots, mesh->slots[0]--)
BREAK(more_micro_batches, schedule->micro_batches++)
BREAK(no_meshes, schedule->mesh_count = 0)
BREAK(chunks_of_1f1b, schedule->chunks = 2)
BREAK(none_ahead,
      { /* mesh 0: F0 B0 F1 B1 ..., while mesh 1 wants F1 before it runs B0 */
        mesh = &schedule->meshes[0];
        for (int i = 0; i < mesh->task_count; i++)
            mesh->tasks[i] = (MwTask){i % 2 ? MW_TASK_BACKWARD : MW_TASK_FORWARD, i / 2, 0};
      })

static const Mutation mutations[] = {
    {"a task less", "tasks are missing: 1", MW_PIPELINE_1F1B, drop_last},
    {"a task twice", "runs twice", MW_PIPELINE_1F1B, repeat_first},
    {"a backward before its forward", "runs before what it needs", MW_PIPELINE_GPIPE,
     backward_first},
    {"micro-batches out of order", "runs after a later micro-batch", MW_PIPELINE_1F1B, later_first},
    {"a micro-batch too high", "out of range", MW_PIPELINE_1F1B, micro_batch_too_high},
    {"a negative micro-batch", "out of range", MW_PIPELINE_1F1B, micro_batch_negative},
    {"a chunk too high", "out of range", MW_PIPELINE_1F1B, chunk_too_high},
    {"a kind of other schedules", "kind that the schedule does not have", MW_PIPELINE_1F1B,
     kind_of_another},
    {"no kind", "kind that the schedule does not have", MW_PIPELINE_1F1B, kind_of_none},
    {"weights before inputs", "runs before what it needs", MW_PIPELINE_ZB_H1, weight_first},
    {"chunks in the wrong order", "deadlock", MW_PIPELINE_INTERLEAVED, other_chunk_first},
    {"meshes that wait for one another", "deadlock", MW_PIPELINE_1F1B, none_ahead},
    {"more in flight than stated", "in flight of", MW_PIPELINE_1F1B, more_in_flight},
    {"fewer slots than in flight", "in the chunk of", MW_PIPELINE_INTERLEAVED, too_few_slots},
    {"more micro-batches than tasks", "tasks are missing", MW_PIPELINE_1F1B, more_micro_batches},
    {"no meshes", "no schedule has 0 meshes", MW_PIPELINE_1F1B, no_meshes},
    {"chunks where there is one", "2 chunks", MW_PIPELINE_1F1B, chunks_of_1f1b},
};

START_TEST(broken_schedules_are_refused)
{
    const Mutation *mutation = &mutations[_i];
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    const int chunks = mutation->kind == MW_PIPELINE_INTERLEAVED ? 2 : 1;
    MwPipelineSchedule *schedule = mw_pipeline_schedule_new(arena, mutation->kind, 3, 4, chunks);
    mutation->apply(schedule, &schedule->meshes[1]);
    ck_assert_msg(!mw_pipeline_schedule_check(arena, schedule, diags), "%s passes", mutation->what);
    const char *shown = diags_text(arena, diags);
    ck_assert_msg(strstr(shown, mutation->message), "%s: %s", mutation->what, shown);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(broken_timelines_are_refused)
{
    MwArena *arena = mw_arena_new();
    const MwPipelineSchedule *schedule =
        mw_pipeline_schedule_new(arena, MW_PIPELINE_ZB_H1, 3, 4, 1);
    const MwStageTimes *times = times_of(2, 2, 2, 1, 1);
    for (int mesh = 0; mesh < 3; mesh++) {
        for (int k = 0; k < schedule->meshes[mesh].task_count; k++) {
            MwTimeline *t = mw_timeline_new(arena, schedule, times);
            t->meshes[mesh].tasks[k].start -= 0.5; /* no task could begin earlier */
            t->meshes[mesh].tasks[k].end -= 0.5;
            ck_assert(!mw_timeline_check(arena, schedule, times, t, mw_diags_new(arena)));
            t = mw_timeline_new(arena, schedule, times);
            t->meshes[mesh].tasks[k].end -= 0.5;
            ck_assert(!mw_timeline_check(arena, schedule, times, t, mw_diags_new(arena)));
        }
    }
    mw_arena_free(&arena);
}
END_TEST

START_TEST(schedules_have_names)
{
    for (int i = 0; i < MW_PIPELINE_COUNT; i++) {
        MwPipelineKind kind;
        ck_assert(mw_pipeline_parse(mw_pipeline_info((MwPipelineKind)i)->name, &kind));
        ck_assert_int_eq(kind, i);
    }
    MwPipelineKind kind;
    ck_assert(!mw_pipeline_parse("zb-h3", &kind));
    ck_assert_str_eq(mw_pipeline_suggest("1b1f"), "1f1b");
    ck_assert_ptr_null(mw_pipeline_suggest("chimera"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tests = tcase_create("schedule");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, schedules_pass_the_checker);
    tcase_add_test(tests, large_schedules_pass_the_checker);
    tcase_add_test(tests, stages_are_dealt_to_meshes);
    tcase_add_test(tests, stated_memory_is_met);
    tcase_add_test(tests, in_flight_is_as_published);
    tcase_add_test(tests, zb_h1_keeps_the_memory_of_1f1b);
    tcase_add_test(tests, activations_over_time);
    tcase_add_test(tests, bubbles_are_those_of_the_formulas);
    tcase_add_test(tests, transfers_hide_behind_eager_forwards);
    tcase_add_test(tests, zero_bubble_schedules_leave_what_was_published);
    tcase_add_test(tests, zb_v_has_no_bubble_in_the_memory_of_1f1b);
    tcase_add_test(tests, v_half_and_v_min_keep_half_and_a_third_of_the_memory);
    tcase_add_test(tests, dual_pipe_v_is_as_published);
    tcase_add_test(tests, published_profiles_give_the_published_bubbles);
    tcase_add_test(tests, automatic_schedules_keep_their_limits);
    tcase_add_test(tests, timed_schedules_run_with_the_room_to_send_that_they_state);
    tcase_add_test(tests, v_half_and_v_min_keep_their_memory_for_any_times);
    tcase_add_test(tests, v_half_and_v_min_adapt_to_times);
    tcase_add_test(tests, stages_may_take_different_times);
    tcase_add_test(tests, transfers_between_two_stages_go_one_after_another);
    tcase_add_test(tests, what_a_mesh_sends_may_share_a_link);
    tcase_add_test(tests, chunks_of_one_mesh_need_no_transfer);
    tcase_add_test(tests, clocks_count_tasks);
    tcase_add_loop_test(tests, broken_schedules_are_refused, 0, MW_COUNT(mutations));
    tcase_add_test(tests, broken_timelines_are_refused);
    tcase_add_test(tests, schedules_have_names);
    return run_suite(suite);
}
