/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/device_cuda.h"
#include "runtime/transport_nccl.h"
#include "tests/runtime/ways.h"

#include <stdlib.h>

/* FAKE_CUDA_TIMEOUT says how many seconds ranks wait for each other. */
bool way_open(MwArena *arena, const char *way, const MwPlan *plan, MwTransport **transport,
              MwDevice **device, MwFault *fault)
{
    (void)way;
    const char *timeout = getenv("FAKE_CUDA_TIMEOUT");
    MwTransport *hosts = mw_transport_mpi_new(arena, true, fault);
    if (!hosts)
        return false;
    *device = mw_device_cuda_new(arena, plan, NULL, 1, fault);
    if (!*device)
        return false;
    *transport = mw_transport_nccl_new(arena, hosts, timeout ? atof(timeout) : 120, fault);
    return *transport != NULL;
}
