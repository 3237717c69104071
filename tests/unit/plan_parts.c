/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/plan_parts.h"

#include "runtime/plan/routine.h"

const char plan_prelude[] =
    "/* A \"quoted\" | text */\n"
    "#include <stdint.h>\n"
    "typedef union { int64_t i; double f; } MwKernelArg;\n"
    "typedef void MwKernel(void *const *operands, const MwKernelArg *args, int sets, void "
    "*stream);\n"
    "typedef struct { const char *name; MwKernel *function; } MwKernelEntry;\n"
    "\n";

MwTensor vector(int64_t size)
{
    return mw_tensor(MW_F32, 1, &size);
}

MwTensor matrix(int64_t rows, int64_t columns)
{
    return mw_tensor(MW_F32, 2, (int64_t[]){rows, columns});
}

MwSpec split_first(void)
{
    return mw_spec_with_dim(mw_spec_replicated(), 0, 1);
}

MwPlanInstr plan_instr(MwArena *arena, MwInstrKind kind, int target, const MwPlanOperand *operands,
                       int operand_count)
{
    return (MwPlanInstr){
        .kind = kind,
        .target = target,
        .operands = mw_arena_dup(arena, operands, sizeof *operands * (size_t)operand_count),
        .operand_count = operand_count,
        .operator_index = -1,
        .time_s = 1e-6};
}

void plan_set_args(MwArena *arena, MwPlanInstr *to, const MwPlanArg *args, int count)
{
    to->args = mw_arena_dup(arena, args, sizeof *args * (size_t)count);
    to->arg_count = count;
}

MwPlanProgram plan_program(MwArena *arena, const char *name, const MwPlanInstr *instrs, int count)
{
    return (MwPlanProgram){name, mw_arena_dup(arena, instrs, sizeof *instrs * (size_t)count),
                           count};
}

MwPlanInstr plan_gemm(MwArena *arena, const MwPlanOperand operands[3], const Gemm *gemm)
{
    MwPlanInstr to = plan_instr(arena, MW_INSTR_ROUTINE, MW_ROUTINE_GEMM, operands, 3);
    MwPlanArg args[MW_GEMM_ARGS] = {0};
    args[MW_GEMM_TRANS_A].i = gemm->trans_a;
    args[MW_GEMM_M].i = gemm->m;
    args[MW_GEMM_N].i = args[MW_GEMM_LDB].i = args[MW_GEMM_LDC].i = gemm->n;
    args[MW_GEMM_K].i = gemm->k;
    args[MW_GEMM_LDA].i = gemm->trans_a ? gemm->m : gemm->k;
    args[MW_GEMM_BATCH0].i = args[MW_GEMM_BATCH1].i = 1;
    args[MW_GEMM_ALPHA] = (MwPlanArg){.kind = MW_ARG_FLOAT, .f = gemm->alpha};
    args[MW_GEMM_BETA] = (MwPlanArg){.kind = MW_ARG_FLOAT, .f = gemm->beta};
    plan_set_args(arena, &to, args, MW_GEMM_ARGS);
    return to;
}

MwPlanInstr plan_all_reduce(MwArena *arena, const MwPlanOperand operands[2], int64_t count)
{
    MwPlanInstr to = plan_instr(arena, MW_INSTR_COLLECTIVE, MW_ALL_REDUCE, operands, 2);
    to.type = MW_F32;
    to.count = count;
    return to;
}
