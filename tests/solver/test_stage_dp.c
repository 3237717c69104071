/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_stages_solve against enumeration, on thousands of small problems; packing against trying; the
 * objective against published figures. */
#include "tests/solver/random_stages.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

#define WIDE 1000000000000

static const struct {
    const char *name;
    StageKind kind;
    int count;
} groups[] = {
    {"free", {5, 2, 4, 2, 10, 30, 30, 12, false, false, false, false}, 1200},
    {"limited", {5, 2, 4, 3, 10, 30, 30, 12, true, false, false, false}, 1200},
    {"few values", {5, 2, 4, 3, 10, 6, 6, 3, false, false, true, false}, 3000},
    {"few micro-batches", {6, 2, 4, 3, 10, 60, 3, 3, false, false, false, false}, 1500},
    {"wide values", {5, 2, 4, 3, 10, WIDE, WIDE, 12, true, false, true, false}, 600},
    {"slow transfers", {6, 2, 4, 3, 10, 30, 200, 12, false, false, true, false}, 3000},
    {"one node", {6, 1, 8, 2, 20, 30, 30, 12, true, false, true, false}, 600},
    {"odd clusters", {5, 3, 7, 2, 20, 30, 30, 12, true, false, true, false}, 1000},
    {"nodes of six", {6, 2, 6, 1, 5, 30, 30, 12, false, false, false, false}, 500},
    {"pinned", {5, 2, 4, 2, 10, 30, 30, 12, false, true, true, false}, 1500},
    {"pinned, limited", {5, 2, 5, 2, 30, 30, 30, 12, true, true, false, false}, 1500},
    {"classes", {6, 2, 4, 2, 10, 30, 30, 12, true, false, true, true}, 800},
    {"mostly none", {5, 2, 4, 2, 75, 30, 30, 12, true, true, true, false}, 1500},
};

typedef struct {
    const char *name;
    int seed;
    const RandomStages *stages;
    const MwStagePlan *plan;
} Case;

static void expect(const Case *at, bool good, const char *what)
{
    if (!good)
        ck_abort_msg("%s %d: %s", at->name, at->seed, what);
}

/* Devices are used once, and parts of a node do not leave it. */
static void check_places(const Case *at)
{
    MwStageCluster cluster = at->stages->problem.cluster;
    int device_count = cluster.nodes * cluster.devices_per_node;
    bool used[64] = {false};
    int sum = 0;
    for (int i = 0; i < at->plan->stage_count; i++) {
        const MwStageChoice *stage = &at->plan->stages[i];
        MwStageSubmesh submesh = at->stages->submeshes[stage->submesh];
        int last = stage->first_device + submesh.devices - 1;
        expect(at, stage->first_device >= 0 && last < device_count, "place outside");
        if (submesh.nodes > 0)
            expect(at, stage->first_device % cluster.devices_per_node == 0, "not a whole node");
        else
            expect(at,
                   stage->first_device / cluster.devices_per_node ==
                       last / cluster.devices_per_node,
                   "part over two nodes");
        for (int k = stage->first_device; k <= last; k++) {
            expect(at, !used[k], "device used twice");
            used[k] = true;
        }
        sum += submesh.devices;
    }
    expect(at, sum == device_count, "devices left over");
}

static void check_stage(const Case *at, int which)
{
    const MwStageProblem *problem = &at->stages->problem;
    const MwStageChoice *stage = &at->plan->stages[which];
    int begin = which > 0 ? at->plan->stages[which - 1].end : 0;
    expect(at, stage->begin == begin && stage->end > begin, "stages do not follow");
    int cell =
        stage_class(problem, stage->begin, stage->end) * at->stages->submesh_count + stage->submesh;
    expect(at, stage->candidate >= 0 && stage->candidate < at->stages->count[cell], "candidate");
    expect(at,
           memcmp(&stage->cost, &at->stages->candidate[cell][stage->candidate],
                  sizeof stage->cost) == 0,
           "cost is not the candidate's");
    int count = at->plan->stage_count;
    expect(at,
           stage->in_flight ==
               problem->schedule.in_flight(problem->schedule.context, count, count - 1 - which),
           "in flight");
    expect(at,
           stage->bytes == stage->cost.kept_bytes + stage->cost.peak_bytes +
                               stage->in_flight * stage->cost.saved_bytes,
           "bytes");
    expect(at, stage->bytes <= problem->memory_bytes, "memory");
    for (int layer = stage->begin; layer < stage->end && problem->layer_stage; layer++)
        expect(at, problem->layer_stage[layer] < 0 || problem->layer_stage[layer] == which, "pin");
    expect(at, problem->submesh < 0 || problem->submesh == stage->submesh, "pinned sub-mesh");
}

