/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/lower/lower_node.h"

#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- Facts of the node ---- */

const MwTensor *mw_lower_operand_tensor(const MwLower *l, int k)
{
    return mw_value_tensor(l->legal->graph, mw_lower_node(l)->operands[k]);
}

const MwTensor *mw_lower_result_tensor(const MwLower *l, int k)
{
    return &l->legal->graph->values.at[mw_lower_node(l)->first_result + k].tensor;
}

static const MwSpace *space_of(const MwLower *l)
{
    return &mw_vec_last(&l->kernel->nests).space;
}

/* ---- Scalars ---- */

const char *mw_lower_literal(MwArena *arena, MwScalar type, double value)
{
    if (type == MW_SCALAR_BOOL)
        return value != 0 ? "true" : "false";
    if (type == MW_SCALAR_I32 || type == MW_SCALAR_I64)
        return mw_arena_printf(arena, "%lld", (long long)value);
    if (isnan(value))
        return "NAN";
    if (isinf(value))
        return value < 0 ? "-INFINITY" : "INFINITY";
    MwText text = {.arena = arena};
    mw_text_add_double(&text, value);
    if (!strpbrk(text.at, ".e"))
        mw_text_add(&text, ".0");
    if (type == MW_SCALAR_F32)
        mw_text_add(&text, "f");
    return text.at;
}

MwRef mw_lower_expr(MwLower *l, MwScalar type, int flops, const char *text, int count, ...)
{
    MwKernelInstr instr = {
        .op = MW_KERNEL_EXPR, .type = type, .text = text, .flops = flops, .input_count = count};
    MW_ASSERT(count <= MW_KERNEL_MAX_INPUTS);
    va_list inputs;
    va_start(inputs, count);
    for (int i = 0; i < count; i++)
        instr.inputs[i] = va_arg(inputs, MwRef);
    va_end(inputs);
    return mw_kernel_add(l->kernel, &instr);
}

const char *mw_lower_in_range(MwLower *l, MwType type, const char *text)
{
    if (type == MW_I8)
        return mw_arena_printf(l->kernel->arena, "(int8_t)(%s)", text);
    if (type == MW_U8)
        return mw_arena_printf(l->kernel->arena, "(uint8_t)(%s)", text);
    return text;
}

MwRef mw_lower_constant(MwLower *l, MwScalar type, double value)
{
    return mw_lower_expr(l, type, 0, mw_lower_literal(l->kernel->arena, type, value), 0);
}

MwRef mw_lower_arg(MwLower *l, MwPlanArgKind kind)
{
    MwPlanArg arg = {.kind = kind};
    MwKernelInstr instr = {.op = MW_KERNEL_ARG,
                           .type = kind == MW_ARG_STEP ? MW_SCALAR_I32 : MW_SCALAR_I64,
                           .arg = mw_kernel_arg(l->kernel, &arg)};
    return mw_kernel_add(l->kernel, &instr);
}

MwRef mw_lower_fold(MwLower *l, MwKernelOp op, MwRef value)
{
    const MwNest *nest = &mw_vec_last(&l->kernel->nests);
    MwKernelInstr instr = {.op = op,
                           .level = MW_LEVEL_ROW,
                           .type = mw_nest_instr(nest, value)->type,
                           .inputs = {value},
                           .input_count = 1};
    if (op == MW_KERNEL_COLUMN_SUM || op == MW_KERNEL_COLUMN_MAX)
        instr.level = MW_LEVEL_COLUMN;
    if (op == MW_KERNEL_TOTAL_SUM || op == MW_KERNEL_TOTAL_MAX)
        instr.level = MW_LEVEL_TOTAL;
    return mw_kernel_add(l->kernel, &instr);
}

/* ---- Places ---- */

MwAffine mw_lower_affine(MwLower *l, const MwLayout *layout)
{
    const MwSpace *space = space_of(l);
    MwAffine at = {.offset = layout->offset};
    MwLayout cut = *layout;
    mw_layout_collapse(&cut);
    int64_t inner = 1;
    for (int d = space->dim_count - 1; d >= 0; d--) {
        MW_ASSERT(mw_layout_cut(&cut, inner));
        inner *= space->size[d];
    }
    MW_ASSERT(cut.dim_count == space->dim_count);
    for (int d = 0; d < space->dim_count; d++) {
        MW_ASSERT(cut.size[d] == space->size[d]);
        at.stride[d] = cut.stride[d];
    }
    if (!mw_layout_is_fixed(layout)) {
        MwPlanArg arg = {.kind = MW_ARG_POSITION,
                         .axes = layout->shard_axes,
                         .block_stride = layout->shard_stride,
                         .loop_stride = layout->loop_stride};
        at.args[at.arg_count++] = mw_kernel_arg(l->kernel, &arg);
    }
    return at;
}

