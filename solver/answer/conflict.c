/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small set of nodes that have no allowed combination.
 *
 * If propagation leaves a node without a strategy, each of its strategies went because of an edge
 * and of strategies at the other end that had gone before. Followed back, these name nodes that are
 * a conflict by themselves: propagation among them alone takes the same steps (conflict analysis;
 * Junker, QuickXplain: Conflict detection for arbitrary constraint propagation algorithms, IJCAI
 * workshop on modelling and solving problems with constraints, 2001). Otherwise the solver is
 * asked.
 *
 * Then nodes are left out, first many at a time and at last one by one; if what is left has no
 * allowed combination either, it takes the place of the set. A node that could not be left out
 * cannot be later, when there are fewer; so at the end none can (deletion filter: Chinneck and
 * Dravnieks, Locating minimal infeasible constraint sets in linear programs, ORSA Journal on
 * Computing 3, 1991). */
#include "solver/answer/conflict.h"

#include "base/vec.h"
#include "solver/answer/bare.h"
#include "solver/road/solve.h"
#include "solver/stop.h"

#include <string.h>

/* Limits of work where there is no deadline: strategies and entries looked at, and questions
 * asked. A set that is not the smallest is a conflict, too. */
static const int64_t EFFORT = (int64_t)1 << 28;
enum { QUESTIONS = 2000 };

typedef struct {
    const MwProblem *bare;
    MwSolveOptions options;
    MwStop stop;
    int count;
    int *nodes; /* [count] ascending: they conflict */
    int64_t effort;
    int questions;
} Conflict;

/* ---- Following causes back ---- */

typedef struct {
    int node, strategy;
} Gone;

typedef struct {
    MwArena *scratch;
    const MwProblem *part;
    int **cause;
    bool **seen; /* [node][strategy] */
    bool *named; /* [node] */
    MW_VEC(Gone) open;
} Trace;

static void trace(Trace *t, int node, int strategy)
{
    if (t->cause[node][strategy] < 0 || t->seen[node][strategy])
        return;
    t->seen[node][strategy] = true;
    mw_vec_push(t->scratch, &t->open, ((Gone){node, strategy}));
}

/* What had to go before the strategy could. */
static void trace_support(Trace *t, Gone gone)
{
    const MwProblemEdge *edge = &t->part->edges[t->cause[gone.node][gone.strategy]];
    bool is_row = gone.node == edge->a;
    int other = is_row ? edge->b : edge->a;
    int64_t columns = t->part->nodes[edge->b].strategy_count;
    t->named[other] = true;
    for (int s = 0; s < t->part->nodes[other].strategy_count; s++) {
        int64_t at = is_row ? gone.strategy * columns + s : s * columns + gone.strategy;
        if (edge->cost[at] < MW_COST_INFINITE)
            trace(t, other, s);
    }
}

/* named[node]: the nodes by which `empty` came to have no strategy left. */
static bool *trace_all(MwArena *scratch, const MwProblem *part, int empty, int **cause)
{
    Trace t = {.scratch = scratch, .part = part, .cause = cause};
    t.seen = MW_NEW(scratch, bool *, part->node_count);
    t.named = MW_NEW(scratch, bool, part->node_count);
    for (int i = 0; i < part->node_count; i++)
        t.seen[i] = MW_NEW(scratch, bool, part->nodes[i].strategy_count);
    t.named[empty] = true;
    for (int s = 0; s < part->nodes[empty].strategy_count; s++)
        trace(&t, empty, s);
    while (t.open.count > 0)
        trace_support(&t, t.open.at[--t.open.count]);
    return t.named;
}

/* ---- Leaving out ---- */

static int64_t size_of(const MwProblem *part)
{
    int64_t size = 0;
    for (int i = 0; i < part->node_count; i++)
        size += part->nodes[i].strategy_count;
    for (int i = 0; i < part->edge_count; i++)
        size += (int64_t)part->nodes[part->edges[i].a].strategy_count *
                part->nodes[part->edges[i].b].strategy_count;
    return size;
}

/* Whether the nodes conflict; if so, `*count` of them that do remain in `nodes`. */
static bool conflicts(Conflict *conflict, int *count, int *nodes)
{
    MwArena *scratch = mw_arena_new();
    MwProblem *part = mw_bare_induced(scratch, conflict->bare, *count, nodes);
    conflict->effort += size_of(part) + *count;
    conflict->questions++;
    int **cause, empty = mw_bare_propagate(scratch, part, &cause);
    bool found = empty >= 0;
    if (found) {
        const bool *named = trace_all(scratch, part, empty, cause);
        int kept = 0;
        for (int i = 0; i < *count; i++)
            if (named[i])
                nodes[kept++] = nodes[i];
        *count = kept;
    } else {
        mw_stop_hand_on(&conflict->stop, &conflict->options);
        MwSolution solution = mw_solve_road(scratch, part, &conflict->options, NULL);
        found = solution.status == MW_SOLVED_INFEASIBLE;
    }
    mw_arena_free(&scratch);
    return found;
}

static bool exhausted(const Conflict *conflict)
{
    return conflict->effort > EFFORT || conflict->questions > QUESTIONS ||
           mw_stopped(&conflict->stop);
}

/* Leaves out nodes[from .. from + size) if the others conflict too. Returns where to go on. */
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

int mw_conflict_find(MwArena *arena, const MwProblem *bare, const MwSolveOptions *options,
                     const int **nodes)
{
    Conflict conflict = {.bare = bare, .options = *options, .stop = mw_stop_of(options)};
    conflict.options.quick = true;
    conflict.count = bare->node_count;
    conflict.nodes = MW_NEW(arena, int, bare->node_count);
    for (int i = 0; i < bare->node_count; i++)
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
