/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients: every differentiable operator of ir/ops.def against central differences in double
 * precision, by the reference interpreter; and the conventions where no derivative exists. */
#include "base/philox.h"
#include "passes/pass.h"
#include "tests/reference/interpret.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

/* Floating-point operands are weights with elements in (low, high); others are inputs, of which
 * i32 ones count 0, 1, 2, 0, ... */
static const struct {
    const char *op, *operands, *attrs;
    double low, high;
} cases[] = {
    {"add", "f32[2, 3]; f32[2, 3]", "", -1, 1},
    {"add", "f32[4, 1, 3]; f32[2, 1]", "", -1, 1},
    {"add", "f32[]; f32[3]", "", -1, 1},
    {"sub", "f32[2, 3]; f32[3]", "", -1, 1},
    {"mul", "f32[2, 3]; f32[2, 1]", "", -1, 1},
    {"mul", "f32[1, 1]; f32[3]", "", -1, 1},
    {"div", "f32[2, 3]; f32[3]", "", 0.5, 2},
    {"div", "f32[3]; f32[2, 3]", "", -2, -0.5},
    {"maximum", "f32[5, 3]; f32[3]", "", -1, 1},
    {"minimum", "f32[3]; f32[5, 3]", "", -1, 1},
    {"pow", "f32[2, 3]; f32[3]", "", 0.5, 2},
    {"pow", "f32[]; f32[3]", "", 0.5, 2},
    {"neg", "f32[3]", "", -1, 1},
    {"abs", "f32[9]", "", -1, 1},
    {"exp", "f32[5]", "", -1, 1},
    {"log", "f32[5]", "", 0.5, 2},
    {"sqrt", "f32[5]", "", 0.5, 2},
    {"rsqrt", "f32[5]", "", 0.5, 2},
    {"sin", "f32[5]", "", -3, 3},
    {"cos", "f32[5]", "", -3, 3},
    {"tanh", "f32[5]", "", -2, 2},
    {"erf", "f32[5]", "", -2, 2},
    {"expm1", "f32[5]", "", -2, 2},
    {"log1p", "f32[5]", "", -0.5, 2},
    {"tan", "f32[5]", "", -1, 1},
    {"atan2", "f32[5, 3]; f32[3]", "", -2, -0.5},
    {"atan2", "f32[3]; f32[5, 3]", "", 0.5, 2},
    {"floor", "f32[5]", "", -3, 3},
    {"ceil", "f32[5]", "", -3, 3},
    {"round", "f32[5]", "", -3, 3},
    {"floor_div", "f32[5, 3]; f32[3]", "", 0.5, 2},
    {"sign", "f32[5]", "", -3, 3},
    {"mod", "f32[5, 3]; f32[3]", "", 0.5, 2},
    {"mod", "f32[3]; f32[]", "", -2, -0.5},
    {"softplus", "f32[5]", "", -3, 3},
    {"sigmoid", "f32[5]", "", -3, 3},
    {"relu", "f32[9]", "", -1, 1},
    {"gelu", "f32[9]", "", -3, 3},
    {"gelu_tanh", "f32[9]", "", -3, 3},
    {"silu", "f32[9]", "", -3, 3},
    {"gelu_grad", "f32[9]; f32[9]", "", -3, 3},
    {"gelu_grad", "f32[3]; f32[2, 3]", "", -3, 3},
    {"gelu_tanh_grad", "f32[9]; f32[9]", "", -3, 3},
    {"silu_grad", "f32[9]; f32[9]", "", -3, 3},
    {"select", "bool[4, 3]; f32[4, 3]; f32[4, 3]", "", -1, 1},
    {"select", "bool[4, 1]; f32[3]; f32[]", "", -1, 1},
    {"cast", "f32[4]", "type = f32", -1, 1},
    {"cast", "f32[4]", "type = bf16", -1, 1},
    {"identity", "f32[4]", "", -1, 1},
    {"dropout", "f32[8, 4]", "rate = 0.4; key = 7", -1, 1},
    {"flip", "f32[2, 3, 4]", "axis = 1", -1, 1},
    {"reduce_sum", "f32[2, 3, 4]", "axes = [1]", -1, 1},
    {"reduce_sum", "f32[2, 3, 4]", "axes = [0, 2]; keep = true", -1, 1},
    {"reduce_sum", "f32[2, 3]", "axes = [0, 1]", -1, 1},
    {"reduce_max", "f32[2, 3, 4]", "axes = [1]", -1, 1},
    {"reduce_max", "f32[2, 3, 4]", "axes = [0, 2]; keep = true", -1, 1},
    {"logsumexp", "f32[2, 5]", "", -2, 2},
    {"softmax", "f32[2, 5]", "", -2, 2},
    {"log_softmax", "f32[2, 5]", "", -2, 2},
    {"layer_norm", "f32[2, 5]", "eps = 1e-5", -2, 2},
    {"layer_norm", "f32[2, 5]", "eps = 0.5", -2, 2},
    {"rms_norm", "f32[2, 5]", "eps = 1e-5", -2, 2},
    {"rms_norm", "f32[2, 5]", "eps = 0.5", -2, 2},
    {"logsumexp_grad", "f32[2, 5]; f32[2]; f32[2]", "", -2, 2},
    {"softmax_grad", "f32[2, 5]; f32[2, 5]", "", -2, 2},
    {"log_softmax_grad", "f32[2, 5]; f32[2, 5]", "", -2, 2},
    {"layer_norm_grad", "f32[2, 5]; f32[2, 5]", "eps = 0.01", -2, 2},
    {"rms_norm_grad", "f32[2, 5]; f32[2, 5]", "eps = 0.01", -2, 2},
    {"einsum", "f32[2, 3, 4]; f32[4, 5]", "equation = bsw,wf->bsf", -1, 1},
    {"einsum", "f32[4, 5]; f32[2, 4]", "equation = wf,bw->fb", -1, 1},
    {"einsum", "f32[2, 3, 4]; f32[2, 4, 3]", "equation = bij,bjk->bik", -1, 1},
    {"einsum", "f32[2, 3]; f32[3, 4]", "equation = xa,ab->b", -1, 1},
    {"einsum", "f32[3, 2]; f32[3, 4, 2]", "equation = ax,aby->bx", -1, 1},
    {"einsum", "f32[2, 3]; f32[2, 3]", "equation = ab,ab->", -1, 1},
    {"einsum", "f32[2]; f32[3]", "equation = a,b->ba", -1, 1},
    {"einsum", "f32[2, 3, 4]", "equation = abc->cb", -1, 1},
    {"einsum", "f32[2, 3]", "equation = ab->ba", -1, 1},
    {"embedding", "i32[2, 4]; f32[5, 3]", "", -1, 1},
    {"embedding_grad", "i32[2, 4]; f32[2, 4, 3]", "shape = [5, 3]", -1, 1},
    {"pick", "f32[2, 4, 5]; i32[2, 4]", "", -1, 1},
    {"pick_grad", "i32[2, 4]; f32[2, 4]", "shape = [2, 4, 5]", -1, 1},
    {"take_along", "f32[2, 4, 5]; i32[2, 4, 3]", "", -1, 1},
    {"take_along_grad", "i32[2, 4, 3]; f32[2, 4, 3]", "shape = [2, 4, 5]", -1, 1},
    {"take_along", "f32[2, 3]; i32[2, 5]", "", -1, 1},
    {"linear_scan", "f32[2, 5, 3]; f32[2, 5, 3]", "axis = 1", -1, 1},
    {"linear_scan", "f32[4, 2]; f32[4, 2]", "axis = 0; reverse = true", -1, 1},
    {"linear_scan", "f32[3, 1]; f32[3, 1]", "axis = 1", -1, 1},
    {"cumsum", "f32[4, 7]", "", -1, 1},
    {"cumsum", "f32[2, 3, 5]", "inverse = true", -1, 1},
    {"top_k", "f32[4, 7]", "k = 3", -1, 1},
    {"top_k", "f32[2, 7]", "k = 7; ascending = true", -1, 1},
    {"sdpa", "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]", "scale = 0.7", -1, 1},
    {"sdpa", "f32[1, 4, 2, 2]; f32[1, 4, 2, 2]; f32[1, 4, 2, 2]", "scale = 1.5; causal = true", -1,
     1},
    {"sdpa", "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]", "scale = 2; soft_cap = 0.8", -1,
     1},
    {"sdpa", "f32[1, 4, 2, 2]; f32[1, 4, 2, 2]; f32[1, 4, 2, 2]",
     "scale = 1.5; causal = true; window = [2]", -1, 1},
    {"sdpa", "f32[1, 6, 1, 2]; f32[1, 3, 1, 2]; f32[1, 3, 1, 2]", "scale = 1.5; window = [2]", -1,
     1},
    {"sdpa", "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]",
     "scale = 0.7; causal = true; offset = [2]", -1, 1},
    {"sdpa", "f32[1, 5, 1, 2]; f32[1, 3, 1, 2]; f32[1, 3, 1, 2]",
     "scale = 0.7; causal = true; offset = [-2]", -1, 1},
    {"sdpa_masked", "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]; f32[1, 4, 3, 5]",
     "scale = 2; soft_cap = 0.9", -1, 1},
    {"sdpa_masked", "f32[2, 4, 2, 2]; f32[2, 4, 2, 2]; f32[2, 4, 2, 2]; f32[2, 1, 1, 4]",
     "scale = 1; causal = true; window = [3]", -1, 1},
    {"sdpa_masked", "f32[2, 3, 2, 2]; f32[2, 4, 2, 2]; f32[2, 4, 2, 2]; bool[2, 1, 3, 4]",
     "scale = 1; soft_cap = 2", -1, 1},
    {"sdpa_grad", "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]; f32[2, 3, 4, 2]",
     "scale = 0.7", -1, 1},
    {"sdpa_grad", "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]; f32[2, 3, 4, 2]",
     "scale = 0.7; causal = true; soft_cap = 0.8; offset = [1]", -1, 1},
    {"sdpa_grad", "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]; f32[2, 3, 4, 2]",
     "scale = 1.5; offset = [6]; window = [4]", -1, 1},
    {"sdpa_masked_grad",
     "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]; f32[2, 3, 4, 2]; f32[1, 4, 3, 1]",
     "scale = 0.7; soft_cap = 2", -1, 1},
    {"sdpa_masked_grad",
     "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]; f32[2, 3, 4, 2]; bool[2, 1, 3, 5]",
     "scale = 0.7; causal = true", -1, 1},
    {"sdpa_mask_grad",
     "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]; f32[2, 3, 4, 2]; f32[1, 4, 3, 5]",
     "scale = 0.7; soft_cap = 0.8", -1, 1},
    {"sdpa_mask_grad",
     "f32[2, 3, 4, 2]; f32[2, 5, 2, 2]; f32[2, 5, 2, 2]; f32[2, 3, 4, 2]; f32[2, 1, 1, 5]",
     "scale = 0.7; causal = true", -1, 1},
    {"rope", "f32[2, 3, 2, 4]", "base = 100", -1, 1},
    {"rope", "f32[2, 3, 2, 4]", "base = 100; inverse = true", -1, 1},
    {"conv", "f32[2, 5, 2]; f32[3, 2, 3]", "stride = [2]; padding = [1, 0]; dilation = [1]", -1, 1},
    {"conv", "f32[1, 4, 3, 4]; f32[2, 2, 2, 4]",
     "stride = [1, 2]; padding = [0, 1, 1, 0]; dilation = [2, 1]", -1, 1},
    {"conv_transpose", "f32[1, 2, 3]; f32[2, 2, 3]",
     "shape = [1, 5, 2]; stride = [2]; padding = [0, 0]; dilation = [2]", -1, 1},
    {"conv_filter_grad", "f32[2, 5, 2]; f32[2, 2, 3]",
     "shape = [3, 2, 3]; stride = [2]; padding = [0, 0]; dilation = [1]", -1, 1},
    {"max_pool", "f32[2, 4, 5, 2]", "window = [2, 3]; stride = [1, 2]; padding = [1, 0, 2, 0]", -1,
     1},
    {"max_pool_grad", "f32[2, 4, 5, 2]; f32[2, 4, 3, 2]",
     "window = [2, 3]; stride = [1, 2]; padding = [1, 0, 2, 0]", -1, 1},
    {"max_pool_pick", "f32[2, 4, 5, 2]; f32[2, 4, 5, 2]",
     "window = [2, 3]; stride = [1, 2]; padding = [1, 0, 2, 0]", -1, 1},
    {"sum_pool", "f32[2, 5, 3]", "window = [3]; stride = [2]; padding = [1, 0]", -1, 1},
    {"sum_pool_grad", "f32[2, 2, 3]",
     "shape = [2, 4, 3]; window = [3]; stride = [2]; padding = [1, 0]", -1, 1},
    {"reshape", "f32[2, 6]", "shape = [3, 4]", -1, 1},
    {"broadcast", "f32[3, 1]", "shape = [2, 3, 4]", -1, 1},
    {"transpose", "f32[2, 3, 4]", "perm = [2, 0, 1]", -1, 1},
    {"slice", "f32[2, 5]", "axis = 1; begin = 1; end = 4", -1, 1},
    {"pad", "f32[2, 3]", "axis = 1; begin = 2; end = 1", -1, 1},
    {"split", "f32[2, 5]", "axis = 1; sizes = [2, 3]", -1, 1},
    {"concat", "f32[2, 1]; f32[2, 3]; f32[2, 2]", "axis = 1", -1, 1},
};

