/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models as ONNX files, for inference by other software: operators of version 18. docs/export.md
 * says what is exported. */
#ifndef MW_CODEGEN_ONNX_EXPORT_H
#define MW_CODEGEN_ONNX_EXPORT_H

#include "codegen/onnx/file.h"
#include "codegen/onnx/open.h"

enum { MW_ONNX_VERSION = 18, MW_ONNX_IR_VERSION = 8 };

/* Makes the ONNX model of what the outputs of a model depend on. The graph of the first point is
 * that of the model, after the passes derivatives and simplify, and outlives the export; no weight
 * may depend on an open size. The export lies in `arena`. False after errors, which list all
 * operators that cannot be expressed, with their places. */
bool mw_onnx_export(MwArena *arena, const MwOpenSizes *open, MwDiags *diags, MwOnnxExport *export);

#endif
