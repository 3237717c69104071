/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch and bound with cutoffs that widen.
 *
 * The closer the cutoff is to the bound, the more is cut and the smaller the tree; what is known to
 * be possible may be far above. So the search is made in rounds with cutoffs out of the air, the
 * first just above the bound of the whole core, then further: a round that finds nothing has proven
 * that nothing costs less than its cutoff, and the first that finds something finds the best
 * (iterative deepening: Korf, Depth-first iterative-deepening, Artificial Intelligence 27, 1985).
 * As each round reaches several times as far as the one before, the last one that is needed takes
 * most of the time. */
#include "solver/tree/widen.h"

#include "solver/tree/subproblem.h"

#include <math.h>

enum {
    FIRST = 2048, /* the first round reaches this part of the bound above it, */
    WIDER = 4,    /* each of the next so many times as far, */
    LAST = 8,     /* and after so many rounds they look for anything. */
};

typedef struct {
    const MwCore *core;
    const MwCore *root; /* what is left of it: */
    const int *place;   /* node i is place[i] of the core */
    const MwCore *base; /* a copy of the root with its bound raised: */
    MwCost base_bound;
    MwArena *arena; /* of the caller, like */
    MwCoreBest *best;
    const MwBranchLimits *limits;
    MwBranchAnswer answer;
    bool ended; /* somebody has had enough */
} Widening;

/* Takes a choice of the root if it is better. */
static void take(Widening *widening, MwCost cost, const int *choice)
{
    if (cost >= widening->best->cost)
        return;
    widening->best->cost = cost;
    widening->best->choice = MW_NEW(widening->arena, int, widening->core->node_count);
    for (int i = 0; i < widening->root->node_count; i++)
        widening->best->choice[widening->place[i]] = choice[i];
}

static void take_of_base(Widening *widening, const MwCoreBest *found)
{
    if (!found->choice)
        return;
    MwArena *scratch = mw_arena_new();
    size_t bytes = sizeof *found->choice * (size_t)widening->base->node_count;
    int *choice = mw_arena_dup(scratch, found->choice, bytes);
    mw_core_restore(widening->base, choice);
    take(widening, found->cost, choice);
    mw_arena_free(&scratch);
}

static bool tell(Widening *widening)
{
    const MwBranchLimits *limits = widening->limits;
    widening->ended |=
        limits->report && !limits->report(limits->context, widening->answer.bound, widening->best);
    return !widening->ended;
}

static void raise_bound(Widening *widening, MwCost bound)
{
    if (bound > widening->answer.bound)
        widening->answer.bound = bound;
}

/* What a round finds and proves holds for all. */
static bool hear(void *context, MwCost bound, const MwCoreBest *found)
{
    Widening *widening = context;
    take_of_base(widening, found);
    raise_bound(widening, bound);
    return tell(widening);
}

/* Raises the bound of the whole as far as it goes. True if that settles it. */
static bool make_base(Widening *widening, MwArena *arena)
{
    MwArena *scratch = mw_arena_new();
    const MwSubproblem whole = {.root = widening->root,
                                .from = widening->root,
                                .node = -1,
                                .cutoff = widening->best->cost,
                                .stop = widening->limits->stop};
    MwSubanswer answer = mw_subproblem_solve(scratch, &whole);
    if (answer.best.choice)
        take(widening, answer.best.cost, answer.best.choice);
    raise_bound(widening, answer.bound);
    widening->answer.nodes++;
    widening->answer.work += answer.work;
    widening->answer.complete = !answer.core;
    if (answer.core)
        widening->base = mw_core_move(arena, answer.core);
    widening->base_bound = answer.bound;
    mw_arena_free(&scratch);
    return !tell(widening) || widening->answer.complete;
}

/* What is below the best choice, for the next better one. */
static MwCost known_cutoff(const Widening *widening)
{
    const MwCoreBest *best = widening->best;
    return best->choice ? mw_core_improving_cutoff(widening->core, best->cost) : best->cost;
}

/* The cutoff of a round. */
static MwCost cutoff_of(const Widening *widening, int round)
{
    MwCost known = known_cutoff(widening), bound = widening->base_bound;
    double reach = fmax(fabs((double)bound) / FIRST, ldexp(1, widening->core->scale));
    reach *= pow(WIDER, round);
    bool most = round >= LAST || 2 * reach >= (double)known - (double)bound;
    return most ? known : bound + (MwCost)reach;
}

/* True if there is no need for another. */
static bool search_round(Widening *widening, MwCost cutoff)
{
    MwArena *scratch = mw_arena_new();
    MwBranchAnswer *answer = &widening->answer;
    MwCost known = known_cutoff(widening);
    MwBranchLimits limits = *widening->limits;
    limits.nodes -= answer->nodes;
    if (limits.work > 0)
        limits.work = mw_max(1, limits.work - answer->work);
    limits.report = hear;
    limits.context = widening;
    MwCoreBest found = {.cost = cutoff};
    MwBranchAnswer of_round = mw_branch(scratch, widening->base, &found, &limits);
    take_of_base(widening, &found);
    raise_bound(widening, of_round.bound);
    answer->nodes += of_round.nodes;
    answer->work += of_round.work;
    answer->complete = of_round.complete && (found.choice || cutoff >= known);
    mw_arena_free(&scratch);
    return answer->complete || !of_round.complete || widening->ended;
}

MwBranchAnswer mw_widen(MwArena *arena, const MwCore *core, MwCoreBest *best,
                        const MwBranchLimits *limits)
{
    MwArena *scratch = mw_arena_new();
    Widening widening = {.core = core, .arena = arena, .best = best, .limits = limits};
    widening.answer.bound = -MW_CORE_NONE;
    widening.root = mw_core_extract(scratch, core, &widening.place);
    bool done = make_base(&widening, scratch);
    for (int round = 0; !done; round++)
        done = search_round(&widening, cutoff_of(&widening, round));
    mw_arena_free(&scratch);
    return widening.answer;
}
