/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A contraction, and what one call of the routines of products makes besides
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
    const MwNode *result;     /* whose result the routine's c is */
    const MwNode *accumulate; /* NULL: there is none; and so on */
    const MwNode *add;        /* of the bias, its operand `bias` */
    int bias;
    const MwNode *gelu, *gelu_grad;
    const MwNode *sum;
    MwGemmCall call;
} MwGemmUnit;

/* Whether `unit` is one of these. */
bool mw_unit_is_gemm(const MwLegal *legal, const MwUnit *unit);
MwGemmUnit mw_gemm_unit(const MwLegal *legal, const MwUnit *unit);
/* The call that makes the product of `einsum`. */
MwGemmCall mw_gemm_call(const MwLegal *legal, const MwNode *einsum);
/* The operand of the routine, 0 for a and 1 for b, whose sums over k are what `sum` gives; -1:
 * neither. */
int mw_gemm_summed_operand(const MwLegal *legal, const MwNode *einsum, const MwGemmCall *call,
                           const MwNode *sum);

/* Its routine. gelu's operand is put out where it is stored. */
MwRoutine mw_gemm_unit_routine(const MwGemmUnit *gemm, const MwLegal *legal, const MwUnits *units);

/* What the operands of that routine are besides a, b and c; no value: it has none such. */
typedef struct {
    MwValueId bias, aux, sums;
} MwGemmOperands;
MwGemmOperands mw_gemm_unit_operands(const MwGemmUnit *gemm, MwRoutine routine);

#endif
