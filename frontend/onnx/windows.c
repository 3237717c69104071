/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/windows.h"

#include "frontend/onnx/shapes.h"

#include <string.h>

const int8_t mw_onnx_channels_last[MW_ONNX_MAX_SPATIAL + 3][MW_MAX_RANK] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
    {0, 2, 1, 3, 4, 5, 6, 7}, {0, 2, 3, 1, 4, 5, 6, 7}, {0, 2, 3, 4, 1, 5, 6, 7},
};

bool mw_onnx_windows_all(const int64_t *numbers, int count, int64_t value)
{
    for (int i = 0; i < count; i++)
        if (numbers[i] != value)
            return false;
    return true;
}

const char *mw_onnx_windows_list(MwOnnxImport *import, const int64_t *numbers, int count)
{
    if (mw_onnx_windows_all(numbers, count, numbers[0]))
        return mw_onnx_text(import, "%lld", (long long)numbers[0]);
    MwText text = {.arena = import->arena};
    for (int i = 0; i < count; i++)
        mw_text_printf(&text, "%s%lld", i ? ", " : "[", (long long)numbers[i]);
    mw_text_add(&text, "]");
    return text.at;
}

const char *mw_onnx_windows_padding(MwOnnxImport *import, const MwOnnxWindows *windows)
{
    const size_t bytes = sizeof windows->before[0] * (size_t)windows->count;
    if (memcmp(windows->before, windows->after, bytes) == 0) {
        if (mw_onnx_windows_all(windows->before, windows->count, 0))
            return "";
        return mw_onnx_text(import, ", padding = %s",
                            mw_onnx_windows_list(import, windows->before, windows->count));
    }
    MwText text = {.arena = import->arena};
    for (int i = 0; i < windows->count; i++)
        mw_text_printf(&text, "%s[%lld, %lld]", i ? ", " : ", padding = [",
                       (long long)windows->before[i], (long long)windows->after[i]);
    mw_text_add(&text, "]");
    return text.at;
}

/* One list of numbers, each from `least` to 2^31; `fallback` where there is none. */
static bool read_list(MwOnnxImport *import, const MwOnnxNode *node, const char *name, int count,
                      int64_t *numbers, int64_t fallback)
{
    const int given = mw_onnx_ints_of(node, name, numbers, 2 * MW_ONNX_MAX_SPATIAL);
    for (int i = 0; given < 0 && i < count; i++)
        numbers[i] = fallback;
    for (int i = 0; i < count; i++)
        if (numbers[i] < fallback || numbers[i] > (int64_t)1 << 31)
            return mw_onnx_refuse(import, node, "attribute %s", name);
    return given < 0 || given == count || mw_onnx_refuse(import, node, "attribute %s", name);
}

/* So much padding that there are as many windows as elements, divided by the stride and rounded
 * up. */
static void pad_same(MwOnnxWindows *windows, int i, int64_t size, bool upper)
{
    const int64_t count = mw_ceil_div(size, windows->stride[i]);
    const int64_t reach = (windows->window[i] - 1) * windows->dilation[i] + 1;
    const int64_t all = mw_max((count - 1) * windows->stride[i] + reach - size, 0);
    windows->before[i] = upper ? all / 2 : all - all / 2;
    windows->after[i] = all - windows->before[i];
}

static bool read_padding(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *shape,
                         MwOnnxWindows *windows)
{
    const bool upper = mw_onnx_text_is(node, "auto_pad", "NOTSET", "SAME_UPPER");
    const bool lower = mw_onnx_text_is(node, "auto_pad", "NOTSET", "SAME_LOWER");
    const bool none = mw_onnx_text_is(node, "auto_pad", "NOTSET", "VALID");
    int64_t pads[2 * MW_ONNX_MAX_SPATIAL] = {0};
    if (!none && !upper && !lower && !read_list(import, node, "pads", 2 * windows->count, pads, 0))
        return false;
    for (int i = 0; i < windows->count; i++) {
        windows->before[i] = pads[i];
        windows->after[i] = pads[i + windows->count];
        if (upper || lower) {
            mw_onnx_fix(import, &shape->dim[i + 2]);
            pad_same(windows, i, shape->dim[i + 2].value, upper);
        }
    }
    return true;
}

/* How many windows fit; with ceil_mode the last may reach beyond the padding, if it begins before
 * it. */
static bool count_windows(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxDim *size,
                          int i, MwOnnxWindows *windows)
{
    const int64_t reach = (windows->window[i] - 1) * windows->dilation[i] + 1;
    const int64_t more = windows->before[i] + windows->after[i] - reach;
    const MwOnnxDim added = mw_onnx_dim(more + 1);
    if (windows->stride[i] == 1) {
        if (mw_onnx_dim_add(size, &added, &windows->result[i]) && windows->result[i].value > 0)
            return true;
        return mw_onnx_refuse(import, node, "a window that is larger than the image");
    }
    mw_onnx_fix(import, size);
    int64_t room = size->value + more, count = room / windows->stride[i] + 1;
    if (room < 0)
        return mw_onnx_refuse(import, node, "a window that is larger than the image");
    if (mw_onnx_int_of(node, "ceil_mode", 0)) {
        int64_t up = mw_ceil_div(room, windows->stride[i]) + 1;
        if ((up - 1) * windows->stride[i] >= size->value + windows->before[i])
            up--;
        windows->after[i] += mw_max((up - 1) * windows->stride[i] - room, 0);
        windows->rounds_up |= up > count;
        count = up;
    }
    windows->result[i] = mw_onnx_dim(count);
    return true;
}

bool mw_onnx_windows_read(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *shape,
                          const int64_t *window, MwOnnxWindows *windows)
{
    *windows = (MwOnnxWindows){.count = shape->rank - 2};
    if (windows->count < 1 || windows->count > MW_ONNX_MAX_SPATIAL)
        return mw_onnx_refuse(import, node, "images of %d spatial dimensions", shape->rank - 2);
    int64_t lists[3][2 * MW_ONNX_MAX_SPATIAL];
    if (!read_list(import, node, "strides", windows->count, lists[0], 1) ||
        !read_list(import, node, "dilations", windows->count, lists[1], 1) ||
        (!window && !read_list(import, node, "kernel_shape", windows->count, lists[2], 1)))
        return false;
    for (int i = 0; i < windows->count; i++) {
        windows->stride[i] = lists[0][i];
        windows->dilation[i] = lists[1][i];
        windows->window[i] = window ? window[i] : lists[2][i];
    }
    if (!read_padding(import, node, shape, windows))
        return false;
    for (int i = 0; i < windows->count; i++)
        if (!count_windows(import, node, &shape->dim[i + 2], i, windows))
            return false;
    return true;
}
