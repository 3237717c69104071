/* SPDX-License-Identifier: MIT */
/* The routine gemm is row-major, cuBLASLt is column-major. A row-major matrix is the column-major
 * form of its transpose, so that C' = B' A' is computed in the same memory with the operands
 * exchanged. Sums are in f32 for all types, also where an algorithm cuts k into parts.
 *
 * Therefore a bias along n, one number for each column in the routine, is one for each row of D in
 * cuBLASLt, as its epilogues require; and gemm_sum_a, the sums of A, is BGRADB.
 *
 * Source: cuBLAS Library documentation, "Using the cuBLASLt API". */
#include "runtime/cuda/gemm.h"

#include "base/hash.h"
#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/epilogue.h"
#include "runtime/cuda/error.h"
#include "runtime/cuda/fastest.h"
#include "runtime/cuda/gemm_batches.h"
#include "runtime/cuda/gemm_epilogue.h"
#include "runtime/cuda/gemm_plan.h"
#include "runtime/exec/choices.h"

#include <math.h>
#include <string.h>

/* Everything that the algorithm depends on. */
typedef struct {
    int64_t ints[MW_GEMM_A_OFFSET]; /* the arguments before the offsets */
    int64_t routine;                /* MwRoutine */
    /* of all operands and their steps, in bytes; at most MOST_ALIGNED */
    int64_t alignment;
} Shape;

/* The alignment up to which shapes are distinguished, in bytes. */
enum { MOST_ALIGNED = 256 };

/* Algorithms that the heuristics are asked for: cublasLtMatmul may refuse some of them. */
enum { MOST_ALGORITHMS = 8 };

/* A shape with its algorithm. One call of cuBLASLt does the inner batches, a loop the outer
 * ones. */
typedef struct {
    Shape shape;
    cublasLtMatmulDesc_t product; /* NULL: an empty entry of the table */
    cublasLtMatrixLayout_t layout[3];
    /* as the heuristics rank them, and the first that cublasLtMatmul has not refused */
    cublasLtMatmulAlgo_t algorithms[MOST_ALGORITHMS];
    int algorithm_count, algorithm;
    MwGemmBatch outer;
    bool has_epilogue; /* cuBLASLt does the epilogue */
} Known;

_Static_assert((int)MW_CUDA_EPILOGUE_WORKSPACE <= (int)MW_CUDA_GEMM_WORKSPACE,
               "epilogues work where products do");

struct MwCudaGemm {
    MwArena *arena;
    cudaStream_t stream;
    MwChoices *choices; /* values are choice_of a shape */
    cublasLtHandle_t handle;
    void *workspace;
    Known *known; /* [capacity] hash table by shape, at most half full: then it is emptied */
    int count, capacity;
};

static bool check(cublasStatus_t status, const char *call, MwFault *fault)
{
    int gpu = 0;
    if (status == CUBLAS_STATUS_SUCCESS)
        return true;
    cudaGetDevice(&gpu);
    return mw_fault_set(fault, "device %d: %s failed: %s", gpu, call,
                        mw_cublaslt.cublasLtGetStatusName(status));
}

#define CALL(name, ...) check(mw_cublaslt.name(__VA_ARGS__), #name, fault)

/* ---- Shapes ---- */

/* The element type of operand a, b or c in memory. */
static MwType type_of(const int64_t *ints, int operand)
{
    return mw_type_stored((MwType)ints[MW_GEMM_TYPE + operand]);
}

static Shape shape_of(MwRoutine routine, void *const *operands, const MwKernelArg *args)
{
    Shape shape = {.routine = routine};
    uintptr_t bits = MOST_ALIGNED;
    for (int i = 0; i < MW_GEMM_A_OFFSET; i++)
        shape.ints[i] = args[i].i;
    for (int i = 0; i < 3; i++) {
        const int64_t steps = args[MW_GEMM_A_OFFSET + i].i | args[MW_GEMM_A_STRIDE0 + 2 * i].i |
                              args[MW_GEMM_A_STRIDE1 + 2 * i].i;
        bits |= (uintptr_t)operands[i] | (uintptr_t)(steps * mw_type_bytes(type_of(shape.ints, i)));
    }
    for (int i = 3; i < mw_routine_info(routine)->operand_count; i++)
        bits |= (uintptr_t)operands[i];
    shape.alignment = (int64_t)(bits & -bits);
    return shape;
}

