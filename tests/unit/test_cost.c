/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost/cost.h: values computed by hand, and what must hold of every cluster. */
#include "cost/cost.h"
#include "frontend/cluster/cluster.h"
#include "tests/unit/support.h"

#include <glob.h>
#include <math.h>
#include <string.h>

#define NEAR(actual, expected) ck_assert_double_eq_tol((actual), (expected), 1e-9 * (expected))

/* Round figures: node 10 us + 1 us a message, 100 GB/s; network 20 us + 5 us, 25 GB/s a node of
 * which one device gets at most 6.25, more than its share. */
static MwCluster test_cluster(const char *backend)
{
    static MwCurvePoint bandwidth[] = {{1e6, 100e9}, {4e6, 25e9}};
    static MwCurvePoint near = {1, 100e9}, far = {1, 25e9};
    static MwCurvePoint attention[] = {{1e6, 10e9}, {1e8, 40e9}};
    static MwCurvePoint of_bf16 = {1, 50e9}, conv[] = {{1e4, 10e9}, {1e6, 40e9}};
    static MwCurvePoint transpose = {1, 5e9}, sums[] = {{1, 1e8}, {100, 1e10}};
    static MwCurvePoint masked = {1, 40e9};
    static double sizes[] = {16, 64}, rates[] = {1e9, 2e9, 2e9, 4e9, 2e9, 4e9, 4e9, 8e9};
    return (MwCluster){
        .name = "test",
        .backend = backend,
        .nodes = 4,
        .devices_per_node = 8,
        .device = {.memory_bytes = INT64_C(16) << 30,
                   .bandwidth = {bandwidth, MW_COUNT(bandwidth)},
                   .gemm[MW_F32] = {.sizes = {sizes, 2}, .rates = {rates, 8}},
                   .gemm[MW_BF16] = {.peak_flops = 1e14,
                                     .rate_flops = 8e13,
                                     .attention_flops = {&of_bf16, 1},
                                     .masked_attention_flops = {&masked, 1}},
                   .gemm[MW_TF32] = {.rate_flops = 4e13},
                   .gemm[MW_FP8] = {.rate_flops = 8e13},
                   .attention_flops = {attention, MW_COUNT(attention)},
                   .conv_flops = {conv, MW_COUNT(conv)},
                   .conv_transpose_flops = {&transpose, 1},
                   .row_sum_flops = {sums, MW_COUNT(sums)},
                   .vector_flops = 1e10,
                   .launch_s = 1e-6,
                   .units = 100},
        .node_link = {.call_s = 10e-6, .latency_s = 1e-6, .bandwidth = {&near, 1}},
        .network_link = {.call_s = 20e-6,
                         .latency_s = 5e-6,
                         .bandwidth = {&far, 1},
                         .device_bytes_per_s = 6.25e9},
    };
}

static MwMeshShape mesh_of(const char *text)
{
    MwMeshShape mesh;
    ck_assert(mw_mesh_parse(text, &mesh));
    return mesh;
}

START_TEST(axes_take_the_links_they_cross)
{
    static const struct {
        const char *mesh;
        int axis, inner, outer, sharers;
    } cases[] = {
        {"8", 0, 8, 1, 1},    {"4x8", 0, 1, 4, 8},   {"4x8", 1, 8, 1, 1},   {"32", 0, 8, 4, 1},
        {"2x16", 0, 1, 2, 8}, {"2x16", 1, 8, 2, 1},  {"16x2", 0, 4, 4, 2},  {"16x2", 1, 2, 1, 4},
        {"2x4", 0, 2, 1, 4},  {"2x8x2", 0, 1, 2, 8}, {"2x8x2", 1, 4, 2, 2}, {"2x8x2", 2, 2, 1, 4},
        {"12", 0, 1, 12, 8}, /* 8 devices in one node, 4 in the next */
    };
    MwCluster cluster = test_cluster("cpu");
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwMeshShape mesh = mesh_of(cases[i].mesh);
        MwCostModel model = mw_cost_model(&cluster, &mesh);
        const MwAxisPath *path = &model.path[cases[i].axis];
        if (path->inner != cases[i].inner || path->outer != cases[i].outer ||
            (path->outer > 1 && path->sharers != cases[i].sharers))
            ck_abort_msg("%s axis %d: %d inner, %d outer, %d sharers", cases[i].mesh, cases[i].axis,
                         path->inner, path->outer, path->sharers);
    }
}
END_TEST

