/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference interpreter itself: values worked out by hand, gradient operators against finite
 * differences of the operators that they belong to, and whole steps. */
#include "base/hash.h"
#include "base/philox.h"
#include "ir/optimizer.h"
#include "tests/reference/interpret.h"
#include "tests/reference/spread.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

/* Elements of the operands and of the results: "1 2 3; 4 5 6". */
typedef struct {
    const char *op, *operands, *attrs, *in, *out;
} Case;

static const Case cases[] = {
    {"step", "", "", "", "1"},
    {"constant", "", "type = f32; shape = [2]; value = 3", "", "3 3"},
    {"iota", "", "type = i32; shape = [2, 3]; axis = 1", "", "0 1 2 0 1 2"},
    {"add", "f32[2, 2]; f32[2]", "", "1 2 3 4; 10 20", "11 22 13 24"},
    {"sub", "f32[2, 1]; f32[2]", "", "1 2; 10 20", "-9 -19 -8 -18"},
    {"mul", "f32[2]; f32[]", "", "1 2; 3", "3 6"},
    {"div", "f32[2]; f32[2]", "", "1 2; 4 5", "0.25 0.4"},
    {"maximum", "f32[2]; f32[2]", "", "1 2; 4 -5", "4 2"},
    {"minimum", "f32[2]; f32[2]", "", "1 2; 4 -5", "1 -5"},
    {"pow", "f32[2]; f32[]", "", "2 3; 3", "8 27"},
    {"neg", "f32[2]", "", "1 -2", "-1 2"},
    {"abs", "f32[2]", "", "1 -2", "1 2"},
    {"exp", "f32[2]", "", "0 1", "1 2.718281828459045"},
    {"log", "f32[2]", "", "1 2", "0 0.6931471805599453"},
    {"sqrt", "f32[2]", "", "4 2", "2 1.4142135623730951"},
    {"rsqrt", "f32[2]", "", "4 2", "0.5 0.7071067811865475"},
    {"sin", "f32[2]", "", "0 1", "0 0.8414709848078965"},
    {"cos", "f32[2]", "", "0 1", "1 0.5403023058681398"},
    {"tanh", "f32[2]", "", "0 1", "0 0.7615941559557649"},
    {"erf", "f32[2]", "", "0 1", "0 0.8427007929497149"},
    {"sigmoid", "f32[2]", "", "0 1", "0.5 0.7310585786300049"},
    {"expm1", "f32[2]", "", "0 1", "0 1.718281828459045"},
    {"log1p", "f32[2]", "", "0 1", "0 0.6931471805599453"},
    {"tan", "f32[2]", "", "0 1", "0 1.5574077246549023"},
    {"atan2", "f32[2]; f32[2]", "", "1 -1; 1 -1", "0.7853981633974483 -2.356194490192345"},
    {"sign", "f32[3]", "", "-2 0 3", "-1 0 1"},
    {"floor", "f32[2]", "", "1.5 -1.5", "1 -2"},
    {"ceil", "f32[2]", "", "1.5 -1.5", "2 -1"},
    {"round", "f32[4]", "", "0.5 1.5 2.5 -1.7", "0 2 2 -2"},
    {"floor_div", "f32[4]; f32[4]", "", "7 -7 7 -7; 2 2 -2 -2", "3 -4 -4 3"},
    {"floor_div", "i32[3]; i32[3]", "", "7 -7 7; 2 2 0", "3 -4 0"},
    {"mod", "f32[4]; f32[4]", "", "7 -7 7 -7; 3 3 -3 -3", "1 2 -2 -1"},
    {"mod", "i32[3]; i32[3]", "", "7 -7 7; 3 3 0", "1 2 0"},
    {"stop_gradient", "f32[2]", "", "1 2", "1 2"},
    {"softplus", "f32[2]", "", "0 1", "0.6931471805599453 1.3132616875182228"},
    {"isnan", "f32[2]", "", "0 nan", "0 1"},
    {"relu", "f32[2]", "", "-1 2", "0 2"},
    {"gelu", "f32[2]", "", "1 -1", "0.8413447460685429 -0.15865525393145707"},
    {"gelu_tanh", "f32[2]", "", "1 -1", "0.8411919906082768 -0.15880800939172324"},
    {"silu", "f32[2]", "", "1 -1", "0.7310585786300049 -0.2689414213699951"},
    {"lt", "f32[3]; f32[]", "", "1 2 3; 2", "1 0 0"},
    {"le", "f32[3]; f32[]", "", "1 2 3; 2", "1 1 0"},
    {"gt", "f32[3]; f32[]", "", "1 2 3; 2", "0 0 1"},
    {"ge", "f32[3]; f32[]", "", "1 2 3; 2", "0 1 1"},
    {"eq", "f32[3]; f32[]", "", "1 2 3; 2", "0 1 0"},
    {"ne", "f32[3]; f32[]", "", "1 2 3; 2", "1 0 1"},
    {"and", "bool[4]; bool[4]", "", "0 0 1 1; 0 1 0 1", "0 0 0 1"},
    {"or", "bool[4]; bool[4]", "", "0 0 1 1; 0 1 0 1", "0 1 1 1"},
    {"not", "bool[2]", "", "0 1", "1 0"},
    {"select", "bool[2]; f32[2]; f32[]", "", "0 1; 5 6; 7", "7 6"},
    {"cast", "f32[3]", "type = i32", "1.9 -1.9 0", "1 -1 0"},
    {"cast", "f32[3]", "type = bool", "0.5 0 -1", "1 0 1"},
    {"identity", "f32[2]", "", "1 2", "1 2"},
    {"to_host", "f32[2]", "", "1 2", "1 2"},
    {"to_device", "f32[2]", "", "1 2", "1 2"},
    {"run_after", "f32[2]; f32[3]", "", "1 2; 3 4 5", "1 2"},
    {"dropout", "f32[2]", "rate = 0; key = 1", "1 2", "1 2"},
    {"cast_stochastic", "f32[6]", "type = e4m3; key = 1", "0 1.125 -448 460 -1e-30 0.015625",
     "0 1.125 -448 448 0 0.015625"},
    {"uniform", "", "shape = [2, 3]; key = 7", "",
     "0.43568211793899536 0.12247490882873535 0.06833350658416748 0.7383123636245728 "
     "0.4149993062019348 0.2561665177345276"},
    {"flip", "f32[2, 3]", "axis = 0", "1 2 3 4 5 6", "4 5 6 1 2 3"},
    {"flip", "f32[2, 3]", "axis = 1", "1 2 3 4 5 6", "3 2 1 6 5 4"},
    {"reduce_sum", "f32[2, 3]", "axes = [0]", "1 2 3 4 5 6", "5 7 9"},
    {"reduce_sum", "f32[2, 3]", "axes = [0, 1]; keep = true", "1 2 3 4 5 6", "21"},
    {"reduce_max", "f32[2, 3]", "axes = [1]", "1 -2 0 -4 -5 -6", "1 -4"},
    {"logsumexp", "f32[2, 2]", "", "0 0 1000 1000", "0.6931471805599453 1000.6931471805599"},
    {"softmax", "f32[2, 2]", "", "0 0 1000 -1000", "0.5 0.5 1 0"},
    {"log_softmax", "f32[2]", "", "0 0", "-0.6931471805599453 -0.6931471805599453"},
    {"layer_norm", "f32[4]", "", "1 1 3 3", "-1 -1 1 1"},
    {"layer_norm", "f32[2]", "eps = 3", "1 3", "-0.5 0.5"},
    {"rms_norm", "f32[2]", "eps = 3.5", "3 4", "0.75 1"},
    {"einsum", "f32[2, 2]; f32[2, 2]", "equation = ab,bc->ac", "1 2 3 4; 5 6 7 8", "19 22 43 50"},
    {"einsum", "f32[2, 2]; f32[2]", "equation = ab,b->a", "1 2 3 4; 5 6", "17 39"},
    {"einsum", "f32[2, 2]", "equation = ab->b", "1 2 3 4", "4 6"},
    {"scan_in", "f32[2, 3]", "axis = 1; loop = 0", "1 2 3 4 5 6", "1 4"},
    {"scan_in", "f32[3, 2]", "axis = 0; loop = 0; reverse = true", "1 2 3 4 5 6", "5 6"},
    {"scan_carry", "f32[2]", "loop = 0; steps = 3", "1 2", "1 2"},
    {"scan_next", "f32[2]; f32[2]", "loop = 0; steps = 3", "1 2; 3 4", "1 2"},
    {"scan_out", "f32[2]", "axis = 1; loop = 0; steps = 2", "1 2", "1 0 2 0"},
    {"embedding", "i32[3]; f32[3, 2]", "", "2 0 2; 1 2 3 4 5 6", "5 6 1 2 5 6"},
    {"embedding_grad", "i32[3]; f32[3, 2]", "shape = [3, 2]", "2 0 2; 1 2 3 4 5 6", "3 4 0 0 6 8"},
    {"put_rows", "f32[3, 2]; i32[3]; f32[3, 2]", "", "1 2 3 4 5 6; 2 -1 0; 7 8 9 9 -7 -8",
     "-7 -8 3 4 7 8"},
    {"add_rows", "f32[3, 2]; i32[4]; f32[4, 2]", "", "1 2 3 4 5 6; 2 -1 0 2; 7 8 9 9 -7 -8 1 0",
     "-6 -6 3 4 13 14"},
    {"first_equal", "i32[5]", "", "7 3 7 -1 3", "0 1 0 3 1"},
    {"pick", "f32[2, 3]; i32[2]", "", "1 2 3 4 5 6; 2 0", "3 4"},
    {"pick_grad", "i32[2]; f32[2]", "shape = [2, 3]", "2 0; 7 8", "0 0 7 8 0 0"},
    {"take_along", "f32[2, 3]; i32[2, 2]", "", "1 2 3 4 5 6; 2 0 1 1", "3 1 5 5"},
    {"take_along_grad", "i32[2, 3]; f32[2, 3]", "shape = [2, 2]", "1 0 1 2 -1 0; 1 2 4 8 16 32",
     "2 5 32 0"},
    {"linear_scan", "f32[2, 3]; f32[2, 3]", "axis = 1", "1 2 3 4 5 6; 9 2 3 9 -1 10",
     "1 4 15 4 1 16"},
    {"linear_scan", "f32[2, 2]; f32[2, 2]", "axis = 0; reverse = true", "1 2 3 4; 5 6 7 8",
     "16 26 3 4"},
    {"cumsum", "f32[2, 3]", "", "1 2 3 4 -5 6", "1 3 6 4 -1 5"},
    {"cumsum", "i32[2, 3]", "inverse = true", "1 2 3 4 -5 6", "6 5 3 5 1 6"},
    {"top_k", "f32[2, 4]", "k = 2", "1 3 2 3 -1 -1 -2 -1", "3 3 -1 -1; 1 3 0 1"},
    {"top_k", "f32[5]", "k = 4; ascending = true", "1 0 3 -0 2", "0 -0 1 2; 1 3 0 4"},
    /* The first query sees one key; the second sees two with equal scores. */
    {"sdpa", "f32[1, 2, 1, 1]; f32[1, 2, 1, 1]; f32[1, 2, 1, 1]", "causal = true; scale = 2",
     "1 0; 3 5; 10 20", "10 15; 6 0.6931471805599453"},
    /* The window of the last query leaves out the first key. */
    {"sdpa", "f32[1, 3, 1, 1]; f32[1, 3, 1, 1]; f32[1, 3, 1, 1]",
     "causal = true; scale = 1; window = [2]", "0 0 0; 0 0 0; 2 4 8",
     "2 3 6; 0 0.6931471805599453 0.6931471805599453"},
    /* The second of four keys is the last that the query sees. */
    {"sdpa", "f32[1, 1, 1, 1]; f32[1, 4, 1, 1]; f32[1, 4, 1, 1]",
     "causal = true; scale = 1; offset = [1]", "0; 0 0 0 0; 2 4 8 9", "3; 0.6931471805599453"},
    {"sdpa", "f32[1, 2, 1, 1]; f32[1, 1, 1, 1]; f32[1, 1, 1, 1]",
     "causal = true; scale = 1; offset = [-1]", "0 0; 0; 2", "0 2; -inf 0"},
    /* 2 tanh(q k / 2) */
    {"sdpa", "f32[1, 1, 1, 1]; f32[1, 1, 1, 1]; f32[1, 1, 1, 1]", "scale = 1; soft_cap = 2",
     "2; 3; 7", "7; 1.9901095073734609"},
    /* The first query may attend to nothing, the second to all. */
    {"sdpa_masked", "f32[1, 2, 1, 1]; f32[1, 2, 1, 1]; f32[1, 2, 1, 1]; bool[1, 1, 2, 1]",
     "scale = 2", "1 0; 3 5; 10 20; 0 1", "0 15; -inf 0.6931471805599453"},
    {"sdpa_masked", "f32[1, 1, 2, 1]; f32[1, 2, 1, 1]; f32[1, 2, 1, 1]; f32[1, 2, 1, 2]",
     "scale = 1", "0 1; 1 1; 10 20; 0 -inf 5 5", "10 15; 0 6.693147180559945"},
    /* Two query heads share a key head; all keys are alike. */
    {"sdpa", "f32[1, 1, 2, 1]; f32[1, 2, 1, 1]; f32[1, 2, 1, 1]", "scale = 1", "0 1; 1 1; 10 20",
     "15 15; 0.6931471805599453 1.6931471805599454"},
    /* Position 0 stays; position 1 turns by 1 and by 100^-0.5. */
    {"rope", "f32[1, 2, 1, 4]", "base = 100", "1 2 3 4 1 1 0 0",
     "1 2 3 4 0.5403023058681398 0.9950041652780258 0.8414709848078965 0.09983341664682815"},
    {"rope", "f32[1, 2, 1, 2]", "base = 100; inverse = true", "1 2 1 0",
     "1 2 0.5403023058681398 -0.8414709848078965"},
    /* Window o covers elements 2 o - 1 and 2 o of 1 2 3 4. */
    {"conv", "f32[1, 4, 1]; f32[2, 1, 1]", "stride = [2]; padding = [1, 0]; dilation = [1]",
     "1 2 3 4; 10 1", "1 23"},
    /* Elements o and o + 2; two channels, two features. */
    {"conv", "f32[1, 3, 2]; f32[2, 2, 2]", "stride = [1]; padding = [0, 0]; dilation = [2]",
     "1 2 0 0 3 4; 1 10 2 20 3 30 4 40", "30 300"},
    /* Two groups of one channel each. */
    {"conv", "f32[1, 1, 2, 2]; f32[1, 2, 1, 2]",
     "stride = [1, 1]; padding = [0, 0, 0, 0]; dilation = [1, 1]", "1 2 3 4; 1 10 2 20", "7 100"},
    {"conv_transpose", "f32[1, 2, 1]; f32[2, 1, 1]",
     "shape = [1, 4, 1]; stride = [2]; padding = [1, 0]; dilation = [1]", "1 2; 10 1", "1 20 2 0"},
    {"conv_filter_grad", "f32[1, 4, 1]; f32[1, 2, 1]",
     "shape = [2, 1, 1]; stride = [2]; padding = [1, 0]; dilation = [1]", "1 2 3 4; 1 10", "20 31"},
    {"max_pool", "f32[1, 4, 1]", "window = [2]; stride = [2]; padding = [1, 0]", "-1 2 2 4",
     "-1 2"},
    {"max_pool_grad", "f32[1, 4, 1]; f32[1, 2, 1]", "window = [2]; stride = [2]; padding = [1, 0]",
     "-1 2 2 4; 7 8", "7 8 0 0"},
    {"max_pool_pick", "f32[1, 4, 1]; f32[1, 4, 1]", "window = [2]; stride = [2]; padding = [1, 0]",
     "-1 2 2 4; 5 6 7 8", "5 6"},
    {"sum_pool", "f32[1, 4, 1]", "window = [2]; stride = [2]; padding = [1, 0]", "-1 2 2 4",
     "-1 4"},
    {"sum_pool_grad", "f32[1, 2, 1]",
     "shape = [1, 4, 1]; window = [2]; stride = [2]; padding = [1, 0]", "7 8", "7 8 8 0"},
    {"reshape", "f32[2, 3]", "shape = [3, 2]", "1 2 3 4 5 6", "1 2 3 4 5 6"},
    {"broadcast", "f32[2, 1]", "shape = [2, 2, 2]", "1 2", "1 1 2 2 1 1 2 2"},
    {"transpose", "f32[2, 3]", "perm = [1, 0]", "1 2 3 4 5 6", "1 4 2 5 3 6"},
    {"transpose", "f32[1, 2, 2]", "perm = [2, 0, 1]", "1 2 3 4", "1 3 2 4"},
    {"slice", "f32[2, 3]", "axis = 1; begin = 1; end = 3", "1 2 3 4 5 6", "2 3 5 6"},
    {"pad", "f32[2, 1]", "axis = 1; begin = 1; end = 1", "1 2", "0 1 0 0 2 0"},
    {"split", "f32[2, 3]", "axis = 1; sizes = [1, 2]", "1 2 3 4 5 6", "1 4; 2 3 5 6"},
    {"concat", "f32[2, 1]; f32[2, 2]", "axis = 1", "1 4; 2 3 5 6", "1 2 3 4 5 6"},
    {"accumulate", "f32[2]; f32[2]", "", "1 2; 3 4", "4 6"},
    {"accumulate_max", "f32[2]; f32[2]", "", "1 4; 3 -2", "3 4"},
    {"scale_to", "f32[5]; f32[5]", "value = 448", "448 450 3 0 1e-30; 7 7 7 7 7",
     "1 0.5 128 7 1152921504606846976"},
    /* First step: the moments' corrections undo their factors, so the step is along the sign. */
    {"adamw", "f32[1]; f32[1]; f32[1]; f32[1]; f32[]; i32[]",
     "beta1 = 0.9; beta2 = 0.99; weight_decay = 0.5", "2; -4; 0; 0; 0.1; 1", "2; -0.4; 0.16"},
    {"adam", "f32[1]; f32[1]; f32[1]; f32[1]; f32[]; i32[]",
     "beta1 = 0.9; beta2 = 0.99; weight_decay = 0.5", "2; -4; 0; 0; 0.1; 1", "2.1; -0.3; 0.09"},
    {"adamw", "f32[1]; f32[1]; f32[1]; f32[1]; f32[]; i32[]", "beta1 = 0.5; beta2 = 0.5; eps = 1",
     "2; 1; 1; 1; 0.75; 2", "1.5358983848622454; 1; 1"},
    {"sgd", "f32[1]; f32[1]; f32[1]; f32[]", "momentum = 0.5; weight_decay = 0.5", "2; 1; 4; 0.1",
     "1.6; 4"},
    {"sgd", "f32[1]; f32[1]; f32[1]; f32[]", "momentum = 0.5; nesterov = true", "2; 1; 4; 0.1",
     "1.75; 3"},
};

