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
#include "solver/dual.h"

#include <math.h>
#include <string.h>

static double *new_entries(MwArena *arena, const MwTable *cost)
{
    double *entry = MW_NEW(arena, double, cost->count);
    for (int64_t e = 0; e < cost->count; e++)
        entry[e] = cost->at[e] < MW_FORBIDDEN ? (double)cost->at[e] : INFINITY;
    return entry;
}

static void add_factor(MwDual *dual, int index, int *next)
{
    const MwCoreFactor *factor = &dual->core->factors.at[index];
    MwDualFactor *added = &dual->factors[dual->factor_count];
    int arity = factor->cost->arity;
    added->index = index;
    added->entry = new_entries(dual->arena, factor->cost);
    added->potential = MW_NEW(dual->arena, double *, arity);
    for (int i = 0; i < arity; i++) {
        added->potential[i] = MW_NEW(dual->arena, double, factor->cost->dims[i]);
        dual->potential_count += factor->cost->dims[i];
        MwDualNode *node = &dual->nodes[next[factor->scope[i]]];
        node->factors[node->factor_count] = dual->factor_count;
        node->dims[node->factor_count++] = i;
        node->later += i < arity - 1;
        node->earlier += i > 0;
    }
    dual->factor_count++;
}

static void add_node(MwDual *dual, int index)
{
    const MwCoreNode *node = &dual->core->nodes[index];
    MwDualNode *added = &dual->nodes[dual->node_count++];
    added->node = index;
    added->cost = new_entries(dual->arena, node->cost);
    added->factors = MW_NEW(dual->arena, int, node->factors.count);
    added->dims = MW_NEW(dual->arena, int, node->factors.count);
}

static int widest(const MwCore *core)
{
    int64_t most = 1;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            most = mw_max(most, core->nodes[i].cost->count);
    return (int)most;
}

MwDual *mw_dual_new(MwArena *arena, const MwCore *core, const double *price)
{
    MwDual *dual = MW_NEW(arena, MwDual, 1);
    dual->arena = arena;
    dual->core = core;
    dual->nodes = MW_NEW(arena, MwDualNode, core->node_count);
    dual->factors = MW_NEW(arena, MwDualFactor, core->factors.count);
    dual->price = MW_NEW(arena, double, core->row_count);
    dual->margin = MW_NEW(arena, double, widest(core));
    dual->push = MW_NEW(arena, double, widest(core));
    int *place = MW_NEW(arena, int, core->node_count);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost) {
            place[i] = dual->node_count;
            add_node(dual, i);
        }
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost)
            add_factor(dual, i, place);
    mw_dual_set_prices(dual, price);
    return dual;
}

/* least[c]: the least entry of slice c of a dimension of `size` slices. */
static void find_margin(const double *entry, int64_t outer, int size, int64_t inner, double *least)
{
    for (int c = 0; c < size; c++)
        least[c] = INFINITY;
    for (int64_t i = 0; i < outer; i++)
        for (int c = 0; c < size; c++, entry += inner) {
            double low = least[c];
            for (int64_t k = 0; k < inner; k++)
                low = entry[k] < low ? entry[k] : low;
            least[c] = low;
        }
}

static void add_to_slices(double *entry, int64_t outer, int size, int64_t inner,
                          const double *change)
{
    for (int64_t i = 0; i < outer; i++)
        for (int c = 0; c < size; c++, entry += inner)
            for (int64_t k = 0; k < inner; k++)
                entry[k] += change[c];
}

typedef struct {
    double *entry, *potential;
    const int64_t *classes;
    int64_t outer, inner;
    int size, strategies;
} Slices;

static Slices slices_of(const MwDual *dual, const MwDualNode *node, int i)
{
    const MwDualFactor *factor = &dual->factors[node->factors[i]];
    const MwCoreFactor *of = &dual->core->factors.at[factor->index];
    int dim = node->dims[i];
    return (Slices){.entry = factor->entry,
                    .potential = factor->potential[dim],
                    .classes = of->classes[dim]->at,
                    .outer = mw_table_outer(of->cost, dim),
                    .inner = mw_table_inner(of->cost, dim),
                    .size = of->cost->dims[dim],
                    .strategies = (int)of->classes[dim]->count};
}

