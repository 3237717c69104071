/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of legalization. A rule adds to the legal graph the nodes that replace `node` of the
 * local graph, whose operands are `operands` in the legal graph, and stores the values of its
 * results. */
#ifndef MW_CODEGEN_LEGAL_LEGALIZE_RULES_H
#define MW_CODEGEN_LEGAL_LEGALIZE_RULES_H

#include "codegen/legal/legalizer.h"

typedef void MwLegalRule(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                         MwValueId *results);

MwLegalRule mw_legal_einsum;
MwLegalRule mw_legal_collective;
MwLegalRule mw_legal_transfer;
/* Rules of library operators: the column `legal` of the LIBRARY lines of ir/ops.def. */
#define LIBRARY(id, routine, work, legal, arguments) MwLegalRule mw_legal_##legal;
#include "ir/ops.def"

MwLegalRule mw_legal_points; /* operators that become kernel code, views and sources */

/* The CONCAT of single elements whose sum `node`, a REDUCE_SUM of the local graph, is; NULL if
 * its operand is something else. */
const MwNode *mw_legal_added_elements(const MwGraph *local, const MwNode *node);
/* The rule of such a sum; `operands` are the `count` operands of the CONCAT. */
void mw_legal_add_elements(MwLegalizer *l, const MwNode *node, const MwValueId *elements, int count,
                           MwValueId *results);

#endif