static int read_list(const char **text, double *at)
{
    int count = 0;
    while (**text && **text != ';') {
        char *end;
        at[count++] = strtod(*text, &end);
        *text = end;
    }
    *text += **text == ';';
    return count;
}

enum { MOST = 64 };

START_TEST(values_are_as_worked_out)
{
    const Case *c = &cases[_i];
    TestGraph test = test_graph_new();
    MwNodeId id = test_node(&test, c->op, c->operands, c->attrs);
    ck_assert_msg(id.index >= 0, "%s", diags_text(test.arena, test.diags));
    const MwNode *node = mw_node(test.graph, id);
    double in[8][MOST], out[8][MOST] = {0}, expected[MOST];
    const double *operands[8];
    double *results[8];
    const char *text = c->in;
    for (int k = 0; k < node->operand_count; k++) {
        int64_t count = mw_tensor_elements(mw_value_tensor(test.graph, node->operands[k]));
        ck_assert_int_eq(read_list(&text, in[k]), count);
        operands[k] = in[k];
    }
    for (int k = 0; k < node->result_count; k++)
        results[k] = out[k];
    Place place = place_alone(0);
    evaluate_node(test.graph, node, &place, operands, results);
    text = c->out;
    for (int k = 0; k < node->result_count; k++) {
        int count = read_list(&text, expected);
        ck_assert_int_eq(count,
                         mw_tensor_elements(&test.graph->values.at[node->first_result + k].tensor));
        for (int i = 0; i < count; i++)
            ck_assert_msg(out[k][i] == expected[i] ||
                              fabs(out[k][i] - expected[i]) <= 1e-9 * fmax(1, fabs(expected[i])),
                          "%s: element %d of result %d is %.17g instead of %.17g", c->op, i, k,
                          out[k][i], expected[i]);
    }
    test_graph_free(&test);
}
END_TEST

