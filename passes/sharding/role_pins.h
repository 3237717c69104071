/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pinned roles of mesh axes (base/role.h), as the option --roles says them. */
#ifndef MW_PASSES_SHARDING_ROLE_PINS_H
#define MW_PASSES_SHARDING_ROLE_PINS_H

#include "passes/sharding/strategies.h"

/* Restricts the strategies of products and attention, forward and backward, to those in which each
 * axis of the mesh has its role in graph->roles, or splits nothing. A product without weights, as
 * the gradient of a weight is, counts as data where an operand is split along the batch, and
 * otherwise as any other role. lists: [nodes]. */
void mw_role_pins_apply(const MwGraph *graph, MwStrategyTable *table, const MwStrategyList **lists);

#endif
