/* SPDX-License-Identifier: MIT */
/* Requests for messages between devices, as persistent requests of MPI: starting them packs nothing
 * in this process and allocates nothing. Where the memory of the device is not the host's, the
 * messages go through a copy, on the host, of the part of the buffer from their first element to
 * their last. */
#ifndef MW_RUNTIME_MPI_REQUESTS_H
#define MW_RUNTIME_MPI_REQUESTS_H

#include "runtime/exec/transport.h"

/* These do what init_request, start, test and wait of MwTransportTable do. */
MwRequest *mw_mpi_request_new(MwArena *arena, MwDevice *device, const MwMessageSet *set,
                              MwFault *fault);
bool mw_mpi_request_start(MwRequest *request, MwFault *fault);
bool mw_mpi_request_test(MwRequest *request, bool *done, MwFault *fault);
bool mw_mpi_request_wait(MwRequest *request, MwFault *fault);
void mw_mpi_request_free(MwRequest *request);

/* Lets MPI progress the messages in flight, for waits outside of MPI. */
void mw_mpi_progress(void);

#endif
