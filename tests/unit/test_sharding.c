/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules: that they are as written, and that what they say is so. A node split over
 * one factor, and over those that it follows, is evaluated part by part, and the parts must make up
 * what the whole node gives. */
#include "base/text.h"
#include "ir/sharding/sharding.h"
#include "tests/reference/combine.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/spread.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

/* `rule`: factors are letters in order, several of one dimension stand in braces, a dimension that
 * runs over none is '.', and then each factor with its size, "/divisor" if that is another, "!" if
 * it is fixed; ">" stands before one that follows. */
static const struct {
    const char *op, *operands, *attrs, *rule;
} cases[] = {
    {"input", "f32[8, 4]", "", "->ab a8 b4"},
    {"weight", "f32[8, 4]", "init = zeros", "->ab a8 b4"},
    {"step", "", "", "->"},
    {"constant", "", "type = f32; shape = [8]", "->a a8"},
    {"iota", "", "type = i32; shape = [8, 4]; axis = 1", "->ab a8 b4"},
    {"uniform", "", "shape = [8, 4]; key = 3", "->ab a8 b4"},
    {"flip", "f32[8, 4]", "axis = 1", "ab->ab a8 b4!"},
    {"add", "f32[8, 4]; f32[8, 4]", "", "ab,ab->ab a8 b4"},
    {"add", "f32[8, 4]; f32[4]", "", "ab,b->ab a8 b4"},
    {"add", "f32[8, 1]; f32[4]", "", "a.,b->ab a8 b4"},
    {"add", "f32[1, 4]; f32[1, 4]", "", "ab,ab->ab a1 b4"},
    {"add", "f32[]; f32[8]", "", ",a->a a8"},
    {"select", "bool[8, 1]; f32[]; f32[4]", "", "a.,,b->ab a8 b4"},
    {"sub", "f32[8, 4]; f32[8, 4]", "", "ab,ab->ab a8 b4"},
    {"mul", "f32[8, 4]; f32[4]", "", "ab,b->ab a8 b4"},
    {"div", "f32[8, 4]; f32[8, 1]", "", "ab,a.->ab a8 b4"},
    {"neg", "f32[8]", "", "a->a a8"},
    {"gelu_grad", "f32[8]; f32[8]", "", "a,a->a a8"},
    {"gelu_tanh_grad", "f32[8]; f32[8]", "", "a,a->a a8"},
    {"silu_grad", "f32[8]; f32[8]", "", "a,a->a a8"},
    {"identity", "f32[8]", "", "a->a a8"},
    {"to_host", "f32[8]", "", "a->a a8"},
    {"to_device", "f32[8]", "", "a->a a8"},
    {"stop_gradient", "f32[8]", "", "a->a a8"},
    {"accumulate", "f32[8]; f32[8]", "", "a,a->a a8"},
    {"accumulate_max", "f32[8]; f32[8]", "", "a,a->a a8"},
    {"scale_to", "f32[8]; f32[8]", "value = 448", "a,a->a a8"},
    {"dropout", "f32[8, 4]", "rate = 0.5; key = 3", "ab->ab a8 b4"},
    {"cast_stochastic", "f32[8, 4]", "type = bf16; key = 3", "ab->ab a8 b4"},
    {"broadcast", "f32[1, 4]", "shape = [2, 3, 4]", ".c->abc a2 b3 c4"},
    {"adamw", "f32[8, 4]; f32[8, 4]; f32[8, 4]; f32[8, 4]; f32[]; i32[]", "",
     "ab,ab,ab,ab,,->ab,ab,ab a8 b4"},
    {"sgd", "f32[8]; f32[8]; f32[8]; f32[]", "", "a,a,a,->a,a a8"},
    {"reduce_sum", "f32[2, 3, 4]", "axes = [1]", "abc->ac a2 b3 c4"},
    {"reduce_max", "f32[2, 3, 4]", "axes = [0, 2]; keep = true", "abc->.b. a2 b3 c4"},
    {"logsumexp", "f32[2, 3]", "", "ab->a a2 b3"},
    {"logsumexp_grad", "f32[2, 3]; f32[2]; f32[2]", "", "ab,a,a->ab a2 b3"},
    {"softmax", "f32[2, 3]", "", "ab->ab a2 b3!"},
    {"softmax_grad", "f32[2, 3]; f32[2, 3]", "", "ab,ab->ab a2 b3!"},
    {"log_softmax_grad", "f32[2, 3]; f32[2, 3]", "", "ab,ab->ab a2 b3!"},
    {"layer_norm_grad", "f32[2, 3]; f32[2, 3]", "eps = 1e-5", "ab,ab->ab a2 b3!"},
    {"rms_norm_grad", "f32[2, 3]; f32[2, 3]", "eps = 1e-5", "ab,ab->ab a2 b3!"},
    {"einsum", "f32[8, 4, 16]; f32[16, 32]", "equation = bsw,wf->bsf", "abc,cd->abd a8 b4 c16 d32"},
    {"einsum", "f32[4, 6]; f32[8, 4]", "equation = wf,bw->fb", "ab,ca->bc a4 b6 c8"},
    {"einsum", "f32[8, 4]", "equation = xy->y", "ab->b a8 b4"},
    {"embedding", "i32[8, 16]; f32[256, 64]", "", "ab,cd->abd a8 b16 c1/256 d64"},
    {"embedding_grad", "i32[8, 16]; f32[8, 16, 64]", "shape = [256, 64]",
     "ab,abd->cd a8 b16 c1/256 d64"},
    {"put_rows", "f32[256, 64]; i32[8]; f32[8, 64]", "", "bc,a,ac->bc a8! b1/256 c64"},
    {"add_rows", "f32[256, 64]; i32[8, 4]; f32[8, 4, 64]", "", "cd,ab,abd->cd a8! b4! c1/256 d64"},
    {"first_equal", "i32[8]", "", "a->a a8!"},
    {"pick", "f32[8, 16, 256]; i32[8, 16]", "", "abc,ab->ab a8 b16 c1/256"},
    {"pick_grad", "i32[8, 16]; f32[8, 16]", "shape = [8, 16, 256]", "ab,ab->abc a8 b16 c256"},
    {"take_along", "f32[8, 16, 256]; i32[8, 16, 4]", "", "abd,abc->abc a8 b16 c4 d1/256"},
    {"take_along_grad", "i32[8, 4]; f32[8, 4]", "shape = [8, 256]", "ab,ab->ac a8 b4 c256!"},
    {"linear_scan", "f32[8, 6, 16]; f32[8, 6, 16]", "axis = 1", "abc,abc->abc a8 b6! c16"},
    {"cumsum", "f32[8, 16, 6]", "", "abc->abc a8 b16 c6!"},
    {"cumsum", "f32[8, 6]", "inverse = true", "ab->ab a8 b6!"},
    {"top_k", "f32[8, 16, 256]", "k = 4", "abc->abd,abd a8 b16 c256! d4!"},
    {"conv", "f32[8, 6, 4]; f32[3, 4, 2]", "stride = [1]; padding = [1, 1]; dilation = [1]",
     "adb,ebc->adc a8 b4 c2 d6~6 e3!"},
    {"conv", "f32[2, 6, 4]; f32[3, 2, 6]", "stride = [2]; padding = [1, 1]; dilation = [1]",
     "aeb,fcb->aeb a2 b2 c2! d3! e3~3 f3!"},
    {"conv_transpose", "f32[8, 6, 2]; f32[3, 4, 2]",
     "shape = [8, 6, 4]; stride = [1]; padding = [1, 1]; dilation = [1]",
     "adc,ebc->adb a8 b4 c2 d6~6 e3!"},
    {"conv_filter_grad", "f32[8, 6, 4]; f32[8, 6, 2]",
     "shape = [3, 4, 2]; stride = [1]; padding = [1, 1]; dilation = [1]",
     "adb,adc->ebc a8 b4 c2 d6~6 e3!"},
    {"max_pool", "f32[4, 6, 5, 2]", "window = [2, 2]; stride = [2, 2]; padding = [0, 0, 0, 1]",
     "aceb->aceb a4 b2 c3~3 d2! e3! f2!"},
    {"max_pool_grad", "f32[4, 6, 2]; f32[4, 3, 2]", "window = [2]; stride = [2]; padding = [0, 0]",
     "acb,acb->acb a4 b2 c3~3 d2!"},
    {"max_pool_pick", "f32[4, 6, 2]; f32[4, 6, 2]", "window = [2]; stride = [2]; padding = [0, 0]",
     "acb,acb->acb a4 b2 c3~3 d2!"},
    {"sum_pool", "f32[4, 6, 2]", "window = [2]; stride = [2]; padding = [0, 0]",
     "acb->acb a4 b2 c3~3 d2!"},
    {"sum_pool_grad", "f32[4, 3, 2]",
     "shape = [4, 6, 2]; window = [2]; stride = [2]; padding = [0, 0]", "acb->acb a4 b2 c3~3 d2!"},
    {"sdpa", "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]", "scale = 1",
     "acbe,adbe,adbe->acbe,acb a2 b3 c8 d7 e16! f2!"},
    {"sdpa_grad",
     "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]; f32[2, 8, 6, 16]; f32[2, 8, 6]; "
     "f32[2, 8, 6, 16]",
     "scale = 1", "acbe,adbe,adbe,acbe,acb,acbe->acbe,adbe,adbe a2 b3 c8 d7 e16! f2!"},
    {"sdpa", "f32[2, 8, 6, 16]; f32[2, 8, 3, 16]; f32[2, 8, 3, 16]",
     "scale = 1; causal = true; window = [3]; soft_cap = 2",
     "acbe,adbe,adbe->acbe,acb a2 b3 c8 d8 e16! f2!"},
    {"sdpa", "f32[2, 8, 6, 16]; f32[2, 12, 3, 16]; f32[2, 12, 3, 16]",
     "scale = 1; causal = true; offset = [4]; window = [6]",
     "acbe,adbe,adbe->acbe,acb a2 b3 c8 d12 e16! f2!"},
    {"sdpa", "f32[2, 8, 6, 16]; f32[2, 4, 3, 16]; f32[2, 4, 3, 16]", "scale = 1; causal = true",
     "acbe,adbe,adbe->acbe,acb a2 b3 c8 d4 e16! f2!"},
    {"sdpa_masked", "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]; f32[1, 6, 8, 7]",
     "scale = 1; window = [3]", "acbe,adbe,adbe,.bcd->acbe,acb a2 b3 c8 d7 e16! f2!"},
    {"sdpa_masked", "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]; bool[2, 1, 1, 7]",
     "scale = 1", "acbe,adbe,adbe,a..d->acbe,acb a2 b3 c8 d7 e16! f2!"},
    {"sdpa_masked_grad",
     "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]; f32[2, 8, 6, 16]; f32[2, 8, 6]; "
     "f32[2, 8, 6, 16]; f32[1, 6, 8, 7]",
     "scale = 1", "acbe,adbe,adbe,acbe,acb,acbe,.bcd->acbe,adbe,adbe a2 b3 c8 d7 e16! f2!"},
    {"sdpa_mask_grad",
     "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]; f32[2, 8, 6, 16]; f32[2, 8, 6]; "
     "f32[2, 8, 6, 16]; f32[1, 6, 1, 7]",
     "scale = 1", "acbe,adbe,adbe,acbe,acb,acbe,.b.d->.b.d a2 b3 c8 d7 e16! f2!"},
    {"rope", "f32[2, 8, 6, 16]", "base = 10000", "abcd->abcd a2 b8 c6 d16!"},
    {"reshape", "f32[8, 4, 6]", "shape = [32, 6]", "abc->{ab}c a8>b4 c6"},
    {"reshape", "f32[32, 6]", "shape = [8, 4, 6]", "{ab}c->abc a8>b4 c6"},
    {"reshape", "f32[8, 6]", "shape = [12, 4]", "a.->a. a4 b12!"},
    {"reshape", "f32[2, 3, 4]", "shape = [24]", "abc->{abc} a2>b3>c4"},
    {"reshape", "f32[6, 4]", "shape = [2, 12]", "{ab}c->a{bc} a2>b3>c4"},
    {"reshape", "f32[2, 9, 4]", "shape = [2, 6, 6]", "ab.->ab. a2 b3 c12!"},
    {"reshape", "f32[2, 1, 9, 4, 2]", "shape = [12, 6, 1, 2]", "a.b.d->{ab}..d a2>b3 c12! d2"},
    {"reshape", "f32[3, 8]", "shape = [8, 3]", "..->.. a24!"},
    {"reshape", "f32[8, 4]", "shape = [8, 1, 4, 1]", "ab->a.b. a8 b4"},
    {"reshape", "f32[1, 8, 4]", "shape = [1, 32]", ".ab->.{ab} a8>b4"},
    {"reshape", "f32[1, 1]", "shape = []", "..->"},
    {"reshape", "f32[4, 2, 6, 5]", "shape = [8, 3, 10]", "ab{cd}e->{ab}c{de} a4>b2 c3>d2>e5"},
    {"transpose", "f32[2, 3, 4]", "perm = [2, 0, 1]", "bca->abc a4 b2 c3"},
    {"scan_in", "f32[8, 3, 4]", "axis = 1; loop = 0", "a.b->ab a8 b4"},
    {"scan_carry", "f32[8, 4]", "loop = 0; steps = 3", "ab->ab a8 b4"},
    {"scan_next", "f32[8, 4]; f32[8, 4]", "loop = 0; steps = 3", "ab,ab->ab a8 b4"},
    {"scan_out", "f32[8, 4]", "axis = 1; loop = 0; steps = 3; reverse = true", "ab->a.b a8 b4"},
    {"slice", "f32[8, 4]", "axis = 1; begin = 1; end = 3", "ab->ab a8 b2!"},
    {"pad", "f32[8, 4]", "axis = 0; begin = 1; end = 3", "ab->ab a12! b4"},
    {"split", "f32[8, 6]", "axis = 1; sizes = [4, 2]", "ab->ab,ab a8 b6!"},
    {"concat", "f32[8, 4]; f32[8, 2]", "axis = 1", "ab,ab->ab a8 b6!"},
    {"all_reduce", "f32[8, 4]", "mesh_axis = 0; ways = 2; combine = sum", "..->.."},
    {"shard", "f32[8, 4]", "mesh_axis = 0; ways = 2; axis = 0", "..->.."},
};

