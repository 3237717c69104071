/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Least peaks, proofs that there is no answer, and relaxed answers, against enumeration: what a
 * proof says is recomputed from the problem alone. */
#include "solver/answer/explain.h"
#include "solver/answer/hard_constraints.h"
#include "solver/answer/least_peak.h"
#include "solver/answer/peak_levels.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

/* A node that gives way at one time takes more at another: every node follows the first. */
static MwProblem *traded_problem(MwArena *arena, uint64_t seed)
{
    uint64_t state = seed;
    int strategies = 2 + (int)draw(&state, 3), most = draw(&state, 2) ? 30 : 3000;
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    problem->node_count = 3 + (int)draw(&state, 3);
    problem->nodes = MW_NEW(arena, MwProblemNode, problem->node_count);
    problem->edges = MW_NEW(arena, MwProblemEdge, problem->node_count);
    for (int i = 0; i < problem->node_count; i++) {
        int64_t *cost = MW_NEW(arena, int64_t, strategies);
        int64_t *usage = MW_NEW(arena, int64_t, strategies);
        int64_t *pair = MW_NEW(arena, int64_t, strategies * strategies);
        for (int s = 0; s < strategies; s++) {
            cost[s] = draw(&state, 10);
            usage[s] = draw(&state, 3) ? draw(&state, most) : 0;
            for (int t = 0; t < strategies; t++)
                pair[s * strategies + t] = s == t || !draw(&state, 9) ? 0 : MW_COST_INFINITE;
        }
        problem->nodes[i] =
            (MwProblemNode){.strategy_count = strategies, .cost = cost, .usage = usage, .begin = i};
        problem->nodes[i].end = i + 1 + draw(&state, 2);
        if (i > 0)
            problem->edges[problem->edge_count++] = (MwProblemEdge){0, i, pair};
    }
    problem->usage_limit = MW_USAGE_UNLIMITED;
    return problem;
}

static const struct {
    const char *name;
    RandomKind kind; /* no nodes: traded */
    int count;
    bool of_reason[4]; /* which reasons there must be */
} groups[] = {
    {"sparse", {5, 6, 4, 10, 50, true}, 900, {true, true, false, false}},
    {"dense", {5, 14, 4, 30, 8, true}, 700, {true, true, false, false}},
    {"mostly forbidden", {6, 9, 4, 60, 50, true}, 500, {true, true, false, false}},
    {"without edges", {6, 0, 4, 10, 50, true}, 400, {true, true, false, false}},
    {"traded", {0}, 700, {false, true, true, true}},
};

/* ---- All allowed choices ---- */

typedef struct {
    const MwProblem *problem;
    const MwInfeasibility *why;
    int *choice;
    bool possible;
    int64_t least_peak;
    MwCost least_sum;   /* over the times of `why`, by share */
    int64_t *least_at;  /* [time of why] usage */
    MwCost *least_node; /* [node] by share */
} Survey;

static MwCost shared_usage(const Survey *survey, int node)
{
    const MwProblemNode *of = &survey->problem->nodes[node];
    MwCost sum = 0;
    for (int t = 0; t < survey->why->time_count; t++) {
        const MwInfeasibleTime *time = &survey->why->times[t];
        if (of->usage && of->begin <= time->time && time->time < of->end)
            sum += (MwCost)time->weight * of->usage[survey->choice[node]];
    }
    return sum;
}

static int64_t usage_at(const Survey *survey, int64_t time)
{
    int64_t usage = 0;
    for (int i = 0; i < survey->problem->node_count; i++) {
        const MwProblemNode *node = &survey->problem->nodes[i];
        if (node->usage && node->begin <= time && time < node->end)
            usage += node->usage[survey->choice[i]];
    }
    return usage;
}

static void look_at(Survey *survey)
{
    const MwProblem *problem = survey->problem;
    int64_t time, peak = mw_problem_peak(problem, survey->choice, &time);
    bool first = !survey->possible;
    survey->possible = true;
    if (first || peak < survey->least_peak)
        survey->least_peak = peak;
    if (!survey->why)
        return;
    MwCost sum = 0;
    for (int i = 0; i < problem->node_count; i++) {
        MwCost used = shared_usage(survey, i);
        if (first || used < survey->least_node[i])
            survey->least_node[i] = used;
        sum += used;
    }
    if (first || sum < survey->least_sum)
        survey->least_sum = sum;
    for (int t = 0; t < survey->why->time_count; t++) {
        int64_t usage = usage_at(survey, survey->why->times[t].time);
        if (first || usage < survey->least_at[t])
            survey->least_at[t] = usage;
    }
}

