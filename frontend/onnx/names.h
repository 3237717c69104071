/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of the language from those of ONNX: module paths of nodes, names of inputs and weights. */
#ifndef MW_FRONTEND_ONNX_NAMES_H
#define MW_FRONTEND_ONNX_NAMES_H

#include "frontend/onnx/graph.h"

/* The path of the module that a node belongs to, interned: "transformer.h.0.attn", or "" for the
 * model itself. From `pkg.torch.onnx.name_scopes` of its metadata, from its name where that is a
 * path (/transformer/h.0/attn/MatMul), or that of the node that makes its first operand. */
const char *mw_onnx_module(MwInterner *interner, const MwOnnxNode *node);

/* The innermost module that both are in; `a` NULL: b. */
const char *mw_onnx_common_module(MwInterner *interner, const char *a, const char *b);

/* A name of the language made of any text, interned: letters, digits, _ and dots. */
const char *mw_onnx_clean_name(MwInterner *interner, const char *text);

/* Whether an initializer has the name of a parameter or buffer, rather than one that an exporter
 * made up (onnx::MatMul_12, /h.0/Constant_output_0, val_3). */
bool mw_onnx_is_given_name(const char *name);

#endif
