/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel IR: what one generated kernel computes, before it is C or CUDA C.
 *
 * A kernel is a sequence of loop nests. A nest runs over a space of points, rows by columns, and
 * holds straight-line code: every instruction gives at most one scalar, used by later ones. The
 * level of an instruction says how often it runs:
 *
 *     UNIFORM   once, before the loops           (a learning rate, a step number)
 *     ROW       once per row                     (a row's maximum, an index into a table)
 *     POINT     once per point                   (element-wise work)
 *     COLUMN    once per column, after all rows  (a bias gradient)
 *     TOTAL     once, after everything           (a loss)
 *
 * Reductions are the only way up: ROW_SUM makes a ROW of POINTs, COLUMN_SUM a COLUMN of POINTs,
 * TOTAL_SUM a TOTAL of ROWs. Any other instruction runs at the highest level of its inputs, and
 * COLUMN and TOTAL code cannot feed rows or points. A softmax is thus: load x; ROW_MAX; exp(x -
 * max); ROW_SUM; multiply; store. How often the columns of a row are walked for that (its phases),
 * and what is kept or computed again between the walks, is the printer's business.
 *
 * Element-wise code is text in the expression language of ir/ops.def, $k naming inputs; the
 * functions it calls are those of codegen/print/prelude.h. */
#ifndef MW_CODEGEN_KERNEL_KERNEL_H
#define MW_CODEGEN_KERNEL_KERNEL_H

#include "base/vec.h"
#include "codegen/kernel/layout.h"
#include "runtime/plan/plan.h"

enum { MW_SPACE_MAX_DIMS = MW_LAYOUT_MAX_DIMS, MW_KERNEL_MAX_INPUTS = 8 };

typedef struct {
    int dim_count, row_dims; /* the first row_dims dimensions count rows, the others columns */
    int64_t size[MW_SPACE_MAX_DIMS];
} MwSpace;

typedef enum {
    MW_LEVEL_UNIFORM,
    MW_LEVEL_ROW,
    MW_LEVEL_POINT,
    MW_LEVEL_COLUMN,
    MW_LEVEL_TOTAL
} MwLevel;

/* Types of scalars inside kernels; base/types.def says which one a type of tensors has. Floats of
 * 16 and 8 bits are types of storage: they are loaded to and stored from f32. So are integers of 8
 * bits, which are i32 in a kernel, but every operator brings its result back to their range. */
typedef enum {
    MW_SCALAR_F32,
    MW_SCALAR_F64,
    MW_SCALAR_I32,
    MW_SCALAR_I64,
    MW_SCALAR_BOOL
} MwScalar;

/* An affine function of the point: offset + sum of stride[d] * index[d] + the values of the
 * integer arguments `args`. */
typedef struct {
    int64_t offset;
    int64_t stride[MW_SPACE_MAX_DIMS];
    int args[MW_MAX_RANK]; /* indices of the arguments that are added */
    int arg_count;
} MwAffine;

/* An instruction of a nest; -1: none. */
typedef struct {
    int32_t index;
} MwRef;

typedef enum {
    MW_KERNEL_LOAD, /* reads the operand at `at`, plus any inputs[0] * gather_stride */
    /* Writes inputs[0] to the operand at `at`; or, given inputs[1], at `at` + inputs[1] *
     * gather_stride, if that is not negative. No two points write to one element. */
    MW_KERNEL_STORE,
    /* Adds inputs[0] to the operand at `at` + inputs[1] * gather_stride, row after row, where
     * inputs[1], a ROW, is not negative. Its nest has no other effect and no reduction. */
    MW_KERNEL_ADD,
    MW_KERNEL_INDEX, /* the value of `at` itself */
    MW_KERNEL_ARG,   /* scalar argument `arg` */
    MW_KERNEL_EXPR,
    MW_KERNEL_ROW_SUM,
    MW_KERNEL_ROW_MAX,
    MW_KERNEL_COLUMN_SUM,
    MW_KERNEL_COLUMN_MAX,
    MW_KERNEL_TOTAL_SUM,
    MW_KERNEL_TOTAL_MAX,
} MwKernelOp;

typedef struct {
    MwKernelOp op;
    MwLevel level;
    MwScalar type;
    MwRef inputs[MW_KERNEL_MAX_INPUTS];
    int input_count;
    const char *text; /* EXPR */
    int flops;        /* EXPR: operations of one evaluation, roughly */
    int operand, arg;
    MwAffine at;
    int64_t gather_stride;
} MwKernelInstr;

typedef struct {
    MwSpace space;
    MW_VEC(MwKernelInstr) instrs;
} MwNest;

/* An operand of the kernel: a buffer. Two values in one buffer are one operand, so that no two
 * operands overlap. */
typedef struct {
    int buffer; /* the caller's name for it */
    MwType type;
    int64_t elements;
    bool reads, writes; /* `writes` without `reads`: every element is written */
} MwKernelOperand;

typedef struct {
    MwArena *arena;
    MW_VEC(MwKernelOperand) operands;
    /* The size of the scratch operand, which is the last operand; 0: there is none. The printer
     * sets it. */
    int64_t scratch_bytes;
    MW_VEC(MwPlanArg) args;
    MW_VEC(MwNest) nests;
    /* The kernel has one nest with one dimension, along which all operands have stride 1, and
     * computes either elements from elements or sums and maxima of all elements. The number of
     * points is then its last argument and not in its text, so that one text serves operands of
     * every size, and several sets of operands in one call. */
    bool is_flat;
} MwKernelDef;

/* The index of the operand for `buffer`; adds the operand if it is new. */
int mw_kernel_operand(MwKernelDef *kernel, int buffer, const MwTensor *tensor);
/* Adds the scratch operand, `bytes` of `buffer`, to a kernel that is complete. */
void mw_kernel_add_scratch(MwKernelDef *kernel, int buffer, int64_t bytes);
/* The index of an argument equal to `arg`; adds the argument if it is new. */
int mw_kernel_arg(MwKernelDef *kernel, const MwPlanArg *arg);

/* Adds `instr` to the last nest, at the highest level among its own and its inputs'. If the nest
 * has an equal instruction, returns that one instead. */
MwRef mw_kernel_add(MwKernelDef *kernel, const MwKernelInstr *instr);

static inline const MwKernelInstr *mw_nest_instr(const MwNest *nest, MwRef ref)
{
    return &nest->instrs.at[ref.index];
}

static inline bool mw_instr_is_effect(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_STORE || instr->op == MW_KERNEL_ADD;
}

static inline bool mw_instr_is_reduction(const MwKernelInstr *instr)
{
    return instr->op >= MW_KERNEL_ROW_SUM;
}

static inline bool mw_instr_is_max(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_ROW_MAX || instr->op == MW_KERNEL_COLUMN_MAX ||
           instr->op == MW_KERNEL_TOTAL_MAX;
}

/* Whether the instruction reduces POINTs to a ROW. */
static inline bool mw_instr_reduces_row(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_ROW_SUM || instr->op == MW_KERNEL_ROW_MAX;
}

/* Whether the instruction reduces POINTs to a COLUMN. */
static inline bool mw_instr_reduces_rows(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_COLUMN_SUM || instr->op == MW_KERNEL_COLUMN_MAX;
}

/* Whether the instruction reduces ROWs to a TOTAL. */
static inline bool mw_instr_reduces_all(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_TOTAL_SUM || instr->op == MW_KERNEL_TOTAL_MAX;
}

/* The level of `at`: UNIFORM if it is constant, ROW if it depends on the row only, otherwise
 * POINT. */
MwLevel mw_affine_level(const MwAffine *at, const MwSpace *space);
int64_t mw_space_columns(const MwSpace *space);

/* Completes a nest: merges dimensions of the space that have one stride in every access; makes
 * all dimensions but the last rows, if no reduction depends on what a row is; then gives every
 * instruction its lowest level. */
void mw_nest_finish(MwNest *nest);

/* Completes a kernel: decides whether it is flat, and if so adds the argument with the number of
 * points. */
void mw_kernel_flatten(MwKernelDef *kernel);

/* Whether the kernel only stores what it loads from the same place. */
bool mw_kernel_is_idle(const MwKernelDef *kernel);

MwScalar mw_scalar_of(MwType type);
const char *mw_scalar_name(MwScalar type); /* "f32" */

/* The work of a kernel for the cost model: floating-point operations, and the bytes of all
 * accesses, each element counted once (a cache serves it again). */
double mw_kernel_flops(const MwKernelDef *kernel);
double mw_kernel_bytes(const MwKernelDef *kernel);

/* What of the operations is sums and maxima of rows. */
typedef struct {
    double flops;
    double columns; /* of a row; those of the nest with most such operations */
} MwKernelRows;

MwKernelRows mw_kernel_rows(const MwKernelDef *kernel);

#endif
