/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Padding of sizes that the devices do not divide, such as a vocabulary of 50257 or a batch of 10
 * on three devices.
 *
 * In:  the model with its update, the cluster, and the fraction by which a size may grow.
 * Out: the same numbers by nodes of padded shapes. What the model keeps, takes and gives has
 *      zeros, or nothing that counts, behind its elements; `paddings` has the shapes that it has
 *      without them. The search prices padded shapes as it does any, and knows nothing of padding.
 * Invariant: an element that is no padding depends on none that is. A sum over a padded size is one
 *      of zeros behind its elements, a maximum and a log-sum-exp one of what is less than any. For
 *      each dimension of each value the pass knows whether its padding is zero (the column
 *      `padding` of ir/ops.def), and masks only where that is needed and not known. Gradients of a
 *      sum begin with zeros in the padding, so that nearly all that follows is known. Padding is
 *      finite everywhere, and zero in weights and states. Positions count in the shapes without
 *      padding, so that random values do not depend on it.
 *
 * A size is padded to a multiple of the greatest divisor of the number of devices for which it does
 * not grow too much; so it divides on every mesh whose devices that divisor is a multiple of. One
 * that the devices of a node divide as it is may hardly grow: 96 heads are enough for 1,024
 * devices, 8 of a node, where other sizes are divided too.
 *
 * Padding is for what devices divide among them: the batch, the rows of tables, and sizes that much
 * of the work of contractions, convolutions and attention goes over, so not the three colours of
 * images, unless what devices divide without padding is beside them everywhere. */
#include "passes/graph/pad_sizes.h"

#include "base/divisors.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/graph/micro_state.h"
#include "passes/graph/simplify_rules.h"
#include "passes/pass.h"
#include "passes/tuning.h"

#include <math.h>

typedef struct {
    MwRewrite rewrite;
    MwPadSizes sizes;
    /* [values of from] bit d: its form is zero in the padding of dimension d */
    uint32_t *zero;
    MwArena *scratch; /* for sharding rules */
} Pad;

/* The devices among which a size may be divided, and those of a node. */
typedef struct {
    int all, of_node;
    MwDivisors ways; /* in which all may divide a size */
} PadDevices;

/* What padding is for a log-sum-exp: less than any element, and finite, so that a device of nothing
 * but padding has a sum of no weight. */
static const double NO_WEIGHT = -1e38;

static const MwGraph *from_of(const Pad *p)
{
    return p->rewrite.from;
}

/* ---- Which sizes ---- */

/* How many blocks a size of so many is padded to; as many: it is not padded. */
static int64_t padded_blocks(int64_t blocks, const PadDevices *among, double most)
{
    if (mw_common_divisor(blocks, among->all) % among->of_node == 0)
        most = fmin(most, MW_TUNED_STAGE_GAP);
    for (int i = among->ways.count - 1; i > 0; i--) {
        const int64_t padded = mw_round_up(blocks, among->ways.at[i]);
        if ((double)padded <= (double)blocks * (1 + most))
            return padded;
    }
    return blocks;
}

/* Sets what sizes are padded to. Returns the greatest fraction by which one grows; 0: none does. */
static double choose_sizes(MwPadSizes *sizes, const PadDevices *among, double most)
{
    double greatest = 0;
    for (int v = 0; v < sizes->graph->values.count; v++)
        for (int d = 0; d < sizes->graph->values.at[v].tensor.rank; d++) {
            MwPadSize *size = mw_pad_size(sizes, (MwValueId){v}, d);
            size->padded = padded_blocks(size->blocks, among, mw_pad_growth(sizes, size, most));
            greatest = fmax(greatest, (double)size->padded / (double)size->blocks - 1);
        }
    return greatest;
}

/* The dimensions of `value` that are padded. */
static uint32_t padded_dims(const Pad *p, MwValueId value)
{
    uint32_t dims = 0;
    for (int d = 0; d < mw_value_tensor(from_of(p), value)->rank; d++)
        dims |= (uint32_t)mw_pad_is_padded(&p->sizes, value, d) << d;
    return dims;
}

