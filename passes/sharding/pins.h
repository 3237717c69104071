/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pinned specs: `with spec = …` in the source and `--pin 'GLOB=SPEC'` on the command line. Both
 * are in graph->pins; these functions parse, match and apply them. */
#ifndef MW_PASSES_SHARDING_PINS_H
#define MW_PASSES_SHARDING_PINS_H

#include "passes/sharding/strategies.h"

/* Restricts the strategies of the producer of every pinned value to those with the pinned spec,
 * and sets `pinned` for these nodes. An axis of one device splits nothing. lists, pinned:
 * [nodes]. False after errors that say why a pin cannot be met on this mesh. */
bool mw_pins_apply(const MwGraph *graph, MwStrategyTable *table, const MwMeshShape *mesh,
                   const MwStrategyList **lists, bool *pinned, MwDiags *diags);

#endif
