/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/kernel/kernel.h"

#include <math.h>
#include <string.h>

int mw_kernel_operand(MwKernelDef *kernel, int buffer, const MwTensor *tensor)
{
    for (int i = 0; i < kernel->operands.count; i++) {
        if (kernel->operands.at[i].buffer == buffer) {
            MW_ASSERT(kernel->operands.at[i].type == tensor->type);
            return i;
        }
    }
    mw_vec_push(kernel->arena, &kernel->operands,
                ((MwKernelOperand){.buffer = buffer,
                                   .type = tensor->type,
                                   .elements = mw_tensor_elements(tensor)}));
    return kernel->operands.count - 1;
}

void mw_kernel_add_scratch(MwKernelDef *kernel, int buffer, int64_t bytes)
{
    MW_ASSERT(bytes > 0 && !kernel->scratch_bytes);
    kernel->scratch_bytes = bytes;
    mw_vec_push(kernel->arena, &kernel->operands,
                ((MwKernelOperand){.buffer = buffer, .type = MW_F32, .writes = true}));
}

static bool args_equal(const MwPlanArg *a, const MwPlanArg *b)
{
    return a->kind == b->kind && a->i == b->i && a->f == b->f && a->axes == b->axes &&
           a->block_stride == b->block_stride && a->micro_stride == b->micro_stride &&
           a->loop_stride == b->loop_stride && a->axis == b->axis && a->places == b->places;
}

int mw_kernel_arg(MwKernelDef *kernel, const MwPlanArg *arg)
{
    for (int i = 0; i < kernel->args.count; i++)
        if (args_equal(&kernel->args.at[i], arg))
            return i;
    mw_vec_push(kernel->arena, &kernel->args, *arg);
    return kernel->args.count - 1;
}

static bool affine_equal(const MwAffine *a, const MwAffine *b)
{
    return a->offset == b->offset && a->arg_count == b->arg_count &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
           memcmp(a->args, b->args, sizeof(int) * (size_t)a->arg_count) == 0;
}

static bool instr_equal(const MwKernelInstr *a, const MwKernelInstr *b)
{
    if (a->op != b->op || a->level != b->level || a->type != b->type ||
        a->input_count != b->input_count || a->operand != b->operand || a->arg != b->arg ||
        a->gather_stride != b->gather_stride || !affine_equal(&a->at, &b->at))
        return false;
    for (int i = 0; i < a->input_count; i++)
        if (a->inputs[i].index != b->inputs[i].index)
            return false;
    return a->op != MW_KERNEL_EXPR || strcmp(a->text, b->text) == 0;
}

static MwLevel level_of(const MwNest *nest, const MwKernelInstr *instr)
{
    MwLevel level = instr->level;
    for (int i = 0; i < instr->input_count; i++) {
        MwLevel input = mw_nest_instr(nest, instr->inputs[i])->level;
        level = input > level ? input : level;
    }
    return level;
}

MwRef mw_kernel_add(MwKernelDef *kernel, const MwKernelInstr *instr)
{
    MwNest *nest = &mw_vec_last(&kernel->nests);
    MwKernelInstr added = *instr;
    if (!mw_instr_is_reduction(instr))
        added.level = level_of(nest, instr);
    for (int i = 0; i < nest->instrs.count && !mw_instr_is_effect(&added); i++)
        if (instr_equal(&nest->instrs.at[i], &added))
            return (MwRef){i};
    mw_vec_push(kernel->arena, &nest->instrs, added);
    return (MwRef){nest->instrs.count - 1};
}

MwLevel mw_affine_level(const MwAffine *at, const MwSpace *space)
{
    MwLevel level = MW_LEVEL_UNIFORM;
    for (int d = 0; d < space->dim_count; d++)
        if (at->stride[d] && space->size[d] > 1)
            level = d < space->row_dims && level < MW_LEVEL_POINT ? MW_LEVEL_ROW : MW_LEVEL_POINT;
    return level;
}