/* A cut of all layers that the problem allows, and its total. */
static void check_cut(const Case *at)
{
    const MwStageProblem *problem = &at->stages->problem;
    const MwStagePlan *plan = at->plan;
    for (int i = 0; i < plan->stage_count; i++)
        check_stage(at, i);
    expect(at, plan->stages[plan->stage_count - 1].end == problem->layer_count, "layers left");
    expect(at, plan->stage_count >= problem->least_stages, "too few stages");
    expect(at, problem->most_stages == 0 || plan->stage_count <= problem->most_stages,
           "too many stages");
    check_places(at);
    expect(at, plan->total == stages_total(problem, plan->stages, plan->stage_count), "total");
    expect(at, plan->total == plan->fill + plan->steady + plan->step, "terms of the total");
}

static void check_plan(const Case *at, int64_t expected)
{
    const MwStagePlan *plan = at->plan;
    check_cut(at);
    expect(at, plan->total == expected, "not the least total");
    expect(at, plan->lower_bound == plan->total, "lower bound");
}

static MwStageReason expected_reason(const RandomStages *stages)
{
    StageFilter filter = {0};
    if (enumerate_stages(stages, filter).fits_some)
        return MW_STAGES_MEMORY;
    filter.ignore_pins = true;
    if (enumerate_stages(stages, filter).fits_some)
        return MW_STAGES_PINS;
    filter.ignore_answers = true;
    return enumerate_stages(stages, filter).fits_some ? MW_STAGES_UNANSWERED : MW_STAGES_DEVICES;
}

static void check_questions(const Case *at)
{
    int asked = 0, width = at->stages->problem.layer_count + 1;
    int classes = at->stages->problem.interval_class ? 2 * width : width * width;
    for (int i = 0; i < classes * at->stages->submesh_count; i++) {
        expect(at, at->stages->questions[i] <= 1, "asked twice");
        asked += at->stages->questions[i];
    }
    expect(at, asked == at->plan->asked, "number of questions");
}

static void compare(const char *name, const StageKind *kind, int seed)
{
    MwArena *arena = mw_arena_new();
    RandomStages *stages = random_stages(arena, kind, (uint64_t)seed);
    MwStagePlan plan = mw_stages_solve(arena, &stages->problem, NULL);
    Case at = {name, seed, stages, &plan};
    EnumeratedStages expected = enumerate_stages(stages, (StageFilter){0});
    expect(&at, (plan.reason == MW_STAGES_POSSIBLE) == expected.possible, "possible or not");
    if (expected.possible) {
        check_plan(&at, expected.total);
    } else {
        expect(&at, plan.stage_count == 0, "stages of the impossible");
        expect(&at, plan.reason == expected_reason(stages), "reason");
        if (plan.reason == MW_STAGES_MEMORY)
            expect(&at, plan.needed_bytes == expected.needed_bytes, "needed bytes");
    }
    check_questions(&at);
    mw_arena_free(&arena);
}

START_TEST(agrees_with_enumeration)
{
    for (int seed = 0; seed < groups[_i].count; seed++)
        compare(groups[_i].name, &groups[_i].kind, seed);
}
END_TEST

