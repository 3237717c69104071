/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of a core.
 *
 * Tables are never changed, so a copy may share them. But their ids, and the results remembered
 * under these ids, belong to one MwTables, which belongs to one thread. A copy with separate tables
 * has every table that it names interned anew. */
#include "solver/core/core.h"

#include <string.h>

static void copy_list(MwArena *arena, MwIndexList *copy, const MwIndexList *list)
{
    copy->capacity = copy->count = list->count;
    copy->at = mw_arena_dup(arena, list->at, sizeof *list->at * (size_t)list->count);
}

static void copy_rows(MwCore *to, const MwCore *core)
{
    size_t rows = (size_t)core->row_count;
    to->row_count = core->row_count;
    to->limit = mw_arena_dup(to->arena, core->limit, sizeof *core->limit * rows);
    to->price = mw_arena_dup(to->arena, core->price, sizeof *core->price * rows);
    to->time = mw_arena_dup(to->arena, core->time, sizeof *core->time * rows);
}

MwCore *mw_core_copy(MwArena *arena, const MwCore *core)
{
    MwCore *copy = mw_arena_dup(arena, core, sizeof *core);
    copy->arena = arena;
    copy->origin = core;
    copy->origin_trail_count = core->trail.count;
    copy->nodes = mw_arena_dup(arena, core->nodes, sizeof *core->nodes * (size_t)core->node_count);
    for (int i = 0; i < core->node_count; i++) {
        MwCoreNode *node = &copy->nodes[i];
        copy_list(arena, &node->functions, &core->nodes[i].functions);
        node->terms.capacity = node->terms.count;
        node->terms.at =
            mw_arena_dup(arena, node->terms.at, sizeof(MwCoreTerm) * (size_t)node->terms.count);
    }
    copy->functions.capacity = copy->functions.count;
    copy->functions.at = mw_arena_dup(arena, core->functions.at,
                                      sizeof(MwCostFunction) * (size_t)core->functions.count);
    memset(&copy->trail, 0, sizeof copy->trail);
    copy_list(arena, &copy->changed_nodes, &core->changed_nodes);
    copy_list(arena, &copy->changed_functions, &core->changed_functions);
    copy_rows(copy, core);
    return copy;
}

static const MwTable *reintern(MwTables *tables, const MwTable *table)
{
    const MwTable *result = mw_table_intern(tables, table->arity, table->dims, table->at);
    if (table->separated)
        mw_table_mark_separated(result);
    return result;
}

static const MwTable *const *reintern_all(MwCore *core, const MwTable *const *list, int count)
{
    const MwTable **result = MW_NEW(core->arena, const MwTable *, count);
    for (int i = 0; i < count; i++)
        result[i] = reintern(core->tables, list[i]);
    return result;
}

static void reintern_node(MwCore *core, MwCoreNode *node)
{
    if (node->cost)
        node->cost = reintern(core->tables, node->cost);
    for (int i = 0; i < node->terms.count; i++)
        node->terms.at[i].usage = reintern(core->tables, node->terms.at[i].usage);
}

static void reintern_function(MwCore *core, MwCostFunction *function)
{
    if (!function->cost)
        return;
    size_t arity = (size_t)function->cost->arity;
    function->cost = reintern(core->tables, function->cost);
    function->classes = reintern_all(core, function->classes, function->cost->arity);
    function->scope = mw_arena_dup(core->arena, function->scope, sizeof *function->scope * arity);
}

static const MwElimination *reintern_elimination(MwCore *core, const MwElimination *elimination,
                                                 int neighbours)
{
    MwElimination *result = mw_arena_dup(core->arena, elimination, sizeof *elimination);
    int64_t count = elimination->cost ? elimination->cost->count : 1;
    if (elimination->cost)
        result->cost = reintern(core->tables, elimination->cost);
    result->classes = reintern_all(core, elimination->classes, neighbours);
    result->choice =
        mw_arena_dup(core->arena, elimination->choice, sizeof *result->choice * (size_t)count);
    return result;
}

static void reintern_step(MwCore *core, MwCoreStep *step)
{
    if (step->keep) {
        step->keep = reintern(core->tables, step->keep);
        return;
    }
    step->elimination = reintern_elimination(core, step->elimination, step->neighbour_count);
    step->neighbours = mw_arena_dup(core->arena, step->neighbours,
                                    sizeof *step->neighbours * (size_t)step->neighbour_count);
}

/* Gives a fresh copy separate tables. */
static void separate_tables(MwCore *core)
{
    core->tables = mw_tables_new(core->arena);
    for (int i = 0; i < core->node_count; i++)
        reintern_node(core, &core->nodes[i]);
    for (int i = 0; i < core->functions.count; i++)
        reintern_function(core, &core->functions.at[i]);
    for (int i = 0; i < core->trail.count; i++)
        reintern_step(core, &core->trail.at[i]);
}

