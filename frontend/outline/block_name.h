/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What blocks are called. */
#ifndef MW_FRONTEND_OUTLINE_BLOCK_NAME_H
#define MW_FRONTEND_OUTLINE_BLOCK_NAME_H

#include "frontend/outline/classes.h"

/* Gives every class that is a block its name: that of its modules where they share one, or else
 * that of the function of PyTorch's that it is, or what its modules' names begin with. */
void mw_blocks_name(MwClasses *classes);

#endif
