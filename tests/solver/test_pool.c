/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moves chosen from together: what is taken fits and gains what it is said to, and it is what
 * trying all of them finds; with numbers alone, and as changes of a choice. */
#include "solver/improve/knapsack.h"
#include "solver/improve/pool.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

#include <string.h>

static const MwStop never = {0};

/* ---- Numbers alone ---- */

enum { MOST_MOVES = 12, FEW_MOVES = 9, MOST_CONSTRAINTS = 300, FEW_CONSTRAINTS = 30 };

typedef struct {
    MwKnapsack knapsack;
    double gain[MOST_MOVES], usage[MOST_MOVES * MOST_CONSTRAINTS], capacity[MOST_CONSTRAINTS];
    int first[MOST_MOVES + 1], conflicts[MOST_MOVES * MOST_MOVES];
    bool touches[MOST_MOVES][MOST_MOVES];
} Packing;

/* Each move uses more or less in a range of constraints; or, if `rough`, now more, now less. */
static void draw_usage(Packing *made, uint64_t *state, int move, int constraints, bool rough)
{
    int from = (int)draw(state, constraints), to = from + (int)draw(state, constraints - from);
    int64_t more = 1 + draw(state, 20), sign = draw(state, 3) > 0 ? 1 : -1;
    for (int constraint = from; constraint <= to; constraint++)
        made->usage[move * constraints + constraint] =
            (double)(rough ? draw(state, 21) - 8 : sign * more);
    made->gain[move] = (double)(sign * more * (5 + draw(state, 10)) + draw(state, 10));
}

static void draw_packing(Packing *made, uint64_t *state)
{
    *made = (Packing){0};
    bool rough = draw(state, 4) == 0; /* more constraints are exceeded than are watched */
    int count = (int)draw(state, (rough ? FEW_MOVES : MOST_MOVES) + 1);
    int constraints = 1 + (int)draw(state, rough ? MOST_CONSTRAINTS : FEW_CONSTRAINTS);
    int sparse = 1 + (int)draw(state, 8);
    for (int constraint = 0; constraint < constraints; constraint++)
        made->capacity[constraint] = (double)draw(state, 25);
    for (int i = 0; i < count; i++) {
        draw_usage(made, state, i, constraints, rough);
        for (int k = 0; k < i; k++)
            made->touches[i][k] = made->touches[k][i] = draw(state, sparse) == 0;
    }
    int next = 0;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++)
            if (made->touches[i][k])
                made->conflicts[next++] = k;
        made->first[i + 1] = next;
    }
    made->knapsack = (MwKnapsack){count,          constraints, made->gain,     made->usage,
                                  made->capacity, made->first, made->conflicts};
}

/* What the set gains; below 0 if it is not allowed. */
static double gain_of(const Packing *made, const bool *taken)
{
    const MwKnapsack *knapsack = &made->knapsack;
    double gain = 0;
    for (int i = 0; i < knapsack->count; i++) {
        for (int k = 0; k < i; k++)
            if (taken[i] && taken[k] && made->touches[i][k])
                return -1;
        gain += taken[i] ? knapsack->gain[i] : 0;
    }
    for (int constraint = 0; constraint < knapsack->constraint_count; constraint++) {
        double usage = 0;
        for (int i = 0; i < knapsack->count; i++)
            usage += taken[i] ? knapsack->usage[i * knapsack->constraint_count + constraint] : 0;
        if (usage > knapsack->capacity[constraint])
            return -1;
    }
    return gain;
}

static double greatest_gain(const Packing *made)
{
    double most = 0;
    for (int set = 0; set < 1 << made->knapsack.count; set++) {
        bool taken[MOST_MOVES];
        for (int i = 0; i < made->knapsack.count; i++)
            taken[i] = set >> i & 1;
        double gain = gain_of(made, taken);
        most = gain > most ? gain : most;
    }
    return most;
}

