/* SPDX-License-Identifier: MIT */
#include "base/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int bytes;
    MwTypeKind kind;
    MwType stored;
} types[MW_TYPE_COUNT] = {
#define TYPE(id, name, bytes, kind, ...) [MW_##id] = {name, bytes, MW_TYPE_##kind, MW_##id},
#define PRODUCT(id, name, bytes, stored) [MW_##id] = {name, bytes, MW_TYPE_PRODUCT, MW_##stored},
#include "base/types.def"
};

const char *mw_type_name(MwType type)
{
    return types[type].name;
}

const char *mw_type_names(void)
{
    static const char names[] =
#define TYPE(id, name, ...) ", " name
#include "base/types.def"
        ;
    return names + 2;
}

static bool find_name(const char *name, MwType *type)
{
    for (int i = 0; i < MW_TYPE_COUNT; i++) {
        if (strcmp(name, types[i].name) == 0) {
            *type = (MwType)i;
            return true;
        }
    }
    return false;
}

bool mw_type_parse(const char *name, MwType *type)
{
    return find_name(name, type) && mw_type_stored(*type) == *type;
}

bool mw_product_parse(const char *name, MwType *type)
{
    return find_name(name, type) && mw_type_is_float(mw_type_stored(*type)) &&
           !mw_type_is_fp8(*type);
}

MwType mw_type_stored(MwType type)
{
    return types[type].stored;
}

int mw_type_bytes(MwType type)
{
    return types[type].bytes;
}

MwTypeKind mw_type_kind(MwType type)
{
    return types[type].kind;
}

bool mw_type_is_float(MwType type)
{
    return types[type].kind == MW_TYPE_FLOAT;
}

bool mw_type_is_half(MwType type)
{
    return mw_type_is_float(type) && types[type].bytes == 2;
}

bool mw_type_is_fp8(MwType type)
{
    return mw_type_is_float(type) && types[type].bytes == 1;
}

bool mw_type_is_narrow(MwType type)
{
    return mw_type_is_half(type) || mw_type_is_fp8(type);
}

bool mw_type_is_integer(MwType type)
{
    return types[type].kind == MW_TYPE_SIGNED || types[type].kind == MW_TYPE_UNSIGNED;
}

bool mw_type_widens(MwType from, MwType to)
{
    return mw_type_is_integer(from) && mw_type_is_integer(to) &&
           types[from].bytes < types[to].bytes;
}

bool mw_type_is_index(MwType type)
{
    return mw_type_is_integer(type) && types[type].bytes >= 4;
}

/* The values of an integer type or of bool: from `least` up to, and without, `end`. */
static void find_range(MwType type, double *least, double *end)
{
    const int bits = types[type].kind == MW_TYPE_BOOL ? 1 : 8 * types[type].bytes;
    const bool is_signed = types[type].kind == MW_TYPE_SIGNED;
    *end = ldexp(1, bits - is_signed);
    *least = is_signed ? -*end : 0;
}

bool mw_type_holds(MwType type, double value)
{
    double least, end;
    if (mw_type_is_float(type))
        return true;
    find_range(type, &least, &end);
    return value >= least && value < end && value == trunc(value) && fabs(value) < 0x1p53;
}

double mw_type_clamp(MwType type, double value)
{
    double least, end;
    if (mw_type_is_float(type))
        return value;
    if (types[type].kind == MW_TYPE_BOOL)
        return value != 0;
    find_range(type, &least, &end);
    if (value != value)
        return 0;
    return value <= least ? least : value >= end ? end - 1 : trunc(value);
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