/* Chooses for `node` and those after it. */
static void extend(Survey *survey, int node)
{
    const MwProblem *problem = survey->problem;
    if (node == problem->node_count) {
        if (mw_problem_allows(problem, survey->choice))
            look_at(survey);
        return;
    }
    for (int s = 0; s < problem->nodes[node].strategy_count; s++) {
        survey->choice[node] = s;
        extend(survey, node + 1);
    }
}

static Survey survey_all(MwArena *arena, const MwProblem *problem, const MwInfeasibility *why)
{
    Survey survey = {.problem = problem, .why = why};
    survey.choice = MW_NEW(arena, int, problem->node_count);
    survey.least_node = MW_NEW(arena, MwCost, problem->node_count);
    survey.least_at = MW_NEW(arena, int64_t, why ? why->time_count : 0);
    extend(&survey, 0);
    return survey;
}

/* ---- Proofs ---- */

/* Whether the times, but for one, are a proof with the shares that they have. */
static bool others_prove(MwArena *arena, const MwProblem *problem, const MwInfeasibility *why,
                         int but)
{
    MwInfeasibility fewer = *why;
    MwInfeasibleTime *times = MW_NEW(arena, MwInfeasibleTime, why->time_count);
    fewer.times = times;
    fewer.time_count = 0;
    MwCost shares = 0;
    for (int t = 0; t < why->time_count; t++)
        if (t != but) {
            times[fewer.time_count++] = why->times[t];
            shares += why->times[t].weight;
        }
    return survey_all(arena, problem, &fewer).least_sum > shares * problem->usage_limit;
}

/* Whether the nodes named, but for one (-1: none), have an allowed combination. */
static bool named_are_possible(MwArena *arena, const MwProblem *problem, const MwInfeasibility *why,
                               int but)
{
    MwProblem part = {.usage_limit = MW_USAGE_UNLIMITED};
    int *place = MW_NEW(arena, int, problem->node_count);
    part.nodes = MW_NEW(arena, MwProblemNode, why->node_count);
    part.edges = MW_NEW(arena, MwProblemEdge, problem->edge_count);
    for (int i = 0; i < why->node_count; i++)
        if (i != but) {
            part.nodes[part.node_count++] = problem->nodes[why->nodes[i].node];
            place[why->nodes[i].node] = part.node_count;
        }
    for (int i = 0; i < problem->edge_count; i++) {
        const MwProblemEdge *edge = &problem->edges[i];
        int a = place[edge->a] - 1, b = place[edge->b] - 1;
        if (a >= 0 && b >= 0)
            part.edges[part.edge_count++] = (MwProblemEdge){a, b, edge->cost};
    }
    return survey_all(arena, &part, NULL).possible;
}

static void check_nodes(MwArena *arena, const MwProblem *problem, const MwInfeasibility *why)
{
    ck_assert_int_gt(why->node_count, 0);
    for (int i = 1; i < why->node_count; i++)
        ck_assert_int_lt(why->nodes[i - 1].node, why->nodes[i].node);
    ck_assert_msg(!named_are_possible(arena, problem, why, -1), "the nodes have a combination");
    for (int i = 0; i < why->node_count; i++)
        ck_assert_msg(named_are_possible(arena, problem, why, i), "a node is one too many");
}

static void check_times(MwArena *arena, const MwProblem *problem, const MwInfeasibility *why)
{
    const Survey survey = survey_all(arena, problem, why);
    MwCost available = 0, all = 0;
    for (int t = 0; t < why->time_count; t++) {
        ck_assert_int_ge(why->times[t].weight, 1);
        ck_assert(t == 0 || why->times[t].weight <= why->times[t - 1].weight);
        available += (MwCost)why->times[t].weight * problem->usage_limit;
    }
    ck_assert(available == why->available);
    ck_assert(survey.possible && why->needed <= survey.least_sum);
    for (int i = 0; i < why->node_count; i++) {
        const MwInfeasibleNode *named = &why->nodes[i];
        ck_assert(named->least > 0 && named->least <= survey.least_node[named->node]);
        ck_assert(i == 0 || named->least <= why->nodes[i - 1].least);
        all += named->least;
    }
    ck_assert(all <= why->needed);
    bool proven = why->reason != MW_INFEASIBLE_SEARCH;
    ck_assert(proven == (why->needed > why->available));
    if (why->reason == MW_INFEASIBLE_TIME) {
        ck_assert_int_eq(why->time_count, 1);
        ck_assert_int_eq(why->times[0].weight, 1);
        ck_assert(why->needed == survey.least_sum);
    } else if (proven) {
        ck_assert_int_gt(why->time_count, 1);
        for (int t = 0; t < why->time_count; t++) {
            ck_assert_int_le(survey.least_at[t], problem->usage_limit);
            ck_assert_msg(!others_prove(arena, problem, why, t), "a time is one too many");
        }
    }
}

