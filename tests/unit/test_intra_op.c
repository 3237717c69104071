/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intra-op pass: its answer is the best of all on small graphs, which are tried exhaustively;
 * it finds the known forms of parallelism where they are best; pins and memory bind it. */
#include "cost/units.h"
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "passes/sharding/copies.h"
#include "passes/sharding/footprint.h"
#include "passes/sharding/report.h"
#include "passes/sharding/sharding_fit.h"
#include "tests/unit/clusters.h"
#include "tests/unit/graphs.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

static MwCompilation compilation_of(TestGraph *test, const MwCluster *cluster, const char *mesh)
{
    MwCompilation compilation = {.arena = test->arena, .cluster = cluster, .graph = test->graph};
    if (mesh)
        ck_assert(mw_mesh_parse(mesh, &compilation.options.mesh));
    return compilation;
}

static void run_passes(MwCompilation *compilation, MwDiags *diags)
{
    bool ok = mw_pass_stages(compilation, diags) && mw_pass_pins(compilation, diags) &&
              mw_pass_split(compilation, diags) && mw_pass_share(compilation, diags) &&
              mw_pass_sharding(compilation, diags) && mw_pass_partition(compilation, diags);
    if (!ok)
        mw_diags_print(diags, stderr);
    ck_assert(ok);
}

/* ---- Exhaustive ---- */

/* What a choice costs, and the memory it takes. */
typedef struct {
    double cost_s;
    int64_t peak_bytes;
} Tried;

typedef struct {
    MwArena *arena;
    const MwIntraProblem *intra;
    int *choice;
    double least_s;
    MW_VEC(Tried) tried; /* with `arena` */
} Search;

/* The cost of `choice` from paths and work alone, in seconds; no tables, no edges. */
static double cost_s(const MwIntraProblem *intra, const int *choice)
{
    MwArena *scratch = mw_arena_new();
    const MwGraph *graph = intra->graph;
    MwSharding sharding = {.problem = (MwIntraProblem *)intra, .choice = choice};
    double sum = 0;
    for (int n = 0; n < graph->nodes.count && sum < INFINITY; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const MwStrategy *strategy = mw_sharding_strategy(&sharding, (MwNodeId){n});
        sum += mw_seconds(intra->problem.nodes[n].cost[choice[n]]);
        for (int k = 0; k < node->operand_count; k++) {
            MwSpec from = mw_sharding_value_spec(&sharding, node->operands[k]);
            MwSpec to = strategy->operands[k];
            bool reachable = (mw_spec_partial(to) & ~mw_spec_partial(from)) == 0 &&
                             (!mw_spec_partial(to) || mw_spec_combine(from) == mw_spec_combine(to));
            if (!reachable) {
                sum = INFINITY;
                break;
            }
            sum += mw_seconds(mw_reshard_path(scratch, intra->resharder,
                                              mw_value_tensor(graph, node->operands[k]), from, to)
                                  .cost);
        }
    }
    mw_arena_free(&scratch);
    return sum;
}

static void search(Search *s, int node)
{
    if (node == s->intra->graph->nodes.count) {
        double cost = cost_s(s->intra, s->choice);
        s->least_s = fmin(s->least_s, cost);
        const MwSharding sharding = {.problem = (MwIntraProblem *)s->intra, .choice = s->choice};
        if (s->arena && cost < INFINITY)
            mw_vec_push(s->arena, &s->tried, ((Tried){cost, mw_sharding_peak(&sharding)}));
        return;
    }
    for (int i = 0; i < s->intra->lists[node]->count; i++) {
        s->choice[node] = i;
        search(s, node + 1);
    }
}

/* Two products with something linear between them; small enough to try everything. */
static TestGraph small_graph(int variant)
{
    TestGraph t = test_graph_new();
    static const char *const shapes[][3] = {
        {"f32[256, 64]", "f32[64, 512]", "f32[512, 64]"},
        {"f32[64, 512]", "f32[512, 1024]", "f32[1024, 64]"},
        {"f32[4096, 30]", "f32[30, 64]", "f32[64, 30]"},
        {"f32[3, 1024]", "f32[1024, 1024]", "f32[1024, 1024]"},
    };
    MwValueId x = test_source(&t, MW_OP_INPUT, "x", shapes[variant][0]);
    MwValueId w1 = test_source(&t, MW_OP_WEIGHT, "w1", shapes[variant][1]);
    MwValueId w2 = test_source(&t, MW_OP_WEIGHT, "w2", shapes[variant][2]);
    MwValueId h = test_op1(&t, MW_OP_NEG, test_einsum(&t, "mk,kn->mn", x, w1));
    MwValueId y = test_op1(&t, MW_OP_TANH, test_einsum(&t, "mk,kn->mn", h, w2));
    mw_vec_push(t.arena, &t.graph->outputs, ((MwOutput){"y", y}));
    return t;
}

