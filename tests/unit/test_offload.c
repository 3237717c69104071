/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States on the host: which ones, what is copied there and back, and that numbers stay the same. */
#include "ir/host.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <string.h>

enum { STEPS = 3 };

#define MODEL(train)                                                                               \
    "model m {\n"                                                                                  \
    "input x: f32[8, 64]\n"                                                                        \
    "input ids: i32[8]\n"                                                                          \
    "weight w: f32[64, 64] = normal(0.1)\n"                                                        \
    "weight b: f32[64] = zeros\n"                                                                  \
    "weight table: f32[64, 64] = normal(0.1)\n"                                                    \
    "h = (x + embedding(ids, table)) @ w + b\n"                                                    \
    "train mean(h * h) with " train "\n"                                                           \
    "}\n"

static TestModel model_of(const char *text, MwOffload offload)
{
    const MwCompileOptions options = {
        .micro_batches = 1, .has_offload = offload != MW_OFFLOAD_NONE, .offload = offload};
    TestModel model = test_model_compile(text, &options, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    return model;
}

static int count(const MwGraph *graph, MwOp op)
{
    int found = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        found += graph->nodes.at[n].op == op;
    return found;
}

/* The names of the weights and states on the host. */
static const char *names_on_host(MwArena *arena, const MwGraph *graph)
{
    const bool *on_host = mw_on_host(arena, graph);
    const char *names = "";
    for (int n = 0; n < graph->nodes.count; n++) {
        const int value = graph->nodes.at[n].first_result;
        if (graph->nodes.at[n].operand_count == 0 && on_host[value])
            names = mw_arena_printf(arena, "%s%s%s", names, *names ? " " : "",
                                    graph->values.at[value].name);
    }
    return names;
}

static const struct {
    const char *text, *names;
    int there, back;
} placements[] = {
    /* Weights and gradients there, new weights back; the rate is a constant. */
    {MODEL("adamw(lr = 0.1), offload = states"), "w.m w.v table.m table.v", 4, 2},
    {MODEL("adamw(lr = 0.1), offload = states, only = \"w\""), "w.m w.v", 2, 1},
    {MODEL("adamw(lr = 0.1), offload = states, sparse = \"table\""), "w.m w.v", 2, 1},
    {MODEL("adamw(lr = 0.1), offload = states, states = bf16, only = [\"w\", \"b\"]"), "w.m w.v", 2,
     1},
    {MODEL("adamw(lr = 0.1), offload = states, states = fp8, only = \"w\""),
     "w.m w.m.scale w.v w.v.scale", 2, 1},
    /* The average goes with the states; how far it moves, and clipping, are numbers. */
    {MODEL("adamw(lr = 0.1), offload = states, ema = 0.9, only = \"w\""), "w.m w.v w.ema", 3, 1},
    {MODEL("adamw(lr = 0.1), offload = states, clip_norm = 1, only = \"w\""), "w.m w.v", 3, 1},
    /* A rate of a schedule is a number, too. */
    {MODEL("sgd(lr = 0.1, momentum = 0.9), offload = states, only = \"w\", warmup_steps = 9"),
     "w.m", 3, 1},
    /* Changes come back, and weights are changed on the device. Products are there, too. */
    {MODEL("lamb(lr = 0.1), offload = states, only = \"w\""), "w.m w.v", 2, 1},
    {MODEL("muon(lr = 0.1), offload = states, only = \"w\""), "w.m", 1, 1},
    /* With weights, gradients go there, and new weights come back to copies on the device; of muon
     * the change goes there, with two numbers. */
    {MODEL("adamw(lr = 0.1), offload = weights"), "w table w.m w.v table.m table.v", 2, 2},
    {MODEL("lamb(lr = 0.1), offload = weights, only = \"w\""), "w w.m w.v", 2, 3},
    {MODEL("muon(lr = 0.1), offload = weights, only = \"w\""), "w w.m", 4, 2},
    /* Rows and columns are too small to go, and other optimizers keep nothing. */
    {MODEL("adafactor(lr = 0.1), offload = states"), "", 0, 0},
    {MODEL("sgd(lr = 0.1), offload = states"), "", 0, 0},
    {MODEL("adamw(lr = 0.1), offload = none"), "", 0, 0},
};

START_TEST(states_go_to_the_host)
{
    TestModel model = model_of(placements[_i].text, MW_OFFLOAD_NONE);
    const MwGraph *graph = model.compilation.graph;
    ck_assert_str_eq(names_on_host(model.arena, graph), placements[_i].names);
    ck_assert_int_eq(count(graph, MW_OP_TO_HOST), placements[_i].there);
    ck_assert_int_eq(count(graph, MW_OP_TO_DEVICE), placements[_i].back);
    test_model_free(&model);
}
END_TEST

/* Of some quarters of the layers, evenly spread. */
START_TEST(states_of_some_layers_go_to_the_host)
{
    static const char text[] = "model m {\n"
                               "  input x: f32[64, 64]\n"
                               "  h = x\n"
                               "  repeat 8 as l {\n"
                               "    weight w: f32[64, 64] = normal(0.1)\n"
                               "    h = tanh(h @ w)\n"
                               "  }\n"
                               "  train mean(h * h) with adamw(lr = 0.1), offload = states\n"
                               "}\n";
    static const int layers[] = {8, 2, 4, 6};
    const MwCompileOptions options = {.micro_batches = 1, .offload_quarters = _i};
    TestModel model = test_model_compile(text, &options, MW_PASS_clean);
    const MwGraph *graph = model.compilation.graph;
    const bool *on_host = mw_on_host(model.arena, graph);
    int states[2] = {0, 0}; /* of each half of the layers */
    ck_assert(model.ok);
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_STATE && on_host[graph->nodes.at[n].first_result])
            states[graph->nodes.at[n].origin.layer >= 4]++;
    ck_assert_int_eq(states[0], layers[_i]); /* two of each */
    ck_assert_int_eq(states[1], layers[_i]);
    test_model_free(&model);
}
END_TEST

