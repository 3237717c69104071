/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/attention.h"

#include "base/vec.h"
#include "runtime/cuda/cudnn_sdpa.h"
#include "runtime/cuda/error.h"
#include "runtime/cuda/sdpa_kernels.h"

#include <string.h>

/* Bytes that a plan may work in, a limit per GPU: 512 MiB. The gradient stores b h s t elements of
 * 16 bits there: 402 MB for GPT-2 124M with 16 x 1024 tokens, 419 MB for 1.5B with 8 x 1024, as
 * SHOW_CUDNN=1 LD_LIBRARY_PATH=build/tests/cuda/driver build/tests/cuda/test_cudnn shows. Calls
 * that need more are cut along the batch. More takes fewer launches, less leaves memory to larger
 * batches. The effect on speed is not measured. */
enum { MOST_WORKSPACE = 512 << 20 };

/* The first version that rightly takes any number of keys, also when a graph is launched anew
 * (release notes of cudnn-frontend 1.16): 9.15.1. */
enum { FIRST_VERSION = 91501 };

/* A shape of the plan, and how cuDNN does it: in so many parts of the batch. */
typedef struct {
    MwCudnnSdpa shape;
    int64_t parts;
    MwCudnnPlan plan; /* of a part; without one: by our kernels */
} Known;

struct MwCudaAttention {
    MwArena *arena;
    cudaStream_t stream;
    cudnnHandle_t handle;     /* NULL: without cuDNN */
    bool is_opened;           /* it was tried */
    bool has_steady_backward; /* cuDNN's gradient gives the same bits twice on this GPU */
    MW_VEC(Known) known;      /* the shapes of the plan that cuDNN might take */
    void *workspace;          /* a log-sum-exp by heads, and what cuDNN works in */
    int64_t workspace_bytes;
};

/* ---- Shapes ---- */

static MwCudnnSdpa shape_of(MwRoutine routine, const MwKernelArg *args)
{
    MwCudnnSdpa shape;
    memset(&shape, 0, sizeof shape); /* shapes are compared as bytes */
    shape.is_gradient = routine == MW_ROUTINE_SDPA_GRAD;
    shape.is_causal = args[MW_SDPA_CAUSAL].i != 0;
    shape.type = (MwType)args[MW_SDPA_TYPE].i;
    shape.b = args[MW_SDPA_B].i;
    shape.s = args[MW_SDPA_S].i;
    shape.t = args[MW_SDPA_T].i;
    shape.h = args[MW_SDPA_H].i;
    shape.g = args[MW_SDPA_G].i;
    shape.d = args[MW_SDPA_D].i;
    shape.q_row = args[MW_SDPA_Q_ROW].i;
    shape.k_row = args[MW_SDPA_K_ROW].i;
    shape.v_row = args[MW_SDPA_V_ROW].i;
    shape.dq_row = args[MW_SDPA_DQ_ROW].i;
    shape.dk_row = args[MW_SDPA_DK_ROW].i;
    shape.dv_row = args[MW_SDPA_DV_ROW].i;
    if (shape.is_causal)
        shape.shift =
            args[MW_SDPA_POSITION].i + args[MW_SDPA_OFFSET].i - args[MW_SDPA_KEY_POSITION].i;
    shape.scale = (float)args[MW_SDPA_SCALE].f;
    return shape;
}

/* Whether a shape says all of the call. */
static bool is_plain(const MwKernelArg *args)
{
    return args[MW_SDPA_WINDOW].i == 0 && args[MW_SDPA_SOFT_CAP].f == 0;
}

/* Bytes of the log-sum-exp by heads, which stands before the workspace of cuDNN. */
static int64_t copy_bytes(const MwCudnnSdpa *shape)
{
    return shape->is_gradient ? mw_slot_bytes(shape->b * shape->h * shape->s * 4) : 0;
}

static const Known *find(const MwCudaAttention *attention, const MwCudnnSdpa *shape)
{
    for (int i = 0; i < attention->known.count; i++)
        if (memcmp(&attention->known.at[i].shape, shape, sizeof *shape) == 0)
            return &attention->known.at[i];
    return NULL;
}

/* ---- Preparation ---- */

/* Cuts the batch of a gradient into the fewest parts of which one fits the workspace; false: there
 * are none. The forward pass works in next to nothing. */
static bool make_parts(Known *known, const MwCudnnTarget *target)
{
    const MwCudnnSdpa *whole = &known->shape;
    const int64_t bytes = whole->is_gradient ? whole->h * whole->s * whole->t * 2 : 0; /* of one */
    MwFault ignored;
    for (int64_t parts = 1; parts <= (whole->is_gradient ? whole->b : 1); parts++) {
        MwCudnnSdpa part = *whole;
        part.b = whole->b / parts;
        if (whole->b % parts == 0 && part.b * bytes <= MOST_WORKSPACE &&
            mw_cudnn_sdpa_make(&known->plan, target, &part, MOST_WORKSPACE, &ignored)) {
            known->parts = parts;
            return true;
        }
    }
    return false;
}

