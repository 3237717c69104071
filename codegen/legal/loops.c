/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/legal/loops.h"

bool mw_op_has_own_loops(MwOp op)
{
    return op == MW_OP_ROPE || op == MW_OP_PAD || op == MW_OP_CONCAT ||
           op == MW_OP_EMBEDDING_GRAD || op == MW_OP_PUT_ROWS || op == MW_OP_ADD_ROWS;
}
