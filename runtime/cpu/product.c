/* SPDX-License-Identifier: MIT */
/* A product is prepared at its first call and kept for the process: an entry for each distinct set
 * of arguments, of which a plan has at most as many as it has calls. Where oneDNN has no quick
 * kernel for the batches as they lie, it multiplies one after the other. What it works in is memory
 * outside the arena of the plan. */
#include "runtime/cpu/product.h"

#include "base/base.h"
#include "base/tensor.h"
#include "runtime/cpu/onednn.h"
#include "runtime/plan/routine.h"

#include <dnnl_debug.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds from which a product goes to oneDNN, whose kernels take 0.5 ms to compile, once for
 * each set of arguments. 32 x 64 x 64 in f32 runs at 211 GFLOP/s, with OpenBLAS at 106, on a core
 * with AVX-512; `meshwright profile` shows the rates on either side. */
enum { LARGE = 1 << 17 };

enum { OPERANDS = 3 };

struct MwPreparedProduct {
    MwPreparedProduct *next;
    MwKernelArg args[MW_GEMM_ARGS];
    dnnl_primitive_t product; /* NULL: oneDNN has none */
    bool one_by_one;          /* the product is of the matrices of one batch */
    dnnl_memory_t operands[OPERANDS];
};

static struct {
    /* of the list, and of a product that runs: its memory objects are set to the operands */
    pthread_mutex_t lock;
    MwPreparedProduct *first;
} products = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t batches(const MwKernelArg *args)
{
    return args[MW_GEMM_BATCH0].i * args[MW_GEMM_BATCH1].i;
}

/* Multiply-adds of the matrices of one batch. */
static double matrix_work(const MwKernelArg *args)
{
    return (double)args[MW_GEMM_M].i * (double)args[MW_GEMM_N].i * (double)args[MW_GEMM_K].i;
}

static dnnl_data_type_t type_of(int64_t type)
{
    return type == MW_F32 ? dnnl_f32 : dnnl_bf16;
}

/* An operand [batch0, batch1, rows, columns], without batches of one: for those oneDNN has slow
 * kernels alone. */
static dnnl_status_t describe(const MwPreparedProduct *p, int64_t type, const dnnl_dim_t matrix[2],
                              const dnnl_dim_t strides[2], int first_stride,
                              dnnl_memory_desc_t *desc)
{
    const MwKernelArg *args = p->args;
    dnnl_dims_t dims, all;
    int rank = 0;
    for (int i = 0; i < 2 && !p->one_by_one; i++) {
        if (args[MW_GEMM_BATCH0 + i].i == 1)
            continue;
        dims[rank] = args[MW_GEMM_BATCH0 + i].i;
        all[rank++] = args[first_stride + i].i;
    }
    for (int i = 0; i < 2; i++) {
        dims[rank] = matrix[i];
        all[rank++] = strides[i];
    }
    return dnnl_memory_desc_init_by_strides(desc, rank, dims, type_of(type), all);
}

static dnnl_status_t describe_operands(const MwPreparedProduct *p,
                                       dnnl_memory_desc_t descs[OPERANDS])
{
    const MwKernelArg *args = p->args;
#define ARG(name) args[MW_GEMM_##name].i
    const bool trans_a = ARG(TRANS_A), trans_b = ARG(TRANS_B);
    const dnnl_dim_t a[] = {ARG(M), ARG(K)}, b[] = {ARG(K), ARG(N)}, c[] = {ARG(M), ARG(N)};
    const dnnl_dim_t a_strides[] = {trans_a ? 1 : ARG(LDA), trans_a ? ARG(LDA) : 1};
    const dnnl_dim_t b_strides[] = {trans_b ? 1 : ARG(LDB), trans_b ? ARG(LDB) : 1};
    const dnnl_dim_t c_strides[] = {ARG(LDC), 1};
    dnnl_status_t status = describe(p, ARG(TYPE), a, a_strides, MW_GEMM_A_STRIDE0, &descs[0]);
    if (status == dnnl_success)
        status = describe(p, ARG(TYPE), b, b_strides, MW_GEMM_B_STRIDE0, &descs[1]);
    if (status == dnnl_success)
        status = describe(p, ARG(C_TYPE), c, c_strides, MW_GEMM_C_STRIDE0, &descs[2]);
    return status;
#undef ARG
}

/* Multiplies by alpha, and adds beta C. */
static dnnl_status_t set_scales(dnnl_primitive_attr_t attr, float alpha, float beta)
{
    dnnl_status_t status = dnnl_success;
    if (alpha != 1)
        status = dnnl_primitive_attr_set_output_scales(attr, 1, 0, &alpha);
    if (status != dnnl_success || beta == 0)
        return status;
    dnnl_post_ops_t sum;
    status = dnnl_post_ops_create(&sum);
    if (status != dnnl_success)
        return status;
    status = dnnl_post_ops_append_sum(sum, beta);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(attr, sum);
    dnnl_post_ops_destroy(sum);
    return status;
}

/* Whether the kernel is compiled for the processor, and does not stand for a missing one. */
static bool is_quick(const_dnnl_primitive_desc_t desc)
{
    const char *name = "";
    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&name) ==
               dnnl_success &&
           (strncmp(name, "brg:", 4) == 0 || strncmp(name, "gemm:jit", 8) == 0);
}

/* Whether the processor multiplies in the type. */
static bool has_type(int64_t type)
{
    const int wanted = dnnl_cpu_isa_avx512_core_bf16;
    return type == MW_F32 || (type == MW_BF16 && (dnnl_get_effective_cpu_isa() & wanted) == wanted);
}

