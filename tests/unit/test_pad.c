/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Padding: the same losses, outputs, weights and states as without it, in double precision, and
 * zeros in the padding of what is kept; and what each operator gives there is what the column
 * `padding` of ir/ops.def says. */
#include "base/text.h"
#include "tests/reference/spread.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

#define MODEL(body) "model m {\n" body "}\n"

enum { STEPS = 3 };

/* ---- Padded tensors ---- */

/* Index in `padded` of element `i` of `tensor`. */
static int64_t padded_index(const MwTensor *tensor, const MwTensor *padded, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        at += i % tensor->dim[d] * stride;
        i /= tensor->dim[d];
        stride *= padded->dim[d];
    }
    return at;
}

static void copy_padded(const MwTensor *tensor, const double *from, const MwTensor *padded,
                        double *to)
{
    memset(to, 0, sizeof *to * (size_t)mw_tensor_elements(padded));
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++)
        to[padded_index(tensor, padded, i)] = from[i];
}

static void compare(const char *name, const MwTensor *tensor, const double *wanted,
                    const MwTensor *padded, const double *given)
{
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++) {
        const double found = given[padded_index(tensor, padded, i)];
        ck_assert_msg(fabs(found - wanted[i]) <= 1e-10 * fmax(1, fabs(wanted[i])),
                      "%s, element %d is %.15g, not %.15g", name, (int)i, found, wanted[i]);
    }
}

static double sum_of_magnitudes(const MwTensor *tensor, const double *at)
{
    double sum = 0;
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++)
        sum += fabs(at[i]);
    return sum;
}

/* ---- Models ---- */

/* A model padded for devices, on micro-batches; and what is padded of what it keeps and takes, but
 * for states. */
