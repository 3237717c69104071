/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the cost of an interval of layers follows from those of shorter ones, which are solved.
 *
 * A run is n >= 2 periods of p layers each that have the same classes one by one: equal layers, or
 * equal iterations of several layers each. For a run from layer i to layer j - 1 in [b, e), each
 * cost C except the peak satisfies
 *
 *     C[b, e) = C[b, i + p) + C[j - p, e) - C(one) + (n - 1) H
 *
 * where C(one) is the cost of one period, and H that of a period among others: half of that of two
 * periods (sample.h). C(one) is the rest of C(two). One period alone is not solved for it: at a
 * price of memory, it may be solved in another way than two, with more time and less memory, and
 * the difference of both then is no way to run anything.
 *
 * An interval [b, e) without runs is a sample if it has at most `span` layers. A longer one is
 * extrapolated from all samples of `span` layers in it, and those of their overlaps:
 *
 *     C[b, e) = sum of C[i, i + span) for b <= i <= e - span
 *               - sum of C[i, i + span - 1) for b < i <= e - span
 *
 * which leaves out what layers that are `span` or more apart do to each other. The span is that of
 * the whole model, unless the samples then had more than MW_TUNED_SPAN_NODES nodes: without runs
 * their number grows with the square of the number of layers. The peak of the whole is the largest
 * of the samples.
 *
 * The table has an entry for each class of intervals and, where no layers are alike, as many terms
 * in each as the interval has layers: in all, it grows with the layers to the third power, of
 * which there are at most MW_TUNED_WANTED_LAYERS unless more stages are wanted. */
#ifndef MW_PASSES_STAGES_EXTRAPOLATE_H
#define MW_PASSES_STAGES_EXTRAPOLATE_H

#include "passes/stages/model.h"

/* `weight` times the cost of layers [begin, end), or of half of them among others. */
typedef struct {
    int begin, end;
    bool is_half;
    double weight;
} MwIntervalTerm;

typedef MW_VEC(MwIntervalTerm) MwIntervalTerms;

typedef struct MwExtrapolation MwExtrapolation;

/* Lies in `arena`; the model must outlive it. Every sample is solved on so many logical meshes. */
MwExtrapolation *mw_extrapolation_new(MwArena *arena, const MwStageModel *model, int meshes);

/* The samples, with weights, whose costs add up to that of layers [begin, end). */
const MwIntervalTerms *mw_extrapolation_terms(MwExtrapolation *extrapolation, int begin, int end);

#endif
