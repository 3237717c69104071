/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shortest reason found why a problem has no answer: nodes that exclude one another, a time
 * at which too much is needed, or several times together. Each reason is proven anew from the
 * problem, in exact integers, independently of the proof by which the solver found the problem
 * infeasible. */
#include "solver/answer/explain.h"

#include "base/vec.h"
#include "solver/answer/conflict.h"
#include "solver/answer/hard_constraints.h"
#include "solver/answer/peak_bound.h"
#include "solver/stop.h"

#include <stdlib.h>
#include <string.h>

/* Weights are for people to read: a bound with short weights may be lower by one part in NEARLY. */
enum { NEARLY = 1000 };

typedef struct {
    MwArena *arena, *scratch;
    const MwProblem *problem;
    MwProblem *hard;
    const MwSolveOptions *options;
    MwStop stop;
    MwInfeasibility *why;
} Explanation;

static void explain_by_nodes(Explanation *e)
{
    const int *nodes;
    const MwProblem *hard = mw_hard_constraints(e->scratch, e->problem);
    int count = mw_conflict_find(e->scratch, hard, e->options, &nodes);
    MwInfeasibleNode *named = MW_NEW(e->arena, MwInfeasibleNode, count);
    for (int i = 0; i < count; i++)
        named[i].node = nodes[i];
    e->why->reason = MW_INFEASIBLE_NODES;
    e->why->nodes = named;
    e->why->node_count = count;
}

static int compare_nodes(const void *a, const void *b)
{
    const MwInfeasibleNode *x = a, *y = b;
    if (x->least != y->least)
        return x->least > y->least ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Lists the nodes that use something at the times whatever is chosen. */
static void list_nodes(Explanation *e, const MwPeakProof *proof)
{
    MW_VEC(MwInfeasibleNode) nodes = {0};
    for (int i = 0; i < e->hard->node_count; i++) {
        const MwProblemNode *node = &e->hard->nodes[i];
        MwCost weight = mw_hard_weight(node, proof->count, proof->times);
        MwInfeasibleNode named = {i, weight ? weight * mw_hard_least_usage(node) : 0};
        if (named.least > 0)
            mw_vec_push(e->arena, &nodes, named);
    }
    if (nodes.count > 0)
        qsort(nodes.at, (size_t)nodes.count, sizeof *nodes.at, compare_nodes);
    e->why->nodes = nodes.at;
    e->why->node_count = nodes.count;
}

static bool proves(const Explanation *e, const MwPeakProof *proof)
{
    return proof->count > 0 && proof->bound > e->problem->usage_limit;
}

/* Rounds the weights to integers as small as the proof allows; without a proof, as the best bound
 * allows up to a small loss. */
static void round_weights(const Explanation *e, const MwPeakBound *bound, MwPeakProof *proof)
{
    int64_t wanted =
        proves(e, proof) ? e->problem->usage_limit + 1 : proof->bound - proof->bound / NEARLY;
    __int128 sum = 0;
    for (int i = 0; i < proof->count; i++)
        sum += proof->times[i].weight;
    for (int64_t units = proof->count; units < sum && !mw_stopped(&e->stop); units *= 4) {
        MwInfeasibleTime *rounded =
            mw_arena_dup(e->scratch, proof->times, sizeof *rounded * (size_t)proof->count);
        for (int i = 0; i < proof->count; i++)
            rounded[i].weight =
                mw_max(1, (int64_t)((rounded[i].weight * (__int128)units + sum / 2) / sum));
        MwPeakProof other = mw_peak_bound_prove(bound, proof->count, rounded);
        if (other.bound < wanted)
            continue;
        *proof = other;
        return;
    }
}

/* Removes times that the proof does not need: all but one if possible, otherwise those of small
 * weight first. */
static void drop_times(const Explanation *e, const MwPeakBound *bound, MwPeakProof *proof)
{
    const MwPeakProof all = *proof;
    for (int i = 0; i < all.count && proof->count > 1 && !mw_stopped(&e->stop); i++) {
        MwPeakProof alone =
            mw_peak_bound_prove(bound, 1, &(MwInfeasibleTime){all.times[i].time, 1});
        if (proves(e, &alone))
            *proof = alone;
    }
    for (int i = proof->count - 1; i >= 0 && proof->count > 1 && !mw_stopped(&e->stop); i--) {
        MwInfeasibleTime *fewer =
            mw_arena_dup(e->scratch, proof->times, sizeof *fewer * (size_t)proof->count);
        memmove(fewer + i, fewer + i + 1, sizeof *fewer * (size_t)(proof->count - i - 1));
        MwPeakProof other = mw_peak_bound_prove(bound, proof->count - 1, fewer);
        if (proves(e, &other))
            *proof = other;
    }
}

static void explain_by_times(Explanation *e)
{
    MwPeakBound *bound = mw_peak_bound_new(e->scratch, e->hard, false, e->options);
    MwPeakProof proof = {0};
    for (bool progress = true; progress && !proves(e, &proof);) {
        progress = mw_peak_bound_step(bound);
        proof = mw_peak_bound_best(bound);
    }
    if (mw_peak_bound_impossible(bound)) {
        explain_by_nodes(e);
        return;
    }
    MwInfeasibility *why = e->why;
    why->reason = MW_INFEASIBLE_SEARCH;
    round_weights(e, bound, &proof);
    if (proves(e, &proof)) {
        drop_times(e, bound, &proof);
        why->reason = proof.count == 1 ? MW_INFEASIBLE_TIME : MW_INFEASIBLE_TIMES;
    }
    why->times = mw_arena_dup(e->arena, proof.times, sizeof *proof.times * (size_t)proof.count);
    why->time_count = proof.count;
    why->needed = proof.needed;
    for (int i = 0; i < proof.count; i++)
        why->available += (MwCost)proof.times[i].weight * e->problem->usage_limit;
    list_nodes(e, &proof);
}

const MwInfeasibility *mw_explain(MwArena *arena, const MwProblem *problem,
                                  const MwSolveOptions *options)
{
    Explanation e = {.arena = arena,
                     .scratch = mw_arena_new(),
                     .problem = problem,
                     .options = options,
                     .stop = mw_stop_of(options),
                     .why = MW_NEW(arena, MwInfeasibility, 1)};
    e.hard = mw_hard_constraints(e.scratch, problem);
    if (mw_hard_propagate(e.scratch, e.hard, NULL) >= 0 ||
        problem->usage_limit == MW_USAGE_UNLIMITED)
        explain_by_nodes(&e);
    else
        explain_by_times(&e);
    mw_arena_free(&e.scratch);
    return e.why;
}
