/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of schedule.def say what is true of each schedule: its memory and, as far as the
 * stage problem sees it, its time. */
#include "base/file.h"
#include "passes/stages/terms.h"
#include "schedule/generate.h"
#include "schedule/timeline.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

enum { MAX_MESHES = 8, MAX_CHUNKS = 3, MAX_STAGES = MAX_MESHES * MAX_CHUNKS };

static const MwPipelineInfo *info_of(int kind)
{
    return mw_pipeline_info((MwPipelineKind)kind);
}

static int most_chunks(int kind)
{
    return (int)mw_min(MAX_CHUNKS, mw_pipeline_most_chunks((MwPipelineKind)kind));
}

/* Micro-batches that a mesh keeps at most, each as much as its chunks do together. */
static double kept(int kind, int meshes, int mesh, int micro_batches, int chunks)
{
    MwArena *arena = mw_arena_new();
    const MwPipelineSchedule *schedule =
        mw_pipeline_schedule_new(arena, (MwPipelineKind)kind, meshes, micro_batches, chunks);
    const int parts = mw_pipeline_parts_of((MwPipelineKind)kind, meshes, chunks,
                                           mw_pipeline_stage(schedule, mesh, 0));
    double most = (double)schedule->meshes[mesh].in_flight * parts / chunks;
    mw_arena_free(&arena);
    return most;
}

/* ---- When a schedule is tried ---- */

START_TEST(one_schedule_is_tried_first)
{
    for (int trains = 0; trains < 2; trains++) {
        int turns[MW_PIPELINE_COUNT + 1] = {0};
        for (int kind = 0; kind < MW_PIPELINE_COUNT; kind++) {
            const MwPipelineInfo *info = info_of(kind);
            if (info->trains != trains)
                continue;
            ck_assert_int_ge(info->turn, 0);
            ck_assert_int_le(info->turn, MW_PIPELINE_COUNT);
            ck_assert_msg(info->turn == 0 || ++turns[info->turn] == 1, "%s has another's turn",
                          info->name);
            ck_assert(!info->late || info->turn > 1);
        }
        ck_assert_int_eq(turns[1], 1);
        ck_assert_int_eq(info_of(mw_pipeline_first(trains))->turn, 1);
    }
}
END_TEST

START_TEST(the_leaner_one_is_leaner_and_comes_before)
{
    const MwPipelineInfo *info = info_of(_i);
    if (info->leaner == (MwPipelineKind)_i)
        return;
    const MwPipelineInfo *leaner = mw_pipeline_info(info->leaner);
    ck_assert(leaner->trains == info->trains && leaner->turn > 0);
    ck_assert(info->turn == 0 || leaner->turn < info->turn);
    for (int p = 1; p <= MAX_MESHES; p++)
        for (int i = 0; i < p; i++)
            for (int v = 1; v <= most_chunks(_i); v++)
                ck_assert_msg(kept(info->leaner, p, i, 3 * p, 1) <= kept(_i, p, i, 3 * p, v),
                              "%s keeps less than %s on mesh %d of %d", info->name, leaner->name, i,
                              p);
}
END_TEST

/* ---- Memory ---- */

START_TEST(meshes_keep_what_is_said)
{
    const MwPipelineInfo *info = info_of(_i);
    for (int p = 1; p <= MAX_MESHES; p++) {
        const int m = 2 * MAX_MESHES * MAX_MESHES;
        double most = 0;
        for (int i = 0; i < p; i++)
            for (int v = 1; v <= most_chunks(_i); v++)
                most = fmax(most, kept(_i, p, i, m, v));
        if (info->held == 0)
            ck_assert_double_eq(most, m);
        else
            ck_assert_msg(most <= info->held * p && (p == 1 || most > (info->held - 1) * p),
                          "%s keeps %g micro-batches on %d meshes", info->name, most, p);
    }
}
END_TEST

