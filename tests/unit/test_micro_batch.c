/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Micro-batches: the same losses, weights and states on 1, 2 and 4 of them, step after step; and
 * what cannot be cut is refused. */
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MODEL(body) "model m {\n" body "}\n"

/* Every model has a batch of 4. */
static const char *const models[] = {
    "mlp.graph batch=4 inputs=3 width=5 classes=5",
    "gpt.graph batch=4 seq=3 vocab=5 layers=2 width=4 heads=2",
    "llama.graph batch=4 seq=3 vocab=5 layers=2 width=8 heads=4 kv_heads=2 hidden=6",
    "bert.graph batch=4 seq=8 vocab=5 layers=1 width=4 heads=2 mask_rate=0.4 dropout_rate=0.2",
    "vit.graph batch=4 image=4 channels=2 patch=2 classes=5 layers=1 width=4 heads=2",
    /* A sum for a loss; clipping uses all gradients after the last micro-batch. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3, 2] = normal(1)\n"
          "train sum(tanh(x @ w)) with sgd(lr = 0.1), clip_norm = 0.1\n"),
    /* What the batch does not change: a regulariser, and a weight made of others. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3, 3] = normal(1)\n"
          "weight a: f32[3, 2] = normal(1)\n"
          "weight b: f32[2, 3] = normal(1)\n"
          "merged = w + a @ b\n"
          "loss = mean(tanh(x @ merged)) + 0.1 * sum(w * w)\n"
          "train loss with sgd(lr = 0.1, momentum = 0.9)\n"),
    /* Tables over positions of the batch: counted, random, stretched from nothing. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3] = normal(1)\n"
          "rows = iota([4, 3], axis = 0, type = f32)\n"
          "even = where(rows < 2, constant(1.0, shape = [4, 3]), 0.5)\n"
          "kept = dropout(constant(1.0, shape = [4, 3]), rate = 0.5)\n"
          "train sum(x * w * even * kept * broadcast(w, [4, 3]) + rows * w) with sgd(lr = 0.1)\n"),
    /* The batch elsewhere than in dimension 0, merged with another dimension, moved, joined. */
    MODEL("input x: f32[4, 2, 3]\n"
          "weight w: f32[3, 5] = normal(1)\n"
          "flat = reshape(x, [8, 3]) @ w\n"
          "turned = transpose(reshape(flat, [4, 2, 5]), [2, 0, 1])\n"
          "head, tail = split(turned, [2, 3], axis = 0)\n"
          "both = concat(tail, head * 2, axis = 0)\n"
          "part = slice(both, axis = 0, begin = 1, end = 4)\n"
          "train sum(max(part * part, axis = 2)) with sgd(lr = 0.01)\n"),
    /* Means over what counts, of which there is more in one micro-batch than in another. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3, 5] = normal(1)\n"
          "input target: i32[4]\n"
          "loss = 0.5 * cross_entropy(x @ w, target, ignore = 0)\n"
          "output loss\n"
          "train loss with sgd(lr = 0.1), clip_norm = 0.1\n"),
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3] = normal(1)\n"
          "y = tanh(x * w)\n"
          "weights = sum(where(x > 0, x, 0))\n"
          "train sum(y * y) / weights * 3 / sum(x * x) with sgd(lr = 0.1)\n"),
    /* Such a mean beside others, and a weight that no other term has. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3, 5] = normal(1)\n"
          "weight v: f32[5] = normal(1)\n"
          "input target: i32[4]\n"
          "h = tanh(x @ w)\n"
          "scored = cross_entropy(h * v, target, ignore = 0)\n"
          "loss = 2 * (scored + mean(h * h)) - (0.5 * cross_entropy(h, target, ignore = 1) - "
          "sum(h))\n"
          "train loss with sgd(lr = 0.1), clip_norm = 0.1\n"),
    /* Functions of the whole loss, for the user to see. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3, 5] = normal(1)\n"
          "input target: i32[4]\n"
          "logits = x @ w\n"
          "loss = cross_entropy(logits, target)\n"
          "perplexity = exp(loss)\n"
          "big = sum(cast(logits > 0, i32))\n"
          "output perplexity\n"
          "output big\n"
          "train loss with adam(lr = 0.01)\n"),
    /* What the model keeps itself: a mean over the batch, a count, two states that change places.
     * All micro-batches see what the step before left. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3, 3] = normal(1)\n"
          "state mean_x: f32[3] = zeros\n"
          "state count: i32[] = zeros\n"
          "state a: f32[3] = ones\n"
          "state b: f32[3] = zeros\n"
          "assign mean_x = mean_x * 0.9 + mean(x, axis = 0) * 0.1\n"
          "assign count = count + 1\n"
          "assign a = b\n"
          "assign b = a\n"
          "y = tanh((x - mean_x) @ w + a) * cast(count, f32)\n"
          "output count\n"
          "output three = constant(3.0, [3])\n"
          "output total = sum(y, axis = 0)\n"
          "output squares = w * w\n"
          "train mean(y * y) with sgd(lr = 0.1)\n"),
    /* The greatest elements of the batch, and what is computed from them. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3, 3] = normal(1)\n"
          "state most: f32[3] = zeros\n"
          "assign most = maximum(most, max(x @ w, axis = 0))\n"
          "output spread = max(x, axis = 0) + max(-x, axis = 0)\n"
          "y = tanh(x @ w + most)\n"
          "train mean(y * y) with sgd(lr = 0.1)\n"),
    /* The same in each iteration. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: f32[3, 3] = normal(1)\n"
          "repeat 2 {\n"
          "  state mean_x: f32[3] = zeros\n"
          "  x = tanh((x - mean_x) @ w)\n"
          "  assign mean_x = mean_x * 0.9 + mean(x, axis = 0) * 0.1\n"
          "}\n"
          "train mean(x * x) with sgd(lr = 0.1)\n"),
    /* Gradients in bf16 are summed in f32. */
    MODEL("input x: f32[4, 3]\n"
          "weight w: bf16[3, 2] = normal(1)\n"
          "train sum(cast(cast(x, bf16) @ w, f32)) with sgd(lr = 0.1, momentum = 0.5)\n"),
};

