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

/* Whether the text, in the place of the source `name`, is the model of `graph`. What is wrong with
 * it is no fault of the user's. */
static bool is_model(MwArena *arena, MwInterner *interner, const char *name, const MwText *text,
                     const MwGraph *graph)
{
    const MwSource source = {.name = name, .text = text->at, .bytes = text->bytes};
    MwDiags *diags = mw_diags_new(arena);
    const MwGraph *other = mw_graph_parse(arena, interner, &source, NULL, 0, diags);
    return other && mw_graph_same(arena, graph, other);
}

bool mw_import_source(MwArena *arena, const MwSource *source, MwText *text, MwDiags *diags)
{
    MwInterner *interner = mw_interner_new(arena);
    MwItems flat = {0};
    const MwGraph *graph = mw_graph_parse(arena, interner, source, NULL, 0, diags);
    if (!graph || !mw_source_parse(arena, interner, source, diags, &flat))
        return false;
    const MwItems outline = mw_outline(arena, interner, &flat);
    MwText written = {.arena = arena};
    mw_items_print(&written, &outline);
    if (!is_model(arena, interner, source->name, &written, graph)) {
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
        return mw_import_source(arena, source, text, diags);
    mw_diag_error(diags, mw_span_none(), "cannot read %s: %s", path, strerror(errno));
    return false;
}
