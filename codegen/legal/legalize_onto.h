/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of which one term is added where the other lies. */
#ifndef MW_CODEGEN_LEGAL_LEGALIZE_ONTO_H
#define MW_CODEGEN_LEGAL_LEGALIZE_ONTO_H

#include "codegen/legal/legalize_rules.h"

/* Finds which nodes of a local graph the sums that read their results take; in `arena`. */
MwOnto mw_legal_find_onto(MwArena *arena, const MwGraph *local);

/* If `node` is a sum that takes nodes, adds what it becomes, stores its result, and returns true;
 * else false. The forms of its operands must exist, but for what it takes. */
bool mw_legal_onto(MwLegalizer *l, const MwNode *node, MwValueId *results);

#endif
