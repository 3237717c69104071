/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the elements of a value lie in storage: strides over its dimensions, cut as finely as the
 * views on the way from the stored value to this one needed.
 *
 * Transposes, slices, splits, reshapes, broadcasts and shards move no data: they give the same
 * storage another layout, and whoever reads it follows the strides. Only where a reader cannot (a
 * BLAS call, a collective) is a value copied into a dense one.
 *
 * Invariant: dimensions of size 1 are left out, and the product of the sizes is the number of
 * elements of the value. */
#ifndef MW_CODEGEN_KERNEL_LAYOUT_H
#define MW_CODEGEN_KERNEL_LAYOUT_H

#include "base/spec.h"
#include "base/tensor.h"

enum { MW_LAYOUT_MAX_DIMS = 16 };

typedef struct {
    int64_t offset; /* elements */
    /* Added to `offset`: shard_stride times the index of the block that this device holds of a
     * dimension split over `shard_axes`. No axes: 0. */
    MwAxes shard_axes;
    int64_t shard_stride;
    /* Added to `offset`: loop_stride times the number of the step of the loop (ir/loops.h) that the
     * value is of. */
    int64_t loop_stride;
    int dim_count;
    int64_t size[MW_LAYOUT_MAX_DIMS]; /* from outer to inner */
    int64_t stride[MW_LAYOUT_MAX_DIMS];
} MwLayout;

MwLayout mw_layout_dense(const MwTensor *tensor);
int64_t mw_layout_elements(const MwLayout *layout);
/* Whether the elements lie at the same place on every device and at every step of a loop. */
bool mw_layout_is_fixed(const MwLayout *layout);
/* Whether the elements are contiguous from the start of the storage. */
bool mw_layout_is_dense(const MwLayout *layout);

/* Whether both have the same dimensions, and the same element at each point. */
bool mw_layout_equal(const MwLayout *a, const MwLayout *b);

/* Merges neighbouring dimensions that have one stride together. */
void mw_layout_collapse(MwLayout *layout);
/* Makes a boundary between dimensions such that the dimensions inside it have `inner` elements.
 * False if that would cut a dimension at a number that does not divide it; the layout is then
 * only collapsed. */
bool mw_layout_cut(MwLayout *layout, int64_t inner);
/* Makes a boundary at every dimension of `tensor`, which has as many elements as the layout. */
bool mw_layout_cut_shape(MwLayout *layout, const MwTensor *tensor);

/* The views. Each takes the layout of a value of type `tensor`, cut at its dimensions, and gives
 * that of the result. Preconditions are those of the operator of that name in ir/ops.def. */
MwLayout mw_layout_transpose(const MwLayout *layout, const MwTensor *tensor, const int64_t *perm);
/* False, without a change, if `axis` does not have one stride. */
bool mw_layout_slice(MwLayout *layout, const MwTensor *tensor, int axis, int64_t begin,
                     int64_t size);
/* Dimension `axis` in opposite order. */
void mw_layout_flip(MwLayout *layout, const MwTensor *tensor, int axis);
/* The block of `axis` that this device holds, of `ways` along `mesh_axis`. False if `axis` does
 * not have one stride, or if the layout is a shard already. */
bool mw_layout_shard(MwLayout *layout, const MwTensor *tensor, int axis, int ways, int mesh_axis);
/* The element along `axis` of each step of a loop, the last first if `reverse`; the result lacks
 * the axis. False if `axis` does not have one stride, or if the layout is that of an element
 * already. */
bool mw_layout_scan(MwLayout *layout, const MwTensor *tensor, int axis, bool reverse);
/* Dimensions are aligned from the right; those of size 1 are stretched. */
MwLayout mw_layout_broadcast(const MwLayout *layout, const MwTensor *from, const MwTensor *to);
/* Repeats the value: `count` times each element, or the whole `count` times. */
void mw_layout_repeat_inside(MwLayout *layout, int64_t count);
void mw_layout_repeat_outside(MwLayout *layout, int64_t count);

/* Whether dimension `axis` of a value of type `tensor` has one stride; stores it (0 for size 1). */
bool mw_layout_stride(const MwLayout *layout, const MwTensor *tensor, int axis, int64_t *stride);

#endif
