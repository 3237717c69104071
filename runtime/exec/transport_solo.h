/* SPDX-License-Identifier: MIT */
/* A transport without peers: a run on one rank, or the view of one rank when a plan is verified. */
#ifndef MW_RUNTIME_EXEC_TRANSPORT_SOLO_H
#define MW_RUNTIME_EXEC_TRANSPORT_SOLO_H

#include "runtime/exec/transport.h"

/* This process is rank `rank` of `size`; what the other ranks would send arrives as zeros. */
MwTransport *mw_transport_solo_new(MwArena *arena, int rank, int size);

#endif