static void check_reason(MwArena *arena, const MwProblem *problem, const MwSolution *found,
                         int *seen)
{
    const MwInfeasibility *why = found->infeasibility;
    ck_assert(why != NULL);
    seen[why->reason]++;
    if (why->reason == MW_INFEASIBLE_NODES)
        check_nodes(arena, problem, why);
    else
        check_times(arena, problem, why);
}

/* ---- Propagation ---- */

/* Whether the strategy goes with one that is left at every neighbour. */
static bool is_supported(const MwProblem *hard, int node, int s)
{
    for (int i = 0; i < hard->edge_count; i++) {
        const MwProblemEdge *edge = &hard->edges[i];
        if (edge->a != node && edge->b != node)
            continue;
        const MwProblemNode *other = &hard->nodes[node == edge->a ? edge->b : edge->a];
        const int64_t columns = hard->nodes[edge->b].strategy_count;
        bool any = false;
        for (int t = 0; t < other->strategy_count; t++) {
            int64_t at = node == edge->a ? s * columns + t : t * columns + s;
            any |= other->cost[t] == 0 && edge->cost[at] == 0;
        }
        if (!any)
            return false;
    }
    return true;
}

/* Without costs the same is allowed; what propagation leaves is supported. */
static void check_hard(MwArena *arena, const MwProblem *problem, const Survey *survey)
{
    MwProblem *hard = mw_hard_constraints(arena, problem);
    ck_assert(survey_all(arena, hard, NULL).possible == survey->possible);
    if (mw_hard_propagate(arena, hard, NULL) >= 0) {
        ck_assert(!survey->possible);
        return;
    }
    const Survey left = survey_all(arena, hard, NULL);
    ck_assert(left.possible == survey->possible && left.least_peak == survey->least_peak);
    for (int i = 0; i < hard->node_count; i++)
        for (int s = 0; s < hard->nodes[i].strategy_count; s++)
            ck_assert(hard->nodes[i].cost[s] != 0 || is_supported(hard, i, s));
}

/* ---- Levels ---- */

/* The least peak by its levels: never more than it is, and less by less than one step. */
static void check_levels(MwArena *arena, const MwProblem *problem, const Survey *survey,
                         uint64_t *state)
{
    const MwProblem *hard = mw_hard_constraints(arena, problem);
    int64_t low = draw(state, survey->least_peak + 1), high = survey->least_peak + draw(state, 200);
    Enumerated within = enumerate(mw_peak_levels(arena, hard, low, high));
    ck_assert(within.possible && within.cost >= low && within.cost <= survey->least_peak);
    ck_assert_int_lt(survey->least_peak - (int64_t)within.cost, mw_ceil_div(high - low + 1, 32));
    if (low < survey->least_peak)
        ck_assert(!enumerate(mw_peak_levels(arena, hard, low, survey->least_peak - 1)).possible);
}

/* ---- Tests ---- */

static void check_least_peak(const MwProblem *problem, const MwLeastPeak *found,
                             const Survey *survey)
{
    int64_t time;
    if (!survey->possible) {
        ck_assert_int_eq(found->status, MW_SOLVED_INFEASIBLE);
        ck_assert(!found->choice);
        return;
    }
    ck_assert_int_eq(found->status, MW_SOLVED_OPTIMAL);
    ck_assert_int_eq(found->peak, survey->least_peak);
    ck_assert_int_eq(found->lower_bound, survey->least_peak);
    ck_assert(mw_problem_allows(problem, found->choice));
    ck_assert_int_eq(mw_problem_peak(problem, found->choice, &time), found->peak);
    ck_assert_int_eq(time, found->time);
}

