/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From potentials and prices in floating point to a proof in integers.
 *
 * Potentials are rounded to integers; any integers are valid potentials. Prices are rounded to
 * fixed point (fixed_price.c). The core is rewritten with the integer potentials; its costs may
 * then be negative until they are separated again. After the least node costs and the least entries
 * are subtracted, what is left of a strategy (and of the best entries that include it) is its
 * reduced cost: every choice with it costs at least the bound plus that. A strategy, or an entry,
 * whose reduced cost reaches the cutoff is in no choice better than the incumbent and is forbidden
 * (reduced-cost fixing; for potentials: Cooper et al., Soft arc consistency revisited, Artificial
 * Intelligence 174, 2010). */
#include "solver/bound/certify.h"

#include "solver/core/fixed_price.h"

#include <math.h>
#include <string.h>

typedef struct {
    const MwDual *dual;
    MwArena *arena;
    MwCost **cost; /* [dual node][strategy] least value 0 */
    /* Scratch: the entries of one cost function; those of all would take too much memory. */
    MwCost *entry;
    MwCost *least;        /* [class] scratch */
    int64_t ***potential; /* [dual function][dimension][class] */
    MwFixedPrices prices;
    MwCost bound;
} Proof;

static const MwTable *function_table(const Proof *proof, int index)
{
    return proof->dual->core->functions.at[proof->dual->functions[index].index].cost;
}

static void round_potentials(Proof *proof, int index)
{
    const MwDualFunction *function = &proof->dual->functions[index];
    const MwTable *cost = function_table(proof, index);
    proof->potential[index] = MW_NEW(proof->arena, int64_t *, cost->arity);
    bool sane = true;
    for (int i = 0; i < cost->arity; i++)
        for (int c = 0; c < cost->dims[i]; c++)
            sane &= fabs(function->potential[i][c]) < MW_FORBIDDEN / (4 * MW_TABLE_ARITY);
    for (int i = 0; i < cost->arity; i++) {
        int64_t *rounded = MW_NEW(proof->arena, int64_t, cost->dims[i]);
        for (int c = 0; c < cost->dims[i] && sane; c++)
            rounded[c] = llround(function->potential[i][c]);
        proof->potential[index][i] = rounded;
    }
}

static MwCost subtract_least(MwCost *values, int64_t count)
{
    MwCost least = values[0];
    for (int64_t i = 1; i < count; i++)
        least = values[i] < least ? values[i] : least;
    for (int64_t i = 0; i < count; i++)
        values[i] -= least;
    return least;
}

/* Cost of a forbidden entry, far above any sum of other costs. */
static const MwCost ABOVE_ALL = (MwCost)1 << 100;

/* Subtracts amount[class] from the entries of each class of dimension `dim`. */
static void subtract_each(const MwTable *table, int dim, const int64_t *amount, MwCost *entry)
{
    int64_t outer = mw_table_outer(table, dim), inner = mw_table_inner(table, dim);
    for (int64_t i = 0; i < outer; i++)
        for (int c = 0; c < table->dims[dim]; c++)
            for (int64_t k = 0; k < inner; k++)
                *entry++ -= amount[c];
}

/* Sets proof->entry to the cost function's entries less its potentials, with least value 0. Returns
 * what was subtracted for that. A forbidden entry stays far above all others. */
static MwCost find_entries(const Proof *proof, int index)
{
    const MwTable *cost = function_table(proof, index);
    for (int64_t e = 0; e < cost->count; e++)
        proof->entry[e] = cost->at[e] < MW_FORBIDDEN ? cost->at[e] : ABOVE_ALL;
    for (int i = 0; i < cost->arity; i++)
        subtract_each(cost, i, proof->potential[index][i], proof->entry);
    return subtract_least(proof->entry, cost->count);
}

static void prove_node(Proof *proof, int index)
{
    const MwDualNode *node = &proof->dual->nodes[index];
    const MwCore *core = proof->dual->core;
    const MwCoreNode *of = &core->nodes[node->node];
    MwCost *cost = MW_NEW(proof->arena, MwCost, of->cost->count);
    for (int s = 0; s < of->cost->count; s++)
        cost[s] = of->cost->at[s];
    mw_fixed_prices_add(&proof->prices, of, cost);
    for (int i = 0; i < node->link_count; i++) {
        const MwDualLink *link = &node->links[i];
        const int64_t *potential = proof->potential[link->function][link->dim];
        for (int s = 0; s < of->cost->count; s++)
            cost[s] += potential[link->classes[s]];
    }
    proof->cost[index] = cost;
    proof->bound += subtract_least(cost, of->cost->count);
}

static void make_scratch(Proof *proof)
{
    int64_t entries = 0;
    int classes = 0;
    for (int i = 0; i < proof->dual->function_count; i++) {
        const MwTable *cost = function_table(proof, i);
        entries = mw_max(entries, cost->count);
        for (int k = 0; k < cost->arity; k++)
            classes = (int)mw_max(classes, cost->dims[k]);
    }
    proof->entry = MW_NEW(proof->arena, MwCost, entries);
    proof->least = MW_NEW(proof->arena, MwCost, classes);
}

static Proof prove(MwArena *arena, const MwDual *dual)
{
    Proof proof = {.dual = dual, .arena = arena, .bound = dual->core->constant};
    proof.cost = MW_NEW(arena, MwCost *, dual->node_count);
    proof.potential = MW_NEW(arena, int64_t **, dual->function_count);
    proof.prices = mw_fix_prices(arena, dual->core, dual->price);
    proof.bound -= proof.prices.limits;
    make_scratch(&proof);
    for (int i = 0; i < dual->function_count; i++) {
        round_potentials(&proof, i);
        proof.bound += find_entries(&proof, i);
    }
    for (int i = 0; i < dual->node_count; i++)
        prove_node(&proof, i);
    return proof;
}

