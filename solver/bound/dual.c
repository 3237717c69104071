/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a dual.
 *
 * For prices p >= 0 and any choice that keeps the rows, sum p (usage - limit) <= 0. The least cost
 * with priced usage, less the priced limits, is therefore a lower bound (Geoffrion, Lagrangean
 * relaxation for integer programming, 1974). The excess of the minimiser is a subgradient. */
#include "solver/bound/dual.h"

#include <math.h>
#include <string.h>

/* Returns prefix sums: cumulative[row] is the sum of the values before `row`. */
static double *cumulate(MwArena *arena, const double *values, int count)
{
    double *cumulative = MW_NEW(arena, double, count + 1);
    for (int row = 0; row < count; row++)
        cumulative[row + 1] = cumulative[row] + values[row];
    return cumulative;
}

void mw_dual_set_prices(MwDual *dual, const double *price)
{
    const MwCore *core = dual->core;
    if (core->row_count == 0)
        return;
    MwArena *scratch = mw_arena_new();
    double *change = MW_NEW(scratch, double, core->row_count);
    for (int row = 0; row < core->row_count; row++) {
        change[row] = price[row] - dual->price[row];
        dual->price[row] = price[row];
    }
    const double *sum = cumulate(scratch, change, core->row_count);
    for (int i = 0; i < dual->node_count; i++) {
        const MwCoreNode *node = &core->nodes[dual->nodes[i].node];
        for (int k = 0; k < node->terms.count; k++) {
            const MwCoreTerm *term = &node->terms.at[k];
            double rise = sum[term->last + 1] - sum[term->first];
            for (int s = 0; s < term->usage->count && rise != 0; s++)
                dual->nodes[i].cost[s] += rise * (double)term->usage->at[s];
        }
    }
    mw_arena_free(&scratch);
}

static void add_link(MwDual *dual, MwDualNode *node, int index, int dim)
{
    MwDualFunction *function = &dual->functions[index];
    const MwCostFunction *of = &dual->core->functions.at[function->index];
    MwDualLink *link = &node->links[node->link_count++];
    const int size = of->cost->dims[dim];
    *link = (MwDualLink){.function = index,
                         .dim = dim,
                         .size = size,
                         .classes = of->classes[dim]->at,
                         .potential = function->potential[dim],
                         .marginal = MW_NEW(dual->arena, double, mw_marginal_room(size)),
                         .first = dim == 0,
                         .last = dim == of->cost->arity - 1};
}

/* Adds a cost function. `position` gives the dual node of each node of the core; `tables` is
 * indexed by table id. */
static void add_function(MwDual *dual, int index, const int *position,
                         const MwMarginalTable **tables)
{
    const MwCostFunction *function = &dual->core->functions.at[index];
    MwDualFunction *added = &dual->functions[dual->function_count];
    int arity = function->cost->arity;
    if (!tables[function->cost->id])
        tables[function->cost->id] = mw_marginal_table_new(dual->table_arena, function->cost);
    added->index = index;
    added->table = tables[function->cost->id];
    added->potential = MW_NEW(dual->arena, double *, arity);
    for (int i = 0; i < arity; i++) {
        added->potential[i] =
            MW_NEW(dual->arena, double, mw_marginal_room(function->cost->dims[i]));
        dual->potential_count += function->cost->dims[i];
        add_link(dual, &dual->nodes[position[function->scope[i]]], dual->function_count, i);
    }
    dual->function_count++;
}

static void add_functions(MwDual *dual, const int *position)
{
    MwArena *scratch = mw_arena_new();
    const MwCore *core = dual->core;
    int last = -1;
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost)
            last = mw_max(last, core->functions.at[i].cost->id);
    const MwMarginalTable **tables = MW_NEW(scratch, const MwMarginalTable *, last + 1);
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost)
            add_function(dual, i, position, tables);
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
    added->links = MW_NEW(dual->arena, MwDualLink, node->functions.count);
}

