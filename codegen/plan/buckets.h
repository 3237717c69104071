/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which collectives of a program are done together, in buckets, and where these stand in the order
 * of units.
 *
 * In: the units of a stage in an order that is good for memory. Out: an order in which the units of
 * a bucket, which are collectives of one kind on one axis that do not depend on each other, follow
 * each other.
 *
 *   - Sums of gradients: collectives of the update on what earlier programs leave, and collectives
 *     on these. They come first in the update, in the order in which the backward makes gradients,
 *     and are cut into buckets so that the last one ends soonest. Where memory is short, buckets
 *     have at most MW_TUNED_BUCKET_MB, and stand where the first of them is needed.
 *   - Weights: all-gathers of weights and states, or of what kernels make of these alone, such as
 *     casts, are cut so that the program waits for them least. At most MW_TUNED_BUCKET_MB are
 *     gathered in one bucket, since all of it takes memory before the first of it is used.
 *   - Other collectives of the update, such as those that gather new weights, are done together
 *     where they have as many collectives and messages before them. What another mesh waits for is
 *     done apart.
 *
 * Where there is memory for it, what of the update waits for messages comes last (message_order.h).
 *
 * Time grows with the units, and with the cube of the items that are cut (bucket_cut.h), of which
 * neighbours are joined beforehand until they are MW_BUCKET_ITEMS. */
#ifndef MW_CODEGEN_PLAN_BUCKETS_H
#define MW_CODEGEN_PLAN_BUCKETS_H

#include "codegen/fuse/order.h"
#include "cost/cost.h"

/* What there is memory for. */
typedef struct {
    bool gathers_ahead; /* weights that are gathered before they are used */
    bool sums_first;    /* sums of gradients, and new weights, that wait for each other: otherwise
                           buckets of the update, too, have at most MW_TUNED_BUCKET_MB, and stand
                           where the first of them is needed */
} MwBucketing;

/* Changes order->unit within each phase, and order->position and order->loops with it. */
void mw_order_buckets(const MwLegal *legal, const MwUnits *units, const MwCostModel *model,
                      const MwBucketing *bucketing, MwOrder *order);

#endif
