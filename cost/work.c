/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of a node on one device: FLOPs and bytes, from its sharding rule and the columns
 * `flops` and `lowering` of ir/ops.def. cost/cost.c turns it into seconds.
 *
 * Everything follows from the factors: a device loops over 1 / ways of each factor, and holds 1
 * / ways of every dimension that runs over a split factor. */
#include "cost/cost.h"

#include <math.h>
#include <string.h>

/* True if some dimension of `map` runs over `factor`. */
static bool has_factor(const MwFactorMap *map, int rank, int factor)
{
    for (int d = 0; d < rank; d++)
        if (mw_factor_map_has(map, d, factor))
            return true;
    return false;
}

typedef struct {
    const MwGraph *graph;
    const MwNode *node;
    const MwShardingRule *rule;
    const int *ways;
    bool is_halved; /* the ways of the uneven factor are halves, of which a device has two */
} WorkQuery;

static const MwTensor *operand_tensor(const WorkQuery *query, int i)
{
    return mw_value_tensor(query->graph, query->node->operands[i]);
}

static const MwTensor *result_tensor(const WorkQuery *query, int i)
{
    return mw_value_tensor(query->graph, (MwValueId){query->node->first_result + i});
}

/* A looked-up dimension is not looped over: however it is split, every device goes through all
 * indices. */
static bool is_looked_up(const MwFactor *factor)
{
    return factor->size < factor->divisor;
}

static double local_size(const WorkQuery *query, int f)
{
    const MwFactor *factor = &query->rule->factors[f];
    return is_looked_up(factor) ? 1 : (double)factor->size / query->ways[f];
}

static double local_bytes(const WorkQuery *query, const MwTensor *tensor, const MwFactorMap *map)
{
    double bytes = (double)mw_tensor_bytes(tensor);
    for (int d = 0; d < tensor->rank; d++)
        for (int f = map->factor[d]; f >= 0 && f <= map->last[d]; f++)
            bytes /= query->ways[f];
    return bytes;
}

static double local_dim(const WorkQuery *query, const MwTensor *tensor, const MwFactorMap *map,
                        int d)
{
    double size = (double)tensor->dim[d];
    return map->factor[d] >= 0 ? size / query->ways[map->factor[d]] : size;
}

/* Points of the loop space on one device. */
static double local_points(const WorkQuery *query)
{
    double points = 1;
    for (int f = 0; f < query->rule->factor_count; f++)
        points *= local_size(query, f);
    return points;
}

/* Bytes that one device reads of operand `i`; of a looked-up table only the rows that it takes or
 * puts. */
static double operand_bytes(const WorkQuery *query, int i)
{
    const MwTensor *tensor = operand_tensor(query, i);
    const MwFactorMap *map = &query->rule->operands[i];
    for (int d = 0; d < tensor->rank; d++)
        if (map->factor[d] >= 0 && is_looked_up(&query->rule->factors[map->factor[d]]))
            return local_points(query) * mw_type_bytes(tensor->type);
    return local_bytes(query, tensor, map);
}

/* Bytes that one device writes of result `i`: of rows that are changed in an operand, those alone;
 * one step of a loop writes one element of what all steps give. */
static double result_bytes(const WorkQuery *query, int i, int changed)
{
    const double bytes =
        changed >= 0 ? operand_bytes(query, changed)
                     : local_bytes(query, result_tensor(query, i), &query->rule->results[i]);
    return query->node->op == MW_OP_SCAN_OUT
               ? bytes / (double)mw_node_int(query->node, MW_ATTR_STEPS)
               : bytes;
}

/* The operands that a node reads. In the legal graph others may follow, for which it only waits
 * (mw_legal_call). */
static int own_operands(const MwNode *node)
{
    const int operands = mw_op_info(node->op)->operands;
    return operands >= 0 ? operands : node->operand_count;
}

/* An operator that moves elements reads at most as much as it writes. */
static double node_bytes(const WorkQuery *query)
{
    const int changed = mw_op_changed_operand(query->node->op);
    double read = 0, written = 0;
    for (int i = 0; i < own_operands(query->node); i++)
        read += i == changed ? 0 : operand_bytes(query, i);
    for (int i = 0; i < query->node->result_count; i++)
        written += result_bytes(query, i, changed);
    if (mw_op_info(query->node->op)->lowering == MW_LOWER_MOVE && read > written)
        read = written;
    return read + written;
}

/* A product of operands 0 and 1. Sorts its factors into m (left and result), n (right and
 * result), batch (all three) and k (those that the result lacks). A factor of the result alone, a
 * tap of a filter whose gradient it is, counts to m. */