START_TEST(the_answer_is_the_best_of_all)
{
    TestGraph t = small_graph(_i);
    MwCluster cluster = test_cluster(2);
    MwCompilation compilation = compilation_of(&t, &cluster, "2");
    run_passes(&compilation, t.diags);
    const MwSharding *sharding = compilation.stages[0].sharding;
    Search s = {.intra = sharding->problem, .least_s = INFINITY};
    s.choice = MW_NEW(t.arena, int, compilation.stages[0].graph->nodes.count);
    search(&s, 0);
    ck_assert_double_eq_tol(sharding->objective_s, s.least_s,
                            1e-12 * compilation.stages[0].graph->nodes.count);
    ck_assert_double_eq_tol(sharding->objective_s, cost_s(sharding->problem, sharding->choice),
                            1e-15);
    ck_assert_int_eq(sharding->solution.status, MW_SOLVED_OPTIMAL);
    ck_assert_double_eq_tol(
        compilation.stages[0].report->compute_s + compilation.stages[0].report->communication_s,
        sharding->objective_s, 1e-12 * compilation.stages[0].graph->nodes.count);
    test_graph_free(&t);
}
END_TEST

/* The least cost of what takes no more; INFINITY if nothing does. */
static double least_within(const Search *s, int64_t bytes)
{
    double least = INFINITY;
    for (int i = 0; i < s->tried.count; i++)
        if (s->tried.at[i].peak_bytes <= bytes)
            least = fmin(least, s->tried.at[i].cost_s);
    return least;
}

/* What fits with the copies of resharding is the best that does; and the problem that is saved has
 * this cost, and this bound. */
static void check_fit(MwArena *arena, MwIntraProblem *problem, int64_t bytes, double least_s,
                      double tolerance)
{
    MwShardingFit fit = mw_sharding_fit(arena, problem, bytes, (MwSolveOptions){0});
    if (isinf(least_s)) {
        ck_assert_ptr_null(fit.sharding);
        return;
    }
    ck_assert_ptr_nonnull(fit.sharding);
    ck_assert_int_le(fit.sharding->peak_bytes, bytes);
    ck_assert_double_eq_tol(fit.sharding->objective_s, least_s, tolerance);
    ck_assert_double_eq_tol(fit.sharding->lower_bound_s, least_s, tolerance);
    ck_assert_int_eq(problem->problem.usage_limit, bytes);
    const MwSolution again = mw_solve(arena, &problem->problem, NULL);
    ck_assert(again.cost == fit.solution.cost && again.lower_bound == fit.solution.lower_bound);
}

START_TEST(what_fits_is_the_best_of_what_does)
{
    enum { AMOUNTS = 12 };
    TestGraph t = small_graph(_i);
    MwCluster cluster = test_cluster(2);
    MwCompilation compilation = compilation_of(&t, &cluster, "2");
    run_passes(&compilation, t.diags);
    MwIntraProblem *problem = compilation.stages[0].sharding->problem;
    Search s = {.arena = t.arena, .intra = problem, .least_s = INFINITY};
    s.choice = MW_NEW(t.arena, int, compilation.stages[0].graph->nodes.count);
    search(&s, 0);
    int64_t least = INT64_MAX, most = compilation.stages[0].sharding->peak_bytes;
    const int64_t bound = mw_sharding_most(problem);
    for (int i = 0; i < s.tried.count; i++) {
        least = mw_min(least, s.tried.at[i].peak_bytes);
        ck_assert_int_le(s.tried.at[i].peak_bytes, bound);
    }
    ck_assert_int_lt(least, most);
    for (int i = 0; i <= AMOUNTS; i += CASE_STRIDE) {
        int64_t bytes = least - 1 + (most - least + 1) * i / AMOUNTS;
        check_fit(t.arena, problem, bytes, least_within(&s, bytes),
                  1e-12 * compilation.stages[0].graph->nodes.count);
    }
    test_graph_free(&t);
}
END_TEST

/* The site of the only copy of `value`. */
static MwCopySite site_of(const TestGraph *t, const MwFlight *flight, MwValueId value)
{
    const MwLife *lives = mw_liveness(t->arena, t->graph, flight);
    const MwCopySites sites = mw_copy_sites(t->arena, t->graph, lives);
    for (int i = 0; i < sites.count; i++)
        if (mw_value_equal(sites.at[i].value, value))
            return sites.at[i];
    ck_abort_msg("nothing uses the value");
}

/* A value is gathered in the forward, and the backward uses what was gathered. Of a weight in
 * another form one copy serves all micro-batches. */
