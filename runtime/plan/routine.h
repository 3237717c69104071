/* SPDX-License-Identifier: MIT */
/* What is known of each routine of routines.def: its name, its signature, and how much memory a
 * call with given arguments touches. The compiler sizes buffers with it, the checker checks them.
 */
#ifndef MW_RUNTIME_PLAN_ROUTINE_H
#define MW_RUNTIME_PLAN_ROUTINE_H

#include "base/backend.h"
#include "base/base.h"
#include "runtime/plan/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
#define ROUTINE(id, ...) MW_ROUTINE_##id,
#include "runtime/plan/routines.def"
    MW_ROUTINE_COUNT
} MwRoutine;

typedef struct {
    const char *name;
    const char *accesses; /* one letter per operand: r, w, a, s */
    int operand_count;
    int int_count, float_count; /* arguments: the integers first */
    int type_arg;               /* the argument that is the type of the operands; -1: none */
} MwRoutineInfo;

const MwRoutineInfo *mw_routine_info(MwRoutine routine);

enum { MW_ROUTINE_MAX_OPERANDS = 11 };

/* Whether the last operand is memory that a call works in. */
bool mw_routine_has_scratch(MwRoutine routine);

/* Whether devices of a backend have the routine. */
bool mw_routine_is_on(MwRoutine routine, MwBackendId backend);

/* The bytes that a call reaches in each operand, from its start; the scratch a call needs is that
 * of its scratch operand. False if the arguments make no sense: a negative size or offset, heads
 * that do not group, a type that no device takes there, an extent beyond 2^62 bytes. */
bool mw_routine_extents(MwRoutine routine, const MwKernelArg *args,
                        int64_t bytes[MW_ROUTINE_MAX_OPERANDS]);

/* Whether results a and b of a call, two operands, may have one buffer, as parts of its rows. */
bool mw_routine_shares_rows(MwRoutine routine, int a, int b);

/* Whether a call for which mw_routine_extents are valid fills what it gives: results that have one
 * buffer, by its number in `buffer` [operands], are parts of its rows that do not overlap and leave
 * no gap. */
bool mw_routine_fills_rows(MwRoutine routine, const MwKernelArg *args, const int *buffer);

/* Slots of the scratch of first_equal, a power of two: at most half of them are taken. */
int64_t mw_first_equal_slots(int64_t count);

/* Why devices of the backend cannot run the call, to follow the routine's name: "takes f32 alone on
 * this backend". NULL: they can. */
const char *mw_routine_off(MwRoutine routine, const MwKernelArg *args, MwBackendId backend);

/* The results and operands of a routine of matrix products besides the product. The product goes to
 * c, or to aux if gelu is applied to it and it is a result too. */
typedef struct {
    int bias, aux, sums; /* operands; 0: none */
    int summed;          /* 0: sums are of a, 1: of b */
    bool has_gelu;       /* c is gelu of the product, and aux is a result */
    bool has_gelu_grad;  /* c is the product times the derivative of gelu at aux */
} MwGemmExtras;

/* Rows of aux are a multiple of this number of elements if the product and gelu are one call of
 * cuBLASLt (CUBLASLT_EPILOGUE_GELU_AUX). */
enum { MW_GEMM_AUX_ROW = 8 };

/* Whether cuBLASLt multiplies matrices of floats of 8 bits that lie so: on GPUs of compute
 * capability 8.9 and 9.0 it wants both by rows of k, and sizes, rows and beginnings at multiples of
 * MW_FP8_STEP (cuBLAS documentation, cublasLtMatmul). */
bool mw_gemm_takes_fp8(const MwKernelArg *args);

/* NULL: the routine makes no product. */
const MwGemmExtras *mw_gemm_extras(MwRoutine routine);
/* Says whether the routine makes a product and further results. */
bool mw_gemm_has_extras(MwRoutine routine);

/* The places of the arguments: MW_GEMM_M, MW_SDPA_SCALE, and so on. */
#define ARGUMENTS(id, ...) enum { __VA_ARGS__, MW_##id##_ARGS };
#include "runtime/plan/routines.def"

/* Spatial dimensions of convolutions and pooling. */
enum { MW_WINDOW_DIMS = 3 };

/* Queries of one head that sdpa and sdpa_grad work on at a time on a CPU; the scratch holds their
 * scores. On a GPU the scratch of sdpa_grad holds a float for every row of q. */
enum { MW_SDPA_QUERY_TILE = 64 };

/* The slot of the scratch of first_equal at which the search for an id begins, of a power of two
 * (Knuth, The Art of Computer Programming 3, section 6.4: multiplicative hashing). */
#define MW_FIRST_EQUAL_SLOT(id, slots) ((int64_t)((uint32_t)(id)*2654435769u >> 7) & ((slots)-1))

#ifdef __cplusplus
}
#endif

#endif
