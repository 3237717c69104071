/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules, written like an einsum. */
#include "base/text.h"
#include "ir/sharding.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <string.h>

/* `rule`: factors are letters in order, a dimension that runs over none is '.', and then each
 * factor with its size, "/divisor" if that is another, "!" if it is fixed. */
static const struct {
    const char *op, *operands, *attrs, *rule;
} cases[] = {
    {"input", "f32[8, 4]", "", "->ab a8 b4"},
    {"weight", "f32[8, 4]", "init = zeros", "->ab a8 b4"},
    {"step", "", "", "->"},
    {"constant", "", "type = f32; shape = [8]", "->a a8"},
    {"iota", "", "type = i32; shape = [8, 4]; axis = 1", "->ab a8 b4"},
    {"add", "f32[8, 4]; f32[8, 4]", "", "ab,ab->ab a8 b4"},
    {"add", "f32[8, 4]; f32[4]", "", "ab,b->ab a8 b4"},
    {"add", "f32[8, 1]; f32[4]", "", "a.,b->ab a8 b4"},
    {"add", "f32[1, 4]; f32[1, 4]", "", "ab,ab->ab a1 b4"},
    {"add", "f32[]; f32[8]", "", ",a->a a8"},
    {"select", "bool[8, 1]; f32[]; f32[4]", "", "a.,,b->ab a8 b4"},
    {"broadcast", "f32[1, 4]", "shape = [2, 3, 4]", ".c->abc a2 b3 c4"},
    {"adamw", "f32[8, 4]; f32[8, 4]; f32[8, 4]; f32[8, 4]; f32[]; i32[]", "",
     "ab,ab,ab,ab,,->ab,ab,ab a8 b4"},
    {"sgd", "f32[8]; f32[8]; f32[8]; f32[]", "", "a,a,a,->a,a a8"},
    {"reduce_sum", "f32[2, 3, 4]", "axes = [1]", "abc->ac a2 b3 c4"},
    {"reduce_max", "f32[2, 3, 4]", "axes = [0, 2]; keep = true", "abc->.b. a2 b3 c4"},
    {"logsumexp", "f32[2, 3]", "", "ab->a a2 b3"},
    {"logsumexp_grad", "f32[2, 3]; f32[2]; f32[2]", "", "ab,a,a->ab a2 b3"},
    {"softmax", "f32[2, 3]", "", "ab->ab a2 b3!"},
    {"layer_norm_grad", "f32[2, 3]; f32[2, 3]", "eps = 1e-5", "ab,ab->ab a2 b3!"},
    {"einsum", "f32[8, 4, 16]; f32[16, 32]", "equation = bsw,wf->bsf", "abc,cd->abd a8 b4 c16 d32"},
    {"einsum", "f32[4, 6]; f32[8, 4]", "equation = wf,bw->fb", "ab,ca->bc a4 b6 c8"},
    {"einsum", "f32[8, 4]", "equation = xy->y", "ab->b a8 b4"},
    {"embedding", "i32[8, 16]; f32[256, 64]", "", "ab,cd->abd a8 b16 c1/256 d64"},
    {"embedding_grad", "i32[8, 16]; f32[8, 16, 64]", "shape = [256, 64]",
     "ab,abd->cd a8 b16 c1/256 d64"},
    {"pick", "f32[8, 16, 256]; i32[8, 16]", "", "abc,ab->ab a8 b16 c1/256"},
    {"pick_grad", "i32[8, 16]; f32[8, 16]", "shape = [8, 16, 256]", "ab,ab->abc a8 b16 c256"},
    {"sdpa", "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]", "scale = 1",
     "acbe,adbe,adbe->acbe,acb a2 b3 c8 d7! e16! f2!"},
    {"sdpa_grad",
     "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]; f32[2, 8, 6, 16]; f32[2, 8, 6]; "
     "f32[2, 8, 6, 16]",
     "scale = 1", "acbe,adbe,adbe,acbe,acb,acbe->acbe,adbe,adbe a2 b3 c8 d7! e16! f2!"},
    {"rope", "f32[2, 8, 6, 16]", "base = 10000", "abcd->abcd a2 b8 c6 d16!"},
    {"reshape", "f32[8, 4, 6]", "shape = [32, 6]", "a.c->ac a8 b4! c6"},
    {"reshape", "f32[32, 6]", "shape = [8, 4, 6]", "ac->a.c a8 b4! c6"},
    {"reshape", "f32[8, 6]", "shape = [12, 4]", "a.->a. a4 b12!"},
    {"reshape", "f32[3, 8]", "shape = [8, 3]", "..->.. a24!"},
    {"reshape", "f32[8, 4]", "shape = [8, 1, 4, 1]", "ab->a.b. a8 b4"},
    {"reshape", "f32[1, 8, 4]", "shape = [1, 32]", ".a.->.a a8 b4!"},
    {"reshape", "f32[1, 1]", "shape = []", "..->"},
    {"reshape", "f32[4, 2, 6, 5]", "shape = [8, 3, 10]", "a.c.->ac. a4 b2! c3 d10!"},
    {"transpose", "f32[2, 3, 4]", "perm = [2, 0, 1]", "bca->abc a4 b2 c3"},
    {"slice", "f32[8, 4]", "axis = 1; begin = 1; end = 3", "ab->ab a8 b2!"},
    {"pad", "f32[8, 4]", "axis = 0; begin = 1; end = 3", "ab->ab a12! b4"},
    {"split", "f32[8, 6]", "axis = 1; sizes = [4, 2]", "ab->ab,ab a8 b6!"},
    {"concat", "f32[8, 4]; f32[8, 2]", "axis = 1", "ab,ab->ab a8 b6!"},
    {"all_reduce", "f32[8, 4]", "mesh_axis = 0; ways = 2; combine = sum", "..->.."},
    {"shard", "f32[8, 4]", "mesh_axis = 0; ways = 2; axis = 0", "..->.."},
};