/* Whether what runs over `factor` is padded. */
static bool is_padded_factor(const Pad *p, const MwNode *node, const MwShardingRule *rule,
                             int factor)
{
    const MwGraph *graph = from_of(p);
    for (int k = 0; k < node->operand_count; k++) {
        const int d = mw_pad_operand_dim(graph, node, rule, k, factor);
        if (d >= 0)
            return mw_pad_is_padded(&p->sizes, node->operands[k], d);
    }
    for (int k = 0; k < node->result_count; k++) {
        const MwValueId result = {node->first_result + k};
        const int d = mw_micro_dim(&rule->results[k], mw_value_tensor(graph, result)->rank, factor);
        if (d >= 0)
            return mw_pad_is_padded(&p->sizes, result, d);
    }
    return false;
}

/* ---- Masks ---- */

/* A value of the new graph, with `fill` in the padding of dimension `d`, which has `size` elements
 * without it. */
static MwValueId mask_dim(MwGraph *graph, MwValueId value, int d, int64_t size, double fill)
{
    const MwTensor tensor = *mw_value_tensor(graph, value);
    const char *name = mw_value(graph, value)->name;
    const int first = graph->values.count;
    MwTensor line = {.type = MW_I32, .rank = tensor.rank - d, .dim = {tensor.dim[d]}};
    for (int i = 1; i < line.rank; i++)
        line.dim[i] = 1;
    const MwTensor index = mw_tensor_scalar(MW_I32), scalar = mw_tensor_scalar(tensor.type);
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, MW_I32), mw_attr_shape(graph->arena, &line),
                            mw_attr_int(MW_ATTR_AXIS, 0)};
    MwValueId place = mw_build(graph, NULL, MW_OP_IOTA, NULL, 0, attrs, MW_COUNT(attrs));
    MwValueId inside =
        mw_build_binary(graph, MW_OP_LT, place, mw_build_constant(graph, &index, (double)size));
    MwValueId masked =
        mw_build_select(graph, inside, value, mw_build_constant(graph, &scalar, fill));
    mw_build_name_temporaries(graph, first, graph->values.count,
                              mw_arena_printf(graph->arena, "%s.unpadded", name));
    return masked;
}

/* The form of `value` with `fill` in the padding of `dims`, for `user`. */
static MwValueId mask(Pad *p, const MwNode *user, MwValueId value, uint32_t dims, double fill)
{
    const MwTensor *whole = mw_value_tensor(from_of(p), value);
    MwValueId masked = p->rewrite.value[value.index];
    mw_rewrite_at(&p->rewrite, user);
    for (int d = 0; d < whole->rank; d++)
        if (dims >> d & 1)
            masked = mask_dim(p->rewrite.to, masked, d, whole->dim[d], fill);
    return masked;
}

/* Makes the form of `value` zero in the padding of `dims` for all that uses it from now on. */
static void mask_for_all(Pad *p, MwValueId value, uint32_t dims)
{
    dims &= ~p->zero[value.index];
    p->rewrite.value[value.index] = mask(p, mw_value_node(from_of(p), value), value, dims, 0);
    p->zero[value.index] |= dims;
}

/* ---- Operands ---- */

static bool is_zero(const Pad *p, const MwNode *node, const MwShardingRule *rule, int k, int factor)
{
    const int d = mw_pad_operand_dim(from_of(p), node, rule, k, factor);
    double value;
    if (mw_value_is_constant(from_of(p), node->operands[k], &value) && value == 0)
        return true;
    return d >= 0 && p->zero[node->operands[k].index] >> d & 1;
}

static bool any_is_zero(const Pad *p, const MwNode *node, const MwShardingRule *rule, int factor)
{
    for (int k = 0; k < node->operand_count; k++)
        if (is_zero(p, node, rule, k, factor))
            return true;
    return false;
}

/* Makes operand `k` zero in the padding of `factor`: for all users, where the node runs in the
 * phase that makes the operand; else for the node alone, so that nothing more is kept from phase to
 * phase. */
