/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Casts of weights to shorter types whose results may be kept from step to step: the kernel of the
 * update that makes the new value of a weight can store that in the shorter type, too. */
#ifndef MW_IR_KEPT_CASTS_H
#define MW_IR_KEPT_CASTS_H

#include "ir/ir.h"

/* [nodes] in `arena`: of such a cast, the index of the assignment of its weight; -1 for other
 * nodes. */
const int32_t *mw_find_kept_casts(MwArena *arena, const MwGraph *graph);

#endif
