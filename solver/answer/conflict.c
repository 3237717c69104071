/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small set of nodes that exclude one another (a minimal unsatisfiable subset).
 *
 * If propagation leaves a node without a strategy, each of its strategies was removed because of an
 * edge and of strategies at its other end that had been removed before. Following these causes back
 * gives nodes that conflict by themselves, because propagation among them alone takes the same
 * steps (conflict analysis; Junker, QuickXplain: Conflict detection for arbitrary constraint
 * propagation algorithms, IJCAI workshop on modelling and solving problems with constraints, 2001).
 * If propagation does not suffice, the solver is asked.
 *
 * Then nodes are left out, first many at a time and at last one by one. If the others still
 * conflict, they replace the set. A node that could not be left out cannot be left out of a subset
 * either; so at the end no node can (deletion filter: Chinneck and Dravnieks, Locating minimal
 * infeasible constraint sets in linear programs, ORSA Journal on Computing 3, 1991). */
#include "solver/answer/conflict.h"

#include "base/vec.h"
#include "solver/answer/hard_constraints.h"
#include "solver/driver/solve.h"
#include "solver/stop.h"

#include <string.h>

/* Limits of the work without a deadline: strategies and entries visited, and checks. A conflict
 * that is not minimal is a conflict, too. */
static const int64_t EFFORT = (int64_t)1 << 28;
enum { QUESTIONS = 2000 };

typedef struct {
    const MwProblem *hard;
    MwSolveOptions options;
    MwStop stop;
    int count;
    int *nodes; /* [count] ascending; they conflict */
    int64_t effort;
    int checks;
} Conflict;

/* ---- Following causes back ---- */

typedef struct {
    int node, strategy;
} Removal;

typedef struct {
    MwArena *scratch;
    const MwProblem *subproblem;
    int **cause;
    bool **seen; /* [node][strategy] already traced */
    bool *named; /* [node] part of the conflict */
    MW_VEC(Removal) queue;
} Trace;

static void trace(Trace *t, int node, int strategy)
{
    if (t->cause[node][strategy] < 0 || t->seen[node][strategy])
        return;
    t->seen[node][strategy] = true;
    mw_vec_push(t->scratch, &t->queue, ((Removal){node, strategy}));
}

/* Traces the strategies of the other end that had to be removed first. */
static void trace_support(Trace *t, Removal removal)
{
    const MwProblemEdge *edge = &t->subproblem->edges[t->cause[removal.node][removal.strategy]];
    bool is_row = removal.node == edge->a;
    int other = is_row ? edge->b : edge->a;
    int64_t columns = t->subproblem->nodes[edge->b].strategy_count;
    t->named[other] = true;
    for (int s = 0; s < t->subproblem->nodes[other].strategy_count; s++) {
        int64_t at = is_row ? removal.strategy * columns + s : s * columns + removal.strategy;
        if (edge->cost[at] < MW_COST_INFINITE)
            trace(t, other, s);
    }
}

/* Returns named[node]: the nodes because of which `empty` has no strategy left. */
static bool *trace_all(MwArena *scratch, const MwProblem *subproblem, int empty, int **cause)
{
    Trace t = {.scratch = scratch, .subproblem = subproblem, .cause = cause};
    t.seen = MW_NEW(scratch, bool *, subproblem->node_count);
    t.named = MW_NEW(scratch, bool, subproblem->node_count);
    for (int i = 0; i < subproblem->node_count; i++)
        t.seen[i] = MW_NEW(scratch, bool, subproblem->nodes[i].strategy_count);
    t.named[empty] = true;
    for (int s = 0; s < subproblem->nodes[empty].strategy_count; s++)
        trace(&t, empty, s);
    while (t.queue.count > 0)
        trace_support(&t, t.queue.at[--t.queue.count]);
    return t.named;
}

/* ---- Leaving out ---- */

static int64_t size_of(const MwProblem *subproblem)
{
    int64_t size = 0;
    for (int i = 0; i < subproblem->node_count; i++)
        size += subproblem->nodes[i].strategy_count;
    for (int i = 0; i < subproblem->edge_count; i++)
        size += (int64_t)subproblem->nodes[subproblem->edges[i].a].strategy_count *
                subproblem->nodes[subproblem->edges[i].b].strategy_count;
    return size;
}

/* Says whether the nodes conflict. If they do, `*count` of them that also conflict stay in
 * `nodes`. */
static bool conflicts(Conflict *conflict, int *count, int *nodes)
{
    MwArena *scratch = mw_arena_new();
    MwProblem *subproblem = mw_hard_induced(scratch, conflict->hard, *count, nodes);
    conflict->effort += size_of(subproblem) + *count;
    conflict->checks++;
    int **cause, empty = mw_hard_propagate(scratch, subproblem, &cause);
    bool found = empty >= 0;
    if (found) {
        const bool *named = trace_all(scratch, subproblem, empty, cause);
        int kept = 0;
        for (int i = 0; i < *count; i++)
            if (named[i])
                nodes[kept++] = nodes[i];
        *count = kept;
    } else {
        mw_stop_pass_on(&conflict->stop, &conflict->options);
        MwSolution solution = mw_solve_plain(scratch, subproblem, &conflict->options, NULL);
        found = solution.status == MW_SOLVED_INFEASIBLE;
    }
    mw_arena_free(&scratch);
    return found;
}

static bool exhausted(const Conflict *conflict)
{
    return conflict->effort > EFFORT || conflict->checks > QUESTIONS || mw_stopped(&conflict->stop);
}

/* Leaves out nodes[from .. from + size) if the others conflict too. Returns the index to go on
 * from. */
static int leave_out(Conflict *conflict, int from, int size)
{
    MwArena *scratch = mw_arena_new();
    int end = (int)mw_min(from + size, conflict->count), count = 0, next = end;
    int *others = MW_NEW(scratch, int, conflict->count);
    for (int i = 0; i < conflict->count; i++)
        if (i < from || i >= end)
            others[count++] = conflict->nodes[i];
    if (count > 0 && conflicts(conflict, &count, others)) {
        int left_out = conflict->nodes[from];
        memcpy(conflict->nodes, others, sizeof *others * (size_t)count);
        conflict->count = count;
        for (next = 0; next < count && others[next] < left_out;)
            next++;
    }
    mw_arena_free(&scratch);
    return next;
}

int mw_conflict_find(MwArena *arena, const MwProblem *hard, const MwSolveOptions *options,
                     const int **nodes)
{
    Conflict conflict = {.hard = hard, .options = *options, .stop = mw_stop_of(options)};
    conflict.options.quick = true;
    conflict.count = hard->node_count;
    conflict.nodes = MW_NEW(arena, int, hard->node_count);
    for (int i = 0; i < hard->node_count; i++)
        conflict.nodes[i] = i;
    *nodes = conflict.nodes;
    conflicts(&conflict, &conflict.count, conflict.nodes);
    for (int size = conflict.count; size > 1;) {
        size = (size + 1) / 2;
        for (int from = 0; from < conflict.count && !exhausted(&conflict);)
            from = leave_out(&conflict, from, size);
    }
    return conflict.count;
}