static int64_t product(const MwSpace *space, int begin, int end)
{
    int64_t count = 1;
    for (int d = begin; d < end; d++)
        count *= space->size[d];
    return count;
}

static int64_t space_points(const MwSpace *space)
{
    return product(space, 0, space->dim_count);
}

static int64_t space_rows(const MwSpace *space)
{
    return product(space, 0, space->row_dims);
}

int64_t mw_space_columns(const MwSpace *space)
{
    return product(space, space->row_dims, space->dim_count);
}

/* Whether dimensions d and d + 1 have one stride together in every access of the nest. */
static bool can_merge(const MwNest *nest, int d)
{
    if (d + 1 == nest->space.row_dims)
        return false;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwAffine *at = &nest->instrs.at[i].at;
        if (at->stride[d] != at->stride[d + 1] * nest->space.size[d + 1])
            return false;
    }
    return true;
}

/* Merges dimension d into dimension d + 1. */
static void merge(MwNest *nest, int d)
{
    MwSpace *space = &nest->space;
    space->size[d + 1] *= space->size[d];
    for (int k = d; k + 1 < space->dim_count; k++)
        space->size[k] = space->size[k + 1];
    for (int i = 0; i < nest->instrs.count; i++) {
        int64_t *stride = nest->instrs.at[i].at.stride;
        for (int k = d; k + 1 < space->dim_count; k++)
            stride[k] = stride[k + 1];
        stride[space->dim_count - 1] = 0;
    }
    space->dim_count--;
    space->row_dims -= d < space->row_dims;
}

/* Whether the nest depends on what a row is. */
static bool nest_has_rows(const MwNest *nest)
{
    for (int i = 0; i < nest->instrs.count; i++)
        if (mw_instr_is_reduction(&nest->instrs.at[i]) || nest->instrs.at[i].op == MW_KERNEL_ADD)
            return true;
    return false;
}

static void relevel(MwNest *nest)
{
    for (int i = 0; i < nest->instrs.count; i++) {
        MwKernelInstr *instr = &nest->instrs.at[i];
        if (mw_instr_is_reduction(instr))
            continue;
        instr->level = mw_affine_level(&instr->at, &nest->space);
        instr->level = level_of(nest, instr);
    }
}

void mw_nest_finish(MwNest *nest)
{
    bool has_rows = nest_has_rows(nest);
    if (!has_rows)
        nest->space.row_dims = 0;
    for (int d = nest->space.dim_count - 2; d >= 0; d--)
        if (can_merge(nest, d))
            merge(nest, d);
    if (!has_rows && nest->space.dim_count) {
        nest->space.row_dims = nest->space.dim_count - 1;
        relevel(nest);
    }
}

MwScalar mw_scalar_of(MwType type)
{
    static const MwScalar scalars[MW_TYPE_COUNT] = {
#define TYPE(id, name, bytes, kind, element, scalar, ...) [MW_##id] = MW_SCALAR_##scalar,
#include "base/types.def"
    };
    return scalars[type];
}

const char *mw_scalar_name(MwScalar type)
{
    static const char *const names[] = {[MW_SCALAR_F32] = "f32",
                                        [MW_SCALAR_F64] = "f64",
                                        [MW_SCALAR_I32] = "i32",
                                        [MW_SCALAR_I64] = "i64",
                                        [MW_SCALAR_BOOL] = "bool"};
    return names[type];
}

static double runs_of(const MwNest *nest, const MwKernelInstr *instr)
{
    const MwSpace *space = &nest->space;
    switch (instr->level) {
    case MW_LEVEL_UNIFORM:
    case MW_LEVEL_TOTAL:
        return 1;
    case MW_LEVEL_ROW:
        return (double)space_rows(space);
    case MW_LEVEL_COLUMN:
        return (double)mw_space_columns(space);
    case MW_LEVEL_POINT:
        break;
    }
    return (double)space_points(space);
}

