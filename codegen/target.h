/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the devices of a backend can do, for code generation: the one place that tells backends apart
 * there. */
#ifndef MW_CODEGEN_TARGET_H
#define MW_CODEGEN_TARGET_H

#include "codegen/print/printer.h"

typedef struct {
    const char *backend; /* "cpu", "cuda" */
    const MwKernelPrinter *printer;
    bool takes_bf16;    /* gemm, sdpa and sdpa_grad take operands in bf16 */
    bool overlaps;      /* collectives run while kernels do */
    bool has_epilogues; /* gemm adds a bias and applies gelu_tanh or its gradient as it stores */
} MwTarget;

/* That of a cluster's backend. */
const MwTarget *mw_target(const char *backend);

#endif
