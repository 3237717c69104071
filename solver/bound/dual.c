/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential tree-reweighted message passing.
 *
 * A sweep visits the nodes in order. At each it draws all that its factors can give (the least
 * entry of each slice), which shows the node's min-marginals, and hands equal shares on to the
 * factors that reach further in the direction of the sweep. For matrices this is TRW-S
 * (Kolmogorov, Convergent tree-reweighted message passing for energy minimization, PAMI 2006,
 * section 3.3), for larger factors its extension SRMP (Kolmogorov, A new look at reweighted message
 * passing, PAMI 2015). Strategies of one class share a factor's potential, so the share handed on
 * is that of the cheapest of the class. */
#include "solver/bound/dual.h"

#include <math.h>
#include <string.h>

static void add_link(MwDual *dual, MwDualNode *node, int index, int dim)
{
    MwDualFactor *factor = &dual->factors[index];
    const MwCoreFactor *of = &dual->core->factors.at[factor->index];
    MwDualLink *link = &node->links[node->link_count++];
    const int size = of->cost->dims[dim];
    *link = (MwDualLink){.factor = index,
                         .dim = dim,
                         .size = size,
                         .classes = of->classes[dim]->at,
                         .potential = factor->potential[dim],
                         .margin = MW_NEW(dual->arena, double, mw_margin_room(size)),
                         .first = dim == 0,
                         .last = dim == of->cost->arity - 1};
}

/* `place` of each node of the core; `tables` of each id that some table has. */
static void add_factor(MwDual *dual, int index, const int *place, const MwMarginTable **tables)
{
    const MwCoreFactor *factor = &dual->core->factors.at[index];
    MwDualFactor *added = &dual->factors[dual->factor_count];
    int arity = factor->cost->arity;
    if (!tables[factor->cost->id])
        tables[factor->cost->id] = mw_margin_table_new(dual->table_arena, factor->cost);
    added->index = index;
    added->table = tables[factor->cost->id];
    added->potential = MW_NEW(dual->arena, double *, arity);
    for (int i = 0; i < arity; i++) {
        added->potential[i] = MW_NEW(dual->arena, double, mw_margin_room(factor->cost->dims[i]));
        dual->potential_count += factor->cost->dims[i];
        add_link(dual, &dual->nodes[place[factor->scope[i]]], dual->factor_count, i);
    }
    dual->factor_count++;
}

static void add_factors(MwDual *dual, const int *place)
{
    MwArena *scratch = mw_arena_new();
    const MwCore *core = dual->core;
    int last = -1;
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost)
            last = mw_max(last, core->factors.at[i].cost->id);
    const MwMarginTable **tables = MW_NEW(scratch, const MwMarginTable *, last + 1);
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost)
            add_factor(dual, i, place, tables);
    mw_arena_free(&scratch);
}

static void add_node(MwDual *dual, int index)
{
    const MwCoreNode *node = &dual->core->nodes[index];
    MwDualNode *added = &dual->nodes[dual->node_count++];
    added->node = index;
    added->strategies = (int)node->cost->count;
    dual->strategy_count += added->strategies;
    added->cost = MW_NEW(dual->arena, double, added->strategies);
    for (int s = 0; s < added->strategies; s++)
        added->cost[s] = node->cost->at[s] < MW_FORBIDDEN ? (double)node->cost->at[s] : INFINITY;
    added->links = MW_NEW(dual->arena, MwDualLink, node->factors.count);
}

static void set_share(MwDualNode *node)
{
    int earlier = 0, later = 0;
    for (int i = 0; i < node->link_count; i++) {
        earlier += !node->links[i].first;
        later += !node->links[i].last;
    }
    node->share = 1 / fmax(1, fmax(earlier, later));
}

