/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes are computed in order, then the body of the one model is run. */
#include "frontend/expand/expand.h"

#include "frontend/expand/body.h"
#include "frontend/expand/placement.h"
#include "frontend/expand/sizes.h"
#include "frontend/expand/statements.h"

static void run_model(MwExpander *ex, const MwItem *item)
{
    ex->graph->name = item->name.text;
    MwFrame frame = {.block = item->block,
                     .scope = mw_intern(ex->interner, ""),
                     .names = {.arena = ex->arena},
                     .ended = {.arena = ex->arena}};
    ex->frame = &frame;
    mw_body_run(ex, &item->block->body);
    ex->frame = NULL;
    mw_trains_finish(ex);
    const MwGraph *graph = ex->graph;
    bool any = graph->outputs.count || graph->metrics.count || graph->assigns.count;
    if (!any && mw_diags_error_count(ex->diags) == ex->first_errors)
        mw_expand_error(
            ex, item->span,
            "model '%s' computes nothing: it has no 'train', 'output', 'show' or 'assign'",
            item->name.text);
}

static void add_block(MwExpander *ex, const MwItem *item)
{
    const char *name = item->name.text;
    void **slot = mw_name_map_add(&ex->blocks, name);
    if (*slot) {
        mw_expand_note(ex, ((MwBlockState *)*slot)->span, "it is here");
        mw_expand_error(ex, item->span, "there already is a block '%s'", name);
        return;
    }
    MwBlockState *state = MW_NEW(ex->arena, MwBlockState, 1);
    *state = (MwBlockState){.block = item->block, .span = item->span};
    *slot = state;
}

/* The one model among the items. */
static const MwItem *find_model(MwExpander *ex, const char *name, const MwItems *items)
{
    const MwItem *model = NULL;
    for (int i = 0; i < items->count; i++) {
        const MwItem *item = &items->at[i];
        if (item->kind != MW_ITEM_MODEL)
            continue;
        if (model) {
            mw_expand_note(ex, model->span, "the first is here");
            mw_expand_error(ex, item->span, "a file has one model");
        }
        model = model ? model : item;
    }
    if (!model)
        mw_expand_error(ex, mw_span_none(), "%s has no model", name);
    return model;
}

static void add_blocks(MwExpander *ex, const MwItems *items)
{
    for (int i = 0; i < items->count; i++)
        if (items->at[i].kind == MW_ITEM_BLOCK)
            add_block(ex, &items->at[i]);
}

MwGraph *mw_expand(MwArena *arena, MwInterner *interner, const MwExpandQuery *query, MwDiags *diags)
{
    MwExpander ex = {.arena = arena,
                     .interner = interner,
                     .diags = diags,
                     .graph = mw_graph_new(arena, interner, ""),
                     .sizes = {.arena = arena},
                     .blocks = {.arena = arena},
                     .values = {.arena = arena},
                     .scopes = {.arena = arena},
                     .outputs = {.arena = arena},
                     .shown = {.arena = arena},
                     .assigned = {.arena = arena},
                     .pinned = {.arena = arena},
                     .call_block = mw_block_call,
                     .first_errors = mw_diags_error_count(diags)};
    add_blocks(&ex, query->items);
    const MwItem *model = find_model(&ex, query->name, query->items);
    bool placed = mw_placement_check(query->items, diags);
    mw_sizes_compute(&ex, query->items, query->defines, query->define_count);
    if (model && placed && mw_diags_error_count(diags) == ex.first_errors)
        run_model(&ex, model);
    return mw_diags_error_count(diags) == ex.first_errors ? ex.graph : NULL;
}
