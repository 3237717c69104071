/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of a core.
 *
 * Tables are never changed, so a copy may share them; but their ids and what is remembered under
 * these belong to one MwTables, which belongs to one thread. A copy with tables of its own has all
 * that it names interned anew. */
#include "solver/core.h"

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
    copy->origin_steps = core->trail.count;
    copy->nodes = mw_arena_dup(arena, core->nodes, sizeof *core->nodes * (size_t)core->node_count);
    for (int i = 0; i < core->node_count; i++) {
        MwCoreNode *node = &copy->nodes[i];
        copy_list(arena, &node->factors, &core->nodes[i].factors);
        node->terms.capacity = node->terms.count;
        node->terms.at =
            mw_arena_dup(arena, node->terms.at, sizeof(MwCoreTerm) * (size_t)node->terms.count);
    }
    copy->factors.capacity = copy->factors.count;
    copy->factors.at =
        mw_arena_dup(arena, core->factors.at, sizeof(MwCoreFactor) * (size_t)core->factors.count);
    memset(&copy->trail, 0, sizeof copy->trail);
    copy_list(arena, &copy->changed_nodes, &core->changed_nodes);
    copy_list(arena, &copy->changed_factors, &core->changed_factors);
    copy_rows(copy, core);
    return copy;
}

static const MwTable *own(MwTables *tables, const MwTable *table)
{
    return mw_table_intern(tables, table->arity, table->dims, table->at);
}

static const MwTable *const *own_all(MwCore *core, const MwTable *const *list, int count)
{
    const MwTable **owned = MW_NEW(core->arena, const MwTable *, count);
    for (int i = 0; i < count; i++)
        owned[i] = own(core->tables, list[i]);
    return owned;
}

static void own_node(MwCore *core, MwCoreNode *node)
{
    if (node->cost)
        node->cost = own(core->tables, node->cost);
    for (int i = 0; i < node->terms.count; i++)
        node->terms.at[i].usage = own(core->tables, node->terms.at[i].usage);
}

static void own_factor(MwCore *core, MwCoreFactor *factor)
{
    if (!factor->cost)
        return;
    size_t arity = (size_t)factor->cost->arity;
    factor->cost = own(core->tables, factor->cost);
    factor->classes = own_all(core, factor->classes, factor->cost->arity);
    factor->scope = mw_arena_dup(core->arena, factor->scope, sizeof *factor->scope * arity);
}

static const MwElimination *own_elimination(MwCore *core, const MwElimination *elimination,
                                            int neighbours)
{
    MwElimination *owned = mw_arena_dup(core->arena, elimination, sizeof *elimination);
    int64_t count = elimination->cost ? elimination->cost->count : 1;
    if (elimination->cost)
        owned->cost = own(core->tables, elimination->cost);
    owned->classes = own_all(core, elimination->classes, neighbours);
    owned->choice =
        mw_arena_dup(core->arena, elimination->choice, sizeof *owned->choice * (size_t)count);
    return owned;
}

static void own_step(MwCore *core, MwCoreStep *step)
{
    if (step->keep) {
        step->keep = own(core->tables, step->keep);
        return;
    }
    step->elimination = own_elimination(core, step->elimination, step->neighbour_count);
    step->neighbours = mw_arena_dup(core->arena, step->neighbours,
                                    sizeof *step->neighbours * (size_t)step->neighbour_count);
}

/* Gives a fresh copy tables of its own. */
static void own_tables(MwCore *core)
{
    core->tables = mw_tables_new(core->arena);
    for (int i = 0; i < core->node_count; i++)
        own_node(core, &core->nodes[i]);
    for (int i = 0; i < core->factors.count; i++)
        own_factor(core, &core->factors.at[i]);
    for (int i = 0; i < core->trail.count; i++)
        own_step(core, &core->trail.at[i]);
}

MwCore *mw_core_copy_apart(MwArena *arena, const MwCore *core)
{
    MwCore *copy = mw_core_copy(arena, core);
    own_tables(copy);
    return copy;
}

MwCore *mw_core_move(MwArena *arena, const MwCore *core)
{
    MwCore *moved = mw_core_copy(arena, core);
    moved->origin = core->origin;
    moved->origin_steps = core->origin_steps;
    moved->trail.capacity = moved->trail.count = core->trail.count;
    moved->trail.at =
        mw_arena_dup(arena, core->trail.at, sizeof *core->trail.at * (size_t)core->trail.count);
    own_tables(moved);
    return moved;
}

/* Which of the nodes left each node is. */
static const int *places(MwArena *scratch, const MwCore *core, int *nodes, int *count)
{
    int *place = MW_NEW(scratch, int, core->node_count);
    *count = 0;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost) {
            place[i] = *count;
            nodes[(*count)++] = i;
        }
    return place;
}

static void extract_node(MwCore *to, int index, const MwCoreNode *node)
{
    MwCoreNode *extracted = &to->nodes[index];
    extracted->cost = own(to->tables, node->cost);
    for (int i = 0; i < node->terms.count; i++) {
        MwCoreTerm term = node->terms.at[i];
        term.usage = own(to->tables, term.usage);
        mw_vec_push(to->arena, &extracted->terms, term);
    }
    if (node->queued)
        mw_core_queue(to, index);
}

static void extract_factor(MwCore *to, const MwCoreFactor *factor, const int *place)
{
    int index = to->factors.count, arity = factor->cost->arity;
    MwCoreFactor extracted = *factor;
    own_factor(to, &extracted);
    int *scope = MW_NEW(to->arena, int, arity);
    for (int i = 0; i < arity; i++) {
        scope[i] = place[factor->scope[i]];
        mw_vec_push(to->arena, &to->nodes[scope[i]].factors, index);
    }
    extracted.scope = scope;
    mw_vec_push(to->arena, &to->factors, extracted);
    if (factor->queued)
        mw_vec_push(to->arena, &to->changed_factors, index);
}

MwCore *mw_core_extract(MwArena *arena, const MwCore *core, const int **nodes)
{
    MwArena *scratch = mw_arena_new();
    int *left = MW_NEW(arena, int, core->node_count), count;
    const int *place = places(scratch, core, left, &count);
    MwCore *extracted = MW_NEW(arena, MwCore, 1);
    extracted->arena = arena;
    extracted->tables = mw_tables_new(arena);
    extracted->node_count = count;
    extracted->nodes = MW_NEW(arena, MwCoreNode, count);
    extracted->constant = core->constant;
    extracted->scale = core->scale;
    extracted->least = core->least;
    extracted->infeasible = core->infeasible;
    for (int i = 0; i < count; i++)
        extract_node(extracted, i, &core->nodes[left[i]]);
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost)
            extract_factor(extracted, &core->factors.at[i], place);
    copy_rows(extracted, core);
    mw_arena_free(&scratch);
    *nodes = left;
    return extracted;
}