START_TEST(collectives_cost_what_the_formulas_say)
{
    static const struct {
        const char *backend, *mesh;
        MwCollective kind;
        int axis;
        double bytes, seconds;
    } cases[] = {
        /* In a node. Halving and doubling: 3 steps each way. */
        {"cpu", "4x8", MW_ALL_REDUCE, 1, 1e8, 10e-6 + 6e-6 + 1.75e-3},
        {"cpu", "4x8", MW_ALL_GATHER, 1, 1e8, 10e-6 + 3e-6 + 0.875e-3},
        {"cpu", "4x8", MW_REDUCE_SCATTER, 1, 1e8, 10e-6 + 3e-6 + 0.875e-3},
        {"cpu", "4x8", MW_ALL_TO_ALL, 1, 1e8, 10e-6 + 7e-6 + 0.875e-3},
        /* Recursive doubling, for a few bytes: 3 messages of the whole. */
        {"cpu", "4x8", MW_ALL_REDUCE, 1, 1e3, 10e-6 + 3e-6 + 3e-8},
        /* NCCL: the ring by Simple for much, by LL for little, LL128 in between. */
        {"cuda", "4x8", MW_ALL_REDUCE, 1, 1e8, 11.8e-6 + 14 * 3.8e-6 + 1.75e-3},
        {"cuda", "4x8", MW_ALL_REDUCE, 1, 1e3, 10e-6 + 14e-6 + 1.75e-8 * 4},
        {"cuda", "4x8", MW_ALL_GATHER, 1, 1e8, 11.8e-6 + 7 * 3.8e-6 + 0.875e-3},
        {"cuda", "4x8", MW_ALL_GATHER, 1, 1e6, 17.4e-6 + 7 * 2.3e-6 + 8.75e-6 / 0.92},
        {"cuda", "4x8", MW_ALL_GATHER, 1, 1e3, 10e-6 + 7e-6 + 8.75e-9 * 4},
        /* Three devices: no halving. */
        {"cpu", "3", MW_REDUCE_SCATTER, 0, 3e8, 10e-6 + 2e-6 + 2e-3},
        /* Between nodes: 8 groups share 25 GB/s. */
        {"cpu", "4x8", MW_ALL_REDUCE, 0, 1e8, 20e-6 + 20e-6 + 1.5e8 / 3.125e9},
        /* Both levels: the butterfly halves in the node, then an eighth between nodes, in one
         * call. */
        {"cpu", "32", MW_ALL_REDUCE, 0, 1e8,
         20e-6 + 6e-6 + 1.75e-3 + 20e-6 + 1.5 * 1.25e7 / 3.125e9},
        /* NCCL's tree: 2 log2(4) messages far, and a chain of eight near, up and down. For some
         * sizes it gets a part of the bandwidth. */
        {"cuda", "32", MW_ALL_REDUCE, 0, 1,
         20.2e-6 + 4 * 7.3e-6 + 14 * 1e-6 + 2 / 25e9 * 3.8 / 0.92},
        {"cuda", "32", MW_ALL_REDUCE, 0, 262144,
         27.4e-6 + 4 * 10.8e-6 + 14 * 1.65e-6 + 2 * 262144 / 25e9 / (0.92 * 7 / 9) / 0.6},
        /* Its ring over several nodes, for much: messages take longer. */
        {"cuda", "32", MW_ALL_REDUCE, 0, 1e9,
         1.4 * (21.8e-6 + 6 * 16.3e-6 + 56 * 3.8e-6) + 62e9 / 32 / 25e9},
        /* One device in each node: less of the bandwidth by LL128. */
        {"cuda", "4x8", MW_ALL_GATHER, 0, 1e5, 27.4e-6 + 3 * 6.3e-6 + 0.75e5 / 3.125e9 / 0.7},
        /* NCCL gathers by one ring through all, where MPI does it level by level. */
        {"cuda", "32", MW_ALL_GATHER, 0, 1e9,
         21.8e-6 + 3 * 16.3e-6 + 28 * 3.8e-6 + 31e9 / 32 / 25e9},
        {"cpu", "1", MW_ALL_REDUCE, 0, 1e8, 0},
        /* One message to a neighbour. Where the axis crosses nodes, the last device of a node sends
         * over the network, for each of the groups that share it. */
        {"cpu", "4x8", MW_RING_SHIFT, 1, 1e8, 10e-6 + 1e-6 + 1e-3},
        {"cuda", "32", MW_RING_SHIFT, 0, 1e8, 21.8e-6 + 16.3e-6 + 1e8 / 6.25e9},
        {"cuda", "4x8", MW_RING_SHIFT, 0, 1e8, 21.8e-6 + 16.3e-6 + 8e8 / 25e9},
        {"cuda", "4x8", MW_RING_SHIFT_BACK, 0, 1e8, 21.8e-6 + 16.3e-6 + 8e8 / 25e9},
        /* One message to the device in the mirror: on another node, for all devices of a node. */
        {"cpu", "4x8", MW_MIRROR, 1, 1e8, 10e-6 + 1e-6 + 1e-3},
        {"cuda", "32", MW_MIRROR, 0, 1e8, 21.8e-6 + 16.3e-6 + 8e8 / 25e9},
        {"cuda", "4x8", MW_MIRROR, 0, 1e8, 21.8e-6 + 16.3e-6 + 8e8 / 25e9},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwCluster cluster = test_cluster(cases[i].backend);
        MwMeshShape mesh = mesh_of(cases[i].mesh);
        MwCostModel model = mw_cost_model(&cluster, &mesh);
        double s = mw_cost_collective_s(&model, cases[i].kind, cases[i].axis, cases[i].bytes);
        if (fabs(s - cases[i].seconds) > 1e-9 * cases[i].seconds)
            ck_abort_msg("case %d: %g s, not %g s", i, s, cases[i].seconds);
    }
}
END_TEST

