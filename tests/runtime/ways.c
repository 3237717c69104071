/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/runtime/ways.h"

#include "runtime/cpu/device.h"
#include "runtime/mpi/transport.h"
#include "tests/runtime/foreign.h"

#include <string.h>

bool way_open(MwArena *arena, const char *way, const MwPlan *plan, MwTransport **transport,
              MwDevice **device, MwFault *fault)
{
    const bool foreign = strncmp(way, "foreign-", 8) == 0;
    *transport = mw_transport_mpi_new(arena, strstr(way, "shared") != NULL, fault);
    *device = foreign ? foreign_device_new(arena, plan, NULL, 1, fault)
                      : mw_device_cpu_new(arena, plan, NULL, 1, fault);
    return *transport && *device;
}