START_TEST(every_operator_has_a_value_or_a_slope)
{
    for (int op = 0; op < MW_OP_COUNT; op++) {
        const char *name = mw_op_info((MwOp)op)->name;
        size_t length = strlen(name);
        /* tests/unit/test_update.c has steps of optimizers by hand. */
        bool found = !evaluate_can((MwOp)op) || mw_optimizer_of((MwOp)op) ||
                     (length > 5 && strcmp(name + length - 5, "_grad") == 0);
        for (int i = 0; i < MW_COUNT(cases); i++)
            found |= strcmp(cases[i].op, name) == 0;
        ck_assert_msg(found, "%s", name);
    }
}
END_TEST

/* Gradient operators. `takes` says what the gradient operator's operands are: a digit, that operand
 * of the forward operator; 'y' and 'l', its results 0 and 1; 'd', the gradient of result 0. Its
 * results are the gradients of the forward operator's operands from 0 on. */
static const struct {
    const char *op, *operands, *attrs, *grad, *takes;
} slopes[] = {
    {"gelu", "f32[6]", "", "gelu_grad", "0d"},
    {"gelu_tanh", "f32[6]", "", "gelu_tanh_grad", "0d"},
    {"silu", "f32[6]", "", "silu_grad", "0d"},
    {"logsumexp", "f32[3, 4]", "", "logsumexp_grad", "0yd"},
    {"softmax", "f32[3, 4]", "", "softmax_grad", "yd"},
    {"log_softmax", "f32[3, 4]", "", "log_softmax_grad", "yd"},
    {"layer_norm", "f32[3, 4]", "eps = 0.1", "layer_norm_grad", "0d"},
    {"rms_norm", "f32[3, 4]", "eps = 0.1", "rms_norm_grad", "0d"},
    {"sdpa", "f32[2, 3, 2, 2]; f32[2, 3, 2, 2]; f32[2, 3, 2, 2]", "scale = 0.7; causal = true",
     "sdpa_grad", "012yld"},
    {"max_pool", "f32[2, 4, 3]", "window = [2]; stride = [1]; padding = [1, 0]", "max_pool_grad",
     "0d"},
    {"sdpa", "f32[2, 3, 4, 2]; f32[2, 4, 2, 2]; f32[2, 4, 2, 2]", "scale = 0.7", "sdpa_grad",
     "012yld"},
    {"sdpa_masked", "f32[2, 3, 4, 2]; f32[2, 3, 2, 2]; f32[2, 3, 2, 2]; f32[2, 4, 1, 3]",
     "scale = 1.5; causal = true; window = [2]; soft_cap = 1.2", "sdpa_masked_grad", "012yld3"},
};

