/* SPDX-License-Identifier: MIT */
#include "runtime/plan/routine.h"

#include "base/fp8.h"
#include "base/tensor.h"

#include <string.h>

#define ROUTINE(id, name, accesses, ...)                                                           \
    _Static_assert(sizeof(accesses) - 1 <= MW_ROUTINE_MAX_OPERANDS, "operands of " name);
#include "runtime/plan/routines.def"

static const MwRoutineInfo routines[MW_ROUTINE_COUNT] = {
#define ROUTINE(id, name, accesses, ints, floats, type, ...)                                       \
    [MW_ROUTINE_##id] = {name, accesses, sizeof(accesses) - 1, ints, floats, type},
#include "runtime/plan/routines.def"
};

const MwRoutineInfo *mw_routine_info(MwRoutine routine)
{
    return &routines[routine];
}

bool mw_routine_has_scratch(MwRoutine routine)
{
    return routines[routine].accesses[routines[routine].operand_count - 1] == 's';
}

/* ---- Backends ---- */

bool mw_gemm_takes_fp8(const MwKernelArg *args)
{
    /* of c too, whose elements are longer, so that fewer would do */
    static const int aligned[] = {MW_GEMM_M,         MW_GEMM_N,         MW_GEMM_K,
                                  MW_GEMM_LDA,       MW_GEMM_LDB,       MW_GEMM_LDC,
                                  MW_GEMM_A_STRIDE0, MW_GEMM_A_STRIDE1, MW_GEMM_B_STRIDE0,
                                  MW_GEMM_B_STRIDE1, MW_GEMM_C_STRIDE0, MW_GEMM_C_STRIDE1,
                                  MW_GEMM_A_OFFSET,  MW_GEMM_B_OFFSET,  MW_GEMM_C_OFFSET};
    bool takes = !args[MW_GEMM_TRANS_A].i && args[MW_GEMM_TRANS_B].i;
    for (int i = 0; i < MW_COUNT(aligned); i++)
        takes = takes && args[aligned[i]].i % MW_FP8_STEP == 0;
    return takes;
}

/* The function of each routine, by the column of the backend; "none": its devices have no such
 * routine. */
static const char *const functions[MW_BACKEND_COUNT][MW_ROUTINE_COUNT] = {
#define ROUTINE(id, name, accesses, ints, floats, type, extents, cpu, cuda)                        \
    [MW_BACKEND_cpu][MW_ROUTINE_##id] = #cpu, [MW_BACKEND_cuda][MW_ROUTINE_##id] = #cuda,
#include "runtime/plan/routines.def"
};

bool mw_routine_is_on(MwRoutine routine, MwBackendId backend)
{
    const char *function = functions[backend][routine];
    MW_ASSERT(function); /* else the backend has no column in routines.def */
    return strcmp(function, "none") != 0;
}

/* ---- Types ---- */

/* Bytes of an element of the type that an argument names; 0: there is no such type. */
static int64_t bytes_of_type(int64_t type)
{
    return type >= 0 && type < MW_TYPE_COUNT ? mw_type_bytes((MwType)type) : 0;
}

static bool is_half(int64_t type)
{
    return bytes_of_type(type) && mw_type_is_half((MwType)type);
}

static bool is_fp8(int64_t type)
{
    return bytes_of_type(type) && mw_type_is_fp8((MwType)type);
}

/* Whether routines compute with the type. */
static bool is_float(int64_t type)
{
    return type == MW_F32 || is_half(type);
}

/* ---- Backends ---- */

const char *mw_routine_off(MwRoutine routine, const MwKernelArg *args, MwBackendId backend)
{
    const int type = routines[routine].type_arg;
    if (!mw_routine_is_on(routine, backend))
        return "is no routine of this backend";
    const bool is_wide = type < 0 || !(is_half(args[type].i) || is_fp8(args[type].i));
    if (type >= 0 && is_fp8(args[type].i) && mw_backend_info(backend)->takes_fp8)
        return mw_gemm_takes_fp8(args)
                   ? NULL
                   : "takes floats of 8 bits where a is not turned and b is, by "
                     "multiples of 16";
    if (is_wide || (mw_backend_info(backend)->takes_halves && is_half(args[type].i)) ||
        (routine == MW_ROUTINE_GEMM && args[type].i == MW_BF16 &&
         mw_backend_info(backend)->takes_bf16))
        return NULL;
    return routine == MW_ROUTINE_GEMM && mw_backend_info(backend)->takes_bf16
               ? "takes f32 and bf16 alone on this backend"
               : "takes f32 alone on this backend";
}

/* ---- Sizes ---- */

/* Sizes that stick at -1 once anything is negative or too large. */
static const int64_t largest = (int64_t)1 << 60;

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) || product > largest)
        return -1;
    return product;
}

