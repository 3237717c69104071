/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pass share on one graph. */
#ifndef MW_PASSES_SHARDING_SHARE_H
#define MW_PASSES_SHARDING_SHARE_H

#include "passes/compilation.h"

/* Whether what the update takes from the backward is too much to be kept until then as it is made:
 * more than a share of the memory of a device. `compilation->graph` is the whole model. */
bool mw_must_sum_early(const MwCompilation *compilation);

/* The graph with an identity node for each shared copy of a value (share.c); in the arena of
 * `graph`. `sums_early`: also one behind each value of the backward that the update takes. */
MwGraph *mw_share(const MwGraph *graph, bool sums_early);

/* The same of a graph of the compilation: with one micro-batch gradients are summed early if
 * compilation->sums_gradients_early. With several there are accumulators, which are sharded or not
 * as the problem has it. */
MwGraph *mw_share_of(const MwCompilation *compilation, const MwGraph *graph);

#endif
