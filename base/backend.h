/* SPDX-License-Identifier: MIT */
/* base/backends.def as a table; its head gives the meaning of the fields. */
#ifndef MW_BASE_BACKEND_H
#define MW_BASE_BACKEND_H

#include <stdbool.h>

typedef enum {
#define BACKEND(id, ...) MW_BACKEND_##id,
#include "base/backends.def"
#undef BACKEND
    MW_BACKEND_COUNT
} MwBackendId;

typedef struct {
    MwBackendId id;
    const char *name;     /* "cuda" */
    const char *suffix;   /* suffix of kernel source files: ".cu" */
    const char *compiler; /* name of the compiler of kernels, in messages: "nvcc" */
    const char *variable; /* environment variable that names another compiler: "NVCC" */
    /* library of the runtime in addition to the one that all backends link; "": none */
    const char *archive;
    bool takes_halves; /* gemm and attention accept operands in bf16 and f16 */
    bool takes_bf16;   /* gemm accepts operands in bf16 */
    bool takes_fp8;    /* gemm accepts operands in e4m3 and e5m2 */
    bool overlaps;     /* collectives run while kernels run */
    /* gemm can add a bias and apply gelu_tanh or its gradient when it stores */
    bool has_epilogues;
    bool uses_nccl;     /* collectives are those of NCCL */
    bool keeps_objects; /* compiled kernels are kept in a cache */
} MwBackendInfo;

/* The least compute capability of GPUs that kernels for cuda run on, times 10: they copy to shared
 * memory without registers (cp.async), and multiply bf16 on tensor cores. */
enum { MW_CUDA_LEAST_CAPABILITY = 80 };
/* The same of GPUs that multiply matrices of floats of 8 bits. */
enum { MW_CUDA_FP8_CAPABILITY = 89 };

const MwBackendInfo *mw_backend_info(MwBackendId id);
/* The backend with that name; NULL if there is none. */
const MwBackendInfo *mw_backend_named(const char *name);
/* All names for a message: "cpu or cuda". Static text. */
const char *mw_backend_choices(void);

#endif
