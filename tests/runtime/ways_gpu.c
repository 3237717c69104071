/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_transport.h"
#include "runtime/mpi/transport.h"
#include "tests/runtime/ways.h"

#include <string.h>

static const MwTransportOptions options = {.timeout_s = 120};

bool way_open(MwArena *arena, const char *way, const MwPlan *plan, MwTransport **transport,
              MwDevice **device, MwFault *fault)
{
    *transport = mw_transport_mpi_new(arena, true, fault);
    if (!*transport)
        return false;
    *device = mw_device_cuda_new(arena, plan, NULL, 1, fault);
    if (!*device)
        return false;
    if (strcmp(way, "mpi") == 0)
        return true;
    *transport = mw_transport_nccl_new(arena, *transport, &options, fault);
    return *transport != NULL;
}
