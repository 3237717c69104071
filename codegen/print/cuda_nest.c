/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_nest.h"

bool mw_cuda_has_columns(const MwCudaNest *n)
{
    return n->p.nest->space.dim_count > n->p.nest->space.row_dims;
}

bool mw_cuda_sums_at_once(const MwCudaNest *n)
{
    return n->spread == MW_SPREAD_COLUMNS && n->sums == 1;
}

const char *mw_cuda_element_name(const MwCudaNest *n, const MwKernelInstr *instr)
{
    static const char *const names[MW_TYPE_COUNT] = {
        [MW_F32] = "f32", [MW_BF16] = "bf16", [MW_I32] = "i32", [MW_BOOL] = "bool"};
    return names[n->p.kernel->operands.at[instr->operand].type];
}

int64_t mw_cuda_element_bytes(const MwCudaNest *n, const MwKernelInstr *instr)
{
    return mw_type_bytes(n->p.kernel->operands.at[instr->operand].type);
}

static bool is_real(const MwKernelInstr *instr)
{
    return instr->type == MW_SCALAR_F32 || instr->type == MW_SCALAR_F64;
}

const char *mw_cuda_reduction(const MwKernelInstr *instr)
{
    if (mw_instr_is_max(instr))
        return instr->type == MW_SCALAR_F32 ? "max_f32" : "max_i32";
    return is_real(instr) ? "sum_f64" : "sum_i64";
}

/* What threads exchange of a reduction. */
const char *mw_cuda_exchanged_type(const MwKernelInstr *instr)
{
    if (mw_instr_is_max(instr))
        return instr->type == MW_SCALAR_F32 ? "float" : "int";
    return is_real(instr) ? "double" : "long long";
}