static void zero_operand(Pad *p, const MwNode *node, const MwShardingRule *rule, int k, int factor,
                         MwValueId *operands)
{
    const MwValueId operand = node->operands[k];
    const int d = mw_pad_operand_dim(from_of(p), node, rule, k, factor);
    if (d < 0 || is_zero(p, node, rule, k, factor))
        return;
    if (mw_value_node(from_of(p), operand)->phase == node->phase) {
        mask_for_all(p, operand, 1u << d);
        operands[k] = p->rewrite.value[operand.index];
    } else {
        mw_rewrite_at(&p->rewrite, node);
        operands[k] = mask_dim(p->rewrite.to, operands[k], d,
                               mw_value_tensor(from_of(p), operand)->dim[d], 0);
    }
}

static void zero_all(Pad *p, const MwNode *node, const MwShardingRule *rule, int factor,
                     MwValueId *operands)
{
    for (int k = 0; k < node->operand_count; k++)
        zero_operand(p, node, rule, k, factor, operands);
}

/* Masks the operands of a node that sums over `factor`. */
static void mask_addends(Pad *p, const MwNode *node, const MwShardingRule *rule, int factor,
                         MwValueId *operands)
{
    bool all;
    const int addend = mw_pad_addend(from_of(p), node, rule, factor, &all);
    MW_ASSERT(addend != MW_PAD_NEVER);
    if (all)
        zero_all(p, node, rule, factor, operands);
    else if (addend >= 0 && !(mw_op_info(node->op)->padding.kind == MW_PADDING_ANY &&
                              any_is_zero(p, node, rule, factor)))
        zero_operand(p, node, rule, addend, factor, operands);
}

/* Fills the padding of operand 0 with what a maximum or a log-sum-exp does not see. */
static void mask_greatest(Pad *p, const MwNode *node, const MwShardingRule *rule, int factor,
                          MwValueId *operands)
{
    const MwTensor *tensor = mw_value_tensor(from_of(p), node->operands[0]);
    const int d = mw_pad_operand_dim(from_of(p), node, rule, 0, factor);
    const double least =
        mw_op_info(node->op)->combine == MW_COMBINE_MAX ? mw_pad_least(tensor->type) : NO_WEIGHT;
    MW_ASSERT(d >= 0);
    mw_rewrite_at(&p->rewrite, node);
    operands[0] = mask_dim(p->rewrite.to, operands[0], d, tensor->dim[d], least);
}

/* Whether numbers of entries are an input, seen through views; a run then checks them
 * (codegen/plan/bounds.h). What is a part of an input is one of it as it was given. */
static bool are_checked(const MwGraph *graph, MwValueId ids)
{
    bool is_part = false;
    for (;; ids = mw_value_node(graph, ids)->operands[0])
        switch (mw_value_node(graph, ids)->op) {
        case MW_OP_INPUT:
            return true;
        case MW_OP_RESHAPE:
            if (is_part)
                return false;
            break;
        case MW_OP_SLICE:
        case MW_OP_SPLIT:
            if (is_part)
                return false;
            is_part = true;
            break;
        case MW_OP_CAST:
            if (!mw_type_widens(
                    mw_value_tensor(graph, mw_value_node(graph, ids)->operands[0])->type,
                    mw_value_tensor(graph, ids)->type))
                return false;
            break;
        case MW_OP_IDENTITY:
        case MW_OP_TRANSPOSE:
        case MW_OP_BROADCAST:
        case MW_OP_SCAN_IN:
            break;
        default:
            return false;
        }
}

/* Numbers of entries that are not there become -1, so that they do not name padding. */
static void mask_numbers(Pad *p, const MwNode *node, MwValueId *operands)
{
    const MwLookup *entries = mw_op_entries(node->op);
    if (!entries)
        return;
    const MwValueId table =
        entries->table < 0 ? (MwValueId){node->first_result} : node->operands[entries->table];
    const MwTensor *whole = mw_value_tensor(from_of(p), table);
    const int d = mw_lookup_axis(entries, whole), k = entries->index;
    if (!mw_pad_is_padded(&p->sizes, table, d) || are_checked(from_of(p), node->operands[k]))
        return;
    MwGraph *graph = p->rewrite.to;
    const MwTensor scalar = mw_tensor_scalar(mw_value_tensor(graph, operands[k])->type);
    const char *name = mw_value(graph, operands[k])->name;
    const int first = graph->values.count;
    mw_rewrite_at(&p->rewrite, node);
    MwValueId inside = mw_build_binary(graph, MW_OP_LT, operands[k],
                                       mw_build_constant(graph, &scalar, (double)whole->dim[d]));
    operands[k] =
        mw_build_select(graph, inside, operands[k], mw_build_constant(graph, &scalar, -1));
    mw_build_name_temporaries(graph, first, graph->values.count,
                              mw_arena_printf(graph->arena, "%s.unpadded", name));
}