/* Leaves the handle NULL where attention is to go without cuDNN. */
static bool open_library(MwCudaAttention *attention, MwFault *fault)
{
    MwFault ignored;
    int gpu = 0, major = 0;
    attention->is_opened = true;
    if (!MW_CUDA_CALL(fault, cudaGetDevice, &gpu) ||
        !MW_CUDA_CALL(fault, cudaDeviceGetAttribute, &major, cudaDevAttrComputeCapabilityMajor,
                      gpu))
        return false;
    attention->has_steady_backward = major == 8 || major == 9;
    if (!mw_cudnn_load(&ignored) || mw_cudnn.cudnnGetVersion() < FIRST_VERSION)
        return true;
    if (mw_cudnn.cudnnCreate(&attention->handle) != CUDNN_STATUS_SUCCESS)
        attention->handle = NULL;
    else if (mw_cudnn.cudnnSetStream(attention->handle, attention->stream) !=
             CUDNN_STATUS_SUCCESS) {
        mw_cudnn.cudnnDestroy(attention->handle);
        attention->handle = NULL;
    }
    return true;
}

/* Whether cuDNN may do such calls on this GPU. */
static bool may_take(const MwCudaAttention *attention, const MwCudnnSdpa *shape)
{
    return attention->handle && (!shape->is_gradient || attention->has_steady_backward) &&
           mw_cudnn_sdpa_takes(shape);
}

static bool add_shape(MwCudaAttention *attention, const MwCudnnSdpa *shape, MwFault *fault)
{
    if (!attention->is_opened && !open_library(attention, fault))
        return false;
    Known known = {.shape = *shape};
    const MwCudnnTarget target = {.handle = attention->handle};
    if (may_take(attention, shape) && make_parts(&known, &target))
        attention->workspace_bytes =
            mw_max(attention->workspace_bytes, copy_bytes(shape) + known.plan.workspace_bytes);
    mw_vec_push(attention->arena, &attention->known, known);
    return true;
}

static bool is_fixed(const MwPlanInstr *instr, int arg)
{
    return instr->args[arg].kind == MW_ARG_INT;
}

/* Where a causal mask begins may differ from device to device, and from run to run of a loop. */
static bool prepare(MwCudaAttention *attention, const MwPlanInstr *instr, MwFault *fault)
{
    MwKernelArg args[MW_SDPA_ARGS];
    for (int i = 0; i < MW_SDPA_ARGS; i++)
        if (instr->args[i].kind == MW_ARG_FLOAT)
            args[i].f = instr->args[i].f;
        else
            args[i].i = instr->args[i].i;
    const MwCudnnSdpa shape = shape_of((MwRoutine)instr->target, args);
    if (!is_plain(args))
        return true;
    if (shape.is_causal && !(is_fixed(instr, MW_SDPA_POSITION) && is_fixed(instr, MW_SDPA_OFFSET) &&
                             is_fixed(instr, MW_SDPA_KEY_POSITION)))
        return true;
    return find(attention, &shape) || add_shape(attention, &shape, fault);
}

static bool is_attention(const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_ROUTINE &&
           (instr->target == MW_ROUTINE_SDPA || instr->target == MW_ROUTINE_SDPA_GRAD);
}

/* Prepares the calls of all meshes, this device's among them: the shapes of the others are few, and
 * mostly the same. */
static bool prepare_all(MwCudaAttention *attention, const MwPlan *plan, MwFault *fault)
{
    for (int m = 0; m < plan->mesh_count; m++)
        for (int p = 0; p < plan->meshes[m].program_count; p++) {
            const MwPlanProgram *program = &plan->meshes[m].programs[p];
            for (int i = 0; i < program->instr_count; i++)
                if (is_attention(&program->instrs[i]) &&
                    !prepare(attention, &program->instrs[i], fault))
                    return false;
        }
    return !attention->workspace_bytes || MW_CUDA_CALL(fault, cudaMalloc, &attention->workspace,
                                                       (size_t)attention->workspace_bytes);
}

MwCudaAttention *mw_cuda_attention_new(MwArena *arena, const MwPlan *plan, cudaStream_t stream,
                                       MwFault *fault)
{
    MwCudaAttention *attention = MW_NEW(arena, MwCudaAttention, 1);
    attention->arena = arena;
    attention->stream = stream;
    if (!prepare_all(attention, plan, fault))
        mw_cuda_attention_free(&attention);
    return attention;
}

void mw_cuda_attention_free(MwCudaAttention **attention)
{
    if (!*attention)
        return;
    for (int i = 0; i < (*attention)->known.count; i++)
        mw_cudnn_plan_free(&(*attention)->known.at[i].plan);
    if ((*attention)->workspace)
        cudaFree((*attention)->workspace);
    if ((*attention)->handle)
        mw_cudnn.cudnnDestroy((*attention)->handle);
    *attention = NULL;
}