static const cudaDataType_t data_types[MW_TYPE_COUNT] = {
#define TYPE(id, name, bytes, kind, element, scalar, npy, onnx, nccl, cuda) [MW_##id] = cuda,
#include "base/types.def"
};

/* The layout of the matrix as it is stored, column-major: the columns of the routine are its
 * rows. */
static bool make_layout(const Shape *shape, int operand, const MwGemmBatch *batch,
                        cublasLtMatrixLayout_t *layout, MwFault *fault)
{
    static const int sizes[3][2] = {
        {MW_GEMM_M, MW_GEMM_K}, {MW_GEMM_K, MW_GEMM_N}, {MW_GEMM_M, MW_GEMM_N}};
    const bool turned = operand < 2 && shape->ints[MW_GEMM_TRANS_A + operand];
    const int64_t rows = shape->ints[sizes[operand][!turned]];
    const int64_t columns = shape->ints[sizes[operand][turned]];
    const int32_t count = (int32_t)batch->count;
    const cudaDataType_t type = data_types[type_of(shape->ints, operand)];
    return CALL(cublasLtMatrixLayoutCreate, layout, type, (uint64_t)rows, (uint64_t)columns,
                shape->ints[MW_GEMM_LDA + operand]) &&
           CALL(cublasLtMatrixLayoutSetAttribute, *layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                &count, sizeof count) &&
           CALL(cublasLtMatrixLayoutSetAttribute, *layout,
                CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch->step[operand],
                sizeof batch->step[operand]);
}

/* Begins the description of the product: of one that had an epilogue anew, as cuBLASLt refuses a
 * product without an epilogue whose pointers are there. */
static bool make_product(Known *known, MwFault *fault)
{
    static const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    const int64_t *ints = known->shape.ints;
    const cublasOperation_t first = operations[ints[MW_GEMM_TRANS_B] != 0];
    const cublasOperation_t second = operations[ints[MW_GEMM_TRANS_A] != 0];
    const cublasComputeType_t compute =
        ints[MW_GEMM_TYPE] == MW_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    if (known->product)
        mw_cublaslt.cublasLtMatmulDescDestroy(known->product);
    known->product = NULL;
    return CALL(cublasLtMatmulDescCreate, &known->product, compute, CUDA_R_32F) &&
           CALL(cublasLtMatmulDescSetAttribute, known->product, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                sizeof first) &&
           CALL(cublasLtMatmulDescSetAttribute, known->product, CUBLASLT_MATMUL_DESC_TRANSB,
                &second, sizeof second);
}

/* How parts of a sum over k may be added up: in f32. The other ways round each part to the type of
 * the result. */
static uint32_t reductions_of(const Known *known)
{
    return type_of(known->shape.ints, 2) == MW_F32 ? CUBLASLT_REDUCTION_SCHEME_MASK
                                                   : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

static bool set_preference(cublasLtMatmulPreference_t preference, const Known *known,
                           MwFault *fault)
{
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    const uint32_t alignment = (uint32_t)known->shape.alignment;
    const uint64_t workspace = MW_CUDA_GEMM_WORKSPACE;
    const uint32_t reductions = reductions_of(known);
    bool good = CALL(cublasLtMatmulPreferenceSetAttribute, preference,
                     CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace) &&
                CALL(cublasLtMatmulPreferenceSetAttribute, preference,
                     CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions);
    for (int i = 0; good && i < MW_COUNT(alignments); i++)
        good = CALL(cublasLtMatmulPreferenceSetAttribute, preference, alignments[i], &alignment,
                    sizeof alignment);
    return good;
}

/* Lists the algorithms of the shape. False after a fault. `*status` is CUBLAS_STATUS_SUCCESS if
 * there is one. */
static bool list_algorithms(const MwCudaGemm *gemm, Known *known, cublasStatus_t *status,
                            MwFault *fault)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[MOST_ALGORITHMS] = {0};
    int count = 0;
    if (!CALL(cublasLtMatmulPreferenceCreate, &preference))
        return false;
    const bool good = set_preference(preference, known, fault);
    *status = mw_cublaslt.cublasLtMatmulAlgoGetHeuristic(
        gemm->handle, known->product, known->layout[1], known->layout[0], known->layout[2],
        known->layout[2], preference, MOST_ALGORITHMS, found, &count);
    mw_cublaslt.cublasLtMatmulPreferenceDestroy(preference);
    known->algorithm = known->algorithm_count = 0;
    for (int i = 0; *status == CUBLAS_STATUS_SUCCESS && i < count; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS)
            known->algorithms[known->algorithm_count++] = found[i].algo;
    if (*status == CUBLAS_STATUS_SUCCESS && known->algorithm_count == 0)
        *status = CUBLAS_STATUS_NOT_SUPPORTED;
    return good;
}

