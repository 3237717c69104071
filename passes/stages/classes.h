/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of layers.
 *
 * Two layers have the same class if their nodes agree one by one in operator and types, in the
 * position of each operand's maker in the layer or its distance in layers, and in the distance
 * of each result's users. Values that depend on constants alone, values of the update with several
 * users, and values that several other layers use (the weights of a recurrent network, what
 * an encoder gives to every layer of a decoder) count as the same wherever they are used.
 * Intervals of layers of the same classes are the same graph up to names.
 *
 * Time and memory grow with the nodes. */
#ifndef MW_PASSES_STAGES_CLASSES_H
#define MW_PASSES_STAGES_CLASSES_H

#include "ir/ir.h"

/* [layers] the class of each layer, in order of first appearance; in `arena`. */
const int *mw_layer_classes(MwArena *arena, const MwGraph *graph, int layers);

#endif