static int64_t plus(int64_t a, int64_t b)
{
    return a < 0 || b < 0 || a > largest || b > largest || a + b > largest ? -1 : a + b;
}

/* Returns the number of elements up to the end of a strided array: `count` rows of `row` elements,
 * `stride` apart, from `offset`. */
static int64_t rows_end(int64_t offset, int64_t count, int64_t stride, int64_t row)
{
    if (count < 1 || row < 1 || row > stride)
        return -1;
    return plus(offset, plus(times(count - 1, stride), row));
}

typedef struct {
    int trans, rows, columns, ld, stride0, stride1, type, offset;
} GemmOperand;

/* Returns the bytes up to the end of a batch of matrices stored by rows: the last row of the last
 * matrix ends last. */
static int64_t gemm_bytes(const MwKernelArg *args, const GemmOperand *operand)
{
    bool turned = operand->trans >= 0 && args[operand->trans].i;
    int64_t rows = args[turned ? operand->columns : operand->rows].i;
    int64_t columns = args[turned ? operand->rows : operand->columns].i;
    int64_t batches = plus(times(args[MW_GEMM_BATCH0].i - 1, args[operand->stride0].i),
                           times(args[MW_GEMM_BATCH1].i - 1, args[operand->stride1].i));
    const int64_t end =
        rows_end(plus(args[operand->offset].i, batches), rows, args[operand->ld].i, columns);
    return times(mw_type_bytes((MwType)args[operand->type].i), end);
}

static bool gemm_takes(int64_t a_type, int64_t b_type, int64_t c_type)
{
    if (is_fp8(a_type) && is_fp8(b_type))
        return (a_type == MW_E4M3 || b_type == MW_E4M3) && (c_type == MW_F32 || c_type == MW_BF16);
    return a_type == b_type && (((a_type == MW_F32 || a_type == MW_TF32) && c_type == MW_F32) ||
                                (is_half(a_type) && (c_type == MW_F32 || c_type == a_type)));
}

/* ---- Products ---- */

static bool gemm_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    static const GemmOperand operands[] = {
        {MW_GEMM_TRANS_A, MW_GEMM_M, MW_GEMM_K, MW_GEMM_LDA, MW_GEMM_A_STRIDE0, MW_GEMM_A_STRIDE1,
         MW_GEMM_TYPE, MW_GEMM_A_OFFSET},
        {MW_GEMM_TRANS_B, MW_GEMM_K, MW_GEMM_N, MW_GEMM_LDB, MW_GEMM_B_STRIDE0, MW_GEMM_B_STRIDE1,
         MW_GEMM_B_TYPE, MW_GEMM_B_OFFSET},
        {-1, MW_GEMM_M, MW_GEMM_N, MW_GEMM_LDC, MW_GEMM_C_STRIDE0, MW_GEMM_C_STRIDE1,
         MW_GEMM_C_TYPE, MW_GEMM_C_OFFSET},
    };
    (void)routine;
    if (!gemm_takes(args[MW_GEMM_TYPE].i, args[MW_GEMM_B_TYPE].i, args[MW_GEMM_C_TYPE].i))
        return false;
    for (int i = 0; i < MW_COUNT(operands); i++)
        bytes[i] = gemm_bytes(args, &operands[i]);
    return true;
}

/* ---- Products with more ---- */

static const MwGemmExtras extras[MW_ROUTINE_COUNT] = {
    [MW_ROUTINE_GEMM_BIAS] = {.bias = 3},
    [MW_ROUTINE_GEMM_GELU] = {.has_gelu = true},
    [MW_ROUTINE_GEMM_GELU_AUX] = {.has_gelu = true, .aux = 3},
    [MW_ROUTINE_GEMM_BIAS_GELU] = {.has_gelu = true, .bias = 3},
    [MW_ROUTINE_GEMM_BIAS_GELU_AUX] = {.has_gelu = true, .bias = 3, .aux = 4},
    [MW_ROUTINE_GEMM_GELU_GRAD] = {.has_gelu_grad = true, .aux = 3},
    [MW_ROUTINE_GEMM_SUM_A] = {.sums = 3, .summed = 0},
    [MW_ROUTINE_GEMM_SUM_B] = {.sums = 3, .summed = 1},
};

