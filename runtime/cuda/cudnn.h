/* SPDX-License-Identifier: MIT */
/* cuDNN 9, loaded when a program first needs it; where there is none, meshwright's own kernels
 * remain. Its headers need not be where meshwright is built: what the runtime uses of them is
 * declared here, with their names, values and meanings, which NVIDIA keeps within a major version.
 * Every enumeration of the library is an int.
 *
 * Source: NVIDIA cuDNN documentation, "Graph API", cudnn_graph. */
#ifndef MW_RUNTIME_CUDA_CUDNN_H
#define MW_RUNTIME_CUDA_CUDNN_H

#include "runtime/cuda/cudnn_values.h"
#include "runtime/exec/fault.h"

#include <cuda_runtime_api.h>

#define MW_CUDNN_VALUE(name, value) name = value,
enum { MW_CUDNN_VALUES(MW_CUDNN_VALUE) };

typedef struct cudnnContext *cudnnHandle_t;
typedef void *cudnnBackendDescriptor_t;

/* X(result, name, parameters) */
#define MW_CUDNN_FUNCTIONS(X)                                                                      \
    X(size_t, cudnnGetVersion, (void))                                                             \
    X(int, cudnnCreate, (cudnnHandle_t * handle))                                                  \
    X(int, cudnnDestroy, (cudnnHandle_t handle))                                                   \
    X(int, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream))                            \
    X(const char *, cudnnGetErrorString, (int status))                                             \
    X(void, cudnnGetLastErrorString, (char *text, size_t bytes))                                   \
    X(int, cudnnBackendCreateDescriptor, (int type, cudnnBackendDescriptor_t *descriptor))         \
    X(int, cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t descriptor))                   \
    X(int, cudnnBackendFinalize, (cudnnBackendDescriptor_t descriptor))                            \
    X(int, cudnnBackendSetAttribute,                                                               \
      (cudnnBackendDescriptor_t descriptor, int name, int type, int64_t count,                     \
       const void *elements))                                                                      \
    X(int, cudnnBackendGetAttribute,                                                               \
      (cudnnBackendDescriptor_t descriptor, int name, int type, int64_t wanted, int64_t *count,    \
       void *elements))                                                                            \
    X(int, cudnnBackendExecute,                                                                    \
      (cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack))

#define MW_CUDNN_POINTER(result, name, parameters) result(*name) parameters;
typedef struct {
    MW_CUDNN_FUNCTIONS(MW_CUDNN_POINTER)
} MwCudnn;

/* Valid after mw_cudnn_load. */
extern MwCudnn mw_cudnn;

/* Loads the library, unless this process has. Returns false, with the reason in the fault, if it
 * cannot be loaded or lacks one of the functions. */
bool mw_cudnn_load(MwFault *reason);

#endif
