/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Specs that the user demands: `with spec = …` in the source, `--pin 'GLOB=SPEC'` on the command
 * line. Both stand in graph->pins; here they are read, matched and imposed. */
#ifndef MW_PASSES_PINS_H
#define MW_PASSES_PINS_H

#include "passes/strategies.h"

/* Adds a pin for every value whose name matches the glob of `text`, "layers.*.mlp.w1=[R, S1]" (`*`
 * matches dots too). False after an error: the text cannot be read, no value matches, the rank
 * differs, or another pin wants another spec for the value. */
bool mw_pin_parse(MwGraph *graph, const char *text, MwDiags *diags);

/* Restricts the strategies of every pinned value's node to those that give the spec; axes of one
 * device split nothing. Sets `pinned` for these nodes. False after errors that say why a pin cannot
 * be met on this mesh. */
bool mw_pins_apply(const MwGraph *graph, MwStrategyTable *table, const MwMeshShape *mesh,
                   const MwStrategyList **lists, bool *pinned, MwDiags *diags);

#endif
