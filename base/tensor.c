/* SPDX-License-Identifier: MIT */
#include "base/tensor.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int bytes;
    bool is_float;
} types[MW_TYPE_COUNT] = {
    [MW_F32] = {"f32", 4, true},
    [MW_BF16] = {"bf16", 2, true},
    [MW_I32] = {"i32", 4, false},
    [MW_BOOL] = {"bool", 1, false},
};

const char *mw_type_name(MwType type)
{
    return types[type].name;
}

bool mw_type_parse(const char *name, MwType *type)
{
    for (int i = 0; i < MW_TYPE_COUNT; i++) {
        if (strcmp(name, types[i].name) == 0) {
            *type = (MwType)i;
            return true;
        }
    }
    return false;
}

int mw_type_bytes(MwType type)
{
    return types[type].bytes;
}

bool mw_type_is_float(MwType type)
{
    return types[type].is_float;
}

MwTensor mw_tensor(MwType type, int rank, const int64_t *dim)
{
    MW_ASSERT(rank >= 0 && rank <= MW_MAX_RANK);
    MwTensor tensor = {.type = type, .rank = rank};
    for (int i = 0; i < rank; i++)
        tensor.dim[i] = dim[i];
    return tensor;
}

MwTensor mw_tensor_scalar(MwType type)
{
    return (MwTensor){.type = type};
}

int64_t mw_tensor_elements(const MwTensor *tensor)
{
    int64_t elements = 1;
    for (int i = 0; i < tensor->rank; i++)
        elements *= tensor->dim[i];
    return elements;
}

int64_t mw_tensor_bytes(const MwTensor *tensor)
{
    return mw_tensor_elements(tensor) * mw_type_bytes(tensor->type);
}

bool mw_tensor_same_shape(const MwTensor *a, const MwTensor *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank) == 0;
}

bool mw_tensor_equal(const MwTensor *a, const MwTensor *b)
{
    return a->type == b->type && mw_tensor_same_shape(a, b);
}

bool mw_tensor_insert_dim(MwTensor *tensor, int axis, int64_t size)
{
    if (tensor->rank == MW_MAX_RANK)
        return false;
    for (int d = tensor->rank++; d > axis; d--)
        tensor->dim[d] = tensor->dim[d - 1];
    tensor->dim[axis] = size;
    return true;
}

void mw_tensor_remove_dim(MwTensor *tensor, int axis)
{
    tensor->rank--;
    for (int d = axis; d < tensor->rank; d++)
        tensor->dim[d] = tensor->dim[d + 1];
    tensor->dim[tensor->rank] = 0;
}

const char *mw_tensor_text(const MwTensor *tensor, char buffer[MW_TENSOR_TEXT_BYTES])
{
    int at = snprintf(buffer, MW_TENSOR_TEXT_BYTES, "%s[", mw_type_name(tensor->type));
    for (int i = 0; i < tensor->rank; i++)
        at += snprintf(buffer + at, (size_t)(MW_TENSOR_TEXT_BYTES - at), "%s%lld", i ? ", " : "",
                       (long long)tensor->dim[i]);
    snprintf(buffer + at, (size_t)(MW_TENSOR_TEXT_BYTES - at), "]");
    return buffer;
}
