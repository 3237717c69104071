/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report says what the problem, its answer and the local graph say: sums, collectives,
 * runners-up; for the models on several meshes. */
#include "cost/units.h"
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "passes/sharding/report.h"
#include "tests/unit/clusters.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *model, *mesh;
    int micro_batches;
    int64_t memory_bytes; /* 0: as the cluster says; else most cheap strategies do not fit */
    bool rings;           /* keys of attention go round */
} cases[] = {
    {"mlp", "1", 1},     {"mlp", "2x2", 1}, {"gpt", "4", 1},           {"gpt", "2x2", 2},
    {"llama", "2x2", 1}, {"bert", "4", 4},  {"gpt", "4", 1, 14000000}, {"gpt", "4", 2, 0, true},
};

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwCluster cluster;
    MwCompilation compilation;
} Planned;

static const char *const rings[] = {"layers.*.attention.sdpa.0=ring",
                                    "grad.layers.*.attention.q=ring"};

static Planned *plan_case(int i)
{
    MwArena *arena = mw_arena_new();
    Planned *p = MW_NEW(arena, Planned, 1);
    p->arena = arena;
    p->diags = mw_diags_new(arena);
    MwCompilation *c = &p->compilation;
    c->arena = arena;
    c->cluster = &p->cluster;
    c->options.micro_batches = cases[i].micro_batches;
    c->options.memory_bytes = cases[i].memory_bytes;
    c->options.pins = rings;
    c->options.pin_count = cases[i].rings ? MW_COUNT(rings) : 0;
    ck_assert(mw_mesh_parse(cases[i].mesh, &c->options.mesh));
    p->cluster = test_cluster(mw_mesh_devices(&c->options.mesh));
    const char *path = mw_arena_printf(arena, "%s/models/%s.graph", SOURCE_ROOT, cases[i].model);
    c->graph = mw_graph_load(arena, mw_interner_new(arena), path, NULL, 0, p->diags);
    MwPipelineOptions pipeline = {.stop_after = MW_PASS_partition, .dump_after = MW_PASS_COUNT};
    bool ok = c->graph && mw_pipeline_run(c, &pipeline, p->diags);
    mw_diags_print(p->diags, stderr);
    ck_assert(ok);
    return p;
}

/* What is planned lies in its own arena. */
static void finish(Planned *p)
{
    MwArena *arena = p->arena;
    mw_arena_free(&arena);
}

/* What the solver rounds: half a picosecond and the ticks for repeated work, for each node. */
static double rounding_s(const Planned *p)
{
    return 10e-12 * p->compilation.stages[0].graph->nodes.count *
           p->compilation.staging.micro_batches;
}

START_TEST(costs_add_up_to_the_objective)
{
    Planned *p = plan_case(_i);
    const MwReport *report = p->compilation.stages[0].report;
    double compute_s = 0, communication_s = 0;
    for (int i = 0; i < report->count; i++) {
        double collectives_s = 0;
        for (int k = 0; k < report->nodes[i].collective_count; k++)
            collectives_s += report->nodes[i].collectives[k].time_s;
        ck_assert_double_le(collectives_s, report->nodes[i].communication_s + 1e-12);
        compute_s += report->nodes[i].compute_s;
        communication_s += report->nodes[i].communication_s;
    }
    ck_assert_double_eq_tol(report->compute_s, compute_s, rounding_s(p));
    ck_assert_double_eq_tol(report->communication_s, communication_s, rounding_s(p));
    ck_assert_double_eq_tol(report->objective_s, compute_s + communication_s, rounding_s(p));
    ck_assert_double_le(report->lower_bound_s, report->objective_s);
    finish(p);
}
END_TEST

/* Collectives by kind and axis. */
typedef struct {
    int count[MW_COLLECTIVE_COUNT][MW_MAX_AXES];
    int64_t bytes[MW_COLLECTIVE_COUNT][MW_MAX_AXES];
} Traffic;