static MwValueId *masked_operands(Pad *p, const MwNode *node, const MwShardingRule *rule)
{
    MwValueId *operands = mw_rewrite_operands(&p->rewrite, node);
    mask_numbers(p, node, operands);
    const MwOpInfo *info = mw_op_info(node->op);
    for (int f = 0; f < rule->factor_count; f++) {
        if (!is_padded_factor(p, node, rule, f))
            continue;
        if (info->padding.kind == MW_PADDING_KEPT)
            zero_all(p, node, rule, f, operands);
        else if (!mw_pad_is_combined(from_of(p), node, rule, f))
            continue;
        else if (info->combine == MW_COMBINE_SUM)
            mask_addends(p, node, rule, f, operands);
        else
            mask_greatest(p, node, rule, f, operands);
    }
    return operands;
}

/* ---- Results ---- */

/* Whether some operand runs over `factor`. */
static bool is_of_operands(const Pad *p, const MwNode *node, const MwShardingRule *rule, int factor)
{
    for (int k = 0; k < node->operand_count; k++)
        if (mw_pad_operand_dim(from_of(p), node, rule, k, factor) >= 0)
            return true;
    return false;
}

/* Whether operands from `first` on are zero in the padding of `factor`. */
static bool rest_is_zero(const Pad *p, const MwNode *node, const MwShardingRule *rule, int factor,
                         int first)
{
    for (int k = first; k < node->operand_count; k++)
        if (!is_zero(p, node, rule, k, factor))
            return false;
    return node->operand_count > first;
}

/* Whether operands after the first run over `factor`. */
static bool is_of_others(const Pad *p, const MwNode *node, const MwShardingRule *rule, int factor)
{
    for (int k = 1; k < node->operand_count; k++)
        if (mw_pad_operand_dim(from_of(p), node, rule, k, factor) >= 0)
            return true;
    return false;
}

/* Whether results are zero in the padding of `factor`, by the column `padding`. */
static bool gives_zero(const Pad *p, const MwNode *node, const MwShardingRule *rule, int factor)
{
    const MwOpPadding padding = mw_op_info(node->op)->padding;
    double value;
    switch (padding.kind) {
    case MW_PADDING_NONE:
        return mw_value_is_constant(from_of(p), (MwValueId){node->first_result}, &value) &&
               value == 0;
    case MW_PADDING_ZERO:
    case MW_PADDING_KEPT:
        return true;
    case MW_PADDING_REST:
        return rest_is_zero(p, node, rule, factor, padding.operand);
    case MW_PADDING_ANY:
        return any_is_zero(p, node, rule, factor);
    case MW_PADDING_AT:
        return is_zero(p, node, rule, padding.operand, factor);
    case MW_PADDING_SCATTER:
        return !is_of_operands(p, node, rule, factor) ||
               is_zero(p, node, rule, padding.operand, factor);
    case MW_PADDING_QUOTIENT:
        return is_zero(p, node, rule, 0, factor) && !is_of_others(p, node, rule, factor);
    }
    MW_UNREACHABLE();
}

/* Whether the node divides by what is zero where all of its operands are. */
static bool divides_by_zero(const MwNode *node)
{
    const MwAttr *eps = mw_node_attr(node, MW_ATTR_EPS);
    return eps && eps->f == 0;
}

/* Notes where a result is zero, and masks it where it may not be finite or where a gradient
 * begins: the terms of a sum that are no padding have gradients, and no others. */