/* ---- Epilogues ---- */

static bool set_epilogue(const Known *known, cublasLtEpilogue_t epilogue, MwFault *fault)
{
    return CALL(cublasLtMatmulDescSetAttribute, known->product, CUBLASLT_MATMUL_DESC_EPILOGUE,
                &epilogue, sizeof epilogue);
}

/* Sets the pointers of the epilogue, which change from call to call. The heuristics consider their
 * alignment too. */
static bool set_pointers(const Known *known, void *const *operands, const MwKernelArg *args,
                         MwFault *fault)
{
    const MwGemmExtras *x = mw_gemm_extras((MwRoutine)known->shape.routine);
    void *vector = operands[x->bias ? x->bias : x->sums];
    void *aux = (char *)operands[x->aux] +
                args[MW_GEMM_C_OFFSET].i * mw_type_bytes(type_of(known->shape.ints, 2));
    const int64_t ld = known->shape.ints[MW_GEMM_LDC];
    if ((x->bias || x->sums) && !CALL(cublasLtMatmulDescSetAttribute, known->product,
                                      CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector))
        return false;
    return !x->aux || (CALL(cublasLtMatmulDescSetAttribute, known->product,
                            CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof aux) &&
                       CALL(cublasLtMatmulDescSetAttribute, known->product,
                            CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof ld));
}

/* Lists algorithms that do the product and the epilogue. If there are none, for whatever reason,
 * there may be some for the product alone. */
static bool choose_with_epilogue(const MwCudaGemm *gemm, Known *known, void *const *operands,
                                 const MwKernelArg *args, MwFault *fault)
{
    const cublasLtEpilogue_t epilogue = mw_cublaslt_epilogue(
        (MwRoutine)known->shape.routine, known->shape.ints, known->shape.alignment);
    cublasStatus_t status;
    if (epilogue == CUBLASLT_EPILOGUE_DEFAULT)
        return true;
    if (!set_epilogue(known, epilogue, fault) || !set_pointers(known, operands, args, fault) ||
        !list_algorithms(gemm, known, &status, fault))
        return false;
    known->has_epilogue = status == CUBLAS_STATUS_SUCCESS;
    return known->has_epilogue || make_product(known, fault);
}

static bool choose_plain(const MwCudaGemm *gemm, Known *known, MwFault *fault)
{
    cublasStatus_t status;
    return list_algorithms(gemm, known, &status, fault) &&
           check(status, "cublasLtMatmulAlgoGetHeuristic", fault);
}

static bool choose(const MwCudaGemm *gemm, Known *known, void *const *operands,
                   const MwKernelArg *args, MwFault *fault)
{
    return choose_with_epilogue(gemm, known, operands, args, fault) &&
           (known->has_epilogue || choose_plain(gemm, known, fault));
}

/* Removes the epilogue from a call of which cublasLtMatmul refuses all algorithms that the
 * heuristics returned. */
static bool do_without_epilogue(const MwCudaGemm *gemm, Known *known, MwFault *fault)
{
    known->has_epilogue = false;
    return make_product(known, fault) && choose_plain(gemm, known, fault);
}

/* ---- Choices ---- */

static uint64_t key_of(const MwCudaGemm *gemm, const Shape *shape)
{
    return mw_hash_mix(mw_hash_bytes(shape, sizeof *shape),
                       mw_hash_bytes(gemm->choices->of, strlen(gemm->choices->of)));
}

/* The choice that is the present state: the place of the algorithm, and whether it is of the
 * product alone. */
static int64_t choice_of(const Known *known)
{
    return known->algorithm + (known->has_epilogue ? 0 : MOST_ALGORITHMS);
}

