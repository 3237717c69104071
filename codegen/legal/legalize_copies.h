/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of weights in a shorter type that are kept from step to step. */
#ifndef MW_CODEGEN_LEGAL_LEGALIZE_COPIES_H
#define MW_CODEGEN_LEGAL_LEGALIZE_COPIES_H

#include "codegen/legal/legalizer.h"

/* If `node` is a cast that a copy stands for, stores the copy, a state, as its result, and returns
 * true; else false. */
bool mw_legal_copy_of_weight(MwLegalizer *l, const MwNode *node, MwValueId *results);

/* Gives all copies their new values, after the new values of their weights. */
void mw_legal_update_copies(MwLegalizer *l);

#endif
