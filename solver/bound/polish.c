/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterated conditional modes (Besag, On the statistical analysis of dirty pictures, 1986) with
 * memory rows. A forbidden entry counts as so dear that having fewer of them always wins. */
#include "solver/bound/polish.h"

#include "solver/bound/row_slack.h"

typedef struct {
    const MwCore *core;
    int *choice;
    MwRowSlack *room;
    MwCost *cost;  /* [strategy] */
    bool *settled; /* [node] no strategy costs less as long as its neighbours stay */
} Polisher;

static void add_function_cost(Polisher *polisher, int node, const MwCostFunction *function)
{
    int dim = mw_core_position(function, node);
    int64_t at = 0, stride = mw_table_inner(function->cost, dim);
    for (int i = 0; i < function->cost->arity; i++) {
        int64_t class =
            i == dim ? 0 : function->classes[i]->at[polisher->choice[function->scope[i]]];
        at = at * function->cost->dims[i] + class;
    }
    for (int64_t s = 0; s < function->classes[dim]->count; s++)
        polisher->cost[s] += function->cost->at[at + function->classes[dim]->at[s] * stride];
}

/* Whether the rows of the term have room for `more` usage. */
static bool has_room(const Polisher *polisher, const MwCoreTerm *term, int64_t more)
{
    return more <= 0 || mw_row_slack_least(polisher->room, term->first, term->last) >= more;
}

static bool fits(const Polisher *polisher, const MwCoreNode *node, int from, int to)
{
    for (int k = 0; k < node->terms.count; k++) {
        const MwCoreTerm *term = &node->terms.at[k];
        if (!has_room(polisher, term, term->usage->at[to] - term->usage->at[from]))
            return false;
    }
    return true;
}

static void occupy(Polisher *polisher, const MwCoreNode *node, int strategy, int sign)
{
    for (int k = 0; k < node->terms.count; k++) {
        const MwCoreTerm *term = &node->terms.at[k];
        mw_row_slack_take(polisher->room, term->first, term->last,
                          sign * term->usage->at[strategy]);
    }
}

static void unsettle_neighbours(Polisher *polisher, int index)
{
    const MwIndexList *functions = &polisher->core->nodes[index].functions;
    for (int i = 0; i < functions->count; i++) {
        const MwCostFunction *function = &polisher->core->functions.at[functions->at[i]];
        for (int k = 0; k < function->cost->arity; k++)
            if (function->scope[k] != index)
                polisher->settled[function->scope[k]] = false;
    }
}

/* True if the node changed. */
static bool improve(Polisher *polisher, int index)
{
    const MwCoreNode *node = &polisher->core->nodes[index];
    int now = polisher->choice[index], best = now;
    polisher->settled[index] = true;
    for (int s = 0; s < node->cost->count; s++)
        polisher->cost[s] = node->cost->at[s];
    for (int i = 0; i < node->functions.count; i++)
        add_function_cost(polisher, index, &polisher->core->functions.at[node->functions.at[i]]);
    for (int s = 0; s < node->cost->count; s++) {
        if (polisher->cost[s] >= polisher->cost[best])
            continue;
        if (fits(polisher, node, now, s))
            best = s;
        else
            polisher->settled[index] = false; /* it may fit when others have changed */
    }
    if (best == now)
        return false;
    occupy(polisher, node, now, -1);
    occupy(polisher, node, best, 1);
    polisher->choice[index] = best;
    unsettle_neighbours(polisher, index);
    return true;
}

void mw_polish(const MwCore *core, int *choice)
{
    MwArena *scratch = mw_arena_new();
    Polisher polisher = {.core = core, .choice = choice};
    int64_t most = 1;
    polisher.room = mw_row_slack_new(scratch, core);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost) {
            most = mw_max(most, core->nodes[i].cost->count);
            occupy(&polisher, &core->nodes[i], choice[i], 1);
        }
    polisher.cost = MW_NEW(scratch, MwCost, most);
    polisher.settled = MW_NEW(scratch, bool, core->node_count);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < core->node_count; i++)
            if (core->nodes[i].cost && !polisher.settled[i])
                changed |= improve(&polisher, i);
    }
    mw_arena_free(&scratch);
}
