/* SPDX-License-Identifier: MIT */
/* Matrix products on oneDNN if they are large, else on OpenBLAS. OpenBLAS multiplies in f32 alone:
 * operands of bf16, and those that are rounded to tf32, are copied, into memory outside the arena
 * of the plan, as large as the matrices of a batch are in f32. */
#include "base/half.h"
#include "runtime/cpu/product.h"
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#define ARG(name) args[MW_GEMM_##name].i

/* Where the operands of a product begin. */
typedef struct {
    const char *a, *b;
    char *c;
} Product;

static Product product_of(void *const *operands, const MwKernelArg *args)
{
    const int64_t bytes = mw_type_bytes((MwType)ARG(TYPE)),
                  c_bytes = mw_type_bytes((MwType)ARG(C_TYPE));
    return (Product){.a = (const char *)operands[0] + ARG(A_OFFSET) * bytes,
                     .b = (const char *)operands[1] + ARG(B_OFFSET) * bytes,
                     .c = (char *)operands[2] + ARG(C_OFFSET) * c_bytes};
}

static void multiply(const float *a, int64_t lda, const float *b, int64_t ldb, float *c,
                     int64_t ldc, const MwKernelArg *args)
{
    cblas_sgemm(CblasRowMajor, ARG(TRANS_A) ? CblasTrans : CblasNoTrans,
                ARG(TRANS_B) ? CblasTrans : CblasNoTrans, (blasint)ARG(M), (blasint)ARG(N),
                (blasint)ARG(K), (float)args[MW_GEMM_ALPHA].f, a, (blasint)lda, b, (blasint)ldb,
                (float)args[MW_GEMM_BETA].f, c, (blasint)ldc);
}

/* ---- Of bf16 and tf32, in f32 ---- */

/* The matrices of one batch in f32, without gaps. */
typedef struct {
    float *a, *b, *c;
} Widened;

static void widen(MwType type, const void *from, int64_t rows, int64_t columns, int64_t stride,
                  float *to)
{
    for (int64_t i = 0; i < rows; i++, to += columns) {
        const float *wide = (const float *)from + i * stride;
        const uint16_t *half = (const uint16_t *)from + i * stride;
        if (type == MW_F32)
            memcpy(to, wide, (size_t)columns * sizeof *to);
        for (int64_t j = 0; j < columns && type == MW_TF32; j++)
            to[j] = mw_tf32_from_f32(wide[j]);
        for (int64_t j = 0; j < columns && type == MW_BF16; j++)
            to[j] = mw_bf16_to_f32(half[j]);
    }
}

static void narrow(MwType type, const float *from, int64_t rows, int64_t columns, int64_t stride,
                   void *to)
{
    for (int64_t i = 0; i < rows; i++, from += columns) {
        float *wide = (float *)to + i * stride;
        uint16_t *half = (uint16_t *)to + i * stride;
        if (type == MW_F32)
            memcpy(wide, from, (size_t)columns * sizeof *from);
        else
            for (int64_t j = 0; j < columns; j++)
                half[j] = mw_bf16_from_f32(from[j]);
    }
}

static void multiply_widened(const Product *p, const MwKernelArg *args, const Widened *w)
{
    const MwType type = (MwType)ARG(TYPE), c_type = (MwType)ARG(C_TYPE);
    const int64_t a_rows = ARG(TRANS_A) ? ARG(K) : ARG(M), a_columns = ARG(M) + ARG(K) - a_rows;
    const int64_t b_rows = ARG(TRANS_B) ? ARG(N) : ARG(K), b_columns = ARG(N) + ARG(K) - b_rows;
    widen(type, p->a, a_rows, a_columns, ARG(LDA), w->a);
    widen(type, p->b, b_rows, b_columns, ARG(LDB), w->b);
    if (args[MW_GEMM_BETA].f != 0)
        widen(c_type, p->c, ARG(M), ARG(N), ARG(LDC), w->c);
    multiply(w->a, a_columns, w->b, b_columns, w->c, ARG(N), args);
    narrow(c_type, w->c, ARG(M), ARG(N), ARG(LDC), p->c);
}

/* ---- Batches ---- */

static Product of_batch(const Product *p, const MwKernelArg *args, int64_t i, int64_t j)
{
    const int64_t bytes = mw_type_bytes((MwType)ARG(TYPE)),
                  c_bytes = mw_type_bytes((MwType)ARG(C_TYPE));
    return (Product){.a = p->a + (i * ARG(A_STRIDE0) + j * ARG(A_STRIDE1)) * bytes,
                     .b = p->b + (i * ARG(B_STRIDE0) + j * ARG(B_STRIDE1)) * bytes,
                     .c = p->c + (i * ARG(C_STRIDE0) + j * ARG(C_STRIDE1)) * c_bytes};
}

static bool widens(const MwKernelArg *args)
{
    return ARG(TYPE) != MW_F32 || ARG(C_TYPE) != MW_F32;
}

static void multiply_batches(const Product *p, const MwKernelArg *args, const Widened *widened)
{
    for (int64_t i = 0; i < ARG(BATCH0); i++)
        for (int64_t j = 0; j < ARG(BATCH1); j++) {
            const Product one = of_batch(p, args, i, j);
            if (widened)
                multiply_widened(&one, args, widened);
            else
                multiply((const float *)one.a, ARG(LDA), (const float *)one.b, ARG(LDB),
                         (float *)one.c, ARG(LDC), args);
        }
}

bool mw_cpu_gemm(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Product product = product_of(operands, args);
    const MwPreparedProduct *prepared = mw_product_prepared(args);
    if (prepared)
        return mw_product_run(prepared, product.a, product.b, product.c, fault);
    if (!widens(args)) {
        multiply_batches(&product, args, NULL);
        return true;
    }
    const int64_t a = ARG(M) * ARG(K), b = ARG(K) * ARG(N), c = ARG(M) * ARG(N);
    float *memory = malloc((size_t)(a + b + c) * sizeof(float));
    if (!memory)
        return mw_fault_set(fault, "gemm: no memory");
    multiply_batches(&product, args, &(Widened){memory, memory + a, memory + a + b});
    free(memory);
    return true;
}

#undef ARG

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
