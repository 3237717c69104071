/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The geometry of convolutions and pooling: windows that slide over the spatial dimensions of a
 * tensor [batch, spatial.., channels], one to three of them.
 *
 * Along each dimension, window o covers the elements o * stride - before + dilation * k for k from
 * 0 to size - 1; those outside [0, in) are padding. There are
 *   out = (in + before + after - dilation * (size - 1) - 1) / stride + 1, rounded down,
 * windows (Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016,
 * relationship 14). */
#ifndef MW_IR_WINDOWS_H
#define MW_IR_WINDOWS_H

#include "base/tensor.h"

enum { MW_MAX_WINDOW_DIMS = 3 };

typedef struct {
    int64_t in, out; /* elements, windows */
    int64_t size, stride, dilation, before, after;
} MwWindow;

typedef struct {
    int count; /* spatial dimensions */
    MwWindow dim[MW_MAX_WINDOW_DIMS];
} MwWindows;

/* The number of windows; less than 1 if none fits. */
int64_t mw_window_count(const MwWindow *window);

/* Windows in blocks: device i of n has windows [i * out / n, (i + 1) * out / n) and, of the
 * elements, the block of the same bounds times `stride`. Its windows reach beyond that block, by
 * this many elements before and after it; less than 0: they leave as many out. */
typedef struct {
    int64_t before, after;
} MwWindowReach;

MwWindowReach mw_window_reach(const MwWindow *window);
/* The most blocks that the windows may be cut into, so that none reaches beyond the neighbours of
 * its block; 1: they may not be cut, as there are not `stride` elements for each window. */
int64_t mw_window_blocks(const MwWindow *window);

/* Groups of channels: each is convolved to features of its own. */
int64_t mw_conv_groups(const MwTensor *x, const MwTensor *filter);

#endif
