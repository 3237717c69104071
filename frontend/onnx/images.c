/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions, poolings and resizes. Images have their channels last in the language. */
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"
#include "frontend/onnx/windows.h"

#include <math.h>
#include <string.h>

/* Sets result 0 to images [batch, channels, windows..] that the term has with channels last. */
static bool set_images(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *shape,
                       const char *text, MwOnnxTerm *const *operands, int count)
{
    const int8_t *order = mw_onnx_channels_last[shape->rank];
    MwOnnxShape placed = *shape;
    for (int i = 0; i < shape->rank; i++)
        placed.dim[i] = shape->dim[order[i]];
    return mw_onnx_set(import, node, 0, shape, mw_onnx_emit(import, &placed, text, operands, count),
                       order);
}

/* ", stride = 2, padding = 1, dilation = 1", without what is 1 or 0. */
static const char *window_options(MwOnnxImport *import, const MwOnnxWindows *windows)
{
    MwText text = {.arena = import->arena};
    mw_text_add(&text, "");
    if (!mw_onnx_windows_all(windows->stride, windows->count, 1))
        mw_text_printf(&text, ", stride = %s",
                       mw_onnx_windows_list(import, windows->stride, windows->count));
    mw_text_add(&text, mw_onnx_windows_padding(import, windows));
    if (!mw_onnx_windows_all(windows->dilation, windows->count, 1))
        mw_text_printf(&text, ", dilation = %s",
                       mw_onnx_windows_list(import, windows->dilation, windows->count));
    return text.at;
}

/* The filter of ONNX is [features, channels, sizes..]; reversed but for the sizes it is one of the
 * language. */
static void filter_order(int rank, int8_t *order)
{
    for (int i = 0; i < rank - 2; i++)
        order[i] = (int8_t)(i + 2);
    order[rank - 2] = 1;
    order[rank - 1] = 0;
}

static bool check_filter(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *x,
                         const MwOnnxShape *filter, int64_t window[MW_ONNX_MAX_SPATIAL])
{
    if (x->rank != filter->rank || x->rank < 3 || x->rank > MW_ONNX_MAX_SPATIAL + 2 ||
        x->type != filter->type)
        return mw_onnx_refuse(import, node, "a filter of another rank than the images");
    for (int i = 0; i < filter->rank; i++)
        mw_onnx_fix(import, &filter->dim[i]);
    for (int i = 0; i < x->rank - 2; i++)
        window[i] = filter->dim[i + 2].value;
    return true;
}

static bool add_bias(const MwOnnxNode *node, const MwOnnxDim *channels)
{
    const MwOnnxValue *bias = mw_onnx_input(node, 2);
    return bias && bias->shape.rank == 1 && mw_onnx_dim_equal(&bias->shape.dim[0], channels);
}

bool mw_onnx_conv(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0], *filter = node->inputs[1];
    MwOnnxWindows windows;
    int64_t window[MW_ONNX_MAX_SPATIAL];
    int8_t order[MW_MAX_RANK] = {0};
    if (!check_filter(import, node, &x->shape, &filter->shape, window) ||
        !mw_onnx_windows_read(import, node, &x->shape, window, &windows))
        return false;
    const int64_t groups = mw_onnx_int_of(node, "group", 1);
    const int64_t channels = x->shape.dim[1].value, features = filter->shape.dim[0].value;
    mw_onnx_fix(import, &x->shape.dim[1]);
    if (groups < 1 || groups > channels || features % groups != 0 ||
        filter->shape.dim[1].value != channels / groups || channels % groups != 0)
        return mw_onnx_refuse(import, node, "attribute group: channels that it does not divide");
    filter_order(x->shape.rank, order);
    MwOnnxShape shape = x->shape;
    shape.dim[1] = filter->shape.dim[0];
    for (int i = 0; i < windows.count; i++)
        shape.dim[i + 2] = windows.result[i];
    const bool biased = add_bias(node, &shape.dim[1]);
    if (mw_onnx_input(node, 2) && !biased)
        return mw_onnx_refuse(import, node, "a bias of another shape");
    MwOnnxTerm *operands[3] = {mw_onnx_term_in(import, x, mw_onnx_channels_last[x->shape.rank]),
                               mw_onnx_term_in(import, filter, order)};
    const char *text = mw_onnx_text(import, "conv($0, $1%s)", window_options(import, &windows));
    if (!biased)
        return set_images(import, node, &shape, text, operands, 2);
    MwOnnxShape placed = shape;
    for (int i = 0; i < shape.rank; i++)
        placed.dim[i] = shape.dim[mw_onnx_channels_last[shape.rank][i]];
    MwOnnxTerm *const sum[] = {mw_onnx_emit(import, &placed, text, operands, 2),
                               mw_onnx_term(import, node->inputs[2])};
    return set_images(import, node, &shape, "#0 + #1", sum, 2);
}