static const struct {
    const char *text;
    int devices, micro_batches;
    const char *padded;
} models[] = {
    {"gpt.graph batch=5 seq=3 vocab=5 layers=1 width=6 heads=3", 2, 1,
     "tokens[6, 3] targets[6, 3] wte[6, 6] layers.0.attention.wqkv[6, 3, 4, 2] "
     "layers.0.attention.bqkv[3, 4, 2] layers.0.attention.wo[4, 2, 6]"},
    {"gpt.graph batch=10 seq=3 vocab=5 layers=1 width=6 heads=3", 4, 2,
     "tokens[6, 3] targets[6, 3] wte[8, 6] layers.0.attention.wqkv[6, 3, 4, 2] "
     "layers.0.attention.bqkv[3, 4, 2] layers.0.attention.wo[4, 2, 6]"},
    {"llama.graph batch=5 seq=3 vocab=5 layers=1 width=6 heads=3 kv_heads=3 hidden=7", 2, 1,
     "tokens[6, 3] targets[6, 3] embed[6, 6] unembed[6, 6] layers.0.attention.wq[6, 4, "
     "2] layers.0.attention.wk[6, 4, 2] layers.0.attention.wv[6, 4, 2] "
     "layers.0.attention.wo[4, 2, 6] layers.0.mlp.gate[6, 8] layers.0.mlp.up[6, 8] "
     "layers.0.mlp.down[8, 6]"},
    {"bert.graph batch=5 seq=8 vocab=5 layers=1 width=6 heads=3 mask_rate=0.4 dropout_rate=0.2", 2,
     3,
     "tokens[2, 8] embed.wte[6, 6] layers.0.attention.wqkv[6, 3, 4, 2] "
     "layers.0.attention.bqkv[3, 4, 2] layers.0.attention.wo[4, 2, 6] head.bias[6]"},
    {"vit.graph batch=5 image=4 channels=2 patch=2 classes=5 layers=1 width=6 heads=3", 2, 1,
     "images[6, 4, 4, 2] labels[6] w[6, 6] b[6] layers.0.attention.wqkv[6, 3, 4, 2] "
     "layers.0.attention.bqkv[3, 4, 2] layers.0.attention.wo[4, 2, 6]"},
    /* Whatever goes over all of a padded size. */
    {MODEL("input x: f32[5, 3]\n"
           "weight w: f32[3, 7] = normal(1)\n"
           "y = x @ w\n"
           "output least = min(y, axis = 1)\n"
           "output place = argmax(y, axis = 1)\n"
           "output spread = std(y, axis = 0)\n"
           "output any_above = any(y > 0.5, axis = 0)\n"
           "output all_below = all(y < 2.5)\n"
           "output squares = y * y\n"
           "top = sum(max(y, axis = 0)) + sum(logsumexp(y))\n"
           "loss = top + var(y) + mean(exp(y) / (y * y + 1)) + sqrt(sum(y * y))\n"
           "train loss with adamw(lr = 0.1, weight_decay = 0.1), clip_norm = 0.5, ema = 0.9\n"),
     3, 1, "x[6, 3] w[3, 9]"},
    /* Composed optimizers, whose statistics are of all of a weight. */
    {MODEL("input x: f32[5, 7]\n"
           "weight a: f32[7, 5] = normal(1)\n"
           "weight b: f32[5, 7] = normal(1)\n"
           "loss = mean(tanh(x @ a) @ b)\n"
           "train loss with adafactor(lr = 0.1)\n"),
     2, 1, "x[6, 8] a[8, 6] b[6, 8]"},
    {MODEL("input x: f32[5, 7]\n"
           "weight a: f32[7, 5] = normal(1)\n"
           "weight b: f32[5, 7] = normal(1)\n"
           "loss = mean(tanh(x @ a) @ b)\n"
           "train loss with muon(lr = 0.1)\n"),
     2, 1, "x[6, 8] a[8, 6] b[6, 8]"},
    /* Tables that are stepped by the rows that the batch looks up: where padding changes none of
     * these, and where the batch is not padded, since it would look up more. */
    {MODEL("input ids: i32[3]\n"
           "weight table: f32[5, 7] = normal(1)\n"
           "y = embedding(ids, table)\n"
           "loss = mean(y * y)\n"
           "train loss with sgd(lr = 0.1)\n"),
     2, 1, "ids[4] table[6, 7]"},
    {MODEL("input ids: i32[3]\n"
           "weight table: f32[5, 7] = normal(1)\n"
           "y = embedding(ids, table)\n"
           "loss = mean(y * y)\n"
           "train loss with adam(lr = 0.1), sparse = [\"table\"]\n"),
     2, 1, "table[6, 7]"},
    /* Numbers of entries, of which some are beyond the last. */
    {MODEL("input ids: i32[3]\n"
           "weight table: f32[5, 7] = normal(1)\n"
           "weight row: f32[7, 5] = normal(1)\n"
           "some = ids % 3 + 4\n"
           "y = gather(cos(table), some)\n"
           "z = scatter_add(table, some, y)\n"
           "t = take_along(cos(row), broadcast(some, [7, 3]))\n"
           "loss = mean(y * y) + sum(exp(z)) + mean(t * t)\n"
           "train loss with adam(lr = 0.1)\n"),
     2, 1, "ids[4] table[6, 7]"},
    /* A recurrence, whose first state is not zero. */
    {MODEL("input x: f32[5, 3, 7]\n"
           "weight w: f32[7, 5] = normal(1)\n"
           "weight u: f32[5, 5] = normal(1)\n"
           "h = constant(0.5, [5, 5])\n"
           "scan x as x_t {\n"
           "  h = tanh(x_t @ w + h @ u)\n"
           "  collect hs = h\n"
           "}\n"
           "loss = mean(hs * hs) + sum(h)\n"
           "train loss with sgd(lr = 0.1)\n"),
     2, 1, "x[6, 3, 8] w[8, 6] u[6, 6]"},
    /* Groups of channels, and statistics of the batch. */
    {MODEL("input x: f32[5, 4, 4, 6]\n"
           "weight f: f32[3, 3, 2, 9] = normal(0.3)\n"
           "weight g: f32[3, 3, 9, 5] = normal(0.3)\n"
           "state seen: f32[9] = ones\n"
           "y = conv(x, f, padding = [1, 1])\n"
           "mean_y = mean(y, axis = [0, 1, 2])\n"
           "assign seen = seen * 0.9 + cos(mean_y)\n"
           "z = conv(relu((y - mean_y) / std(y, axis = [0, 1, 2]) + seen), g)\n"
           "loss = mean(z * z)\n"
           "train loss with adam(lr = 0.01)\n"),
     2, 1, "x[6, 4, 4, 8] f[3, 3, 2, 12] g[3, 3, 12, 6]"},
};

