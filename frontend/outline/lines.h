/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statements of a body. */
#ifndef MW_FRONTEND_OUTLINE_LINES_H
#define MW_FRONTEND_OUTLINE_LINES_H

#include "frontend/outline/outliner.h"

/* Writes the body of a unit. `args` are the parameters of its class as expressions. */
void mw_lines_write(MwOutliner *outliner, const MwModuleUnit *unit, MwExpr *const *args,
                    MwOutlineBody *body);

#endif
