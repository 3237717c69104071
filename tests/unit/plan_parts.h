/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of plans that are made by hand. */
#ifndef MW_TESTS_UNIT_PLAN_PARTS_H
#define MW_TESTS_UNIT_PLAN_PARTS_H

#include "runtime/plan/plan.h"

MwTensor vector(int64_t size);
MwTensor matrix(int64_t rows, int64_t columns);
MwSpec split_first(void); /* [S0, R ...] */

MwPlanInstr plan_instr(MwArena *arena, MwInstrKind kind, int target, const MwPlanOperand *operands,
                       int operand_count);
void plan_set_args(MwArena *arena, MwPlanInstr *to, const MwPlanArg *args, int count);
MwPlanProgram plan_program(MwArena *arena, const char *name, const MwPlanInstr *instrs, int count);

/* c[m, n] = alpha * op(a)[m, k] b[k, n] + beta * c, all of them packed. */
typedef struct {
    bool trans_a;
    int64_t m, n, k;
    double alpha, beta;
} Gemm;

MwPlanInstr plan_gemm(MwArena *arena, const MwPlanOperand operands[3], const Gemm *gemm);
/* An all-reduce of `count` f32 over axis 0. */
MwPlanInstr plan_all_reduce(MwArena *arena, const MwPlanOperand operands[2], int64_t count);

/* Code as the text that a plan holds. */
#define TEXT_OF(code) TEXT_OF_EXPANDED(code)
#define TEXT_OF_EXPANDED(...) #__VA_ARGS__
extern const char plan_prelude[]; /* the types that kernels need */

#endif
