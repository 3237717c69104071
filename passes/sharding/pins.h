/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pinned shardings: `with spec = …` and `with ring = …` in the source, `--pin 'GLOB=SPEC'`, `--pin
 * GLOB=ring` and `--pin 'GLOB=no ring'` on the command line. All are in graph->pins; these
 * functions parse, match and apply them. */
#ifndef MW_PASSES_SHARDING_PINS_H
#define MW_PASSES_SHARDING_PINS_H

#include "passes/sharding/strategies.h"

/* "ring" or "no ring", as the pin says. */
const char *mw_ring_word(const MwPin *pin);

/* Restricts the strategies of the producer of every pinned value to those with the pinned spec,
 * and to those with a ring, or without, and sets `pinned` for these nodes. An axis of one device
 * splits nothing. lists, pinned: [nodes]. False after errors that say why a pin cannot be met on
 * this mesh. */
bool mw_pins_apply(const MwGraph *graph, MwStrategyTable *table, const MwMeshShape *mesh,
                   const MwStrategyList **lists, bool *pinned, MwDiags *diags);

#endif