MwCore *mw_core_copy_independent(MwArena *arena, const MwCore *core)
{
    MwCore *copy = mw_core_copy(arena, core);
    separate_tables(copy);
    return copy;
}

MwCore *mw_core_move(MwArena *arena, const MwCore *core)
{
    MwCore *moved = mw_core_copy(arena, core);
    moved->origin = core->origin;
    moved->origin_trail_count = core->origin_trail_count;
    moved->trail.capacity = moved->trail.count = core->trail.count;
    moved->trail.at =
        mw_arena_dup(arena, core->trail.at, sizeof *core->trail.at * (size_t)core->trail.count);
    separate_tables(moved);
    return moved;
}

static void extract_node(MwCore *to, int index, const MwCoreNode *node, const int *row_position)
{
    MwCoreNode *extracted = &to->nodes[index];
    extracted->cost = reintern(to->tables, node->cost);
    for (int i = 0; i < node->terms.count; i++) {
        const MwCoreTerm *term = &node->terms.at[i];
        mw_vec_push(to->arena, &extracted->terms,
                    ((MwCoreTerm){row_position[term->first], row_position[term->last],
                                  reintern(to->tables, term->usage)}));
    }
    if (node->queued)
        mw_core_queue(to, index);
}

static void extract_function(MwCore *to, const MwCostFunction *function, const int *node_position)
{
    int index = to->functions.count, arity = function->cost->arity;
    MwCostFunction extracted = *function;
    reintern_function(to, &extracted);
    int *scope = MW_NEW(to->arena, int, arity);
    for (int i = 0; i < arity; i++) {
        scope[i] = node_position[function->scope[i]];
        mw_vec_push(to->arena, &to->nodes[scope[i]].functions, index);
    }
    extracted.scope = scope;
    mw_vec_push(to->arena, &to->functions, extracted);
    if (function->queued)
        mw_vec_push(to->arena, &to->changed_functions, index);
}

static void extract_rows(MwCore *to, const MwCore *core, const MwComponent *component)
{
    to->row_count = component->row_count;
    to->limit = MW_NEW(to->arena, __int128, component->row_count);
    to->price = MW_NEW(to->arena, double, component->row_count);
    to->time = MW_NEW(to->arena, int64_t, component->row_count);
    for (int i = 0; i < component->row_count; i++) {
        to->limit[i] = core->limit[component->rows[i]];
        to->price[i] = core->price[component->rows[i]];
        to->time[i] = core->time[component->rows[i]];
    }
}

MwCore *mw_core_extract_component(MwArena *arena, const MwCore *core, const MwComponent *component)
{
    MwCore *extracted = MW_NEW(arena, MwCore, 1);
    extracted->arena = arena;
    extracted->tables = mw_tables_new(arena);
    extracted->node_count = component->node_count;
    extracted->nodes = MW_NEW(arena, MwCoreNode, component->node_count);
    extracted->constant = core->constant;
    extracted->scale = core->scale;
    extracted->least_limit = core->least_limit;
    extracted->infeasible = core->infeasible;
    for (int i = 0; i < component->node_count; i++)
        extract_node(extracted, i, &core->nodes[component->nodes[i]], component->row_position);
    for (int i = 0; i < component->function_count; i++)
        extract_function(extracted, &core->functions.at[component->functions[i]],
                         component->node_position);
    extract_rows(extracted, core, component);
    return extracted;
}

/* The indices that are left, and the position of each index among them. */
typedef struct {
    int *left, *position, count;
} Remaining;

static Remaining new_remaining(MwArena *arena, MwArena *scratch, int all)
{
    return (Remaining){.left = MW_NEW(arena, int, all), .position = MW_NEW(scratch, int, all)};
}

static void add_remaining(Remaining *list, int index)
{
    list->position[index] = list->count;
    list->left[list->count++] = index;
}

MwCore *mw_core_extract(MwArena *arena, const MwCore *core, const int **nodes)
{
    MwArena *scratch = mw_arena_new();
    Remaining node = new_remaining(arena, scratch, core->node_count),
              function = new_remaining(scratch, scratch, core->functions.count),
              row = new_remaining(scratch, scratch, core->row_count);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            add_remaining(&node, i);
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost)
            add_remaining(&function, i);
    for (int i = 0; i < core->row_count; i++)
        add_remaining(&row, i);
    const MwComponent all = {.node_count = node.count,
                             .function_count = function.count,
                             .row_count = row.count,
                             .nodes = node.left,
                             .functions = function.left,
                             .rows = row.left,
                             .node_position = node.position,
                             .row_position = row.position};
    MwCore *extracted = mw_core_extract_component(arena, core, &all);
    mw_arena_free(&scratch);
    *nodes = node.left;
    return extracted;
}
