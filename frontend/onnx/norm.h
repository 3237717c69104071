/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_FRONTEND_ONNX_NORM_H
#define MW_FRONTEND_ONNX_NORM_H

#include "frontend/onnx/emit.h"

/* "layer_norm(x, eps = 1e-6)", with the dimensions in the order of the value. */
MwOnnxTerm *mw_onnx_norm_of(MwOnnxImport *import, MwOnnxValue *x, const char *function, double eps);

#endif