static const char *padded_text(const TestModel *model)
{
    MwText text = {.arena = model->arena};
    mw_text_add(&text, "");
    for (int i = 0; i < model->compilation.paddings.count; i++) {
        const MwPadding *padding = &model->compilation.paddings.at[i];
        const MwGraph *graph = model->compilation.graph;
        MwValueId value = mw_graph_find(graph, padding->name);
        char type[MW_TENSOR_TEXT_BYTES];
        if (padding->is_output || mw_value_node(graph, value)->op == MW_OP_STATE)
            continue;
        mw_tensor_text(mw_value_tensor(graph, value), type);
        mw_text_printf(&text, "%s%s%s", text.bytes ? " " : "", padding->name, strchr(type, '['));
    }
    return text.at;
}

/* The model, padded and then cut into micro-batches. */
static TestModel padded_model(const char *text, int devices, int micro_batches)
{
    TestModel model = test_model_new(text, micro_batches, MW_PASS_update);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    MwCompilation *compilation = &model.compilation;
    const MwCluster cluster = test_cluster(devices);
    compilation->cluster = &cluster;
    compilation->most_padding = 1;
    ck_assert(mw_pass_pad(compilation, model.diags));
    compilation->cluster = NULL;
    const bool ok =
        mw_compilation_verify(compilation, "pad", model.diags) &&
        mw_pass_stages(compilation, model.diags) && mw_pass_micro_batch(compilation, model.diags) &&
        mw_pass_row_steps(compilation, model.diags) && mw_pass_clean(compilation, model.diags) &&
        mw_compilation_verify(compilation, "clean", model.diags);
    ck_assert_msg(ok, "%s", diags_text(model.arena, model.diags));
    model.run = interpreter_new(model.arena, compilation->graph, 5, micro_batches);
    return model;
}

/* The value with a name that stands in another graph. */
static MwValueId find(const MwGraph *graph, const char *name)
{
    const MwValueId value = mw_graph_find(graph, mw_intern(graph->interner, name));
    ck_assert_msg(mw_has_value(value), "no %s", name);
    return value;
}

/* What a run has of a value, over all micro-batches. */
static MwTensor whole_input(const Interpreter *run, MwValueId value)
{
    MwTensor whole = *mw_value_tensor(run->graph, value);
    if (!mw_input_is_whole(run->graph, mw_value_node(run->graph, value)))
        whole.dim[0] *= run->micro_batches;
    return whole;
}

static bool is_data(const MwGraph *graph, MwValueId value)
{
    return mw_op_is_data(mw_value_node(graph, value)->op);
}

/* Gives the padded run the inputs and initial values of the other. */
static void give_data(const Interpreter *from, Interpreter *to)
{
    for (int v = 0; v < from->graph->values.count; v++) {
        const MwValueId value = {v};
        const MwTensor *tensor = mw_value_tensor(from->graph, value);
        if (!is_data(from->graph, value))
            continue;
        const MwValueId other = find(to->graph, from->graph->values.at[v].name);
        const bool is_input = to->inputs[other.index] != NULL;
        const MwTensor padded =
            is_input ? whole_input(to, other) : *mw_value_tensor(to->graph, other);
        copy_padded(tensor, is_input ? from->inputs[v] : from->at[v], &padded,
                    is_input ? to->inputs[other.index] : to->at[other.index]);
    }
}

