/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element-wise operators on values of any order. */
#ifndef MW_FRONTEND_ONNX_MAP_H
#define MW_FRONTEND_ONNX_MAP_H

#include "frontend/onnx/emit.h"

/* Sets result 0 of the node to an element-wise expression of the operands, which broadcast, with
 * elements of `type`. `text` has $0, $1, ... or #0, #1, ... for them. */
bool mw_onnx_map_values(MwOnnxImport *import, const MwOnnxNode *node, MwType type, const char *text,
                        MwOnnxValue *const *operands, int count);

/* The term of an operand of something of a shape, whose dimensions stand in `order`: a number, if
 * it is one, or a term that broadcasts. */
MwOnnxTerm *mw_onnx_map_operand(MwOnnxImport *import, MwOnnxValue *value, const MwOnnxShape *shape,
                                const int8_t *order);

#endif