START_TEST(sets_are_the_best)
{
    uint64_t state = 1;
    int best = 0, gained = 0, count = tried(200);
    for (int i = 0; i < count; i++) {
        Packing made;
        bool taken[MOST_MOVES] = {0}, again[MOST_MOVES] = {0};
        draw_packing(&made, &state);
        MwKnapsackAnswer packed =
            mw_knapsack_solve(&made.knapsack, (uint64_t)i, 2000, &never, taken);
        ck_assert_double_eq(packed.gain, gain_of(&made, taken));
        ck_assert(mw_knapsack_solve(&made.knapsack, (uint64_t)i, 2000, &never, again).gain ==
                  packed.gain);
        ck_assert(memcmp(taken, again, sizeof taken) == 0);
        best += packed.gain == greatest_gain(&made);
        gained += packed.gain > 0;
    }
    printf("# best set found in %d of %d, %d of which gain\n", best, count, gained);
    ck_assert_int_ge(100 * best, 99 * count);
    ck_assert_int_ge(2 * gained, count);
}
END_TEST

/* ---- Changes of a choice ---- */

enum { PROPOSALS = 9 };

typedef struct {
    const MwCore *core;
    const MwFlatCore *flat;
    const int *choice; /* of the core */
    int count;
    MwChange proposal[PROPOSALS][2];
    int size[PROPOSALS];
} Wishes;

static bool draw_legal(const MwCore *core, uint64_t *state, int *choice)
{
    for (int tries = 0; tries < 300; tries++) {
        for (int i = 0; i < core->node_count; i++)
            choice[i] = (int)draw(state, core->nodes[i].cost->count);
        if (mw_core_allows(core, choice) && mw_core_fits(core, choice))
            return true;
    }
    return false;
}

/* Changes of one node, and of two that share a cost function. */
static void draw_wishes(Wishes *proposals, const int *present, uint64_t *state)
{
    const MwFlatCore *flat = proposals->flat;
    for (proposals->count = 0; proposals->count < PROPOSALS; proposals->count++) {
        int node = (int)draw(state, flat->node_count), other = node;
        const MwFlatNode *of = &flat->nodes[node];
        if (of->link_count > 0 && draw(state, 2)) {
            const MwFlatFunction *function =
                &flat->functions[of->links[draw(state, of->link_count)].function];
            other = function->node[draw(state, function->arity)];
        }
        MwChange *proposal = proposals->proposal[proposals->count];
        proposal[0] = (MwChange){node, (int)draw(state, of->strategies)};
        proposal[1] = (MwChange){other, (int)draw(state, flat->nodes[other].strategies)};
        if (proposal[1].strategy == present[other] && other != node)
            proposal[1] = proposal[0];
        proposals->size[proposals->count] = 1 + (proposal[1].node != proposal[0].node);
        proposals->count -= proposal[0].strategy == present[node];
    }
}

/* What the set of wishes leads to; false if one node is to change twice. */
static bool apply(const Wishes *proposals, int set, int *choice)
{
    memcpy(choice, proposals->choice, sizeof *choice * (size_t)proposals->core->node_count);
    for (int i = 0; i < proposals->count; i++)
        for (int k = 0; k < proposals->size[i] && set >> i & 1; k++) {
            int node = proposals->flat->nodes[proposals->proposal[i][k].node].origin;
            if (choice[node] != proposals->choice[node])
                return false;
            choice[node] = proposals->proposal[i][k].strategy;
        }
    return true;
}

/* Whether two of the set share a cost function. */
static bool touch_in(const Wishes *proposals, int set)
{
    int by[64] = {0}; /* [node of the flat core] wish that changes it, from 1 on */
    for (int i = 0; i < proposals->count; i++)
        for (int k = 0; k < proposals->size[i] && set >> i & 1; k++)
            by[proposals->proposal[i][k].node] = i + 1;
    for (int i = 0; i < proposals->flat->function_count; i++) {
        const MwFlatFunction *function = &proposals->flat->functions[i];
        for (int k = 0; k < function->arity; k++)
            for (int l = 0; l < k; l++)
                if (by[function->node[k]] && by[function->node[l]] &&
                    by[function->node[k]] != by[function->node[l]])
                    return true;
    }
    return false;
}

