/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A contraction, and the nodes that one call of a routine of matrix products computes too
 * (runtime/plan/routines.def): the accumulation of its result in place; where the target has
 * epilogues, a bias along the last dimension of the product, gelu_tanh, the gradient of gelu_tanh,
 * or the sums of an operand over the dimension that is summed away (which are the gradient of a
 * bias, where the contraction gives that of a weight). */
#ifndef MW_CODEGEN_FUSE_GEMM_UNIT_H
#define MW_CODEGEN_FUSE_GEMM_UNIT_H

#include "codegen/fuse/units.h"
#include "codegen/legal/contract.h"

typedef struct {
    const MwNode *einsum;
    const MwNode *result;     /* the node whose result is the routine's operand c */
    const MwNode *accumulate; /* this and the following nodes: NULL if there is none */
    const MwNode *add;        /* of the bias, its operand `bias` */
    int bias;
    const MwNode *gelu, *gelu_grad;
    const MwNode *sum;
    MwGemmCall call;
} MwGemmUnit;

/* Says whether `unit` is a contraction. */
bool mw_unit_is_gemm(const MwLegal *legal, const MwUnit *unit);
MwGemmUnit mw_gemm_unit(const MwLegal *legal, const MwUnit *unit);
/* The call that makes the product of `einsum`. */
MwGemmCall mw_gemm_call(const MwLegal *legal, const MwNode *einsum);
/* The operand of the routine, 0 for a and 1 for b, whose sums over k are what `sum` gives; -1:
 * neither. */
int mw_gemm_summed_operand(const MwLegal *legal, const MwNode *einsum, const MwGemmCall *call,
                           const MwNode *sum);

/* Returns the routine that computes the unit. It also outputs the operand of gelu if that is
 * stored. */
MwRoutine mw_gemm_unit_routine(const MwGemmUnit *gemm, const MwLegal *legal, const MwUnits *units);

/* The operands of the routine besides a, b and c; no value: the routine has no such operand. */
typedef struct {
    MwValueId bias, aux, sums;
} MwGemmOperands;
MwGemmOperands mw_gemm_unit_operands(const MwGemmUnit *gemm, MwRoutine routine);

#endif