START_TEST(a_copy_that_waits_between_tasks_is_there_for_all_in_flight)
{
    TestGraph t = test_graph_new();
    MwValueId x = test_source(&t, MW_OP_INPUT, "x", "f32[64, 64]");
    MwValueId source = test_source(&t, _i ? MW_OP_WEIGHT : MW_OP_INPUT, "w", "f32[64, 64]");
    MwValueId w = test_op1(&t, MW_OP_NEG, source);
    MwValueId shared = test_op1(&t, MW_OP_IDENTITY, w);
    MwValueId y = test_einsum(&t, "mk,kn->mn", x, shared);
    t.graph->phase = MW_PHASE_BACKWARD;
    MwValueId z = test_einsum(&t, "mk,kn->mn", y, shared);
    mw_vec_push(t.arena, &t.graph->outputs, ((MwOutput){"z", z}));
    MwFlight flight = {.micro_batches = 8};
    flight.slots[MW_PHASE_FORWARD][MW_PHASE_BACKWARD] = 3;
    const MwCopySite waits = site_of(&t, &flight, w), follows = site_of(&t, NULL, w);
    ck_assert_int_eq(waits.slots, _i ? 1 : 3);
    ck_assert_int_eq(waits.begin, 0);
    ck_assert_int_eq(waits.end, t.graph->nodes.count);
    ck_assert_int_eq(waits.made, mw_value(t.graph, shared)->node.index);
    ck_assert_int_eq(follows.slots, 1);
    ck_assert_int_eq(follows.begin, waits.made);
    ck_assert_int_eq(follows.end, t.graph->nodes.count);
    test_graph_free(&t);
}
END_TEST

/* The problem of the training of a model of many equal layers, with all memory. */
static MwIntraProblem *layered_problem(MwCompilation *c, MwDiags *diags)
{
    static const MwDefine sizes[] = {{"layers", "8"}, {"width", "1024"}, {"heads", "8"},
                                     {"seq", "1024"}, {"batch", "16"},   {"vocab", "8192"}};
    c->graph = mw_graph_load(c->arena, mw_interner_new(c->arena), SOURCE_ROOT "/models/gpt.graph",
                             sizes, MW_COUNT(sizes), diags);
    const MwPipelineOptions pipeline = {.stop_after = MW_PASS_share, .dump_after = MW_PASS_COUNT};
    ck_assert(c->graph && mw_pipeline_run(c, &pipeline, diags));
    const MwIntraQuery query = {.graph = c->stages[0].graph,
                                .cluster = c->cluster,
                                .mesh = c->options.mesh,
                                .micro_batches = 1,
                                .memory_bytes = MW_USAGE_UNLIMITED};
    return mw_intra_problem(c->arena, &query, diags);
}

/* With hardly more memory than the least possible, quickly and whatever the machine: what is found
 * is near the bound, and the problem as it is left says the same. */
START_TEST(equal_layers_nearly_fill_the_memory)
{
    static const double factors[] = {1.02, 1.05, 1.1};
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwCluster cluster = test_cluster(4);
    MwCompilation c = {.arena = arena, .cluster = &cluster};
    c.options = (MwCompileOptions){.stages = 1, .micro_batches = 1, .remat = MW_REMAT_NONE};
    ck_assert(mw_mesh_parse("2x2", &c.options.mesh));
    MwIntraProblem *problem = layered_problem(&c, diags);
    const MwSolveOptions quick = {.gap = 2 * MW_TUNED_LARGE_GAP, .quick = true};
    const MwLeastPeak least = mw_least_peak(arena, &problem->problem, &quick);
    ck_assert_ptr_nonnull(least.choice);
    for (int i = 0; i < MW_COUNT(factors); i += CASE_STRIDE) {
        const int64_t memory = (int64_t)(factors[i] * (double)least.peak);
        const MwShardingFit fit = mw_sharding_fit(arena, problem, memory, quick);
        ck_assert_ptr_nonnull(fit.sharding);
        ck_assert_int_gt(fit.sharding->peak_bytes, memory - memory / 10); /* it binds */
        const double gap = 1 - fit.sharding->lower_bound_s / fit.sharding->objective_s;
        if (gap > 0.005)
            ck_abort_msg("%g times the least peak: gap %g", factors[i], gap);
        const MwSolution again = mw_solve(arena, &problem->problem, &quick);
        ck_assert(again.cost == fit.solution.cost && again.lower_bound == fit.solution.lower_bound);
    }
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("intra_op");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 100);
    tcase_add_loop_test(tests, the_answer_is_the_best_of_all, 0, 4);
    tcase_add_loop_test(tests, what_fits_is_the_best_of_what_does, 0, 4);
    tcase_add_loop_test(tests, a_copy_that_waits_between_tasks_is_there_for_all_in_flight, 0, 2);
    tcase_add_test(tests, equal_layers_nearly_fill_the_memory);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
