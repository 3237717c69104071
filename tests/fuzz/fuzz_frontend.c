/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front end on any text: it gives a graph that the checker accepts and whose dump reads back as
 * the same, or it gives an error. */
#include "frontend/frontend.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwSource source = {.name = "fuzz.graph",
                       .text = mw_arena_strndup(arena, (const char *)data, bytes),
                       .bytes = bytes};
    MwGraph *graph = mw_graph_parse(arena, mw_interner_new(arena), &source, NULL, 0, diags);
    MW_ASSERT((graph == NULL) == (mw_diags_error_count(diags) > 0));
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
