/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `[ ]` behind an expression: an element or part of a list, or a part of a tensor. */
#ifndef MW_FRONTEND_EXPAND_INDEX_H
#define MW_FRONTEND_EXPAND_INDEX_H

#include "frontend/syntax/ast.h"
#include "frontend/terms/emit.h"

/* A place in `[ ]`, as it is written and with what its expressions mean. */
typedef struct {
    const MwIndexItem *item;
    MwTerm at, begin, end, stride; /* NONE: not given */
} MwPlace;

typedef MW_VEC(MwPlace) MwPlaces;

/* Of a list, `k[i]` is an element and `k[begin:end]` a list. Of a tensor, each place is for a
 * dimension, from the first on, and `...` for those that the others leave: an element, which lacks
 * the dimension, or a range. Places count from 0, or backwards from -1, the last. NONE after an
 * error. */
MwTerm mw_index(MwExpander *ex, MwSite site, MwTerm of, const MwPlaces *places);

#endif
