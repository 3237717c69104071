/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Substitution of nodes whose strategy is a function of a neighbour's.
 *
 * If a cost function of two nodes v and u allows, with each strategy of u, exactly one strategy of
 * v, then every legal choice has v = f(u), and u can be substituted for v everywhere: the cost and
 * usage of v, composed with f, are added to those of u, and the cost functions of v become cost
 * functions of u whose classes are composed with f. No table grows, whatever the number of
 * neighbours, and usage is kept, so the substitution is possible where elimination is not.
 *
 * Source: substitution in constraint networks (Freuder, Eliminating interchangeable values in
 * constraint satisfaction problems, AAAI 1991), here for weighted constraints with resources. */
#include "solver/reduce/rules.h"

#include <string.h>

typedef struct {
    const MwTable *strategy; /* strategy of v for each strategy of u; NULL: v is not a function
                                of u */
} Substitution;

/* Finds the strategy of v for each class of u. Returns false if some class of u allows none or
 * several. */
static bool find_function(const MwTable *cost, int dim, const MwTable *classes_v, int64_t *by_class)
{
    int64_t *count = by_class + cost->dims[1 - dim];
    for (int c = 0; c < cost->dims[1 - dim]; c++)
        count[c] = 0;
    for (int64_t s = 0; s < classes_v->count; s++)
        for (int c = 0; c < cost->dims[1 - dim]; c++) {
            int64_t class = classes_v->at[s];
            int64_t e = dim == 0 ? class * cost->dims[1] + c : c * (int64_t)cost->dims[1] + class;
            if (cost->at[e] < MW_FORBIDDEN) {
                by_class[c] = s;
                count[c]++;
            }
        }
    for (int c = 0; c < cost->dims[1 - dim]; c++)
        if (count[c] != 1)
            return false;
    return true;
}

/* Returns the substitution for v, which is dimension `dim` of a cost function of two nodes. */
static const Substitution *substitution_of(MwTables *tables, const MwCostFunction *function,
                                           int dim)
{
    const MwTable *cost = function->cost;
    int key[] = {MW_OPERATION_SUBSTITUTE, cost->id, dim, function->classes[0]->id,
                 function->classes[1]->id};
    Substitution *known = mw_tables_recall(tables, key, MW_COUNT(key));
    if (known)
        return known;
    Substitution *made = MW_NEW(mw_tables_arena(tables), Substitution, 1);
    const MwTable *classes_u = function->classes[1 - dim];
    int size = (int)classes_u->count;
    int64_t *by_strategy = mw_tables_scratch(tables, size + 2 * cost->dims[1 - dim]);
    int64_t *by_class = by_strategy + size;
    if (find_function(cost, dim, function->classes[dim], by_class)) {
        for (int s = 0; s < size; s++)
            by_strategy[s] = by_class[classes_u->at[s]];
        made->strategy = mw_table_intern(tables, 1, &size, by_strategy);
    }
    mw_tables_remember(tables, key, MW_COUNT(key), made);
    return made;
}

/* A cost function of v after u is substituted for v. */
typedef struct {
    int scope[MW_TABLE_ARITY];
    const MwTable *classes[MW_TABLE_ARITY];
    const MwTable *cost;
} Moved;

/* Returns the entries at which dimensions i and j, of equal size, have the same index. The common
 * dimension takes the position of i. */
static const MwTable *diagonal(MwTables *tables, const MwTable *table, int i, int j)
{
    int order[MW_TABLE_ARITY], dims[MW_TABLE_ARITY], arity = 0;
    int64_t size = table->dims[i];
    for (int k = 0; k < table->arity; k++)
        if (k != i && k != j)
            order[arity++] = k;
    order[arity] = i;
    order[arity + 1] = j;
    const MwTable *last = mw_table_permute(tables, table, order);
    memcpy(dims, last->dims, sizeof *dims * (size_t)(arity + 1));
    int64_t outer = table->count / size / size;
    int64_t *values = mw_tables_scratch(tables, outer * size);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t s = 0; s < size; s++)
            values[o * size + s] = last->at[(o * size + s) * size + s];
    const MwTable *taken = mw_table_intern(tables, arity + 1, dims, values);
    /* Moves dimension i back to its position among the others. */
    int back[MW_TABLE_ARITY], position = i - (j < i);
    for (int k = 0; k <= arity; k++)
        back[k] = k == position ? arity : k - (k > position);
    return mw_table_permute(tables, taken, back);
}

/* Moves dimension `dim`, whose node has been replaced, to the position that keeps the scope
 * ascending. */
