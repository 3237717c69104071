/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tools/profile/probe.h: the plans that profiling runs are good plans, and a machine whose times
 * follow the cost model gives that model back. */
#include "base/file.h"
#include "cost/cost.h"
#include "frontend/cluster/print.h"
#include "frontend/cluster/read.h"
#include "runtime/check/check.h"
#include "tests/unit/support.h"
#include "tools/profile/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(probes_are_plans_that_can_run)
{
    static const struct {
        int ranks, ways;
        bool has_work;
    } cases[] = {{1, 1, true}, {2, 2, true}, {4, 2, false}, {6, 3, false}, {8, 8, false}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwArena *arena = mw_arena_new();
        MwDiags *diags = mw_diags_new(arena);
        MwProbes probes = mw_probe_new(arena, cases[i].ranks, cases[i].ways, cases[i].has_work);
        bool good = mw_plan_check(probes.plan, diags);
        mw_diags_print(diags, stderr);
        ck_assert(good);
        int next = 0;
        for (int p = 0; p < probes.count; p++) {
            ck_assert_int_eq(probes.probes[p].first, next);
            next += probes.probes[p].count;
        }
        ck_assert_int_eq(next, probes.plan->meshes[0].programs[0].instr_count);
        mw_arena_free(&arena);
    }
}
END_TEST

static double conv_s(const MwCostModel *model, MwWorkKind kind, const MwProbe *probe)
{
    return mw_cost_work_s(model, &(MwWork){.kind = kind,
                                           .type = MW_F32,
                                           .flops = 2 * (double)(probe->m * probe->n * probe->k),
                                           .windows = (double)probe->m});
}

/* What the cost model says that a probe takes. */
static double cost_s(const MwCostModel *model, const MwProbe *probe)
{
    double m = (double)probe->m, n = (double)probe->n, k = (double)probe->k;
    bool forward = probe->kind == MW_PROBE_ATTENTION;
    switch (probe->kind) {
    case MW_PROBE_PRODUCT:
        return mw_cost_work_s(model,
                              &(MwWork){MW_WORK_GEMM, probe->type, 2 * m * n * k, 0, m, n, k, 1});
    case MW_PROBE_STREAM:
        return mw_cost_work_s(model, &(MwWork){MW_WORK_STREAM, .flops = m, .bytes = 12 * m});
    case MW_PROBE_VECTOR:
        return mw_cost_work_s(model, &(MwWork){MW_WORK_STREAM, .flops = m * n, .bytes = 8 * m});
    case MW_PROBE_ROW_SUM:
        return mw_cost_work_s(
            model, &(MwWork){MW_WORK_STREAM, .flops = m * n, .row_flops = m * n, .columns = n});
    case MW_PROBE_LAUNCH:
        return model->cluster->device.launch_s;
    case MW_PROBE_ATTENTION:
    case MW_PROBE_ATTENTION_GRAD:
        return mw_cost_work_s(
            model, &(MwWork){.kind = forward ? MW_WORK_ATTENTION : MW_WORK_ATTENTION_GRAD,
                             .flops = (forward ? 4 : 10) * m * n * n * k / 2,
                             .batch = m});
    case MW_PROBE_CONV:
        return conv_s(model, MW_WORK_CONV, probe);
    case MW_PROBE_CONV_TRANSPOSE:
        return conv_s(model, MW_WORK_CONV_TRANSPOSE, probe);
    case MW_PROBE_CONV_FILTER_GRAD:
        return conv_s(model, MW_WORK_CONV_FILTER_GRAD, probe);
    case MW_PROBE_COLLECTIVE:
        return mw_cost_collective_s(model, probe->collective, model->mesh.axis_count - 1,
                                    (double)probe->bytes);
    }
    return NAN;
}

/* The time is that of a model again, but for work that takes no time beside a launch: it is taken
 * for a tenth of what was measured. */
