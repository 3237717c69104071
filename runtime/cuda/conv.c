/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/conv.h"

#include "base/vec.h"
#include "runtime/cuda/conv_kernels.h"
#include "runtime/cuda/cudnn_conv.h"
#include "runtime/cuda/error.h"

#include <string.h>

/* Bytes that an algorithm may work in, a limit per GPU: 256 MiB. More makes algorithms eligible
 * that copy images, less leaves memory to larger batches. For an H100 cuDNN 9.28 puts first what
 * takes at most 154 MB for convolutions of 32 images of ResNet's and ConvNeXt's shapes
 * (`SHOW_CUDNN=1 build/tests/cuda/test_cudnn`); the effect on speed is not measured. */
enum { MOST_WORKSPACE = 256 << 20 };

/* The alignment up to which operands are distinguished, which vector loads need: bytes. */
enum { MOST_ALIGNED = 16 };

/* Everything that the choice of an algorithm depends on. */
typedef struct {
    int64_t routine; /* MwRoutine */
    int64_t args[MW_CONV_ARGS];
    int64_t alignment; /* of all operands, in bytes */
} Shape;

typedef struct {
    Shape shape;
    MwCudnnPlan conv; /* without a plan: by kernels */
} Known;

struct MwCudaConv {
    MwArena *arena;
    cudaStream_t stream;
    cudnnHandle_t handle; /* NULL: cuDNN is not there */
    MW_VEC(Known) known;  /* one for each shape of the plan */
    void *workspace;      /* the copy of a filter, and what the algorithm works in */
    int64_t workspace_bytes;
    int by_kernels; /* of the shapes */
    MwFault reason; /* why the first of them is */
};

/* ---- Shapes ---- */

static Shape shape_of(MwRoutine routine, const MwKernelArg *args, uintptr_t addresses)
{
    Shape shape = {.routine = routine};
    const uintptr_t bits = addresses | MOST_ALIGNED;
    for (int i = 0; i < MW_CONV_ARGS; i++)
        shape.args[i] = args[i].i;
    shape.alignment = (int64_t)(bits & -bits);
    return shape;
}

/* A filter is a matrix [rows, features]. */
static int64_t filter_rows(const MwKernelArg *args)
{
    int64_t rows = args[MW_WINDOW_CHANNELS].i / args[MW_CONV_GROUPS].i;
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        rows *= args[MW_WINDOW_SIZE + d].i;
    return rows;
}

/* Bytes of the copy of the filter, which stands before the workspace of the algorithm. */
static int64_t copy_bytes(const MwKernelArg *args)
{
    return mw_slot_bytes(filter_rows(args) * args[MW_CONV_FEATURES].i *
                         mw_type_bytes((MwType)args[MW_WINDOW_TYPE].i));
}

/* Loads the library and makes a handle; `conv->reason` says why not. */
static void open_library(MwCudaConv *conv)
{
    if (!mw_cudnn_load(&conv->reason))
        return;
    int status = mw_cudnn.cudnnCreate(&conv->handle);
    if (status == CUDNN_STATUS_SUCCESS)
        status = mw_cudnn.cudnnSetStream(conv->handle, conv->stream);
    else
        conv->handle = NULL;
    if (status != CUDNN_STATUS_SUCCESS)
        mw_fault_set(&conv->reason, "cuDNN: %s", mw_cudnn.cudnnGetErrorString(status));
}

static bool make_room(MwCudaConv *conv, int64_t bytes, MwFault *fault)
{
    if (bytes <= conv->workspace_bytes)
        return true;
    if (conv->workspace)
        cudaFree(conv->workspace);
    conv->workspace = NULL;
    conv->workspace_bytes = bytes;
    return MW_CUDA_CALL(fault, cudaMalloc, &conv->workspace, (size_t)bytes);
}

/* False if the shape is left to the kernels. */
static bool choose_algorithm(MwCudaConv *conv, const Shape *shape, const MwKernelArg *args,
                             MwCudnnPlan *chosen)
{
    MwFault reason = {{0}};
    if (conv->known.count == 0)
        open_library(conv);
    const MwCudnnTarget target = {.handle = conv->handle};
    const bool good =
        conv->handle && mw_cudnn_conv_make(chosen, &target, (MwRoutine)shape->routine, args,
                                           shape->alignment, MOST_WORKSPACE, &reason);
    if (!good && conv->by_kernels++ == 0 && conv->handle)
        mw_fault_set(&conv->reason, "cuDNN: %s", reason.text);
    return good;
}

static const Known *add_shape(MwCudaConv *conv, const Shape *shape, const MwKernelArg *args,
                              MwFault *fault)
{
    Known known = {.shape = *shape};
    if (choose_algorithm(conv, shape, args, &known.conv) &&
        !make_room(conv, copy_bytes(args) + known.conv.workspace_bytes, fault)) {
        mw_cudnn_plan_free(&known.conv);
        return NULL;
    }
    mw_vec_push(conv->arena, &conv->known, known);
    return &mw_vec_last(&conv->known);
}

static const Known *find_shape(MwCudaConv *conv, const Shape *shape, const MwKernelArg *args,
                               MwFault *fault)
{
    for (int i = 0; i < conv->known.count; i++)
        if (memcmp(&conv->known.at[i].shape, shape, sizeof *shape) == 0)
            return &conv->known.at[i];
    return add_shape(conv, shape, args, fault);
}