static void sort_scope(MwTables *tables, Moved *moved, int dim)
{
    int order[MW_TABLE_ARITY], arity = moved->cost->arity, position = 0;
    int node = moved->scope[dim];
    const MwTable *classes = moved->classes[dim];
    for (int k = 0; k < arity; k++)
        position += k != dim && moved->scope[k] < node;
    for (int k = 0, from = 0; k < arity; k++) {
        if (from == dim)
            from++;
        order[k] = k == position ? dim : from++;
    }
    memmove(&moved->scope[dim], &moved->scope[dim + 1], sizeof(int) * (size_t)(arity - 1 - dim));
    memmove(&moved->classes[dim], &moved->classes[dim + 1],
            sizeof *moved->classes * (size_t)(arity - 1 - dim));
    memmove(&moved->scope[position + 1], &moved->scope[position],
            sizeof(int) * (size_t)(arity - 1 - position));
    memmove(&moved->classes[position + 1], &moved->classes[position],
            sizeof *moved->classes * (size_t)(arity - 1 - position));
    moved->scope[position] = node;
    moved->classes[position] = classes;
    moved->cost = mw_table_permute(tables, moved->cost, order);
}

static void move_function(MwCore *core, const MwCostFunction *function, int v, int u,
                          const MwTable *f, Moved *moved)
{
    int arity = function->cost->arity, dim = mw_core_position(function, v), other = -1;
    const MwTable *classes = mw_table_select(core->tables, function->classes[dim], 0, f);
    memcpy(moved->scope, function->scope, sizeof(int) * (size_t)arity);
    memcpy(moved->classes, function->classes, sizeof *function->classes * (size_t)arity);
    moved->cost = function->cost;
    for (int i = 0; i < arity; i++)
        if (function->scope[i] == u)
            other = i;
    if (other < 0) {
        /* Some classes of v may no longer occur. */
        const MwRenumbered *used = mw_classes_renumber(core->tables, classes);
        moved->scope[dim] = u;
        moved->classes[dim] = used->classes;
        moved->cost = mw_table_select(core->tables, moved->cost, dim, used->old);
        sort_scope(core->tables, moved, dim);
        return;
    }
    const MwRefined *joint = mw_classes_refine(core->tables, function->classes[other], classes);
    moved->cost = mw_table_select(core->tables, moved->cost, other, joint->in_a);
    moved->cost = mw_table_select(core->tables, moved->cost, dim, joint->in_b);
    moved->cost = diagonal(core->tables, moved->cost, other, dim);
    moved->classes[other] = joint->classes;
    for (int i = dim; i < arity - 1; i++) {
        moved->scope[i] = moved->scope[i + 1];
        moved->classes[i] = moved->classes[i + 1];
    }
}

static void move_terms(MwCore *core, int v, int u, const MwTable *f)
{
    MwCoreNode *from = &core->nodes[v];
    for (int i = 0; i < from->terms.count; i++) {
        MwCoreTerm term = from->terms.at[i];
        term.usage = mw_table_select(core->tables, term.usage, 0, f);
        mw_vec_push(core->arena, &core->nodes[u].terms, term);
    }
    from->terms.count = 0;
    mw_core_queue(core, u);
}

static const MwElimination *elimination_of(MwCore *core, int u, const MwTable *f)
{
    MwElimination *elimination = MW_NEW(core->arena, MwElimination, 1);
    const MwTable **classes = MW_NEW(core->arena, const MwTable *, 1);
    int32_t *choice = MW_NEW(core->arena, int32_t, f->count);
    for (int64_t s = 0; s < f->count; s++)
        choice[s] = (int32_t)f->at[s];
    classes[0] = mw_classes_identity(core->tables, mw_core_strategies(core, u));
    *elimination = (MwElimination){.cost = f, .classes = classes, .choice = choice};
    return elimination;
}

static void substitute(MwCore *core, int v, int u, const MwTable *f)
{
    MwArena *scratch = mw_arena_new();
    const MwCoreNode *from = &core->nodes[v];
    int count = from->functions.count;
    Moved *moved = MW_NEW(scratch, Moved, count);
    for (int i = 0; i < count; i++)
        move_function(core, &core->functions.at[from->functions.at[i]], v, u, f, &moved[i]);
    move_terms(core, v, u, f);
    mw_core_add_cost(core, u, mw_table_select(core->tables, from->cost, 0, f));
    mw_core_eliminate(core, v, elimination_of(core, u, f), 1, &u);
    for (int i = 0; i < count; i++)
        mw_core_add_function(core, moved[i].scope, moved[i].classes, moved[i].cost);
    mw_arena_free(&scratch);
}

void mw_reduce_substitute(MwCore *core, int node)
{
    const MwCoreNode *at = &core->nodes[node];
    for (int i = 0; i < at->functions.count; i++) {
        const MwCostFunction *function = &core->functions.at[at->functions.at[i]];
        /* A function that forbids nothing determines nothing. */
        if (function->cost->arity != 2 || function->cost->greatest < MW_FORBIDDEN)
            continue;
        int dim = mw_core_position(function, node);
        const MwTable *f = substitution_of(core->tables, function, dim)->strategy;
        if (!f)
            continue;
        int other = function->scope[1 - dim];
        const MwTable *inverse = NULL;
        if (at->functions.count > core->nodes[other].functions.count)
            inverse = substitution_of(core->tables, function, 1 - dim)->strategy;
        /* If each determines the other, the node with fewer cost functions is substituted. */
        if (inverse)
            substitute(core, other, node, inverse);
        else
            substitute(core, node, other, f);
        return;
    }
}
