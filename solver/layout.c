/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/layout.h"

/* Other forms of tables by their ids; equal tables share one. */
typedef struct {
    double **value, **turned; /* of costs */
    int **classes;            /* of class lists */
} Forms;

static Forms new_forms(MwArena *scratch, const MwCore *core)
{
    int most = 0;
    for (int i = 0; i < core->factors.count; i++) {
        const MwCoreFactor *factor = &core->factors.at[i];
        if (!factor->cost)
            continue;
        most = (int)mw_max(most, factor->cost->id);
        for (int k = 0; k < factor->cost->arity; k++)
            most = (int)mw_max(most, factor->classes[k]->id);
    }
    return (Forms){MW_NEW(scratch, double *, most + 1), MW_NEW(scratch, double *, most + 1),
                   MW_NEW(scratch, int *, most + 1)};
}

static const int *class_list(MwArena *arena, const Forms *forms, const MwTable *classes)
{
    int **list = &forms->classes[classes->id];
    if (!*list) {
        *list = MW_NEW(arena, int, classes->count);
        for (int64_t s = 0; s < classes->count; s++)
            (*list)[s] = (int)classes->at[s];
    }
    return *list;
}

static double *valued(MwArena *arena, const MwTable *cost)
{
    double *value = MW_NEW(arena, double, cost->count + MW_LANES);
    for (int64_t e = 0; e < cost->count; e++)
        value[e] = (double)cost->at[e];
    return value;
}

static double *turned(MwArena *arena, const MwTable *cost, const double *value)
{
    double *turned = MW_NEW(arena, double, cost->count + MW_LANES);
    for (int i = 0; i < cost->dims[0]; i++)
        for (int k = 0; k < cost->dims[1]; k++)
            turned[k * cost->dims[0] + i] = value[i * cost->dims[1] + k];
    return turned;
}

static void lay_factor(MwArena *arena, const Forms *forms, const int *place,
                       const MwCoreFactor *from, MwLayoutFactor *to)
{
    const MwTable *cost = from->cost;
    int *node = MW_NEW(arena, int, cost->arity);
    const int **classes = MW_NEW(arena, const int *, cost->arity);
    for (int i = 0; i < cost->arity; i++) {
        node[i] = place[from->scope[i]];
        classes[i] = class_list(arena, forms, from->classes[i]);
    }
    if (!forms->value[cost->id]) {
        forms->value[cost->id] = valued(arena, cost);
        if (cost->arity == 2)
            forms->turned[cost->id] = turned(arena, cost, forms->value[cost->id]);
    }
    *to = (MwLayoutFactor){.arity = cost->arity,
                           .node = node,
                           .dims = cost->dims,
                           .classes = classes,
                           .cost = cost->at,
                           .value = forms->value[cost->id],
                           .turned = forms->turned[cost->id]};
}

static void lay_factors(MwArena *arena, MwLayout *layout, const int *place)
{
    const MwCore *core = layout->core;
    MwArena *scratch = mw_arena_new();
    Forms forms = new_forms(scratch, core);
    int *place_of_factor = MW_NEW(scratch, int, core->factors.count);
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost) {
            place_of_factor[i] = layout->factor_count;
            lay_factor(arena, &forms, place, &core->factors.at[i],
                       &layout->factors[layout->factor_count++]);
        }
    for (int i = 0; i < layout->node_count; i++) {
        MwLayoutNode *node = &layout->nodes[i];
        const MwIndexList *factors = &core->nodes[node->origin].factors;
        MwLayoutLink *links = MW_NEW(arena, MwLayoutLink, factors->count);
        for (int k = 0; k < factors->count; k++) {
            const MwCoreFactor *factor = &core->factors.at[factors->at[k]];
            int dim = mw_core_position(factor, node->origin);
            links[k] = (MwLayoutLink){.factor = place_of_factor[factors->at[k]],
                                      .dim = dim,
                                      .stride = mw_table_inner(factor->cost, dim)};
        }
        node->links = links;
        node->link_count = factors->count;
    }
    mw_arena_free(&scratch);
}

MwLayout *mw_layout_new(MwArena *arena, const MwCore *core)
{
    MwLayout *layout = MW_NEW(arena, MwLayout, 1);
    MwArena *scratch = mw_arena_new();
    int *place = MW_NEW(scratch, int, core->node_count);
    layout->core = core;
    layout->row_count = core->row_count;
    layout->nodes = MW_NEW(arena, MwLayoutNode, core->node_count);
    layout->factors = MW_NEW(arena, MwLayoutFactor, core->factors.count);
    for (int i = 0; i < core->node_count; i++) {
        const MwCoreNode *node = &core->nodes[i];
        if (!node->cost)
            continue;
        place[i] = layout->node_count;
        layout->nodes[layout->node_count++] = (MwLayoutNode){.origin = i,
                                                             .strategies = (int)node->cost->count,
                                                             .cost = node->cost->at,
                                                             .term_count = node->terms.count,
                                                             .terms = node->terms.at};
        layout->most_strategies = (int)mw_max(layout->most_strategies, node->cost->count);
    }
    lay_factors(arena, layout, place);
    mw_arena_free(&scratch);
    return layout;
}

void mw_layout_enter(const MwLayout *layout, const int *core_choice, int *choice)
{
    for (int i = 0; i < layout->node_count; i++)
        choice[i] = core_choice[layout->nodes[i].origin];
}

void mw_layout_leave(const MwLayout *layout, const int *choice, int *core_choice)
{
    for (int i = 0; i < layout->core->node_count; i++)
        core_choice[i] = 0;
    for (int i = 0; i < layout->node_count; i++)
        core_choice[layout->nodes[i].origin] = choice[i];
}