static void add_map(MwText *text, const MwFactorMap *map, int rank)
{
    for (int d = 0; d < rank; d++) {
        const bool is_several = map->last[d] > map->factor[d];
        mw_text_add(text, map->factor[d] < 0 ? "." : is_several ? "{" : "");
        for (int f = map->factor[d]; f >= 0 && f <= map->last[d]; f++)
            mw_text_printf(text, "%c", 'a' + f);
        mw_text_add(text, is_several ? "}" : "");
    }
}

static const char *rule_text(TestGraph *test, MwNodeId id, const MwShardingRule *rule)
{
    const MwNode *node = mw_node(test->graph, id);
    MwText text = {.arena = test->arena};
    for (int k = 0; k < node->operand_count; k++) {
        mw_text_add(&text, k ? "," : "");
        add_map(&text, &rule->operands[k], mw_value_tensor(test->graph, node->operands[k])->rank);
    }
    mw_text_add(&text, "->");
    for (int k = 0; k < node->result_count; k++) {
        mw_text_add(&text, k ? "," : "");
        add_map(&text, &rule->results[k],
                test->graph->values.at[node->first_result + k].tensor.rank);
    }
    for (int f = 0; f < rule->factor_count; f++) {
        const MwFactor *factor = &rule->factors[f];
        mw_text_printf(&text, "%s%c%d", factor->follows ? ">" : " ", 'a' + f, (int)factor->size);
        if (factor->kind == MW_FACTOR_FIXED)
            mw_text_add(&text, "!");
        else if (factor->kind == MW_FACTOR_WINDOWS)
            mw_text_printf(&text, "~%d", (int)factor->most);
        else if (factor->divisor != factor->size)
            mw_text_printf(&text, "/%d", (int)factor->divisor);
    }
    return text.at;
}

