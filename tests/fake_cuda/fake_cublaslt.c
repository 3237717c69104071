/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cuBLASLt on OpenBLAS. A product is refused that the library would refuse or do wrong: sizes or
 * types that do not go together, an algorithm that was found for others, memory aligned worse than
 * it was found for, too little to work in. Of floats of 8 bits it asks what the library asks on
 * GPUs of compute capability 8.9 and 9.0. */
#include "base/element.h"
#include "runtime/cuda/cublaslt.h"
#include "tests/fake_cuda/fake.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cublasLtContext {
    int unused;
};

struct FakeProduct {
    cublasComputeType_t compute;
    int32_t turned[2]; /* cublasOperation_t of a, b */
    uint32_t epilogue; /* cublasLtEpilogue_t */
    void *bias, *aux;
    int64_t aux_ld;
};

struct FakeLayout {
    MwType type;
    uint64_t rows, columns;
    int64_t ld, step;
    int32_t batches;
};

struct FakePreference {
    uint64_t workspace;
    uint32_t reductions;   /* of cublasLtReductionScheme_t */
    uint32_t alignment[4]; /* a, b, c, d */
};

/* What an algorithm holds: what it is for. */
enum {
    ALGO_M,
    ALGO_N,
    ALGO_K,
    ALGO_BATCHES, /* and in the upper half the schemes of reduction that it may have */
    ALGO_TYPES,
    ALGO_ALIGNMENT,
    ALGO_WORKSPACE,
    ALGO_MAGIC /* with its rank among those that are found */
};

/* Of those that are found; and into which a sum over k is cut by those that cut it. */
enum { ALGORITHMS = 3, PARTS = 4 };

static const uint64_t magic = 0x6d65737368;

#define MAY_FAIL(error)                                                                            \
    do {                                                                                           \
        if (fake_fault(__func__) == FAKE_FAIL)                                                     \
            return error;                                                                          \
    } while (0)

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "an unknown status";
}

size_t cublasLtGetVersion(void)
{
    return 10203;
}

static void *made(const void *from, size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        abort();
    return memcpy(memory, from, bytes);
}