/* All that the factor can give goes to the node. */
static void draw(MwDual *dual, MwDualNode *node, int i)
{
    Slices s = slices_of(dual, node, i);
    double *margin = dual->margin;
    find_margin(s.entry, s.outer, s.size, s.inner, margin);
    for (int k = 0; k < s.strategies; k++)
        node->cost[k] += margin[s.classes[k]];
    for (int c = 0; c < s.size; c++) {
        s.potential[c] += margin[c];
        margin[c] = -margin[c];
    }
    add_to_slices(s.entry, s.outer, s.size, s.inner, margin);
}

/* `share` of what the node holds, `held`, goes to the factor. */
static void hand_on(MwDual *dual, MwDualNode *node, int i, const double *held, double share)
{
    Slices s = slices_of(dual, node, i);
    double *push = dual->push;
    for (int c = 0; c < s.size; c++)
        push[c] = INFINITY;
    for (int k = 0; k < s.strategies; k++)
        push[s.classes[k]] = fmin(push[s.classes[k]], share * held[k]);
    for (int k = 0; k < s.strategies; k++)
        node->cost[k] -= push[s.classes[k]];
    for (int c = 0; c < s.size; c++)
        s.potential[c] -= push[c];
    add_to_slices(s.entry, s.outer, s.size, s.inner, push);
}

static void visit(MwDual *dual, MwDualNode *node, bool upwards)
{
    int strategies = mw_core_strategies(dual->core, node->node);
    for (int i = 0; i < node->factor_count; i++)
        draw(dual, node, i);
    node->label = 0;
    for (int s = 1; s < strategies; s++)
        if (node->cost[s] < node->cost[node->label])
            node->label = s;
    double *held = dual->margin;
    memcpy(held, node->cost, sizeof *held * (size_t)strategies);
    double share = 1 / fmax(1, fmax(node->later, node->earlier));
    for (int i = 0; i < node->factor_count; i++) {
        const MwCoreFactor *of = &dual->core->factors.at[dual->factors[node->factors[i]].index];
        if (node->dims[i] != (upwards ? of->cost->arity - 1 : 0))
            hand_on(dual, node, i, held, share);
    }
}

void mw_dual_sweep(MwDual *dual, bool upwards)
{
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

/* Moves the potentials of a node in one of its factors to `wanted`, by class. */
static void set_potential(MwDual *dual, MwDualNode *node, int i, const double *wanted)
{
    Slices s = slices_of(dual, node, i);
    double *change = dual->push;
    for (int c = 0; c < s.size; c++) {
        change[c] = s.potential[c] - wanted[c];
        s.potential[c] = wanted[c];
    }
    for (int k = 0; k < s.strategies; k++)
        node->cost[k] -= change[s.classes[k]];
    add_to_slices(s.entry, s.outer, s.size, s.inner, change);
}

void mw_dual_load(MwDual *dual, const MwDualState *state)
{
    MwArena *scratch = mw_arena_new();
    const double **begin = MW_NEW(scratch, const double *, dual->factor_count);
    const double *from = state->potential;
    for (int i = 0; i < dual->factor_count; i++) {
        const MwTable *cost = dual->core->factors.at[dual->factors[i].index].cost;
        begin[i] = from;
        for (int k = 0; k < cost->arity; k++)
            from += cost->dims[k];
    }
    for (int i = 0; i < dual->node_count; i++)
        for (int k = 0; k < dual->nodes[i].factor_count; k++) {
            int factor = dual->nodes[i].factors[k], dim = dual->nodes[i].dims[k];
            const double *wanted = begin[factor];
            const MwTable *cost = dual->core->factors.at[dual->factors[factor].index].cost;
            for (int d = 0; d < dim; d++)
                wanted += cost->dims[d];
            set_potential(dual, &dual->nodes[i], k, wanted);
        }
    mw_dual_set_prices(dual, state->price);
    mw_arena_free(&scratch);
}

static double least_of(const double *values, int64_t count)
{
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

double mw_dual_bound(const MwDual *dual)
{
    const MwCore *core = dual->core;
    double bound = (double)core->constant;
    for (int i = 0; i < dual->node_count; i++)
        bound += least_of(dual->nodes[i].cost, core->nodes[dual->nodes[i].node].cost->count);
    for (int i = 0; i < dual->factor_count; i++)
        bound +=
            least_of(dual->factors[i].entry, core->factors.at[dual->factors[i].index].cost->count);
    for (int row = 0; row < core->row_count; row++)
        bound -= dual->price[row] * (double)core->limit[row];
    return bound;
}