/* All-reduces on the test cluster by each algorithm: in a node of 8 (10 + 1 us, 100 GB/s), between
 * 4 nodes (20 + 5 us, 3.125 GB/s each of 8 groups), and on all 32. */
START_TEST(algorithms_cost_what_the_formulas_say)
{
    static const struct {
        const char *mesh;
        int axis;
        MwAlgorithm algorithm;
        double bytes, seconds;
    } cases[] = {
        {"4x8", 1, MW_ALGORITHM_RING, 1e8, 10e-6 + 14e-6 + 1.75e-3},
        {"4x8", 1, MW_ALGORITHM_TREE, 1e8, 10e-6 + 6e-6 + 2e-3},
        {"4x8", 1, MW_ALGORITHM_DOUBLING, 1e8, 10e-6 + 3e-6 + 3e-3},
        {"4x8", 1, MW_ALGORITHM_BUTTERFLY, 1e8, 10e-6 + 6e-6 + 1.75e-3},
        {"4x8", 1, MW_ALGORITHM_NAIVE, 1e8, 10e-6 + 14e-6 + 14e-3},
        {"4x8", 1, MW_ALGORITHM_SERVER, 1e8, 10e-6 + 14e-6 + 1.75e-3},
        {"4x8", 1, MW_ALGORITHM_HIERARCHICAL, 1e8, INFINITY}, /* on one level */
        {"4x8", 1, MW_ALGORITHM_PAIRWISE, 1e8, INFINITY},     /* no all-reduce is done so */
        {"4x8", 0, MW_ALGORITHM_RING, 1e8, 20e-6 + 30e-6 + 1.5e8 / 3.125e9},
        /* Six devices: two fold onto four, before and after, with everything. */
        {"6", 0, MW_ALGORITHM_DOUBLING, 1e8, 10e-6 + 4e-6 + 4e-3},
        {"6", 0, MW_ALGORITHM_BUTTERFLY, 1e8, 10e-6 + 6e-6 + 1.5e-3 + 2e-3},
        /* All: a ring crosses each node once, with what its devices get of the network. */
        {"32", 0, MW_ALGORITHM_RING, 1e8, 20e-6 + 6 * 5e-6 + 56 * 1e-6 + 62. / 32 * 1e8 / 25e9},
        {"32", 0, MW_ALGORITHM_TREE, 1e8, 20e-6 + 4 * 5e-6 + 6 * 1e-6 + 2e8 / 25e9},
        {"32", 0, MW_ALGORITHM_DOUBLING, 1e8, 20e-6 + 3e-6 + 3e-3 + 10e-6 + 2e8 / 3.125e9},
        {"32", 0, MW_ALGORITHM_BUTTERFLY, 1e8, 20e-6 + 6e-6 + 1.75e-3 + 20e-6 + 1.5 * 4e-3},
        /* 7 of 31 others are near; one device receives 6.25 GB/s of the network. */
        {"32", 0, MW_ALGORITHM_NAIVE, 1e8, 20e-6 + 14e-6 + 14e-3 + 48 * 5e-6 + 48e8 / 6.25e9},
        {"32", 0, MW_ALGORITHM_SERVER, 1e8,
         20e-6 + 14e-6 + 14. / 32 * 1e-3 + 48 * 5e-6 + 48. / 32 * 1e8 / 3.125e9},
        {"32", 0, MW_ALGORITHM_HIERARCHICAL, 1e8,
         2 * (13e-6 + 0.875e-3) + 40e-6 + 1.5 * 1.25e7 / 3.125e9},
    };
    MwCluster cluster = test_cluster("cpu");
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwMeshShape mesh = mesh_of(cases[i].mesh);
        MwCostModel model = mw_cost_model(&cluster, &mesh);
        double s = mw_cost_algorithm_s(&model, MW_ALL_REDUCE, cases[i].algorithm, cases[i].axis,
                                       cases[i].bytes);
        if (s != cases[i].seconds && !(fabs(s - cases[i].seconds) <= 1e-9 * cases[i].seconds))
            ck_abort_msg("case %d: %g s, not %g s", i, s, cases[i].seconds);
    }
}
END_TEST

