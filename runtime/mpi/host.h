/* SPDX-License-Identifier: MIT */
/* Messages between hosts: these functions of runtime/exec/transport.h, by MPI.
 *
 * What another host does in the meantime can take as long as a compiler, and MPI waits in a loop.
 * Waits for other hosts leave the core to others here: each sleeps for a share of the time that it
 * has lasted. */
#ifndef MW_RUNTIME_MPI_HOST_H
#define MW_RUNTIME_MPI_HOST_H

#include "runtime/exec/transport.h"

bool mw_mpi_host_send(MwTransport *transport, int peer, const void *data, int64_t bytes,
                      MwFault *fault);
bool mw_mpi_host_receive(MwTransport *transport, int peer, void *data, int64_t bytes,
                         MwFault *fault);
bool mw_mpi_host_allgather(MwTransport *transport, const void *mine, int64_t bytes, void *all,
                           MwFault *fault);
bool mw_mpi_host_barrier(MwTransport *transport, MwFault *fault);
/* Sleeps for a share of the time that a wait has lasted, if that is not short. `begin_s` is when it
 * began (base/clock.h). */
void mw_mpi_host_rest(double begin_s);
void mw_mpi_host_expect_end(MwTransport *transport, const MwFault *fault);

#endif
