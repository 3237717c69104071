/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recomputation and the backward in two parts change when things run and not what they give: every
 * weight and state, after steps in double precision, is the same to the bit. */
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <string.h>

static const char layered[] = "model m {\n"
                              "  input x: f32[8, 6]\n"
                              "  input y: f32[8, 6]\n"
                              "  weight w: f32[6, 6] = normal(0.5)\n"
                              "  weight b: f32[6] = normal(0.5)\n"
                              "  h = dropout(tanh(x @ w + b), 0.2)\n"
                              "  weight v: f32[6, 6] = normal(0.5) with layer = 1\n"
                              "  g = layer_norm(gelu(h @ v)) * b with layer = 1\n"
                              "  o = exp(g) @ w with layer = 1\n"
                              "  loss = mean((o - y) * (o - y)) with layer = 1\n"
                              "  output g\n"
                              "  train loss with adamw(lr = 0.01), clip_norm = 1\n"
                              "}\n";

static const char *const models[] = {
    layered,
    "gpt.graph batch=4 seq=8 vocab=16 layers=2 width=16 heads=2",
    "llama.graph batch=4 seq=8 vocab=16 layers=2 width=16 heads=2 kv_heads=1 hidden=32",
    "bert.graph batch=4 seq=8 vocab=16 layers=2 width=16 heads=2 dropout_rate=0.1",
    "gpt.graph batch=4 seq=8 vocab=16 layers=2 width=16 heads=2 in bf16",
};

static const int micro_batches[] = {1, 4};

enum { STEPS = 2, CASES = MW_COUNT(models) * MW_COUNT(micro_batches) };

static TestModel compiled(int index, MwRemat remat, MwPipelineKind schedule)
{
    const MwCompileOptions options = {.stages = 1,
                                      .micro_batches = micro_batches[index % 2],
                                      .has_schedule = true,
                                      .schedule = schedule,
                                      .remat = remat};
    TestModel model = test_model_compile(models[index / 2], &options, MW_PASS_late_remat);
    ck_assert(model.ok);
    for (int step = 0; step < STEPS; step++)
        interpreter_step(model.run);
    return model;
}

static void check_same(const TestModel *a, const TestModel *b)
{
    const MwGraph *graph = a->compilation.graph;
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwValue *target = mw_value(graph, graph->assigns.at[i].target);
        size_t bytes = sizeof(double) * (size_t)mw_tensor_elements(&target->tensor);
        ck_assert_msg(memcmp(interpreter_value(a->run, target->name),
                             interpreter_value(b->run, target->name), bytes) == 0,
                      "%s", target->name);
    }
}

static int count_phase(const TestModel *model, MwPhase phase)
{
    int count = 0;
    for (int n = 0; n < model->compilation.graph->nodes.count; n++)
        count += model->compilation.graph->nodes.at[n].phase == phase;
    return count;
}

START_TEST(recomputation_gives_the_same_numbers)
{
    TestModel kept = compiled(_i, MW_REMAT_NONE, MW_PIPELINE_1F1B);
    TestModel selective = compiled(_i, MW_REMAT_SELECTIVE, MW_PIPELINE_1F1B);
    TestModel again = compiled(_i, MW_REMAT_ALL, MW_PIPELINE_1F1B);
    const int least = count_phase(&kept, MW_PHASE_BACKWARD);
    ck_assert_int_gt(count_phase(&selective, MW_PHASE_BACKWARD), least);
    ck_assert_int_gt(count_phase(&again, MW_PHASE_BACKWARD), least);
    check_same(&kept, &selective);
    check_same(&kept, &again);
    test_model_free(&again);
    test_model_free(&selective);
    test_model_free(&kept);
}
END_TEST

/* Counts what both parts of the backward make again. What one makes in the part of gradients of
 * weights the other does not use. */
static int count_again(const TestModel *model, int *late)
{
    const MwGraph *graph = model->compilation.graph;
    int count = 0;
    *late = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count && node->phase == MW_PHASE_BACKWARD; k++)
            ck_assert_int_ne(mw_value_node(graph, node->operands[k])->phase,
                             MW_PHASE_BACKWARD_WEIGHT);
        if (node->result_count == 0 || !strstr(graph->values.at[node->first_result].name, ".again"))
            continue;
        count++;
        *late += node->phase == MW_PHASE_BACKWARD_WEIGHT;
    }
    return count;
}

/* Also where gradients of weights are apart: what only these need is made with them, as what comes
 * from the product before an activation is, and the rest before. */
