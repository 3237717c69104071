/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/copies.h"

static MwCopySite site_of(const MwGraph *graph, MwValueId value, MwNodeId consumer, int operand,
                          int64_t made, int64_t end)
{
    MwNodeId producer = mw_value(graph, value)->node;
    return (MwCopySite){.value = value,
                        .producer = producer,
                        .consumer = consumer,
                        .result = value.index - mw_node(graph, producer)->first_result,
                        .operand = operand,
                        .made = made,
                        .begin = made,
                        .end = end,
                        .slots = 1};
}

/* The site at operand k of node n. A copy that its views hand on to other tasks waits between
 * them. */
static MwCopySite site_at(const MwGraph *graph, const MwLife *lives, int n, int k)
{
    const MwNode *node = &graph->nodes.at[n];
    const MwLife *life = &lives[node->first_result];
    const bool is_view =
        mw_op_info(node->op)->lowering == MW_LOWER_VIEW && life->storage != MW_STORE_OWN;
    MwCopySite site =
        site_of(graph, node->operands[k], (MwNodeId){n}, k, n, is_view ? life->end : n + 1);
    if (life->copy_slots > 0) {
        site.begin = 0;
        site.end = graph->nodes.count;
        site.slots = life->copy_slots;
    }
    return site;
}

MwCopySites mw_copy_sites(MwArena *arena, const MwGraph *graph, const MwLife *lives)
{
    MwCopySites sites = {0};
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count; k++)
            mw_vec_push(arena, &sites, site_at(graph, lives, n, k));
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwAssign *assign = &graph->assigns.at[i];
        int64_t begin = mw_value(graph, assign->value)->node.index;
        MwNodeId consumer = mw_value(graph, assign->target)->node;
        if (consumer.index != begin)
            mw_vec_push(arena, &sites,
                        site_of(graph, assign->value, consumer, -1, begin, begin + 1));
    }
    return sites;
}

MwSpec mw_copy_spec(const MwCopySite *site, const MwStrategy *consumer)
{
    return site->operand < 0 ? consumer->results[0] : consumer->operands[site->operand];
}

MwCopyBytes mw_copy_bytes(const MwIntraProblem *intra, MwValueId value, MwSpec from, MwSpec to)
{
    if (mw_spec_equal(from, to))
        return (MwCopyBytes){0};
    MwArena *scratch = mw_arena_new();
    const MwTensor *tensor = mw_value_tensor(intra->graph, value);
    MwReshardPath path = mw_reshard_path(scratch, intra->resharder, tensor, from, to);
    MwTensor result = mw_spec_local(to, tensor, &intra->model.mesh);
    MwCopyBytes bytes = {.kept = mw_tensor_bytes(&result)};
    for (int i = 1; i < path.count; i++)
        bytes.making = mw_max(bytes.making, path.steps[i].bytes);
    mw_arena_free(&scratch);
    return bytes;
}
