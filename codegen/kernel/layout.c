/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/kernel/layout.h"

#include <string.h>

static void append(MwLayout *layout, int64_t size, int64_t stride)
{
    if (size == 1)
        return;
    MW_ASSERT(layout->dim_count < MW_LAYOUT_MAX_DIMS);
    layout->size[layout->dim_count] = size;
    layout->stride[layout->dim_count++] = stride;
}

MwLayout mw_layout_dense(const MwTensor *tensor)
{
    MwLayout layout = {0};
    int64_t stride = mw_tensor_elements(tensor);
    for (int d = 0; d < tensor->rank; d++) {
        stride /= tensor->dim[d];
        append(&layout, tensor->dim[d], stride);
    }
    return layout;
}

int64_t mw_layout_elements(const MwLayout *layout)
{
    int64_t elements = 1;
    for (int d = 0; d < layout->dim_count; d++)
        elements *= layout->size[d];
    return elements;
}

bool mw_layout_is_dense(const MwLayout *layout)
{
    int64_t inner = 1;
    for (int d = layout->dim_count - 1; d >= 0; d--) {
        if (layout->stride[d] != inner)
            return false;
        inner *= layout->size[d];
    }
    return layout->offset == 0 && mw_layout_is_fixed(layout);
}

bool mw_layout_is_fixed(const MwLayout *layout)
{
    return layout->shard_axes == 0 && layout->loop_stride == 0;
}

bool mw_layout_equal(const MwLayout *a, const MwLayout *b)
{
    const size_t bytes = sizeof(int64_t) * (size_t)a->dim_count;
    return a->dim_count == b->dim_count && a->offset == b->offset &&
           a->shard_axes == b->shard_axes &&
           (!a->shard_axes || a->shard_stride == b->shard_stride) &&
           a->loop_stride == b->loop_stride && memcmp(a->size, b->size, bytes) == 0 &&
           memcmp(a->stride, b->stride, bytes) == 0;
}

/* The offset, shard and step of a layout, without dimensions. */
static MwLayout place_of(const MwLayout *layout)
{
    return (MwLayout){.offset = layout->offset,
                      .shard_axes = layout->shard_axes,
                      .shard_stride = layout->shard_stride,
                      .loop_stride = layout->loop_stride};
}

void mw_layout_collapse(MwLayout *layout)
{
    MwLayout merged = place_of(layout);
    for (int d = 0; d < layout->dim_count; d++) {
        int last = merged.dim_count - 1;
        if (last >= 0 && merged.stride[last] == layout->stride[d] * layout->size[d]) {
            merged.size[last] *= layout->size[d];
            merged.stride[last] = layout->stride[d];
        } else {
            append(&merged, layout->size[d], layout->stride[d]);
        }
    }
    *layout = merged;
}

/* Cuts dimension d into an outer and an inner part of `inner` iterations. */
static void split_dim(MwLayout *layout, int d, int64_t inner)
{
    MW_ASSERT(layout->dim_count < MW_LAYOUT_MAX_DIMS);
    for (int i = layout->dim_count++; i > d; i--) {
        layout->size[i] = layout->size[i - 1];
        layout->stride[i] = layout->stride[i - 1];
    }
    layout->size[d] /= inner;
    layout->stride[d] *= inner;
    layout->size[d + 1] = inner;
}

static bool try_cut(MwLayout *layout, int64_t inner)
{
    int64_t inside = 1;
    for (int d = layout->dim_count - 1; d >= 0; d--) {
        if (inside == inner)
            return true;
        int64_t around = inside * layout->size[d];
        if (around > inner) {
            if (inner % inside || around % inner)
                return false;
            split_dim(layout, d, inner / inside);
            return true;
        }
        inside = around;
    }
    return inside == inner;
}

bool mw_layout_cut(MwLayout *layout, int64_t inner)
{
    if (try_cut(layout, inner))
        return true;
    mw_layout_collapse(layout);
    return try_cut(layout, inner);
}

bool mw_layout_cut_shape(MwLayout *layout, const MwTensor *tensor)
{
    mw_layout_collapse(layout);
    int64_t inner = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        if (!try_cut(layout, inner))
            return false;
        inner *= tensor->dim[d];
    }
    MW_ASSERT(inner == mw_layout_elements(layout));
    return true;
}

/* Index of the first layout dimension of each tensor dimension; [rank] is one past the last. */
static void dim_ranges(const MwLayout *layout, const MwTensor *tensor, int first[MW_MAX_RANK + 1])
{
    int at = 0;
    for (int d = 0; d < tensor->rank; d++) {
        first[d] = at;
        int64_t product = 1;
        while (product < tensor->dim[d]) {
            MW_ASSERT(at < layout->dim_count);
            product *= layout->size[at++];
        }
        MW_ASSERT(product == tensor->dim[d]);
    }
    MW_ASSERT(at == layout->dim_count);
    first[tensor->rank] = at;
}

