/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structure found in a flat model: blocks for modules, one for all modules of equal structure, and
 * repeats for modules that are numbered and follow one another. */
#ifndef MW_FRONTEND_OUTLINE_OUTLINE_H
#define MW_FRONTEND_OUTLINE_OUTLINE_H

#include "frontend/syntax/ast.h"

#define MW_OUTLINE_BATCH "batch" /* the size that is that of the batch */

/* The items of a file that means the same model as `flat`: the same operators on the same values,
 * and the same names of weights, states, inputs, outputs and losses. `flat` has sizes and one model
 * without errors, in which dots in the names of weights and values join the path of a module and
 * what it calls them. A model that is not flat comes back as it is. `with_batch`: the size of the
 * batch is a size of the file, if inputs agree on it; whether what follows from it does too is to
 * be seen by giving it another value. */
MwItems mw_outline(MwArena *arena, MwInterner *interner, const MwItems *flat, bool with_batch);

#endif
