/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of cluster files on any text: it gives a cluster or an error, and what it gives
 * prints; if that reads (sizes that are nearly equal print as equal, which does not), it prints the
 * same again. */
#include "frontend/cluster/print.h"
#include "frontend/cluster/read.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/diags_text.h"

#include <string.h>

static MwCluster *read_text(MwArena *arena, const char *text, size_t bytes, MwDiags *diags)
{
    MwSource *source = MW_NEW(arena, MwSource, 1);
    *source = (MwSource){"fuzz.cluster", text, bytes};
    return mw_cluster_read(arena, source, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena), *again = mw_diags_new(arena);
    MwCluster *cluster =
        read_text(arena, mw_arena_strndup(arena, (const char *)data, bytes), bytes, diags);
    MW_ASSERT((cluster == NULL) == (mw_diags_error_count(diags) > 0));
    if (cluster) {
        MwText first = {.arena = arena}, second = {.arena = arena};
        mw_cluster_print(&first, cluster);
        MwCluster *copy = read_text(arena, first.at, first.bytes, again);
        if (copy)
            mw_cluster_print(&second, copy);
        MW_ASSERT(!copy || strcmp(first.at, second.at) == 0);
    }
    diags_text(arena, diags);
    mw_arena_free(&arena);
    return 0;
}
