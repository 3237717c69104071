/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the graphs of a test are run by: it is linked with backends_host.c, for the CPU and for CUDA
 * C on the host, or with backends_gpu.c, for a GPU. */
#ifndef MW_TESTS_KERNELS_BACKENDS_H
#define MW_TESTS_KERNELS_BACKENDS_H

#include "runtime/exec/transport.h"

typedef struct {
    const char *name; /* as plans name it */
    /* The table of a plan's kernels, which stays loaded; NULL after a fault. */
    const MwKernelEntry *(*load)(MwArena *arena, const MwPlan *plan, MwTransport *transport,
                                 MwFault *fault);
    /* As MwBackend.device_new. */
    MwDevice *(*device_new)(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                            int threads, MwFault *fault);
} GraphBackend;

extern const GraphBackend graph_backends[];
extern const int graph_backend_count;

#endif
