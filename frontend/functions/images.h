/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Images [batch, spatial.., channels] as arguments, and windows that slide over them. */
#ifndef MW_FRONTEND_FUNCTIONS_IMAGES_H
#define MW_FRONTEND_FUNCTIONS_IMAGES_H

#include "frontend/terms/call.h"
#include "ir/windows.h"

typedef struct {
    MwValueId x;
    int dims; /* spatial ones */
    int64_t size[MW_MAX_WINDOW_DIMS], stride[MW_MAX_WINDOW_DIMS], dilation[MW_MAX_WINDOW_DIMS];
    int64_t padding[2 * MW_MAX_WINDOW_DIMS];
} MwImageWindows;

/* The image that argument 0 is, and its number of spatial dimensions. */
bool mw_call_image(MwExpander *ex, const MwCall *call, MwValueId *x, int *dims);
/* Argument k as one number for each of `dims` spatial dimensions: a list, or one for all, each at
 * least `least`. Without it they are that. */
bool mw_call_each(MwExpander *ex, const MwCall *call, int k, int dims, int64_t least,
                  int64_t *each);
/* Adds a pooling operator. */
MwValueId mw_emit_pool(MwExpander *ex, MwSite site, MwOp op, const MwImageWindows *w);
/* Adds the mean of each window, padding included. */
MwValueId mw_emit_avg_pool(MwExpander *ex, MwSite site, const MwImageWindows *w);

#endif
