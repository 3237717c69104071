/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/import.h"

#include "base/file.h"
#include "frontend/frontend.h"
#include "frontend/outline/outline.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/print.h"
#include "ir/same.h"

#include <errno.h>
#include <string.h>

/* Whether the model can have another batch: of the size that is so called, if there is one. */
static bool has_batch(MwArena *arena, MwInterner *interner, const MwSource *source,
                      const MwItems *items)
{
    for (int i = 0; i < items->count; i++) {
        const MwItem *item = &items->at[i];
        if (item->kind != MW_ITEM_SIZE || strcmp(item->name.text, MW_OUTLINE_BATCH) != 0)
            continue;
        const MwDefine define = {MW_OUTLINE_BATCH,
                                 mw_arena_printf(arena, "%lld", (long long)item->value->i + 1)};
        return mw_graph_parse(arena, interner, source, &define, 1, mw_diags_new(arena)) != NULL;
    }
    return true;
}

/* Writes the outline of the flat items into `text`, which is empty. False if it does not mean the
 * model of `graph`, or has a batch that cannot be another. */
static bool write_outline(MwArena *arena, const MwGraph *graph, const MwItems *flat,
                          const char *name, bool with_batch, MwText *text)
{
    const MwItems outline = mw_outline(arena, graph->interner, flat, with_batch);
    text->bytes = 0;
    mw_items_print(text, &outline);
    const MwSource source = {.name = name, .text = text->at, .bytes = text->bytes};
    const MwGraph *other =
        mw_graph_parse(arena, graph->interner, &source, NULL, 0, mw_diags_new(arena));
    return other && mw_graph_same(arena, graph, other) &&
           (!with_batch || has_batch(arena, graph->interner, &source, &outline));
}

/* The graph of a model and its items; NULL after errors. */
static const MwGraph *read_flat(MwArena *arena, const MwSource *source, MwItems *items,
                                MwDiags *diags)
{
    MwInterner *interner = mw_interner_new(arena);
    const MwGraph *graph = mw_graph_parse(arena, interner, source, NULL, 0, diags);
    return graph && mw_source_parse(arena, interner, source, diags, items) ? graph : NULL;
}

bool mw_import_flat(MwArena *arena, const MwSource *source, MwText *text, MwDiags *diags)
{
    MwItems flat = {0};
    if (!read_flat(arena, source, &flat, diags))
        return false;
    mw_items_print(text, &flat);
    return true;
}

bool mw_import_source(MwArena *arena, const MwSource *source, bool keeps_batch, MwText *text,
                      MwDiags *diags)
{
    MwItems flat = {0};
    const MwGraph *graph = read_flat(arena, source, &flat, diags);
    if (!graph)
        return false;
    MwText written = {.arena = arena};
    if ((keeps_batch || !write_outline(arena, graph, &flat, source->name, true, &written)) &&
        !write_outline(arena, graph, &flat, source->name, false, &written)) {
        mw_diag_warning(diags, mw_span_none(),
                        "%s: no structure was found that means the same model, which is a fault of "
                        "meshwright; the flat model is written",
                        source->name);
        written.bytes = 0;
        mw_items_print(&written, &flat);
    }
    mw_text_add_n(text, written.at, written.bytes);
    return true;
}

bool mw_import_file(MwArena *arena, const char *path, MwText *text, MwDiags *diags)
{
    MwSource *source = MW_NEW(arena, MwSource, 1);
    *source = (MwSource){.name = path};
    source->text = mw_file_read(arena, path, &source->bytes);
    if (source->text)
        return mw_import_source(arena, source, false, text, diags);
    mw_diag_error(diags, mw_span_none(), "cannot read %s: %s", path, strerror(errno));
    return false;
}