START_TEST(rules_are_as_written)
{
    TestGraph test = test_graph_new();
    MwNodeId node = test_node(&test, cases[_i].op, cases[_i].operands, cases[_i].attrs);
    ck_assert_msg(node.index >= 0, "%s", diags_text(test.arena, test.diags));
    MwShardingRule rule = mw_sharding_rule(test.arena, test.graph, node);
    ck_assert_str_eq(rule_text(&test, node, &rule), cases[_i].rule);
    test_graph_free(&test);
}
END_TEST

/* The name of the sharding rule of each operator. */
static const char *const rule_names[MW_OP_COUNT] = {
#define OP(id, name, operands, results, attrs, shape, sharding, ...) [MW_OP_##id] = #sharding,
#include "ir/ops.def"
};

/* Also every operator that carries partial sums, so that its linearity is put to the test. */
static bool op_has_case(MwOp op)
{
    for (int i = 0; i < MW_COUNT(cases); i++)
        if (strcmp(cases[i].op, mw_op_info(op)->name) == 0)
            return true;
    return false;
}

static bool rule_has_case(const char *rule)
{
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwOp op;
        ck_assert(mw_op_parse(cases[i].op, &op));
        if (strcmp(rule_names[op], rule) == 0)
            return true;
    }
    return false;
}