static MwAffine spread_affine(MwLower *l, const MwLayout *layout)
{
    MwLayout spread = mw_units_spread(l->unit, l->level, layout);
    return mw_lower_affine(l, &spread);
}

MwRef mw_lower_index(MwLower *l, const MwLayout *layout, const int *args, int arg_count)
{
    MwKernelInstr instr = {.op = MW_KERNEL_INDEX, .type = MW_SCALAR_I64};
    instr.at = spread_affine(l, layout);
    for (int i = 0; i < arg_count; i++)
        instr.at.args[instr.at.arg_count++] = args[i];
    instr.level = mw_affine_level(&instr.at, space_of(l));
    if (l->level >= MW_LEVEL_COLUMN)
        instr.level = l->level;
    return mw_kernel_add(l->kernel, &instr);
}

int mw_lower_position_arg(MwLower *l, const MwNode *node, int d, int64_t dim, int64_t stride)
{
    const MwAttr *origin = mw_node_attr(node, MW_ATTR_ORIGIN);
    if (!origin->ints.count)
        return -1;
    MW_ASSERT(d < origin->ints.count);
    MwPlanArg arg = {.kind = MW_ARG_POSITION,
                     .axes = mw_spec_dim(mw_node_spec(node, MW_ATTR_SPLIT), d)};
    int64_t covered = dim * mw_mesh_ways(l->mesh, arg.axes);
    arg.block_stride = arg.axes ? dim * stride : 0;
    if (origin->ints.at[d] > covered)
        arg.micro_stride = covered * stride;
    if (!arg.block_stride && !arg.micro_stride)
        return -1;
    return mw_kernel_arg(l->kernel, &arg);
}

MwRef mw_lower_local_index(MwLower *l, MwRef index, int axis, int64_t entries)
{
    int arg = mw_lower_position_arg(l, mw_lower_node(l), axis, entries, 1);
    if (arg < 0)
        return index;
    MwKernelInstr first = {.op = MW_KERNEL_ARG, .type = MW_SCALAR_I64, .arg = arg};
    return mw_lower_expr(l, MW_SCALAR_I64, 1, "$0 - $1", 2, index,
                         mw_kernel_add(l->kernel, &first));
}

/* ---- Loads and stores ---- */

static int operand_of(MwLower *l, MwValueId root)
{
    int32_t buffer = l->buffer[root.index];
    MW_ASSERT(buffer >= 0);
    return mw_kernel_operand(l->kernel, buffer, mw_value_tensor(l->legal->graph, root));
}

static MwKernelInstr load_of(MwLower *l, MwValueId root, const MwAffine *at)
{
    MwType type = mw_value_tensor(l->legal->graph, root)->type;
    MwKernelInstr instr = {.op = MW_KERNEL_LOAD, .type = mw_scalar_of(type), .at = *at};
    instr.operand = operand_of(l, root);
    l->kernel->operands.at[instr.operand].reads = true;
    instr.level = mw_affine_level(at, space_of(l));
    if (l->level >= MW_LEVEL_COLUMN)
        instr.level = l->level;
    return instr;
}

MwRef mw_lower_load_at(MwLower *l, MwValueId root, const MwAffine *at)
{
    MwKernelInstr instr = load_of(l, root, at);
    return mw_kernel_add(l->kernel, &instr);
}

static void add_effect(MwLower *l, MwValueId root, MwKernelInstr instr)
{
    instr.operand = operand_of(l, root);
    instr.level = l->level;
    l->kernel->operands.at[instr.operand].writes = true;
    mw_kernel_add(l->kernel, &instr);
}

void mw_lower_store_at(MwLower *l, MwValueId root, const MwAffine *at, MwRef value)
{
    add_effect(
        l, root,
        (MwKernelInstr){.op = MW_KERNEL_STORE, .inputs = {value}, .input_count = 1, .at = *at});
}

bool mw_lower_is_over(const MwLower *l, int k)
{
    const MwNode *node = mw_lower_node(l);
    return l->buffer[mw_legal_root(l->legal, node->operands[k]).index] ==
           l->buffer[node->first_result];
}

void mw_lower_keep_rest(MwLower *l, int k)
{
    const MwValueId root = mw_legal_root(l->legal, mw_lower_node(l)->operands[k]);
    l->kernel->operands.at[operand_of(l, root)].reads = true;
}

void mw_lower_effect_at(MwLower *l, MwKernelOp op, MwValueId root, const MwAffine *at,
                        int64_t stride, MwRef row, MwRef value)
{
    add_effect(l, root,
               (MwKernelInstr){.op = op,
                               .inputs = {value, row},
                               .input_count = 2,
                               .at = *at,
                               .gather_stride = stride});
}

