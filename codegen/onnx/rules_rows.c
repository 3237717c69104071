/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reductions, and operators along the last dimension. What the language has no operator of and ONNX
 * has is put together from what the nodes of the graph make: means of sums and products, and a norm
 * with its scale and shift. */
#include "codegen/onnx/rules.h"

#include <math.h>

/* ---- Sums that are means ---- */

/* How many elements each sum or window of a node takes, at a point. */
static double taken(const MwWriter *writer, const MwNode *node, int point)
{
    const MwTensor *x = mw_value_tensor(writer->open->graphs[point], node->operands[0]);
    const MwAttr *of =
        mw_node_attr(node, node->op == MW_OP_SUM_POOL ? MW_ATTR_WINDOW : MW_ATTR_AXES);
    double count = 1;
    for (int i = 0; i < of->ints.count; i++)
        count *= (double)(node->op == MW_OP_SUM_POOL ? of->ints.at[i] : x->dim[of->ints.at[i]]);
    return count;
}

/* Whether operand k of `user` is a constant that makes a mean of the sum that a node gives, for all
 * sizes. */
static bool is_mean(const MwWriter *writer, const MwNode *sum, const MwNode *user, int k)
{
    const MwValueId by = user->operands[k];
    const MwTensor *given = mw_value_tensor(writer->graph, (MwValueId){sum->first_result});
    bool is =
        mw_value_node(writer->graph, by)->op == MW_OP_CONSTANT && mw_type_is_float(given->type) &&
        mw_tensor_equal(mw_value_tensor(writer->graph, (MwValueId){user->first_result}), given);
    for (int point = 0; is && point < mw_open_point_count(writer->open); point++) {
        const MwNode *constant = mw_value_node(writer->open->graphs[point], by);
        const double times = mw_node_float(constant, MW_ATTR_VALUE) * taken(writer, sum, point);
        is = fabs(times - 1) < 1e-6;
    }
    return is;
}

static const char *put_reduced(MwWriter *writer, const MwNode *node, const char *op,
                               MwDimOrder *order)
{
    const MwValueId x = node->operands[0];
    const MwTensor *tensor = mw_value_tensor(writer->graph, x);
    const MwAttr *axes = mw_node_attr(node, MW_ATTR_AXES);
    const bool keeps = mw_node_int(node, MW_ATTR_KEEP);
    int64_t at[MW_MAX_RANK];
    bool has_channels = false, has_batch = false;
    for (int i = 0; i < axes->ints.count; i++) {
        has_batch |= axes->ints.at[i] == 0;
        has_channels |= axes->ints.at[i] == tensor->rank - 1;
    }
    /* what is left has its own order if the channels are not, or no dimension of space is */
    const bool leaves = axes->ints.count - has_channels - has_batch < tensor->rank - 2;
    *order = mw_writer_is_channels_first(writer, x) && (keeps || has_channels || !leaves)
                 ? MW_ORDER_CHANNELS_FIRST
                 : MW_ORDER_OWN;
    for (int i = 0; i < axes->ints.count; i++)
        at[i] = mw_writer_axis(tensor->rank, (int)axes->ints.at[i], *order);
    const char *name = mw_writer_in(writer, x, *order);
    const MwType type = mw_value_tensor(writer->graph, (MwValueId){node->first_result})->type;
    name = mw_writer_put2(writer, op, mw_writer_cast(writer, name, tensor->type, type),
                          mw_writer_integers(writer, at, axes->ints.count));
    mw_writer_int(writer, "keepdims", keeps);
    if (!keeps)
        *order = MW_ORDER_OWN;
    return name;
}

static bool write_reduced(MwWriter *writer, const char *op)
{
    MwDimOrder order;
    const char *name = put_reduced(writer, writer->node, op, &order);
    return mw_writer_give(writer, 0, name, order);
}

/* The user of the node, if it makes a mean of the sum. */
static bool is_summed_for_mean(const MwWriter *writer)
{
    const MwNode *user = mw_writer_only_user(writer, mw_writer_result(writer, 0));
    return user && user->op == MW_OP_MUL &&
           (is_mean(writer, writer->node, user, 0) || is_mean(writer, writer->node, user, 1));
}