/* The least cost at the least peak, both proven. */
static void check_relaxed(const MwProblem *problem, const MwSolution *found, const Survey *survey)
{
    MwProblem relaxed = *problem;
    relaxed.usage_limit = survey->least_peak;
    Enumerated expected = enumerate(&relaxed);
    ck_assert_int_eq(found->status, MW_SOLVED_RELAXED);
    ck_assert_int_eq(found->relaxed_limit, survey->least_peak);
    ck_assert_int_eq(found->least_peak, survey->least_peak);
    ck_assert(found->cost == expected.cost && found->lower_bound == expected.cost);
    ck_assert(mw_problem_cost(problem, found->choice) == found->cost);
}

static void check_too_little(MwArena *arena, const MwProblem *problem, const Survey *survey,
                             const MwSolveOptions *options, int *seen)
{
    const MwSolution found = mw_solve(arena, problem, options);
    if (options->relax && survey->possible)
        check_relaxed(problem, &found, survey);
    else if (!options->quick || found.status != MW_SOLVED_UNKNOWN)
        ck_assert_int_eq(found.status, MW_SOLVED_INFEASIBLE);
    if (found.status != MW_SOLVED_UNKNOWN)
        check_reason(arena, problem, &found, seen);
}

START_TEST(agrees_with_enumeration)
{
    int seen[MW_INFEASIBLE_SEARCH + 1] = {0};
    for (int seed = 0; seed < tried(groups[_i].count); seed++) {
        MwArena *arena = mw_arena_new();
        const RandomKind *kind = &groups[_i].kind;
        MwProblem *problem = kind->nodes ? random_problem(arena, kind, (uint64_t)seed)
                                         : traded_problem(arena, (uint64_t)seed);
        const Survey survey = survey_all(arena, problem, NULL);
        check_hard(arena, problem, &survey);
        const MwLeastPeak least = mw_least_peak(arena, problem, NULL);
        check_least_peak(problem, &least, &survey);
        uint64_t state = (uint64_t)seed;
        const MwSolveOptions options = {.relax = seed % 3 == 0, .quick = seed % 3 == 1};
        if (survey.possible && seed % 4 == 0)
            check_levels(arena, problem, &survey, &state);
        if (survey.possible)
            problem->usage_limit =
                mw_max(0, survey.least_peak - 1 - draw(&state, 8) * draw(&state, 40));
        if (!survey.possible || survey.least_peak > 0)
            check_too_little(arena, problem, &survey, &options, seen);
        mw_arena_free(&arena);
    }
    for (int reason = 0; reason <= MW_INFEASIBLE_SEARCH; reason++)
        ck_assert(seen[reason] > 0 || !groups[_i].of_reason[reason]);
    printf("# %s: %d %d %d %d\n", groups[_i].name, seen[0], seen[1], seen[2], seen[3]);
}
END_TEST

/* Without a limit nodes alone can be the reason, however little time there is to find which: three
 * that each differ from the others, of two strategies each. */
START_TEST(nodes_are_to_blame_where_nothing_is_limited)
{
    static const volatile sig_atomic_t interrupt = 1;
    static const int64_t cost[2], differ[] = {MW_COST_INFINITE, 0, 0, MW_COST_INFINITE};
    MwArena *arena = mw_arena_new();
    MwProblemNode nodes[3];
    MwProblemEdge edges[3];
    for (int i = 0; i < 3; i++) {
        nodes[i] = (MwProblemNode){.strategy_count = 2, .cost = cost};
        edges[i] = (MwProblemEdge){i, (i + 1) % 3, differ};
    }
    const MwProblem problem = {"triangle", 3, 3, nodes, edges, MW_USAGE_UNLIMITED};
    const MwInfeasibility *why =
        mw_explain(arena, &problem, &(MwSolveOptions){.interrupt = &interrupt});
    ck_assert_int_eq(why->reason, MW_INFEASIBLE_NODES);
    check_nodes(arena, &problem, why);
    mw_arena_free(&arena);
}
END_TEST