static void set_weight(MwDualNode *node)
{
    int earlier = 0, later = 0;
    for (int i = 0; i < node->link_count; i++) {
        earlier += !node->links[i].first;
        later += !node->links[i].last;
    }
    node->weight = 1 / fmax(1, fmax(earlier, later));
}

MwDual *mw_dual_new(MwArena *arena, const MwCore *core, const double *price)
{
    MwDual *dual = MW_NEW(arena, MwDual, 1);
    dual->arena = arena;
    dual->table_arena = mw_arena_new_within(arena);
    dual->core = core;
    dual->nodes = MW_NEW(arena, MwDualNode, core->node_count);
    dual->functions = MW_NEW(arena, MwDualFunction, core->functions.count);
    dual->price = MW_NEW(arena, double, core->row_count);
    int *position = MW_NEW(arena, int, core->node_count);
    int64_t most = 1;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost) {
            position[i] = dual->node_count;
            most = mw_max(most, core->nodes[i].cost->count);
            add_node(dual, i);
        }
    add_functions(dual, position);
    for (int i = 0; i < dual->node_count; i++)
        set_weight(&dual->nodes[i]);
    dual->fixing_gap = INFINITY;
    dual->collected = MW_NEW(arena, double, most);
    dual->message = MW_NEW(arena, double, most);
    mw_dual_set_prices(dual, price);
    return dual;
}

void mw_dual_priced_usage(const MwDual *dual, int index, double *priced)
{
    const MwDualNode *node = &dual->nodes[index];
    const MwCoreNode *of = &dual->core->nodes[node->node];
    for (int s = 0; s < node->strategies; s++)
        priced[s] = 0;
    for (int k = 0; k < of->terms.count; k++) {
        const MwCoreTerm *term = &of->terms.at[k];
        double price = 0;
        for (int row = term->first; row <= term->last; row++)
            price += dual->price[row];
        for (int s = 0; s < node->strategies && price > 0; s++)
            priced[s] += price * (double)term->usage->at[s];
    }
}

void mw_dual_excess(const MwDual *dual, double *excess)
{
    const MwCore *core = dual->core;
    MwArena *scratch = mw_arena_new();
    double *change = MW_NEW(scratch, double, core->row_count + 1), usage = 0;
    for (int i = 0; i < dual->node_count; i++) {
        const MwCoreNode *node = &core->nodes[dual->nodes[i].node];
        for (int k = 0; k < node->terms.count; k++) {
            const MwCoreTerm *term = &node->terms.at[k];
            double used = (double)term->usage->at[dual->nodes[i].best];
            change[term->first] += used;
            change[term->last + 1] -= used;
        }
    }
    for (int row = 0; row < core->row_count; row++) {
        usage += change[row];
        excess[row] = usage - (double)core->limit[row];
    }
    mw_arena_free(&scratch);
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
    for (int i = 0; i < dual->function_count; i++) {
        const MwTable *cost = dual->core->functions.at[dual->functions[i].index].cost;
        for (int k = 0; k < cost->arity; to += cost->dims[k++])
            memcpy(to, dual->functions[i].potential[k], sizeof *to * (size_t)cost->dims[k]);
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
    const double **next = MW_NEW(scratch, const double *, dual->function_count);
    const double *from = state->potential;
    for (int i = 0; i < dual->function_count; i++) {
        const MwTable *cost = dual->core->functions.at[dual->functions[i].index].cost;
        next[i] = from;
        for (int k = 0; k < cost->arity; k++)
            from += cost->dims[k];
    }
    /* Nodes ascend, as scopes do, so a cost function's dimensions come up in their order. */
    for (int i = 0; i < dual->node_count; i++)
        for (int k = 0; k < dual->nodes[i].link_count; k++) {
            MwDualLink *link = &dual->nodes[i].links[k];
            set_potential(&dual->nodes[i], link, next[link->function]);
            next[link->function] += link->size;
        }
    mw_dual_set_prices(dual, state->price);
    mw_arena_free(&scratch);
}

static double least_of(const double *values, int count)
{
    double least = INFINITY;
    for (int i = 0; i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
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