static void work_product(const WorkQuery *query, MwWork *work)
{
    work->kind = MW_WORK_GEMM;
    work->type = mw_product_type(query->graph, work->type);
    work->m = work->n = work->k = work->batch = 1;
    for (int f = 0; f < query->rule->factor_count; f++) {
        bool left = has_factor(&query->rule->operands[0], operand_tensor(query, 0)->rank, f);
        bool right = has_factor(&query->rule->operands[1], operand_tensor(query, 1)->rank, f);
        bool result = has_factor(&query->rule->results[0], result_tensor(query, 0)->rank, f);
        double *side = !result         ? &work->k
                       : left && right ? &work->batch
                       : right         ? &work->n
                                       : &work->m;
        *side *= local_size(query, f);
    }
}

/* A convolution. `y` is the operand or result that has a point for each window, and its features
 * last. */
static void work_windows(const WorkQuery *query, MwWorkKind kind, const MwTensor *y,
                         const MwFactorMap *map, MwWork *work)
{
    work_product(query, work);
    work->kind = kind;
    work->windows = 1;
    for (int d = 0; d < y->rank - 1; d++)
        work->windows *= local_dim(query, y, map, d);
}

static void work_conv(const WorkQuery *query, MwWork *work)
{
    work_windows(query, MW_WORK_CONV, result_tensor(query, 0), &query->rule->results[0], work);
}

static void work_conv_transpose(const WorkQuery *query, MwWork *work)
{
    work_windows(query, MW_WORK_CONV_TRANSPOSE, operand_tensor(query, 0), &query->rule->operands[0],
                 work);
}

static void work_conv_filter_grad(const WorkQuery *query, MwWork *work)
{
    work_windows(query, MW_WORK_CONV_FILTER_GRAD, operand_tensor(query, 1),
                 &query->rule->operands[1], work);
}

/* A stream of elements has no shape. */
static void work_stream(const WorkQuery *query, MwWork *work)
{
    (void)query, (void)work;
}

/* A copy between device and host crosses their link once. */
static void work_host_copy(const WorkQuery *query, MwWork *work)
{
    work->kind = MW_WORK_HOST_COPY;
    work->bytes = operand_bytes(query, 0);
}

/* The share of its keys that the queries of a device attend to with a causal mask. The device with
 * the last queries and the first keys has the most work: its last query is at `end`, and the query
 * at x attends to all keys before x, so the share is the mean of min(x, keys) / keys over its
 * queries, of which those before 0 attend to none. */
static double causal_share(double queries, double end, double keys)
{
    const double first = fmax(end - queries, 0), full = fmax(end - fmax(first, keys), 0);
    const double seeing = fmin(queries, fmax(end, 0));
    const double rest = seeing - full; /* queries that do not see all keys */
    return (full + rest * (first + rest / 2) / keys) / queries;
}

/* The share of its keys that the queries of a device attend to. In a window a query attends to no
 * more keys than the window has. */
static double share_of_keys(const MwNode *node, double queries, double end, double keys)
{
    const MwAttr *window = mw_node_attr(node, MW_ATTR_WINDOW);
    const bool is_causal = mw_node_int(node, MW_ATTR_CAUSAL);
    const double share = is_causal ? causal_share(queries, end, keys) : 1;
    if (!window->ints.count)
        return share;
    const double reach = (double)window->ints.at[0];
    return fmin(share, (is_causal ? reach : 2 * reach - 1) / keys);
}

/* The mean share of the two halves that a device has, an early one and a late one: that of the
 * device whose share is the greatest. `queries` are those of a half; the last of all is before
 * `end`, which is `ahead` of their number. */
static double halved_share(const MwNode *node, double queries, double end, double ahead,
                           double keys)
{
    const int devices = (int)((end - ahead) / queries / 2);
    double most = 0;
    for (int i = 0; i < devices; i++) {
        const double early = ahead + (2 * i + 1) * queries, late = end - 2 * i * queries;
        most = fmax(most, (share_of_keys(node, queries, early, keys) +
                           share_of_keys(node, queries, late, keys)) /
                              2);
    }
    return most;
}

/* How far query 0 is ahead of key 0. */
static int64_t offset_of(const MwNode *node)
{
    const MwAttr *offset = mw_node_attr(node, MW_ATTR_OFFSET);
    return offset->ints.count ? offset->ints.at[0] : 0;
}

/* The positions from the first key up to the last query of the device that has the most work: of
 * the whole sequence, or of the block where queries and keys are split alike. */