enum { STEPS = 3 };

static bool is_kept(const MwGraph *graph, MwValueId value)
{
    MwOp op = mw_value_node(graph, value)->op;
    bool accumulates = false;
    for (int i = 0; i < graph->assigns.count; i++)
        accumulates |= mw_value_equal(graph->assigns.at[i].target, value) &&
                       mw_assign_accumulates(graph, &graph->assigns.at[i]);
    return (op == MW_OP_WEIGHT || op == MW_OP_STATE) && !accumulates;
}

static void compare(const TestModel *whole, const TestModel *cut, const char *name, MwValueId value)
{
    const MwTensor *tensor = mw_value_tensor(whole->compilation.graph, value);
    const double *wanted = whole->run->at[value.index];
    const double *given = interpreter_value(cut->run, name);
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++)
        ck_assert_msg(fabs(given[i] - wanted[i]) <= 1e-11 * fmax(1, fabs(wanted[i])),
                      "%d micro-batches: %s, element %d is %.15g, not %.15g",
                      cut->run->micro_batches, name, (int)i, given[i], wanted[i]);
}

/* Outputs that are not of the batch itself. */
static void compare_outputs(const TestModel *whole, const TestModel *cut)
{
    const MwGraph *graph = whole->compilation.graph, *other = cut->compilation.graph;
    for (int i = 0; i < graph->outputs.count; i++) {
        MwValueId value = graph->outputs.at[i].value, cut_value = other->outputs.at[i].value;
        if (mw_tensor_equal(mw_value_tensor(graph, value), mw_value_tensor(other, cut_value)))
            compare(whole, cut, mw_value(other, cut_value)->name, value);
    }
}

