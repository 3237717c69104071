/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterated conditional modes (Besag, On the statistical analysis of dirty pictures, 1986) with
 * memory rows. A forbidden entry is so expensive that a choice with fewer of them is always
 * better. */
#include "solver/bound/polish.h"

#include "solver/bound/row_slack.h"

typedef struct {
    const MwCore *core;
    int *choice;
    MwRowSlack *slack;
    MwCost *cost;     /* [strategy] */
    bool *is_optimal; /* [node] no strategy costs less as long as the neighbours stay */
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

/* Says whether the rows of the term have slack for `more` usage. */
static bool has_slack(const Polisher *polisher, const MwCoreTerm *term, int64_t more)
{
    return more <= 0 || mw_row_slack_least(polisher->slack, term->first, term->last) >= more;
}

static bool fits(const Polisher *polisher, const MwCoreNode *node, int from, int to)
{
    for (int k = 0; k < node->terms.count; k++) {
        const MwCoreTerm *term = &node->terms.at[k];
        if (!has_slack(polisher, term, term->usage->at[to] - term->usage->at[from]))
            return false;
    }
    return true;
}

static void add_usage(Polisher *polisher, const MwCoreNode *node, int strategy, int sign)
{
    for (int k = 0; k < node->terms.count; k++) {
        const MwCoreTerm *term = &node->terms.at[k];
        mw_row_slack_subtract(polisher->slack, term->first, term->last,
                              sign * term->usage->at[strategy]);
    }
}

static void reopen_neighbours(Polisher *polisher, int index)
{
    const MwIndexList *functions = &polisher->core->nodes[index].functions;
    for (int i = 0; i < functions->count; i++) {
        const MwCostFunction *function = &polisher->core->functions.at[functions->at[i]];
        for (int k = 0; k < function->cost->arity; k++)
            if (function->scope[k] != index)
                polisher->is_optimal[function->scope[k]] = false;
    }
}

/* Gives the node its best strategy. Returns true if the node changed. */
static bool improve(Polisher *polisher, int index)
{
    const MwCoreNode *node = &polisher->core->nodes[index];
    int now = polisher->choice[index], best = now;
    polisher->is_optimal[index] = true;
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
            polisher->is_optimal[index] = false; /* it may fit when others have changed */
    }
    if (best == now)
        return false;
    add_usage(polisher, node, now, -1);
    add_usage(polisher, node, best, 1);
    polisher->choice[index] = best;
    reopen_neighbours(polisher, index);
    return true;
}

void mw_polish(const MwCore *core, int *choice)
{
    MwArena *scratch = mw_arena_new();
    Polisher polisher = {.core = core, .choice = choice};
    int64_t most = 1;
    polisher.slack = mw_row_slack_new(scratch, core);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost) {
            most = mw_max(most, core->nodes[i].cost->count);
            add_usage(&polisher, &core->nodes[i], choice[i], 1);
        }
    polisher.cost = MW_NEW(scratch, MwCost, most);
    polisher.is_optimal = MW_NEW(scratch, bool, core->node_count);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < core->node_count; i++)
            if (core->nodes[i].cost && !polisher.is_optimal[i])
                changed |= improve(&polisher, i);
    }
    mw_arena_free(&scratch);
}