typedef struct {
    TestGraph test;
    const MwNode *forward, *grad;
    double in[4][MOST], out[2][MOST], d[MOST], slope[3][MOST];
} Slope;

static int64_t elements_of(const Slope *s, MwValueId value)
{
    return mw_tensor_elements(mw_value_tensor(s->test.graph, value));
}

/* Sum over the elements of result 0, weighted by d. */
static double weighted_result(Slope *s)
{
    Place place = place_alone(0);
    const double *operands[] = {s->in[0], s->in[1], s->in[2], s->in[3]};
    double *results[] = {s->out[0], s->out[1]};
    evaluate_node(s->test.graph, s->forward, &place, operands, results);
    double sum = 0;
    for (int64_t i = 0; i < elements_of(s, (MwValueId){s->forward->first_result}); i++)
        sum += s->d[i] * s->out[0][i];
    return sum;
}

static void run_grad(Slope *s, const char *takes)
{
    weighted_result(s);
    Place place = place_alone(0);
    const double *operands[7];
    double *results[] = {s->slope[0], s->slope[1], s->slope[2]};
    for (int k = 0; takes[k]; k++)
        operands[k] = takes[k] == 'd'   ? s->d
                      : takes[k] == 'y' ? s->out[0]
                      : takes[k] == 'l' ? s->out[1]
                                        : s->in[takes[k] - '0'];
    evaluate_node(s->test.graph, s->grad, &place, operands, results);
}