static void check_time(const MwCostModel *model, const MwProbe *probe, double tolerance)
{
    double launch_s = model->cluster->device.launch_s, found_s = cost_s(model, probe);
    if (probe->time_s - launch_s < probe->time_s / 10 && probe->kind != MW_PROBE_COLLECTIVE)
        ck_assert_double_le(found_s, probe->time_s + launch_s / 9);
    else
        ck_assert_double_eq_tol(found_s, probe->time_s, tolerance * probe->time_s);
}

static MwCurvePoint bandwidth[] = {{1e5, 200e9}, {1e6, 100e9}, {1e8, 20e9}};
static MwCurvePoint attention[] = {{1e6, 40e9}, {1e8, 80e9}};
static MwCurvePoint convs[] = {{1e3, 30e9}, {1e5, 200e9}, {1e6, 150e9}};
static MwCurvePoint sums[] = {{1, 1e8}, {1e3, 2e10}};
static MwCurvePoint bus = {1, 5e9};

static MwCluster machine(int ranks)
{
    return (MwCluster){.name = "machine",
                       .backend = "cpu",
                       .nodes = 1,
                       .devices_per_node = ranks,
                       .device = {.memory_bytes = 1 << 30,
                                  .bandwidth = {bandwidth, MW_COUNT(bandwidth)},
                                  .gemm[MW_F32] = {.rate_flops = 100e9},
                                  .gemm[MW_BF16] = {.rate_flops = 300e9},
                                  .attention_flops = {attention, 2},
                                  .attention_grad_flops = {attention, 2},
                                  .conv_flops = {convs, 3},
                                  .conv_transpose_flops = {convs + 1, 2},
                                  .conv_filter_grad_flops = {convs, 2},
                                  .row_sum_flops = {sums, 2},
                                  .vector_flops = 50e9,
                                  .launch_s = 100e-9},
                       .node_link = {.latency_s = 1e-6, .bandwidth = {&bus, 1}}};
}

START_TEST(a_machine_gives_its_cost_model_back)
{
    MwArena *arena = mw_arena_new();
    MwCluster true_machine = machine(4);
    MwCluster found = {.name = "found",
                       .backend = "cpu",
                       .nodes = 1,
                       .devices_per_node = 4,
                       .device.memory_bytes = 1 << 30};
    static const int ways[] = {2, 4};
    static const MwMeshShape meshes[] = {{2, {2, 2}}, {1, {4}}};
    MwProbes probes[2];
    for (int i = 0; i < 2; i++) {
        MwCostModel model = mw_cost_model(&true_machine, &meshes[i]);
        probes[i] = mw_probe_new(arena, 4, ways[i], i == 0);
        for (int p = 0; p < probes[i].count; p++)
            probes[i].probes[p].time_s = cost_s(&model, &probes[i].probes[p]);
        mw_probe_fill(&found, &probes[i]);
    }
    for (int i = 0; i < 2; i++) {
        MwCostModel model = mw_cost_model(&found, &meshes[i]);
        for (int p = 0; p < probes[i].count; p++)
            check_time(&model, &probes[i].probes[p], 1e-9);
    }
    MwText text = {.arena = arena};
    mw_cluster_print(&text, &found);
    MwDiags *diags = mw_diags_new(arena);
    MwCluster *read = mw_cluster_read(arena, &(MwSource){"found", text.at, text.bytes}, diags);
    mw_diags_print(diags, stderr);
    ck_assert_ptr_nonnull(read);
    MwCostModel model = mw_cost_model(read, &meshes[0]);
    for (int p = 0; p < probes[0].count; p++)
        check_time(&model, &probes[0].probes[p], 2e-3);
    mw_arena_free(&arena);
}
END_TEST

