/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds a node wherever a resharded copy of a value can be shared or must be whole.
 *
 * In:  any graph.
 * Out: the same graph with IDENTITY nodes. One stands between a value and its uses in a phase if
 *      there are at least two, so that resharding the value for all of them is one edge of the
 *      intra-operator problem, paid once, and one sequence of collectives in the plan. One
 *      stands behind every weight that is cast to a shorter type, as it is or scaled for 8 bits: so
 *      the cast may be done where the weight is stored, and the shorter type be gathered, once for
 *      all phases. One stands behind every value of the backward that the update takes, where all
 *      of these are too many to be kept whole until then: so a gradient may be summed and cut as
 *      soon as it is there. One stands before every output and metric, which leave the graph
 *      whole. Constants and iotas, which cost nothing to compute, are computed once per use
 *      instead. Partition removes the identities again.
 * Invariant: uses in different phases never share a copy but of such a weight, so no other copy
 *      outlives its phase; and a copy is in the first layer that uses it, which need not be that of
 *      the first use. */
#include "passes/sharding/share.h"

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "passes/pass.h"
#include "passes/tuning.h"

#include <limits.h>
#include <string.h>

typedef struct {
    MwRewrite rewrite;
    int (*uses)[MW_PHASE_COUNT]; /* [values of from] operand slots by the phase of the user */
    MwValueId (
        *shared)[MW_PHASE_COUNT]; /* [values of from] the identity of a phase, once it is made */
    int *layer;  /* [values of from] the first layer of its uses in the forward phase */
    int *copies; /* [values of from] copies of a constant in use */
} Share;

static const MwNode *maker_of(const Share *share, MwValueId value)
{
    return mw_value_node(share->rewrite.from, value);
}

static bool is_recomputed(const Share *share, MwValueId value)
{
    const MwNode *node = maker_of(share, value);
    return node->op == MW_OP_CONSTANT || node->op == MW_OP_IOTA;
}

/* Whether a value has one spec only: a scalar from a node without operands. */
static bool has_one_spec(const Share *share, MwValueId value)
{
    return maker_of(share, value)->operand_count == 0 &&
           mw_value_tensor(share->rewrite.from, value)->rank == 0;
}

static MwValueId add_identity(Share *share, MwValueId value, const char *suffix)
{
    MwGraph *to = share->rewrite.to;
    const char *name =
        mw_arena_printf(to->arena, "%s.%s", mw_value(share->rewrite.from, value)->name, suffix);
    return mw_build(to, name, MW_OP_IDENTITY, &share->rewrite.value[value.index], 1, NULL, 0);
}

/* The node that makes what `value` is a multiple of. */
static const MwNode *maker_of_scaled(const Share *share, MwValueId value)
{
    const MwNode *node = maker_of(share, value);
    const bool is_scaled =
        node->op == MW_OP_MUL && mw_value_tensor(share->rewrite.from, node->operands[1])->rank == 0;
    return is_scaled ? maker_of(share, node->operands[0]) : node;
}

/* Whether the node casts a weight, as it is or scaled, to a shorter type, for uses in several
 * phases. */
static bool shortens_weight(const Share *share, const MwNode *node)
{
    const MwGraph *from = share->rewrite.from;
    const MwValueId result = {node->first_result};
    int phases = 0;
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++)
        phases += share->uses[result.index][phase] > 0;
    return node->op == MW_OP_CAST &&
           maker_of_scaled(share, node->operands[0])->op == MW_OP_WEIGHT &&
           mw_type_bytes(mw_value_tensor(from, result)->type) <
               mw_type_bytes(mw_value_tensor(from, node->operands[0])->type) &&
           phases > 1;
}

static MwValueId recompute(Share *share, MwValueId value)
{
    MwRewrite *rewrite = &share->rewrite;
    if (share->copies[value.index]++ == 0)
        return rewrite->value[value.index];
    MwOrigin origin = rewrite->to->origin;
    MwPhase phase = rewrite->to->phase;
    MwValueId first = rewrite->value[value.index];
    mw_rewrite_copy(rewrite, maker_of(share, value));
    MwValueId copy = rewrite->value[value.index];
    rewrite->value[value.index] = first;
    rewrite->to->origin = origin;
    rewrite->to->phase = phase;
    return copy;
}

/* The value that a use in `phase` takes. */
static MwValueId operand_for(Share *share, MwValueId value, MwPhase phase)
{
    if (has_one_spec(share, value))
        return share->rewrite.value[value.index];
    if (is_recomputed(share, value))
        return recompute(share, value);
    if (share->uses[value.index][phase] < 2)
        return share->rewrite.value[value.index];
    MwValueId *shared = &share->shared[value.index][phase];
    MwOrigin *origin = &share->rewrite.to->origin;
    const int layer = origin->layer;
    if (mw_has_value(*shared))
        return *shared;
    if (phase == MW_PHASE_FORWARD)
        origin->layer = share->layer[value.index];
    *shared = add_identity(share, value, mw_phase_name(phase));
    origin->layer = layer;
    return *shared;
}

/* Whether operand k only names what the node continues: a scan_next takes no copy of its
 * scan_carry. */
static bool is_only_named(const MwNode *node, int k)
{
    return node->op == MW_OP_SCAN_NEXT && k == 1;
}