START_TEST(every_rule_has_a_case)
{
    for (int op = 0; op < MW_OP_COUNT; op++) {
        ck_assert_msg(rule_has_case(rule_names[op]), "%s", rule_names[op]);
        ck_assert_msg(mw_op_info((MwOp)op)->linear == MW_LINEAR_NONE || op_has_case((MwOp)op), "%s",
                      mw_op_info((MwOp)op)->name);
    }
}
END_TEST

START_TEST(points_are_the_loop_space)
{
    TestGraph test = test_graph_new();
    MwNodeId node = test_node(&test, "sdpa", "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]",
                              "scale = 1");
    MwShardingRule rule = mw_sharding_rule(test.arena, test.graph, node);
    int64_t points = 1;
    for (int f = 0; f < rule.factor_count; f++)
        points *= rule.factors[f].size;
    ck_assert_int_eq(points, 2 * 8 * 7 * 6 * 16);
    test_graph_free(&test);
}
END_TEST

/* A node with data for its operands and what it gives. */
typedef struct {
    TestGraph test;
    MwNodeId id;
    double **in, **out;
} Evaluated;

static const MwTensor *operand_type(const Evaluated *e, int k)
{
    return mw_value_tensor(e->test.graph, mw_node(e->test.graph, e->id)->operands[k]);
}

