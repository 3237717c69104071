/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The connected components of a core: cost functions and memory rows connect nodes.
 *
 * If two components share no cost function and no row, the choice in one changes neither the cost
 * of the other nor its feasible choices. The choices of the core are therefore all combinations of
 * choices of the components, and the cost is the sum of theirs. The minimum of the sum is the sum
 * of the minima; the same holds for lower bounds. If one component has no choice, the core has
 * none.
 *
 * A term counts in all rows from its first to its last. If some term counts in both of two
 * consecutive rows, all nodes with a term in either row are connected. Rows are joined first, in
 * one pass over the ends of the terms; each term then joins its node to its first row only.
 *
 * Two components are equal if the same tables connect their nodes in the same way, in the order of
 * nodes. Tables are interned, so comparing ids suffices. Repeated layers that nothing connects are
 * found in this way.
 *
 * Sources: connected components of mixed-integer programs (Gamrath, Koch, Martin, Miltenberger and
 * Weninger, Progress in presolving for mixed integer programming, Mathematical Programming
 * Computation 7, 2015, section 3); disjoint-set union (Tarjan, Efficiency of a good but not linear
 * set union algorithm, Journal of the ACM 22, 1975). */
#include "solver/core/components.h"

/* The state of the search: a disjoint-set forest over nodes and rows. */
typedef struct {
    MwArena *arena, *scratch;
    const MwCore *core;
    int *parent; /* [nodes, then rows] parent in the forest; the root of a set is its lowest
                    element */
    int count;   /* number of components */
} Finding;

/* Nodes, cost functions or rows, grouped by component. */
typedef struct {
    int *component; /* [all] component of each; -1: none */
    int *list;      /* [all] component after component, ascending in each */
    int *first;     /* [components + 1] where each component begins in `list` */
    int *position;  /* [all] position within the component */
} Division;

static int lowest(int *parent, int of)
{
    while (parent[of] != of) {
        parent[of] = parent[parent[of]];
        of = parent[of];
    }
    return of;
}

static void join(int *parent, int a, int b)
{
    a = lowest(parent, a);
    b = lowest(parent, b);
    parent[mw_max(a, b)] = mw_min(a, b);
}

static int term_count(const MwCore *core, int node)
{
    return core->nodes[node].cost ? core->nodes[node].terms.count : 0;
}

static void join_rows(const Finding *finding)
{
    const MwCore *core = finding->core;
    int *change = MW_NEW(finding->scratch, int, core->row_count), both = 0;
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; k < term_count(core, i); k++) {
            change[core->nodes[i].terms.at[k].first]++;
            change[core->nodes[i].terms.at[k].last]--;
        }
    for (int row = 0; row + 1 < core->row_count; row++) {
        both += change[row];
        if (both > 0)
            join(finding->parent, core->node_count + row, core->node_count + row + 1);
    }
}

static void join_nodes(const Finding *finding)
{
    const MwCore *core = finding->core;
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; k < term_count(core, i); k++)
            join(finding->parent, i, core->node_count + core->nodes[i].terms.at[k].first);
    for (int i = 0; i < core->functions.count; i++) {
        const MwCostFunction *function = &core->functions.at[i];
        for (int k = 1; function->cost && k < function->cost->arity; k++)
            join(finding->parent, function->scope[0], function->scope[k]);
    }
}

static Division new_division(const Finding *finding, int all)
{
    Division division = {.component = MW_NEW(finding->scratch, int, all),
                         .list = MW_NEW(finding->arena, int, all),
                         .position = MW_NEW(finding->arena, int, all)};
    for (int i = 0; i < all; i++)
        division.component[i] = -1;
    return division;
}

/* Fills the lists from `component`. */
static void divide(const Finding *finding, int all, Division *division)
{
    int *first = division->first = MW_NEW(finding->scratch, int, finding->count + 1);
    for (int i = 0; i < all; i++)
        if (division->component[i] >= 0)
            division->position[i] = first[division->component[i] + 1]++;
    for (int c = 0; c < finding->count; c++)
        first[c + 1] += first[c];
    for (int i = 0; i < all; i++)
        if (division->component[i] >= 0)
            division->list[first[division->component[i]] + division->position[i]] = i;
}

/* Numbers the components in order of their lowest node. */
static Division divide_nodes(Finding *finding)
{
    const MwCore *core = finding->core;
    Division nodes = new_division(finding, core->node_count);
    for (int i = 0; i < core->node_count; i++) {
        if (!core->nodes[i].cost)
            continue;
        int of = lowest(finding->parent, i);
        nodes.component[i] = of == i ? finding->count++ : nodes.component[of];
    }
    divide(finding, core->node_count, &nodes);
    return nodes;
}