/* Compares weights and states, whose padding is zero. */
static void compare_kept(const Interpreter *plain, const Interpreter *padded)
{
    for (int v = 0; v < plain->graph->values.count; v++) {
        const MwValueId value = {v};
        const MwTensor *tensor = mw_value_tensor(plain->graph, value);
        const char *name = plain->graph->values.at[v].name;
        if (!is_data(plain->graph, value) || plain->inputs[v])
            continue;
        const MwValueId other = find(padded->graph, name);
        const MwTensor *held = mw_value_tensor(padded->graph, other);
        compare(name, tensor, plain->at[v], held, padded->at[other.index]);
        const double wanted = sum_of_magnitudes(tensor, plain->at[v]);
        ck_assert_msg(fabs(sum_of_magnitudes(held, padded->at[other.index]) - wanted) <=
                          1e-9 * fmax(1, wanted),
                      "%s has padding that is not zero", name);
    }
}

/* Compares outputs that are known as a whole at the end of the last micro-batch. */
static void compare_outputs(const Interpreter *plain, const Interpreter *padded)
{
    for (int i = 0; i < plain->graph->outputs.count; i++) {
        const MwValueId value = plain->graph->outputs.at[i].value,
                        other = padded->graph->outputs.at[i].value;
        const bool is_part = padded->micro_batches > 1 &&
                             mw_value_node(padded->graph, other)->phase != MW_PHASE_UPDATE;
        if (!is_part)
            compare(plain->graph->outputs.at[i].name, mw_value_tensor(plain->graph, value),
                    plain->at[value.index], mw_value_tensor(padded->graph, other),
                    padded->at[other.index]);
    }
}

START_TEST(padding_changes_no_number)
{
    TestModel plain = test_model_new(models[_i].text, 1, MW_PASS_clean);
    ck_assert_msg(plain.ok, "%s", diags_text(plain.arena, plain.diags));
    TestModel padded = padded_model(models[_i].text, models[_i].devices, models[_i].micro_batches);
    ck_assert_str_eq(padded_text(&padded), models[_i].padded);
    give_data(plain.run, padded.run);
    for (int step = 0; step < STEPS; step++) {
        interpreter_step(plain.run);
        interpreter_step(padded.run);
        const double wanted = test_model_loss(&plain), loss = test_model_loss(&padded);
        ck_assert_msg(fabs(loss - wanted) <= 1e-11 * fmax(1, fabs(wanted)),
                      "step %d has loss %.15g, not %.15g", step + 1, loss, wanted);
        compare_kept(plain.run, padded.run);
        compare_outputs(plain.run, padded.run);
    }
    test_model_free(&plain);
    test_model_free(&padded);
}
END_TEST

/* ---- Companions ---- */

/* What 3 devices do not divide, and whether it is padded. */
static const struct {
    const char *text;
    bool is_padded;
} companions[] = {
    /* 4 places in each of 6 groups; the other sizes are divided. */
    {MODEL("input x: f32[6, 9]\n"
           "weight w: f32[9, 3] = normal(1)\n"
           "y = einsum(\"gc,gm->gcm\", one_hot(argmax(x, axis = 1) % 4, 4), x)\n"
           "z = tanh(einsum(\"gcm,mh->gch\", y, w))\n"
           "loss = mean(z * z)\n"
           "train loss with sgd(lr = 0.1)\n"),
     false},
    /* As many groups as devices do not divide. */
    {MODEL("input x: f32[5, 9]\n"
           "weight w: f32[9, 3] = normal(1)\n"
           "y = einsum(\"gc,gm->gcm\", one_hot(argmax(x, axis = 1) % 4, 4), x)\n"
           "z = tanh(einsum(\"gcm,mh->gch\", y, w))\n"
           "loss = mean(z * z)\n"
           "train loss with sgd(lr = 0.1)\n"),
     true},
    /* The size is one of a weight, which would be whole on each device. */
    {MODEL("input x: f32[6, 9]\n"
           "weight w: f32[9, 4] = normal(1)\n"
           "loss = mean(tanh(x @ w))\n"
           "train loss with sgd(lr = 0.1)\n"),
     true},
    /* The same of many equal layers, each of which has little of the work: a little is padded. */
    {"block layer(x) {\n"
     "weight w: f32[9, 200] = normal(1)\n"
     "weight u: f32[200, 9] = normal(1)\n"
     "return x + tanh(x @ w) @ u\n"
     "}\n" MODEL("input x: f32[6, 9]\n"
                 "repeat 24 { x = layer(x) }\n"
                 "loss = mean(x)\n"
                 "train loss with sgd(lr = 0.1)\n"),
     true},
    {"block layer(x) {\n"
     "weight w: f32[9, 4] = normal(1)\n"
     "weight u: f32[4, 9] = normal(1)\n"
     "return x + tanh(x @ w) @ u\n"
     "}\n" MODEL("input x: f32[6, 9]\n"
                 "repeat 24 { x = layer(x) }\n"
                 "loss = mean(x)\n"
                 "train loss with sgd(lr = 0.1)\n"),
     false},
    /* Groups are summed where places are not. */
    {MODEL("input x: f32[6, 9]\n"
           "weight w: f32[9, 3] = normal(1)\n"
           "y = einsum(\"gc,gm->cm\", one_hot(argmax(x, axis = 1) % 4, 4), x)\n"
           "loss = mean(tanh(y @ w))\n"
           "train loss with sgd(lr = 0.1)\n"),
     true},
};