/* Copies `node` with the operands for its phase. */
static void copy_node(Share *share, const MwNode *node)
{
    MwRewrite *rewrite = &share->rewrite;
    MwValueId *before = MW_NEW(rewrite->to->arena, MwValueId, node->operand_count);
    MwValueId *operands = MW_NEW(rewrite->to->arena, MwValueId, node->operand_count);
    mw_rewrite_at(rewrite, node);
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = is_only_named(node, k) ? rewrite->value[node->operands[k].index]
                                             : operand_for(share, node->operands[k], node->phase);
    for (int k = 0; k < node->operand_count; k++) {
        before[k] = rewrite->value[node->operands[k].index];
        rewrite->value[node->operands[k].index] = operands[k];
    }
    mw_rewrite_copy(rewrite, node);
    for (int k = node->operand_count - 1; k >= 0; k--)
        rewrite->value[node->operands[k].index] = before[k];
}

static void count_uses(Share *share)
{
    const MwGraph *from = share->rewrite.from;
    for (int n = 0; n < from->nodes.count; n++) {
        const MwNode *node = &from->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++) {
            int *layer = &share->layer[node->operands[k].index];
            if (node->phase == MW_PHASE_FORWARD && node->origin.layer < *layer)
                *layer = node->origin.layer;
            share->uses[node->operands[k].index][node->phase] += !is_only_named(node, k);
        }
    }
}

/* [values] whether a value is an output or a metric. */
static bool *find_outputs(const MwGraph *graph)
{
    bool *is_output = MW_NEW(graph->arena, bool, graph->values.count);
    for (int i = 0; i < graph->outputs.count; i++)
        is_output[graph->outputs.at[i].value.index] = true;
    for (int i = 0; i < graph->metrics.count; i++)
        is_output[graph->metrics.at[i].value.index] = true;
    return is_output;
}

/* Replaces outputs and metrics by the identities in `output_copy`. */
static void finish(Share *share, const MwValueId *output_copy)
{
    mw_rewrite_finish(&share->rewrite);
    const MwGraph *from = share->rewrite.from;
    MwGraph *to = share->rewrite.to;
    for (int i = 0; i < from->outputs.count; i++)
        to->outputs.at[i].value = output_copy[from->outputs.at[i].value.index];
    for (int i = 0; i < from->metrics.count; i++)
        to->metrics.at[i].value = output_copy[from->metrics.at[i].value.index];
}

static bool is_of_backward(const MwNode *node)
{
    return node->phase == MW_PHASE_BACKWARD || node->phase == MW_PHASE_BACKWARD_WEIGHT;
}

bool mw_must_sum_early(const MwCompilation *compilation)
{
    const MwGraph *graph = compilation->graph;
    MwArena *scratch = mw_arena_new();
    bool *is_counted = MW_NEW(scratch, bool, graph->values.count);
    double bytes = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count && node->phase == MW_PHASE_UPDATE; k++) {
            const MwValueId value = node->operands[k];
            if (is_counted[value.index] || !is_of_backward(mw_value_node(graph, value)))
                continue;
            is_counted[value.index] = true;
            bytes += (double)mw_tensor_bytes(mw_value_tensor(graph, value));
        }
    }
    mw_arena_free(&scratch);
    return mw_cluster_devices(compilation->cluster) > 1 &&
           bytes > MW_TUNED_EARLY_SUMS * (double)mw_device_bytes(compilation);
}

/* Whether `node` is of the backward, and the update takes its result. */
static bool waits_for_update(const Share *share, const MwNode *node, MwValueId result)
{
    return is_of_backward(node) && share->uses[result.index][MW_PHASE_UPDATE] > 0;
}

MwGraph *mw_share(const MwGraph *from, bool sums_early)
{
    size_t values = (size_t)from->values.count;
    Share share = {.rewrite = mw_rewrite_begin(from)};
    share.uses = mw_arena_alloc(from->arena, sizeof *share.uses * values);
    share.shared = mw_arena_alloc(from->arena, sizeof *share.shared * values);
    share.layer = MW_NEW(from->arena, int, values);
    share.copies = MW_NEW(from->arena, int, values);
    for (size_t v = 0; v < values; v++)
        share.layer[v] = INT_MAX;
    memset(share.shared, -1, sizeof *share.shared * values);
    MwValueId *output_copy = MW_NEW(from->arena, MwValueId, values);
    const bool *is_output = find_outputs(from);
    count_uses(&share);
    for (int n = 0; n < from->nodes.count; n++) {
        const MwNode *node = &from->nodes.at[n];
        copy_node(&share, node);
        if (shortens_weight(&share, node)) {
            const MwValueId value = {node->first_result};
            share.rewrite.value[value.index] = add_identity(&share, value, "short");
        }
        for (int k = 0; k < node->result_count; k++) {
            MwValueId value = {node->first_result + k};
            if (sums_early && waits_for_update(&share, node, value))
                share.rewrite.value[value.index] = add_identity(&share, value, "summed");
            if (is_output[value.index])
                output_copy[value.index] = add_identity(&share, value, "whole");
        }
    }
    finish(&share, output_copy);
    return share.rewrite.to;
}

MwGraph *mw_share_of(const MwCompilation *compilation, const MwGraph *graph)
{
    return mw_share(graph,
                    compilation->sums_gradients_early && compilation->staging.micro_batches == 1);
}

bool mw_pass_share(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    for (int i = 0; i < compilation->staging.stage_count; i++)
        compilation->stages[i].graph = mw_share_of(compilation, compilation->stages[i].graph);
    return true;
}