enum { MOST_OPERANDS = 5, MOST_RESULTS = 4, SEED = 1 };

typedef struct {
    TestGraph test;
    MwValueId operands[MOST_OPERANDS];
    int operand_count;
    Interpreter *run;
    const MwValueId *gradient;
} Trial;

static double uniform(double low, double high, uint64_t stream, int64_t i)
{
    return low + (high - low) * mw_uniform_at(SEED, stream, (uint64_t)i);
}

/* Operands from "T; T; ...". */
static void add_operands(Trial *trial, const char *types)
{
    for (const char *at = types; at; at = strchr(at, ';') ? strchr(at, ';') + 2 : NULL) {
        MwTensor tensor = test_type(at);
        bool is_weight = mw_type_is_float(tensor.type);
        char name[2] = {(char)('a' + trial->operand_count), '\0'};
        MwAttr init = mw_attr_text(MW_ATTR_INIT, mw_intern(trial->test.graph->interner, "zeros"));
        MwNodeSpec spec = {.op = is_weight ? MW_OP_WEIGHT : MW_OP_INPUT,
                           .attrs = &init,
                           .attr_count = is_weight,
                           .given = &tensor,
                           .name = name};
        trial->operands[trial->operand_count++] = test_add(&trial->test, &spec);
    }
}

