/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Early copies: gradients that go to the host are copied as soon as they are there.
 *
 * In:  the cut graph with its update, perhaps with states on the host (passes/graph/offload.c).
 * Out: where the batch is one piece, a to_host of what the backward makes stands behind its operand
 *      and in its phase, so that the device need not keep all gradients until the update (Ren et
 *      al., "ZeRO-Offload", USENIX ATC 2021, section 4.1). Where it is several, gradients are added
 *      up on the device, and copied once.
 * Invariant: the same values are copied. */
#include "ir/rewrite.h"
#include "passes/pass.h"

#include <string.h>

/* Whether the node copies to the host what the backward makes. */
static bool is_early(const MwGraph *graph, const MwNode *node)
{
    if (node->op != MW_OP_TO_HOST)
        return false;
    const MwPhase phase = mw_value_node(graph, node->operands[0])->phase;
    return phase == MW_PHASE_BACKWARD || phase == MW_PHASE_BACKWARD_WEIGHT;
}

/* [values] the node that copies a value early; -1: none does. There is one at most. */
static int *find_copies(const MwGraph *graph, bool *any)
{
    int *copy = MW_NEW(graph->arena, int, graph->values.count);
    memset(copy, -1, sizeof *copy * (size_t)graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        if (!is_early(graph, &graph->nodes.at[n]))
            continue;
        copy[graph->nodes.at[n].operands[0].index] = n;
        *any = true;
    }
    return copy;
}

bool mw_pass_early_copies(MwCompilation *compilation, MwDiags *diags)
{
    const MwGraph *graph = compilation->graph;
    bool any = false;
    const int *copy = find_copies(graph, &any);
    (void)diags;
    if (!any || compilation->staging.micro_batches != 1)
        return true;
    MwRewrite rewrite = mw_rewrite_begin(graph);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (is_early(graph, node) && copy[node->operands[0].index] == n)
            continue;
        mw_rewrite_copy(&rewrite, node);
        for (int v = node->first_result; v < node->first_result + node->result_count; v++) {
            if (copy[v] < 0)
                continue;
            const MwNodeId id = mw_rewrite_copy(&rewrite, &graph->nodes.at[copy[v]]);
            mw_node(rewrite.to, id)->phase = node->phase;
        }
    }
    mw_rewrite_finish(&rewrite);
    compilation->graph = rewrite.to;
    return true;
}