static void compare_run(const char *text, int micro_batches)
{
    TestModel whole = test_model_new(text, 1, MW_PASS_clean);
    TestModel cut = test_model_new(text, micro_batches, MW_PASS_clean);
    ck_assert_msg(whole.ok && cut.ok, "%s", diags_text(cut.arena, cut.diags));
    ck_assert_int_eq(cut.run->micro_batches, micro_batches);
    const MwGraph *graph = whole.compilation.graph;
    for (int step = 0; step < STEPS; step++) {
        interpreter_step(whole.run);
        interpreter_step(cut.run);
        double wanted = test_model_loss(&whole), loss = test_model_loss(&cut);
        ck_assert_msg(fabs(loss - wanted) <= 1e-11 * fmax(1, fabs(wanted)),
                      "%d micro-batches: step %d has loss %.15g, not %.15g", micro_batches,
                      step + 1, loss, wanted);
        for (int v = 0; v < graph->values.count; v++)
            if (is_kept(graph, (MwValueId){v}))
                compare(&whole, &cut, graph->values.at[v].name, (MwValueId){v});
        compare_outputs(&whole, &cut);
    }
    test_model_free(&whole);
    test_model_free(&cut);
}

START_TEST(micro_batches_change_no_number)
{
    compare_run(models[_i], 2);
    compare_run(models[_i], 4);
}
END_TEST