/* ---- Calls ---- */

/* Which operand of a routine is which. */
typedef struct {
    int x, filter, y;
} Places;

static Places places_of(MwRoutine routine)
{
    static const Places places[] = {[MW_ROUTINE_CONV] = {0, 1, 2},
                                    [MW_ROUTINE_CONV_TRANSPOSE] = {2, 1, 0},
                                    [MW_ROUTINE_CONV_FILTER_GRAD] = {0, 2, 1}};
    return places[routine];
}

static bool run_library(const MwCudaConv *conv, const Known *known, void *const *operands,
                        const MwKernelArg *args, MwFault *fault)
{
    const MwRoutine routine = (MwRoutine)known->shape.routine;
    const Places at = places_of(routine);
    const MwType type = (MwType)args[MW_CONV_FILTER_TYPE].i;
    const MwType copy_type = mw_type_stored((MwType)args[MW_WINDOW_TYPE].i);
    const int64_t rows = filter_rows(args), features = args[MW_CONV_FEATURES].i;
    char *const copy = conv->workspace, *const rest = copy + copy_bytes(args);
    if (routine != MW_ROUTINE_CONV_FILTER_GRAD)
        mw_cuda_transpose(operands[at.filter], type, copy, copy_type, rows, features, conv->stream);
    if (!mw_cudnn_conv_run(&known->conv, conv->handle, operands[at.x], copy, operands[at.y], rest,
                           fault))
        return false;
    if (routine == MW_ROUTINE_CONV_FILTER_GRAD)
        mw_cuda_transpose(copy, copy_type, operands[at.filter], type, features, rows, conv->stream);
    return mw_cuda_check(cudaGetLastError(), mw_routine_info(routine)->name, fault);
}

bool mw_cuda_conv_run(MwCudaConv *conv, MwRoutine routine, void *const *operands,
                      const MwKernelArg *args, MwFault *fault)
{
    const uintptr_t addresses =
        (uintptr_t)operands[0] | (uintptr_t)operands[1] | (uintptr_t)operands[2];
    const Shape shape = shape_of(routine, args, addresses);
    const Known *known = find_shape(conv, &shape, args, fault);
    if (!known)
        return false;
    if (known->conv.plan)
        return run_library(conv, known, operands, args, fault) ||
               mw_fault_prefix(fault, "%s", mw_routine_info(routine)->name);
    mw_cuda_conv(routine, operands, args, conv->stream);
    return mw_cuda_check(cudaGetLastError(), mw_routine_info(routine)->name, fault);
}

/* ---- Creation and destruction ---- */

static bool is_conv(const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_ROUTINE &&
           (instr->target == MW_ROUTINE_CONV || instr->target == MW_ROUTINE_CONV_TRANSPOSE ||
            instr->target == MW_ROUTINE_CONV_FILTER_GRAD);
}

static bool prepare(MwCudaConv *conv, const MwPlanInstr *instr, MwFault *fault)
{
    MwKernelArg args[MW_CONV_ARGS];
    for (int i = 0; i < MW_CONV_ARGS; i++)
        args[i].i = instr->args[i].i;
    const Shape shape = shape_of((MwRoutine)instr->target, args, MW_BUFFER_ALIGNMENT);
    return find_shape(conv, &shape, args, fault) != NULL;
}

/* Prepares the convolutions of all meshes, this device's among them: the shapes of the others are
 * few, and mostly the same. */
static bool prepare_all(MwCudaConv *conv, const MwPlan *plan, MwFault *fault)
{
    for (int m = 0; m < plan->mesh_count; m++)
        for (int p = 0; p < plan->meshes[m].program_count; p++) {
            const MwPlanProgram *program = &plan->meshes[m].programs[p];
            for (int i = 0; i < program->instr_count; i++)
                if (is_conv(&program->instrs[i]) && !prepare(conv, &program->instrs[i], fault))
                    return false;
        }
    return true;
}

MwCudaConv *mw_cuda_conv_new(MwArena *arena, const MwPlan *plan, cudaStream_t stream,
                             MwFault *fault)
{
    MwCudaConv *conv = MW_NEW(arena, MwCudaConv, 1);
    conv->arena = arena;
    conv->stream = stream;
    if (!prepare_all(conv, plan, fault))
        mw_cuda_conv_free(&conv);
    return conv;
}

const char *mw_cuda_conv_warning(const MwCudaConv *conv)
{
    return !conv->by_kernels
               ? NULL
               : mw_arena_printf(conv->arena,
                                 "%d of %d convolutions are done by meshwright's own kernels, "
                                 "which use no tensor cores: %s",
                                 conv->by_kernels, conv->known.count, conv->reason.text);
}

void mw_cuda_conv_free(MwCudaConv **conv)
{
    if (!*conv)
        return;
    for (int i = 0; i < (*conv)->known.count; i++)
        mw_cudnn_plan_free(&(*conv)->known.at[i].conv);
    if ((*conv)->workspace)
        cudaFree((*conv)->workspace);
    if ((*conv)->handle)
        mw_cudnn.cudnnDestroy((*conv)->handle);
    *conv = NULL;
}
