/* SPDX-License-Identifier: MIT */
/* A graph of operations as an execution plan of cuDNN: its descriptors, the choice among the
 * algorithms that cuDNN lists for it, and calls.
 *
 * Algorithms that give other bits from run to run, sum in less than f32, or compute something else
 * than sums of products (Winograd, FFT) are left out, and for f32 those on tensor cores, which
 * round the operands. */
#ifndef MW_RUNTIME_CUDA_CUDNN_PLAN_H
#define MW_RUNTIME_CUDA_CUDNN_PLAN_H

#include "base/tensor.h"
#include "runtime/cuda/cudnn.h"

/* What plans are made for: one of both. */
typedef struct {
    cudnnHandle_t handle;            /* a handle of this process's GPU */
    cudnnBackendDescriptor_t device; /* the properties of some GPU, which need not be here */
} MwCudnnTarget;

enum { MW_CUDNN_PLAN_DESCRIPTORS = 96, MW_CUDNN_PLAN_OPERATIONS = 32 };

typedef struct {
    cudnnBackendDescriptor_t plan;                            /* NULL: there is none */
    cudnnBackendDescriptor_t made[MW_CUDNN_PLAN_DESCRIPTORS]; /* what it is made of */
    cudnnBackendDescriptor_t operations[MW_CUDNN_PLAN_OPERATIONS];
    int made_count, operation_count;
    int64_t workspace_bytes;
} MwCudnnPlan;

/* The type of floats as cuDNN names it: of f32, bf16 and f16. */
int mw_cudnn_data_type(MwType type);

/* ---- Descriptors. These return false after a fault. ---- */

/* Creates a descriptor that lives as long as the plan. */
bool mw_cudnn_make(MwCudnnPlan *plan, int type, cudnnBackendDescriptor_t *descriptor,
                   MwFault *fault);
bool mw_cudnn_set(cudnnBackendDescriptor_t descriptor, int name, int type, int64_t count,
                  const void *elements, MwFault *fault);
bool mw_cudnn_set_int(cudnnBackendDescriptor_t descriptor, int name, int64_t value, MwFault *fault);
bool mw_cudnn_set_descriptor(cudnnBackendDescriptor_t descriptor, int name,
                             cudnnBackendDescriptor_t value, MwFault *fault);
bool mw_cudnn_finalize(cudnnBackendDescriptor_t descriptor, MwFault *fault);
/* Finalizes an operation and adds it to those of the plan. */
bool mw_cudnn_add_operation(MwCudnnPlan *plan, cudnnBackendDescriptor_t operation, MwFault *fault);

/* ---- Plans ---- */

/* Which algorithms to choose from. */
typedef struct {
    bool may_round; /* the operands, for tensor cores: they have 16 bits, or tf32 is asked for */
    int64_t most_bytes;
} MwCudnnChoice;

/* Makes the plan for its operations, of the first algorithm in cuDNN's order that has at most
 * `most_bytes` of workspace. Returns false, with the reason in the fault, if there is none. */
bool mw_cudnn_plan_choose(MwCudnnPlan *plan, const MwCudnnTarget *target,
                          const MwCudnnChoice *choice, MwFault *reason);

/* The addresses of the tensors of a call: on the GPU, or of numbers that the host holds. */
typedef struct {
    const int64_t *ids;
    void *const *pointers;
    int count;
    void *workspace;
} MwCudnnTensors;

/* Queues it on the stream of the handle. */
bool mw_cudnn_plan_run(const MwCudnnPlan *plan, cudnnHandle_t handle, const MwCudnnTensors *tensors,
                       MwFault *fault);
void mw_cudnn_plan_free(MwCudnnPlan *plan);

#endif
