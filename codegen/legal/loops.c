/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/legal/loops.h"

const MwLookup *mw_op_lookup(MwOp op)
{
    static const MwLookup embedding = {.table = 1, .index = 0},
                          pick = {.table = 0, .index = 1, .along_last = true};
    switch (op) {
    case MW_OP_EMBEDDING:
        return &embedding;
    case MW_OP_PICK:
    case MW_OP_TAKE_ALONG:
        return &pick;
    default:
        return NULL;
    }
}

bool mw_op_has_own_loops(MwOp op)
{
    return op == MW_OP_ROPE || op == MW_OP_PAD || op == MW_OP_CONCAT ||
           op == MW_OP_EMBEDDING_GRAD || op == MW_OP_PUT_ROWS;
}
