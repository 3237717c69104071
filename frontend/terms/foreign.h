/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What messages say of names of other libraries (foreign.def).
 *
 * What stands before the last dot of a name does not count, nor do case and `_`: "nn.LayerNorm",
 * "F.layer_norm" and "layer_norm_" are spellings of one name, whose row may be any of them. A row
 * whose name ends in "nd" stands for 1d, 2d and 3d too, unless they have rows of their own. */
#ifndef MW_FRONTEND_TERMS_FOREIGN_H
#define MW_FRONTEND_TERMS_FOREIGN_H

#include "base/vec.h"

/* Names that one may have meant. */
typedef MW_VEC(const char *) MwKnown;

/* Where a name stands. */
typedef enum {
    MW_FOREIGN_CALL,  /* name(…): a function, or what makes initial values */
    MW_FOREIGN_VALUE, /* alone, also as a type */
} MwForeignKind;

/* The sentence on `name`; NULL if there is none. */
const char *mw_foreign_text(MwForeignKind kind, const char *name);
/* What a parameter `name` is called by a function whose parameters are `known`; NULL if it has no
 * such parameter. */
const char *mw_foreign_parameter(const char *name, const MwKnown *known);
/* What there is in the place of a parameter `name` that a function of this language has not; NULL
 * if no other library has it either. */
const char *mw_foreign_absent(const char *function, const char *name);
/* The first of the known names of which `name` is a spelling; NULL if it is none. */
const char *mw_foreign_spelling(const char *name, const MwKnown *known);

#endif
