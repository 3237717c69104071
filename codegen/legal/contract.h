/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A contraction of two operands as one batched, strided GEMM.
 *
 * The letters of an einsum fall into four classes: batch (in both operands and the result), m (left
 * and result), n (right and result), k (both operands). Where the letters of a class lie one after
 * another in every tensor that has them, they are one dimension to a GEMM; what does not fit
 * becomes an outer loop of the GEMM (it has two), so permuted and sliced operands rarely need a
 * copy. */
#ifndef MW_CODEGEN_LEGAL_CONTRACT_H
#define MW_CODEGEN_LEGAL_CONTRACT_H

#include "codegen/kernel/layout.h"
#include "ir/einsum.h"
#include "runtime/plan/routine.h"

typedef struct {
    bool swaps; /* the GEMM's A is the einsum's right operand, and B its left */
    int64_t m, n, k;
    int64_t args[MW_GEMM_ALPHA]; /* the integer arguments of the routine */
} MwGemmCall;

typedef struct {
    MwLayout layout; /* cut at the dimensions of the tensor */
    MwTensor tensor;
} MwContractOperand;

/* The types are those of operand 0 and of the result. False if the operands' layouts or the order of the result's letters do not allow it. Letters that
 * are in one operand alone are not allowed at all. With operands dense in the order of
 * mw_contract_order it always succeeds. */
bool mw_contract_plan(const MwEinsum *einsum, const MwContractOperand operands[2],
                      const MwTensor *result, MwGemmCall *gemm);

/* The order of letters in which a GEMM can always take its tensors: of operand 0 batch m k, of
 * operand 1 batch k n, of the result (which 2) batch m n, each class in the order of the result, k
 * in the order of operand 0. Gives the number of letters. */
int mw_contract_order(const MwEinsum *einsum, int which, int8_t order[MW_MAX_RANK * 2]);

/* Whether letter `l` occurs in operand 0, operand 1, the result (bits 0, 1, 2). */
unsigned mw_contract_uses(const MwEinsum *einsum, int l);

#endif
