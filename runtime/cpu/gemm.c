/* SPDX-License-Identifier: MIT */
/* Matrix products on OpenBLAS. */
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <cblas.h>
#include <string.h>

bool mw_cpu_gemm(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
#define ARG(name) args[MW_GEMM_##name].i
    const float *a = (const float *)operands[0] + ARG(A_OFFSET);
    const float *b = (const float *)operands[1] + ARG(B_OFFSET);
    float *c = (float *)operands[2] + ARG(C_OFFSET);
    for (int64_t i = 0; i < ARG(BATCH0); i++)
        for (int64_t j = 0; j < ARG(BATCH1); j++)
            cblas_sgemm(CblasRowMajor, ARG(TRANS_A) ? CblasTrans : CblasNoTrans,
                        ARG(TRANS_B) ? CblasTrans : CblasNoTrans, (blasint)ARG(M), (blasint)ARG(N),
                        (blasint)ARG(K), (float)args[MW_GEMM_ALPHA].f,
                        a + i * ARG(A_STRIDE0) + j * ARG(A_STRIDE1), (blasint)ARG(LDA),
                        b + i * ARG(B_STRIDE0) + j * ARG(B_STRIDE1), (blasint)ARG(LDB),
                        (float)args[MW_GEMM_BETA].f, c + i * ARG(C_STRIDE0) + j * ARG(C_STRIDE1),
                        (blasint)ARG(LDC));
#undef ARG
    (void)fault;
    return true;
}

bool mw_cpu_zero(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    (void)fault;
    memset(operands[0], 0, (size_t)args[0].i);
    return true;
}

bool mw_cpu_copy(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    (void)fault;
    memcpy(operands[1], operands[0], (size_t)args[0].i);
    return true;
}
