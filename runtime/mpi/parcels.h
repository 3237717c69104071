/* SPDX-License-Identifier: MIT */
/* Messages between devices as persistent requests of MPI: nothing is copied together, and nothing
 * allocated, when they begin. Where the memory of devices is not the host's they go through an image on
 * the host: of the part of the buffer from their first element to their last. */
#ifndef MW_RUNTIME_MPI_PARCELS_H
#define MW_RUNTIME_MPI_PARCELS_H

#include "runtime/exec/transport.h"

/* As the functions of MwTransportTable. */
MwParcels *mw_mpi_parcels_new(MwArena *arena, MwDevice *device, void *buffer,
                              const MwParcel *parcels, int count, bool sends, int tag,
                              MwFault *fault);
bool mw_mpi_parcels_begin(MwParcels *parcels, MwFault *fault);
bool mw_mpi_parcels_test(MwParcels *parcels, bool *done, MwFault *fault);
bool mw_mpi_parcels_wait(MwParcels *parcels, MwFault *fault);
void mw_mpi_parcels_free(MwParcels *parcels);

/* Lets MPI go on with messages that are under way, for waits that it knows nothing of. */
void mw_mpi_parcels_progress(void);
/* False, after a fault that names `call`, if `status` is an error. */
bool mw_mpi_check(int status, const char *call, MwFault *fault);

#endif
