/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_width.h"

#include "codegen/tuning.h"

static bool is_point_access(const MwKernelInstr *instr)
{
    return instr->level == MW_LEVEL_POINT &&
           (instr->op == MW_KERNEL_LOAD || mw_instr_is_effect(instr));
}

/* Says whether the accesses of `width` neighbours along the innermost dimension form one aligned
 * access. */
static bool is_wide_access(const MwNest *nest, const MwKernelInstr *instr, int width)
{
    const MwAffine *at = &instr->at;
    int inner = nest->space.dim_count - 1;
    bool gathers = instr->input_count > mw_instr_is_effect(instr);
    if (!is_point_access(instr) || at->stride[inner] != 1 || at->arg_count || at->offset % width ||
        (gathers && instr->gather_stride % width))
        return false;
    for (int d = 0; d < inner; d++)
        if (at->stride[d] % width)
            return false;
    const MwKernelInstr *index =
        gathers ? mw_nest_instr(nest, instr->inputs[instr->input_count - 1]) : instr;
    return !gathers || index->level < MW_LEVEL_POINT;
}

/* Says whether an access moves another element at every point, rather than elements that several
 * points share. */
static bool is_streamed(const MwNest *nest, const MwKernelInstr *instr)
{
    for (int d = 0; d < nest->space.dim_count; d++)
        if (!instr->at.stride[d] && !(d < nest->space.row_dims && instr->gather_stride))
            return false;
    return true;
}

/* Says whether a thread takes eight neighbours at a time rather than four. Eight elements of two
 * bytes form an access of 16 bytes; so do four elements of four bytes, so a thread takes four if
 * longer elements are streamed. */
static bool takes_eight(const MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    bool streams_short = false;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (!is_wide_access(nest, instr, 4))
            continue;
        bool streams = is_streamed(nest, instr), is_short = mw_cuda_element_bytes(n, instr) <= 2;
        if (!is_wide_access(nest, instr, 8) || (streams && !is_short))
            return false;
        streams_short |= streams;
    }
    return streams_short;
}

void mw_cuda_choose_width(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    bool *is_wide = MW_NEW(n->p.out->arena, bool, nest->instrs.count);
    bool has_wide = false;
    n->width = 1;
    if (!mw_cuda_has_columns(n) || nest->space.size[nest->space.dim_count - 1] % 4)
        return;
    int width = takes_eight(n) && nest->space.size[nest->space.dim_count - 1] % 8 == 0 ? 8 : 4;
    for (int i = 0; i < nest->instrs.count; i++) {
        is_wide[i] = is_wide_access(nest, &nest->instrs.at[i], width);
        has_wide |= is_wide[i];
        if (nest->instrs.at[i].op == MW_KERNEL_ADD && !is_wide[i])
            return;
    }
    if (!has_wide)
        return;
    n->p.is_wide = is_wide;
    n->width = width;
}

void mw_cuda_choose_flat_width(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    bool *is_wide = MW_NEW(n->p.out->arena, bool, nest->instrs.count);
    for (int i = 0; i < nest->instrs.count; i++)
        is_wide[i] = is_point_access(&nest->instrs.at[i]);
    n->p.is_wide = is_wide;
    n->width = takes_eight(n) ? 8 : 4;
}

int mw_cuda_choose_turns(const MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    int64_t bytes[2] = {0}; /* of one turn: loaded, stored */
    for (int i = 0; i < nest->instrs.count && n->p.is_wide; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (n->p.is_wide[i])
            bytes[mw_instr_is_effect(instr)] += n->width * mw_cuda_element_bytes(n, instr);
    }
    int64_t turn_bytes = bytes[0] ? bytes[0] : bytes[1];
    return turn_bytes
               ? (int)mw_min(mw_max(MW_TUNED_CUDA_TURN_BYTES / turn_bytes, 1), MW_TUNED_CUDA_UNROLL)
               : 1;
}