static int64_t positions(const MwNode *node, const MwTensor *q)
{
    const int64_t ahead = offset_of(node);
    const MwAttr *origin = mw_node_attr(node, MW_ATTR_ORIGIN);
    if (!origin->ints.count)
        return q->dim[1] + ahead;
    const MwAxes axes = mw_spec_dim(mw_node_spec(node, MW_ATTR_SPLIT), 1);
    const bool is_own = axes && axes == mw_spec_dim(mw_node_spec(node, MW_ATTR_KEY_SPLIT), 1) &&
                        !mw_node_attr(node, MW_ATTR_KEY_SHIFT)->ints.count;
    return (is_own ? q->dim[1] : origin->ints.at[1]) + ahead;
}

/* q is [batch, queries, heads, head], k is [batch, keys, groups, head]. */
static void shape_attention(const WorkQuery *query, MwWork *work)
{
    const MwTensor *q = operand_tensor(query, 0), *k = operand_tensor(query, 1);
    const MwFactorMap *q_map = &query->rule->operands[0], *k_map = &query->rule->operands[1];
    work->batch = local_dim(query, q, q_map, 0) * local_dim(query, q, q_map, 2);
    work->m = local_dim(query, q, q_map, 1);
    work->n = local_dim(query, k, k_map, 1);
    work->k = local_dim(query, q, q_map, 3);
    work->flops =
        mw_op_info(query->node->op)->flops_per_point * work->batch * work->m * work->n * work->k;
    const double end = (double)positions(query->node, q);
    const double share =
        query->is_halved || mw_node_attr(query->node, MW_ATTR_QUERY_HALF)->ints.count
            ? halved_share(query->node, work->m, end, (double)offset_of(query->node), work->n)
            : share_of_keys(query->node, work->m, end, work->n);
    work->flops *= share;
    work->is_masked = share < 1;
}

static void work_attention(const WorkQuery *query, MwWork *work)
{
    work->kind = MW_WORK_ATTENTION;
    shape_attention(query, work);
}

static void work_attention_grad(const WorkQuery *query, MwWork *work)
{
    work->kind = MW_WORK_ATTENTION_GRAD;
    shape_attention(query, work);
}

/* Sets what distinguishes a library operator from a stream of elements, if anything does, by the
 * column `work` of its LIBRARY row. */
static void work_library(const WorkQuery *query, MwWork *work)
{
    static void (*const rules[MW_OP_COUNT])(const WorkQuery *query, MwWork *work) = {
#define LIBRARY(id, routine, work, legal, arguments) [MW_OP_##id] = work_##work,
#include "ir/ops.def"
    };
    rules[query->node->op](query, work);
}

/* The work of a stream of elements: every operand and result moves once, and every point takes
 * its FLOPs. */
static MwWork stream_work(const WorkQuery *query)
{
    const MwTensor *first =
        query->node->operand_count ? operand_tensor(query, 0) : result_tensor(query, 0);
    return (MwWork){.kind = MW_WORK_STREAM,
                    .type = first->type,
                    .bytes = node_bytes(query),
                    .flops = mw_op_info(query->node->op)->flops_per_point * local_points(query)};
}

static MwWork work_of(const WorkQuery *query)
{
    const MwNode *node = query->node;
    MwWork work = {.kind = MW_WORK_NONE};
    switch (mw_op_info(node->op)->lowering) {
    case MW_LOWER_SOURCE:
    case MW_LOWER_VIEW:
    case MW_LOWER_COLLECTIVE:
    case MW_LOWER_TRANSFER:
        return work;
    case MW_LOWER_CONTRACT:
        work = stream_work(query);
        if (node->operand_count == 2)
            work_product(query, &work);
        return work;
    case MW_LOWER_LIBRARY:
        work = stream_work(query);
        work_library(query, &work);
        return work;
    case MW_LOWER_MAP:
    case MW_LOWER_REDUCE:
    case MW_LOWER_ROWS:
    case MW_LOWER_MOVE:
    case MW_LOWER_GATHER:
        return stream_work(query);
    case MW_LOWER_DERIVED:
        break;
    }
    MW_UNREACHABLE();
}

MwWork mw_cost_node_work(const MwGraph *graph, MwNodeId id, const MwShardingRule *rule,
                         const int ways[MW_MAX_FACTORS])
{
    return work_of(&(WorkQuery){graph, mw_node(graph, id), rule, ways, .is_halved = false});
}

MwWork mw_cost_half_work(const MwGraph *graph, MwNodeId id, const MwShardingRule *rule,
                         const int ways[MW_MAX_FACTORS])
{
    int halves[MW_MAX_FACTORS];
    MW_ASSERT(rule->uneven >= 0);
    memcpy(halves, ways, sizeof halves);
    halves[rule->uneven] *= 2;
    return work_of(&(WorkQuery){graph, mw_node(graph, id), rule, halves, .is_halved = true});
}
