/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External data: elements of a tensor that lie in another file of the folder of the model. */
#ifndef MW_FRONTEND_ONNX_EXTERNAL_H
#define MW_FRONTEND_ONNX_EXTERNAL_H

#include "base/diag.h"
#include "base/onnx/onnx.pb-c.h"

/* The `bytes` bytes of the tensor, in `arena`. NULL after an error, which names it `what`: where
 * the file is not in the folder of `path`, or has not so many bytes. */
const void *mw_onnx_external_read(MwArena *arena, const MwOnnx__TensorProto *proto,
                                  const char *path, size_t bytes, const char *what, MwDiags *diags);

#endif
