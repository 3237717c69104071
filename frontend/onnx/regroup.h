/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reshapes of values whose dimensions stand in another order. */
#ifndef MW_FRONTEND_ONNX_REGROUP_H
#define MW_FRONTEND_ONNX_REGROUP_H

#include "frontend/onnx/emit.h"

/* The value in another shape, with dimensions in an order that `order` gets, made without moving an
 * element: dimensions are split and merged where they stand. NULL: the reshape needs the order of
 * the value. */
MwOnnxTerm *mw_onnx_regroup(MwOnnxImport *import, MwOnnxValue *value, const MwOnnxShape *target,
                            int8_t *order);

/* The same, or by way of the order of the value. */
MwOnnxTerm *mw_onnx_reshape_value(MwOnnxImport *import, MwOnnxValue *value,
                                  const MwOnnxShape *target, int8_t *order);

#endif
