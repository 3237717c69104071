/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights as a safetensors file: the length of a header in JSON, the header, which says type, shape
 * and place of each tensor, and the elements of all, one after another. */
#ifndef MW_TOOLS_IMPORT_WEIGHTS_FILE_H
#define MW_TOOLS_IMPORT_WEIGHTS_FILE_H

#include "frontend/onnx/import.h"

/* Adds an error and gives false where the file cannot be written; one that was there before is then
 * unchanged. */
bool mw_weights_file_write(const char *path, const MwOnnxModel *model, MwDiags *diags);

#endif