/* By size and by topology, among what the library has. */
START_TEST(the_fastest_algorithm_is_chosen)
{
    static const struct {
        const char *backend, *mesh;
        int axis;
        double bytes;
        MwAlgorithm algorithm;
    } cases[] = {
        {"cpu", "4x8", 1, 1e3, MW_ALGORITHM_DOUBLING},
        {"cpu", "4x8", 1, 1e8, MW_ALGORITHM_BUTTERFLY},
        {"cpu", "6", 0, 1e3, MW_ALGORITHM_TREE}, /* no butterfly of six devices */
        {"cpu", "6", 0, 1e8, MW_ALGORITHM_RING},
        {"cuda", "4x8", 1, 1e3, MW_ALGORITHM_RING},
        {"cuda", "4x8", 1, 1e8, MW_ALGORITHM_RING},
        {"cuda", "4x8", 0, 1e8, MW_ALGORITHM_RING},
        {"cuda", "32", 0, 1e3, MW_ALGORITHM_TREE},
        {"cuda", "32", 0, 1e9, MW_ALGORITHM_RING},
        /* As many bytes cross the network as in one ring, in fewer messages. */
        {"cpu", "24", 0, 1e9, MW_ALGORITHM_HIERARCHICAL},
        {"cuda", "1", 0, 1e9, MW_ALGORITHM_COUNT},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwCluster cluster = test_cluster(cases[i].backend);
        MwMeshShape mesh = mesh_of(cases[i].mesh);
        MwCostModel model = mw_cost_model(&cluster, &mesh);
        const MwCollectiveChoice choice =
            mw_cost_choice(&model, MW_ALL_REDUCE, cases[i].axis, cases[i].bytes);
        if (choice.algorithm != cases[i].algorithm)
            ck_abort_msg("case %d: %d, not %d", i, choice.algorithm, cases[i].algorithm);
        if (choice.algorithm != MW_ALGORITHM_COUNT)
            NEAR(choice.time_s, mw_cost_algorithm_s(&model, MW_ALL_REDUCE, choice.algorithm,
                                                    cases[i].axis, cases[i].bytes));
    }
}
END_TEST