static Division divide_functions(const Finding *finding, const Division *nodes)
{
    const MwCore *core = finding->core;
    Division functions = new_division(finding, core->functions.count);
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost)
            functions.component[i] = nodes->component[core->functions.at[i].scope[0]];
    divide(finding, core->functions.count, &functions);
    return functions;
}

static Division divide_rows(const Finding *finding, const Division *nodes)
{
    const MwCore *core = finding->core;
    Division rows = new_division(finding, core->row_count);
    for (int row = 0; row < core->row_count; row++) {
        int of = lowest(finding->parent, core->node_count + row);
        if (of < core->node_count) /* otherwise no term counts in the row */
            rows.component[row] = nodes->component[of];
    }
    divide(finding, core->row_count, &rows);
    return rows;
}

static MwComponent component_at(const Division *nodes, const Division *functions,
                                const Division *rows, int component)
{
    const int node = nodes->first[component], function = functions->first[component],
              row = rows->first[component];
    return (MwComponent){.node_count = nodes->first[component + 1] - node,
                         .function_count = functions->first[component + 1] - function,
                         .row_count = rows->first[component + 1] - row,
                         .nodes = nodes->list + node,
                         .functions = functions->list + function,
                         .rows = rows->list + row,
                         .node_position = nodes->position,
                         .row_position = rows->position};
}

static void push_128_bits(MwArena *arena, MwIndexList *key, __int128 value)
{
    for (int word = 0; word < 4; word++, value >>= 32)
        mw_vec_push(arena, key, (int)(uint32_t)value);
}

/* Serialises all that defines a component's problem. */
static MwIndexList content(MwArena *scratch, const MwCore *core, const MwComponent *component)
{
    MwIndexList key = {0};
    mw_vec_push(scratch, &key, component->node_count);
    mw_vec_push(scratch, &key, component->function_count);
    for (int i = 0; i < component->node_count; i++) {
        const MwCoreNode *node = &core->nodes[component->nodes[i]];
        mw_vec_push(scratch, &key, node->cost->id);
        mw_vec_push(scratch, &key, node->terms.count);
        for (int k = 0; k < node->terms.count; k++) {
            mw_vec_push(scratch, &key, component->row_position[node->terms.at[k].first]);
            mw_vec_push(scratch, &key, component->row_position[node->terms.at[k].last]);
            mw_vec_push(scratch, &key, node->terms.at[k].usage->id);
        }
    }
    for (int i = 0; i < component->function_count; i++) {
        const MwCostFunction *function = &core->functions.at[component->functions[i]];
        mw_vec_push(scratch, &key, function->cost->id);
        for (int k = 0; k < function->cost->arity; k++) {
            mw_vec_push(scratch, &key, component->node_position[function->scope[k]]);
            mw_vec_push(scratch, &key, function->classes[k]->id);
        }
    }
    for (int i = 0; i < component->row_count; i++)
        push_128_bits(scratch, &key, core->limit[component->rows[i]]);
    return key;
}

static int *find_equal(const Finding *finding, const MwComponent *all)
{
    int *equal = MW_NEW(finding->arena, int, finding->count);
    MwTables *seen = mw_tables_new(finding->scratch);
    for (int c = 0; c < finding->count; c++) {
        equal[c] = c;
        MwIndexList key = content(finding->scratch, finding->core, &all[c]);
        const int *first = mw_tables_recall(seen, key.at, key.count);
        if (first)
            equal[c] = *first;
        else
            mw_tables_remember(seen, key.at, key.count, &equal[c]);
    }
    return equal;
}

MwComponents mw_components(MwArena *arena, const MwCore *core)
{
    Finding finding = {.arena = arena, .scratch = mw_arena_new(), .core = core};
    finding.parent = MW_NEW(finding.scratch, int, core->node_count + core->row_count);
    for (int i = 0; i < core->node_count + core->row_count; i++)
        finding.parent[i] = i;
    join_rows(&finding);
    join_nodes(&finding);
    const Division nodes = divide_nodes(&finding), functions = divide_functions(&finding, &nodes),
                   rows = divide_rows(&finding, &nodes);
    MwComponent *all = MW_NEW(arena, MwComponent, finding.count);
    for (int c = 0; c < finding.count; c++)
        all[c] = component_at(&nodes, &functions, &rows, c);
    MwComponents components = {finding.count, all, find_equal(&finding, all)};
    mw_arena_free(&finding.scratch);
    return components;
}