/* Whether a plan takes an output once a step or once a micro-batch follows from its phase. */
START_TEST(outputs_that_are_no_part_of_the_batch_leave_in_the_update)
{
    TestModel model = test_model_new(MODEL("input x: f32[4, 3]\n"
                                           "weight w: f32[3] = normal(1)\n"
                                           "y = x * w\n"
                                           "output y\n"
                                           "output total = sum(y, axis = 0)\n"
                                           "output twice = w * 2\n"
                                           "output three = constant(3.0, [3])\n"
                                           "output w\n"),
                                     _i, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    ck_assert_int_eq(graph->outputs.count, 5);
    for (int i = 0; i < graph->outputs.count; i++)
        ck_assert_int_eq(mw_value_node(graph, graph->outputs.at[i].value)->phase,
                         i == 0 ? MW_PHASE_FORWARD : MW_PHASE_UPDATE);
    test_model_free(&model);
}
END_TEST

/* No other dimension of this model is 32. */
START_TEST(everything_on_the_batch_is_cut)
{
    TestModel model = test_model_new("gpt.graph batch=32 seq=3 vocab=5 layers=2 width=4 heads=2", 4,
                                     MW_PASS_clean);
    const MwGraph *graph = model.compilation.graph;
    for (int v = 0; v < graph->values.count; v++)
        for (int d = 0; d < graph->values.at[v].tensor.rank; d++)
            ck_assert_msg(graph->values.at[v].tensor.dim[d] != 32, "%s is on the whole batch",
                          graph->values.at[v].name);
    test_model_free(&model);
}
END_TEST

/* Slices of all its results are of one node. */
START_TEST(a_whole_split_is_cut_once)
{
    TestModel model = test_model_new(MODEL("input x: f32[4, 3]\n"
                                           "weight a: f32[3, 2] = normal(1)\n"
                                           "weight b: f32[3, 3] = normal(1)\n"
                                           "weight c: f32[3, 4] = normal(1)\n"
                                           "train sum(concat(x @ a, x @ b, x @ c, axis = 1)) with "
                                           "sgd(lr = 0.1)\n"),
                                     2, MW_PASS_clean);
    int splits = 0;
    ck_assert(model.ok);
    for (int n = 0; n < model.compilation.graph->nodes.count; n++)
        splits += model.compilation.graph->nodes.at[n].op == MW_OP_SPLIT;
    ck_assert_int_eq(splits, 1);
    test_model_free(&model);
}
END_TEST

START_TEST(the_train_statement_may_say_how_many)
{
    TestModel model = test_model_new(MODEL("input x: f32[4]\n"
                                           "weight w: f32[4] = ones\n"
                                           "train sum(sum(x) * w) with sgd(lr = 1), "
                                           "micro_batches = 2\n"),
                                     0, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    ck_assert_int_eq(model.compilation.staging.micro_batches, 2);
    test_model_free(&model);
}
END_TEST

/* The first number of the state that accumulates value NAME. */
static double first_of(const MwGraph *graph, const char *name)
{
    for (int v = 0; v < graph->values.count; v++) {
        const MwNode *node = mw_value_node(graph, (MwValueId){v});
        if (node->op == MW_OP_STATE && strcmp(graph->values.at[v].name, name) == 0)
            return strcmp(mw_node_text(node, MW_ATTR_INIT), "zeros") == 0
                       ? 0
                       : mw_node_float(node, MW_ATTR_VALUE);
    }
    ck_abort_msg("there is no %s", name);
}

/* A device sets zeros itself, so that a step that begins with them can be captured. */
START_TEST(greatest_sizes_begin_with_zeros)
{
    TestModel model = test_model_new(MODEL("input x: f32[4, 3]\n"
                                           "output most = max(x, axis = 0)\n"
                                           "output far = max(abs(x), axis = 0)\n"),
                                     2, MW_PASS_micro_batch);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    ck_assert(first_of(model.compilation.graph, "most.so_far") == -FLT_MAX);
    ck_assert(first_of(model.compilation.graph, "far.so_far") == 0);
    test_model_free(&model);
}
END_TEST

/* On 2 micro-batches. */
static const struct {
    const char *text, *says;
} refusals[] = {
    {MODEL("input x: f32[3, 2]\n"
           "weight w: f32[2] = ones\n"
           "train sum(x * w) with sgd(lr = 1)\n"),
     "test.graph:2:7: error: cannot cut the batch into 2 micro-batches: this input, 'x', has a "
     "batch of 3\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "y = softmax(transpose(x * w, [1, 0]))\n"
           "train sum(y * y) with sgd(lr = 1)\n"),
     "test.graph:4:5: error: cannot cut the batch into 2 micro-batches: this needs dimension 1 of "
     "a value of type f32[2, 4], the batch, as a whole\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "y = reshape(transpose(x * w, [1, 0]), [8])\n"
           "train sum(y * y) with sgd(lr = 1)\n"),
     "test.graph:4:5: error: cannot cut the batch into 2 micro-batches: this needs dimension 1 of "
     "a value of type f32[2, 4], the batch, as a whole\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "y = x * w\n"
           "pairs = einsum(\"id,jd->ij\", y, y)\n"
           "train sum(pairs * pairs) with sgd(lr = 1)\n"),
     "test.graph:5:9: error: cannot cut the batch into 2 micro-batches: this combines every "
     "element of the batch with every other, by 'y'\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "train contrastive(x, x * w) with sgd(lr = 1)\n"),
     "test.graph:4:7: error: cannot cut the batch into 2 micro-batches: this combines every "
     "element of the batch with every other, by a value of type f32[4, 2]\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "train sum(max(x * w, axis = 0)) with sgd(lr = 1)\n"),
     "test.graph:4:11: error: cannot cut the batch into 2 micro-batches: the gradient of this "
     "combines parts of the batch with a value of type f32[1, 2], which depends on all of it\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "output most = max(cast(x, i32), axis = 0)\n"
           "train sum(x * w) with sgd(lr = 1)\n"),
     "test.graph:4:15: error: cannot cut the batch into 2 micro-batches: this goes over the "
     "whole batch, and is no sum over it\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "y = x * w\n"
           "centered = y - mean(y, axis = 0)\n"
           "train sum(centered * centered) with sgd(lr = 1)\n"),
     "test.graph:5:12: error: cannot cut the batch into 2 micro-batches: this combines parts of "
     "the "
     "batch with a value of type f32[2], which depends on all of it\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "train sqrt(sum(x * w)) with sgd(lr = 1)\n"),
     "test.graph:4:16: error: cannot cut the batch into 2 micro-batches: the gradient of this "
     "combines parts of the batch with a value of type f32[4, 2], which depends on all of it\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[4, 2] = ones\n"
           "train sum(x * w) with sgd(lr = 1)\n"),
     "test.graph:4:11: error: cannot cut the batch into 2 micro-batches: this needs parts of 'w', "
     "whose dimension 0 is the batch\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "train sum(slice(x * w, axis = 0, begin = 1, end = 4)) with sgd(lr = 1)\n"),
     "test.graph:4:11: error: cannot cut the batch into 2 micro-batches: this needs dimension 0 of "
     "a value of type f32[4, 2], the batch, as a whole\n"},
    {MODEL("input x: f32[4, 2]\n"
           "state last: f32[4, 2] = ones\n"
           "assign last = x * 2\n"),
     "test.graph:4:15: error: cannot cut the batch into 2 micro-batches: this runs once a step, "
     "but works on the batch itself\n"},
    {MODEL("input x: f32[4, 2]\n"
           "weight w: f32[2] = ones\n"
           "y = transpose(x * w, [1, 0])\n"
           "output y\n"
           "train sum(y) with sgd(lr = 1)\n"),
     "test.graph:4:5: error: cannot cut the batch into 2 micro-batches: output 'y' has the batch "
     "in dimension 1 instead of 0\n"},
};