/* The loss: the sum of all results that are floats, each element times a number of its own. */
static void add_loss(Trial *trial, MwValueId first, int count)
{
    TestGraph *test = &trial->test;
    MwValueId loss = mw_no_value();
    for (int k = 0; k < count; k++) {
        MwValueId result = {first.index + k};
        MwTensor tensor = *mw_value_tensor(test->graph, result);
        if (!mw_type_is_float(tensor.type))
            continue;
        if (tensor.type == MW_BF16)
            result = test_apply(test, NULL, "cast", &result, 1, "type = f32");
        tensor.type = MW_F32;
        MwNodeSpec factor = {.op = MW_OP_INPUT, .given = &tensor};
        MwValueId sum = test_op2(test, MW_OP_MUL, result, test_add(test, &factor));
        for (int d = tensor.rank - 1; d >= 0; d--)
            sum = test_apply(test, NULL, "reduce_sum", &sum, 1, "axes = [0]");
        loss = mw_has_value(loss) ? test_op2(test, MW_OP_ADD, loss, sum) : sum;
    }
    test_train(test->graph, loss);
}

static void fill(Trial *trial, double low, double high)
{
    MwGraph *graph = trial->test.graph;
    for (int v = 0; v < graph->values.count; v++) {
        const MwTensor *tensor = &graph->values.at[v].tensor;
        double *into = trial->run->inputs[v];
        bool is_weight = mw_value_node(graph, (MwValueId){v})->op == MW_OP_WEIGHT;
        for (int64_t i = 0; i < mw_tensor_elements(tensor); i++) {
            if (is_weight)
                trial->run->at[v][i] = uniform(low, high, (uint64_t)v, i);
            else if (into && mw_type_is_float(tensor->type))
                into[i] = uniform(-1, 1, (uint64_t)v, i);
            else if (into)
                into[i] = (double)(i % (tensor->type == MW_BOOL ? 2 : 3));
        }
    }
}