/* The formula is that of the generated order, too. */
START_TEST(in_flight_depends_on_what_is_said)
{
    bool depends = info_of(_i)->chunked;
    for (int p = 1; p <= MAX_MESHES; p++)
        for (int i = 0; i < p; i++) {
            int in_flight = mw_pipeline_in_flight((MwPipelineKind)_i, p, i, 3 * p);
            if (info_of(_i)->timed)
                ck_assert_double_ge(in_flight, kept(_i, p, i, 3 * p, 1));
            else
                ck_assert_double_eq(in_flight, kept(_i, p, i, 3 * p, 1));
            depends |= mw_pipeline_in_flight((MwPipelineKind)_i, p, i, 3 * MAX_MESHES) !=
                       mw_pipeline_in_flight((MwPipelineKind)_i, p + 1, i + 1, 3 * MAX_MESHES);
        }
    ck_assert_msg(info_of(_i)->by_stages == depends, "%s", info_of(_i)->name);
}
END_TEST

/* ---- Time ---- */

/* What one micro-batch takes on each of the meshes, which are alike. */
typedef struct {
    double forward, backward_input, weight, transfer;
} Times;

static double timeline_total(MwArena *arena, const MwPipelineSchedule *schedule, const Times *times)
{
    MwStageTimes stages[MAX_STAGES];
    for (int s = 0; s < mw_pipeline_stage_count(schedule); s++) {
        const double part =
            mw_pipeline_parts_of(schedule->kind, schedule->mesh_count, schedule->chunks, s) /
            (double)schedule->chunks;
        stages[s] =
            (MwStageTimes){{[MW_TASK_FORWARD] = times->forward * part,
                            [MW_TASK_BACKWARD] = (times->backward_input + times->weight) * part,
                            [MW_TASK_BACKWARD_INPUT] = times->backward_input * part,
                            [MW_TASK_WEIGHT] = times->weight * part},
                           times->transfer,
                           times->transfer};
    }
    return mw_timeline_new(arena, schedule, stages)->total;
}

/* Every layer is a stage on one device. */
static void answer(void *context, MwStageQuery *queries, int count)
{
    for (int i = 0; i < count; i++) {
        queries[i].count = queries[i].end - queries[i].begin == 1 && queries[i].submesh == 0;
        queries[i].candidates = context;
    }
}

/* What the stage problem makes of the same: the total of its only cut. */
static double problem_total(MwArena *arena, const MwPipelineSchedule *schedule, const Times *times)
{
    const MwPipelineInfo *info = mw_pipeline_info(schedule->kind);
    const int stages = schedule->mesh_count * schedule->chunks;
    const double backward_s = info->trains ? times->backward_input + times->weight : 0;
    const MwScheduleTerms terms = {schedule->kind, schedule->micro_batches,
                                   schedule->chunks > 1 ? schedule : NULL};
    MwStageCandidate candidate = {.time = (int64_t)(times->forward + backward_s),
                                  .weight_time = info->splits ? (int64_t)times->weight : 0};
    MwStageCut cuts[MAX_STAGES];
    for (int l = 0; l < stages; l++)
        cuts[l] = (MwStageCut){(int64_t)((1 + info->trains) * times->transfer) / schedule->chunks,
                               (int64_t)times->transfer * schedule->chunks};
    const MwStageProblem problem = {.layer_count = stages,
                                    .cluster = {schedule->chunks, schedule->mesh_count},
                                    .memory_bytes = INT64_MAX,
                                    .cuts = cuts,
                                    .schedule = mw_schedule_terms(&terms),
                                    .least_stages = stages,
                                    .most_stages = stages,
                                    .submesh = 0,
                                    .answer = answer,
                                    .context = &candidate};
    return (double)mw_stages_solve(arena, &problem, NULL).total;
}

/* The stage problem may reckon as much less as `less`, and more if the schedule is timed. */
static void check_bound(int kind, int meshes, int chunks, const Times *times, double tolerance,
                        double less)
{
    MwArena *arena = mw_arena_new();
    const MwPipelineSchedule *schedule =
        mw_pipeline_schedule_new(arena, (MwPipelineKind)kind, meshes, 4 * meshes, chunks);
    double total = timeline_total(arena, schedule, times);
    double reckoned = problem_total(arena, schedule, times);
    ck_assert_msg(total - reckoned <= fmax(less, tolerance) &&
                      (info_of(kind)->timed || reckoned - total <= tolerance),
                  "%s, %d meshes of %d chunks: %g by the stage problem, %g by the timeline",
                  info_of(kind)->name, meshes, chunks, reckoned, total);
    mw_arena_free(&arena);
}

