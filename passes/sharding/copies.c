/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/copies.h"

static MwCopySite site_of(const MwGraph *graph, MwValueId value, MwNodeId consumer, int operand,
                          int64_t begin, int64_t end)
{
    MwNodeId producer = mw_value(graph, value)->node;
    return (MwCopySite){.value = value,
                        .producer = producer,
                        .consumer = consumer,
                        .result = value.index - mw_node(graph, producer)->first_result,
                        .operand = operand,
                        .begin = begin,
                        .end = end};
}

MwCopySites mw_copy_sites(MwArena *arena, const MwGraph *graph, const MwLife *lives)
{
    MwCopySites sites = {0};
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        bool is_view = mw_op_info(node->op)->lowering == MW_LOWER_VIEW &&
                       lives[node->first_result].storage != MW_STORE_OWN;
        int64_t end = is_view ? lives[node->first_result].end : n + 1;
        for (int k = 0; k < node->operand_count; k++)
            mw_vec_push(arena, &sites, site_of(graph, node->operands[k], (MwNodeId){n}, k, n, end));
    }
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
        bytes.peak = mw_max(bytes.peak, path.steps[i].bytes);
    bytes.peak += bytes.kept;
    mw_arena_free(&scratch);
    return bytes;
}
