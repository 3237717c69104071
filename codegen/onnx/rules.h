/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules by which operators are exported, one for each row of rules.def. A rule writes the node
 * of the graph that writer->node is: it adds nodes of ONNX and gives the results. It returns false
 * after it has refused the node. */
#ifndef MW_CODEGEN_ONNX_RULES_H
#define MW_CODEGEN_ONNX_RULES_H

#include "codegen/onnx/writer.h"

typedef bool MwWriteRule(MwWriter *writer, const char *op);

#define RULE(id, rule, op, note) MwWriteRule mw_write_##rule;
#include "codegen/onnx/rules.def"

#endif
