/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A contraction of two operands as one batched, strided GEMM.
 *
 * The letters of an einsum fall into four classes: batch (in both operands and the result), m (left
 * and result), n (right and result), k (both operands). Where the letters of a class lie one after
 * another in every tensor that has them, they are one dimension to a GEMM; what does not fit
 * becomes an outer loop of the GEMM (it has two), so permuted and sliced operands rarely need a
 * copy. A loop over letters of m or n reads one operand again each time; legalize_contract.c has
 * copies where these take less time. */
#ifndef MW_CODEGEN_LEGAL_CONTRACT_H
#define MW_CODEGEN_LEGAL_CONTRACT_H

#include "codegen/kernel/layout.h"
#include "cost/cost.h"
#include "ir/einsum.h"
#include "runtime/plan/routine.h"

typedef struct {
    bool swaps; /* the GEMM's A is the einsum's right operand, and B its left */
    int64_t m, n, k;
    int64_t args[MW_GEMM_ALPHA]; /* the integer arguments of the routine */
} MwGemmCall;

typedef struct {
    MwLayout layout; /* has a boundary at every dimension of the tensor */
    MwTensor tensor;
} MwContractOperand;

/* Fills the arguments of the GEMM and the loops around it; the types are those of the operands and
 * of the result. False if the layouts of the operands or the order of the result's letters do
 * not allow it, or if a letter is in one operand only. It always succeeds with operands that are
 * dense in the order of mw_contract_order. */
bool mw_contract_plan(const MwEinsum *einsum, const MwContractOperand operands[2],
                      const MwTensor *result, MwGemmCall *gemm);

/* Stores the order of letters in which a GEMM can always take a tensor, and returns their
 * number: batch m k for operand 0, batch k n for operand 1, batch m n for the result (`which` is
 * 2). Within a class the letters have the order of the result, within k that of operand 0. */
int mw_contract_order(const MwEinsum *einsum, int which, int8_t order[MW_MAX_RANK * 2]);

/* The work of the GEMM with the loops around it, each of which reads both operands. */
MwWork mw_gemm_call_work(const MwGemmCall *gemm);

/* The tensors in which letter `l` occurs: bits 0 and 1 are operands 0 and 1, bit 2 is the
 * result. */
unsigned mw_contract_uses(const MwEinsum *einsum, int l);

#endif
