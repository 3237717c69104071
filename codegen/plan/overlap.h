/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moves units within the forward and the backward, so that collectives run beside kernels where the
 * device does both at the same time: a collective runs as soon as its operand is there and its
 * memory is free, so that what is between it and its first reader hides it.
 *
 *   - A collective on what is there when the task begins, such as a gather of weights, moves ahead
 *     until what computes between takes as long as it does, as fully sharded data parallelism
 *     prefetches (Zhao et al., "PyTorch FSDP", VLDB 16(12), 2023, section 3.3); and with it the
 *     kernels that make its operand, such as casts. It takes memory for twice its time at most.
 *   - What takes the sum of a micro-batch's gradient over devices, and gives what nothing in the
 *     task reads but further sums, moves back as far, and these with it: a sum along one axis after
 *     another has a kernel between that packs the first one. What is summed up stays until then, so
 *     that no kernel waits to write over it.
 *
 * Both take memory for longer. Time grows with the units times the distance that one is moved, and
 * memory with the units. */
#ifndef MW_CODEGEN_PLAN_OVERLAP_H
#define MW_CODEGEN_PLAN_OVERLAP_H

#include "codegen/plan/live_ranges.h"
#include "cost/cost.h"

/* Changes `order`, to which `live` belongs. Units are moved where no more is live for it, about,
 * than `peak_share` of what is live at most: below 1, room is left for gaps between buffers.
 * INFINITY: wherever there is something to hide; 0: nowhere. */
void mw_order_overlap(const MwLiveRanges *live, const MwCostModel *model, double peak_share,
                      MwOrder *order);

#endif
