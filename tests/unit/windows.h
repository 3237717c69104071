/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The routines of convolutions and pooling against plain loops in double precision, over a table of
 * shapes. */
#ifndef MW_TESTS_UNIT_WINDOWS_H
#define MW_TESTS_UNIT_WINDOWS_H

#include "tests/unit/call.h"

/* Sizes as in runtime/plan/routines.def. `groups` 0: pooling, of `channels`. */
typedef struct {
    int64_t batch, channels, features, groups;
    int64_t in[MW_WINDOW_DIMS], size[MW_WINDOW_DIMS], stride[MW_WINDOW_DIMS];
    int64_t dilation[MW_WINDOW_DIMS], before[MW_WINDOW_DIMS], after[MW_WINDOW_DIMS];
} Window;

enum { WINDOWS = 18 };
extern const Window windows[WINDOWS];

/* The arguments of a routine for a shape, `args[MW_CONV_ARGS]`, and the whole call. Gradients of
 * filters are f32. */
void window_args(MwRoutine routine, const Window *z, MwType type, MwKernelArg *args);
Call window_call(MwRoutine routine, const Window *z, MwType type);

/* Runs the routines of a shape (those of a convolution, or those of pooling), and checks every
 * element they give. `rounds`: gradients of filters may be rounded to the type of the images. */
void windows_check(const Window *z, MwType type, bool rounds, RunCall *run);

#endif
