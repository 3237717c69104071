/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/legal/library.h"

#include "codegen/legal/library_args.h"

typedef struct {
    MwRoutine routine;
    MwLegalRule *rule;
    MwLibraryArguments *fill_args;
} Library;

/* Indices in i32; those that i32 lacks become its ends, which are no indices of anything either. */
static MwValueId narrow_ids(MwLegalizer *l, MwValueId ids)
{
    static const struct {
        MwOp op;
        double bound;
    } bounds[] = {{MW_OP_MAXIMUM, INT32_MIN}, {MW_OP_MINIMUM, INT32_MAX}};
    if (mw_legal_tensor(l, ids)->type == MW_I32)
        return ids;
    for (int i = 0; i < MW_COUNT(bounds); i++) {
        const MwTensor tensor = *mw_legal_tensor(l, ids);
        const MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, tensor.type),
                                mw_attr_shape(l->legal->graph->arena, &tensor),
                                mw_attr_float(MW_ATTR_VALUE, bounds[i].bound)};
        const MwValueId operands[] = {
            ids, mw_legal_add(l, MW_OP_CONSTANT, NULL, 0, attrs, MW_COUNT(attrs))};
        ids = mw_legal_add(l, bounds[i].op, operands, MW_COUNT(operands), NULL, 0);
    }
    return mw_legal_cast(l, ids, MW_I32);
}

void mw_legal_dense_ids(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                        MwValueId *results)
{
    MwValueId *taken = mw_arena_dup(l->legal->graph->arena, operands,
                                    sizeof *operands * (size_t)node->operand_count);
    taken[0] = narrow_ids(l, operands[0]);
    mw_legal_dense_operands(l, node, taken, results);
}

void mw_legal_dense_operands(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                             MwValueId *results)
{
    MwArena *arena = l->legal->graph->arena;
    const bool widens = !l->legal->backend->takes_halves;
    MwValueId *taken = MW_NEW(arena, MwValueId, node->operand_count);
    MwNode call = *node;
    MwAttr *attrs = mw_arena_dup(arena, node->attrs, sizeof(MwAttr) * (size_t)node->attr_count);
    for (int k = 0; k < node->operand_count; k++) {
        const MwType type = mw_legal_tensor(l, operands[k])->type;
        taken[k] = mw_legal_dense(l, operands[k], widens && mw_type_is_half(type) ? MW_F32 : type);
    }
    for (int i = 0; i < node->attr_count; i++)
        if (attrs[i].key == MW_ATTR_TYPE && mw_legal_tensor(l, taken[0])->type == MW_F32)
            attrs[i].i = MW_TYPE_NOT_GIVEN;
    call.attrs = attrs;
    mw_legal_call(l, &call, taken, results);
}

/* Bytes are copied, whatever they mean. */
void mw_legal_host_copy(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                        MwValueId *results)
{
    const MwValueId dense = mw_legal_dense(l, operands[0], mw_legal_tensor(l, operands[0])->type);
    mw_legal_call(l, node, &dense, results);
}

void mw_arguments_host_copy(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    args[0].i = mw_tensor_bytes(mw_legal_operand_tensor(legal, node, 0));
}

static const Library libraries[MW_OP_COUNT] = {
#define LIBRARY(id, routine, work, legal, arguments)                                               \
    [MW_OP_##id] = {MW_ROUTINE_##routine, mw_legal_##legal, mw_arguments_##arguments},
#include "ir/ops.def"
};

static const Library *library_of(MwOp op)
{
    MW_ASSERT(mw_op_info(op)->lowering == MW_LOWER_LIBRARY);
    return &libraries[op];
}

MwRoutine mw_library_routine(MwOp op)
{
    return library_of(op)->routine;
}

MwLegalRule *mw_library_rule(MwOp op)
{
    return library_of(op)->rule;
}

MwPlanArg *mw_library_args(MwArena *arena, const MwLegal *legal, const MwNode *node)
{
    const MwRoutineInfo *info = mw_routine_info(mw_library_routine(node->op));
    MwPlanArg *args = MW_NEW(arena, MwPlanArg, info->int_count + info->float_count);
    for (int i = 0; i < info->float_count; i++)
        args[info->int_count + i].kind = MW_ARG_FLOAT;
    library_of(node->op)->fill_args(legal, node, args);
    return args;
}

/* The size does not depend on the position of the device in the mesh: arguments that do are 0
 * here. */
int64_t mw_library_scratch_bytes(MwArena *arena, const MwLegal *legal, const MwNode *node)
{
    const MwRoutine routine = mw_library_routine(node->op);
    const MwRoutineInfo *info = mw_routine_info(routine);
    const int count = info->int_count + info->float_count;
    const MwPlanArg *args = mw_library_args(arena, legal, node);
    MwKernelArg *values = MW_NEW(arena, MwKernelArg, count);
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    if (!mw_routine_has_scratch(routine))
        return 0;
    for (int i = 0; i < count; i++)
        if (args[i].kind == MW_ARG_FLOAT)
            values[i].f = args[i].f;
        else
            values[i].i = args[i].i;
    MW_ASSERT(mw_routine_extents(routine, values, bytes));
    return bytes[info->operand_count - 1];
}