static Traffic traffic_of_report(const MwReport *report)
{
    Traffic traffic = {0};
    for (int i = 0; i < report->count; i++)
        for (int k = 0; k < report->nodes[i].collective_count; k++) {
            const MwReportCollective *c = &report->nodes[i].collectives[k];
            traffic.count[c->kind][c->axis]++;
            traffic.bytes[c->kind][c->axis] += c->bytes;
        }
    return traffic;
}

static Traffic traffic_of_graph(const MwGraph *graph)
{
    Traffic traffic = {0};
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (mw_op_info(node->op)->lowering != MW_LOWER_COLLECTIVE)
            continue;
        MwCollective kind = mw_op_collective(node->op);
        int axis = (int)mw_node_int(node, MW_ATTR_MESH_AXIS);
        const MwTensor *from = mw_value_tensor(graph, node->operands[0]);
        const MwTensor *to = &graph->values.at[node->first_result].tensor;
        traffic.count[kind][axis]++;
        traffic.bytes[kind][axis] += mw_max(mw_tensor_bytes(from), mw_tensor_bytes(to));
    }
    return traffic;
}

START_TEST(collectives_are_those_of_the_local_graph)
{
    Planned *p = plan_case(_i);
    Traffic reported = traffic_of_report(p->compilation.stages[0].report);
    Traffic present = traffic_of_graph(p->compilation.stages[0].local->graph);
    ck_assert_int_eq(memcmp(&reported, &present, sizeof present), 0);
    finish(p);
}
END_TEST

static bool is_legal(const MwProblem *problem, const int *choice)
{
    int64_t time;
    return mw_problem_allows(problem, choice) &&
           mw_problem_peak(problem, choice, &time) <= problem->usage_limit;
}

START_TEST(runners_up_are_the_next_best)
{
    Planned *p = plan_case(_i);
    const MwReport *report = p->compilation.stages[0].report;
    const MwIntraProblem *intra = p->compilation.stages[0].sharding->problem;
    const MwSolution *solution = &p->compilation.stages[0].sharding->solution;
    int *choice =
        mw_arena_dup(p->arena, solution->choice, sizeof(int) * (size_t)intra->problem.node_count);
    for (int i = 0; i < report->count; i++) {
        int n = report->nodes[i].node.index, chosen = choice[n];
        MwCost best = MW_COST_INFINITE;
        for (choice[n] = 0; choice[n] < intra->lists[n]->count; choice[n]++)
            if (choice[n] != chosen && is_legal(&intra->problem, choice) &&
                mw_problem_cost(&intra->problem, choice) < best)
                best = mw_problem_cost(&intra->problem, choice);
        choice[n] = chosen;
        ck_assert_int_eq(report->nodes[i].has_runner_up, best < MW_COST_INFINITE);
        if (!report->nodes[i].has_runner_up)
            continue;
        ck_assert_double_eq_tol(report->nodes[i].runner_up_extra_s,
                                mw_seconds(best - solution->cost), 1e-15);
        ck_assert_double_ge(report->nodes[i].runner_up_extra_s, 0);
    }
    finish(p);
}
END_TEST

/* Operands come from nodes of the report, before their users; identities are passed over. */
START_TEST(operands_are_named_by_their_givers)
{
    Planned *p = plan_case(_i);
    const MwReport *report = p->compilation.stages[0].report;
    const MwGraph *graph = p->compilation.stages[0].graph;
    for (int i = 0; i < report->count; i++) {
        const MwReportNode *node = &report->nodes[i];
        ck_assert_int_eq(report->index[node->node.index], i);
        ck_assert_int_ne(mw_node(graph, node->node)->op, MW_OP_IDENTITY);
        for (int k = 0; k < node->operand_count; k++) {
            int producer = report->index[node->operands[k].producer.index];
            ck_assert_int_ge(producer, 0);
            ck_assert_int_lt(producer, i);
        }
    }
    finish(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 100);
    tcase_add_loop_test(tests, costs_add_up_to_the_objective, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, collectives_are_those_of_the_local_graph, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, runners_up_are_the_next_best, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, operands_are_named_by_their_givers, 0, MW_COUNT(cases));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