bool mw_onnx_conv_transpose(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0], *filter = node->inputs[1];
    int64_t window[MW_ONNX_MAX_SPATIAL], added[2 * MW_ONNX_MAX_SPATIAL] = {0};
    int8_t order[MW_MAX_RANK] = {0};
    if (!check_filter(import, node, &x->shape, &filter->shape, window))
        return false;
    if (mw_onnx_int_of(node, "group", 1) != 1 || mw_onnx_attribute(node, "output_shape") ||
        !mw_onnx_text_is(node, "auto_pad", "NOTSET", "NOTSET"))
        return mw_onnx_refuse(import, node, "attribute group, output_shape or auto_pad");
    /* The windows are those of a convolution on the result, so that as few as these fit always. */
    MwOnnxShape large = x->shape, shape = x->shape;
    for (int i = 2; i < large.rank; i++)
        large.dim[i] = mw_onnx_dim((int64_t)1 << 40);
    MwOnnxWindows windows;
    if (!mw_onnx_windows_read(import, node, &large, window, &windows))
        return false;
    const bool more = mw_onnx_ints_of(node, "output_padding", added, MW_ONNX_MAX_SPATIAL) >= 0;
    shape.dim[1] = filter->shape.dim[1];
    for (int i = 0; i < windows.count; i++) {
        mw_onnx_fix(import, &x->shape.dim[i + 2]);
        const int64_t size = windows.stride[i] * (x->shape.dim[i + 2].value - 1) + added[i] +
                             (window[i] - 1) * windows.dilation[i] + 1 - windows.before[i] -
                             windows.after[i];
        if (added[i] < 0 || added[i] >= windows.stride[i])
            return mw_onnx_refuse(import, node, "attribute output_padding: a stride or more");
        if (size < 1 || size > (int64_t)1 << 31)
            return mw_onnx_refuse(import, node, "a size that is not possible");
        shape.dim[i + 2] = mw_onnx_dim(size);
    }
    if (!mw_onnx_dim_equal(&x->shape.dim[1], &filter->shape.dim[0]))
        return mw_onnx_refuse(import, node, "a filter of other channels");
    filter_order(x->shape.rank, order);
    MwText text = {.arena = import->arena};
    mw_text_printf(&text, "conv_transpose($0, $1%s", window_options(import, &windows));
    if (more && !mw_onnx_windows_all(added, windows.count, 0))
        mw_text_printf(&text, ", output_padding = %s",
                       mw_onnx_windows_list(import, added, windows.count));
    mw_text_add(&text, ")");
    const bool biased = add_bias(node, &shape.dim[1]);
    if (mw_onnx_input(node, 2) && !biased)
        return mw_onnx_refuse(import, node, "a bias of another shape");
    if (biased)
        mw_text_add(&text, " + #2");
    MwOnnxTerm *operands[3] = {mw_onnx_term_in(import, x, mw_onnx_channels_last[x->shape.rank]),
                               mw_onnx_term_in(import, filter, order),
                               biased ? mw_onnx_term(import, node->inputs[2]) : NULL};
    return set_images(import, node, &shape, text.at, operands, 2 + biased);
}