static void slope_init(Slope *s, int i)
{
    s->test = test_graph_new();
    MwNodeId id = test_node(&s->test, slopes[i].op, slopes[i].operands, slopes[i].attrs);
    MwNode forward = *mw_node(s->test.graph, id);
    MwValueId y = {forward.first_result}, values[7];
    int count = 0;
    for (const char *c = slopes[i].takes; *c; c++)
        values[count++] = *c == 'd' || *c == 'y' ? y
                          : *c == 'l'            ? (MwValueId){y.index + 1}
                                                 : forward.operands[*c - '0'];
    MwValueId slope = test_apply(&s->test, NULL, slopes[i].grad, values, count, slopes[i].attrs);
    s->forward = mw_node(s->test.graph, id);
    s->grad = mw_value_node(s->test.graph, slope);
    uint64_t random = 5;
    for (int k = 0; k < s->forward->operand_count; k++)
        for (int64_t j = 0; j < elements_of(s, s->forward->operands[k]); j++)
            s->in[k][j] = random_below(&random, 2000) / 1000.0 - 1;
    for (int64_t j = 0; j < elements_of(s, y); j++)
        s->d[j] = random_below(&random, 2000) / 1000.0 - 1;
}

/* Central differences with step h: error h^2 and 1e-16 / h. */
START_TEST(gradient_operators_are_slopes)
{
    Slope s;
    slope_init(&s, _i);
    run_grad(&s, slopes[_i].takes);
    const double h = 1e-5;
    for (int k = 0; k < s.grad->result_count; k++)
        for (int64_t i = 0; i < elements_of(&s, s.forward->operands[k]); i++) {
            double x = s.in[k][i];
            s.in[k][i] = x + h;
            double above = weighted_result(&s);
            s.in[k][i] = x - h;
            double below = weighted_result(&s);
            s.in[k][i] = x;
            ck_assert_double_eq_tol(s.slope[k][i], (above - below) / (2 * h), 1e-8);
        }
    test_graph_free(&s.test);
}
END_TEST