START_TEST(a_split_backward_recomputes_selectively)
{
    TestModel kept = compiled(_i, MW_REMAT_NONE, MW_PIPELINE_ZB_H1);
    TestModel selective = compiled(_i, MW_REMAT_SELECTIVE, MW_PIPELINE_ZB_H1);
    int late;
    ck_assert_int_gt(count_again(&selective, &late), late);
    ck_assert_int_gt(late, 0);
    check_same(&kept, &selective);
    test_model_free(&selective);
    test_model_free(&kept);
}
END_TEST

static int count_norms(const TestModel *model)
{
    const MwGraph *graph = model->compilation.graph;
    int count = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        count += node->phase == MW_PHASE_BACKWARD &&
                 (node->op == MW_OP_LAYER_NORM || node->op == MW_OP_RMS_NORM);
    }
    return count;
}

/* Unless another task than that of the gradient would use them. */
START_TEST(norms_are_made_again)
{
    TestModel kept = compiled(_i, MW_REMAT_NONE, MW_PIPELINE_1F1B);
    TestModel usual = compiled(_i, MW_REMAT_SEARCH, MW_PIPELINE_1F1B);
    TestModel split = compiled(_i, MW_REMAT_SEARCH, MW_PIPELINE_ZB_H1);
    ck_assert_int_eq(count_norms(&kept), 0);
    ck_assert_int_gt(count_norms(&usual), 0);
    ck_assert_int_eq(count_norms(&split), 0);
    ck_assert_int_le(count_phase(&split, MW_PHASE_BACKWARD) +
                         count_phase(&split, MW_PHASE_BACKWARD_WEIGHT),
                     count_phase(&kept, MW_PHASE_BACKWARD));
    check_same(&kept, &usual);
    test_model_free(&split);
    test_model_free(&usual);
    test_model_free(&kept);
}
END_TEST

/* Counts by name the values of at least `elements` elements that the backward takes from the
 * forward. */
static int count_taken(const TestModel *model, int64_t elements)
{
    const MwGraph *graph = model->compilation.graph;
    bool *is_taken = MW_NEW(model->arena, bool, graph->values.count);
    int count = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count; k++) {
            const MwValueId value = graph->nodes.at[n].operands[k];
            is_taken[value.index] |= graph->nodes.at[n].phase == MW_PHASE_BACKWARD;
        }
    for (int v = 0; v < graph->values.count; v++) {
        const MwNode *maker = mw_value_node(graph, (MwValueId){v});
        count += is_taken[v] && maker->phase == MW_PHASE_FORWARD && maker->operand_count > 0 &&
                 mw_tensor_elements(&graph->values.at[v].tensor) >= elements;
    }
    return count;
}

static const struct {
    const char *body;
    /* values as large as x that the backward takes; with `--remat none`; `selective` */
    int taken, kept, selective;
} chains[] = {
    /* The first convolution and the relu, which the filters' gradients take. Else the distance from
     * the mean, and it over the deviation, in place of the first. */
    {"  weight s: f32[4] = normal(0.5)\n"
     "  weight g: f32[1, 1, 4, 4] = normal(0.5)\n"
     "  y = relu(batch_norm(conv(x, f)) * s)\n"
     "  train mean(conv(y, g) ** 2) with sgd(lr = 0.1)\n",
     3, 4, 2},
    /* The product; else what the sigmoid gives, too. */
    {"  y = conv(x, f)\n"
     "  train mean(exp(sigmoid(2 * y) * 3)) with sgd(lr = 0.1)\n",
     1, 2, 1},
    /* What a sum of two values gives is kept, though both are there for the filter's gradient. */
    {"  y = conv(x, f)\n"
     "  z = conv(y, f)\n"
     "  train mean(sigmoid(y + z)) + mean(conv(z, f)) with sgd(lr = 0.1)\n",
     3, 3, 2},
    /* The sum of two products is half of what they are, and all else follows from it. */
    {"  y = exp(conv(x, f) + conv(x * x, f))\n"
     "  train mean(y * sigmoid(y)) with sgd(lr = 0.1)\n",
     2, 3, 1},
};

