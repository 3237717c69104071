/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Minimum cuts of random networks weigh what the best of all ways to part the vertices does. */
#include "solver/cut.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

#include <math.h>

enum { CASES = 400, MOST_VERTICES = 9, SOURCE = 0, SINK = 1 };

typedef struct {
    MwCutArcs arcs;
    int vertices;
} Network;

/* Arcs run from lower vertices to higher ones, the sink last, or now and then back. Some are never
 * cut, but none of these leads to the sink. */
static Network draw_network(MwArena *arena, uint64_t *state)
{
    Network made = {.vertices = 2 + (int)draw(state, MOST_VERTICES - 1)};
    const int arcs = (int)draw(state, 3 * made.vertices);
    for (int i = 0; i < arcs; i++) {
        const int a = (int)draw(state, made.vertices), b = (int)draw(state, made.vertices);
        const bool never = b != SINK && a != SOURCE && draw(state, 4) == 0;
        const MwCutArc arc = {a, b, never ? INFINITY : (double)draw(state, 50)};
        if (a != b)
            mw_vec_push(arena, &made.arcs, arc);
    }
    return made;
}

static double weight(const Network *network, const bool *is_sink)
{
    double sum = 0;
    for (int i = 0; i < network->arcs.count; i++) {
        const MwCutArc *arc = &network->arcs.at[i];
        sum += !is_sink[arc->from] && is_sink[arc->to] ? arc->weight : 0;
    }
    return sum;
}

/* The least weight, and the most vertices on the side of the sink that have it. */
static double least_weight(const Network *network, int *most)
{
    double least = INFINITY;
    for (unsigned set = 0; set < 1u << network->vertices; set++) {
        bool is_sink[MOST_VERTICES + 1];
        int count = 0;
        for (int v = 0; v < network->vertices; v++)
            count += is_sink[v] = set >> v & 1;
        if (is_sink[SOURCE] || !is_sink[SINK])
            continue;
        const double own = weight(network, is_sink);
        *most = own < least || (own == least && count > *most) ? count : *most;
        least = fmin(least, own);
    }
    return least;
}

START_TEST(cuts_are_least)
{
    MwArena *arena = mw_arena_new();
    for (int i = 0; i < CASES; i++) {
        uint64_t state = (uint64_t)i + 1;
        const Network network = draw_network(arena, &state);
        int most = 0, count = 0;
        const double least = least_weight(&network, &most);
        const bool *is_sink = mw_min_cut(arena, &network.arcs, network.vertices, SOURCE, SINK);
        for (int v = 0; v < network.vertices; v++)
            count += is_sink[v];
        ck_assert(!is_sink[SOURCE] && is_sink[SINK]);
        ck_assert_double_eq(weight(&network, is_sink), least);
        ck_assert_int_eq(count, most);
    }
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cut");
    TCase *tests = tcase_create("cut");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, cuts_are_least);
    return run_suite(suite);
}