MwLayout mw_layout_transpose(const MwLayout *layout, const MwTensor *tensor, const int64_t *perm)
{
    int first[MW_MAX_RANK + 1];
    dim_ranges(layout, tensor, first);
    MwLayout result = place_of(layout);
    for (int d = 0; d < tensor->rank; d++)
        for (int i = first[perm[d]]; i < first[perm[d] + 1]; i++)
            append(&result, layout->size[i], layout->stride[i]);
    return result;
}

bool mw_layout_stride(const MwLayout *layout, const MwTensor *tensor, int axis, int64_t *stride)
{
    int first[MW_MAX_RANK + 1];
    dim_ranges(layout, tensor, first);
    *stride = 0;
    for (int i = first[axis + 1] - 1; i >= first[axis]; i--) {
        bool innermost = i == first[axis + 1] - 1;
        if (!innermost && layout->stride[i] != layout->stride[i + 1] * layout->size[i + 1])
            return false;
        if (innermost)
            *stride = layout->stride[i];
    }
    return true;
}

/* The layout with `axis` replaced by `size` positions with one stride. */
static MwLayout with_axis(const MwLayout *layout, const MwTensor *tensor, int axis, int64_t size,
                          int64_t stride)
{
    int first[MW_MAX_RANK + 1];
    dim_ranges(layout, tensor, first);
    MwLayout result = place_of(layout);
    for (int i = 0; i < first[axis]; i++)
        append(&result, layout->size[i], layout->stride[i]);
    append(&result, size, stride);
    for (int i = first[axis + 1]; i < layout->dim_count; i++)
        append(&result, layout->size[i], layout->stride[i]);
    return result;
}

bool mw_layout_slice(MwLayout *layout, const MwTensor *tensor, int axis, int64_t begin,
                     int64_t size)
{
    int64_t stride;
    if (!mw_layout_stride(layout, tensor, axis, &stride))
        return false;
    *layout = with_axis(layout, tensor, axis, size, stride);
    layout->offset += begin * stride;
    return true;
}

void mw_layout_flip(MwLayout *layout, const MwTensor *tensor, int axis)
{
    int first[MW_MAX_RANK + 1];
    dim_ranges(layout, tensor, first);
    for (int i = first[axis]; i < first[axis + 1]; i++) {
        layout->offset += (layout->size[i] - 1) * layout->stride[i];
        layout->stride[i] = -layout->stride[i];
    }
}

bool mw_layout_shard(MwLayout *layout, const MwTensor *tensor, int axis, int ways, int mesh_axis)
{
    int64_t stride;
    if (layout->shard_axes || !mw_layout_stride(layout, tensor, axis, &stride))
        return false;
    int64_t size = tensor->dim[axis] / ways;
    *layout = with_axis(layout, tensor, axis, size, stride);
    layout->shard_axes = (MwAxes)(1 << mesh_axis);
    layout->shard_stride = size * stride;
    return true;
}

bool mw_layout_scan(MwLayout *layout, const MwTensor *tensor, int axis, bool reverse)
{
    int64_t stride;
    if (layout->loop_stride || !mw_layout_stride(layout, tensor, axis, &stride))
        return false;
    *layout = with_axis(layout, tensor, axis, 1, stride);
    layout->offset += reverse ? (tensor->dim[axis] - 1) * stride : 0;
    layout->loop_stride = reverse ? -stride : stride;
    return true;
}

MwLayout mw_layout_broadcast(const MwLayout *layout, const MwTensor *from, const MwTensor *to)
{
    int first[MW_MAX_RANK + 1];
    dim_ranges(layout, from, first);
    MwLayout result = place_of(layout);
    for (int d = 0; d < to->rank; d++) {
        int source = d - (to->rank - from->rank);
        if (source < 0 || from->dim[source] != to->dim[d]) {
            append(&result, to->dim[d], 0);
            continue;
        }
        for (int i = first[source]; i < first[source + 1]; i++)
            append(&result, layout->size[i], layout->stride[i]);
    }
    return result;
}

void mw_layout_repeat_inside(MwLayout *layout, int64_t count)
{
    append(layout, count, 0);
}

void mw_layout_repeat_outside(MwLayout *layout, int64_t count)
{
    MwLayout result = place_of(layout);
    append(&result, count, 0);
    for (int i = 0; i < layout->dim_count; i++)
        append(&result, layout->size[i], layout->stride[i]);
    *layout = result;
}
