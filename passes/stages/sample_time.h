/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The times of a sample, as plans run it. They are those of its problem
 * (passes/sharding/intra_problem.h), but for sums of gradients that products add to where they lie
 * (codegen/fuse/gemm_absorb.c): these take what the accumulator adds to the traffic of the product.
 * Casts of weights count, and apart from that how long they take: where memory suffices, copies of
 * weights in the shorter type are kept from step to step (ir/kept_casts.h). */
#ifndef MW_PASSES_STAGES_SAMPLE_TIME_H
#define MW_PASSES_STAGES_SAMPLE_TIME_H

#include "passes/sharding/intra_problem.h"
#include "passes/sharding/liveness.h"
#include "passes/stages/stage_cost.h"

/* Sets the times of `cost`, and what copies of weights are. `lives` are those of the graph. */
void mw_sample_time(MwArena *arena, const MwIntraProblem *intra, const MwLife *lives,
                    const int *choice, MwStageCost *cost);

#endif