bool mw_gemm_has_extras(MwRoutine routine)
{
    const MwGemmExtras *x = &extras[routine];
    return x->bias || x->sums || x->has_gelu || x->has_gelu_grad;
}

const MwGemmExtras *mw_gemm_extras(MwRoutine routine)
{
    return routine == MW_ROUTINE_GEMM || mw_gemm_has_extras(routine) ? &extras[routine] : NULL;
}

static bool finished_gemm_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    const MwGemmExtras *x = &extras[routine];
    if (!gemm_extents(routine, args, bytes))
        return false;
    const int64_t type_bytes = mw_type_bytes((MwType)args[MW_GEMM_C_TYPE].i);
    if (args[MW_GEMM_BATCH0].i != 1 || args[MW_GEMM_BATCH1].i != 1)
        return false;
    if (x->bias)
        bytes[x->bias] = times(type_bytes, args[MW_GEMM_N].i);
    if (x->aux)
        bytes[x->aux] = bytes[2];
    if (x->sums)
        bytes[x->sums] = times(type_bytes, args[x->summed ? MW_GEMM_N : MW_GEMM_M].i);
    return true;
}

/* ---- Attention ---- */

typedef struct {
    int64_t q, k, v;    /* strided */
    int64_t dq, dk, dv; /* strided; of gradients alone */
    int64_t queries;    /* bytes of a dense tensor like q */
    int64_t lse;
    int64_t tile; /* bytes of the scores of one query tile, in f32 */
} SdpaSizes;

/* Sets the bytes of the mask. */
static bool sdpa_mask_bytes(const MwKernelArg *args, int64_t *bytes)
{
    static const int mask[] = {MW_SDPA_MASK_B, MW_SDPA_MASK_H, MW_SDPA_MASK_S, MW_SDPA_MASK_T};
    static const int whole[] = {MW_SDPA_B, MW_SDPA_H, MW_SDPA_S, MW_SDPA_T};
    const int64_t type = args[MW_SDPA_MASK_TYPE].i;
    if (type != MW_BOOL && type != args[MW_SDPA_TYPE].i)
        return false;
    *bytes = bytes_of_type(type);
    for (int i = 0; i < MW_COUNT(mask); i++) {
        const int64_t size = args[mask[i]].i;
        if (size != 1 && size != args[whole[i]].i)
            return false;
        *bytes = times(*bytes, size);
    }
    return true;
}

/* A value of which each row, of a query or a key, has its heads side by side. */
typedef struct {
    bool of_keys;
    int row, offset; /* arguments: of its stride and its first element */
} SdpaRows;

static const SdpaRows sdpa_read[] = {{false, MW_SDPA_Q_ROW, MW_SDPA_Q_OFFSET},
                                     {true, MW_SDPA_K_ROW, MW_SDPA_K_OFFSET},
                                     {true, MW_SDPA_V_ROW, MW_SDPA_V_OFFSET}};
static const SdpaRows sdpa_written[] = {{false, MW_SDPA_DQ_ROW, MW_SDPA_DQ_OFFSET},
                                        {true, MW_SDPA_DK_ROW, MW_SDPA_DK_OFFSET},
                                        {true, MW_SDPA_DV_ROW, MW_SDPA_DV_OFFSET}};

static int64_t sdpa_row_count(const MwKernelArg *args, const SdpaRows *rows)
{
    return times(args[MW_SDPA_B].i, args[rows->of_keys ? MW_SDPA_T : MW_SDPA_S].i);
}

/* Elements of a row. */
static int64_t sdpa_row_width(const MwKernelArg *args, const SdpaRows *rows)
{
    return times(args[rows->of_keys ? MW_SDPA_G : MW_SDPA_H].i, args[MW_SDPA_D].i);
}

/* Bytes up to the end of the value. */
static int64_t sdpa_row_bytes(const MwKernelArg *args, const SdpaRows *rows)
{
    return times(bytes_of_type(args[MW_SDPA_TYPE].i),
                 rows_end(args[rows->offset].i, sdpa_row_count(args, rows), args[rows->row].i,
                          sdpa_row_width(args, rows)));
}