/* The node becomes a part of what its user does. Returns true. */
static bool merge(MwWriter *writer)
{
    return writer->is_merged[writer->node - writer->graph->nodes.at] = true;
}

bool mw_write_reduce_sum(MwWriter *writer, const char *op)
{
    return is_summed_for_mean(writer) ? merge(writer) : write_reduced(writer, op);
}

bool mw_write_reduce_max(MwWriter *writer, const char *op)
{
    return write_reduced(writer, op);
}

bool mw_write_sum_pool(MwWriter *writer, const char *op)
{
    if (is_summed_for_mean(writer))
        return merge(writer);
    const char *mean = mw_writer_pool(writer, writer->node, op);
    const MwType type = mw_value_tensor(writer->graph, mw_writer_result(writer, 0))->type;
    return mean && mw_writer_give(writer, 0,
                                  mw_writer_put2(writer, "Mul", mean,
                                                 mw_writer_number(writer, type,
                                                                  taken(writer, writer->node, 0))),
                                  MW_ORDER_CHANNELS_FIRST);
}

/* ---- Norms ---- */

/* The operand of a node that was merged, of an operator; NULL: there is none. */
static const MwNode *merged_operand(const MwWriter *writer, MwOp op, int *other)
{
    for (int k = 0; k < writer->node->operand_count; k++) {
        const MwNode *node = mw_value_node(writer->graph, writer->node->operands[k]);
        *other = 1 - k;
        if (node->op == op && writer->is_merged[node - writer->graph->nodes.at])
            return node;
    }
    return NULL;
}

/* Whether the only user of the node is `op` with a vector of the last dimension beside it. */
static bool takes_vector(const MwWriter *writer, MwOp op)
{
    const MwValueId result = mw_writer_result(writer, 0);
    const MwNode *user = mw_writer_only_user(writer, result);
    if (!user || user->op != op)
        return false;
    const MwTensor *x = mw_value_tensor(writer->graph, result);
    const MwValueId other = user->operands[mw_value_equal(user->operands[0], result)];
    const MwTensor *vector = mw_value_tensor(writer->graph, other);
    return vector->rank == 1 && x->rank > 1 && vector->dim[0] == x->dim[x->rank - 1] &&
           vector->type == x->type;
}

static bool put_norm(MwWriter *writer, const MwNode *norm, const char *scale, const char *shift)
{
    const char *const operands[] = {mw_writer_in(writer, norm->operands[0], MW_ORDER_OWN), scale,
                                    shift};
    const char *name = mw_writer_put(writer, "LayerNormalization", operands, shift ? 3 : 2);
    mw_writer_int(writer, "axis", -1);
    mw_writer_float(writer, "epsilon", mw_node_float(norm, MW_ATTR_EPS));
    return mw_writer_give_own(writer, name);
}

bool mw_write_layer_norm(MwWriter *writer, const char *op)
{
    (void)op;
    if (takes_vector(writer, MW_OP_MUL))
        return merge(writer);
    const MwTensor *x = mw_writer_operand_tensor(writer, 0);
    const MwOpenNumber width = mw_writer_dim(writer, writer->node->operands[0], x->rank - 1);
    if (!mw_open_is_constant(&width))
        return mw_writer_refuse(writer, "over a dimension of an open size");
    return put_norm(writer, writer->node, mw_writer_filled(writer, x->type, 1, width.constant),
                    NULL);
}

/* The sum that the node makes a mean of; NULL: it does not. */
static const MwNode *summed_operand(const MwWriter *writer, MwOp op)
{
    for (int k = 0; k < writer->node->operand_count; k++) {
        const MwNode *node = mw_value_node(writer->graph, writer->node->operands[k]);
        if (node->op == op && is_mean(writer, node, writer->node, 1 - k))
            return node;
    }
    return NULL;
}

bool mw_write_mul(MwWriter *writer, const char *op)
{
    int other;
    MwDimOrder order = MW_ORDER_CHANNELS_FIRST;
    const MwNode *merged = merged_operand(writer, MW_OP_LAYER_NORM, &other), *summed;
    if (merged && takes_vector(writer, MW_OP_ADD))
        return merge(writer);
    if (merged)
        return put_norm(writer, merged, mw_writer_operand(writer, other), NULL);
    if ((summed = summed_operand(writer, MW_OP_REDUCE_SUM))) {
        const char *mean = put_reduced(writer, summed, "ReduceMean", &order);
        return mw_writer_give(writer, 0, mean, order);
    }
    if ((summed = summed_operand(writer, MW_OP_SUM_POOL))) {
        const char *mean = mw_writer_pool(writer, summed, "AveragePool");
        return mean && mw_writer_give(writer, 0, mean, order);
    }
    return mw_write_map(writer, op);
}

