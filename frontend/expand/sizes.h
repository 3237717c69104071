/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes: constants of the file, computed in order, each overridable by `-D name=value`. A size that
 * depends on an earlier one follows its override. */
#ifndef MW_FRONTEND_EXPAND_SIZES_H
#define MW_FRONTEND_EXPAND_SIZES_H

#include "frontend/define.h"
#include "frontend/terms/expander.h"

/* Fills ex->sizes from the sizes among `items`. */
void mw_sizes_compute(MwExpander *ex, const MwItems *items, const MwDefine *defines, int count);

#endif
