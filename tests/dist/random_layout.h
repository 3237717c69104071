/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a model is laid out over devices and time, at random, of all ways that there are. */
#ifndef MW_TESTS_DIST_RANDOM_LAYOUT_H
#define MW_TESTS_DIST_RANDOM_LAYOUT_H

#include "base/text.h"
#include "passes/compilation.h"

/* Fills compilation->staging, in place of the pass `stages`: sub-meshes of any sizes and shapes, in
 * any order, that have all devices of the cluster together; stages of any layers; a schedule, with
 * chunks where it has them; any number of micro-batches that divides the batch; layers that are
 * computed again. `*random` is the state of random_next. */
void random_layout(MwCompilation *compilation, uint64_t *random);

/* "1f1b, 4 micro-batches, 3 layers (1 recomputed, 2 selectively) on 2x1 at 2, ...": of every
 * stage. */
void random_layout_print(MwText *text, const MwStaging *staging);

#endif
