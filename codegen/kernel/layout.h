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
    /* On top of `offset`: the block this device holds of a dimension split over `shard_axes`, times
     * shard_stride. No axes: nothing. */
    MwAxes shard_axes;
    int64_t shard_stride;
    int dim_count;
    int64_t size[MW_LAYOUT_MAX_DIMS]; /* outer to inner */
    int64_t stride[MW_LAYOUT_MAX_DIMS];
} MwLayout;

MwLayout mw_layout_dense(const MwTensor *tensor);
int64_t mw_layout_elements(const MwLayout *layout);
/* Elements stand one after another, from the start of the storage. */
bool mw_layout_is_dense(const MwLayout *layout);

/* Merges neighbours that one stride covers. */
void mw_layout_collapse(MwLayout *layout);
/* Makes a boundary between dimensions such that `inner` elements lie inside it. False where a
 * dimension would have to be cut at a place that does not divide it; the layout is then as before
 * but collapsed. */
bool mw_layout_cut(MwLayout *layout, int64_t inner);
/* Makes a boundary at every dimension of `tensor`, which has as many elements. */
bool mw_layout_cut_shape(MwLayout *layout, const MwTensor *tensor);

/* The views. Each takes the layout of a value of type `tensor`, cut at its dimensions, and gives
 * that of the result. Preconditions are those of the operator of that name in ir/ops.def. */
MwLayout mw_layout_transpose(const MwLayout *layout, const MwTensor *tensor, const int64_t *perm);
/* False where no single stride covers `axis`; the layout is then as before. */
bool mw_layout_slice(MwLayout *layout, const MwTensor *tensor, int axis, int64_t begin,
                     int64_t size);
/* The block of `axis` that this device holds of `ways` over `mesh_axis`. False as for slice, or
 * where the layout is a shard already. */
bool mw_layout_shard(MwLayout *layout, const MwTensor *tensor, int axis, int ways, int mesh_axis);
/* `to` aligned from the right, size 1 stretching. */
MwLayout mw_layout_broadcast(const MwLayout *layout, const MwTensor *from, const MwTensor *to);
/* Repeats the value: `count` times each element, or the whole `count` times. */
void mw_layout_repeat_inside(MwLayout *layout, int64_t count);
void mw_layout_repeat_outside(MwLayout *layout, int64_t count);

/* True, and the stride (0 for size 1), if one covers dimension `axis` of a value of type `tensor`.
 */
bool mw_layout_stride(const MwLayout *layout, const MwTensor *tensor, int axis, int64_t *stride);

#endif