/* ---- Poolings ---- */

static bool pool(MwOnnxImport *import, const MwOnnxNode *node, const char *function)
{
    MwOnnxValue *x = node->inputs[0];
    MwOnnxWindows windows;
    if (!mw_onnx_windows_read(import, node, &x->shape, NULL, &windows))
        return false;
    if (!mw_type_is_float(x->shape.type))
        return mw_onnx_refuse(import, node, "integers");
    if (!mw_onnx_windows_all(windows.dilation, windows.count, 1))
        return mw_onnx_refuse(import, node, "attribute dilations");
    if (node->output_count > 1 && node->outputs[1])
        return mw_onnx_refuse(import, node, "a second result");
    const bool averages = strcmp(function, "avg_pool") == 0;
    const bool counts = mw_onnx_int_of(node, "count_include_pad", 0) != 0;
    if (averages && counts && windows.rounds_up)
        return mw_onnx_refuse(import, node, "attribute ceil_mode with count_include_pad");
    const char *padding = mw_onnx_windows_padding(import, &windows);
    const bool same_stride = memcmp(windows.stride, windows.window, sizeof windows.stride) == 0;
    const char *text =
        mw_onnx_text(import, "%s($0, %s%s%s%s%s)", function,
                     mw_onnx_windows_list(import, windows.window, windows.count),
                     same_stride ? "" : ", stride = ",
                     same_stride ? "" : mw_onnx_windows_list(import, windows.stride, windows.count),
                     padding, averages && !counts && *padding ? ", count_padding = false" : "");
    MwOnnxShape shape = x->shape;
    for (int i = 0; i < windows.count; i++)
        shape.dim[i + 2] = windows.result[i];
    MwOnnxTerm *term = mw_onnx_term_in(import, x, mw_onnx_channels_last[shape.rank]);
    return set_images(import, node, &shape, text, &term, 1);
}

bool mw_onnx_max_pool(MwOnnxImport *import, const MwOnnxNode *node)
{
    return pool(import, node, "max_pool");
}

bool mw_onnx_average_pool(MwOnnxImport *import, const MwOnnxNode *node)
{
    return pool(import, node, "avg_pool");
}

static bool global_pool(MwOnnxImport *import, const MwOnnxNode *node, const char *function)
{
    MwOnnxValue *x = node->inputs[0];
    MwOnnxShape shape = x->shape;
    if (shape.rank < 3 || shape.rank > MW_ONNX_MAX_SPATIAL + 2)
        return mw_onnx_refuse(import, node, "images of %d spatial dimensions", shape.rank - 2);
    MwText text = {.arena = import->arena};
    mw_text_printf(&text, "%s($0, axis = [", function);
    for (int i = 2; i < shape.rank; i++) {
        mw_text_printf(&text, "%s%d", i > 2 ? ", " : "", i - 1);
        shape.dim[i] = mw_onnx_dim(1);
    }
    mw_text_add(&text, "], keep = true)");
    MwOnnxTerm *term = mw_onnx_term_in(import, x, mw_onnx_channels_last[shape.rank]);
    return set_images(import, node, &shape, text.at, &term, 1);
}

bool mw_onnx_global_average_pool(MwOnnxImport *import, const MwOnnxNode *node)
{
    return global_pool(import, node, "mean");
}

bool mw_onnx_global_max_pool(MwOnnxImport *import, const MwOnnxNode *node)
{
    return global_pool(import, node, "max");
}

/* ---- Resize ---- */

