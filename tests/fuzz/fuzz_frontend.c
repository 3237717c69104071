/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front end on any text: it gives a graph that the checker accepts and whose dump reads back as
 * the same, or it gives an error. What parses is printed, and printed the same again; what has a
 * graph has an outline. */
#include "frontend/frontend.h"
#include "frontend/import.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/print.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/diags_text.h"

#include <string.h>

static void check_reads_back(MwArena *arena, const MwGraph *graph, MwDiags *diags)
{
    MwText dump = {.arena = arena}, again = {.arena = arena};
    mw_graph_print(&dump, graph);
    MwSource source = {.name = "dump", .text = dump.at, .bytes = dump.bytes};
    MwGraph *copy = mw_graph_parse(arena, graph->interner, &source, NULL, 0, diags);
    if (!copy) {
        mw_diags_print(diags, stderr);
        fputs(dump.at, stderr);
    }
    MW_ASSERT(copy != NULL);
    mw_graph_print(&again, copy);
    MW_ASSERT(strcmp(dump.at, again.at) == 0);
}

/* The text as it is printed; NULL if it does not parse. */
static const MwText *print(MwArena *arena, const MwSource *source)
{
    MwItems items = {0};
    MwText *text = MW_NEW(arena, MwText, 1);
    text->arena = arena;
    mw_text_add(text, "");
    if (!mw_source_parse(arena, mw_interner_new(arena), source, mw_diags_new(arena), &items))
        return NULL;
    mw_items_print(text, &items);
    return text;
}

static void check_prints(MwArena *arena, const MwSource *source)
{
    const MwText *once = print(arena, source);
    if (!once)
        return;
    const MwSource printed = {.name = "printed", .text = once->at, .bytes = once->bytes};
    const MwText *twice = print(arena, &printed);
    if (!twice || strcmp(once->at, twice->at) != 0)
        fputs(once->at, stderr);
    MW_ASSERT(twice && strcmp(once->at, twice->at) == 0);
}

static void check_outline(MwArena *arena, const MwSource *source)
{
    MwText text = {.arena = arena};
    MW_ASSERT(mw_import_source(arena, source, false, &text, mw_diags_new(arena)));
    const MwSource outline = {.name = "outline", .text = text.at, .bytes = text.bytes};
    MW_ASSERT(mw_graph_parse(arena, mw_interner_new(arena), &outline, NULL, 0,
                             mw_diags_new(arena)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwSource source = {.name = "fuzz.graph",
                       .text = mw_arena_strndup(arena, (const char *)data, bytes),
                       .bytes = bytes};
    MwGraph *graph = mw_graph_parse(arena, mw_interner_new(arena), &source, NULL, 0, diags);
    MW_ASSERT((graph == NULL) == (mw_diags_error_count(diags) > 0));
    check_prints(arena, &source);
    if (graph)
        check_outline(arena, &source);
    if (graph && mw_graph_check_model(graph, diags)) {
        bool good = mw_graph_verify(graph, "the front end", diags);
        if (!good)
            mw_diags_print(diags, stderr);
        MW_ASSERT(good);
        check_reads_back(arena, graph, diags);
    }
    diags_text(arena, diags);
    mw_arena_free(&arena);
    return 0;
}
