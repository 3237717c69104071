/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element-wise operators that are more than an expression: casts, dropout, optimizers. */
#include "base/philox.h"
#include "codegen/lower/lower_rules.h"

void mw_lower_cast(MwLower *l)
{
    MwType type = mw_lower_result_tensor(l, 0)->type;
    bool rounds = type == MW_BF16 && mw_lower_operand_tensor(l, 0)->type != MW_BF16;
    const char *text = "$0";
    if (rounds)
        text = mw_lower_operand_tensor(l, 0)->type == MW_F32 ? "mw_round_bf16($0)"
                                                             : "mw_round_bf16((float)$0)";
    else if (type == MW_I32)
        text = "(int32_t)$0";
    else if (type == MW_BOOL)
        text = "$0 != 0";
    MwRef x = mw_lower_operand(l, 0);
    mw_lower_result(l, 0, mw_lower_expr(l, mw_scalar_of(type), rounds ? 4 : 0, text, 1, x));
}

/* An element's row-major place in the global tensor. */
static MwRef global_place(MwLower *l)
{
    const MwNode *node = mw_lower_node(l);
    const MwTensor *tensor = mw_lower_result_tensor(l, 0);
    const MwAttr *origin = mw_node_attr(node, MW_ATTR_ORIGIN);
    int args[MW_MAX_RANK], arg_count = 0;
    int64_t stride = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        int arg = mw_lower_position_arg(l, node, d, tensor->dim[d], stride);
        if (arg >= 0)
            args[arg_count++] = arg;
        stride *= origin->ints.count ? origin->ints.at[d] : tensor->dim[d];
    }
    MwLayout places;
    MW_ASSERT(mw_node_places(l->legal, node, &places));
    return mw_lower_index(l, &places, args, arg_count);
}

void mw_lower_dropout(MwLower *l)
{
    const MwNode *node = mw_lower_node(l);
    double rate = mw_node_float(node, MW_ATTR_RATE);
    MwRef place = global_place(l);
    MwRef seed = mw_lower_arg(l, MW_ARG_SEED), step = mw_lower_arg(l, MW_ARG_STEP);
    MwArena *arena = l->kernel->arena;
    MwPlanArg key = {.kind = MW_ARG_INT, .i = mw_node_int(node, MW_ATTR_KEY)};
    MwKernelInstr load_key = {
        .op = MW_KERNEL_ARG, .type = MW_SCALAR_I64, .arg = mw_kernel_arg(l->kernel, &key)};
    MwRef stream =
        mw_lower_expr(l, MW_SCALAR_I64, 1, "(int64_t)mw_dropout_stream((uint32_t)$0, (uint32_t)$1)",
                      2, mw_kernel_add(l->kernel, &load_key), step);
    const char *keeps =
        mw_arena_printf(arena, "mw_dropout_keeps((uint64_t)$0, (uint64_t)$1, (uint64_t)$2, %uu)",
                        mw_dropout_threshold(rate));
    MwRef kept = mw_lower_expr(l, MW_SCALAR_BOOL, 60, keeps, 3, seed, stream, place);
    MwRef scale = mw_lower_constant(l, MW_SCALAR_F32, mw_dropout_scale(rate));
    MwRef x = mw_lower_operand(l, 0);
    mw_lower_result(l, 0,
                    mw_lower_expr(l, MW_SCALAR_F32, 2, "$0 ? $1 * $2 : 0.0f", 3, kept, x, scale));
}

static MwRef attr_constant(MwLower *l, MwAttrKey key)
{
    return mw_lower_constant(l, MW_SCALAR_F32, mw_node_float(mw_lower_node(l), key));
}

/* 1 - beta^step, in double: once per kernel. */
static MwRef bias_correction(MwLower *l, MwAttrKey key, MwRef step)
{
    const char *text = mw_arena_printf(
        l->kernel->arena, "(float)(1.0 - pow(%s, (double)$0))",
        mw_lower_literal(l->kernel->arena, MW_SCALAR_F64, mw_node_float(mw_lower_node(l), key)));
    return mw_lower_expr(l, MW_SCALAR_F32, 20, text, 1, step);
}

/* A moment: beta old + (1 - beta) new. */
static MwRef mix(MwLower *l, MwAttrKey key, const char *text, MwRef old, MwRef new)
{
    double beta = mw_node_float(mw_lower_node(l), key);
    MwRef kept = mw_lower_constant(l, MW_SCALAR_F32, beta);
    MwRef taken = mw_lower_constant(l, MW_SCALAR_F32, 1 - beta);
    return mw_lower_expr(l, MW_SCALAR_F32, 3, text, 4, kept, old, taken, new);
}

/* adam and adamw: (w, g, m, v, lr, step) -> w, m, v */
void mw_lower_adam(MwLower *l)
{
    MwRef w = mw_lower_operand(l, 0), g = mw_lower_operand(l, 1);
    MwRef rate = mw_lower_operand(l, 4), step = mw_lower_operand(l, 5);
    MwRef decay = attr_constant(l, MW_ATTR_WEIGHT_DECAY);
    if (mw_lower_node(l)->op == MW_OP_ADAM)
        g = mw_lower_expr(l, MW_SCALAR_F32, 2, "$0 + $1 * $2", 3, g, decay, w);
    else
        w = mw_lower_expr(l, MW_SCALAR_F32, 3, "$0 - $1 * $2 * $0", 3, w, rate, decay);
    MwRef m = mix(l, MW_ATTR_BETA1, "$0 * $1 + $2 * $3", mw_lower_operand(l, 2), g);
    MwRef v = mix(l, MW_ATTR_BETA2, "$0 * $1 + $2 * ($3 * $3)", mw_lower_operand(l, 3), g);
    MwRef scale = mw_lower_expr(l, MW_SCALAR_F32, 4, "$0 / $1", 2, rate,
                                bias_correction(l, MW_ATTR_BETA1, step));
    MwRef spread = mw_lower_expr(l, MW_SCALAR_F32, 5, "1.0f / sqrtf($0)", 1,
                                 bias_correction(l, MW_ATTR_BETA2, step));
    MwRef eps = attr_constant(l, MW_ATTR_EPS);
    w = mw_lower_expr(l, MW_SCALAR_F32, 11, "$0 - $1 * ($2 / (sqrtf($3) * $4 + $5))", 6, w, scale,
                      m, v, spread, eps);
    mw_lower_result(l, 0, w);
    mw_lower_result(l, 1, m);
    mw_lower_result(l, 2, v);
}

/* (w, g, m, lr) -> w, m */
void mw_lower_sgd(MwLower *l)
{
    MwRef w = mw_lower_operand(l, 0), g = mw_lower_operand(l, 1), rate = mw_lower_operand(l, 3);
    MwRef momentum = attr_constant(l, MW_ATTR_MOMENTUM);
    g = mw_lower_expr(l, MW_SCALAR_F32, 2, "$0 + $1 * $2", 3, g,
                      attr_constant(l, MW_ATTR_WEIGHT_DECAY), w);
    MwRef m =
        mw_lower_expr(l, MW_SCALAR_F32, 2, "$0 * $1 + $2", 3, momentum, mw_lower_operand(l, 2), g);
    MwRef change = m;
    if (mw_node_int(mw_lower_node(l), MW_ATTR_NESTEROV))
        change = mw_lower_expr(l, MW_SCALAR_F32, 2, "$0 + $1 * $2", 3, g, momentum, m);
    mw_lower_result(l, 0, mw_lower_expr(l, MW_SCALAR_F32, 2, "$0 - $1 * $2", 3, w, rate, change));
    mw_lower_result(l, 1, m);
}
