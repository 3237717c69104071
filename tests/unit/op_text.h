/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes from short texts, so that tables of cases read like the dump of a graph. */
#ifndef MW_TESTS_UNIT_OP_TEXT_H
#define MW_TESTS_UNIT_OP_TEXT_H

#include "tests/unit/graphs.h"

/* Applies `op` to new inputs of the types "T; T; ..." with attributes "key = value; ...". For the
 * sources, `operands` is the type that they are given. */
MwNodeId test_node(TestGraph *test, const char *op, const char *operands, const char *attrs);
/* Applies `op` to values. */
MwValueId test_apply(TestGraph *test, const char *name, const char *op, const MwValueId *operands,
                     int operand_count, const char *attrs);
/* Applies `op` to values if its rules allow it; false, and nothing said, if not. */
bool test_try(TestGraph *test, const char *op, const MwValueId *operands, int operand_count,
              const char *attrs);

#endif