MwCost mw_dual_certify(const MwDual *dual)
{
    MwArena *scratch = mw_arena_new();
    MwCost bound = prove(scratch, dual).bound;
    mw_arena_free(&scratch);
    return bound;
}

/* Adds to each strategy of the function's node the least entry that includes it. */
static void add_unary_costs(const Proof *proof, const MwCostFunction *function, int dim,
                            MwCost *cost)
{
    const MwCost *entry = proof->entry;
    int64_t outer = mw_table_outer(function->cost, dim),
            inner = mw_table_inner(function->cost, dim);
    int size = function->cost->dims[dim];
    MwCost *marginal = proof->least;
    for (int c = 0; c < size; c++)
        marginal[c] = ABOVE_ALL;
    for (int64_t k = 0; k < outer; k++)
        for (int c = 0; c < size; c++)
            for (int64_t e = 0; e < inner; e++, entry++)
                marginal[c] = *entry < marginal[c] ? *entry : marginal[c];
    for (int64_t s = 0; s < function->classes[dim]->count; s++)
        cost[s] += marginal[function->classes[dim]->at[s]];
}

/* Sets the node's cost in the core: with potentials, without priced usage, and forbidden where the
 * reduced cost reaches the cutoff. */
static void apply_to_node(const Proof *proof, MwCore *core, int index, const MwCost *reduced_cost,
                          MwCost cutoff)
{
    const MwDualNode *node = &proof->dual->nodes[index];
    int64_t *cost = mw_arena_dup(proof->arena, core->nodes[node->node].cost->at,
                                 sizeof *cost * (size_t)node->strategies);
    for (int i = 0; i < node->link_count; i++) {
        const MwDualLink *link = &node->links[i];
        const int64_t *potential = proof->potential[link->function][link->dim];
        for (int s = 0; s < node->strategies; s++)
            cost[s] += potential[link->classes[s]];
    }
    for (int s = 0; s < node->strategies; s++)
        if (proof->bound + reduced_cost[s] >= cutoff)
            cost[s] = MW_FORBIDDEN;
    mw_core_set_cost(core, node->node, mw_table_intern(core->tables, 1, &node->strategies, cost));
}

/* Sets proof->least to the least node cost of each class. */
static void class_costs(const Proof *proof, const MwTable *classes, int node_index)
{
    MwCost *least = proof->least;
    for (int64_t s = 0; s < classes->count; s++)
        least[classes->at[s]] = ABOVE_ALL;
    for (int64_t s = 0; s < classes->count; s++)
        if (proof->cost[node_index][s] < least[classes->at[s]])
            least[classes->at[s]] = proof->cost[node_index][s];
}

static void apply_to_function(const Proof *proof, MwCore *core, int index, const int *position,
                              MwCost **reduced_cost, MwCost cutoff)
{
    int of = proof->dual->functions[index].index;
    const MwCostFunction *function = &core->functions.at[of];
    const MwTable *cost = function->cost;
    find_entries(proof, index);
    for (int i = 0; i < cost->arity; i++)
        add_unary_costs(proof, function, i, reduced_cost[position[function->scope[i]]]);
    int64_t *entry = mw_tables_scratch(core->tables, cost->count);
    memcpy(entry, cost->at, sizeof *entry * (size_t)cost->count);
    for (int i = 0; i < cost->arity; i++) {
        class_costs(proof, function->classes[i], position[function->scope[i]]);
        int64_t inner = mw_table_inner(cost, i), size = cost->dims[i];
        for (int64_t e = 0; e < cost->count; e++) {
            int64_t class = e / inner % size;
            proof->entry[e] += proof->least[class];
            entry[e] = mw_cost_subtract(entry[e], proof->potential[index][i][class]);
        }
    }
    for (int64_t e = 0; e < cost->count; e++)
        if (proof->bound + proof->entry[e] >= cutoff)
            entry[e] = MW_FORBIDDEN;
    const MwTable *none[MW_TABLE_ARITY] = {0};
    mw_core_replace_function(core, of, none,
                             mw_table_intern(core->tables, cost->arity, cost->dims, entry));
}

MwCost mw_dual_apply(MwDual *dual, MwCore *core, MwCost cutoff)
{
    MwArena *scratch = mw_arena_new();
    /* The core's new tables replace these. */
    mw_arena_free(&dual->table_arena);
    Proof proof = prove(scratch, dual);
    int *position = MW_NEW(scratch, int, core->node_count);
    MwCost **reduced_cost = MW_NEW(scratch, MwCost *, dual->node_count);
    for (int i = 0; i < dual->node_count; i++) {
        size_t bytes = sizeof(MwCost) * (size_t)dual->nodes[i].strategies;
        position[dual->nodes[i].node] = i;
        reduced_cost[i] = mw_arena_dup(scratch, proof.cost[i], bytes);
    }
    for (int i = 0; i < dual->function_count; i++)
        apply_to_function(&proof, core, i, position, reduced_cost, cutoff);
    for (int i = 0; i < dual->node_count; i++)
        apply_to_node(&proof, core, i, reduced_cost[i], cutoff);
    mw_arena_free(&scratch);
    return proof.bound;
}
