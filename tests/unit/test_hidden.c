/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the intra-operator problem takes of collectives as hidden: costs of edges on devices that
 * compute for a while against those on devices that compute in no time. */
#include "cost/units.h"
#include "frontend/frontend.h"
#include "ir/invariant.h"
#include "passes/pass.h"
#include "passes/sharding/hidden.h"
#include "passes/sharding/intra_problem.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

static const double SHARE = 0.25;

START_TEST(what_computing_does_not_cover_is_exposed)
{
    ck_assert_double_eq_tol(mw_exposed_s(3, 0, SHARE), 3, 1e-12);
    ck_assert_double_eq_tol(mw_exposed_s(3, 1, SHARE), 2, 1e-12);
    ck_assert_double_eq_tol(mw_exposed_s(3, 1e3, SHARE), 3 * SHARE, 1e-12);
    ck_assert_double_eq_tol(mw_exposed_s(3, 1e3, 0), 3 * 0.2, 1e-12);
    ck_assert_double_eq_tol(mw_exposed_s(0, 1, SHARE), 0, 1e-12);
}
END_TEST

/* The graph that is sharded, and its problem where collectives run beside products, and where they
 * do not. */
typedef struct {
    MwArena *arena;
    const MwGraph *graph;
    const MwIntraProblem *beside, *in_line;
} Problems;

static const MwIntraProblem *problem_with(const Problems *p, const MwCluster *cluster,
                                          const char *backend, double rate_flops)
{
    MwCluster *copy = mw_arena_dup(p->arena, cluster, sizeof *cluster);
    copy->backend = backend;
    copy->device.vector_flops = 1e30;
    copy->device.launch_s = 0;
    for (int type = 0; type < MW_TYPE_COUNT; type++)
        copy->device.gemm[type].rate_flops = rate_flops;
    MwIntraQuery query = {
        .graph = p->graph, .cluster = copy, .micro_batches = 2, .memory_bytes = MW_USAGE_UNLIMITED};
    ck_assert(mw_mesh_parse("4", &query.mesh));
    const MwIntraProblem *problem = mw_intra_problem(p->arena, &query, mw_diags_new(p->arena));
    ck_assert(problem != NULL);
    return problem;
}

/* Copies take no time, or with `slow_memory` far more than collectives; so does all other computing
 * then, and what hides nothing is a backend that does one thing after another. */
static Problems problems_of(MwArena *arena, const char *model, bool slow_memory)
{
    MwCluster cluster = test_cluster(4);
    static MwCurvePoint at_once = {1, 1e30}, slow = {1, 1e6};
    if (slow_memory)
        cluster.node_link.bandwidth = (MwCurve){&at_once, 1};
    cluster.device.bandwidth = (MwCurve){slow_memory ? &slow : &at_once, 1};
    cluster.backend = "cuda";
    cluster.device.units = 80;
    cluster.device.collective_units = (int)(SHARE * 80);
    MwDiags *diags = mw_diags_new(arena);
    MwCompilation c = {.arena = arena,
                       .cluster = &cluster,
                       .options = {.stages = 1, .micro_batches = 2, .remat = MW_REMAT_NONE}};
    const char *path = mw_arena_printf(arena, "%s/models/%s.graph", SOURCE_ROOT, model);
    c.graph = mw_graph_load(arena, mw_interner_new(arena), path, NULL, 0, diags);
    const MwPipelineOptions pipeline = {.stop_after = MW_PASS_share, .dump_after = MW_PASS_COUNT};
    ck_assert_msg(c.graph && mw_pipeline_run(&c, &pipeline, diags), "%s", diags_text(arena, diags));
    Problems p = {.arena = arena, .graph = c.stages[0].graph};
    p.beside = problem_with(&p, &cluster, "cuda", 1e12);
    p.in_line = problem_with(&p, &cluster, slow_memory ? "cpu" : "cuda", 1e30);
    ck_assert_int_eq(p.beside->value_edge_count, p.in_line->value_edge_count);
    return p;
}

/* Whether what an edge reshards for operand k of a node may be hidden: what is made of weights
 * alone, and what only the update waits for. */
static bool may_be_hidden(const Problems *p, const bool *is_invariant, const MwNode *node, int k)
{
    const MwPhase maker = mw_value_node(p->graph, node->operands[k])->phase;
    if (node->phase == MW_PHASE_UPDATE || mw_op_accumulates(node->op))
        return maker == MW_PHASE_BACKWARD;
    return is_invariant[node->operands[k].index];
}