static const MwTensor *result_type(const Evaluated *e, int k)
{
    return mw_value_tensor(e->test.graph, mw_node_result(e->test.graph, e->id, k));
}

/* Floats that every operator is defined for, indices that every table of the cases has. */
static double draw(MwType type, uint64_t *random)
{
    if (type == MW_I32)
        return random_below(random, 100);
    if (type == MW_BOOL)
        return random_below(random, 2);
    return 0.25 + (double)random_below(random, 1000) / 1000;
}

static void allocate(Evaluated *e)
{
    const MwNode *node = mw_node(e->test.graph, e->id);
    e->in = MW_NEW(e->test.arena, double *, node->operand_count);
    e->out = MW_NEW(e->test.arena, double *, node->result_count);
    for (int k = 0; k < node->operand_count; k++)
        e->in[k] = MW_NEW(e->test.arena, double, mw_tensor_elements(operand_type(e, k)));
    for (int k = 0; k < node->result_count; k++)
        e->out[k] = MW_NEW(e->test.arena, double, mw_tensor_elements(result_type(e, k)));
}

static void evaluate(Evaluated *e, const Place *place)
{
    evaluate_node(e->test.graph, mw_node(e->test.graph, e->id), place, (const double *const *)e->in,
                  e->out);
}

/* The whole node, with random operands. */
static Evaluated evaluated_new(int i)
{
    Evaluated e = {.test = test_graph_new()};
    e.id = test_node(&e.test, cases[i].op, cases[i].operands, cases[i].attrs);
    allocate(&e);
    uint64_t random = 1;
    for (int k = 0; k < mw_node(e.test.graph, e.id)->operand_count; k++)
        for (int64_t j = 0; j < mw_tensor_elements(operand_type(&e, k)); j++)
            e.in[k][j] = draw(operand_type(&e, k)->type, &random);
    return e;
}

