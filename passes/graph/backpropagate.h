/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reverse-mode differentiation, graph to graph: the gradient of one number y by some values, as
 * nodes after those of the graph.
 *
 * Nodes are visited from last to first, those of a loop one after another. When a node is visited,
 * all users of its results have been, so the gradients by its results are complete. Contributions
 * to a gradient are added in the order in which they come, last user first, in the layer of the
 * user, so that a value used twice by one layer gets one sum from there. Gradient rules are the
 * column `gradient` of ir/ops.def (gradients.h), those of loops are in differentiate_loop.h.
 *
 * Source: Griewank and Walther, "Evaluating Derivatives", 2nd edition, 2008, section 3.2. */
#ifndef MW_PASSES_GRAPH_BACKPROPAGATE_H
#define MW_PASSES_GRAPH_BACKPROPAGATE_H

#include "passes/graph/differentiate_loop.h"

/* Sets what follows from the graph, which is complete: sizes, loops, order. */
void mw_differentiator_begin(MwDifferentiator *d);
/* What is to be differentiated, by what: sets `active`, and no gradient yet. */
void mw_differentiator_set(MwDifferentiator *d, MwValueId y, const bool *by);
/* Completes the gradients, from those that are set. False after an error, where a node is not
 * differentiable. Names of added nodes are generated ones. */
bool mw_backpropagate(MwDifferentiator *d);

#endif