static void note_result(Pad *p, const MwNode *node, const MwShardingRule *rule, int k)
{
    const MwValueId result = {node->first_result + k};
    const uint32_t padded = padded_dims(p, result);
    const bool is_wild = mw_op_info(node->op)->padding.is_wild || divides_by_zero(node);
    uint32_t masked = 0;
    for (int d = 0; d < mw_value_tensor(from_of(p), result)->rank; d++) {
        const int factor = rule->results[k].factor[d];
        if (!(padded >> d & 1))
            continue;
        if (k != rule->normaliser && !divides_by_zero(node) && gives_zero(p, node, rule, factor))
            p->zero[result.index] |= 1u << d;
        else if (is_wild ||
                 (node->phase == MW_PHASE_BACKWARD && !is_of_operands(p, node, rule, factor)))
            masked |= 1u << d;
    }
    if (masked)
        mask_for_all(p, result, masked);
}

/* ---- Nodes ---- */

/* The attributes of a node on padded shapes: its shape, and that of what its positions count. */
static const MwAttr *padded_attrs(const Pad *p, const MwNode *node)
{
    MwArena *arena = p->rewrite.to->arena;
    const MwValueId first = {node->first_result};
    MwAttr *attrs = mw_arena_dup(arena, node->attrs, sizeof(MwAttr) * (size_t)node->attr_count);
    for (int i = 0; i < node->attr_count; i++) {
        const MwAttrKey key = attrs[i].key;
        if (key == MW_ATTR_SHAPE) {
            const MwTensor padded = mw_pad_tensor(&p->sizes, first);
            attrs[i] = mw_attr_shape(arena, &padded);
        }
        if (!mw_attr_is_origin(key))
            continue;
        const int k = mw_op_counted_operand(node->op, key);
        const MwValueId counted = k < 0 ? first : node->operands[k];
        const MwTensor *whole = mw_value_tensor(from_of(p), counted);
        if (!padded_dims(p, counted))
            continue;
        attrs[i] = mw_attr_shape(arena, whole);
        attrs[i].key = key;
        attrs[i + 1] = mw_attr_spec(key + 1, mw_spec_replicated(), whole->rank);
    }
    return attrs;
}

static bool is_touched(const Pad *p, const MwNode *node)
{
    uint32_t dims = 0;
    for (int k = 0; k < node->operand_count; k++)
        dims |= padded_dims(p, node->operands[k]);
    for (int k = 0; k < node->result_count; k++)
        dims |= padded_dims(p, (MwValueId){node->first_result + k});
    return dims != 0;
}

static void emit_padded(Pad *p, const MwNode *node, const MwValueId *operands)
{
    MwGraph *to = p->rewrite.to;
    const char **names = MW_NEW(to->arena, const char *, node->result_count);
    for (int k = 0; k < node->result_count; k++)
        names[k] = from_of(p)->values.at[node->first_result + k].name;
    const MwTensor given = mw_pad_tensor(&p->sizes, (MwValueId){node->first_result});
    const MwNodeSpec spec = {.op = node->op,
                             .operands = operands,
                             .operand_count = node->operand_count,
                             .attrs = padded_attrs(p, node),
                             .attr_count = node->attr_count,
                             .given = &given,
                             .result_names = names};
    mw_rewrite_at(&p->rewrite, node);
    const MwNodeId id = mw_build_node(to, &spec);
    for (int k = 0; k < node->result_count; k++) {
        const MwValueId old = {node->first_result + k}, now = mw_node_result(to, id, k);
        const MwTensor padded = mw_pad_tensor(&p->sizes, old);
        MW_ASSERT(mw_tensor_equal(&padded, mw_value_tensor(to, now)));
        p->rewrite.value[old.index] = now;
    }
}

static void pad_node(Pad *p, MwNodeId id)
{
    const MwNode *node = mw_node(from_of(p), id);
    if (!is_touched(p, node)) {
        mw_rewrite_copy(&p->rewrite, node);
        return;
    }
    const MwShardingRule rule = mw_sharding_rule(p->scratch, from_of(p), id);
    emit_padded(p, node, masked_operands(p, node, &rule));
    for (int k = 0; k < node->result_count; k++)
        note_result(p, node, &rule, k);
}

/* What weights and states become has zeros in its padding, as they have. */
static void pad_assigns(Pad *p)
{
    for (int i = 0; i < from_of(p)->assigns.count; i++) {
        const MwValueId value = from_of(p)->assigns.at[i].value;
        mask_for_all(p, value, padded_dims(p, value));
    }
}