double mw_kernel_flops(const MwKernelDef *kernel)
{
    double flops = 0;
    for (int n = 0; n < kernel->nests.count; n++) {
        const MwNest *nest = &kernel->nests.at[n];
        for (int i = 0; i < nest->instrs.count; i++) {
            const MwKernelInstr *instr = &nest->instrs.at[i];
            if (instr->op == MW_KERNEL_EXPR)
                flops += runs_of(nest, instr) * instr->flops;
            else if (mw_instr_is_reduction(instr))
                flops += runs_of(nest, mw_nest_instr(nest, instr->inputs[0]));
        }
    }
    return flops;
}

MwKernelRows mw_kernel_rows(const MwKernelDef *kernel)
{
    MwKernelRows rows = {0};
    double most = 0;
    for (int n = 0; n < kernel->nests.count; n++) {
        const MwNest *nest = &kernel->nests.at[n];
        double flops = 0;
        for (int i = 0; i < nest->instrs.count; i++)
            if (mw_instr_reduces_row(&nest->instrs.at[i]))
                flops += (double)space_points(&nest->space);
        rows.flops += flops;
        if (flops > most) {
            most = flops;
            rows.columns = (double)mw_space_columns(&nest->space);
        }
    }
    return rows;
}

/* The number of distinct elements that an access touches, if no two points with different
 * indices share one. */
static double elements_touched(const MwNest *nest, const MwKernelInstr *instr)
{
    double elements = 1;
    for (int d = 0; d < nest->space.dim_count; d++)
        if (instr->at.stride[d])
            elements *= (double)nest->space.size[d];
    if (instr->gather_stride)
        elements = runs_of(nest, instr);
    return elements;
}

/* The bytes that an access moves. What is added to is read besides, unless the kernel has written
 * it just before, and once for all rows that go to one place. */
static double bytes_moved(const MwKernelDef *kernel, const MwNest *nest, const MwKernelInstr *instr)
{
    const MwKernelOperand *operand = &kernel->operands.at[instr->operand];
    double elements = elements_touched(nest, instr);
    if (instr->op == MW_KERNEL_ADD)
        elements = (1 + operand->reads) * fmin(elements, (double)operand->elements);
    return elements * mw_type_bytes(operand->type);
}

double mw_kernel_bytes(const MwKernelDef *kernel)
{
    double bytes = 0;
    for (int n = 0; n < kernel->nests.count; n++) {
        const MwNest *nest = &kernel->nests.at[n];
        for (int i = 0; i < nest->instrs.count; i++)
            if (nest->instrs.at[i].op <= MW_KERNEL_ADD)
                bytes += bytes_moved(kernel, nest, &nest->instrs.at[i]);
    }
    return bytes;
}

/* The instruction that computes the value `ref`, where copies are skipped. */
static const MwKernelInstr *source_of(const MwNest *nest, MwRef ref)
{
    const MwKernelInstr *instr = mw_nest_instr(nest, ref);
    while (instr->op == MW_KERNEL_EXPR && strcmp(instr->text, "$0") == 0 &&
           mw_nest_instr(nest, instr->inputs[0])->type == instr->type)
        instr = mw_nest_instr(nest, instr->inputs[0]);
    return instr;
}

static bool stores_what_is_there(const MwNest *nest, const MwKernelInstr *store)
{
    const MwKernelInstr *load = source_of(nest, store->inputs[0]);
    return store->op == MW_KERNEL_STORE && load->op == MW_KERNEL_LOAD &&
           load->operand == store->operand && load->input_count == 0 && store->input_count == 1 &&
           affine_equal(&load->at, &store->at);
}

bool mw_kernel_is_idle(const MwKernelDef *kernel)
{
    for (int n = 0; n < kernel->nests.count; n++) {
        const MwNest *nest = &kernel->nests.at[n];
        for (int i = 0; i < nest->instrs.count; i++)
            if (mw_instr_is_effect(&nest->instrs.at[i]) &&
                !stores_what_is_there(nest, &nest->instrs.at[i]))
                return false;
    }
    return true;
}