/* Which sums are kept in bf16: those of gradients, and not those of metrics and outputs. Their
 * terms are not rounded, as devices that have parts of one could not keep these. */
START_TEST(gradients_add_up_in_the_type_that_the_statement_says)
{
    TestModel model =
        test_model_new(MODEL("input x: f32[4, 3]\n"
                             "weight w: f32[3] = ones\n"
                             "y = sum(x, axis = 0)\n"
                             "output y\n"
                             "train sum(x * w) with sgd(lr = 1), accumulate = bf16\n"),
                       4, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    const double x[] = {1, 2, 3, 192, 0, -7, 64, 2, -7, 4, -4, 11};
    int in_bf16 = 0, in_f32 = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwType type = graph->values.at[graph->nodes.at[n].first_result].tensor.type;
        in_bf16 += graph->nodes.at[n].op == MW_OP_ACCUMULATE && type == MW_BF16;
        in_f32 += graph->nodes.at[n].op == MW_OP_ACCUMULATE && type == MW_F32;
    }
    ck_assert_int_eq(in_bf16, 1);
    ck_assert_int_eq(in_f32, 2);
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_ACCUMULATE)
            ck_assert_int_eq(mw_value_tensor(graph, graph->nodes.at[n].operands[1])->type, MW_F32);
    interpreter_set(model.run, mw_graph_find(graph, mw_intern(graph->interner, "x")), x);
    interpreter_step(model.run);
    const double *w = interpreter_value(model.run, "w"),
                 *y = interpreter_value(model.run, "y.total");
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq(y[i], x[i] + x[3 + i] + x[6 + i] + x[9 + i]);
        ck_assert_double_eq(w[i], 1 - y[i]);
    }
    test_model_free(&model);
}
END_TEST

START_TEST(what_needs_the_whole_batch_is_refused)
{
    TestModel model = test_model_new(refusals[_i].text, 2, MW_PASS_clean);
    const char *says = diags_text(model.arena, model.diags);
    ck_assert(!model.ok);
    ck_assert_msg(strncmp(says, refusals[_i].says, strlen(refusals[_i].says)) == 0, "%s", says);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("micro_batch");
    TCase *tests = tcase_create("micro_batch");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, micro_batches_change_no_number, 0, MW_COUNT(models));
    tcase_add_loop_test(tests, outputs_that_are_no_part_of_the_batch_leave_in_the_update, 1, 3);
    tcase_add_test(tests, everything_on_the_batch_is_cut);
    tcase_add_test(tests, a_whole_split_is_cut_once);
    tcase_add_test(tests, the_train_statement_may_say_how_many);
    tcase_add_test(tests, greatest_sizes_begin_with_zeros);
    tcase_add_test(tests, gradients_add_up_in_the_type_that_the_statement_says);
    tcase_add_loop_test(tests, what_needs_the_whole_batch_is_refused, 0, MW_COUNT(refusals));
    return run_suite(suite);
}
