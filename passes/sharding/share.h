/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pass share on one graph. */
#ifndef MW_PASSES_SHARDING_SHARE_H
#define MW_PASSES_SHARDING_SHARE_H

#include "ir/ir.h"

/* The graph with an identity node for each shared copy of a value (share.c); in the arena of
 * `graph`. */
MwGraph *mw_share(const MwGraph *graph);

#endif
