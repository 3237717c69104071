/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential tree-reweighted message passing.
 *
 * A sweep visits the nodes in order. At each node it collects all that the node's cost functions
 * can give (the least entry of each slice), which shows the node's min-marginals, and distributes
 * equal fractions of the result to the cost functions that reach further in the direction of the
 * sweep. For matrices this is TRW-S (Kolmogorov, Convergent tree-reweighted message passing for
 * energy minimization, PAMI 2006, section 3.3), for larger cost functions its extension SRMP
 * (Kolmogorov, A new look at reweighted message passing, PAMI 2015). Strategies of one class share
 * a cost function's potential, so a class receives the fraction of its cheapest strategy. */
#include "solver/bound/sweep.h"

#include <math.h>
#include <string.h>

/* Computes the min-marginals of the link. */
static void find_min_marginals(const MwDual *dual, MwDualLink *link)
{
    const MwDualFunction *function = &dual->functions[link->function];
    mw_marginals(function->table, function->potential, link->dim, NULL, link->marginal);
}

/* Moves all that the cost function can give to the node. `distribute` updates the cost function's
 * side. */
static void collect(const MwDual *dual, MwDualNode *node, MwDualLink *link)
{
    find_min_marginals(dual, link);
    for (int s = 0; s < node->strategies; s++)
        node->cost[s] += link->marginal[link->classes[s]];
}

/* Gives the fraction `weight` of what the node has collected to the cost function. */
static void distribute(MwDual *dual, MwDualNode *node, MwDualLink *link, double weight)
{
    for (int c = 0; c < link->size; c++)
        link->potential[c] += link->marginal[c];
    if (weight <= 0)
        return;
    const double *collected = dual->collected;
    double *message = dual->message;
    for (int c = 0; c < link->size; c++)
        message[c] = INFINITY;
    for (int s = 0; s < node->strategies; s++) {
        double *to = &message[link->classes[s]];
        *to = weight * collected[s] < *to ? weight * collected[s] : *to;
    }
    for (int s = 0; s < node->strategies; s++)
        node->cost[s] -= message[link->classes[s]];
    for (int c = 0; c < link->size; c++)
        link->potential[c] -= message[c];
}

static void visit(MwDual *dual, MwDualNode *node, bool upwards)
{
    for (int i = 0; i < node->link_count; i++)
        collect(dual, node, &node->links[i]);
    node->best = 0;
    for (int s = 1; s < node->strategies; s++)
        if (node->cost[s] < node->cost[node->best])
            node->best = s;
    for (int s = 0; s < node->strategies; s++)
        dual->fixable_count += node->cost[s] - node->cost[node->best] > dual->fixing_gap;
    memcpy(dual->collected, node->cost, sizeof *dual->collected * (size_t)node->strategies);
    for (int i = 0; i < node->link_count; i++) {
        MwDualLink *link = &node->links[i];
        bool reaches_on = !(upwards ? link->last : link->first);
        distribute(dual, node, link, reaches_on ? node->weight : 0);
    }
}

void mw_dual_sweep(MwDual *dual, bool upwards)
{
    dual->fixable_count = 0;
    for (int i = 0; i < dual->node_count; i++)
        visit(dual, &dual->nodes[upwards ? i : dual->node_count - 1 - i], upwards);
}

void mw_dual_reduced_costs(const MwDual *dual, int index, double *reduced_cost)
{
    const MwDualNode *node = &dual->nodes[index];
    memcpy(reduced_cost, node->cost, sizeof *reduced_cost * (size_t)node->strategies);
    for (int i = 0; i < node->link_count; i++) {
        MwDualLink *link = &node->links[i];
        find_min_marginals(dual, link);
        for (int s = 0; s < node->strategies; s++)
            reduced_cost[s] += link->marginal[link->classes[s]];
    }
    double least = INFINITY;
    for (int s = 0; s < node->strategies; s++)
        least = reduced_cost[s] < least ? reduced_cost[s] : least;
    for (int s = 0; s < node->strategies; s++)
        reduced_cost[s] -= least;
}
