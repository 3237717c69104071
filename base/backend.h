/* SPDX-License-Identifier: MIT */
/* The facts of base/backends.def as a table. */
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
    const char *suffix;   /* of files with the source of its kernels: ".cu" */
    const char *compiler; /* of its kernels, as messages call it: "nvcc" */
    const char *variable; /* of the environment, that names another compiler: "NVCC" */
    const char *archive;  /* of the runtime, besides the one that all link; "": none */
    bool takes_bf16;      /* gemm and attention take operands in bf16 */
    bool overlaps;        /* collectives run while kernels do */
    bool has_epilogues;   /* gemm adds a bias and applies gelu_tanh or its gradient as it stores */
    bool uses_nccl;       /* collectives are NCCL's */
    bool keeps_objects;   /* compiled kernels are kept */
} MwBackendInfo;

const MwBackendInfo *mw_backend_info(MwBackendId id);
/* The backend of that name; NULL if there is none. */
const MwBackendInfo *mw_backend_named(const char *name);
/* All names for a message: "cpu or cuda". Text that lasts as long as the program. */
const char *mw_backend_choices(void);

#endif
