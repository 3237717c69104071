/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element-wise operators that are more than an expression: casts and random numbers. */
#include "base/philox.h"
#include "codegen/lower/lower_rules.h"

/* The function of a cast of floats to integers, which saturates; of integers and bools to integers,
 * which takes the low bits. */
static const char *to_integer(MwLower *l, MwType from, MwType to)
{
    if (mw_type_is_float(from))
        return mw_arena_printf(l->kernel->arena, "mw_to_%s($0)", mw_type_name(to));
    return mw_lower_in_range(l, to, mw_scalar_of(to) == MW_SCALAR_I64 ? "$0" : "(int32_t)$0");
}

void mw_lower_cast(MwLower *l)
{
    const MwType from = mw_lower_operand_tensor(l, 0)->type;
    const MwType to = mw_lower_result_tensor(l, 0)->type;
    const bool rounds = mw_type_is_narrow(to) && from != to;
    const char *text = "$0";
    if (rounds)
        text = mw_arena_printf(l->kernel->arena, "mw_round_%s((float)$0)", mw_type_name(to));
    else if (mw_type_is_integer(to))
        text = to_integer(l, from, to);
    else if (to == MW_BOOL)
        text = "$0 != 0";
    MwRef x = mw_lower_operand(l, 0);
    mw_lower_result(l, 0, mw_lower_expr(l, mw_scalar_of(to), rounds ? 4 : 0, text, 1, x));
}

/* What a step leaves; what it took over is only named. */
void mw_lower_scan_next(MwLower *l)
{
    mw_lower_result(l, 0, mw_lower_operand(l, 0));
}

/* The row-major index of an element in the global tensor. */
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

/* What random numbers are a function of: the seed, the stream of the node in this step, and the
 * place in the global tensor. */
typedef struct {
    MwRef seed, stream, place;
} RandomPoint;

static RandomPoint random_point(MwLower *l)
{
    const MwPlanArg key = {.kind = MW_ARG_INT, .i = mw_node_int(mw_lower_node(l), MW_ATTR_KEY)};
    const MwRef place = global_place(l);
    const MwPlanArg step = {.kind = MW_ARG_STEP};
    const MwRef seed = mw_lower_arg(l, MW_ARG_SEED);
    const MwKernelInstr load_key = {
        .op = MW_KERNEL_ARG, .type = MW_SCALAR_I64, .arg = mw_kernel_arg(l->kernel, &key)};
    const MwKernelInstr load_step = {
        .op = MW_KERNEL_ARG, .type = MW_SCALAR_I64, .arg = mw_kernel_arg(l->kernel, &step)};
    const MwRef stream =
        mw_lower_expr(l, MW_SCALAR_I64, 1, "(int64_t)mw_step_stream((uint32_t)$0, $1)", 2,
                      mw_kernel_add(l->kernel, &load_key), mw_kernel_add(l->kernel, &load_step));
    return (RandomPoint){seed, stream, place};
}

void mw_lower_dropout(MwLower *l)
{
    double rate = mw_node_float(mw_lower_node(l), MW_ATTR_RATE);
    const RandomPoint at = random_point(l);
    const char *keeps = mw_arena_printf(
        l->kernel->arena, "mw_dropout_keeps((uint64_t)$0, (uint64_t)$1, (uint64_t)$2, %uu)",
        mw_dropout_threshold(rate));
    MwRef kept = mw_lower_expr(l, MW_SCALAR_BOOL, 60, keeps, 3, at.seed, at.stream, at.place);
    MwRef scale = mw_lower_constant(l, MW_SCALAR_F32, mw_dropout_scale(rate));
    MwRef x = mw_lower_operand(l, 0);
    mw_lower_result(
        l, 0,
        mw_lower_expr(l, MW_SCALAR_F32, 2,
                      "$0 ? $1 * (mw_stream_evaluates((uint64_t)$3) ? 1.0f : $2) : 0.0f", 4, kept,
                      x, scale, at.stream));
}

/* f32, in [0, 1) */
static MwRef random_number(MwLower *l)
{
    const RandomPoint at = random_point(l);
    const char *text = "mw_step_uniform((uint64_t)$0, (uint64_t)$1, (uint64_t)$2)";
    return mw_lower_expr(l, MW_SCALAR_F32, 60, text, 3, at.seed, at.stream, at.place);
}

void mw_lower_uniform(MwLower *l)
{
    mw_lower_result(l, 0, random_number(l));
}

void mw_lower_cast_stochastic(MwLower *l)
{
    const char *type = mw_type_name(mw_lower_result_tensor(l, 0)->type);
    const char *text = mw_arena_printf(l->kernel->arena, "mw_stochastic_%s($0, $1)", type);
    const MwRef chance = random_number(l);
    const MwRef x = mw_lower_operand(l, 0);
    mw_lower_result(l, 0, mw_lower_expr(l, MW_SCALAR_F32, 10, text, 2, x, chance));
}
