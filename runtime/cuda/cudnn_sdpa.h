/* SPDX-License-Identifier: MIT */
/* Attention, or its gradient, as an execution plan of cuDNN: the graph of operations of which cuDNN
 * knows that they are attention, so that it makes one fused kernel of them, and some small ones.
 *
 * The forward pass is softmax(scale Q K^T) V with its log-sum-exp. The backward pass recomputes the
 * probabilities P from that, as the kernels of sdpa_grad.cu do, with each of its five products
 * once: dS = P (dP - delta) is stored in the workspace, b h s t elements of 16 bits, and dQ = dS K
 * is a product of its own. cuDNN's other way adds up dQ in memory in any order, and gives other
 * bits from run to run.
 *
 * Source: NVIDIA cuDNN documentation, "Graph API", on fused flash attention. */
#ifndef MW_RUNTIME_CUDA_CUDNN_SDPA_H
#define MW_RUNTIME_CUDA_CUDNN_SDPA_H

#include "runtime/cuda/cudnn_plan.h"

/* Sizes as in runtime/plan/routines.def; rows in elements. Everything is aligned to
 * MW_CUDNN_SDPA_ALIGNMENT bytes. */
typedef struct {
    bool is_gradient, is_causal;
    MwType type; /* bf16 or f16 */
    int64_t b, s, t, h, g, d;
    int64_t q_row, k_row, v_row;
    int64_t dq_row, dk_row, dv_row; /* of the gradient alone; 0 elsewhere */
    int64_t shift;                  /* causal: query s sees the keys up to s + shift */
    float scale;
} MwCudnnSdpa;

enum { MW_CUDNN_SDPA_ALIGNMENT = 16 };

/* The tensors of a call. */
typedef enum {
    MW_CUDNN_Q,
    MW_CUDNN_K,
    MW_CUDNN_V,
    MW_CUDNN_OUT,
    MW_CUDNN_LSE, /* f32 [b, s, h]; as an operand of the gradient f32 [b, h, s] */
    MW_CUDNN_DOUT,
    MW_CUDNN_DQ,
    MW_CUDNN_DK,
    MW_CUDNN_DV,
    MW_CUDNN_DELTA, /* f32 [b, h, s], which the gradient works in */
    MW_CUDNN_SDPA_TENSORS
} MwCudnnSdpaTensor;

/* Whether cuDNN takes such calls, and rightly as far as is known: rows of a multiple of 16 bytes,
 * heads of at most 128 elements, more than one query and key, causal masks from the first key, or
 * to the last, on, and a positive scale: with a negative one cuDNN 9 gives NaN on an H200. */
bool mw_cudnn_sdpa_takes(const MwCudnnSdpa *shape);

/* Makes a plan, for a shape that cuDNN takes, of the first algorithm in its order that has at most
 * `most_bytes` of workspace. Returns false, with the reason in the fault and nothing to free, if
 * there is none. */
bool mw_cudnn_sdpa_make(MwCudnnPlan *plan, const MwCudnnTarget *target, const MwCudnnSdpa *shape,
                        int64_t most_bytes, MwFault *reason);
/* Queues it on the stream of the handle. */
bool mw_cudnn_sdpa_run(const MwCudnnPlan *plan, cudnnHandle_t handle, const MwCudnnSdpa *shape,
                       void *const tensors[MW_CUDNN_SDPA_TENSORS], void *workspace, MwFault *fault);

#endif