static cublasStatus_t set(void *to, size_t wanted, const void *value, size_t bytes)
{
    if (bytes != wanted)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Handles and descriptions ---- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    MAY_FAIL(CUBLAS_STATUS_NOT_INITIALIZED);
    *handle = made(&(struct cublasLtContext){0}, sizeof **handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    MAY_FAIL(CUBLAS_STATUS_ALLOC_FAILED);
    if ((compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
        scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *product =
        made(&(struct FakeProduct){.compute = compute, .epilogue = CUBLASLT_EPILOGUE_DEFAULT},
             sizeof **product);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product)
{
    free(product);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes)
{
    MAY_FAIL(CUBLAS_STATUS_INVALID_VALUE);
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(&product->turned[0], sizeof product->turned[0], value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(&product->turned[1], sizeof product->turned[1], value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set(&product->epilogue, sizeof product->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return set(&product->bias, sizeof product->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
        return set(&product->aux, sizeof product->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
        return set(&product->aux_ld, sizeof product->aux_ld, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

static MwType element_type(cudaDataType_t type)
{
    static const cudaDataType_t types[MW_TYPE_COUNT] = {
#define TYPE(id, name, bytes, kind, element, scalar, npy, onnx, nccl, cuda) [MW_##id] = cuda,
#include "base/types.def"
    };
    int i = 0;
    while (i < MW_TYPE_COUNT && types[i] != type)
        i++;
    return (MwType)i;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    MAY_FAIL(CUBLAS_STATUS_ALLOC_FAILED);
    const MwType element = element_type(type);
    if (element == MW_TYPE_COUNT || !mw_type_is_float(element) || ld < (int64_t)rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    *layout = made(&(struct FakeLayout){element, rows, columns, ld, 0, 1}, sizeof **layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *value, size_t bytes)
{
    MAY_FAIL(CUBLAS_STATUS_INVALID_VALUE);
    return attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
               ? set(&layout->batches, sizeof layout->batches, value, bytes)
               : set(&layout->step, sizeof layout->step, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    MAY_FAIL(CUBLAS_STATUS_ALLOC_FAILED);
    *preference =
        made(&(struct FakePreference){0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}},
             sizeof **preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t bytes)
{
    MAY_FAIL(CUBLAS_STATUS_INVALID_VALUE);
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return set(&preference->workspace, sizeof preference->workspace, value, bytes);
    if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        return set(&preference->reductions, sizeof preference->reductions, value, bytes);
    uint32_t *to = &preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
    return set(to, sizeof *to, value, bytes);
}

/* ---- Products ---- */

static void sizes(const struct FakeProduct *product, const struct FakeLayout *a, uint64_t *m,
                  uint64_t *k)
{
    *m = product->turned[0] ? a->columns : a->rows;
    *k = product->turned[0] ? a->rows : a->columns;
}

/* The table of types and the list of requirements for kernels of FP8. */
static bool fp8_is_right(const struct FakeProduct *product, const struct FakeLayout *a,
                         const struct FakeLayout *b, const struct FakeLayout *c)
{
    const struct FakeLayout *const all[] = {a, b, c};
    bool aligned = true;
    for (int i = 0; i < 3; i++) {
        const int64_t bytes = mw_type_bytes(all[i]->type);
        aligned = aligned && all[i]->rows % 16 == 0 && all[i]->columns % 16 == 0 &&
                  all[i]->ld * bytes % 16 == 0 && all[i]->step * bytes % 16 == 0;
    }
    return aligned && mw_type_is_fp8(a->type) && mw_type_is_fp8(b->type) &&
           (a->type == MW_E4M3 || b->type == MW_E4M3) &&
           (c->type == MW_F32 || mw_type_is_half(c->type)) && product->turned[0] == CUBLAS_OP_T &&
           product->turned[1] == CUBLAS_OP_N && product->compute == CUBLAS_COMPUTE_32F &&
           (product->epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
            (product->epilogue == CUBLASLT_EPILOGUE_BIAS && c->type == MW_BF16));
}

static bool types_do(const struct FakeProduct *product, const struct FakeLayout *a,
                     const struct FakeLayout *b, const struct FakeLayout *c)
{
    if (mw_type_is_fp8(a->type) || mw_type_is_fp8(b->type))
        return fp8_is_right(product, a, b, c);
    return a->type == b->type && (c->type == MW_F32 || c->type == a->type) &&
           (product->compute == CUBLAS_COMPUTE_32F || a->type == MW_F32);
}

static bool go_together(const struct FakeProduct *product, const struct FakeLayout *a,
                        const struct FakeLayout *b, const struct FakeLayout *c)
{
    uint64_t m, k;
    sizes(product, a, &m, &k);
    return types_do(product, a, b, c) && m == c->rows &&
           k == (product->turned[1] ? b->columns : b->rows) &&
           c->columns == (product->turned[1] ? b->rows : b->columns) && a->batches == c->batches &&
           b->batches == c->batches;
}

/* And the epilogue. */
static uint64_t types_of(const struct FakeProduct *product, const struct FakeLayout *a,
                         const struct FakeLayout *b, const struct FakeLayout *c)
{
    return (uint64_t)b->type << 56 | (uint64_t)a->type << 48 | (uint64_t)c->type << 32 |
           product->epilogue;
}

static bool has_aux(const struct FakeProduct *product)
{
    return product->epilogue & 128;
}

static bool has_vector(const struct FakeProduct *product)
{
    return product->epilogue &
           (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB);
}

/* What the library's documentation asks of them. */
static bool epilogue_is_right(const struct FakeProduct *product, const struct FakeLayout *c)
{
    if (product->epilogue == CUBLASLT_EPILOGUE_DEFAULT) /* the library looks at them all the same */
        return !product->bias && !product->aux;
    if (c->batches > 1)
        return false;
    if (has_vector(product) && !product->bias)
        return false;
    if ((product->epilogue == CUBLASLT_EPILOGUE_BGRADA && product->turned[0]) ||
        (product->epilogue == CUBLASLT_EPILOGUE_BGRADB && !product->turned[1]))
        return false;
    return !has_aux(product) || (product->aux && (uintptr_t)product->aux % 16 == 0 &&
                                 product->aux_ld % 8 == 0 && product->aux_ld >= (int64_t)c->rows);
}

/* Whether a fault hits what the library does besides the product. */
static bool fails_to_finish(const struct FakeProduct *product, const char *what)
{
    return product->epilogue != CUBLASLT_EPILOGUE_DEFAULT && fake_fault(what) == FAKE_HANG;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int *found)
{
    uint64_t m, k;
    (void)handle;
    *found = 0;
    const FakeFault fault = fake_fault(__func__);
    if (fault == FAKE_FAIL || !go_together(product, a, b, c) || c != d ||
        !epilogue_is_right(product, c))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (c->batches > 65535)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (fault == FAKE_HANG || fails_to_finish(product, "epilogue_heuristic")) /* none is found */
        return CUBLAS_STATUS_SUCCESS;
    fake_load();
    sizes(product, a, &m, &k);
    *results = (cublasLtMatmulHeuristicResult_t){.workspaceSize = preference->workspace};
    uint64_t *data = results->algo.data;
    data[ALGO_M] = m;
    data[ALGO_N] = c->columns;
    data[ALGO_K] = k;
    data[ALGO_BATCHES] = (uint64_t)c->batches | (uint64_t)preference->reductions << 32;
    data[ALGO_TYPES] = types_of(product, a, b, c);
    data[ALGO_ALIGNMENT] = preference->alignment[0];
    data[ALGO_WORKSPACE] = preference->workspace;
    data[ALGO_MAGIC] = magic * ALGORITHMS;
    for (; *found < wanted && *found < ALGORITHMS; ++*found) {
        results[*found] = results[0];
        results[*found].algo.data[ALGO_MAGIC] = magic * ALGORITHMS + (uint64_t)*found;
    }
    return CUBLAS_STATUS_SUCCESS;
}

typedef struct {
    struct FakeProduct product;
    struct FakeLayout layout[3];
    float alpha, beta;
    const void *a, *b;
    void *c;
    int algorithm;
    uint32_t reductions;
} Work;

/* Matrix `batch` in f32, at the same distances, or rounded to tf32; memory of its own. */
static float *widened(const struct FakeLayout *layout, const void *from, int64_t batch,
                      bool is_tf32)
{
    const size_t count = (size_t)layout->ld * (layout->columns - 1) + layout->rows;
    const char *at = (const char *)from + batch * layout->step * mw_type_bytes(layout->type);
    float *to = malloc(count * sizeof *to);
    if (!to)
        abort();
    for (size_t i = 0; i < count; i++)
        to[i] = (float)mw_element_get(layout->type, at, (int64_t)i);
    for (size_t i = 0; i < count && is_tf32; i++)
        to[i] = mw_tf32_from_f32(to[i]);
    return to;
}

/* The elements of the matrix, and none between its columns. */
static void store(const struct FakeLayout *layout, const float *from, void *to, int64_t batch)
{
    char *at = (char *)to + batch * layout->step * mw_type_bytes(layout->type);
    for (uint64_t column = 0; column < layout->columns; column++) {
        for (uint64_t row = 0; row < layout->rows; row++) {
            const size_t i = column * (size_t)layout->ld + row;
            mw_element_put(layout->type, at, (int64_t)i, (double)from[i]);
        }
    }
}

static double gelu_inner(double x)
{
    return tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x));
}

static double gelu_slope(double x)
{
    const double t = gelu_inner(x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x);
}

/* Element i of column `column` of D, where `c` is the product. */
static float finished(const Work *work, float c, int64_t i, int64_t column)
{
    const struct FakeProduct *p = &work->product;
    const MwType type = work->layout[2].type;
    double x = c;
    if (p->epilogue == CUBLASLT_EPILOGUE_DGELU)
        return (float)(x * gelu_slope(mw_element_get(type, p->aux, column * p->aux_ld + i)));
    if (p->epilogue & CUBLASLT_EPILOGUE_BIAS)
        x += mw_element_get(type, p->bias, i);
    if (has_aux(p))
        mw_element_put(type, p->aux, column * p->aux_ld + i, x);
    /* how exact it is, is not documented */
    const double wrong = type == MW_F32 ? 1e-3 : 0;
    return (float)(p->epilogue & CUBLASLT_EPILOGUE_GELU ? 0.5 * x * (1 + wrong + gelu_inner(x))
                                                        : x);
}

static void finish(const Work *work, float *c)
{
    const struct FakeLayout *l = &work->layout[2];
    for (int64_t column = 0; column < (int64_t)l->columns; column++)
        for (int64_t i = 0; i < (int64_t)l->rows; i++)
            c[column * l->ld + i] = finished(work, c[column * l->ld + i], i, column);
}

/* Over k, of op(a) or op(b), which are m x k and k x n. */
static void add_up(const Work *work, const float *a, const float *b)
{
    const struct FakeProduct *p = &work->product;
    const bool is_a = p->epilogue == CUBLASLT_EPILOGUE_BGRADA;
    const struct FakeLayout *l = &work->layout[is_a ? 0 : 1];
    const bool k_is_column = is_a != (bool)p->turned[is_a ? 0 : 1];
    const int64_t k = (int64_t)(k_is_column ? l->columns : l->rows);
    const int64_t count = (int64_t)(k_is_column ? l->rows : l->columns);
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++)
            sum += (is_a ? a : b)[k_is_column ? j * l->ld + i : i * l->ld + j];
        mw_element_put(work->layout[2].type, p->bias, i, sum);
    }
}

/* Of an epilogue: as FAKE_CUDA_EPILOGUE_MS has it. */
static double epilogue_ms(const struct FakeProduct *product)
{
    const char *longer = getenv("FAKE_CUDA_EPILOGUE_MS");
    return longer && product->epilogue != CUBLASLT_EPILOGUE_DEFAULT ? atoi(longer) : 0;
}

/* As if the last were the fastest, or with FAKE_CUDA_FASTEST=I algorithm I. */
double fake_algorithm_ms(int algorithm)
{
    const char *fastest = getenv("FAKE_CUDA_FASTEST");
    return algorithm == (fastest ? atoi(fastest) : ALGORITHMS - 1) ? 1 : 2 + algorithm;
}

/* Adds alpha op(a) op(b) to beta c, matrices in f32. Where parts of the sum over k may be added up
 * in the type of D, they are. */
static void add_product(const Work *work, const float *a, const float *b, float *c)
{
    const struct FakeLayout *l = work->layout;
    const bool turned[] = {work->product.turned[0], work->product.turned[1]};
    const uint64_t parts = work->reductions & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE ? PARTS : 1;
    const uint64_t count = (uint64_t)l[2].ld * (l[2].columns - 1) + l[2].rows;
    uint64_t m, k;
    sizes(&work->product, &l[0], &m, &k);
    for (uint64_t i = 0; i < parts; i++) {
        const uint64_t from = k * i / parts, end = k * (i + 1) / parts;
        cblas_sgemm(CblasColMajor, turned[0] ? CblasTrans : CblasNoTrans,
                    turned[1] ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)l[2].columns,
                    (blasint)(end - from), work->alpha,
                    a + from * (turned[0] ? 1 : (uint64_t)l[0].ld), (blasint)l[0].ld,
                    b + from * (turned[1] ? (uint64_t)l[1].ld : 1), (blasint)l[1].ld,
                    i == 0 ? work->beta : 1, c, (blasint)l[2].ld);
        for (uint64_t e = 0; parts > 1 && e < count; e++) {
            double narrow; /* room for an element */
            mw_element_put(l[2].type, &narrow, 0, c[e]);
            c[e] = (float)mw_element_get(l[2].type, &narrow, 0);
        }
    }
}

static bool multiply(void *state)
{
    const Work *work = state;
    const struct FakeLayout *l = work->layout;
    const bool is_tf32 = work->product.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    fake_spend(fake_algorithm_ms(work->algorithm) + epilogue_ms(&work->product));
    for (int64_t i = 0; i < l[2].batches; i++) {
        float *a = widened(&l[0], work->a, i, is_tf32), *b = widened(&l[1], work->b, i, is_tf32);
        float *c = widened(&l[2], work->c, i, false);
        add_product(work, a, b, c);
        if (work->product.epilogue & (CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB))
            add_up(work, a, b);
        else
            finish(work, c);
        fake_interleave();
        store(&l[2], c, work->c, i);
        free(a);
        free(b);
        free(c);
    }
    return true;
}

static bool fits(const cublasLtMatmulAlgo_t *algo, const Work *work, size_t workspace_bytes)
{
    const uint64_t *data = algo->data;
    const uintptr_t bits = (uintptr_t)work->a | (uintptr_t)work->b | (uintptr_t)work->c;
    uint64_t m, k;
    sizes(&work->product, &work->layout[0], &m, &k);
    return data[ALGO_MAGIC] / ALGORITHMS == magic && data[ALGO_M] == m &&
           data[ALGO_N] == work->layout[2].columns && data[ALGO_K] == k &&
           (uint32_t)data[ALGO_BATCHES] == (uint32_t)work->layout[2].batches &&
           data[ALGO_TYPES] ==
               types_of(&work->product, &work->layout[0], &work->layout[1], &work->layout[2]) &&
           bits % data[ALGO_ALIGNMENT] == 0 &&
           (bits % 16 == 0 || !mw_type_is_fp8(work->layout[0].type)) &&
           workspace_bytes >= data[ALGO_WORKSPACE];
}

/* Of some shapes the first algorithms do not do, or none. */
static bool is_refused(const cublasLtMatmulAlgo_t *algo)
{
    const uint64_t *data = algo->data;
    const bool has_epilogue = (uint32_t)data[ALGO_TYPES] != CUBLASLT_EPILOGUE_DEFAULT;
    return data[ALGO_MAGIC] % ALGORITHMS <
           (data[ALGO_M] + data[ALGO_N]) % (has_epilogue ? ALGORITHMS + 1 : ALGORITHMS);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                              const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    const Work work = {*product,
                       {*a_layout, *b_layout, *d_layout},
                       *(const float *)alpha,
                       *(const float *)beta,
                       a,
                       b,
                       d,
                       (int)(algo->data[ALGO_MAGIC] % ALGORITHMS),
                       (uint32_t)(algo->data[ALGO_BATCHES] >> 32)};
    (void)handle;
    const FakeFault fault = fake_fault(__func__);
    if (fault == FAKE_FAIL)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (fault == FAKE_HANG || fails_to_finish(product, "epilogue_call"))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!go_together(product, a_layout, b_layout, d_layout) || c != d || c_layout != d_layout ||
        !workspace || !epilogue_is_right(product, d_layout) || !fits(algo, &work, workspace_bytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (is_refused(algo))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    fake_queue(stream, multiply, &work, sizeof work);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Loading ---- */

#define ADDRESS(name) name,
MwCublasLt mw_cublaslt = {MW_CUBLASLT_FUNCTIONS(ADDRESS)};

bool mw_cublaslt_load(MwFault *fault)
{
    (void)fault;
    return true;
}