/* On the test cluster whose switches sum at 80 GB/s for each device. */
START_TEST(switches_sum_where_they_can)
{
    static const struct {
        const char *mesh;
        int axis;
        double bytes, seconds;
    } cases[] = {
        {"4x8", 1, 1e6, 3.4e-6 + 23.4e-6 + 1.2e6 / 80e9},
        /* Between two nodes all of the network; between four, half. */
        {"16", 0, 1e6, 13.4e-6 + 23.4e-6 + 2 * 16.3e-6 + 1.2e6 / 25e9},
        {"32", 0, 1e6, 13.4e-6 + 23.4e-6 + 4 * 16.3e-6 + 1.2e6 / 12.5e9},
        {"4x8", 0, 1e6, INFINITY}, /* one device in each node */
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwCluster cluster = test_cluster("cuda");
        cluster.node_link.switch_bytes_per_s = 80e9;
        MwMeshShape mesh = mesh_of(cases[i].mesh);
        MwCostModel model = mw_cost_model(&cluster, &mesh);
        const double s = mw_cost_algorithm_s(&model, MW_ALL_REDUCE, MW_ALGORITHM_SWITCH,
                                             cases[i].axis, cases[i].bytes);
        if (s != cases[i].seconds && !(fabs(s - cases[i].seconds) <= 1e-9 * cases[i].seconds))
            ck_abort_msg("case %d: %g s, not %g s", i, s, cases[i].seconds);
        const MwCollectiveChoice choice =
            mw_cost_choice(&model, MW_ALL_REDUCE, cases[i].axis, cases[i].bytes);
        ck_assert_int_eq(choice.algorithm == MW_ALGORITHM_SWITCH, isfinite(s));
        cluster.backend = "cpu"; /* MPI does not ask them to */
        ck_assert_int_ne(
            mw_cost_choice(&model, MW_ALL_REDUCE, cases[i].axis, cases[i].bytes).algorithm,
            MW_ALGORITHM_SWITCH);
        cluster.node_link.switch_bytes_per_s = 0;
        ck_assert(isinf(mw_cost_algorithm_s(&model, MW_ALL_REDUCE, MW_ALGORITHM_SWITCH,
                                            cases[i].axis, cases[i].bytes)));
    }
}
END_TEST

START_TEST(one_device_gets_no_more_of_the_network_than_it_can)
{
    MwCluster cluster = test_cluster("cpu");
    cluster.network_link.device_bytes_per_s = 2e9;
    MwMeshShape mesh = mesh_of("4x8");
    MwCostModel model = mw_cost_model(&cluster, &mesh);
    NEAR(mw_cost_collective_s(&model, MW_ALL_GATHER, 0, 1e8), 20e-6 + 10e-6 + 0.75e8 / 2e9);
}
END_TEST

START_TEST(measured_collectives_replace_the_formula)
{
    MwCluster cluster = test_cluster("cpu");
    MwCurvePoint two[] = {{1e3, 5e-6}, {1e6, 500e-6}}, four[] = {{1e3, 8e-6}, {1e6, 900e-6}};
    MwMeasuredCollective measured[] = {{MW_ALL_REDUCE, 2, {two, 2}}, {MW_ALL_REDUCE, 4, {four, 2}}};
    cluster.node_link.measured = measured;
    cluster.node_link.measured_count = MW_COUNT(measured);
    MwMeshShape mesh = mesh_of("2x2x2"), wide = mesh_of("8"), middle = mesh_of("4");
    MwCostModel of_two = mw_cost_model(&cluster, &mesh), of_eight = mw_cost_model(&cluster, &wide);
    MwCostModel of_four = mw_cost_model(&cluster, &middle);
    NEAR(mw_cost_collective_s(&of_two, MW_ALL_REDUCE, 2, 1e3), 5e-6);
    NEAR(mw_cost_collective_s(&of_two, MW_ALL_REDUCE, 2, 10), 5e-6);
    NEAR(mw_cost_collective_s(&of_two, MW_ALL_REDUCE, 2, sqrt(1e9)), 50e-6);
    NEAR(mw_cost_collective_s(&of_two, MW_ALL_REDUCE, 2, 3e6), 1500e-6);
    NEAR(mw_cost_collective_s(&of_four, MW_ALL_REDUCE, 0, 1e6), 900e-6);
    ck_assert_int_eq(mw_cost_choice(&of_four, MW_ALL_REDUCE, 0, 1e6).algorithm, MW_ALGORITHM_COUNT);
    /* Eight from four: the latency grows as 10 + 3 to 10 + 2 us, the volume as 7/8 to 3/4. */
    NEAR(mw_cost_collective_s(&of_eight, MW_ALL_REDUCE, 0, 1e6),
         8e-6 * 13 / 12 + 892e-6 * (7.0 / 8) / (3.0 / 4));
    /* No curve of a gather: as long until it begins as an all-reduce, and half the bytes. */
    NEAR(mw_cost_collective_s(&of_two, MW_ALL_GATHER, 2, 1e6), 5e-6 + 495e-6 / 2);
}
END_TEST

