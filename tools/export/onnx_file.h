/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing an ONNX file with the elements of its weights. */
#ifndef MW_TOOLS_EXPORT_ONNX_FILE_H
#define MW_TOOLS_EXPORT_ONNX_FILE_H

#include "codegen/onnx/export.h"
#include "runtime/weights/weight_files.h"

/* The file beside the one at `path` that has the elements of large models. */
const char *mw_onnx_file_outside(MwArena *arena, const char *path);

/* Writes the model to `path`. Weights of more than 1 GB together go to a file of their own beside
 * it, as messages have at most 2 GB; else they are in memory at once. A fault if the files of
 * weights lack one, or have another shape. */
bool mw_onnx_file_write(MwArena *arena, const char *path, const MwOnnxExport *export,
                        const MwWeightFiles *files, MwFault *fault);

#endif
