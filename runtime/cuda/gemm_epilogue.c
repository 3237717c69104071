/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/gemm_epilogue.h"

#include "base/tensor.h"

/* What the input of GELU needs: alignment in bytes. */
enum { AUX_ALIGNED = 16 };

/* Whether cuBLASLt is asked for it. The input of GELU must have rows of a multiple of 8 elements,
 * and be aligned. How exact GELU is, and the gradient of that, is not documented: for results in
 * f32 kernels compute them; nor is whether sums are of operands as a product in tf32 rounds them.
 * Those of products of floats of 8 bits are few, and left to kernels. Sums of A want it as it is
 * stored, and sums of B want it transposed. */
static bool is_wanted(const MwGemmExtras *x, const int64_t *ints, int64_t alignment)
{
    if (x->aux && (alignment % AUX_ALIGNED || ints[MW_GEMM_LDC] % MW_GEMM_AUX_ROW))
        return false;
    if ((x->has_gelu || x->has_gelu_grad) && ints[MW_GEMM_C_TYPE] == MW_F32)
        return false;
    if ((x->sums && ints[MW_GEMM_TYPE] == MW_TF32) || mw_type_is_fp8((MwType)ints[MW_GEMM_TYPE]))
        return false;
    return !x->sums || (x->summed ? !ints[MW_GEMM_TRANS_B] : ints[MW_GEMM_TRANS_A] != 0);
}

cublasLtEpilogue_t mw_cublaslt_epilogue(MwRoutine routine, const int64_t *ints, int64_t alignment)
{
    const MwGemmExtras *x = mw_gemm_extras(routine);
    if (!mw_gemm_has_extras(routine) || !is_wanted(x, ints, alignment))
        return CUBLASLT_EPILOGUE_DEFAULT;
    if (x->sums)
        return x->summed ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
    if (x->has_gelu_grad)
        return CUBLASLT_EPILOGUE_DGELU;
    if (!x->has_gelu)
        return CUBLASLT_EPILOGUE_BIAS;
    if (x->bias)
        return x->aux ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_BIAS;
    return x->aux ? CUBLASLT_EPILOGUE_GELU_AUX : CUBLASLT_EPILOGUE_GELU;
}