/* What a chain of element-wise operators makes of what the backward has is not kept. */
START_TEST(chains_are_made_again)
{
    MwArena *arena = mw_arena_new();
    const char *text = mw_arena_printf(arena,
                                       "model m {\n"
                                       "  input x: f32[8, 6, 6, 4]\n"
                                       "  weight f: f32[1, 1, 4, 4] = normal(0.5)\n"
                                       "%s}\n",
                                       chains[_i].body);
    const struct {
        MwRemat remat;
        int taken;
    } ways[] = {{MW_REMAT_NONE, chains[_i].kept},
                {MW_REMAT_SEARCH, chains[_i].taken},
                {MW_REMAT_SELECTIVE, chains[_i].selective}};
    TestModel models_of[MW_COUNT(ways)];
    for (int i = 0; i < MW_COUNT(ways); i++) {
        const MwCompileOptions options = {.stages = 1, .layers = 1, .remat = ways[i].remat};
        models_of[i] = test_model_compile(text, &options, MW_PASS_remat);
        ck_assert(models_of[i].ok);
        interpreter_step(models_of[i].run);
        check_same(&models_of[0], &models_of[i]);
        ck_assert_int_eq(count_taken(&models_of[i], 8 * 6 * 6 * 4), ways[i].taken);
    }
    for (int i = 0; i < MW_COUNT(ways); i++)
        test_model_free(&models_of[i]);
    mw_arena_free(&arena);
}
END_TEST

/* So that the backward takes the bf16 that it is made of. */
START_TEST(casts_to_f32_are_made_again)
{
    TestModel model = compiled(CASES - 1, MW_REMAT_NONE, MW_PIPELINE_1F1B);
    const MwGraph *graph = model.compilation.graph;
    int again = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count && node->phase == MW_PHASE_BACKWARD; k++) {
            const MwNode *maker = mw_value_node(graph, node->operands[k]);
            if (maker->op != MW_OP_CAST ||
                mw_value_tensor(graph, node->operands[k])->type != MW_F32)
                continue;
            ck_assert_int_eq(maker->phase, MW_PHASE_BACKWARD);
            again += mw_value_node(graph, maker->operands[0])->phase == MW_PHASE_FORWARD;
        }
    }
    ck_assert_int_gt(again, 0);
    test_model_free(&model);
}
END_TEST

/* A norm that the backward multiplies matrices by has to be stored. */
START_TEST(norms_that_are_stored_are_kept)
{
    static const char text[] = "model m {\n"
                               "  input x: f32[8, 6]\n"
                               "  weight w: f32[6, 6] = normal(0.5)\n"
                               "  weight b: f32[6] = ones\n"
                               "  train sum(layer_norm(x + b) @ w) with sgd(lr = 1)\n"
                               "}\n";
    TestModel model = test_model_compile(text, &(MwCompileOptions){.stages = 1}, MW_PASS_remat);
    ck_assert(model.ok);
    ck_assert_int_eq(count_norms(&model), 0);
    test_model_free(&model);
}
END_TEST

/* Checks that the backward takes nothing of the forward but what crosses between layers and, where
 * layers are selective, results of what is much work. */
static void check_taken(const TestModel *model, bool is_selective)
{
    const MwGraph *graph = model->compilation.graph;
    bool *crosses = MW_NEW(model->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count; k++) {
            MwValueId operand = graph->nodes.at[n].operands[k];
            crosses[operand.index] |=
                graph->nodes.at[n].phase == MW_PHASE_FORWARD &&
                mw_value_node(graph, operand)->origin.layer != graph->nodes.at[n].origin.layer;
        }
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count; k++) {
            MwValueId operand = graph->nodes.at[n].operands[k];
            const MwNode *maker = mw_value_node(graph, operand);
            const MwLowering lowering = mw_op_info(maker->op)->lowering;
            const bool is_work = lowering == MW_LOWER_CONTRACT || lowering == MW_LOWER_LIBRARY ||
                                 lowering == MW_LOWER_GATHER || lowering == MW_LOWER_VIEW;
            if (graph->nodes.at[n].phase == MW_PHASE_BACKWARD && maker->phase == MW_PHASE_FORWARD &&
                lowering != MW_LOWER_SOURCE)
                ck_assert_msg(crosses[operand.index] || (is_selective && is_work), "%s",
                              mw_value(graph, operand)->name);
        }
}

START_TEST(recomputation_keeps_borders_only)
{
    TestModel again = compiled(_i, MW_REMAT_ALL, MW_PIPELINE_1F1B);
    check_taken(&again, false);
    test_model_free(&again);
}
END_TEST

/* But for sums of several of these, which are kept where they are the fewer bytes. */
START_TEST(selective_layers_keep_results_of_work)
{
    TestModel selective = compiled(_i, MW_REMAT_SELECTIVE, MW_PIPELINE_1F1B);
    check_taken(&selective, true);
    test_model_free(&selective);
}
END_TEST

