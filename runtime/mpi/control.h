/* SPDX-License-Identifier: MIT */
/* Control messages between hosts: a rank may send one at any time, and the receiver polls for them.
 * Ranks use them to agree that a message between their devices may start (runtime/cuda/nccl_p2p.h).
 * Messages from one rank to another arrive in the order in which they were sent. */
#ifndef MW_RUNTIME_MPI_CONTROL_H
#define MW_RUNTIME_MPI_CONTROL_H

#include "base/arena.h"
#include "runtime/exec/fault.h"

typedef struct MwControl MwControl;

typedef struct {
    int peer; /* the rank that it goes to, or comes from */
    int kind, tag;
} MwControlMessage;

/* MPI is initialized. NULL after a fault. */
MwControl *mw_control_new(MwArena *arena, MwFault *fault);
/* Waits for the oldest message in flight if there are 64. */
bool mw_control_send(MwControl *control, MwControlMessage message, MwFault *fault);
/* Takes the next message that has arrived; `*found` is false if there is none. */
bool mw_control_poll(MwControl *control, MwControlMessage *message, bool *found, MwFault *fault);
/* Called before MPI_Finalize. */
void mw_control_free(MwControl **control);

#endif