static bool sdpa_sizes(const MwKernelArg *args, SdpaSizes *sizes)
{
    const int64_t type = args[MW_SDPA_TYPE].i, bytes = bytes_of_type(type);
    int64_t b = args[MW_SDPA_B].i, s = args[MW_SDPA_S].i, t = args[MW_SDPA_T].i;
    int64_t h = args[MW_SDPA_H].i, g = args[MW_SDPA_G].i, d = args[MW_SDPA_D].i;
    if (b < 1 || s < 1 || t < 1 || g < 1 || d < 1 || h % g != 0 || args[MW_SDPA_POSITION].i < 0 ||
        args[MW_SDPA_KEY_POSITION].i < 0 || args[MW_SDPA_WINDOW].i < 0 ||
        args[MW_SDPA_WINDOW].i > INT32_MAX || args[MW_SDPA_OFFSET].i > INT32_MAX ||
        args[MW_SDPA_OFFSET].i < -INT32_MAX || !is_float(type))
        return false;
    int64_t queries = times(b, s);
    *sizes = (SdpaSizes){
        .q = sdpa_row_bytes(args, &sdpa_read[0]),
        .k = sdpa_row_bytes(args, &sdpa_read[1]),
        .v = sdpa_row_bytes(args, &sdpa_read[2]),
        .dq = sdpa_row_bytes(args, &sdpa_written[0]),
        .dk = sdpa_row_bytes(args, &sdpa_written[1]),
        .dv = sdpa_row_bytes(args, &sdpa_written[2]),
        .queries = times(bytes, times(queries, times(h, d))),
        .lse = times(4, times(queries, h)),
        .tile = times(4, times(mw_min(s, MW_SDPA_QUERY_TILE), t)),
    };
    return true;
}

static bool sdpa_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    SdpaSizes z;
    (void)routine;
    if (!sdpa_sizes(args, &z))
        return false;
    const int64_t all[] = {z.q, z.k, z.v, z.queries, z.lse, z.tile};
    memcpy(bytes, all, sizeof all);
    return true;
}

static bool sdpa_masked_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    int64_t mask;
    if (!sdpa_mask_bytes(args, &mask) || !sdpa_extents(routine, args, bytes))
        return false;
    memmove(bytes + 4, bytes + 3, sizeof *bytes * 3);
    bytes[3] = mask;
    return true;
}

/* Sets the bytes of the operands that the gradients read, and returns those of their scratch; 0:
 * the arguments make no sense. */
static int64_t sdpa_gradient_read(const MwKernelArg *args, SdpaSizes *z, int64_t *bytes)
{
    if (!sdpa_sizes(args, z))
        return 0;
    const int64_t read[] = {z->q, z->k, z->v, z->queries, z->lse, z->queries};
    memcpy(bytes, read, sizeof read);
    return mw_max(times(2, z->tile), z->lse);
}

static bool sdpa_grad_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    SdpaSizes z;
    (void)routine;
    const int64_t scratch = sdpa_gradient_read(args, &z, bytes);
    if (!scratch)
        return false;
    const int64_t rest[] = {z.dq, z.dk, z.dv, scratch};
    memcpy(bytes + 6, rest, sizeof rest);
    return true;
}

static bool sdpa_masked_grad_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    if (!sdpa_grad_extents(routine, args, bytes + 1) || !sdpa_mask_bytes(args, bytes))
        return false;
    const int64_t mask = bytes[0];
    memmove(bytes, bytes + 1, sizeof *bytes * 6);
    bytes[6] = mask;
    return true;
}

static bool sdpa_mask_grad_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    SdpaSizes z;
    int64_t mask;
    (void)routine;
    const int64_t scratch = sdpa_gradient_read(args, &z, bytes);
    if (!scratch || !sdpa_mask_bytes(args, &mask) || args[MW_SDPA_MASK_TYPE].i == MW_BOOL)
        return false;
    const int64_t rest[] = {mask, mask, scratch};
    memcpy(bytes + 6, rest, sizeof rest);
    return true;
}

/* The first of the operands dq, dk and dv; 0: the routine has none. */
static const int sdpa_first_written[MW_ROUTINE_COUNT] = {
    [MW_ROUTINE_SDPA_GRAD] = 6, [MW_ROUTINE_SDPA_MASKED_GRAD] = 7};

static bool is_written_in_rows(MwRoutine routine, int operand)
{
    const int first = sdpa_first_written[routine];
    return first && operand >= first && operand < first + MW_COUNT(sdpa_written);
}

bool mw_routine_shares_rows(MwRoutine routine, int a, int b)
{
    return is_written_in_rows(routine, a) && is_written_in_rows(routine, b);
}

