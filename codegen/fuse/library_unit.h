/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library operator, and the concatenation of results of its that its call makes too: it writes
 * them where they belong in the whole. So the gradients of q, k and v become that of the tensor
 * whose slices these are, without a pass over memory. */
#ifndef MW_CODEGEN_FUSE_LIBRARY_UNIT_H
#define MW_CODEGEN_FUSE_LIBRARY_UNIT_H

#include "codegen/fuse/joining.h"

/* Lets library operators take in a concatenation whose operands are results of one of them, all
 * different and each whole, that nothing else reads, if the routine can write each in its place
 * (codegen/legal/library.h). Is called when every node of a library operator and every
 * concatenation has a unit of its own. */
void mw_library_units_absorb(MwFusion *f);

/* The view that result k of the library operator of `unit` is of what the call writes: of itself,
 * or a part of a concatenation. */
MwView mw_library_unit_result(const MwLegal *legal, const MwUnit *unit, int k);

#endif