static dnnl_status_t prepare_with(MwPreparedProduct *p, dnnl_primitive_attr_t attr)
{
    const MwOneDnn *library = mw_onednn();
    dnnl_memory_desc_t descs[OPERANDS];
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_desc_t desc;
    dnnl_status_t status =
        set_scales(attr, (float)p->args[MW_GEMM_ALPHA].f, (float)p->args[MW_GEMM_BETA].f);
    if (status == dnnl_success)
        status = describe_operands(p, descs);
    if (status == dnnl_success)
        status = dnnl_matmul_desc_init(&matmul, &descs[0], &descs[1], NULL, &descs[2]);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&desc, &matmul, attr, library->engine, NULL);
    if (status != dnnl_success)
        return status;
    const int operands = is_quick(desc) ? OPERANDS : 0;
    for (int k = 0; k < operands && status == dnnl_success; k++)
        status = dnnl_memory_create(&p->operands[k], &descs[k], library->engine, DNNL_MEMORY_NONE);
    if (status == dnnl_success && operands)
        status = dnnl_primitive_create(&p->product, desc);
    dnnl_primitive_desc_destroy(desc);
    return status;
}

/* Leaves p->product NULL if there is no quick kernel. */
static void prepare(MwPreparedProduct *p)
{
    dnnl_primitive_attr_t attr;
    if (mw_onednn()->status != dnnl_success || dnnl_primitive_attr_create(&attr) != dnnl_success)
        return;
    const int tries = batches(p->args) > 1 && matrix_work(p->args) >= LARGE ? 2 : 1;
    for (int i = 0; i < tries && !p->product; i++) {
        p->one_by_one = i > 0;
        if (prepare_with(p, attr) != dnnl_success)
            p->product = NULL;
    }
    dnnl_primitive_attr_destroy(attr);
}

static bool same_args(const MwKernelArg *a, const MwKernelArg *b)
{
    for (int i = 0; i < MW_GEMM_A_OFFSET; i++)
        if (a[i].i != b[i].i)
            return false;
    return a[MW_GEMM_ALPHA].f == b[MW_GEMM_ALPHA].f && a[MW_GEMM_BETA].f == b[MW_GEMM_BETA].f;
}

/* NULL: no memory. */
static MwPreparedProduct *prepared(const MwKernelArg *args)
{
    for (MwPreparedProduct *p = products.first; p; p = p->next)
        if (same_args(p->args, args))
            return p;
    MwPreparedProduct *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    memcpy(p->args, args, sizeof p->args);
    prepare(p);
    p->next = products.first;
    products.first = p;
    return p;
}

const MwPreparedProduct *mw_product_prepared(const MwKernelArg *args)
{
    if (matrix_work(args) * (double)batches(args) < LARGE || !has_type(args[MW_GEMM_TYPE].i))
        return NULL;
    pthread_mutex_lock(&products.lock);
    const MwPreparedProduct *p = prepared(args);
    pthread_mutex_unlock(&products.lock);
    return p && p->product ? p : NULL;
}

static dnnl_status_t execute(const MwPreparedProduct *p, const char *const operands[OPERANDS])
{
    static const int roles[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    const MwOneDnn *library = mw_onednn();
    dnnl_exec_arg_t args[OPERANDS];
    dnnl_status_t status = dnnl_success;
    for (int k = 0; k < OPERANDS && status == dnnl_success; k++) {
        args[k] = (dnnl_exec_arg_t){roles[k], p->operands[k]};
        status = dnnl_memory_set_data_handle(p->operands[k], (void *)operands[k]);
    }
    if (status == dnnl_success)
        status = dnnl_primitive_execute(p->product, library->stream, OPERANDS, args);
    return status == dnnl_success ? dnnl_stream_wait(library->stream) : status;
}

/* The matrices of batch [i, j] in turn, where the product is of one batch. */
static dnnl_status_t execute_all(const MwPreparedProduct *p, const char *const first[OPERANDS])
{
    static const int strides[OPERANDS] = {MW_GEMM_A_STRIDE0, MW_GEMM_B_STRIDE0, MW_GEMM_C_STRIDE0};
    static const int types[OPERANDS] = {MW_GEMM_TYPE, MW_GEMM_TYPE, MW_GEMM_C_TYPE};
    const int64_t rows = p->one_by_one ? p->args[MW_GEMM_BATCH0].i : 1,
                  columns = p->one_by_one ? p->args[MW_GEMM_BATCH1].i : 1;
    dnnl_status_t status = dnnl_success;
    for (int64_t b = 0; b < rows * columns && status == dnnl_success; b++) {
        const char *operands[OPERANDS];
        for (int k = 0; k < OPERANDS; k++)
            operands[k] = first[k] + (b / columns * p->args[strides[k]].i +
                                      b % columns * p->args[strides[k] + 1].i) *
                                         mw_type_bytes((MwType)p->args[types[k]].i);
        status = execute(p, operands);
    }
    return status;
}

bool mw_product_run(const MwPreparedProduct *product, const void *a, const void *b, void *c,
                    MwFault *fault)
{
    pthread_mutex_lock(&products.lock);
    const dnnl_status_t status = execute_all(product, (const char *const[]){a, b, c});
    pthread_mutex_unlock(&products.lock);
    return status == dnnl_success ||
           mw_fault_set(fault, "gemm: oneDNN: %s", dnnl_status2str(status));
}