START_TEST(what_is_beside_a_size_that_is_divided_is_not_padded)
{
    TestModel model = test_model_new(companions[_i].text, 1, MW_PASS_update);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwCluster cluster = test_cluster(3);
    model.compilation.cluster = &cluster;
    model.compilation.most_padding = 1;
    ck_assert(mw_pass_pad(&model.compilation, model.diags));
    ck_assert_int_eq(model.compilation.padding > 0, companions[_i].is_padded);
    test_model_free(&model);
}
END_TEST

/* On four nodes of four, a batch that the four of a node divide is enough. */
START_TEST(what_the_devices_of_a_node_divide_is_not_padded)
{
    for (int batch = 10; batch <= 16; batch++) {
        MwArena *arena = mw_arena_new();
        TestModel model =
            test_model_new(mw_arena_printf(arena,
                                           "model m {\n  input x: f32[%d, 8]\n"
                                           "  weight w: f32[8, 4] = normal(1)\n"
                                           "  train mean(tanh(x @ w)) with sgd(lr = 0.1)\n}\n",
                                           batch),
                           1, MW_PASS_update);
        ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
        MwCluster cluster = test_cluster(4);
        cluster.nodes = 4;
        model.compilation.cluster = &cluster;
        model.compilation.most_padding = 0.7;
        ck_assert(mw_pass_pad(&model.compilation, model.diags));
        ck_assert_int_eq(model.compilation.padding > 0, batch % 4 != 0);
        test_model_free(&model);
        mw_arena_free(&arena);
    }
}
END_TEST

/* ---- Operators ---- */

/* Operators on operands that are padded for 3 devices. Those on numbers alone, without attributes,
 * need no case. */