/* A split of one factor of a node over the last axis of a mesh; those that it follows are split
 * over the axes before, in order. */
typedef struct {
    const Evaluated *whole;
    MwShardingRule rule;
    int factor;
    MwMeshShape mesh;
} Split;

/* False if there are not enough axes for all that the factor follows. */
static bool set_mesh(Split *split, int ways)
{
    int first = split->factor;
    while (split->rule.factors[first].follows)
        first--;
    split->mesh = (MwMeshShape){.axis_count = split->factor - first + 1};
    if (split->mesh.axis_count > MW_MAX_AXES)
        return false;
    for (int f = first; f < split->factor; f++)
        split->mesh.size[f - first] = (int)split->rule.factors[f].size;
    split->mesh.size[split->factor - first] = ways;
    return true;
}

static MwSpec map_spec(const Split *split, const MwFactorMap *map)
{
    const int first = split->factor - split->mesh.axis_count + 1;
    MwSpec spec = mw_spec_replicated();
    for (int d = 0; d < MW_MAX_RANK; d++)
        for (int axis = 0; axis < split->mesh.axis_count; axis++)
            if (mw_factor_map_has(map, d, first + axis))
                spec = mw_spec_with_dim(spec, d, (MwAxes)(mw_spec_dim(spec, d) | 1 << axis));
    return spec;
}

static MwTensor local_type(const Split *split, const MwTensor *whole, const MwFactorMap *map)
{
    return mw_spec_local(map_spec(split, map), whole, &split->mesh);
}

/* The tensor in which the node counts by attribute `origin`, and what its dimensions run over. */
static const MwTensor *counted(const Split *split, MwAttrKey origin, const MwFactorMap **map)
{
    const MwNode *node = mw_node(split->whole->test.graph, split->whole->id);
    int operand = mw_op_counted_operand(node->op, origin);
    *map = operand < 0 ? &split->rule.results[0] : &split->rule.operands[operand];
    return operand < 0 ? result_type(split->whole, 0) : operand_type(split->whole, operand);
}

static void localise_attr(const Split *split, TestGraph *local, MwAttr *attr)
{
    if (attr->key == MW_ATTR_SHAPE) {
        MwTensor result = local_type(split, result_type(split->whole, 0), &split->rule.results[0]);
        attr->ints.at = mw_arena_dup(local->arena, result.dim, sizeof result.dim);
    }
    if (!mw_attr_is_origin(attr->key))
        return;
    const MwFactorMap *map;
    const MwTensor *tensor = counted(split, attr->key, &map);
    attr->ints.at = mw_arena_dup(local->arena, tensor->dim, sizeof tensor->dim);
    attr->ints.count = tensor->rank;
    attr[1] = mw_attr_spec(attr->key + 1, map_spec(split, map), tensor->rank);
}

/* The node that every device runs. */
static Evaluated local_new(const Split *split)
{
    Evaluated local = {.test = test_graph_new()};
    const MwNode *node = mw_node(split->whole->test.graph, split->whole->id);
    MwValueId operands[8];
    for (int k = 0; k < node->operand_count; k++) {
        MwTensor type = local_type(split, operand_type(split->whole, k), &split->rule.operands[k]);
        operands[k] = test_add(&local.test, &(MwNodeSpec){.op = MW_OP_INPUT, .given = &type});
    }
    MwAttr attrs[16];
    memcpy(attrs, node->attrs, sizeof *attrs * (size_t)node->attr_count);
    for (int i = 0; i < node->attr_count; i++)
        localise_attr(split, &local.test, &attrs[i]);
    MwNodeSpec spec = {.op = node->op,
                       .operands = operands,
                       .operand_count = node->operand_count,
                       .attrs = attrs,
                       .attr_count = node->attr_count};
    local.id = mw_value(local.test.graph, test_add(&local.test, &spec))->node;
    allocate(&local);
    return local;
}

