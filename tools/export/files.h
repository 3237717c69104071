/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing the tensors of an export. */
#ifndef MW_TOOLS_EXPORT_FILES_H
#define MW_TOOLS_EXPORT_FILES_H

#include "tools/export/tensors.h"

/* Writes the tensors to `folder`: to model.safetensors, or where they are larger than `most_bytes`
 * together, to several files of at most that, or of one tensor, and an index of them, which is
 * written last. Floats are converted to `type` of each tensor. In memory are a tensor and a weight.
 */
bool mw_export_write(const char *folder, MwStore *weights, MwExportTensors *tensors,
                     int64_t most_bytes, MwFault *fault);

#endif
