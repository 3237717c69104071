/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streamed activations: what waits on the host, where it is copied, and that numbers stay the
 * same. */
#include "ir/invariant.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <string.h>

enum { LAYERS = 4, STEPS = 2, LEAST = 4096 };

static const char text[] = "model m {\n"
                           "  input x: f32[128, 64]\n"
                           "  h = x\n"
                           "  repeat 4 as l {\n"
                           "    weight w: f32[64, 64] = normal(0.1)\n"
                           "    weight u: f32[64, 2, 32] = normal(0.1)\n"
                           "    weight b: f32[64] = zeros\n"
                           "    y = gelu(einsum(\"bi,ihk->bhk\", layer_norm(h) @ w + b, u))\n"
                           "    h = h + reshape(y, [128, 64])\n"
                           "  }\n"
                           "  train mean(h * h) with adamw(lr = 0.1)\n"
                           "}\n";

static const MwPipelineKind schedules[] = {MW_PIPELINE_1F1B, MW_PIPELINE_ZB_H1};

static TestModel compiled(int index, MwRemat remat)
{
    const MwCompileOptions options = {.stages = 1,
                                      .micro_batches = 1 + index / MW_COUNT(schedules),
                                      .has_schedule = true,
                                      .schedule = schedules[index % MW_COUNT(schedules)],
                                      .remat = remat};
    TestModel model = test_model_compile(text, &options, MW_PASS_late_remat);
    ck_assert(model.ok);
    for (int step = 0; step < STEPS; step++)
        interpreter_step(model.run);
    return model;
}

static bool is_backward(const MwNode *node)
{
    return node->phase == MW_PHASE_BACKWARD || node->phase == MW_PHASE_BACKWARD_WEIGHT;
}

START_TEST(streamed_values_are_the_same)
{
    TestModel kept = compiled(_i, MW_REMAT_SELECTIVE), streamed = compiled(_i, MW_REMAT_STREAM);
    const MwGraph *graph = kept.compilation.graph;
    ck_assert_int_gt(graph->assigns.count, 0);
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwValue *target = mw_value(graph, graph->assigns.at[i].target);
        const size_t bytes = sizeof(double) * (size_t)mw_tensor_elements(&target->tensor);
        ck_assert_msg(memcmp(interpreter_value(kept.run, target->name),
                             interpreter_value(streamed.run, target->name), bytes) == 0,
                      "%s", target->name);
    }
    test_model_free(&streamed);
    test_model_free(&kept);
}
END_TEST

/* The backward of all layers but the last takes of the forward only what is small, or the same for
 * all micro-batches, or on the host. */
START_TEST(layers_keep_nothing_on_the_device)
{
    TestModel model = compiled(_i, MW_REMAT_STREAM);
    const MwGraph *graph = model.compilation.graph;
    const bool *is_invariant = mw_find_invariant(model.arena, graph);
    int back = 0, last = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count && is_backward(&graph->nodes.at[n]);
             k++) {
            const MwNode *node = &graph->nodes.at[n];
            const MwNode *maker = mw_value_node(graph, node->operands[k]);
            const MwTensor *tensor = mw_value_tensor(graph, node->operands[k]);
            const bool is_kept = maker->phase == MW_PHASE_FORWARD && maker->operand_count > 0 &&
                                 mw_tensor_elements(tensor) >= LEAST &&
                                 !is_invariant[node->operands[k].index];
            if (node->op == MW_OP_TO_DEVICE)
                ck_assert_int_eq(maker->op, MW_OP_TO_HOST);
            else if (node->origin.layer < LAYERS - 1)
                ck_assert_msg(!is_kept, "%s", mw_value(graph, node->operands[k])->name);
            back += node->op == MW_OP_TO_DEVICE;
            last += is_kept && node->origin.layer == LAYERS - 1;
        }
    ck_assert_int_eq(back, 3 * (LAYERS - 1) - 1); /* what the first layer takes is an input */
    ck_assert_int_gt(last, 0);
    test_model_free(&model);
}
END_TEST

/* The first or the last node of a layer in a phase; copies aside. */
static int end_of(const MwGraph *graph, int layer, MwPhase phase, bool is_last)
{
    int found = -1;
    for (int n = 0; n < graph->nodes.count && (is_last || found < 0); n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->origin.layer == layer && node->phase == phase && node->operand_count > 0 &&
            node->op != MW_OP_TO_HOST && node->op != MW_OP_TO_DEVICE)
            found = n;
    }
    return found;
}

/* Copies of a layer stand in the next one, there behind its first node, back before its last. */
START_TEST(copies_run_beside_the_next_layer)
{
    TestModel model = compiled(_i, MW_REMAT_STREAM);
    const MwGraph *graph = model.compilation.graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const int next = node->origin.layer + 1;
        if (node->op == MW_OP_TO_HOST)
            ck_assert(n > end_of(graph, next, MW_PHASE_FORWARD, false));
        if (node->op == MW_OP_TO_DEVICE)
            ck_assert(n < end_of(graph, next, MW_PHASE_BACKWARD, true));
    }
    test_model_free(&model);
}
END_TEST

int main(void)
{
    const int cases = 2 * MW_COUNT(schedules);
    Suite *suite = suite_create("stream");
    TCase *tests = tcase_create("stream");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, streamed_values_are_the_same, 0, cases);
    tcase_add_loop_test(tests, layers_keep_nothing_on_the_device, 0, cases);
    tcase_add_loop_test(tests, copies_run_beside_the_next_layer, 0, cases);
    return run_suite(suite);
}