/* Nothing on the device takes what is on the host, nor the other way round. */
START_TEST(copies_alone_cross)
{
    TestModel model = model_of(placements[_i].text, MW_OFFLOAD_NONE);
    const MwGraph *graph = model.compilation.graph;
    const bool *on_host = mw_on_host(model.arena, graph);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const bool crosses = node->op == MW_OP_TO_HOST || node->op == MW_OP_TO_DEVICE;
        for (int k = 0; k < node->operand_count; k++)
            ck_assert(mw_host_ignores(graph, node->operands[k]) ||
                      (on_host[node->operands[k].index] != on_host[node->first_result]) == crosses);
    }
    for (int i = 0; i < graph->assigns.count; i++)
        ck_assert(on_host[graph->assigns.at[i].target.index] ==
                  on_host[graph->assigns.at[i].value.index]);
    test_model_free(&model);
}
END_TEST

/* Sets the copies of weights, as a run does. */
static void set_copies(const TestModel *model)
{
    const MwGraph *graph = model->compilation.graph;
    const MwValueId *copied = mw_host_weights(model->arena, graph);
    for (int v = 0; v < graph->values.count; v++) {
        const MwValueId state = {v}, weight = copied[v];
        if (mw_has_value(weight))
            memcpy(interpreter_value(model->run, mw_value(graph, state)->name),
                   interpreter_value(model->run, mw_value(graph, weight)->name),
                   sizeof(double) * 64 * 64);
    }
}

START_TEST(numbers_stay_the_same)
{
    static const char *const texts[] = {
        MODEL("adamw(lr = 0.1), clip_norm = 1, ema = 0.9"), MODEL("lamb(lr = 0.1)"),
        MODEL("adamw(lr = 0.1), states = fp8"), MODEL("muon(lr = 0.1), only = \"w\""),
        MODEL("adagrad(lr = 0.1)")};
    const MwOffload offload = _i % 2 ? MW_OFFLOAD_WEIGHTS : MW_OFFLOAD_STATES;
    TestModel here = model_of(texts[_i / 2], MW_OFFLOAD_NONE),
              there = model_of(texts[_i / 2], offload);
    ck_assert_int_gt(count(there.compilation.graph, MW_OP_TO_HOST), 0);
    set_copies(&there);
    for (int step = 0; step < STEPS; step++) {
        interpreter_step(here.run);
        interpreter_step(there.run);
    }
    const double *a = interpreter_value(here.run, "w"), *b = interpreter_value(there.run, "w");
    for (int i = 0; i < 64 * 64; i++)
        ck_assert_double_eq(a[i], b[i]);
    test_model_free(&here);
    test_model_free(&there);
}
END_TEST