/* The sizes of the result, from `sizes` or from `scales`; `integral`: each is a multiple. */
static bool resized_shape(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxShape *shape,
                          bool *integral)
{
    const MwOnnxShape *from = &node->inputs[0]->shape;
    const MwOnnxValue *scales = mw_onnx_input(node, 2), *sizes = mw_onnx_input(node, 3);
    MwOnnxDim given[MW_MAX_RANK];
    *shape = *from;
    *integral = true;
    const bool has_sizes = sizes && mw_onnx_constant_dims(sizes, given, MW_MAX_RANK) == from->rank;
    const bool has_scales =
        !has_sizes && scales && scales->constant && scales->constant->count == from->rank;
    if (!has_sizes && !has_scales)
        return mw_onnx_refuse(import, node, "sizes that are computed, or only some");
    for (int i = 0; i < from->rank; i++) {
        if (i < 2 && has_sizes && mw_onnx_dim_equal(&given[i], &from->dim[i]))
            continue;
        if (i < 2 && has_scales && mw_onnx_number(scales->constant, i) == 1)
            continue;
        mw_onnx_fix(import, &from->dim[i]);
        const double size =
            has_sizes ? (double)given[i].value
                      : floor((double)from->dim[i].value * mw_onnx_number(scales->constant, i));
        if (!(size >= 1 && size < 0x1p31) || i < 2)
            return mw_onnx_refuse(import, node, "a size of the batch or of the channels");
        shape->dim[i] = mw_onnx_dim((int64_t)size);
        *integral &= shape->dim[i].value % from->dim[i].value == 0;
        if (has_scales && size != (double)from->dim[i].value * mw_onnx_number(scales->constant, i))
            return mw_onnx_refuse(import, node, "a scale that gives no whole size");
    }
    return true;
}

bool mw_onnx_resize(MwOnnxImport *import, const MwOnnxNode *node)
{
    static const char coordinates[] = "coordinate_transformation_mode";
    MwOnnxValue *x = node->inputs[0];
    MwOnnxShape shape;
    bool integral;
    if (x->shape.rank < 3 || x->shape.rank > MW_ONNX_MAX_SPATIAL + 2 ||
        !mw_type_is_float(x->shape.type))
        return mw_onnx_refuse(import, node, "no images of floats");
    if (mw_onnx_attribute(node, "axes") || mw_onnx_int_of(node, "antialias", 0) ||
        !mw_onnx_text_is(node, "keep_aspect_ratio_policy", "stretch", "stretch"))
        return mw_onnx_refuse(import, node,
                              "attribute axes, antialias or keep_aspect_ratio_policy");
    if (!resized_shape(import, node, &shape, &integral))
        return false;
    bool to_one = false; /* a dimension becomes one element, which PyTorch takes from its begin */
    for (int i = 2; i < shape.rank; i++)
        to_one |= mw_onnx_dim_is(&shape.dim[i], 1) && !mw_onnx_dim_is(&x->shape.dim[i], 1);
    const bool half =
        mw_onnx_text_is(node, coordinates, "half_pixel", "half_pixel") ||
        (mw_onnx_text_is(node, coordinates, "half_pixel", "pytorch_half_pixel") && !to_one);
    const bool plain = mw_onnx_text_is(node, coordinates, "half_pixel", "asymmetric") &&
                       mw_onnx_text_is(node, "nearest_mode", "round_prefer_floor", "floor");
    const bool rounds =
        half && integral &&
        mw_onnx_text_is(node, "nearest_mode", "round_prefer_floor", "round_prefer_floor");
    const bool nearest = mw_onnx_text_is(node, "mode", "nearest", "nearest");
    const bool linear = mw_onnx_text_is(node, "mode", "nearest", "linear") && half;
    if (!(nearest && (plain || rounds)) && !linear)
        return mw_onnx_refuse(import, node, "attribute mode or %s", coordinates);
    const char *text = mw_onnx_text(import, "resize($0, [%s]%s)",
                                    mw_onnx_dims_text(import, shape.rank - 2, shape.dim + 2),
                                    linear ? ", mode = \"bilinear\"" : "");
    MwOnnxTerm *term = mw_onnx_term_in(import, x, mw_onnx_channels_last[shape.rank]);
    return set_images(import, node, &shape, text, &term, 1);
}