/* Computes the number of a generator at the point. */
static MwRef generate(MwLower *l, const MwNode *generator, const MwLayout *access)
{
    const MwTensor *tensor = &l->legal->graph->values.at[generator->first_result].tensor;
    if (generator->op == MW_OP_STEP)
        return mw_lower_arg(l, MW_ARG_STEP);
    if (generator->op == MW_OP_CONSTANT)
        return mw_lower_constant(l, mw_scalar_of(tensor->type),
                                 mw_node_float(generator, MW_ATTR_VALUE));
    int axis = (int)mw_node_int(generator, MW_ATTR_AXIS);
    int arg = mw_lower_position_arg(l, generator, axis, tensor->dim[axis], 1);
    MwRef index = mw_lower_index(l, access, &arg, arg >= 0);
    MwScalar type = mw_scalar_of(tensor->type);
    const char *text = type == MW_SCALAR_F32   ? "(float)$0"
                       : type == MW_SCALAR_I64 ? "$0"
                                               : "(int32_t)$0";
    return mw_lower_expr(l, type, 0, mw_lower_in_range(l, tensor->type, text), 1, index);
}

/* A load by an index; 0 if the index is outside the part of the table that this device holds. */
static MwRef gathered_load(MwLower *l, MwValueId root, const MwAffine *at, int64_t stride,
                           int64_t entries)
{
    const MwNode *node = mw_lower_node(l);
    const MwLookup *lookup = mw_op_lookup(node->op);
    MwRef id = mw_lower_operand(l, lookup->index);
    int axis = mw_lookup_axis(lookup, mw_lower_operand_tensor(l, lookup->table));
    id = mw_lower_local_index(l, id, axis, entries);
    const char *test =
        mw_arena_printf(l->kernel->arena, "$0 >= 0 && $0 < %lld", (long long)entries);
    MwRef here = mw_lower_expr(l, MW_SCALAR_BOOL, 1, test, 1, id);
    MwRef safe = mw_lower_expr(l, MW_SCALAR_I64, 1, "$0 ? (int64_t)$1 : 0", 2, here, id);
    MwKernelInstr load = load_of(l, root, at);
    load.inputs[0] = safe;
    load.input_count = 1;
    load.gather_stride = stride;
    MwRef entry = mw_kernel_add(l->kernel, &load);
    return mw_lower_expr(l, load.type, 1, "$0 ? $1 : 0", 2, here, entry);
}

MwRef mw_lower_operand(MwLower *l, int k)
{
    const MwNode *node = mw_lower_node(l);
    const MwView *view = &l->legal->views.at[node->operands[k].index];
    const MwNode *producer = mw_value_node(l->legal->graph, view->root);
    MwLayout access = mw_node_access(l->legal, node, k);
    if (mw_op_is_generator(producer->op))
        return generate(l, producer, &access);
    if (l->ref[view->root.index].index >= 0)
        return l->ref[view->root.index];
    MwAffine at = spread_affine(l, &access);
    int64_t stride, entries;
    if (mw_node_gathers(l->legal, node, k, &stride, &entries))
        return gathered_load(l, view->root, &at, stride, entries);
    return mw_lower_load_at(l, view->root, &at);
}

/* Whether result k is an f16 that arithmetic may have taken beyond the numbers of f16. Inside a
 * kernel it is an f32; it becomes infinite all the same, wherever it is used. */
static bool may_overflow(const MwLower *l, int k)
{
    const MwOpInfo *info = mw_op_info(mw_lower_node(l)->op);
    const bool computes = info->lowering == MW_LOWER_MAP || info->lowering == MW_LOWER_REDUCE ||
                          info->lowering == MW_LOWER_ROWS;
    return computes && info->flops_per_point > 0 && mw_lower_result_tensor(l, k)->type == MW_F16;
}

void mw_lower_result(MwLower *l, int k, MwRef value)
{
    MwValueId result = {mw_lower_node(l)->first_result + k};
    if (may_overflow(l, k))
        value = mw_lower_expr(l, MW_SCALAR_F32, 2, "mw_end_f16($0)", 1, value);
    l->ref[result.index] = value;
    if (!l->units->is_stored[result.index])
        return;
    MwLevel node_level = l->level;
    MwLevel level = mw_units_result_level(l->legal, l->units, l->node);
    l->level = level;
    MwLayout stored = mw_node_store(l->legal, mw_lower_node(l), k);
    MwAffine at = spread_affine(l, &stored);
    mw_lower_store_at(l, result, &at, value);
    l->level = node_level;
}

/* ---- Nests ---- */

MwNest *mw_lower_nest(MwLower *l, const int64_t *size, int dim_count, int row_dims)
{
    MwNest *nest = mw_vec_add(l->kernel->arena, &l->kernel->nests);
    nest->space = (MwSpace){.row_dims = 0};
    for (int d = 0; d < dim_count; d++) {
        if (size[d] == 1)
            continue;
        nest->space.size[nest->space.dim_count++] = size[d];
        nest->space.row_dims += d < row_dims;
    }
    return nest;
}
