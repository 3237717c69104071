/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small random problems of every awkward kind, and their answers by enumeration. */
#ifndef MW_TESTS_SOLVER_RANDOM_PROBLEM_H
#define MW_TESTS_SOLVER_RANDOM_PROBLEM_H

#include "solver/solver.h"
#include "tests/unit/support.h"

typedef struct {
    int nodes, edges, strategies; /* the most there may be */
    int forbidden_percent;        /* of all costs */
    int64_t greatest_cost;
    bool limited;
} RandomKind;

/* Pairs may repeat in either order, nodes may be isolated or have one strategy, intervals may be
 * empty, usages may be NULL. The same seed gives the same problem. */
MwProblem *random_problem(MwArena *arena, const RandomKind *kind, uint64_t seed);

/* Costs are changed so that a strategy costs the less the more it uses, and the limit, so that
 * there is room for about half of what could be used: no prices make a bound tight. */
void make_thrifty(MwArena *arena, MwProblem *problem, uint64_t seed);

/* The problems side by side, without an edge from one to another, and one after another in time.
 * The limit is the greatest of theirs. */
MwProblem *random_chain(MwArena *arena, int count, MwProblem *const *problems);

typedef struct {
    bool possible;
    MwCost cost;
} Enumerated;

/* Tries all choices, except those that already cost as much as the best known. */
Enumerated enumerate(const MwProblem *problem);

/* The next of a sequence that `state` determines, in [0, bound). */
int64_t draw(uint64_t *state, int64_t bound);

#endif
