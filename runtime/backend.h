/* SPDX-License-Identifier: MIT */
/* A kind of devices that plans are made for, and what a program needs to run such a plan. Programs
 * pass the backends that they were linked with: `mw_backend_cuda` is of an archive of its own, to
 * which nothing in this one refers. */
#ifndef MW_RUNTIME_BACKEND_H
#define MW_RUNTIME_BACKEND_H

#include "base/backend.h"
#include "runtime/exec/transport.h"

typedef struct {
    MwBackendId id;
    /* Makes a shared library of a plan's kernels, for the devices of this machine, with the
     * compiler of this machine. */
    bool (*compile)(const char *source, const char *library, MwFault *fault);
    /* The device of this process. `kernels` ends with a NULL name; every kernel of `plan` must be
     * there. Called on every rank, when all are connected. */
    MwDevice *(*device_new)(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                            int threads, MwFault *fault);
    /* How the devices of several ranks are connected other than by MPI, which `hosts` is; NULL
     * where there is no other way. As mw_transport_nccl_new and mw_nccl_is_possible. */
    const char *transport;
    bool (*transport_is_possible)(MwArena *arena, MwTransport *hosts, bool *possible,
                                  MwFault *fault);
    MwTransport *(*transport_new)(MwArena *arena, MwTransport *hosts,
                                  const MwTransportOptions *options, MwFault *fault);
} MwBackend;

/* One for each row of base/backends.def, in the archive that the row names. */
#define BACKEND(id, ...) extern const MwBackend mw_backend_##id;
#include "base/backends.def"
#undef BACKEND

/* The one of that name in a list that ends with NULL; NULL after a fault that names those there
 * are. */
const MwBackend *mw_backend_find(const MwBackend *const *backends, const char *name,
                                 MwFault *fault);
#endif
