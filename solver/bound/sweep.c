/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential tree-reweighted message passing.
 *
 * A sweep visits the nodes in order. At each it draws all that its cost functions can give (the
 * least entry of each slice), which shows the node's min-marginals, and hands equal shares on to
 * the cost functions that reach further in the direction of the sweep. For matrices this is TRW-S
 * (Kolmogorov, Convergent tree-reweighted message passing for energy minimization, PAMI 2006,
 * section 3.3), for larger cost functions its extension SRMP (Kolmogorov, A new look at reweighted
 * message passing, PAMI 2015). Strategies of one class share a cost function's potential, so the
 * share handed on is that of the cheapest of the class. */
#include "solver/bound/sweep.h"

#include <math.h>
#include <string.h>

/* margin[c]: the least that is left of the entries of class c. */
static void find_margin(const MwDual *dual, MwDualLink *link)
{
    const MwDualFunction *function = &dual->functions[link->function];
    mw_marginals(function->table, function->potential, link->dim, NULL, link->margin);
}

/* All that the cost function can give goes to the node; the cost function's side of it is settled
 * by hand_on. */
static void draw(const MwDual *dual, MwDualNode *node, MwDualLink *link)
{
    find_margin(dual, link);
    for (int s = 0; s < node->strategies; s++)
        node->cost[s] += link->margin[link->classes[s]];
}

/* `share` of what the node held after drawing goes to the cost function. */
static void hand_on(MwDual *dual, MwDualNode *node, MwDualLink *link, double share)
{
    for (int c = 0; c < link->size; c++)
        link->potential[c] += link->margin[c];
    if (share <= 0)
        return;
    const double *held = dual->held;
    double *push = dual->push;
    for (int c = 0; c < link->size; c++)
        push[c] = INFINITY;
    for (int s = 0; s < node->strategies; s++) {
        double *to = &push[link->classes[s]];
        *to = share * held[s] < *to ? share * held[s] : *to;
    }
    for (int s = 0; s < node->strategies; s++)
        node->cost[s] -= push[link->classes[s]];
    for (int c = 0; c < link->size; c++)
        link->potential[c] -= push[c];
}

static void visit(MwDual *dual, MwDualNode *node, bool upwards)
{
    for (int i = 0; i < node->link_count; i++)
        draw(dual, node, &node->links[i]);
    node->label = 0;
    for (int s = 1; s < node->strategies; s++)
        if (node->cost[s] < node->cost[node->label])
            node->label = s;
    for (int s = 0; s < node->strategies; s++)
        dual->surplus_count += node->cost[s] - node->cost[node->label] > dual->surplus;
    memcpy(dual->held, node->cost, sizeof *dual->held * (size_t)node->strategies);
    for (int i = 0; i < node->link_count; i++) {
        MwDualLink *link = &node->links[i];
        bool reaches_on = !(upwards ? link->last : link->first);
        hand_on(dual, node, link, reaches_on ? node->share : 0);
    }
}

void mw_dual_sweep(MwDual *dual, bool upwards)
{
    dual->surplus_count = 0;
    for (int i = 0; i < dual->node_count; i++)
        visit(dual, &dual->nodes[upwards ? i : dual->node_count - 1 - i], upwards);
}

void mw_dual_surplus(const MwDual *dual, int index, double *surplus)
{
    const MwDualNode *node = &dual->nodes[index];
    memcpy(surplus, node->cost, sizeof *surplus * (size_t)node->strategies);
    for (int i = 0; i < node->link_count; i++) {
        MwDualLink *link = &node->links[i];
        find_margin(dual, link);
        for (int s = 0; s < node->strategies; s++)
            surplus[s] += link->margin[link->classes[s]];
    }
    double least = INFINITY;
    for (int s = 0; s < node->strategies; s++)
        least = surplus[s] < least ? surplus[s] : least;
    for (int s = 0; s < node->strategies; s++)
        surplus[s] -= least;
}