/* Where element `i` of device `c`'s part lies in the whole. */
static int64_t element_in_whole(const Split *split, const MwFactorMap *map, const MwTensor *part,
                                const MwTensor *whole, int c, int64_t i)
{
    const MwSpec spec = map_spec(split, map);
    int coordinate[MW_MAX_AXES];
    mw_mesh_coordinates(&split->mesh, c, coordinate);
    int64_t at = 0, stride = 1;
    for (int d = part->rank - 1; d >= 0; d--) {
        int64_t block = mw_mesh_block(&split->mesh, mw_spec_dim(spec, d), coordinate);
        at += stride * (i % part->dim[d] + block * part->dim[d]);
        i /= part->dim[d];
        stride *= whole->dim[d];
    }
    return at;
}

static bool runs_over(const MwFactorMap *map, int factor)
{
    for (int d = 0; d < MW_MAX_RANK; d++)
        if (mw_factor_map_has(map, d, factor))
            return true;
    return false;
}

/* The share of a part in the whole; 0 of nothing. */
static double weight_of(double part, double whole)
{
    return part == -INFINITY ? 0 : exp(part - whole);
}

/* Combines normalised results with those of the devices before: each is a mean, with the weight
 * exp(normaliser). */
static void combine_normalised(const Split *split, const Evaluated *local, double **total)
{
    const int n = split->rule.normaliser;
    for (int64_t i = 0; i < mw_tensor_elements(result_type(local, n)); i++) {
        const double part = local->out[n][i], before = total[n][i];
        total[n][i] = combine_two(MW_COMBINE_LOGSUMEXP, before, part);
        for (int k = 0; k < mw_node(local->test.graph, local->id)->result_count; k++) {
            const MwTensor *type = result_type(local, k);
            const int64_t width = type->dim[type->rank - 1];
            for (int64_t at = i * width; k != n && at < (i + 1) * width; at++)
                total[k][at] = total[k][at] * weight_of(before, total[n][i]) +
                               local->out[k][at] * weight_of(part, total[n][i]);
        }
    }
}

/* Puts device `c`'s part of result `k` into `total`, or combines it with those before. */
static void gather_result(const Split *split, const Evaluated *local, int c, int k, double *total)
{
    const MwFactorMap *map = &split->rule.results[k];
    const MwTensor *part = result_type(local, k), *whole = result_type(split->whole, k);
    MwTensor expected = local_type(split, whole, map);
    ck_assert(mw_tensor_equal(part, &expected));
    MwCombine how = mw_op_info(mw_node(local->test.graph, local->id)->op)->combine;
    for (int64_t i = 0; i < mw_tensor_elements(part); i++) {
        int64_t to = element_in_whole(split, map, part, whole, c, i);
        bool first = c == 0 || runs_over(map, split->factor);
        total[to] = first ? local->out[k][i] : combine_two(how, total[to], local->out[k][i]);
    }
}

static void run_device(const Split *split, Evaluated *local, int c, double **total)
{
    const MwNode *node = mw_node(local->test.graph, local->id);
    for (int k = 0; k < node->operand_count; k++) {
        const MwTensor *part = operand_type(local, k);
        for (int64_t i = 0; i < mw_tensor_elements(part); i++)
            local->in[k][i] = split->whole->in[k][element_in_whole(
                split, &split->rule.operands[k], part, operand_type(split->whole, k), c, i)];
    }
    Place place = place_alone(1);
    place.mesh = split->mesh;
    mw_mesh_coordinates(&split->mesh, c, place.coordinate);
    evaluate(local, &place);
    const int normaliser = split->rule.normaliser;
    if (c > 0 && normaliser >= 0 && !runs_over(&split->rule.results[normaliser], split->factor)) {
        combine_normalised(split, local, total);
        return;
    }
    for (int k = 0; k < node->result_count; k++)
        gather_result(split, local, c, k, total[k]);
}

static void check_close(const double *got, const double *expected, int64_t count, const char *what)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - expected[i]) <= 1e-12 * fmax(1, fabs(expected[i]))))
            ck_abort_msg("%s: element %d is %.17g instead of %.17g", what, (int)i, got[i],
                         expected[i]);
}