/* More devices may get more of the node's link, as over several NVLinks at once. */
START_TEST(bandwidth_may_depend_on_the_devices)
{
    MwCluster cluster = test_cluster("cpu");
    MwCurvePoint points[] = {{2, 25e9}, {8, 100e9}};
    cluster.node_link.bandwidth = (MwCurve){points, 2};
    MwMeshShape mesh = mesh_of("2x4");
    MwCostModel model = mw_cost_model(&cluster, &mesh);
    NEAR(mw_cost_collective_s(&model, MW_ALL_GATHER, 0, 1e9), 11e-6 + 0.5e9 / 25e9);
    NEAR(mw_cost_collective_s(&model, MW_ALL_GATHER, 1, 1e9), 12e-6 + 0.75e9 / 50e9);
}
END_TEST

START_TEST(work_costs_what_the_formulas_say)
{
    static const struct {
        MwWork work;
        double seconds;
    } cases[] = {
        {{.kind = MW_WORK_NONE, .bytes = 1e9}, 0},
        /* Streams: by arithmetic, in the cache, half way to memory (in logarithms), from memory. */
        {{MW_WORK_STREAM, MW_F32, .flops = 1e6, .bytes = 1e6}, 1e-6 + 1e-4},
        {{MW_WORK_STREAM, MW_F32, .flops = 1, .bytes = 5e5}, 1e-6 + 5e-6},
        {{MW_WORK_STREAM, MW_F32, .flops = 1, .bytes = 2e6}, 1e-6 + 2e6 / 50e9},
        {{MW_WORK_STREAM, MW_F32, .flops = 1, .bytes = 1e8}, 1e-6 + 4e-3},
        /* From where the bytes are, if that is known. */
        {{MW_WORK_STREAM, MW_F32, .flops = 1, .bytes = 5e5, .memory_s = 7e-5}, 1e-6 + 7e-5},
        {{MW_WORK_STREAM, MW_F32, .flops = 1e6, .bytes = 5e5, .memory_s = 7e-5}, 1e-6 + 1e-4},
        /* Sums of rows have a rate of their own, by the elements of a row. */
        {{MW_WORK_STREAM, MW_F32, .flops = 1e6, .row_flops = 4e5, .columns = 10},
         1e-6 + 6e5 / 1e10 + 4e5 / 1e9},
        {{MW_WORK_STREAM, MW_F32, .flops = 1e6, .row_flops = 1e6, .columns = 1e4},
         1e-6 + 1e6 / 1e10},
        /* Products: on the table, between its sizes, padded below, held above. */
        {{MW_WORK_GEMM, MW_F32, .m = 64, .n = 64, .k = 16, .batch = 1}, 1e-6 + 131072 / 4e9},
        {{MW_WORK_GEMM, MW_F32, .m = 32, .n = 32, .k = 16, .batch = 1}, 1e-6 + 32768 / 2e9},
        {{MW_WORK_GEMM, MW_F32, .m = 1, .n = 16, .k = 16, .batch = 3}, 1e-6 + 3 * 8192 / 1e9},
        {{MW_WORK_GEMM, MW_F32, .m = 128, .n = 128, .k = 128, .batch = 1}, 1e-6 + 4194304 / 8e9},
        /* Without a table: one wave of 100 tiles of 2 * 128 * 128 * 64 at 8e11 each; two waves. */
        {{MW_WORK_GEMM, MW_BF16, .m = 1, .n = 1, .k = 64, .batch = 1}, 1e-6 + 2097152 / 8e11},
        {{MW_WORK_GEMM, MW_F16, .m = 1280, .n = 1280, .k = 64, .batch = 1}, 1e-6 + 2097152 / 8e11},
        {{MW_WORK_GEMM, MW_BF16, .m = 1280, .n = 1280, .k = 64, .batch = 1}, 1e-6 + 2097152 / 8e11},
        {{MW_WORK_GEMM, MW_BF16, .m = 1281, .n = 1280, .k = 64, .batch = 1}, 1e-6 + 4194304 / 8e11},
        /* With memory traffic of 1e5 / 1e11 beside it, of which part overlaps; on the table the
         * greater of both. */
        {{MW_WORK_GEMM, MW_BF16, .bytes = 1e5, .m = 1280, .n = 1280, .k = 64, .batch = 1},
         1e-6 + sqrt(2.62144e-6 * 2.62144e-6 + 1e-12)},
        {{MW_WORK_GEMM, MW_F32, .bytes = 1e6, .m = 64, .n = 64, .k = 16, .batch = 1},
         1e-6 + 131072 / 4e9},
        /* The table has traffic of near caches in it, 1e6 / 1e11 here. */
        {{MW_WORK_GEMM, MW_F32, .bytes = 1e6, .memory_s = 4e-5, .m = 64, .n = 64, .k = 16,
          .batch = 1},
         1e-6 + 131072 / 4e9 + 3e-5},
        {{MW_WORK_GEMM, MW_F32, .bytes = 1e6, .memory_s = 1e-6, .m = 64, .n = 64, .k = 16,
          .batch = 1},
         1e-6 + 131072 / 4e9},
        /* Convolutions: by the FLOPs of a window; where there is no curve, as products. */
        {{MW_WORK_CONV, MW_F32, .flops = 1e6, .windows = 10, .m = 1, .n = 1, .k = 1, .batch = 1},
         1e-6 + 1e6 / 20e9},
        {{MW_WORK_CONV, MW_F32, .flops = 1e6, .bytes = 1e6, .windows = 10, .memory_s = 4e-5},
         1e-6 + 1e6 / 20e9 + 3e-5},
        {{MW_WORK_CONV_TRANSPOSE, MW_F32, .flops = 1e6, .windows = 1e6}, 1e-6 + 1e6 / 5e9},
        {{MW_WORK_CONV_FILTER_GRAD, MW_F32, .flops = 131072, .windows = 64, .m = 64, .n = 64,
          .k = 16, .batch = 1},
         1e-6 + 131072 / 4e9},
        {{MW_WORK_GEMM, MW_I32, .m = 16, .n = 16, .k = 16, .batch = 1}, 1e-6 + 8192 / 1e9},
        {{MW_WORK_ATTENTION, MW_F32, .flops = 8e7, .batch = 8, .m = 1, .n = 1, .k = 1},
         1e-6 + 8e7 / 20e9},
        /* A curve of the type comes before that of the device, also for f16. */
        /* floats of 8 bits, and those of a device that has them in bf16 */
        {{MW_WORK_GEMM, MW_E4M3, .m = 1280, .n = 1280, .k = 64, .batch = 1}, 1e-6 + 2097152 / 8e11},
        {{MW_WORK_GEMM, MW_E5M2, .m = 1280, .n = 1280, .k = 64, .batch = 1}, 1e-6 + 2097152 / 8e11},
        {{MW_WORK_GEMM, MW_TF32, .m = 1280, .n = 1280, .k = 64, .batch = 1}, 1e-6 + 2097152 / 4e11},
        {{MW_WORK_ATTENTION, MW_BF16, .flops = 8e7, .batch = 8, .m = 1, .n = 1, .k = 1},
         1e-6 + 8e7 / 50e9},
        {{MW_WORK_ATTENTION, MW_BF16, .flops = 8e7, .batch = 8, .is_masked = true},
         1e-6 + 8e7 / 40e9},
        {{MW_WORK_ATTENTION, MW_F32, .flops = 8e7, .batch = 8, .is_masked = true},
         1e-6 + 8e7 / 20e9},
        {{MW_WORK_ATTENTION, MW_F16, .flops = 8e7, .batch = 8, .m = 1, .n = 1, .k = 1},
         1e-6 + 8e7 / 50e9},
        /* No curve: 4 m n k at half the rate of products. */
        {{MW_WORK_ATTENTION_GRAD, MW_F32, .flops = 4 * 262144, .batch = 1, .m = 64, .n = 64,
          .k = 64},
         1e-6 + 4 * 262144 / 4e9},
        /* On the host, whose processors all devices of the node share. */
        {{MW_WORK_HOST_COPY, MW_F32, .bytes = 1e6}, 3e-6 + 1e6 / 5e9},
        {{MW_WORK_HOST, MW_F32, .flops = 1e12, .bytes = 1e6}, 1e-6 + 8 * 1e6 / 2e10},
    };
    MwCluster cluster = test_cluster("cpu");
    cluster.host = (MwHostModel){
        .memory_bytes = 1, .latency_s = 3e-6, .bytes_per_s = 5e9, .update_bytes_per_s = 2e10};
    MwMeshShape mesh = mesh_of("1");
    MwCostModel model = mw_cost_model(&cluster, &mesh);
    for (int i = 0; i < MW_COUNT(cases); i++) {
        double s = mw_cost_work_s(&model, &cases[i].work);
        if (fabs(s - cases[i].seconds) > 1e-9 * cases[i].seconds)
            ck_abort_msg("case %d: %g s, not %g s", i, s, cases[i].seconds);
    }
}
END_TEST