static MwValueId weight(TestGraph *test, const char *op, const char *name, const char *type,
                        const char *init, double value)
{
    MwTensor given = test_type(type);
    MwAttr attrs[] = {mw_attr_text(MW_ATTR_INIT, mw_intern(test->graph->interner, init)),
                      mw_attr_float(MW_ATTR_VALUE, value)};
    MwNodeSpec spec = {.given = &given, .name = name, .attrs = attrs, .attr_count = 2};
    MW_ASSERT(mw_op_parse(op, &spec.op));
    return test_add(test, &spec);
}

static uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

START_TEST(weights_begin_as_the_seed_says)
{
    TestGraph test = test_graph_new();
    weight(&test, "weight", "a.w", "f32[2, 3]", "normal", 0.5);
    weight(&test, "weight", "a.u", "f32[6]", "uniform", 0.5);
    weight(&test, "weight", "a.h", "bf16[6]", "normal", 0.5);
    weight(&test, "weight", "a.c", "f32[6]", "constant", 0.1);
    weight(&test, "weight", "a.o", "f32[6]", "ones", 0);
    Interpreter *run = interpreter_new(test.arena, test.graph, 42, 1);
    for (uint64_t i = 0; i < 6; i++) {
        double normal = 0.5 * mw_normal_at(42, mw_hash_bytes("a.w", 3), i);
        double uniform = mw_uniform_at(42, mw_hash_bytes("a.u", 3), i) - 0.5;
        double half = 0.5 * mw_normal_at(42, mw_hash_bytes("a.h", 3), i);
        ck_assert_double_eq(interpreter_value(run, "a.w")[i], (float)normal);
        ck_assert_double_eq(interpreter_value(run, "a.u")[i], (float)uniform);
        double stored = interpreter_value(run, "a.h")[i];
        ck_assert_double_le(fabs(stored - half), fabs(half) * 0x1p-8);
        ck_assert_uint_eq(float_bits((float)stored) & 0xffff, 0);
        ck_assert_double_eq(interpreter_value(run, "a.c")[i], 0.1f);
        ck_assert_double_eq(interpreter_value(run, "a.o")[i], 1);
    }
    test_graph_free(&test);
}
END_TEST

