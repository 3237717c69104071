/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights as a safetensors file: the length of a header in JSON, the header, which says type, shape
 * and place of each tensor, and the elements of all, one after another. */
#ifndef MW_TOOLS_IMPORT_WEIGHTS_FILE_H
#define MW_TOOLS_IMPORT_WEIGHTS_FILE_H

#include "frontend/onnx/import.h"

/* Writes the whole file. False with errno set. */
bool mw_weights_file_write(int fd, const MwOnnxModel *model);

#endif
