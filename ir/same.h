/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_IR_SAME_H
#define MW_IR_SAME_H

#include "ir/ir.h"

/* Whether two graphs are the same model, in whatever order its operators stand, however values
 * inside it are called, and whichever scopes and repeats they come from: the same operators on the
 * same values; the same names of inputs, weights, states, outputs, metrics and losses; the same
 * pins and train statements. Both have one interner. */
bool mw_graph_same(MwArena *arena, const MwGraph *a, const MwGraph *b);

#endif