/* w -= 0.1 sum(x) over two micro-batches of x, twice. */
START_TEST(micro_batches_accumulate)
{
    TestGraph test = test_graph_new();
    MwGraph *graph = test.graph;
    MwValueId x = test_source(&test, MW_OP_INPUT, "x", "f32[2]");
    MwValueId w = weight(&test, "weight", "w", "f32[]", "ones", 0);
    MwValueId sum = weight(&test, "state", "sum", "f32[]", "zeros", 0);
    MwValueId loss = test_apply(&test, "loss", "reduce_sum", &x, 1, "axes = [0]");
    test_train(graph, loss);
    graph->phase = MW_PHASE_BACKWARD;
    MwValueId more = test_op2(&test, MW_OP_ACCUMULATE, sum, loss);
    graph->phase = MW_PHASE_UPDATE;
    MwValueId rate = test_apply(&test, NULL, "constant", NULL, 0, "type = f32; value = 0.1");
    MwValueId next = test_op2(&test, MW_OP_SUB, w, test_op2(&test, MW_OP_MUL, rate, more));
    mw_vec_push(test.arena, &graph->assigns, ((MwAssign){sum, more}));
    mw_vec_push(test.arena, &graph->assigns, ((MwAssign){w, next}));
    Interpreter *run = interpreter_new(test.arena, graph, 1, 2);
    interpreter_set(run, x, (double[]){1, 2, 3, 4});
    interpreter_step(run);
    ck_assert_double_eq(run->losses[0], 3);
    ck_assert_double_eq(run->losses[1], 7);
    ck_assert_double_eq_tol(interpreter_value(run, "w")[0], 0, 1e-15);
    interpreter_step(run);
    ck_assert_double_eq_tol(interpreter_value(run, "w")[0], -1, 1e-15);
    ck_assert_int_eq(run->place.step, 2);
    test_graph_free(&test);
}
END_TEST

