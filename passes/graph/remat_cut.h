/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which cheap values of a layer its backward makes again rather than loads: a minimum cut between
 * what the forward makes and what the backward uses, as in PyTorch's partitioner of joint graphs
 * (He and Yu, "Transcending runtime-memory tradeoffs in checkpointing by being fusion aware", MLSys
 * 2023). The cut goes through the values that are kept; its weight is the bytes that they move
 * and take, and the arithmetic of what is made again from them.
 *
 * Each layer is a network of its own, which grows with its operators; time in practice in
 * proportion to the square of these. */
#ifndef MW_PASSES_GRAPH_REMAT_CUT_H
#define MW_PASSES_GRAPH_REMAT_CUT_H

#include "passes/compilation.h"

/* Adds to `recomputed` [values], which holds those that are made again in any case, those of the
 * values with `may` [values] that are better made again. In a selective layer the cut has as few
 * bytes as there can be where all but results of products, convolutions, attention and gathers are
 * made again. In other layers, if `cuts_all`, it goes by time: among results of element-wise
 * operators with one large operand, and views of them, that no call of the backward takes. Values
 * of layers that are recomputed as a whole stay as they are. */
void mw_remat_cut(const MwCompilation *compilation, const bool *may, bool cuts_all,
                  bool *recomputed);

#endif