START_TEST(a_split_backward_gives_the_same_numbers)
{
    TestModel whole = compiled(_i, MW_REMAT_NONE, MW_PIPELINE_1F1B);
    TestModel split = compiled(_i, MW_REMAT_NONE, MW_PIPELINE_ZB_H1);
    ck_assert_int_eq(count_phase(&whole, MW_PHASE_BACKWARD_WEIGHT), 0);
    ck_assert_int_gt(count_phase(&split, MW_PHASE_BACKWARD_WEIGHT), 0);
    check_same(&whole, &split);
    test_model_free(&split);
    test_model_free(&whole);
}
END_TEST

/* Every product that gives the gradient of a weight, and no other, is in the weights' part. */
START_TEST(products_are_parted_by_what_they_give)
{
    TestModel split = compiled(_i, MW_REMAT_NONE, MW_PIPELINE_ZB_H1);
    const MwGraph *graph = split.compilation.graph;
    int weights = 0, inputs = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op != MW_OP_EINSUM || node->phase == MW_PHASE_FORWARD)
            continue;
        /* A gradient of a weight has no batch. */
        bool has_batch = false;
        const MwTensor *result = &graph->values.at[node->first_result].tensor;
        int64_t batch = _i / 2 == 0 ? 8 : 4;
        for (int d = 0; d < result->rank; d++)
            has_batch |= d == 0 && result->dim[d] == batch / micro_batches[_i % 2];
        ck_assert_int_eq(node->phase == MW_PHASE_BACKWARD_WEIGHT, !has_batch);
        weights += !has_batch;
        inputs += has_batch;
    }
    ck_assert(weights > 0 && inputs > 0);
    test_model_free(&split);
}
END_TEST

/* Element-wise layers, whose whole backward serves gradients of weights. */
static const char element_wise[] = "size layers = 4\n"
                                   "model m {\n"
                                   "  input x: f32[64, 8]\n"
                                   "  weight first: f32[8, 16] = normal(0.5)\n"
                                   "  h = x @ first\n"
                                   "  repeat layers as l {\n"
                                   "    weight scale: f32[16] = ones\n"
                                   "    weight shift: f32[16] = normal(0.1)\n"
                                   "    h = relu(h * scale + shift)\n"
                                   "  }\n"
                                   "  train mean(h * h) with sgd(lr = 0.01)\n"
                                   "}\n";

/* A stage may end between any two layers, and sends gradients before those of its weights. */
START_TEST(gradients_between_layers_are_in_the_backward)
{
    const MwCompileOptions options = {.stages = 2,
                                      .micro_batches = 4,
                                      .has_schedule = true,
                                      .schedule = MW_PIPELINE_ZB_H1,
                                      .remat = MW_REMAT_NONE};
    TestModel model = test_model_compile(element_wise, &options, MW_PASS_remat);
    ck_assert(model.ok);
    const MwGraph *graph = model.compilation.graph;
    int crossing = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++) {
            const MwNode *maker = mw_value_node(graph, node->operands[k]);
            if (node->phase == MW_PHASE_UPDATE || maker->phase == MW_PHASE_FORWARD ||
                maker->operand_count == 0 || maker->origin.layer == node->origin.layer)
                continue;
            ck_assert_int_eq(maker->phase, MW_PHASE_BACKWARD);
            crossing++;
        }
    }
    ck_assert_int_ge(crossing, 3);
    ck_assert_int_gt(count_phase(&model, MW_PHASE_BACKWARD_WEIGHT), 0);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recompute");
    TCase *tests = tcase_create("recompute");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, recomputation_gives_the_same_numbers, 0, CASES);
    tcase_add_loop_test(tests, norms_are_made_again, 0, CASES);
    tcase_add_test(tests, norms_that_are_stored_are_kept);
    tcase_add_loop_test(tests, chains_are_made_again, 0, MW_COUNT(chains));
    tcase_add_test(tests, casts_to_f32_are_made_again);
    tcase_add_loop_test(tests, a_split_backward_recomputes_selectively, 0, CASES);
    tcase_add_loop_test(tests, recomputation_keeps_borders_only, 0, CASES);
    tcase_add_loop_test(tests, selective_layers_keep_results_of_work, 0, CASES);
    tcase_add_loop_test(tests, a_split_backward_gives_the_same_numbers, 0, CASES);
    tcase_add_loop_test(tests, products_are_parted_by_what_they_give, 0, CASES);
    tcase_add_test(tests, gradients_between_layers_are_in_the_backward);
    return run_suite(suite);
}