/* Dropout of a batch in two micro-batches drops what it drops of the whole. */
START_TEST(dropout_counts_over_micro_batches)
{
    double x[32], whole[32];
    for (int i = 0; i < 32; i++)
        x[i] = i + 1;
    for (int micro_batches = 1; micro_batches <= 2; micro_batches++) {
        TestGraph test = test_graph_new();
        MwValueId input =
            test_source(&test, MW_OP_INPUT, "x", micro_batches == 1 ? "f32[8, 4]" : "f32[4, 4]");
        test_apply(&test, "y", "dropout", &input, 1,
                   "rate = 0.5; key = 9; origin = [8, 4]; split = [R, R]");
        Interpreter *run = interpreter_new(test.arena, test.graph, 3, micro_batches);
        interpreter_set(run, input, x);
        interpreter_step(run);
        const double *y = interpreter_value(run, "y");
        int dropped = 0;
        for (int i = 0; i < 32 && micro_batches == 1; i++) {
            whole[i] = y[i];
            dropped += y[i] == 0;
        }
        ck_assert(micro_batches == 2 || (dropped > 4 && dropped < 28));
        for (int i = 0; i < 16 && micro_batches == 2; i++)
            ck_assert_double_eq(y[i], whole[16 + i]);
        test_graph_free(&test);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reference");
    TCase *tests = tcase_create("reference");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, values_are_as_worked_out, 0, MW_COUNT(cases));
    tcase_add_test(tests, every_operator_has_a_value_or_a_slope);
    tcase_add_loop_test(tests, gradient_operators_are_slopes, 0, MW_COUNT(slopes));
    tcase_add_test(tests, weights_begin_as_the_seed_says);
    tcase_add_test(tests, micro_batches_accumulate);
    tcase_add_test(tests, dropout_counts_over_micro_batches);
    return run_suite(suite);
}