/* One that does not fit is ignored. */
static bool take_choice(const MwCudaGemm *gemm, Known *known, MwFault *fault)
{
    int64_t choice;
    if (!mw_choices_find(gemm->choices, key_of(gemm, &known->shape), &choice) || choice < 0 ||
        choice >= 2 * MOST_ALGORITHMS)
        return true;
    const bool is_plain = choice >= MOST_ALGORITHMS;
    if (is_plain && known->has_epilogue && !do_without_epilogue(gemm, known, fault))
        return false;
    if (is_plain == !known->has_epilogue && choice % MOST_ALGORITHMS < known->algorithm_count)
        known->algorithm = (int)(choice % MOST_ALGORITHMS);
    return true;
}

/* ---- The table of shapes ---- */

static void drop(Known *known)
{
    if (known->product)
        mw_cublaslt.cublasLtMatmulDescDestroy(known->product);
    for (int i = 0; i < 3; i++)
        if (known->layout[i])
            mw_cublaslt.cublasLtMatrixLayoutDestroy(known->layout[i]);
    *known = (Known){0};
}

static bool add_shape(const MwCudaGemm *gemm, const Shape *shape, Known *known,
                      void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    MwGemmBatch inner;
    known->shape = *shape;
    mw_gemm_split_batches(shape->ints, &inner, &known->outer);
    bool good = make_product(known, fault);
    for (int i = 0; good && i < 3; i++)
        good = make_layout(shape, i, &inner, &known->layout[i], fault);
    good = good && choose(gemm, known, operands, args, fault) && take_choice(gemm, known, fault);
    if (!good)
        drop(known);
    return good;
}

static void empty_table(MwCudaGemm *gemm)
{
    for (int i = 0; i < gemm->capacity; i++)
        drop(&gemm->known[i]);
    gemm->count = 0;
}

/* The entry of the shape, or the empty entry where it belongs. */
static Known *entry_of(const MwCudaGemm *gemm, const Shape *shape)
{
    uint64_t at = mw_hash_bytes(shape, sizeof *shape);
    for (;; at++) {
        Known *known = &gemm->known[at % (uint64_t)gemm->capacity];
        if (!known->product || memcmp(&known->shape, shape, sizeof *shape) == 0)
            return known;
    }
}

static Known *find_shape(MwCudaGemm *gemm, const Shape *shape, void *const *operands,
                         const MwKernelArg *args, MwFault *fault)
{
    Known *known = entry_of(gemm, shape);
    if (known->product)
        return known;
    if (2 * gemm->count >= gemm->capacity) {
        empty_table(gemm);
        known = entry_of(gemm, shape);
    }
    if (!add_shape(gemm, shape, known, operands, args, fault))
        return NULL;
    gemm->count++;
    return known;
}

/* ---- Calls ---- */

/* Does iteration i of the outer batches by the algorithm that is chosen. */
static cublasStatus_t multiply_once(const MwCudaGemm *gemm, const Known *known,
                                    void *const *operands, const MwKernelArg *args, int64_t i)
{
    const MwGemmExtras *x = mw_gemm_extras((MwRoutine)known->shape.routine);
    const float alpha = (float)args[MW_GEMM_ALPHA].f, beta = (float)args[MW_GEMM_BETA].f;
    const bool goes_to_aux = !known->has_epilogue && x->has_gelu && x->aux;
    char *at[3];
    for (int o = 0; o < 3; o++)
        at[o] = (char *)operands[o == 2 && goes_to_aux ? x->aux : o] +
                (args[MW_GEMM_A_OFFSET + o].i + i * known->outer.step[o]) *
                    mw_type_bytes(type_of(known->shape.ints, o));
    return mw_cublaslt.cublasLtMatmul(gemm->handle, known->product, &alpha, at[1], known->layout[1],
                                      at[0], known->layout[0], &beta, at[2], known->layout[2],
                                      at[2], known->layout[2], &known->algorithms[known->algorithm],
                                      gemm->workspace, MW_CUDA_GEMM_WORKSPACE, gemm->stream);
}