static void check_split(const Split *split)
{
    Evaluated local = local_new(split);
    int results = mw_node(local.test.graph, local.id)->result_count;
    double **total = MW_NEW(local.test.arena, double *, results);
    for (int k = 0; k < results; k++)
        total[k] =
            MW_NEW(local.test.arena, double, mw_tensor_elements(result_type(split->whole, k)));
    for (int c = 0; c < mw_mesh_devices(&split->mesh); c++)
        run_device(split, &local, c, total);
    for (int k = 0; k < results; k++)
        check_close(
            total[k], split->whole->out[k], mw_tensor_elements(result_type(split->whole, k)),
            mw_arena_printf(local.test.arena, "result %d, factor %c over %d", k,
                            'a' + split->factor, split->mesh.size[split->mesh.axis_count - 1]));
    test_graph_free(&local.test);
}

START_TEST(parts_make_up_the_whole)
{
    MwOp op;
    ck_assert(mw_op_parse(cases[_i].op, &op));
    if (!evaluate_can(op))
        return;
    Evaluated whole = evaluated_new(_i);
    Place place = place_alone(1);
    evaluate(&whole, &place);
    Split split = {&whole, mw_sharding_rule(whole.test.arena, whole.test.graph, whole.id), 0, {0}};
    for (split.factor = 0; split.factor < split.rule.factor_count; split.factor++) {
        const MwFactor *factor = &split.rule.factors[split.factor];
        if (factor->kind == MW_FACTOR_WINDOWS)
            continue; /* neighbours exchange borders, as tests/unit/test_spmd.c does */
        for (int ways = 2; ways <= factor->divisor && ways <= 8; ways++)
            if (factor->divisor % ways == 0 && set_mesh(&split, ways))
                check_split(&split);
    }
    test_graph_free(&whole.test);
}
END_TEST

static bool takes_partial(MwLinear linear, int k, int each, int operands)
{
    return linear == MW_LINEAR_JOINT || (linear == MW_LINEAR_EACH && k == each) ||
           (linear == MW_LINEAR_FIRST && k == 0) || (linear == MW_LINEAR_LAST && k == operands - 1);
}

/* Adds up what the node gives for two parts of the operands that may be partial. */
static void check_linear(Evaluated *e, int each)
{
    const MwNode *node = mw_node(e->test.graph, e->id);
    MwLinear linear = mw_op_info(node->op)->linear;
    Place place = place_alone(1);
    evaluate(e, &place);
    double *whole = e->out[0], *sum = NULL;
    int64_t elements = mw_tensor_elements(result_type(e, 0));
    double **in =
        mw_arena_dup(e->test.arena, e->in, sizeof(double *) * (size_t)node->operand_count);
    for (int part = 0; part < 2; part++) {
        for (int k = 0; k < node->operand_count; k++) {
            if (operand_type(e, k)->type != MW_F32 ||
                !takes_partial(linear, k, each, node->operand_count))
                continue;
            int64_t count = mw_tensor_elements(operand_type(e, k));
            e->in[k] = MW_NEW(e->test.arena, double, count);
            for (int64_t i = 0; i < count; i++)
                e->in[k][i] = part ? in[k][i] - 0.1 * (double)i : 0.1 * (double)i;
        }
        e->out[0] = MW_NEW(e->test.arena, double, elements);
        evaluate(e, &place);
        for (int64_t i = 0; part && i < elements; i++)
            e->out[0][i] += sum[i];
        sum = e->out[0];
    }
    check_close(sum, whole, elements, "sum of parts");
    e->in = in;
}

START_TEST(linear_operators_carry_partial_sums)
{
    MwOp op;
    ck_assert(mw_op_parse(cases[_i].op, &op));
    MwLinear linear = mw_op_info(op)->linear;
    if (linear == MW_LINEAR_NONE || !evaluate_can(op) || mw_op_info(op)->results != 1)
        return;
    Evaluated e = evaluated_new(_i);
    int choices = linear == MW_LINEAR_EACH ? mw_op_info(op)->operands : 1;
    for (int each = 0; each < choices; each++)
        check_linear(&e, each);
    test_graph_free(&e.test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharding");
    TCase *tests = tcase_create("sharding");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, rules_are_as_written, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, parts_make_up_the_whole, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, linear_operators_carry_partial_sums, 0, MW_COUNT(cases));
    tcase_add_test(tests, every_rule_has_a_case);
    tcase_add_test(tests, points_are_the_loop_space);
    return run_suite(suite);
}