START_TEST(gap_is_kept)
{
    StageKind kind = {6, 2, 4, 3, 10, 1000, 1000, 12, true, false, false, false};
    for (int seed = 0; seed < 500; seed++) {
        MwArena *arena = mw_arena_new();
        RandomStages *stages = random_stages(arena, &kind, (uint64_t)seed);
        MwStageOptions options = {.gap = 0.1};
        MwStagePlan plan = mw_stages_solve(arena, &stages->problem, &options);
        MwStagePlan again = mw_stages_solve(arena, &stages->problem, &options);
        EnumeratedStages expected = enumerate_stages(stages, (StageFilter){0});
        Case at = {"gap", seed, stages, &plan};
        expect(&at, (plan.reason == MW_STAGES_POSSIBLE) == expected.possible, "possible or not");
        expect(&at, plan.stage_count == again.stage_count, "not the same twice");
        if (plan.stage_count > 0) {
            expect(&at, plan.lower_bound <= expected.total, "lower bound");
            expect(&at, (double)plan.lower_bound >= 0.9 * (double)plan.total, "gap");
            expect(&at,
                   memcmp(plan.stages, again.stages,
                          sizeof *plan.stages * (size_t)plan.stage_count) == 0,
                   "not the same twice");
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* A search that ends early gives a cut wherever there is one, and bounds the best. */
START_TEST(time_that_is_spent_leaves_a_cut)
{
    StageKind kind = {6, 2, 8, 2, 10, 1000, 30, 12, true, false, true, false};
    int early = 0, worse = 0;
    for (int seed = 0; seed < 600; seed++) {
        MwArena *arena = mw_arena_new();
        RandomStages *stages = random_stages(arena, &kind, (uint64_t)seed);
        EnumeratedStages expected = enumerate_stages(stages, (StageFilter){0});
        random_stages_tire(stages, seed % 30);
        MwStagePlan plan = mw_stages_solve(arena, &stages->problem, NULL);
        Case at = {"spent", seed, stages, &plan};
        expect(&at, (plan.reason == MW_STAGES_POSSIBLE) == expected.possible, "possible or not");
        if (expected.possible) {
            check_cut(&at);
            expect(&at, plan.lower_bound <= expected.total, "lower bound");
            expect(&at, plan.total == expected.total || plan.is_spent, "not the least total");
            early += plan.is_spent;
            worse += plan.total > expected.total;
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(early, 100);
    ck_assert_int_gt(worse, 0);
    ck_assert_int_lt(worse, early / 2);
}
END_TEST

/* Where no cut is needed, a search that ends early asks nothing more, and has none but of what it
 * knows. */
START_TEST(a_cut_that_is_not_needed_is_not_asked_for)
{
    StageKind kind = {6, 2, 8, 2, 10, 1000, 30, 12, true, false, true, false};
    int without = 0;
    for (int seed = 0; seed < 600; seed++) {
        MwArena *arena = mw_arena_new();
        RandomStages *stages = random_stages(arena, &kind, (uint64_t)seed);
        EnumeratedStages expected = enumerate_stages(stages, (StageFilter){0});
        random_stages_tire(stages, seed % 30);
        MwStagePlan needed = mw_stages_solve(arena, &stages->problem, NULL);
        stages = random_stages(arena, &kind, (uint64_t)seed);
        random_stages_tire(stages, seed % 30);
        stages->problem.is_optional = true;
        MwStagePlan plan = mw_stages_solve(arena, &stages->problem, NULL);
        Case at = {"not needed", seed, stages, &plan};
        expect(&at, plan.asked <= needed.asked, "asked more");
        if (plan.reason == MW_STAGES_POSSIBLE)
            check_cut(&at);
        else if (plan.reason == MW_STAGES_MEMORY)
            expect(&at, plan.needed_bytes > stages->problem.memory_bytes, "memory suffices");
        expect(&at, expected.possible || plan.reason != MW_STAGES_POSSIBLE, "possible or not");
        without += expected.possible && plan.reason != MW_STAGES_POSSIBLE;
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(without, 0);
}
END_TEST

/* Only a total below the given one is wanted. */
START_TEST(no_total_that_is_not_below_is_found)
{
    StageKind kind = {6, 2, 4, 3, 10, 1000, 1000, 12, true, false, false, false};
    int found = 0;
    for (int seed = 0; seed < 300; seed++) {
        MwArena *arena = mw_arena_new();
        RandomStages *stages = random_stages(arena, &kind, (uint64_t)seed);
        EnumeratedStages expected = enumerate_stages(stages, (StageFilter){0});
        for (int more = 0; more < 2 && expected.possible; more++) {
            stages = random_stages(arena, &kind, (uint64_t)seed);
            stages->problem.total_below = expected.total + more;
            MwStagePlan plan = mw_stages_solve(arena, &stages->problem, NULL);
            Case at = {"below", seed, stages, &plan};
            expect(&at, plan.reason == (more ? MW_STAGES_POSSIBLE : MW_STAGES_TOTAL), "reason");
            expect(&at, plan.lower_bound == expected.total, "lower bound");
            expect(&at, !more || plan.total == expected.total, "total");
            found += more;
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(found, 100);
}
END_TEST

/* Sub-meshes of whole nodes: all up to 16, beyond an eighth apart, and those that divide the
 * cluster; few of any number of nodes. */
START_TEST(sizes_of_many_nodes_lie_an_eighth_apart)
{
    MwArena *arena = mw_arena_new();
    for (int nodes = 1; nodes <= 3000; nodes += nodes < 100 ? 1 : 97) {
        MwSubmeshPacking packing = mw_submesh_packing_new(arena, (MwStageCluster){nodes, 4});
        ck_assert_int_le(packing.count, 120);
        int last = 0;
        for (int i = 0; i < packing.count; i++) {
            const int of = packing.submeshes[i].nodes;
            if (of == 0)
                continue;
            ck_assert_int_le(of, mw_max(last + 1, last + last / 8));
            last = of;
        }
        ck_assert_int_eq(last, nodes);
        ck_assert(packing.submeshes[0].devices == 1);
    }
    mw_arena_free(&arena);
}
END_TEST

START_TEST(bounds_spare_questions)
{
    StageKind kind = {6, 2, 8, 2, 10, 1000, 30, 12, true, false, false, false};
    int64_t asked[2] = {0, 0};
    for (int bounded = 0; bounded < 2; bounded++)
        for (int seed = 0; seed < 200; seed++) {
            MwArena *arena = mw_arena_new();
            kind.bounded = bounded;
            RandomStages *stages = random_stages(arena, &kind, (uint64_t)seed);
            asked[bounded] += mw_stages_solve(arena, &stages->problem, NULL).asked;
            mw_arena_free(&arena);
        }
    ck_assert_int_lt(2 * asked[1], asked[0]);
}
END_TEST

/* Everything costs the same: the first of everything is taken. */
START_TEST(ties_break_by_the_lowest_index)
{
    MwArena *arena = mw_arena_new();
    StageKind kind = {6, 2, 4, 3, 0, 1, 1, 12, false, false, false, false};
    for (int seed = 0; seed < 50; seed++) {
        RandomStages *stages = random_stages(arena, &kind, (uint64_t)seed);
        MwStageProblem *problem = &stages->problem;
        int cells = (problem->layer_count + 1) * (problem->layer_count + 1) * stages->submesh_count;
        for (int i = 0; i < cells; i++)
            memset(stages->candidate[i], 0, sizeof(MwStageCandidate) * (size_t)stages->count[i]);
        problem->least_stages = problem->most_stages =
            (int)mw_min(2, mw_min(problem->layer_count,
                                  problem->cluster.devices_per_node * problem->cluster.nodes));
        MwStagePlan plan = mw_stages_solve(arena, problem, NULL);
        if (plan.stage_count == 0)
            continue; /* seven devices are no two sub-meshes */
        ck_assert_int_eq(plan.total, 0);
        ck_assert_int_eq(plan.stages[0].candidate, 0);
        if (problem->least_stages == 2)
            ck_assert_int_eq(plan.stages[0].end, 1);
    }
    mw_arena_free(&arena);
}
END_TEST

static void try_packings(const MwSubmeshPacking *packing, int *sizes, int count, int least, int row,
                         int devices)
{
    MwStageSubmesh submeshes[64];
    for (int i = 0; i < count; i++)
        submeshes[i] = packing->submeshes[sizes[i]];
    if (devices == 0)
        ck_assert_int_eq(row >= 0, lies_in(packing->cluster, submeshes, count));
    for (int k = least; k < packing->count && packing->submeshes[k].devices <= devices; k++) {
        sizes[count] = k;
        int next = row < 0 ? -1 : packing->next[k * packing->state_count + row];
        if (next >= 0)
            ck_assert_int_eq(packing->previous[k * packing->state_count + next], row);
        try_packings(packing, sizes, count + 1, k, next, devices - packing->submeshes[k].devices);
    }
}

START_TEST(packing_agrees_with_trying)
{
    MwArena *arena = mw_arena_new();
    for (int per_node = 1; per_node <= 13; per_node++)
        for (int nodes = 1; nodes <= (per_node < 8 ? 3 : 2); nodes++) {
            MwSubmeshPacking packing =
                mw_submesh_packing_new(arena, (MwStageCluster){nodes, per_node});
            int sizes[64];
            try_packings(&packing, sizes, 0, 0, 0, nodes * per_node);
        }
    MwSubmeshPacking common = mw_submesh_packing_new(arena, (MwStageCluster){8, 8});
    ck_assert_int_eq(common.count, 11);
    ck_assert_int_eq(common.state_count, 1);
    ck_assert_int_eq(mw_submesh_packing_new(arena, (MwStageCluster){64, 15}).state_count, 1);
    mw_arena_free(&arena);
}
END_TEST

static int64_t one_layer_each(const void *context, int stages, int remaining)
{
    (void)context, (void)stages;
    return remaining + 1;
}

static const MwStageCandidate published = {.time = 18522000 + 18086000 + 9337000,
                                           .weight_time = 9337000};

static void answer_published(void *context, MwStageQuery *queries, int count)
{
    (void)context;
    for (int i = 0; i < count; i++) {
        queries[i].count = queries[i].end - queries[i].begin == 1;
        queries[i].candidates = &published;
    }
}

/* The 1.5B model of Qi et al., Zero Bubble Pipeline Parallelism (2023), 8 stages, 24 micro-batches:
 * forward, backward, weights and a transfer of 18.522, 18.086, 9.337, 0.601 ms. 1F1B idles 0.2431
 * of the time, more than (p - 1) / (m + p - 1), for want of micro-batches in flight. */
START_TEST(bubble_of_1f1b_is_the_published_one)
{
    MwArena *arena = mw_arena_new();
    MwStageCut cuts[8];
    for (int i = 0; i < 8; i++)
        cuts[i] = (MwStageCut){2 * 601000, 601000};
    MwStageProblem problem = {
        .layer_count = 8,
        .cluster = {1, 8},
        .memory_bytes = INT64_MAX,
        .cuts = cuts,
        .schedule = {.micro_batches = 24,
                     .chunks = 1,
                     .returns = true,
                     .in_flight = one_layer_each},
        .submesh = -1,
        .answer = answer_published,
    };
    MwStagePlan plan = mw_stages_solve(arena, &problem, NULL);
    ck_assert_int_eq(plan.stage_count, 8);
    double bubble = 1 - 24.0 * (double)published.time / (double)plan.total;
    ck_assert_msg(fabs(bubble - 0.2431) < 0.00005, "%.5f", bubble);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stage_dp");
    TCase *tests = tcase_create("stages");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, agrees_with_enumeration, 0, MW_COUNT(groups));
    tcase_add_test(tests, gap_is_kept);
    tcase_add_test(tests, time_that_is_spent_leaves_a_cut);
    tcase_add_test(tests, a_cut_that_is_not_needed_is_not_asked_for);
    tcase_add_test(tests, no_total_that_is_not_below_is_found);
    tcase_add_test(tests, sizes_of_many_nodes_lie_an_eighth_apart);
    tcase_add_test(tests, bounds_spare_questions);
    tcase_add_test(tests, ties_break_by_the_lowest_index);
    tcase_add_test(tests, packing_agrees_with_trying);
    tcase_add_test(tests, bubble_of_1f1b_is_the_published_one);
    return run_suite(suite);
}
