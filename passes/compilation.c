/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/compilation.h"

#include "ir/rewrite.h"
#include "ir/verify.h"

int mw_compilation_graph_count(const MwCompilation *compilation)
{
    return compilation->stages ? compilation->staging.stage_count : 1;
}

const MwGraph *mw_compilation_graph(const MwCompilation *compilation, int index)
{
    if (!compilation->stages)
        return compilation->graph;
    const MwStage *stage = &compilation->stages[index];
    return stage->local ? stage->local->graph : stage->graph;
}

const MwTensor *mw_unpadded(const MwCompilation *compilation, const char *name, bool is_output)
{
    for (int i = 0; i < compilation->paddings.count; i++) {
        const MwPadding *padding = &compilation->paddings.at[i];
        if (padding->name == name && padding->is_output == is_output)
            return &padding->tensor;
    }
    return NULL;
}

void mw_compilation_keep_graph(MwCompilation *compilation, const MwGraph *before)
{
    MwArena *old = compilation->graph_arena;
    if (!old || compilation->stages || compilation->graph == before)
        return;
    compilation->graph_arena = mw_arena_new_within(compilation->arena);
    compilation->graph = mw_graph_copy(compilation->graph_arena, compilation->graph);
    mw_arena_free(&old);
}

bool mw_compilation_verify(const MwCompilation *compilation, const char *pass, MwDiags *diags)
{
    for (int i = 0; i < mw_compilation_graph_count(compilation); i++)
        if (!mw_graph_verify(mw_compilation_graph(compilation, i), pass, diags))
            return false;
    return true;
}