/* Whether two values that are written are of the same rows, and apart in them. */
static bool are_apart(const MwKernelArg *args, const SdpaRows *a, const SdpaRows *b)
{
    const int64_t begin = args[a->offset].i, other = args[b->offset].i;
    return args[a->row].i == args[b->row].i && sdpa_row_count(args, a) == sdpa_row_count(args, b) &&
           (begin >= other + sdpa_row_width(args, b) || other >= begin + sdpa_row_width(args, a));
}

bool mw_routine_fills_rows(MwRoutine routine, const MwKernelArg *args, const int *buffer)
{
    const int first = sdpa_first_written[routine], count = first ? MW_COUNT(sdpa_written) : 0;
    for (int i = 0; i < count; i++) {
        const int64_t row = args[sdpa_written[i].row].i;
        int64_t filled = 0;
        for (int k = 0; k < count; k++) {
            const SdpaRows *part = &sdpa_written[k];
            if (buffer[first + k] != buffer[first + i])
                continue;
            filled += sdpa_row_width(args, part);
            if ((k != i && !are_apart(args, part, &sdpa_written[i])) ||
                args[part->offset].i > row - sdpa_row_width(args, part))
                return false;
        }
        if (filled != row)
            return false;
    }
    return true;
}

/* ---- Windows ---- */

/* Bytes of the tensors of a convolution or of pooling. */
typedef struct {
    int64_t x, y, filter;
} WindowSizes;

/* Whether the numbers of dimension i are in their ranges. None is above INT32_MAX, so that places
 * in windows do not overflow. */
static bool windows_fit(const MwKernelArg *args, int i)
{
    const int numbers[] = {MW_WINDOW_IN,     MW_WINDOW_OUT,      MW_WINDOW_SIZE,
                           MW_WINDOW_STRIDE, MW_WINDOW_DILATION, MW_WINDOW_BEFORE};
    for (int k = 0; k < MW_COUNT(numbers); k++) {
        const int64_t number = args[numbers[k] + i].i;
        if (number < (numbers[k] != MW_WINDOW_BEFORE) || number > INT32_MAX)
            return false;
    }
    return true;
}

/* Whether every window of dimension i has an element of x: the first and the last one do. */
static bool windows_overlap(const MwKernelArg *args, int i)
{
    const int64_t before = args[MW_WINDOW_BEFORE + i].i;
    const int64_t last = (args[MW_WINDOW_OUT + i].i - 1) * args[MW_WINDOW_STRIDE + i].i;
    return before < args[MW_WINDOW_SIZE + i].i && last - before < args[MW_WINDOW_IN + i].i;
}

static bool window_sizes(const MwKernelArg *args, int64_t features, WindowSizes *sizes)
{
    const int64_t bytes = bytes_of_type(args[MW_WINDOW_TYPE].i);
    int64_t in = args[MW_WINDOW_BATCH].i, out = in, taps = 1;
    if (in < 1 || args[MW_WINDOW_CHANNELS].i < 1 || features < 1)
        return false;
    for (int i = 0; i < MW_WINDOW_DIMS; i++) {
        if (!windows_fit(args, i))
            return false;
        in = times(in, args[MW_WINDOW_IN + i].i);
        out = times(out, args[MW_WINDOW_OUT + i].i);
        taps = times(taps, args[MW_WINDOW_SIZE + i].i);
    }
    *sizes = (WindowSizes){.x = times(bytes, times(in, args[MW_WINDOW_CHANNELS].i)),
                           .y = times(bytes, times(out, features)),
                           .filter = taps};
    return true;
}

static bool conv_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    WindowSizes z;
    const int64_t groups = args[MW_CONV_GROUPS].i, features = args[MW_CONV_FEATURES].i;
    const int64_t channels = args[MW_WINDOW_CHANNELS].i, filter_type = args[MW_CONV_FILTER_TYPE].i;
    int64_t type = args[MW_WINDOW_TYPE].i;
    if (type == MW_TF32)
        type = mw_type_stored(MW_TF32);
    if (!is_float(type) || groups < 1 || channels % groups != 0 || features % groups != 0 ||
        !window_sizes(args, features, &z) ||
        (filter_type != type && (routine != MW_ROUTINE_CONV_FILTER_GRAD || filter_type != MW_F32)))
        return false;
    z.filter =
        times(bytes_of_type(filter_type), times(z.filter, times(channels / groups, features)));
    const int64_t all[][3] = {[MW_ROUTINE_CONV] = {z.x, z.filter, z.y},
                              [MW_ROUTINE_CONV_TRANSPOSE] = {z.y, z.filter, z.x},
                              [MW_ROUTINE_CONV_FILTER_GRAD] = {z.x, z.y, z.filter}};
    memcpy(bytes, all[routine], sizeof all[routine]);
    return true;
}