static void check_total(int kind, int meshes, int chunks, const Times *times, double tolerance)
{
    check_bound(kind, meshes, chunks, times, tolerance, tolerance);
}

/* Exactly, where gradients of weights are short enough to be all that fills it; with chunks, up to
 * the time of one, which the stage problem counts as part of the fill. It does not know two chunks
 * of schedules that go down the meshes and up again. */
START_TEST(the_bubble_is_filled_as_is_said)
{
    static const Times times = {50, 80, 30, 0};
    const MwPipelineInfo *info = info_of(_i);
    ck_assert(info->splits || info->deferred == 0);
    for (int p = 2; p <= MAX_MESHES; p++)
        for (int v = 1; v <= (info->placement == MW_PLACE_VEE ? 1 : most_chunks(_i)); v++)
            check_total(_i, p, v, &times, v == 1 ? 0 : 160. / v);
}
END_TEST

/* Where the stage problem can say that a stage waits for returns. They are there before the stage
 * is free, and after; each transfer is shorter than the work, so that it does not limit the rate.
 * Where all forwards come before the backwards, that is the work of a forward: longer transfers
 * take more time than the stage problem says. */
START_TEST(transfers_take_the_time_that_is_said)
{
    static const Times times[] = {{50, 80, 60, 40}, {50, 80, 60, 120}};
    const MwPipelineInfo *info = info_of(_i);
    ck_assert(!info->returns || (!info->chunked && info->held > 0));
    for (int p = 2; p <= MAX_MESHES && !info->chunked && info->deferred == 0; p++)
        for (int t = 0; t < 1 + (info->trains && info->held > 0); t++)
            check_total(_i, p, 1, &times[t], times[t].transfer);
}
END_TEST

/* Where gradients of weights are deferred, returns are reckoned without them: each of the 4 rounds
 * of micro-batches, the fill and the drain may take longer by what is deferred on all meshes.
 * Transfers are longer here than the work between them. */
START_TEST(returns_of_deferred_work_are_bounded)
{
    static const Times times = {50, 80, 30, 150};
    const MwPipelineInfo *info = info_of(_i);
    for (int p = 2; p <= MAX_MESHES && !info->chunked && info->deferred > 0; p++)
        check_bound(_i, p, 1, &times, times.transfer, 6 * p * (info->deferred - 1) * times.weight);
}
END_TEST

/* ---- Documentation ---- */

START_TEST(it_is_documented)
{
    MwArena *arena = mw_arena_new();
    size_t bytes;
    const char *page = mw_file_read(arena, SOURCE_ROOT "/docs/schedules.md", &bytes);
    ck_assert_msg(page && strstr(page, mw_arena_printf(arena, "\n| `%s` | ", info_of(_i)->name)),
                  "docs/schedules.md has no row for %s", info_of(_i)->name);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule_table");
    TCase *tests = tcase_create("schedule_table");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, one_schedule_is_tried_first);
    tcase_add_loop_test(tests, the_leaner_one_is_leaner_and_comes_before, 0, MW_PIPELINE_COUNT);
    tcase_add_loop_test(tests, meshes_keep_what_is_said, 0, MW_PIPELINE_COUNT);
    tcase_add_loop_test(tests, in_flight_depends_on_what_is_said, 0, MW_PIPELINE_COUNT);
    tcase_add_loop_test(tests, the_bubble_is_filled_as_is_said, 0, MW_PIPELINE_COUNT);
    tcase_add_loop_test(tests, transfers_take_the_time_that_is_said, 0, MW_PIPELINE_COUNT);
    tcase_add_loop_test(tests, returns_of_deferred_work_are_bounded, 0, MW_PIPELINE_COUNT);
    tcase_add_loop_test(tests, it_is_documented, 0, MW_PIPELINE_COUNT);
    return run_suite(suite);
}
