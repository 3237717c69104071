/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/flat_core.h"

/* Returns room for class lists, indexed by the id of the table: most cost functions share their
 * lists. */
static int **new_lists(MwArena *scratch, const MwCore *core)
{
    int most = 0;
    for (int i = 0; i < core->functions.count; i++) {
        const MwCostFunction *function = &core->functions.at[i];
        for (int k = 0; function->cost && k < function->cost->arity; k++)
            most = (int)mw_max(most, function->classes[k]->id);
    }
    return MW_NEW(scratch, int *, most + 1);
}

static const int *class_list(MwArena *arena, int **lists, const MwTable *classes)
{
    int **list = &lists[classes->id];
    if (!*list) {
        *list = MW_NEW(arena, int, classes->count);
        for (int64_t s = 0; s < classes->count; s++)
            (*list)[s] = (int)classes->at[s];
    }
    return *list;
}

static void flatten_function(MwArena *arena, int **lists, const int *position,
                             const MwCostFunction *from, MwFlatFunction *to)
{
    const MwTable *cost = from->cost;
    int *node = MW_NEW(arena, int, cost->arity);
    const int **classes = MW_NEW(arena, const int *, cost->arity);
    for (int i = 0; i < cost->arity; i++) {
        node[i] = position[from->scope[i]];
        classes[i] = class_list(arena, lists, from->classes[i]);
    }
    *to = (MwFlatFunction){.arity = cost->arity,
                           .node = node,
                           .dims = cost->dims,
                           .classes = classes,
                           .cost = cost->at};
}

static void flatten_functions(MwArena *arena, MwFlatCore *flat, const int *position)
{
    const MwCore *core = flat->core;
    MwArena *scratch = mw_arena_new();
    int **lists = new_lists(scratch, core);
    int *function_position = MW_NEW(scratch, int, core->functions.count);
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost) {
            function_position[i] = flat->function_count;
            flatten_function(arena, lists, position, &core->functions.at[i],
                             &flat->functions[flat->function_count++]);
        }
    for (int i = 0; i < flat->node_count; i++) {
        MwFlatNode *node = &flat->nodes[i];
        const MwIndexList *functions = &core->nodes[node->origin].functions;
        MwFlatLink *links = MW_NEW(arena, MwFlatLink, functions->count);
        for (int k = 0; k < functions->count; k++) {
            const MwCostFunction *function = &core->functions.at[functions->at[k]];
            int dim = mw_core_position(function, node->origin);
            links[k] = (MwFlatLink){.function = function_position[functions->at[k]],
                                    .dim = dim,
                                    .stride = mw_table_inner(function->cost, dim)};
        }
        node->links = links;
        node->link_count = functions->count;
    }
    mw_arena_free(&scratch);
}

MwFlatCore *mw_flat_core_new(MwArena *arena, const MwCore *core)
{
    MwFlatCore *flat = MW_NEW(arena, MwFlatCore, 1);
    MwArena *scratch = mw_arena_new();
    int *position = MW_NEW(scratch, int, core->node_count);
    flat->core = core;
    flat->row_count = core->row_count;
    flat->nodes = MW_NEW(arena, MwFlatNode, core->node_count);
    flat->functions = MW_NEW(arena, MwFlatFunction, core->functions.count);
    for (int i = 0; i < core->node_count; i++) {
        const MwCoreNode *node = &core->nodes[i];
        if (!node->cost)
            continue;
        position[i] = flat->node_count;
        flat->nodes[flat->node_count++] = (MwFlatNode){.origin = i,
                                                       .strategies = (int)node->cost->count,
                                                       .cost = node->cost->at,
                                                       .term_count = node->terms.count,
                                                       .terms = node->terms.at};
        flat->most_strategies = (int)mw_max(flat->most_strategies, node->cost->count);
    }
    flatten_functions(arena, flat, position);
    mw_arena_free(&scratch);
    return flat;
}

void mw_flat_choice_from_core(const MwFlatCore *flat, const int *core_choice, int *choice)
{
    for (int i = 0; i < flat->node_count; i++)
        choice[i] = core_choice[flat->nodes[i].origin];
}

void mw_flat_choice_to_core(const MwFlatCore *flat, const int *choice, int *core_choice)
{
    for (int i = 0; i < flat->core->node_count; i++)
        core_choice[i] = 0;
    for (int i = 0; i < flat->node_count; i++)
        core_choice[flat->nodes[i].origin] = choice[i];
}
