/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_PASSES_SHARDING_SHARE_H
#define MW_PASSES_SHARDING_SHARE_H

#include "ir/ir.h"

/* What the pass makes of one graph, in the arena of that. */
MwGraph *mw_share(const MwGraph *graph);

#endif