static void differentiate(Trial *trial)
{
    MwCompilation compilation = {.arena = trial->test.arena, .graph = trial->test.graph};
    bool done = mw_pass_differentiate(&compilation, trial->test.diags);
    ck_assert_msg(done, "%s", diags_text(trial->test.arena, trial->test.diags));
    trial->gradient = compilation.gradient;
    trial->run = interpreter_new(trial->test.arena, trial->test.graph, SEED, 1);
}

/* A gradient of attention takes what attention gave. The operands of the case are q, k, v, the
 * gradient by the output, and perhaps a mask. */
static MwValueId apply_attention_grad(Trial *trial, int i)
{
    const MwValueId *given = trial->operands;
    const bool is_masked = trial->operand_count > 4;
    const MwValueId taken[] = {given[0], given[1], given[2], is_masked ? given[4] : mw_no_value()};
    const MwValueId out = test_apply(&trial->test, "o", is_masked ? "sdpa_masked" : "sdpa", taken,
                                     is_masked ? 4 : 3, cases[i].attrs);
    const MwValueId all[] = {given[0],
                             given[1],
                             given[2],
                             out,
                             {out.index + 1},
                             given[3],
                             is_masked ? given[4] : mw_no_value()};
    return test_apply(&trial->test, "y", cases[i].op, all, is_masked ? 7 : 6, cases[i].attrs);
}