MwDual *mw_dual_new(MwArena *arena, const MwCore *core, const double *price)
{
    MwDual *dual = MW_NEW(arena, MwDual, 1);
    dual->arena = arena;
    dual->table_arena = mw_arena_new_within(arena);
    dual->core = core;
    dual->nodes = MW_NEW(arena, MwDualNode, core->node_count);
    dual->factors = MW_NEW(arena, MwDualFactor, core->factors.count);
    dual->price = MW_NEW(arena, double, core->row_count);
    int *place = MW_NEW(arena, int, core->node_count);
    int64_t most = 1;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost) {
            place[i] = dual->node_count;
            most = mw_max(most, core->nodes[i].cost->count);
            add_node(dual, i);
        }
    add_factors(dual, place);
    for (int i = 0; i < dual->node_count; i++)
        set_share(&dual->nodes[i]);
    dual->surplus = INFINITY;
    dual->held = MW_NEW(arena, double, most);
    dual->push = MW_NEW(arena, double, most);
    mw_dual_set_prices(dual, price);
    return dual;
}

/* margin[c]: the least that is left of the entries of class c. */
static void find_margin(const MwDual *dual, MwDualLink *link)
{
    const MwDualFactor *factor = &dual->factors[link->factor];
    mw_margin(factor->table, factor->potential, link->dim, NULL, link->margin);
}

static double least_of(const double *values, int count)
{
    double least = INFINITY;
    for (int i = 0; i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

/* All that the factor can give goes to the node; the factor's side of it is settled by hand_on. */
static void draw(const MwDual *dual, MwDualNode *node, MwDualLink *link)
{
    find_margin(dual, link);
    for (int s = 0; s < node->strategies; s++)
        node->cost[s] += link->margin[link->classes[s]];
}

/* `share` of what the node held after drawing goes to the factor. */
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
    node->lead = INFINITY;
    for (int s = 0; s < node->strategies; s++) {
        double behind = node->cost[s] - node->cost[node->label];
        dual->surplus_count += behind > dual->surplus;
        if (s != node->label && behind < node->lead)
            node->lead = behind;
    }
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

MwDualState *mw_dual_new_state(MwArena *arena, const MwDual *dual)
{
    MwDualState *state = MW_NEW(arena, MwDualState, 1);
    state->potential = MW_NEW(arena, double, dual->potential_count);
    state->price = MW_NEW(arena, double, dual->core->row_count);
    return state;
}

void mw_dual_save(const MwDual *dual, MwDualState *state)
{
    double *to = state->potential;
    for (int i = 0; i < dual->factor_count; i++) {
        const MwTable *cost = dual->core->factors.at[dual->factors[i].index].cost;
        for (int k = 0; k < cost->arity; to += cost->dims[k++])
            memcpy(to, dual->factors[i].potential[k], sizeof *to * (size_t)cost->dims[k]);
    }
    memcpy(state->price, dual->price, sizeof *state->price * (size_t)dual->core->row_count);
}

static void set_potential(MwDualNode *node, MwDualLink *link, const double *wanted)
{
    for (int s = 0; s < node->strategies; s++)
        node->cost[s] += wanted[link->classes[s]] - link->potential[link->classes[s]];
    memcpy(link->potential, wanted, sizeof *wanted * (size_t)link->size);
}

void mw_dual_load(MwDual *dual, const MwDualState *state)
{
    MwArena *scratch = mw_arena_new();
    const double **next = MW_NEW(scratch, const double *, dual->factor_count);
    const double *from = state->potential;
    for (int i = 0; i < dual->factor_count; i++) {
        const MwTable *cost = dual->core->factors.at[dual->factors[i].index].cost;
        next[i] = from;
        for (int k = 0; k < cost->arity; k++)
            from += cost->dims[k];
    }
    /* Nodes ascend, as scopes do: a factor's dimensions come up in their order. */
    for (int i = 0; i < dual->node_count; i++)
        for (int k = 0; k < dual->nodes[i].link_count; k++) {
            MwDualLink *link = &dual->nodes[i].links[k];
            set_potential(&dual->nodes[i], link, next[link->factor]);
            next[link->factor] += link->size;
        }
    mw_dual_set_prices(dual, state->price);
    mw_arena_free(&scratch);
}

double mw_dual_bound(const MwDual *dual)
{
    const MwCore *core = dual->core;
    double bound = (double)core->constant;
    for (int i = 0; i < dual->node_count; i++)
        bound += least_of(dual->nodes[i].cost, dual->nodes[i].strategies);
    for (int row = 0; row < core->row_count; row++)
        bound -= dual->price[row] * (double)core->limit[row];
    return bound;
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
    double least = least_of(surplus, node->strategies);
    for (int s = 0; s < node->strategies; s++)
        surplus[s] -= least;
}
