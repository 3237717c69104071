/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which statement may stand where: inputs, outputs, precision and training belong to the model,
 * outside of repeats; a block ends with its one `return`. Checked for every block, called or
 * not. */
#ifndef MW_FRONTEND_EXPAND_PLACEMENT_H
#define MW_FRONTEND_EXPAND_PLACEMENT_H

#include "frontend/syntax/ast.h"

/* False after errors. */
bool mw_placement_check(const MwItems *items, MwDiags *diags);

#endif