static Trial trial_new(int i)
{
    Trial trial = {.test = test_graph_new()};
    add_operands(&trial, cases[i].operands);
    bool is_grad = strncmp(cases[i].op, "sdpa", 4) == 0 && strstr(cases[i].op, "_grad");
    MwValueId y = is_grad ? apply_attention_grad(&trial, i)
                          : test_apply(&trial.test, "y", cases[i].op, trial.operands,
                                       trial.operand_count, cases[i].attrs);
    /* the second result of attention is a by-product */
    bool is_sdpa = mw_value_node(trial.test.graph, y)->op == MW_OP_SDPA ||
                   mw_value_node(trial.test.graph, y)->op == MW_OP_SDPA_MASKED;
    add_loss(&trial, y, is_sdpa ? 1 : mw_value_node(trial.test.graph, y)->result_count);
    differentiate(&trial);
    fill(&trial, cases[i].low, cases[i].high);
    return trial;
}

static double loss_of(Trial *trial)
{
    trial->run->place.step = 0; /* the same dropout every time */
    interpreter_step(trial->run);
    return trial->run->at[trial->test.graph->metrics.at[0].value.index][0];
}

/* The difference quotient of the loss by element `i` of `value`. */
static double slope_of(Trial *trial, MwValueId value, int64_t i)
{
    const double h = 1e-5;
    double *x = &trial->run->at[value.index][i], middle = *x;
    *x = middle + h;
    double above = loss_of(trial);
    *x = middle - h;
    double below = loss_of(trial);
    *x = middle;
    return (above - below) / (2 * h);
}

/* Element `i` of the gradient by `value`; without one it is 0. */
static double gradient_at(const Trial *trial, MwValueId value, int64_t i)
{
    MwValueId gradient = trial->gradient[value.index];
    return mw_has_value(gradient) ? trial->run->at[gradient.index][i] : 0;
}

START_TEST(gradient_is_the_difference_quotient)
{
    Trial trial = trial_new(_i);
    loss_of(&trial);
    for (int k = 0; k < trial.operand_count; k++) {
        MwValueId operand = trial.operands[k];
        MwTensor tensor = *mw_value_tensor(trial.test.graph, operand);
        if (!mw_type_is_float(tensor.type))
            continue;
        for (int64_t e = 0; e < mw_tensor_elements(&tensor); e++) {
            double slope = slope_of(&trial, operand, e);
            loss_of(&trial);
            double given = gradient_at(&trial, operand, e);
            ck_assert_msg(fabs(given - slope) <= 1e-7 * fmax(1, fabs(slope)),
                          "%s(%s), %s: operand %d, element %d: gradient %.12g, slope %.12g",
                          cases[_i].op, cases[_i].operands, cases[_i].attrs, k, (int)e, given,
                          slope);
        }
    }
    test_graph_free(&trial.test);
}
END_TEST

/* At kinks and ties, and where the gradient is not the slope: elements of operands in order, and
 * the gradient of their sum of results. */
