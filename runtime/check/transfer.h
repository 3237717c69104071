/* SPDX-License-Identifier: MIT */
/* The proof that a list of messages performs a transfer. */
#ifndef MW_RUNTIME_CHECK_TRANSFER_H
#define MW_RUNTIME_CHECK_TRANSFER_H

#include "runtime/plan/messages.h"

/* Proves, without trusting what made `messages`, that they are in order, that every element crosses
 * between the meshes once, that every receiving rank gets every element of its block once, and that
 * a sender has each box by the hop in which it sends it. NULL, or what is wrong, in `arena`. */
const char *mw_transfer_check(MwArena *arena, const MwTransfer *transfer,
                              const MwMessages *messages);

#endif
