/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/lower/lower.h"

#include "base/text.h"
#include "codegen/lower/lower_rules.h"

#include <string.h>

/* The operators that have a rule; others are lowered by their expression. */
static MwLowerRule *const rules[MW_OP_COUNT] = {
    [MW_OP_DROPOUT] = mw_lower_dropout,
    [MW_OP_UNIFORM] = mw_lower_uniform,
    [MW_OP_CAST] = mw_lower_cast,
    [MW_OP_CAST_STOCHASTIC] = mw_lower_cast_stochastic,
    [MW_OP_SCAN_NEXT] = mw_lower_scan_next,
#define OPTIMIZER(id, ...) [MW_OP_##id] = mw_lower_update,
#include "ir/optimizers.def"
    [MW_OP_REDUCE_SUM] = mw_lower_reduce,
    [MW_OP_REDUCE_MAX] = mw_lower_reduce,
    [MW_OP_SOFTMAX] = mw_lower_softmax,
    [MW_OP_SOFTMAX_GRAD] = mw_lower_softmax_grad,
    [MW_OP_LOG_SOFTMAX] = mw_lower_log_softmax,
    [MW_OP_LOG_SOFTMAX_GRAD] = mw_lower_log_softmax_grad,
    [MW_OP_LOGSUMEXP] = mw_lower_logsumexp,
    [MW_OP_LOGSUMEXP_GRAD] = mw_lower_logsumexp_grad,
    [MW_OP_LAYER_NORM] = mw_lower_layer_norm,
    [MW_OP_LAYER_NORM_GRAD] = mw_lower_layer_norm_grad,
    [MW_OP_RMS_NORM] = mw_lower_rms_norm,
    [MW_OP_RMS_NORM_GRAD] = mw_lower_rms_norm_grad,
    [MW_OP_EMBEDDING] = mw_lower_embedding,
    [MW_OP_EMBEDDING_GRAD] = mw_lower_embedding_grad,
    [MW_OP_PUT_ROWS] = mw_lower_put_rows,
    [MW_OP_ADD_ROWS] = mw_lower_add_rows,
    [MW_OP_PICK] = mw_lower_pick,
    [MW_OP_TAKE_ALONG] = mw_lower_pick,
    [MW_OP_PICK_GRAD] = mw_lower_pick_grad,
    [MW_OP_ROPE] = mw_lower_rope,
    [MW_OP_PAD] = mw_lower_pad,
    [MW_OP_CONCAT] = mw_lower_concat,
};

/* ---- Element-wise operators ---- */

/* The expression of an operator, with its attributes as literals and the type of its operands as
 * the ending of a function. */
static const char *fill_attrs(MwLower *l, const MwNode *node, const char *expression)
{
    MwText text = {.arena = l->kernel->arena};
    for (const char *c = expression; *c; c++) {
        if (*c != '@') {
            mw_text_add_n(&text, c, 1);
            continue;
        }
        char name[32];
        size_t length = strspn(c + 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
        MW_ASSERT(length < sizeof name);
        memcpy(name, c + 1, length);
        name[length] = '\0';
        c += length;
        if (strcmp(name, "type") == 0) {
            const MwScalar type = mw_scalar_of(mw_lower_operand_tensor(l, 0)->type);
            mw_text_add(&text, mw_scalar_name(type));
            continue;
        }
        MwAttrKey key;
        MW_ASSERT(mw_attr_parse(name, &key));
        mw_text_add(&text, mw_lower_literal(text.arena, MW_SCALAR_F32, mw_node_float(node, key)));
    }
    return text.at;
}

static void lower_expression(MwLower *l)
{
    const MwNode *node = mw_lower_node(l);
    const MwOpInfo *info = mw_op_info(node->op);
    MW_ASSERT(info->expression && node->result_count == 1);
    MwKernelInstr instr = {.op = MW_KERNEL_EXPR,
                           .type = mw_scalar_of(mw_lower_result_tensor(l, 0)->type),
                           .text = mw_lower_in_range(l, mw_lower_result_tensor(l, 0)->type,
                                                     fill_attrs(l, node, info->expression)),
                           .flops = info->flops_per_point,
                           .input_count = node->operand_count};
    for (int k = 0; k < node->operand_count; k++)
        instr.inputs[k] = mw_lower_operand(l, k);
    mw_lower_result(l, 0, mw_kernel_add(l->kernel, &instr));
}

/* ---- Units ---- */

static void add_unit_nest(MwLower *l)
{
    const MwUnit *unit = l->unit;
    int64_t size[MW_SPACE_MAX_DIMS + 1], outer = unit->space.points;
    int64_t rows = unit->space.columns ? unit->space.points / unit->space.columns : 1;
    int count = 0, row_dims = 0;
    for (int c = unit->cut_count - 1; c >= -1; c--) {
        int64_t inner = c >= 0 ? unit->cuts[c] : 1;
        size[count++] = outer / inner;
        outer = inner;
        if (unit->space.columns && rows > 1 && inner >= unit->space.columns)
            row_dims = count;
    }
    mw_lower_nest(l, size, count, row_dims);
}

static void lower_node(MwLower *l, int n)
{
    l->node = n;
    l->level = l->units->level[n];
    MwOp op = mw_lower_node(l)->op;
    if (rules[op])
        rules[op](l);
    else
        lower_expression(l);
}

MwLower mw_lower_begin(const MwLegal *legal, const MwUnits *units, const int32_t *buffer,
                       const MwMeshShape *mesh)
{
    MwLower l = {.legal = legal, .units = units, .buffer = buffer, .mesh = mesh};
    int values = legal->graph->values.count;
    l.ref = MW_NEW(legal->graph->arena, MwRef, values);
    memset(l.ref, -1, sizeof(MwRef) * (size_t)values);
    return l;
}

static void forget_refs(MwLower *l)
{
    for (int i = 0; i < l->unit->nodes.count; i++) {
        const MwNode *node = &l->legal->graph->nodes.at[l->unit->nodes.at[i]];
        for (int k = 0; k < node->result_count; k++)
            l->ref[node->first_result + k].index = -1;
    }
}

MwKernelDef *mw_lower_unit(MwLower *l, int unit, MwArena *arena)
{
    l->unit = &l->units->units.at[unit];
    l->kernel = MW_NEW(arena, MwKernelDef, 1);
    l->kernel->arena = arena;
    if (!l->unit->space.is_alone)
        add_unit_nest(l);
    for (int i = 0; i < l->unit->nodes.count; i++)
        lower_node(l, l->unit->nodes.at[i]);
    for (int i = 0; i < l->kernel->nests.count; i++)
        mw_nest_finish(&l->kernel->nests.at[i]);
    mw_kernel_flatten(l->kernel);
    forget_refs(l);
    return l->kernel;
}