/* More bytes never cost less, nor an all-reduce less than the reduce-scatter that it holds. NCCL
 * has trees for the all-reduce alone, which are quicker for few bytes. */
static void check_monotone(const MwCluster *cluster, const char *mesh_text)
{
    MwMeshShape mesh = mesh_of(mesh_text);
    if (mw_mesh_devices(&mesh) > mw_cluster_devices(cluster))
        return;
    MwCostModel model = mw_cost_model(cluster, &mesh);
    bool has_trees = strcmp(cluster->backend, "cuda") == 0;
    double before[MW_COLLECTIVE_COUNT] = {0};
    for (double bytes = 16; bytes < 1e10; bytes *= 1.7) {
        double s[MW_COLLECTIVE_COUNT];
        for (int kind = 0; kind < MW_COLLECTIVE_COUNT; kind++) {
            s[kind] = mw_cost_collective_s(&model, kind, 0, bytes);
            ck_assert_double_ge(s[kind], before[kind]);
            before[kind] = s[kind];
        }
        if (has_trees && bytes < 1e7)
            continue;
        ck_assert_double_ge(s[MW_ALL_REDUCE], s[MW_REDUCE_SCATTER]);
        ck_assert_double_ge(s[MW_ALL_REDUCE], s[MW_ALL_GATHER]);
    }
}