/* The same by the first algorithm that is not refused, which is chosen then. */
static cublasStatus_t multiply(const MwCudaGemm *gemm, Known *known, void *const *operands,
                               const MwKernelArg *args, int64_t i)
{
    for (;; known->algorithm++) {
        const cublasStatus_t status = multiply_once(gemm, known, operands, args, i);
        if (status != CUBLAS_STATUS_NOT_SUPPORTED || known->algorithm + 1 == known->algorithm_count)
            return status;
    }
}

/* Does product and epilogue by cuBLASLt; clears `has_epilogue` if it refuses. */
static bool run_whole(const MwCudaGemm *gemm, Known *known, void *const *operands,
                      const MwKernelArg *args, MwFault *fault)
{
    if (!set_pointers(known, operands, args, fault))
        return false;
    const cublasStatus_t status = multiply(gemm, known, operands, args, 0);
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? do_without_epilogue(gemm, known, fault)
                                                 : check(status, "cublasLtMatmul", fault);
}

/* Does by our kernels what is more than the product. */
static bool finish(const MwCudaGemm *gemm, const Known *known, void *const *operands,
                   const MwKernelArg *args, MwFault *fault)
{
    const MwRoutine routine = (MwRoutine)known->shape.routine;
    if (!mw_gemm_has_extras(routine))
        return true;
    mw_cuda_epilogue(routine, operands, args, gemm->workspace, gemm->stream);
    return mw_cuda_check(cudaGetLastError(), mw_routine_info(routine)->name, fault);
}

static bool run(MwCudaGemm *gemm, MwRoutine routine, void *const *operands, const MwKernelArg *args,
                MwFault *fault)
{
    const Shape shape = shape_of(routine, operands, args);
    Known *known = find_shape(gemm, &shape, operands, args, fault);
    if (!known || (known->has_epilogue && !run_whole(gemm, known, operands, args, fault)))
        return false;
    if (known->has_epilogue)
        return true;
    for (int64_t i = 0; i < known->outer.count; i++)
        if (!check(multiply(gemm, known, operands, args, i), "cublasLtMatmul", fault))
            return false;
    return finish(gemm, known, operands, args, fault);
}

static bool run_in_parts(MwCudaGemm *gemm, MwRoutine routine, void *const *operands,
                         const MwKernelArg *args, MwFault *fault)
{
    MwKernelArg some[MW_GEMM_ARGS], part[MW_GEMM_ARGS];
    const int64_t rows = args[MW_GEMM_BATCH0].i, columns = args[MW_GEMM_BATCH1].i;
    for (int64_t i = 0; i < rows; i += MW_GEMM_MOST_BATCHES) {
        mw_gemm_take_batches(args, 0, i, mw_min(rows, i + MW_GEMM_MOST_BATCHES), some);
        for (int64_t k = 0; k < columns; k += MW_GEMM_MOST_BATCHES) {
            mw_gemm_take_batches(some, 1, k, mw_min(columns, k + MW_GEMM_MOST_BATCHES), part);
            if (!run(gemm, routine, operands, part, fault))
                return false;
        }
    }
    return true;
}

static bool name_sizes(const MwKernelArg *args, MwFault *fault)
{
    return mw_fault_prefix(fault, "%lld x %lld by %lld x %lld", (long long)args[MW_GEMM_M].i,
                           (long long)args[MW_GEMM_K].i, (long long)args[MW_GEMM_K].i,
                           (long long)args[MW_GEMM_N].i);
}

bool mw_cuda_gemm_run(MwCudaGemm *gemm, MwRoutine routine, void *const *operands,
                      const MwKernelArg *args, MwFault *fault)
{
    return run_in_parts(gemm, routine, operands, args, fault) || name_sizes(args, fault);
}

/* ---- Tuning ---- */

typedef struct {
    const MwCudaGemm *gemm;
    Known known;
    void *const *operands;
    const MwKernelArg *args;
} Tuning;

/* With what finishes the product, if cuBLASLt does not. */
static bool try_algorithm(void *context, int i, bool *refused, MwFault *fault)
{
    Tuning *tuning = context;
    Known *known = &tuning->known;
    known->algorithm = i;
    const cublasStatus_t status =
        multiply_once(tuning->gemm, known, tuning->operands, tuning->args, 0);
    *refused = status == CUBLAS_STATUS_NOT_SUPPORTED;
    return *refused || (check(status, "cublasLtMatmul", fault) &&
                        (known->has_epilogue ||
                         finish(tuning->gemm, known, tuning->operands, tuning->args, fault)));
}

