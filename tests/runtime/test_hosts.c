/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits for other hosts after a fault: what comes at last is taken, and what never comes is not
 * waited for.
 *
 *     mpirun -n 2 test_hosts */
#include "runtime/mpi/transport.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LATE_US = 200000 };

static bool always_fails(void *calls, MwFault *fault)
{
    ++*(int *)calls;
    return mw_fault_set(fault, "the first of %d", *(int *)calls);
}

/* Rank 1 has a fault when it begins to wait, and rank 0 comes later. */
static bool takes_what_is_late(MwTransport *transport, MwFault *fault)
{
    const int own = transport->rank + 1;
    int all[2] = {0}, calls = 0;
    if (transport->rank == 0)
        usleep(LATE_US);
    else
        transport->idle = always_fails;
    transport->idle_context = &calls;
    return transport->table->allgather(transport, &own, sizeof own, all, fault) && all[0] == 1 &&
           all[1] == 2 && calls == transport->rank;
}

/* Rank 0 sends nothing before rank 1 has given up. */
static bool gives_up(MwTransport *transport, MwFault *fault)
{
    char byte = 0;
    if (transport->rank == 0)
        return transport->table->receive(transport, 1, &byte, 1, fault);
    const bool comes = transport->table->receive(transport, 0, &byte, 1, fault);
    return !comes && strcmp(fault->text, "the first of 1") == 0 &&
           transport->table->send(transport, 0, &byte, 1, fault);
}

int main(void)
{
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    MwTransport *transport = mw_transport_mpi_new(arena, false, &fault);
    const bool takes = transport && takes_what_is_late(transport, &fault);
    const bool ends = takes && gives_up(transport, &fault);
    if (!transport || transport->rank == 1) {
        printf("1..2\n%sok 1 - a host that comes late is waited for after a fault\n",
               takes ? "" : "not ");
        printf("%sok 2 - one that does not come is not, and the first fault is said\n",
               ends ? "" : "not ");
    }
    if (!ends)
        fprintf(stderr, "%s\n", fault.text);
    if (takes)
        mw_transport_free(&transport, NULL);
    mw_arena_free(&arena);
    return !ends;
}
