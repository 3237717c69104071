/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_nest.h"

#include <string.h>

void mw_cuda_print(MwCudaNest *n, const char *text, const MwHole *holes, int count)
{
    enum { MOST = 24 };
    const MwHole own[] = {
        {"index", n->index},
        {"width", mw_print_number(&n->p, n->width)},
        {"turns", mw_print_number(&n->p, n->turns)},
        {"group", mw_print_number(&n->p, n->group)},
        {"threads", mw_print_number(&n->p, n->threads)},
        {"rows", mw_print_number(&n->p, n->rows)},
        {"columns", mw_print_number(&n->p, n->columns)},
    };
    MwHole all[MOST];
    MW_ASSERT(count + MW_COUNT(own) <= MOST);
    memcpy(all, own, sizeof own);
    if (count)
        memcpy(all + MW_COUNT(own), holes, sizeof *holes * (size_t)count);
    mw_print_text(&n->p, text, all, count + MW_COUNT(own));
}

bool mw_cuda_has_columns(const MwCudaNest *n)
{
    return n->p.nest->space.dim_count > n->p.nest->space.row_dims;
}

bool mw_cuda_sums_at_once(const MwCudaNest *n)
{
    return n->spread == MW_SPREAD_COLUMNS && n->sums == 1;
}

int mw_cuda_words(const MwKernelInstr *instr)
{
    return instr->type == MW_SCALAR_I64 || instr->type == MW_SCALAR_F64 ? 2 : 1;
}

const char *mw_cuda_folded_type(const MwCudaNest *n)
{
    int words = 1;
    for (int i = 0; i < n->p.nest->instrs.count; i++)
        if (mw_instr_reduces_rows(&n->p.nest->instrs.at[i]))
            words = mw_max(words, mw_cuda_words(&n->p.nest->instrs.at[i]));
    return words == 1 ? "int32_t" : "int64_t";
}

const char *mw_cuda_element_name(const MwCudaNest *n, const MwKernelInstr *instr)
{
    return mw_type_name(n->p.kernel->operands.at[instr->operand].type);
}

int64_t mw_cuda_element_bytes(const MwCudaNest *n, const MwKernelInstr *instr)
{
    return mw_type_bytes(n->p.kernel->operands.at[instr->operand].type);
}

static bool is_real(const MwKernelInstr *instr)
{
    return instr->type == MW_SCALAR_F32 || instr->type == MW_SCALAR_F64;
}

const char *mw_cuda_reduction(const MwCudaNest *n, const MwKernelInstr *instr)
{
    if (mw_instr_is_max(instr))
        return mw_arena_printf(n->p.out->arena, "max_%s", mw_scalar_name(instr->type));
    return is_real(instr) ? "sum_f64" : "sum_i64";
}

const char *mw_cuda_exchanged_type(const MwKernelInstr *instr)
{
    if (mw_instr_is_max(instr))
        return instr->type == MW_SCALAR_F32   ? "float"
               : instr->type == MW_SCALAR_I64 ? "long long"
                                              : "int";
    return is_real(instr) ? "double" : "long long";
}

const char *mw_cuda_joined(const MwCudaNest *n, const MwKernelInstr *instr, const char *a,
                           const char *b)
{
    return mw_arena_printf(n->p.out->arena, mw_instr_is_max(instr) ? "mw_max(%s, %s)" : "%s + %s",
                           a, b);
}
