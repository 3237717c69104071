/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Specs that the user demands: `with spec = …` in the source, `--pin 'GLOB=SPEC'` on the command
 * line. Both stand in graph->pins; here they are read, matched and imposed. */
#ifndef MW_PASSES_SHARDING_PINS_H
#define MW_PASSES_SHARDING_PINS_H

#include "passes/sharding/strategies.h"

/* Restricts the strategies of every pinned value's node to those that give the spec; axes of one
 * device split nothing. Sets `pinned` for these nodes. False after errors that say why a pin cannot
 * be met on this mesh. */
bool mw_pins_apply(const MwGraph *graph, MwStrategyTable *table, const MwMeshShape *mesh,
                   const MwStrategyList **lists, bool *pinned, MwDiags *diags);

#endif