/* With a dump after the pass, it has nothing to do. */
START_TEST(it_happens_once)
{
    TestModel model = model_of(MODEL("adamw(lr = 0.1), offload = states"), MW_OFFLOAD_NONE);
    const MwGraph *before = model.compilation.graph;
    ck_assert(mw_pass_offload(&model.compilation, model.diags));
    ck_assert_ptr_eq(model.compilation.graph, before);
    test_model_free(&model);
}
END_TEST

START_TEST(a_cluster_without_a_host_is_refused)
{
    const MwCompileOptions options = {.micro_batches = 1};
    TestModel model = test_model_compile(MODEL("adamw(lr = 0.1)"), &options, MW_PASS_update);
    MwCluster cluster = test_cluster(1);
    cluster.host = (MwHostModel){0};
    model.compilation.cluster = &cluster;
    model.compilation.options.has_offload = true;
    model.compilation.options.offload = MW_OFFLOAD_STATES;
    ck_assert(!mw_pass_offload(&model.compilation, model.diags));
    ck_assert_ptr_nonnull(strstr(diags_text(model.arena, model.diags),
                                 "states cannot be offloaded: the cluster test says nothing of "
                                 "the host of a node"));
    test_model_free(&model);
}
END_TEST

/* The type of the copy is that in which all take the weight. */
static const struct {
    const char *text;
    MwType type;
} copies[] = {
    {MODEL("adamw(lr = 0.1), offload = weights"), MW_F32},
    {"model m {\n"
     "precision bf16\n"
     "input x: f32[8, 64]\n"
     "weight w: f32[64, 64] = normal(0.1)\n"
     "train mean((x @ w) * (x @ w)) with adamw(lr = 0.1), offload = weights\n"
     "}\n",
     MW_BF16},
};

START_TEST(the_device_has_a_copy_of_a_weight)
{
    TestModel model = model_of(copies[_i].text, MW_OFFLOAD_NONE);
    const MwGraph *graph = model.compilation.graph;
    const bool *on_host = mw_on_host(model.arena, graph);
    const MwValueId weight = mw_graph_find(graph, mw_intern(graph->interner, "w"));
    const MwValueId *copied = mw_host_weights(model.arena, graph);
    int found = 0;
    ck_assert(on_host[weight.index]);
    for (int v = 0; v < graph->values.count; v++) {
        if (!mw_value_equal(copied[v], weight))
            continue;
        ck_assert(!on_host[v]);
        ck_assert_int_eq(graph->values.at[v].tensor.type, copies[_i].type);
        found++;
    }
    ck_assert_int_eq(found, 1);
    test_model_free(&model);
}
END_TEST

/* Gradients are copied in the backward, each behind the node that makes it, unless micro-batches
 * add up. */
START_TEST(gradients_are_copied_early)
{
    const MwCompileOptions options = {.micro_batches = 1 + _i};
    TestModel model =
        test_model_compile(MODEL("adamw(lr = 0.1), offload = states"), &options, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    int early = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op != MW_OP_TO_HOST || node->phase == MW_PHASE_UPDATE)
            continue;
        ck_assert_int_eq(node->phase, MW_PHASE_BACKWARD);
        ck_assert_int_eq(mw_value(graph, node->operands[0])->node.index, n - 1);
        early++;
    }
    ck_assert_int_eq(early, _i == 0 ? 2 : 0);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("offload");
    TCase *tests = tcase_create("offload");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, states_go_to_the_host, 0, MW_COUNT(placements));
    tcase_add_loop_test(tests, states_of_some_layers_go_to_the_host, 0, 4);
    tcase_add_loop_test(tests, copies_alone_cross, 0, MW_COUNT(placements));
    tcase_add_loop_test(tests, numbers_stay_the_same, 0, 2 * 5);
    tcase_add_loop_test(tests, the_device_has_a_copy_of_a_weight, 0, MW_COUNT(copies));
    tcase_add_loop_test(tests, gradients_are_copied_early, 0, 2);
    tcase_add_test(tests, it_happens_once);
    tcase_add_test(tests, a_cluster_without_a_host_is_refused);
    return run_suite(suite);
}