/* Times in which a larger product or message was quicker, as noise makes them. */
START_TEST(noise_does_not_make_more_work_quicker)
{
    MwArena *arena = mw_arena_new();
    MwCluster true_machine = machine(2), found = machine(2);
    MwMeshShape mesh = {1, {2}};
    MwCostModel model = mw_cost_model(&true_machine, &mesh);
    MwProbes probes = mw_probe_new(arena, 2, 2, true);
    for (int p = 0; p < probes.count; p++)
        probes.probes[p].time_s = cost_s(&model, &probes.probes[p]) * (p % 3 == 1 ? 5 : 1);
    found.device.gemm[MW_F32] = (MwGemm){0};
    found.device.bandwidth = found.device.attention_flops = found.device.attention_grad_flops =
        found.device.conv_flops = found.device.conv_transpose_flops =
            found.device.conv_filter_grad_flops = found.device.row_sum_flops = (MwCurve){0};
    mw_probe_fill(&found, &probes);
    MwText text = {.arena = arena};
    mw_cluster_print(&text, &found);
    MwDiags *diags = mw_diags_new(arena);
    ck_assert_ptr_nonnull(mw_cluster_read(arena, &(MwSource){"found", text.at, text.bytes}, diags));
    MwCostModel noisy = mw_cost_model(&found, &mesh);
    for (int d = 0; d < 3; d++) {
        double before = 0;
        for (double size = 1; size < 3000; size *= 1.3) {
            MwWork work = {.kind = MW_WORK_GEMM, .m = 64, .n = 64, .k = 64, .batch = 1};
            *(d == 0 ? &work.m : d == 1 ? &work.n : &work.k) = size;
            work.flops = 2 * work.m * work.n * work.k;
            double s = mw_cost_work_s(&noisy, &work);
            ck_assert_double_ge(s, before * (1 - 1e-12));
            before = s;
        }
    }
    mw_arena_free(&arena);
}
END_TEST

/* ---- Traces ---- */

enum { TRACE_STEPS = 9 };

/* A trace of two ranks in which instruction i of a step begins i units after the first one, and
 * runs for half a unit: 10 us in the first step, then 1 us, but 5 us in every fourth. */
static const char *write_trace(MwArena *arena, const MwProbes *probes)
{
    const char *path = mw_arena_printf(arena, "%s/test_probe.XXXXXX", mw_file_scratch());
    const int fd = mkstemp((char *)path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    ck_assert_ptr_nonnull(file);
    double clock_us = 0;
    for (int step = 0; step < TRACE_STEPS; step++) {
        const double unit_us = step == 0 ? 10 : step % 4 == 0 ? 5 : 1;
        for (int i = 0; i < probes->plan->meshes[0].programs[0].instr_count; i++) {
            for (int rank = 0; rank < 2; rank++)
                fprintf(file,
                        "{\"pid\": %d, \"ts\": 1795876931%012.3f, \"dur\": %.3f, \"args\": "
                        "{\"instruction\": %d}},\n",
                        rank, clock_us, unit_us / 2, i);
            clock_us += unit_us;
        }
    }
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

/* An instruction takes the time until the next one begins. */
START_TEST(times_are_typical_or_means)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwProbes typical = mw_probe_new(arena, 2, 2, false), mean = mw_probe_new(arena, 2, 2, false);
    const char *path = write_trace(arena, &typical);
    ck_assert(mw_probe_read(&typical, MW_PROBE_TYPICAL, path, diags));
    ck_assert(mw_probe_read(&mean, MW_PROBE_MEAN, path, diags));
    for (int p = 0; p + 1 < typical.count; p++) {
        ck_assert_double_eq_tol(typical.probes[p].time_s, 1e-6, 1e-10);
        ck_assert_double_eq_tol(mean.probes[p].time_s, 2e-6, 1e-10);
    }
    unlink(path);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe");
    TCase *tcase = tcase_create("probe");
    tcase_add_test(tcase, probes_are_plans_that_can_run);
    tcase_add_test(tcase, a_machine_gives_its_cost_model_back);
    tcase_add_test(tcase, noise_does_not_make_more_work_quicker);
    tcase_add_test(tcase, times_are_typical_or_means);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