static const struct {
    const char *op, *operands, *attrs;
} ops[] = {
    {"select", "bool[5, 7]; f32[5, 7]; f32[5, 7]", ""},
    {"mul", "f32[5, 7]; f32[7]", ""},
    {"mul", "f32[5, 1]; f32[7]", ""},
    {"add", "f32[5, 1]; f32[7]", ""},
    {"div", "f32[5, 7]; f32[5, 1]", ""},
    {"scale_to", "f32[5, 7]; f32[5, 7]", "value = 448"},
    {"cast", "f32[5, 7]", "type = i32"},
    {"stop_gradient", "f32[5, 7]", ""},
    {"to_host", "f32[5, 7]", ""},
    {"to_device", "f32[5, 7]", ""},
    {"dropout", "f32[5, 7]", "rate = 0.5; key = 3"},
    {"uniform", "", "shape = [5, 7]; key = 3"},
    {"cast_stochastic", "f32[5, 7]", "type = bf16; key = 3"},
    {"iota", "", "type = f32; shape = [5, 7]; axis = 1"},
    {"reduce_sum", "f32[5, 7, 2]", "axes = [1]"},
    {"reduce_max", "f32[5, 7, 2]", "axes = [0, 1]"},
    {"logsumexp", "f32[5, 7]", ""},
    {"logsumexp_grad", "f32[5, 7]; f32[5]; f32[5]", ""},
    {"softmax", "f32[5, 7]", ""},
    {"softmax_grad", "f32[5, 7]; f32[5, 7]", ""},
    {"log_softmax", "f32[5, 7]", ""},
    {"log_softmax_grad", "f32[5, 7]; f32[5, 7]", ""},
    {"layer_norm", "f32[5, 7]", "eps = 1e-5"},
    {"layer_norm", "f32[5, 7]", "eps = 0"},
    {"layer_norm_grad", "f32[5, 7]; f32[5, 7]", "eps = 1e-5"},
    {"rms_norm", "f32[5, 7]", "eps = 1e-5"},
    {"rms_norm_grad", "f32[5, 7]; f32[5, 7]", "eps = 1e-5"},
    {"einsum", "f32[5, 7]; f32[7, 4]", "equation = ab,bc->ac"},
    {"einsum", "f32[5, 7]; f32[7, 4]", "equation = ab,bc->c"},
    {"einsum", "f32[5, 7]", "equation = ab->b"},
    {"embedding", "i32[5, 4]; f32[5, 7]", ""},
    {"embedding_grad", "i32[5, 4]; f32[5, 4, 7]", "shape = [5, 7]"},
    {"reduce_max", "i8[5, 7]", "axes = [0]"},
    {"reduce_max", "i64[5, 7]", "axes = [1]"},
    {"pick", "f32[5, 4, 7]; i32[5, 4]", ""},
    {"pick_grad", "i32[5, 4]; f32[5, 4]", "shape = [5, 4, 7]"},
    {"take_along", "f32[5, 7]; i32[5, 4]", ""},
    {"take_along_grad", "i32[5, 4]; f32[5, 4]", "shape = [5, 7]"},
    {"cumsum", "f32[5, 7, 4]", ""},
    {"top_k", "f32[5, 7, 4]", "k = 2"},
    {"linear_scan", "f32[5, 3, 7]; f32[5, 3, 7]", "axis = 1"},
    {"sdpa", "f32[5, 4, 4, 2]; f32[5, 4, 4, 2]; f32[5, 4, 4, 2]", "scale = 1; causal = true"},
    {"sdpa", "f32[5, 4, 8, 2]; f32[5, 7, 4, 2]; f32[5, 7, 4, 2]", "scale = 1"},
    {"sdpa_masked", "f32[5, 4, 4, 2]; f32[5, 7, 4, 2]; f32[5, 7, 4, 2]; bool[5, 1, 1, 7]",
     "scale = 1"},
    {"sdpa_grad",
     "f32[5, 4, 4, 2]; f32[5, 7, 4, 2]; f32[5, 7, 4, 2]; f32[5, 4, 4, 2]; f32[5, 4, 4]; "
     "f32[5, 4, 4, 2]",
     "scale = 1"},
    {"sdpa_masked_grad",
     "f32[5, 4, 4, 2]; f32[5, 7, 4, 2]; f32[5, 7, 4, 2]; f32[5, 4, 4, 2]; f32[5, 4, 4]; "
     "f32[5, 4, 4, 2]; f32[1, 4, 4, 7]",
     "scale = 1"},
    {"sdpa_mask_grad",
     "f32[5, 4, 4, 2]; f32[5, 7, 4, 2]; f32[5, 7, 4, 2]; f32[5, 4, 4, 2]; f32[5, 4, 4]; "
     "f32[5, 4, 4, 2]; f32[1, 4, 1, 7]",
     "scale = 1"},
    {"rope", "f32[5, 4, 7, 2]", "base = 10000"},
    {"conv", "f32[5, 6, 4]; f32[3, 4, 2]", "stride = [1]; padding = [1, 1]; dilation = [1]"},
    {"conv", "f32[5, 6, 4]; f32[3, 2, 6]", "stride = [2]; padding = [1, 1]; dilation = [1]"},
    {"conv_transpose", "f32[5, 6, 2]; f32[3, 4, 2]",
     "shape = [5, 6, 4]; stride = [1]; padding = [1, 1]; dilation = [1]"},
    {"conv_filter_grad", "f32[5, 6, 4]; f32[5, 6, 2]",
     "shape = [3, 4, 2]; stride = [1]; padding = [1, 1]; dilation = [1]"},
    {"max_pool", "f32[5, 6, 4]", "window = [2]; stride = [2]; padding = [0, 0]"},
    {"max_pool_grad", "f32[5, 6, 4]; f32[5, 3, 4]", "window = [2]; stride = [2]; padding = [0, 0]"},
    {"max_pool_pick", "f32[5, 6, 4]; f32[5, 6, 4]", "window = [2]; stride = [2]; padding = [0, 0]"},
    {"sum_pool", "f32[5, 6, 4]", "window = [2]; stride = [2]; padding = [0, 0]"},
    {"sum_pool_grad", "f32[5, 3, 4]",
     "shape = [5, 6, 4]; window = [2]; stride = [2]; padding = [0, 0]"},
    {"reshape", "f32[5, 7, 4]", "shape = [35, 4]"},
    {"reshape", "f32[5, 28]", "shape = [5, 7, 4]"},
    {"broadcast", "f32[1, 4]", "shape = [5, 7, 4]"},
    {"transpose", "f32[5, 7, 4]", "perm = [2, 0, 1]"},
    {"flip", "f32[5, 7]", "axis = 1"},
    {"slice", "f32[5, 7]", "axis = 1; begin = 1; end = 3"},
    {"pad", "f32[5, 7]", "axis = 0; begin = 1; end = 3"},
    {"split", "f32[5, 7]", "axis = 1; sizes = [4, 3]"},
    {"concat", "f32[5, 4]; f32[5, 3]", "axis = 1"},
};

