/* SPDX-License-Identifier: MIT */
/* Ranks connected by MPI. */
#ifndef MW_RUNTIME_MPI_TRANSPORT_H
#define MW_RUNTIME_MPI_TRANSPORT_H

#include "runtime/exec/transport.h"

/* Calls MPI_Init, so it is called once per process. `may_share`: ranks of one machine exchange
 * through shared memory where that can be had; the results are the same bits without. NULL after a
 * fault. */
MwTransport *mw_transport_mpi_new(MwArena *arena, bool may_share, MwFault *fault);

#endif