/* ---- Calls ---- */

/* The tensors of the first part, and the bytes from part to part. */
typedef struct {
    char *at[MW_CUDNN_SDPA_TENSORS];
    int64_t bytes[MW_CUDNN_SDPA_TENSORS];
} Tensors;

static void set_tensor(Tensors *to, MwCudnnSdpaTensor which, void *at, int64_t bytes)
{
    to->at[which] = at;
    to->bytes[which] = bytes;
}

/* A tensor whose rows, of which a part has `count`, have a stride and an offset of their own: the
 * arguments `row` and `offset`. */
static void set_rows(Tensors *to, MwCudnnSdpaTensor which, void *operand, const MwKernelArg *args,
                     int row, int offset, int64_t count)
{
    const int64_t element = mw_type_bytes((MwType)args[MW_SDPA_TYPE].i);
    set_tensor(to, which, (char *)operand + args[offset].i * element,
               count * args[row].i * element);
}

static Tensors tensors_of(const MwCudaAttention *attention, const Known *known,
                          void *const *operands, const MwKernelArg *args)
{
    const MwCudnnSdpa *z = &known->shape;
    const int64_t element = mw_type_bytes(z->type), b = z->b / known->parts;
    const int64_t queries = b * z->s * z->h * z->d * element, rows = b * z->s * z->h * 4;
    const int64_t s = b * z->s, t = b * z->t;
    Tensors to = {{NULL}, {0}};
    set_rows(&to, MW_CUDNN_Q, operands[0], args, MW_SDPA_Q_ROW, MW_SDPA_Q_OFFSET, s);
    set_rows(&to, MW_CUDNN_K, operands[1], args, MW_SDPA_K_ROW, MW_SDPA_K_OFFSET, t);
    set_rows(&to, MW_CUDNN_V, operands[2], args, MW_SDPA_V_ROW, MW_SDPA_V_OFFSET, t);
    set_tensor(&to, MW_CUDNN_OUT, operands[3], queries);
    set_tensor(&to, MW_CUDNN_LSE, z->is_gradient ? attention->workspace : operands[4], rows);
    if (z->is_gradient) {
        set_tensor(&to, MW_CUDNN_DOUT, operands[5], queries);
        set_rows(&to, MW_CUDNN_DQ, operands[6], args, MW_SDPA_DQ_ROW, MW_SDPA_DQ_OFFSET, s);
        set_rows(&to, MW_CUDNN_DK, operands[7], args, MW_SDPA_DK_ROW, MW_SDPA_DK_OFFSET, t);
        set_rows(&to, MW_CUDNN_DV, operands[8], args, MW_SDPA_DV_ROW, MW_SDPA_DV_OFFSET, t);
        set_tensor(&to, MW_CUDNN_DELTA, operands[9], rows);
    }
    return to;
}

static bool are_aligned(const Tensors *tensors, int64_t parts)
{
    uintptr_t bits = 0;
    for (int i = 0; i < MW_CUDNN_SDPA_TENSORS; i++)
        bits |= (uintptr_t)tensors->at[i] | (parts > 1 ? (uintptr_t)tensors->bytes[i] : 0);
    return bits % MW_CUDNN_SDPA_ALIGNMENT == 0;
}

static bool run_parts(const MwCudaAttention *attention, const Known *known, const Tensors *tensors,
                      MwFault *fault)
{
    MwCudnnSdpa part = known->shape;
    part.b /= known->parts;
    for (int64_t p = 0; p < known->parts; p++) {
        void *at[MW_CUDNN_SDPA_TENSORS];
        for (int i = 0; i < MW_CUDNN_SDPA_TENSORS; i++)
            at[i] = tensors->at[i] + p * tensors->bytes[i];
        if (!mw_cudnn_sdpa_run(&known->plan, attention->handle, &part, at,
                               (char *)attention->workspace + copy_bytes(&known->shape), fault))
            return false;
    }
    return true;
}

bool mw_cuda_attention_run(const MwCudaAttention *attention, MwRoutine routine,
                           void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const char *name = mw_routine_info(routine)->name;
    const MwCudnnSdpa shape = shape_of(routine, args);
    const Known *known = is_plain(args) ? find(attention, &shape) : NULL;
    if (known && known->plan.plan) {
        const Tensors tensors = tensors_of(attention, known, operands, args);
        if (are_aligned(&tensors, known->parts)) {
            if (shape.is_gradient)
                mw_cuda_sdpa_lse_by_head(operands[4], attention->workspace, args,
                                         attention->stream);
            return mw_cuda_check(cudaGetLastError(), name, fault) &&
                   (run_parts(attention, known, &tensors, fault) ||
                    mw_fault_prefix(fault, "%s", name));
        }
    }
    if (shape.is_gradient)
        mw_cuda_sdpa_grad(operands, args, attention->stream);
    else
        mw_cuda_sdpa(operands, args, attention->stream);
    return mw_cuda_check(cudaGetLastError(), name, fault);
}