static void add_map(MwText *text, const MwFactorMap *map, int rank)
{
    for (int d = 0; d < rank; d++)
        mw_text_printf(text, "%c", map->factor[d] < 0 ? '.' : 'a' + map->factor[d]);
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
        mw_text_printf(&text, " %c%d", 'a' + f, (int)factor->size);
        if (factor->kind == MW_FACTOR_FIXED)
            mw_text_add(&text, "!");
        else if (factor->divisor != factor->size)
            mw_text_printf(&text, "/%d", (int)factor->divisor);
    }
    return text.at;
}

START_TEST(rules_are_as_written)
{
    TestGraph test = test_graph_new();
    MwNodeId node = test_node(&test, cases[_i].op, cases[_i].operands, cases[_i].attrs);
    ck_assert_msg(node.index >= 0, "%s", test_diags_text(&test));
    MwShardingRule rule = mw_sharding_rule(test.arena, test.graph, node);
    ck_assert_str_eq(rule_text(&test, node, &rule), cases[_i].rule);
    test_graph_free(&test);
}
END_TEST

/* The name of the sharding rule of each operator. */
static const char *const rule_names[MW_OP_COUNT] = {
#define OP(id, name, operands, results, attrs, shape, sharding, ...) [MW_OP_##id] = #sharding,
#include "ir/ops.def"
#undef OP
};

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
    for (int op = 0; op < MW_OP_COUNT; op++)
        ck_assert_msg(rule_has_case(rule_names[op]), "%s", rule_names[op]);
}
END_TEST

START_TEST(points_are_the_loop_space)
{
    TestGraph test = test_graph_new();
    MwNodeId node = test_node(&test, "sdpa", "f32[2, 8, 6, 16]; f32[2, 7, 3, 16]; f32[2, 7, 3, 16]",
                              "scale = 1");
    MwShardingRule rule = mw_sharding_rule(test.arena, test.graph, node);
    ck_assert_double_eq(mw_sharding_points(&rule), 2 * 8 * 7 * 6 * 16);
    test_graph_free(&test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharding");
    TCase *tests = tcase_create("sharding");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, rules_are_as_written, 0, MW_COUNT(cases));
    tcase_add_test(tests, every_rule_has_a_case);
    tcase_add_test(tests, points_are_the_loop_space);
    return run_suite(suite);
}