static void check_meshes(const MwCluster *cluster)
{
    static const char *const meshes[] = {"2",  "3",   "4",   "8",    "16",  "24",
                                         "32", "4x8", "8x4", "2x16", "16x8"};
    for (int i = 0; i < MW_COUNT(meshes); i++)
        check_monotone(cluster, meshes[i]);
}

START_TEST(costs_are_monotone)
{
    MwCluster with_mpi = test_cluster("cpu"), with_nccl = test_cluster("cuda");
    check_meshes(&with_mpi);
    check_meshes(&with_nccl);
}
END_TEST

START_TEST(costs_are_monotone_on_the_clusters_of_the_repository)
{
    glob_t files;
    ck_assert_int_eq(glob(SOURCE_ROOT "/clusters/*.cluster", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        MwArena *arena = mw_arena_new();
        MwDiags *diags = mw_diags_new(arena);
        MwCluster *cluster = mw_cluster_load(arena, files.gl_pathv[i], diags);
        ck_assert_ptr_nonnull(cluster);
        check_meshes(cluster);
        mw_arena_free(&arena);
    }
    globfree(&files);
}
END_TEST

START_TEST(products_grow_with_every_dimension)
{
    MwCluster cluster = test_cluster("cpu");
    MwMeshShape mesh = mesh_of("1");
    MwCostModel model = mw_cost_model(&cluster, &mesh);
    for (int type = MW_F32; type <= MW_BF16; type++)
        for (int d = 0; d < 3; d++) {
            double before = 0;
            for (double size = 1; size < 4000; size += size < 300 ? 1 : 37) {
                MwWork work = {
                    .kind = MW_WORK_GEMM, .type = type, .m = 48, .n = 48, .k = 48, .batch = 1};
                *(d == 0 ? &work.m : d == 1 ? &work.n : &work.k) = size;
                double s = mw_cost_work_s(&model, &work);
                ck_assert_double_ge(s, before * (1 - 1e-12));
                before = s;
            }
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *tcase = tcase_create("cost");
    tcase_add_test(tcase, axes_take_the_links_they_cross);
    tcase_add_test(tcase, collectives_cost_what_the_formulas_say);
    tcase_add_test(tcase, algorithms_cost_what_the_formulas_say);
    tcase_add_test(tcase, the_fastest_algorithm_is_chosen);
    tcase_add_test(tcase, switches_sum_where_they_can);
    tcase_add_test(tcase, one_device_gets_no_more_of_the_network_than_it_can);
    tcase_add_test(tcase, measured_collectives_replace_the_formula);
    tcase_add_test(tcase, bandwidth_may_depend_on_the_devices);
    tcase_add_test(tcase, work_costs_what_the_formulas_say);
    tcase_add_test(tcase, costs_are_monotone);
    tcase_add_test(tcase, costs_are_monotone_on_the_clusters_of_the_repository);
    tcase_add_test(tcase, products_grow_with_every_dimension);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