/* Notes what the model keeps, takes and gives, and how large that is without padding. */
static void note_paddings(const Pad *p, MwCompilation *compilation)
{
    const MwGraph *graph = from_of(p);
    for (int v = 0; v < graph->values.count; v++) {
        const MwValueId value = {v};
        if (mw_op_is_data(mw_value_node(graph, value)->op) && padded_dims(p, value))
            mw_vec_push(
                compilation->arena, &compilation->paddings,
                ((MwPadding){mw_value(graph, value)->name, false, *mw_value_tensor(graph, value)}));
    }
    for (int i = 0; i < graph->outputs.count; i++) {
        const MwOutput *output = &graph->outputs.at[i];
        if (padded_dims(p, output->value))
            mw_vec_push(compilation->arena, &compilation->paddings,
                        ((MwPadding){output->name, true, *mw_value_tensor(graph, output->value)}));
    }
}

static void pad_graph(MwCompilation *compilation, const MwPadSizes *sizes)
{
    Pad p = {.rewrite = mw_rewrite_begin(compilation->graph),
             .sizes = *sizes,
             .zero = MW_NEW(compilation->arena, uint32_t, compilation->graph->values.count),
             .scratch = mw_arena_new()};
    for (int n = 0; n < compilation->graph->nodes.count; n++)
        pad_node(&p, (MwNodeId){n});
    pad_assigns(&p);
    mw_rewrite_finish(&p.rewrite);
    note_paddings(&p, compilation);
    mw_arena_free(&p.scratch);
    compilation->graph = p.rewrite.to;
}

/* Notes why inputs and weights that the devices do not divide are not padded. */
static void note_barriers(MwCompilation *compilation, const MwPadSizes *sizes, int devices)
{
    const MwGraph *graph = compilation->graph;
    for (int v = 0; v < graph->values.count; v++) {
        const MwValue *value = &graph->values.at[v];
        const MwOp op = mw_node(graph, value->node)->op;
        for (int d = 0; d < value->tensor.rank && (op == MW_OP_INPUT || op == MW_OP_WEIGHT); d++) {
            const MwPadSize *size = mw_pad_size(sizes, (MwValueId){v}, d);
            MwPadBarrier barrier = {.name = value->name, .dim = d};
            if (value->tensor.dim[d] == 1 || mw_common_divisor(value->tensor.dim[d], devices) > 1 ||
                (size->barrier.index < 0 && mw_pad_matters(sizes, size)))
                continue;
            if (size->barrier.index >= 0) {
                barrier.span = mw_node(graph, size->barrier)->origin.span;
                barrier.op = mw_op_info(mw_node(graph, size->barrier)->op)->name;
            }
            mw_vec_push(compilation->arena, &compilation->barriers, barrier);
        }
    }
}

/* Whether the graph is a dump after micro_batch. */
static bool is_cut(const MwGraph *graph)
{
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_assign_accumulates(graph, &graph->assigns.at[i]))
            return true;
    return false;
}

static PadDevices divided_among(const MwCompilation *compilation)
{
    const MwMeshShape *mesh = &compilation->options.mesh;
    if (!compilation->cluster)
        return (PadDevices){.all = 1, .of_node = 1};
    const int all =
        mesh->axis_count ? mw_mesh_devices(mesh) : mw_cluster_devices(compilation->cluster);
    return (PadDevices){.all = all,
                        .of_node = compilation->cluster->devices_per_node,
                        .ways = mw_divisors(compilation->arena, all)};
}

bool mw_pass_pad(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    const PadDevices among = divided_among(compilation);
    if (among.all == 1 || is_cut(compilation->graph))
        return true;
    MwPadSizes sizes = mw_pad_sizes(compilation->arena, compilation->graph);
    mw_pad_find_companions(&sizes, among.all);
    note_barriers(compilation, &sizes, among.all);
    compilation->padding = choose_sizes(&sizes, &among, compilation->most_padding);
    if (compilation->padding > 0)
        pad_graph(compilation, &sizes);
    return true;
}
