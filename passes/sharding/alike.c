/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/alike.h"

#include "cost/units.h"
#include "passes/sharding/copies.h"
#include "passes/sharding/footprint.h"

#include <string.h>

static bool is_same(const int64_t *a, const int64_t *b, int64_t count)
{
    return a == b || memcmp(a, b, sizeof *a * (size_t)count) == 0;
}

bool mw_intra_problems_alike(const MwIntraProblem *a, const MwIntraProblem *b)
{
    const MwProblem *x = &a->problem, *y = &b->problem;
    const int nodes = a->graph->nodes.count, edges = a->value_edge_count;
    bool alike = nodes == b->graph->nodes.count && edges == b->value_edge_count &&
                 mw_mesh_equal(&a->model.mesh, &b->model.mesh);
    for (int n = 0; n < nodes && alike; n++)
        alike = x->nodes[n].strategy_count == y->nodes[n].strategy_count &&
                is_same(x->nodes[n].cost, y->nodes[n].cost, x->nodes[n].strategy_count);
    for (int e = 0; e < edges && alike; e++) {
        const MwProblemEdge *p = &x->edges[e], *q = &y->edges[e];
        alike = p->a == q->a && p->b == q->b &&
                is_same(p->cost, q->cost,
                        (int64_t)x->nodes[p->a].strategy_count * x->nodes[p->b].strategy_count);
    }
    return alike;
}

MwSharding *mw_sharding_of_choice(MwArena *arena, MwIntraProblem *problem, const int *choice,
                                  int64_t memory_bytes)
{
    const int nodes = problem->graph->nodes.count;
    MwSharding *sharding = MW_NEW(arena, MwSharding, 1);
    mw_intra_problem_add_copies(problem, MW_NEW(arena, bool, nodes));
    problem->problem.usage_limit = memory_bytes;
    MwSolution *solution = &sharding->solution;
    solution->choice = mw_arena_dup(arena, choice, sizeof *choice * (size_t)nodes);
    solution->status = MW_SOLVED_FEASIBLE;
    solution->cost = mw_problem_cost(&problem->problem, solution->choice);
    solution->peak_usage =
        mw_problem_peak(&problem->problem, solution->choice, &solution->peak_time);
    sharding->problem = problem;
    sharding->choice = solution->choice;
    sharding->objective_s = mw_seconds(solution->cost);
    sharding->peak_bytes = mw_sharding_peak(sharding);
    return sharding->peak_bytes <= memory_bytes ? sharding : NULL;
}
