/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Windows over the spatial dimensions of images: what Conv and the poolings have in common. */
#ifndef MW_FRONTEND_ONNX_WINDOWS_H
#define MW_FRONTEND_ONNX_WINDOWS_H

#include "frontend/onnx/emit.h"

enum { MW_ONNX_MAX_SPATIAL = 3 };

typedef struct {
    int count; /* of spatial dimensions */
    int64_t window[MW_ONNX_MAX_SPATIAL], stride[MW_ONNX_MAX_SPATIAL], dilation[MW_ONNX_MAX_SPATIAL],
        before[MW_ONNX_MAX_SPATIAL], after[MW_ONNX_MAX_SPATIAL];
    MwOnnxDim result[MW_ONNX_MAX_SPATIAL]; /* how many windows */
    bool rounds_up; /* the last window was made whole by more padding at the end */
} MwOnnxWindows;

/* The order of images in the language: [batch, spatial.., channels]. */
extern const int8_t mw_onnx_channels_last[MW_ONNX_MAX_SPATIAL + 3][MW_MAX_RANK];

/* Reads the attributes of a node on images of `shape`; `window` is given by the filter, NULL: by
 * kernel_shape. */
bool mw_onnx_windows_read(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *shape,
                          const int64_t *window, MwOnnxWindows *windows);

/* "3", or "[3, 5]" where they differ. */
const char *mw_onnx_windows_list(MwOnnxImport *import, const int64_t *numbers, int count);
/* ", padding = 1", or with both ends; "" for none. */
const char *mw_onnx_windows_padding(MwOnnxImport *import, const MwOnnxWindows *windows);
/* Whether all numbers are `value`. */
bool mw_onnx_windows_all(const int64_t *numbers, int count, int64_t value);

#endif
