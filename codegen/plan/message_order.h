/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a program waits for messages of other meshes, and an order of its units by which meshes
 * wait for each other as little as may be: what waits for no message comes before what waits for
 * one, and of what waits for as many, the messages that other meshes wait for come first, those
 * first that the fewest units have to run for. Messages keep this order to the end.
 *
 * Time and memory grow with the units. */
#ifndef MW_CODEGEN_PLAN_MESSAGE_ORDER_H
#define MW_CODEGEN_PLAN_MESSAGE_ORDER_H

#include "codegen/fuse/order.h"

typedef struct {
    int *waits;    /* [units] the most messages, one after another, that a unit waits for */
    bool *is_sent; /* [units] a message has what it gives */
    int32_t *unit; /* the units of the phase, in that order */
} MwMessageOrder;

MwMessageOrder mw_message_order(MwArena *arena, const MwLegal *legal, const MwUnits *units,
                                const MwOrder *order, MwPhase phase);

/* The most of what is counted for each unit, of those that a unit reads. */
int mw_most_read(const MwLegal *legal, const MwUnits *units, const int *counts, int unit);

#endif