static bool find_fastest(Tuning *tuning, MwCudaFastest *fastest, MwFault *fault)
{
    const Known *known = &tuning->known;
    if (known->has_epilogue && !set_pointers(known, tuning->operands, tuning->args, fault))
        return false;
    return mw_cuda_fastest(tuning->gemm->stream, known->algorithm_count, try_algorithm, tuning,
                           fastest, fault);
}

/* Chooses between cuBLASLt's epilogue and a product that our kernels finish, if it has one. `known`
 * keeps the choice, and is not to be run. */
static bool tune_epilogue(Tuning *tuning, MwFault *fault)
{
    Known *known = &tuning->known;
    MwCudaFastest whole, plain = {-1, INFINITY};
    cublasStatus_t status;
    if (!find_fastest(tuning, &whole, fault))
        return false;
    known->has_epilogue = false;
    if (!make_product(known, fault) || !list_algorithms(tuning->gemm, known, &status, fault) ||
        (status == CUBLAS_STATUS_SUCCESS && !find_fastest(tuning, &plain, fault)))
        return false;
    known->has_epilogue = whole.way >= 0 && whole.time_ms <= plain.time_ms;
    known->algorithm = (int)mw_max(known->has_epilogue ? whole.way : plain.way, 0);
    return known->has_epilogue || check(status, "cublasLtMatmulAlgoGetHeuristic", fault);
}

static bool tune(Tuning *tuning, MwFault *fault)
{
    MwCudaFastest fastest;
    if (tuning->known.has_epilogue)
        return tune_epilogue(tuning, fault);
    if (!find_fastest(tuning, &fastest, fault))
        return false;
    tuning->known.algorithm = (int)mw_max(fastest.way, 0);
    return true;
}

bool mw_cuda_gemm_tune(MwCudaGemm *gemm, MwRoutine routine, void *const *operands,
                       const MwKernelArg *args, MwFault *fault)
{
    Tuning tuning = {.gemm = gemm, .operands = operands, .args = args};
    const Shape shape = shape_of(routine, operands, args);
    const uint64_t key = key_of(gemm, &shape);
    int64_t choice;
    if (args[MW_GEMM_BATCH0].i > MW_GEMM_MOST_BATCHES ||
        args[MW_GEMM_BATCH1].i > MW_GEMM_MOST_BATCHES ||
        mw_choices_find(gemm->choices, key, &choice))
        return true;
    const bool good =
        add_shape(gemm, &shape, &tuning.known, operands, args, fault) && tune(&tuning, fault);
    if (good)
        mw_choices_add(gemm->arena, gemm->choices, key, choice_of(&tuning.known));
    drop(&tuning.known);
    return good || name_sizes(args, fault);
}

/* ---- Creation and destruction ---- */

MwCudaGemm *mw_cuda_gemm_new(MwArena *arena, const MwPlan *plan, cudaStream_t stream,
                             MwChoices *choices, MwFault *fault)
{
    /* entries: room for the products of a small plan with several alignments */
    enum { LEAST = 64 };
    MwCudaGemm *gemm = MW_NEW(arena, MwCudaGemm, 1);
    gemm->arena = arena;
    gemm->stream = stream;
    gemm->choices = choices;
    gemm->capacity = (int)mw_max(LEAST, 4 * (int64_t)mw_cuda_product_count(plan));
    gemm->known = MW_NEW(arena, Known, gemm->capacity);
    if (!mw_cuda_takes_products(plan, fault) || !mw_cublaslt_load(fault) ||
        !CALL(cublasLtCreate, &gemm->handle) ||
        !MW_CUDA_CALL(fault, cudaMalloc, &gemm->workspace, MW_CUDA_GEMM_WORKSPACE))
        mw_cuda_gemm_free(&gemm);
    return gemm;
}

void mw_cuda_gemm_free(MwCudaGemm **gemm)
{
    if (!*gemm)
        return;
    empty_table(*gemm);
    if ((*gemm)->workspace)
        cudaFree((*gemm)->workspace);
    if ((*gemm)->handle)
        mw_cublaslt.cublasLtDestroy((*gemm)->handle);
    *gemm = NULL;
}