static bool pool_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    WindowSizes z;
    if (!is_float(args[MW_WINDOW_TYPE].i) || !window_sizes(args, args[MW_WINDOW_CHANNELS].i, &z))
        return false;
    for (int i = 0; i < MW_WINDOW_DIMS; i++)
        if (!windows_overlap(args, i))
            return false;
    const int64_t all[][3] = {[MW_ROUTINE_MAX_POOL] = {z.x, z.y},
                              [MW_ROUTINE_MAX_POOL_GRAD] = {z.x, z.y, z.x},
                              [MW_ROUTINE_MAX_POOL_PICK] = {z.x, z.x, z.y},
                              [MW_ROUTINE_SUM_POOL] = {z.x, z.y},
                              [MW_ROUTINE_SUM_POOL_GRAD] = {z.y, z.x}};
    memcpy(bytes, all[routine], sizeof(int64_t) * (size_t)routines[routine].operand_count);
    return true;
}

/* ---- Parts of rows ---- */

static bool along_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    const int64_t type = args[MW_ALONG_TYPE].i, size = bytes_of_type(type);
    const int64_t rows = args[MW_ALONG_ROWS].i, columns = args[MW_ALONG_COLUMNS].i;
    const int64_t count = args[MW_ALONG_COUNT].i;
    const bool is_cumsum = routine == MW_ROUTINE_CUMSUM;
    if (!size || !(is_float(type) || (is_cumsum && mw_type_is_index((MwType)type))) || rows < 1 ||
        columns < 1 || columns > INT32_MAX || count < 1 || count > INT32_MAX ||
        (routine == MW_ROUTINE_TOP_K && count > columns) || (is_cumsum && count != columns))
        return false;
    const int64_t x = times(size, times(rows, columns)), part = times(rows, count);
    const int64_t all[][3] = {
        [MW_ROUTINE_TOP_K] = {x, times(size, part), times(4, part)},
        [MW_ROUTINE_CUMSUM] = {x, x},
        [MW_ROUTINE_TAKE_ALONG_GRAD] = {times(4, part), times(size, part), x}};
    memcpy(bytes, all[routine], sizeof all[routine]);
    return true;
}

static bool linear_scan_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    const int64_t type = args[MW_LINEAR_SCAN_TYPE].i, outer = args[MW_LINEAR_SCAN_OUTER].i;
    const int64_t steps = args[MW_LINEAR_SCAN_STEPS].i, inner = args[MW_LINEAR_SCAN_INNER].i;
    (void)routine;
    if (!is_float(type) || outer < 1 || steps < 1 || inner < 1)
        return false;
    bytes[0] = bytes[1] = bytes[2] = times(bytes_of_type(type), times(outer, times(steps, inner)));
    return true;
}

int64_t mw_first_equal_slots(int64_t count)
{
    int64_t slots = 2;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

static bool first_equal_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    const int64_t count = args[MW_FIRST_EQUAL_COUNT].i;
    (void)routine;
    if (count < 1 || count > INT32_MAX / 4)
        return false;
    bytes[0] = bytes[1] = 4 * count;
    bytes[2] = 4 * mw_first_equal_slots(count);
    return true;
}

/* ---- Bytes ---- */

/* Every operand, as many bytes as argument 0 says. */
static bool bytes_extents(MwRoutine routine, const MwKernelArg *args, int64_t *bytes)
{
    for (int i = 0; i < routines[routine].operand_count; i++)
        bytes[i] = args[0].i;
    return true;
}

/* ---- The table ---- */

bool mw_routine_extents(MwRoutine routine, const MwKernelArg *args,
                        int64_t bytes[MW_ROUTINE_MAX_OPERANDS])
{
    static bool (*const rules[])(MwRoutine routine, const MwKernelArg *args, int64_t *bytes) = {
#define ROUTINE(id, name, accesses, ints, floats, type, extents, ...)                              \
    [MW_ROUTINE_##id] = extents##_extents,
#include "runtime/plan/routines.def"
    };
    bool good = rules[routine](routine, args, bytes);
    for (int i = 0; good && i < routines[routine].operand_count; i++)
        good = bytes[i] >= 0;
    return good;
}
