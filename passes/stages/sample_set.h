/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The samples of one model, each solved once, and what is extrapolated from them: the cost of an
 * interval is a weighted sum of those of its samples (extrapolate.h). */
#ifndef MW_PASSES_STAGES_SAMPLE_SET_H
#define MW_PASSES_STAGES_SAMPLE_SET_H

#include "passes/stages/extrapolate.h"
#include "passes/stages/known.h"
#include "passes/stages/sample.h"

typedef struct {
    MwArena *arena;
    const MwStageModel *model;
    int threads;
    MwStageSolved *solved;         /* where samples are kept */
    MwKeyMap graphs;               /* by interval class and recomputation */
    MW_VEC(MwStageSample *) queue; /* samples to solve next */
    MwStagePricing pricing;
    MwExtrapolation *extrapolation;
} MwStageSampleSet;

/* The sample of layers [begin, end), with mesh, recomputation and sequence as in `like`. */
MwStageSample *mw_stage_sample_of(MwStageSampleSet *set, int begin, int end,
                                  const MwStageSample *like);

/* Queues a sample to be solved at a price, unless it is solved. */
void mw_stage_sample_request(MwStageSampleSet *set, MwStageSample *sample, int price);

/* Queues all samples of the terms. */
void mw_stage_terms_request(MwStageSampleSet *set, const MwIntervalTerms *terms,
                            const MwStageSample *like, int price);

/* Solves what is queued. */
void mw_stage_sample_set_solve(MwStageSampleSet *set);

/* Whether all samples of the terms are solved. */
bool mw_stage_terms_are_solved(MwStageSampleSet *set, const MwIntervalTerms *terms,
                               const MwStageSample *like, int price);

/* Sums the weighted costs of the terms; false if some sample has no solution. */
bool mw_stage_terms_sum(MwStageSampleSet *set, const MwIntervalTerms *terms,
                        const MwStageSample *like, int price, MwStageCost *sum);

#endif