static const struct {
    const char *op, *operands, *attrs;
    double elements[6], gradients[6];
} conventions[] = {
    {"relu", "f32[4]", "", {-1, 0, 2, NAN}, {0, 0, 1, 1}},
    {"abs", "f32[3]", "", {-1, 0, 2}, {-1, 0, 1}},
    {"maximum", "f32[3]; f32[3]", "", {1, 2, 3, 3, 2, 1}, {0, 0.5, 1, 1, 0.5, 0}},
    {"minimum", "f32[3]; f32[3]", "", {1, 2, 3, 3, 2, 1}, {1, 0.5, 0, 0, 0.5, 1}},
    {"maximum", "f32[3]; f32[3]", "", {NAN, 1, NAN, 1, NAN, NAN}, {1, 1, 1, 1, 1, 1}},
    {"reduce_max",
     "f32[2, 3]",
     "axes = [1]",
     {1, 1, 0, 2, 2, 2},
     {0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3}},
    {"pow", "f32[2]; f32[2]", "", {0, 0, 0, 2}, {0, 0, 0, 0}},
    {"stop_gradient", "f32[2]", "", {-1, 2}, {0, 0}},
};

START_TEST(every_differentiable_operator_has_a_case)
{
    static const struct {
        const char *name, *gradient;
    } ops[] = {
#define OP(id, name, operands, results, attrs, shape, sharding, combine, linear, padding,          \
           gradient, ...)                                                                          \
    {name, #gradient},
#include "ir/ops.def"
    };
    for (int i = 0; i < MW_COUNT(ops); i++) {
        bool found = strcmp(ops[i].gradient, "none") == 0;
        for (int k = 0; k < MW_COUNT(cases) && !found; k++)
            found = strcmp(ops[i].name, cases[k].op) == 0;
        for (int k = 0; k < MW_COUNT(conventions) && !found; k++)
            found = strcmp(ops[i].name, conventions[k].op) == 0;
        ck_assert_msg(found, "no case for %s", ops[i].name);
    }
}
END_TEST

START_TEST(kinks_and_ties_are_as_in_pytorch)
{
    Trial trial = {.test = test_graph_new()};
    TestGraph *test = &trial.test;
    add_operands(&trial, conventions[_i].operands);
    MwValueId sum = test_apply(test, "y", conventions[_i].op, trial.operands, trial.operand_count,
                               conventions[_i].attrs);
    test_train(test->graph, test_apply(test, NULL, "reduce_sum", &sum, 1, "axes = [0]"));
    differentiate(&trial);
    for (int pass = 0, at = 0; pass < 2; pass++, at = 0) {
        for (int k = 0; k < trial.operand_count; k++) {
            MwValueId value = trial.operands[k];
            int64_t count = mw_tensor_elements(mw_value_tensor(test->graph, value));
            for (int64_t e = 0; e < count; e++, at++) {
                if (pass == 0)
                    trial.run->at[value.index][e] = conventions[_i].elements[at];
                else
                    ck_assert_msg(gradient_at(&trial, value, e) == conventions[_i].gradients[at],
                                  "%s: gradient %d is %g instead of %g", conventions[_i].op, at,
                                  gradient_at(&trial, value, e), conventions[_i].gradients[at]);
            }
        }
        loss_of(&trial);
    }
    test_graph_free(test);
}
END_TEST

START_TEST(the_log_sum_exp_of_sdpa_has_no_gradient)
{
    Trial trial = {.test = test_graph_new()};
    TestGraph *test = &trial.test;
    add_operands(&trial, "f32[1, 2, 1, 2]; f32[1, 2, 1, 2]; f32[1, 2, 1, 2]");
    MwValueId out = test_apply(test, "y", "sdpa", trial.operands, 3, "scale = 1");
    MwValueId lse = {out.index + 1};
    test_train(test->graph, test_apply(test, NULL, "reduce_sum", &lse, 1, "axes = [0, 1, 2]"));
    MwCompilation compilation = {.arena = test->arena, .graph = test->graph};
    ck_assert(!mw_pass_differentiate(&compilation, test->diags));
    ck_assert_str_eq(diags_text(test->arena, test->diags),
                     "meshwright: error: the loss depends on the "
                     "log-sum-exp of sdpa, which is not differentiable\n");
    test_graph_free(test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradients");
    TCase *tests = tcase_create("gradients");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, gradient_is_the_difference_quotient, 0, MW_COUNT(cases));
    tcase_add_test(tests, every_differentiable_operator_has_a_case);
    tcase_add_loop_test(tests, kinks_and_ties_are_as_in_pytorch, 0, MW_COUNT(conventions));
    tcase_add_test(tests, the_log_sum_exp_of_sdpa_has_no_gradient);
    return run_suite(suite);
}
