/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the local graph of a mesh (passes/sharding/partition.h) to the legal graph. */
#ifndef MW_CODEGEN_LEGAL_LEGALIZE_H
#define MW_CODEGEN_LEGAL_LEGALIZE_H

#include "codegen/legal/legal.h"
#include "cost/cost.h"

/* The legal graph of `local`, in `arena`, for the devices of `model`. Nodes that no result of the
 * program depends on are left out. With `spends_memory` there are copies that only save time, too:
 * weights that the update gives new values are kept over the whole step in the shorter types that
 * they are cast to, and operands of products are copied where these are quicker then. */
MwLegal *mw_legalize(MwArena *arena, const MwGraph *local, const MwCostModel *model,
                     bool spends_memory);

#endif