static void compare_edge(const Problems *p, int e, bool may_be_hidden, int *hidden)
{
    const MwProblemEdge *beside = &p->beside->problem.edges[e];
    const MwProblemEdge *in_line = &p->in_line->problem.edges[e];
    const int count = p->beside->problem.nodes[beside->a].strategy_count *
                      p->beside->problem.nodes[beside->b].strategy_count;
    for (int i = 0; i < count; i++) {
        if (!may_be_hidden || in_line->cost[i] >= MW_COST_INFINITE)
            ck_assert_int_eq(beside->cost[i], in_line->cost[i]);
        ck_assert_int_le(beside->cost[i], in_line->cost[i]);
        ck_assert_double_ge((double)beside->cost[i] + 2, SHARE * (double)in_line->cost[i]);
        *hidden += beside->cost[i] < in_line->cost[i];
    }
}

START_TEST(sums_of_gradients_and_gathered_weights_are_hidden)
{
    static const char *const models[] = {"gpt", "mlp", "llama"};
    MwArena *arena = mw_arena_new();
    const Problems p = problems_of(arena, models[_i], false);
    const bool *is_invariant = mw_find_invariant(arena, p.graph);
    int edge = 0, sums = 0, gathers = 0, others = 0;
    for (int n = 0; n < p.graph->nodes.count; n++) {
        const MwNode *node = &p.graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++, edge++) {
            const bool is_gathered = is_invariant[node->operands[k].index];
            const bool is_hidden = may_be_hidden(&p, is_invariant, node, k);
            compare_edge(&p, edge, is_hidden,
                         !is_hidden    ? &others
                         : is_gathered ? &gathers
                                       : &sums);
        }
    }
    ck_assert_int_gt(sums, 0);
    ck_assert_int_gt(gathers, 0);
    ck_assert_int_eq(others, 0);
    mw_arena_free(&arena);
}
END_TEST

/* The place of the first or the last product of a phase. */
static int product_of(const MwGraph *graph, MwPhase phase, bool is_last)
{
    int found = -1;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].phase == phase && graph->nodes.at[n].op == MW_OP_EINSUM &&
            (found < 0 || is_last))
            found = n;
    ck_assert_int_ge(found, 0);
    return found;
}

/* Products alone take time. What the last one of the backward makes has none behind it, and what
 * the first one of the forward takes has none before it. */
START_TEST(nothing_hides_the_last_sum_and_the_first_gathering)
{
    MwArena *arena = mw_arena_new();
    const Problems p = problems_of(arena, "mlp", false);
    const int last = product_of(p.graph, MW_PHASE_BACKWARD, true);
    const int first = product_of(p.graph, MW_PHASE_FORWARD, false);
    int edge = 0, sums = 0, gathers = 0, hidden = 0;
    for (int n = 0; n < p.graph->nodes.count; n++)
        for (int k = 0; k < p.graph->nodes.at[n].operand_count; k++, edge++) {
            const bool is_sum =
                p.graph->nodes.at[n].operands[k].index == p.graph->nodes.at[last].first_result;
            if (is_sum || n == first)
                compare_edge(&p, edge, true, &hidden);
            sums += is_sum;
            gathers += n == first;
        }
    ck_assert_int_gt(sums, 0);
    ck_assert_int_gt(gathers, 0);
    ck_assert_int_eq(hidden, 0);
    mw_arena_free(&arena);
}
END_TEST

/* Where memory is slow and links are fast, copies take milliseconds and the collectives between
 * them microseconds. */
START_TEST(copies_for_resharding_are_not_hidden)
{
    const int64_t collectives_ps = mw_picoseconds(1e-5), copies_ps = mw_picoseconds(1e-3);
    MwArena *arena = mw_arena_new();
    const Problems p = problems_of(arena, "gpt", true);
    int hidden = 0, copied = 0;
    for (int e = 0; e < p.beside->value_edge_count; e++) {
        const MwProblemEdge *beside = &p.beside->problem.edges[e];
        const MwProblemEdge *in_line = &p.in_line->problem.edges[e];
        const int count = p.beside->problem.nodes[beside->a].strategy_count *
                          p.beside->problem.nodes[beside->b].strategy_count;
        for (int i = 0; i < count; i++) {
            ck_assert_int_le(in_line->cost[i] - beside->cost[i], collectives_ps);
            hidden += beside->cost[i] < in_line->cost[i];
            copied += beside->cost[i] < in_line->cost[i] && beside->cost[i] > copies_ps;
        }
    }
    ck_assert_int_gt(hidden, 0);
    ck_assert_int_gt(copied, 0);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hidden");
    TCase *tests = tcase_create("hidden");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, what_computing_does_not_cover_is_exposed);
    tcase_add_loop_test(tests, sums_of_gradients_and_gathered_weights_are_hidden, 0, 3);
    tcase_add_test(tests, nothing_hides_the_last_sum_and_the_first_gathering);
    tcase_add_test(tests, copies_for_resharding_are_not_hidden);
    return run_suite(suite);
}
