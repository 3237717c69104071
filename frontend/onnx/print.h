/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The terms of an import as the text of a flat model: sizes, inputs, weights, values, outputs. */
#ifndef MW_FRONTEND_ONNX_PRINT_H
#define MW_FRONTEND_ONNX_PRINT_H

#include "frontend/onnx/emit.h"

/* Adds the model, without what no output needs. `outputs` are the terms of the graph's outputs. A
 * term that one term of its module uses is printed within it, in brackets
 * whether it needs them or not, unless the expression gets long. The result are the names of the
 * outputs. */
const char **mw_onnx_print(MwText *text, MwOnnxImport *import, MwOnnxTerm *const *outputs);

#endif