/* Pairs of nodes, each of which uses an amount of its own either at time 0 or at time 1. */
static MwProblem *weights_problem(MwArena *arena, int pairs, uint64_t seed)
{
    static const int64_t equal[] = {0, MW_COST_INFINITE, MW_COST_INFINITE, 0};
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    problem->nodes = MW_NEW(arena, MwProblemNode, 2 * pairs);
    problem->edges = MW_NEW(arena, MwProblemEdge, pairs);
    for (int i = 0; i < pairs; i++) {
        for (int time = 0; time < 2; time++) {
            int64_t *usage = MW_NEW(arena, int64_t, 2);
            usage[time] = draw(&seed, 1 << 30);
            problem->nodes[problem->node_count++] =
                (MwProblemNode){.strategy_count = 2,
                                .cost = MW_NEW(arena, int64_t, 2),
                                .usage = usage,
                                .begin = time,
                                .end = time + 1};
        }
        problem->edges[problem->edge_count++] = (MwProblemEdge){2 * i, 2 * i + 1, equal};
    }
    problem->usage_limit = MW_USAGE_UNLIMITED;
    return problem;
}

/* What lies between the bound of times and the least peak is closed however much it is. */
START_TEST(wide_gaps_are_closed)
{
    for (uint64_t seed = 0; seed < 16; seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = weights_problem(arena, 4, seed);
        const Survey survey = survey_all(arena, problem, NULL);
        const MwLeastPeak least = mw_least_peak(arena, problem, NULL);
        check_least_peak(problem, &least, &survey);
        mw_arena_free(&arena);
    }
}
END_TEST

/* Usages so large that sums of them are rounded, and that floating point cannot tell the bound from
 * the peak. */
START_TEST(large_peaks_are_exact)
{
    static const int64_t cost[2], usage[] = {((int64_t)1 << 58) + 1001, (int64_t)1 << 62};
    MwArena *arena = mw_arena_new();
    MwProblemNode node = {.strategy_count = 2, .cost = cost, .usage = usage, .end = 1};
    const MwProblem problem = {"large", 1, 0, &node, NULL, MW_USAGE_UNLIMITED};
    const Survey survey = survey_all(arena, &problem, NULL);
    const MwLeastPeak least = mw_least_peak(arena, &problem, NULL);
    check_least_peak(&problem, &least, &survey);
    mw_arena_free(&arena);
}
END_TEST

/* Where search is not to be used, most choices found still have the least peak there is. */
START_TEST(quick_choices_have_low_peaks)
{
    enum { COUNT = 300, MOST_MISSED = 10 };
    const MwSolveOptions quick = {.quick = true};
    int missed = 0;
    for (int seed = 0; seed < COUNT; seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = traded_problem(arena, (uint64_t)seed);
        const Survey survey = survey_all(arena, problem, NULL);
        const MwLeastPeak least = mw_least_peak(arena, problem, &quick);
        ck_assert(least.choice && least.lower_bound <= survey.least_peak);
        ck_assert_int_ge(least.peak, survey.least_peak);
        missed += least.peak > survey.least_peak;
        mw_arena_free(&arena);
    }
    ck_assert_int_le(missed, MOST_MISSED);
}
END_TEST

/* Peaks of which a cost can only hold a few dozen, and hundreds of times to share these out. */
START_TEST(large_peaks_are_shared_out_to_many_times)
{
    enum { COUNT = 300 };
    static const int64_t cost[2], usage[] = {(int64_t)1 << 51, (int64_t)1 << 45};
    MwArena *arena = mw_arena_new();
    MwProblem problem = {.name = "many", .node_count = COUNT, .usage_limit = MW_USAGE_UNLIMITED};
    problem.nodes = MW_NEW(arena, MwProblemNode, COUNT);
    for (int i = 0; i < COUNT; i++)
        problem.nodes[i] = (MwProblemNode){
            .strategy_count = 2, .cost = cost, .usage = usage, .begin = i, .end = i + 3};
    const MwLeastPeak least =
        mw_least_peak_for(arena, &problem, 8 * usage[1], false, &(MwSolveOptions){.quick = true});
    ck_assert(least.choice && least.peak <= 8 * usage[1]);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_peak");
    TCase *tests = tcase_create("peak");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, agrees_with_enumeration, 0, MW_COUNT(groups));
    tcase_add_test(tests, nodes_are_to_blame_where_nothing_is_limited);
    tcase_add_test(tests, wide_gaps_are_closed);
    tcase_add_test(tests, large_peaks_are_exact);
    tcase_add_test(tests, quick_choices_have_low_peaks);
    tcase_add_test(tests, large_peaks_are_shared_out_to_many_times);
    return run_suite(suite);
}