static const char *type_text(MwArena *arena, const MwTensor *tensor)
{
    char text[MW_TENSOR_TEXT_BYTES];
    return mw_arena_strdup(arena, mw_tensor_text(tensor, text));
}

/* Adds, for each result, its sum and its product with other numbers, which are sums over all of its
 * dimensions, as outputs. The product makes its sizes such as are padded. */
static void add_sums(TestGraph *test, MwNodeId id)
{
    for (int k = 0; k < mw_node(test->graph, id)->result_count; k++) {
        MwValueId y = mw_node_result(test->graph, id, k);
        MwTensor type = *mw_value_tensor(test->graph, y);
        type.type = MW_F32;
        const MwAttr to = mw_attr_int(MW_ATTR_TYPE, MW_F32);
        const int64_t axes[] = {0, 1, 2, 3, 4, 5, 6, 7};
        y = test_op1_attr(test, MW_OP_CAST, y, to);
        MwValueId sum =
            test_op1_attr(test, MW_OP_REDUCE_SUM, y, mw_attr_ints(MW_ATTR_AXES, axes, type.rank));
        MwValueId other = test_source(test, MW_OP_INPUT, NULL, type_text(test->arena, &type));
        const char *equation = mw_arena_printf(test->arena, "%.*s,%.*s->", type.rank, "abcdefgh",
                                               type.rank, "abcdefgh");
        MwValueId product = test_einsum(test, equation, y, other);
        mw_vec_push(test->arena, &test->graph->outputs, ((MwOutput){"result", y}));
        mw_vec_push(test->arena, &test->graph->outputs, ((MwOutput){"sum of result", sum}));
        mw_vec_push(test->arena, &test->graph->outputs, ((MwOutput){"product of result", product}));
    }
}

/* Floats that every operator is defined for, indices that every table of the cases has, and
 * integers below zero. */
static void draw_inputs(Interpreter *run)
{
    uint64_t random = 1;
    for (int v = 0; v < run->graph->values.count; v++)
        for (int64_t i = 0;
             run->inputs[v] && i < mw_tensor_elements(&run->graph->values.at[v].tensor); i++) {
            const MwType type = run->graph->values.at[v].tensor.type;
            run->inputs[v][i] = type == MW_I32             ? random_below(&random, 4)
                                : mw_type_is_integer(type) ? -1 - random_below(&random, 4)
                                : type == MW_BOOL
                                    ? random_below(&random, 2)
                                    : 0.25 + (double)random_below(&random, 1000) / 1000;
        }
}