/* The least cost that a set of wishes that do not touch leads to. */
static MwCost least_cost(const Wishes *proposals)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, proposals->core->node_count);
    MwCost least = mw_core_cost(proposals->core, proposals->choice);
    for (int set = 0; set < 1 << proposals->count; set++) {
        if (!apply(proposals, set, choice) || touch_in(proposals, set) ||
            !mw_core_allows(proposals->core, choice) || !mw_core_fits(proposals->core, choice))
            continue;
        MwCost cost = mw_core_cost(proposals->core, choice);
        least = cost < least ? cost : least;
    }
    mw_arena_free(&scratch);
    return least;
}

/* Packs once and once more: what gained is made then, and nothing is left to gain. Returns whether
 * it gained, -1 if that is not the most it could have. */
static int check_pool(MwArena *arena, const Wishes *proposals, const int *present)
{
    const MwFlatCore *flat = proposals->flat;
    MwAssignment *assignment = mw_assignment_new(arena, flat, present);
    MwPool *pool = mw_pool_new(arena, flat);
    for (int i = 0; i < proposals->count; i++)
        mw_pool_add(pool, assignment, proposals->size[i], proposals->proposal[i]);
    const MwPoolLimits limits = {.threads = 1, .seed = 3};
    const double *price_sum = MW_NEW(arena, double, flat->row_count + 1);
    const MwCost before = assignment->cost, least = least_cost(proposals);
    MwPoolPacked packed = mw_pool_pack(arena, pool, assignment, price_sum, &limits);
    ck_assert((packed.move.gain > 0) == (packed.move.count > 0));
    mw_assignment_apply(assignment, &packed.move);
    int *choice = MW_NEW(arena, int, proposals->core->node_count);
    mw_flat_choice_to_core(flat, assignment->choice, choice);
    ck_assert(mw_core_allows(proposals->core, choice) && mw_core_fits(proposals->core, choice));
    ck_assert(mw_core_cost(proposals->core, choice) == assignment->cost);
    ck_assert(assignment->cost == before - packed.move.gain);
    MwCost first = assignment->cost;
    MwPoolPacked rest = mw_pool_pack(arena, pool, assignment, price_sum, &limits);
    mw_assignment_apply(assignment, &rest.move);
    mw_flat_choice_to_core(flat, assignment->choice, choice);
    ck_assert(mw_core_fits(proposals->core, choice));
    ck_assert(mw_core_cost(proposals->core, choice) == assignment->cost);
    mw_pool_free(pool);
    return first <= least ? first < before : -1;
}

START_TEST(changes_are_packed)
{
    static const RandomKind kind = {12, 8, 4, 5, 60, true};
    uint64_t state = 0;
    int count = 0, gained = 0, missed = 0;
    for (int seed = 0; seed < tried(600); seed++) {
        MwArena *arena = mw_arena_new();
        MwProblem *problem = random_problem(arena, &kind, (uint64_t)seed);
        make_thrifty(arena, problem, (uint64_t)seed);
        MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
        int *choice = MW_NEW(arena, int, core->node_count);
        if (!core->infeasible && core->row_count > 0 && draw_legal(core, &state, choice)) {
            Wishes proposals = {core, mw_flat_core_new(arena, core), choice, 0, {{{0}}}, {0}};
            int *present = MW_NEW(arena, int, proposals.flat->node_count);
            mw_flat_choice_from_core(proposals.flat, choice, present);
            int most = proposals.flat->most_strategies;
            if (most > 1)
                draw_wishes(&proposals, present, &state);
            int found = check_pool(arena, &proposals, present);
            count++;
            gained += found == 1;
            missed += found < 0;
        }
        mw_arena_free(&arena);
    }
    printf("# %d choices, %d bettered, %d of them not as far as possible\n", count, gained, missed);
    ck_assert_int_ge(count, tried(300));
    ck_assert_int_ge(3 * gained, count);
    ck_assert_int_le(100 * missed, count);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_pool");
    TCase *tests = tcase_create("pool");
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, sets_are_the_best);
    tcase_add_test(tests, changes_are_packed);
    return run_suite(suite);
}
