/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which operators cannot share their loops with others. */
#ifndef MW_CODEGEN_LEGAL_LOOPS_H
#define MW_CODEGEN_LEGAL_LOOPS_H

#include "ir/ir.h"

/* Whether the operator needs loops of its own, so that it shares its kernel with no other
 * operator. */
bool mw_op_has_own_loops(MwOp op);

#endif