static void check_op(const char *op, const char *operands, const char *attrs)
{
    TestGraph test = test_graph_new();
    const MwNodeId id = test_node(&test, op, operands, attrs);
    ck_assert_msg(id.index >= 0, "%s: %s", op, diags_text(test.arena, test.diags));
    add_sums(&test, id);
    const MwCluster cluster = test_cluster(3);
    MwCompilation compilation = {
        .arena = test.arena, .graph = test.graph, .cluster = &cluster, .most_padding = 1};
    Interpreter *plain = interpreter_new(test.arena, test.graph, 5, 1);
    draw_inputs(plain);
    ck_assert(mw_pass_pad(&compilation, test.diags));
    ck_assert_msg(compilation.padding > 0, "%s on %s is not padded", op, operands);
    Interpreter *padded = interpreter_new(test.arena, compilation.graph, 5, 1);
    give_data(plain, padded);
    interpreter_step(plain);
    interpreter_step(padded);
    for (int i = 0; i < test.graph->outputs.count; i++) {
        const MwValueId value = test.graph->outputs.at[i].value,
                        other = compilation.graph->outputs.at[i].value;
        compare(mw_arena_printf(test.arena, "%s on %s: %s", op, operands,
                                test.graph->outputs.at[i].name),
                mw_value_tensor(test.graph, value), plain->at[value.index],
                mw_value_tensor(compilation.graph, other), padded->at[other.index]);
    }
    test_graph_free(&test);
}

START_TEST(an_operator_on_padded_operands_gives_the_same)
{
    check_op(ops[_i].op, ops[_i].operands, ops[_i].attrs);
}
END_TEST

/* Whether the operator works on elements of any numbers, without attributes; `operands` is then
 * what it is tested on. */
static const char *plain_operands(const MwOpInfo *info)
{
    if (info->lowering != MW_LOWER_MAP || info->attrs || !info->expression || info->operands > 2)
        return NULL;
    const bool is_logic = strcmp(info->name, "and") == 0 || strcmp(info->name, "or") == 0;
    if (strcmp(info->name, "not") == 0)
        return "bool[5, 7]";
    return is_logic              ? "bool[5, 7]; bool[5, 7]"
           : info->operands == 1 ? "f32[5, 7]"
                                 : "f32[5, 7]; f32[5, 7]";
}

static bool has_case(const char *op)
{
    for (int i = 0; i < MW_COUNT(ops); i++)
        if (strcmp(ops[i].op, op) == 0)
            return true;
    return false;
}

START_TEST(every_operator_with_something_in_the_column_has_a_case)
{
    for (int op = 0; op < MW_OP_COUNT; op++) {
        const MwOpInfo *info = mw_op_info((MwOp)op);
        const char *operands = plain_operands(info);
        if (operands)
            check_op(info->name, operands, "");
        else if (info->padding.kind != MW_PADDING_NONE && info->padding.kind != MW_PADDING_KEPT &&
                 evaluate_can((MwOp)op) &&
                 !strstr("accumulate accumulate_max identity scan_in scan_out", info->name))
            ck_assert_msg(has_case(info->name), "%s", info->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pad");
    TCase *tests = tcase_create("pad");
    tcase_add_loop_test(tests, padding_changes_no_number, 0, MW_COUNT(models));
    tcase_add_loop_test(tests, what_is_beside_a_size_that_is_divided_is_not_padded, 0,
                        MW_COUNT(companions));
    tcase_add_test(tests, what_the_devices_of_a_node_divide_is_not_padded);
    tcase_add_loop_test(tests, an_operator_on_padded_operands_gives_the_same, 0, MW_COUNT(ops));
    tcase_add_test(tests, every_operator_with_something_in_the_column_has_a_case);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