bool mw_write_add(MwWriter *writer, const char *op)
{
    int shift, scale;
    const MwNode *mul = merged_operand(writer, MW_OP_MUL, &shift);
    if (!mul)
        return mw_write_map(writer, op);
    const MwNode *first = mw_value_node(writer->graph, mul->operands[0]);
    scale = first->op == MW_OP_LAYER_NORM && writer->is_merged[first - writer->graph->nodes.at];
    return put_norm(writer, mw_value_node(writer->graph, mul->operands[!scale]),
                    mw_writer_in(writer, mul->operands[scale], MW_ORDER_OWN),
                    mw_writer_operand(writer, shift));
}

/* x / sqrt(mean(x^2) + eps), in f32: squares may be too large for f16. */
bool mw_write_rms_norm(MwWriter *writer, const char *op)
{
    (void)op;
    const MwType type = mw_writer_operand_tensor(writer, 0)->type, run = MW_F32;
    const char *x = mw_writer_cast(writer, mw_writer_operand(writer, 0), type, run);
    const char *square = mw_writer_put2(writer, "Pow", x, mw_writer_number(writer, run, 2));
    const char *mean = mw_writer_put2(writer, "ReduceMean", square,
                                      mw_writer_integers(writer, (int64_t[]){-1}, 1));
    mw_writer_int(writer, "keepdims", 1);
    const double eps = mw_node_float(writer->node, MW_ATTR_EPS);
    const char *sum = mw_writer_put2(writer, "Add", mean, mw_writer_number(writer, run, eps));
    const char *norm = mw_writer_put2(writer, "Div", x, mw_writer_put1(writer, "Sqrt", sum));
    return mw_writer_give_own(writer, mw_writer_cast(writer, norm, run, type));
}

/* ---- Rows ---- */

bool mw_write_softmax(MwWriter *writer, const char *op)
{
    const char *name = mw_writer_put1(writer, op, mw_writer_operand(writer, 0));
    mw_writer_int(writer, "axis", -1);
    return mw_writer_give_own(writer, name);
}

bool mw_write_logsumexp(MwWriter *writer, const char *op)
{
    const char *name = mw_writer_put2(writer, op, mw_writer_operand(writer, 0),
                                      mw_writer_integers(writer, (int64_t[]){-1}, 1));
    mw_writer_int(writer, "keepdims", 0);
    return mw_writer_give_own(writer, name);
}

bool mw_write_top_k(MwWriter *writer, const char *op)
{
    const MwOpenNumber k = mw_writer_attr(writer, MW_ATTR_K, 0);
    const MwType type = mw_writer_operand_tensor(writer, 0)->type, run = mw_writer_wide(type);
    const char *x = mw_writer_cast(writer, mw_writer_operand(writer, 0), type, run), *results[2];
    mw_writer_put_many(writer, op, (const char *[]){x, mw_writer_numbers(writer, &k, 1)}, 2,
                       results, 2);
    mw_writer_int(writer, "axis", -1);
    mw_writer_int(writer, "largest", !mw_node_int(writer->node, MW_ATTR_ASCENDING));
    mw_writer_give(writer, 0, mw_writer_cast(writer, results[0], run, type), MW_ORDER_OWN);
    return mw_writer_give(writer, 1, mw_writer_cast(writer, results[1], MW_I64, MW_I32),
                          MW_ORDER_OWN);
}

bool mw_write_cumsum(MwWriter *writer, const char *op)
{
    const int rank = mw_writer_operand_tensor(writer, 0)->rank;
    const char *name = mw_writer_put2(writer, op, mw_writer_operand(writer, 0),
                                      mw_writer_number(writer, MW_I64, rank - 1));
    if (mw_node_int(writer->node, MW_ATTR_INVERSE))
        mw_writer_int(writer, "reverse", 1);
    return mw_writer_give_own(writer, name);
}
