/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/tensor.h"

#include "frontend/onnx/external.h"

#include <string.h>

static const int64_t MAX_ELEMENTS = (int64_t)1 << 40;

/* The types of ONNX, in the order of their numbers; of those that are read, what stands for them,
 * and the bytes of an element in raw data. */
static const struct {
    const char *name;
    bool known;
    MwType type;
    int bytes;
} types[] = {
    {"UNDEFINED", false, MW_F32, 0}, {"FLOAT", true, MW_F32, 4},
    {"UINT8", true, MW_U8, 1},       {"INT8", true, MW_I8, 1},
    {"UINT16", true, MW_I32, 2},     {"INT16", true, MW_I32, 2},
    {"INT32", true, MW_I32, 4},      {"INT64", true, MW_I64, 8},
    {"STRING", false, MW_F32, 0},    {"BOOL", true, MW_BOOL, 1},
    {"FLOAT16", true, MW_F16, 2},    {"DOUBLE", true, MW_F32, 8},
    {"UINT32", true, MW_I64, 4},     {"UINT64", true, MW_I64, 8},
    {"COMPLEX64", false, MW_F32, 0}, {"COMPLEX128", false, MW_F32, 0},
    {"BFLOAT16", true, MW_BF16, 2},
};

enum {
    UINT16 = MW_ONNX_UINT16,
    INT16 = MW_ONNX_INT16,
    DOUBLE = 11,
    UINT32 = MW_ONNX_UINT32,
    UINT64 = MW_ONNX_UINT64
};

static bool is_known(int32_t onnx_type)
{
    return onnx_type >= 0 && onnx_type < MW_COUNT(types) && types[onnx_type].known;
}

bool mw_onnx_type(int32_t onnx_type, MwType *type)
{
    if (!is_known(onnx_type))
        return false;
    *type = types[onnx_type].type;
    return true;
}

const char *mw_onnx_type_name(int32_t onnx_type)
{
    return onnx_type >= 0 && onnx_type < MW_COUNT(types) ? types[onnx_type].name
                                                         : "of less than 8 bits, or unknown";
}

bool mw_onnx_count(int rank, const int64_t *dim, int64_t *count)
{
    *count = 1;
    for (int i = 0; i < rank; i++)
        if (dim[i] < 0 || __builtin_mul_overflow(*count, dim[i], count) || *count > MAX_ELEMENTS)
            return false;
    return true;
}

MwOnnxTensor *mw_onnx_tensor_new(MwArena *arena, MwType type, int rank, const int64_t *dim)
{
    MwOnnxTensor *tensor = MW_NEW(arena, MwOnnxTensor, 1);
    tensor->type = type;
    tensor->rank = rank;
    for (int i = 0; i < rank; i++)
        tensor->dim[i] = dim[i];
    const bool fits = mw_onnx_count(rank, dim, &tensor->count);
    MW_ASSERT(fits);
    tensor->data = mw_arena_alloc(arena, (size_t)tensor->count * (size_t)mw_type_bytes(type));
    return tensor;
}

/* Element i of raw data of a type that the language has no equal of. */
static void put_converted(MwOnnxTensor *tensor, int32_t onnx_type, const char *raw, int64_t i)
{
    union {
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        uint64_t u64;
        double f64;
    } from;
    void *to = (void *)(uintptr_t)tensor->data;
    const size_t bytes = (size_t)types[onnx_type].bytes;
    memcpy(&from, raw + (size_t)i * bytes, bytes);
    switch (onnx_type) {
    case UINT16:
        mw_element_put_integer(MW_I32, to, i, from.u16);
        return;
    case INT16:
        mw_element_put_integer(MW_I32, to, i, from.i16);
        return;
    case UINT32:
        mw_element_put_integer(MW_I64, to, i, from.u32);
        return;
    case UINT64:
        mw_element_put_integer(MW_I64, to, i, (int64_t)from.u64);
        return;
    case DOUBLE:
        mw_element_put(MW_F32, to, i, from.f64);
        return;
    default:
        MW_UNREACHABLE();
    }
}

/* The elements of `bytes` bytes of raw data, which may be used in place. */
static bool take_raw(MwArena *arena, MwOnnxTensor *tensor, int32_t onnx_type, const void *raw,
                     size_t bytes)
{
    if (bytes != (size_t)tensor->count * (size_t)types[onnx_type].bytes)
        return false;
    if (onnx_type == UINT16 || onnx_type == INT16 || (onnx_type >= DOUBLE && onnx_type <= UINT64)) {
        tensor->data =
            mw_arena_alloc(arena, (size_t)tensor->count * (size_t)mw_type_bytes(tensor->type));
        for (int64_t i = 0; i < tensor->count; i++)
            put_converted(tensor, onnx_type, raw, i);
        return true;
    }
    /* A file may hold other bytes than 0 and 1. */
    if (tensor->type == MW_BOOL) {
        uint8_t *truth = mw_arena_alloc(arena, bytes);
        for (size_t i = 0; i < bytes; i++)
            truth[i] = ((const uint8_t *)raw)[i] != 0;
        raw = truth;
    }
    tensor->data = (uintptr_t)raw % 16 == 0 ? raw : mw_arena_dup(arena, raw, bytes);
    return true;
}

/* The elements of one of the typed lists. */
static bool take_list(MwArena *arena, MwOnnxTensor *tensor, const MwOnnx__TensorProto *proto)
{
    const size_t counts[] = {proto->n_float_data, proto->n_int32_data, proto->n_int64_data,
                             proto->n_double_data, proto->n_uint64_data};
    int list = -1;
    for (int i = 0; i < MW_COUNT(counts); i++)
        if (counts[i] == (size_t)tensor->count)
            list = i;
    if (list < 0)
        return false;
    void *to = mw_arena_alloc(arena, (size_t)tensor->count * (size_t)mw_type_bytes(tensor->type));
    tensor->data = to;
    for (int64_t i = 0; i < tensor->count; i++) {
        if (list == 0)
            mw_element_put(tensor->type, to, i, (double)proto->float_data[i]);
        else if (list == 3)
            mw_element_put(tensor->type, to, i, proto->double_data[i]);
        else if (mw_type_is_half(tensor->type) && list == 1) /* their bits */
            ((uint16_t *)to)[i] = (uint16_t)proto->int32_data[i];
        else if (mw_type_is_float(tensor->type))
            return false;
        else {
            const int64_t value = list == 1   ? proto->int32_data[i]
                                  : list == 2 ? proto->int64_data[i]
                                              : (int64_t)proto->uint64_data[i];
            mw_element_put_integer(tensor->type, to, i,
                                   tensor->type == MW_BOOL ? value != 0 : value);
        }
    }
    return true;
}

static bool take_elements(MwArena *arena, MwOnnxTensor *tensor, const MwOnnx__TensorProto *proto,
                          const char *path, const char *what, MwDiags *diags)
{
    static const int EXTERNAL = 1;
    if (proto->data_location == EXTERNAL) {
        size_t bytes = (size_t)tensor->count * (size_t)types[proto->data_type].bytes;
        const void *raw = mw_onnx_external_read(arena, proto, path, bytes, what, diags);
        return raw && take_raw(arena, tensor, proto->data_type, raw, bytes);
    }
    const bool good = proto->has_raw_data ? take_raw(arena, tensor, proto->data_type,
                                                     proto->raw_data.data, proto->raw_data.len)
                                          : take_list(arena, tensor, proto);
    if (!good)
        mw_diag_error(diags, mw_span_none(), "%s: its data are not those of its shape", what);
    return good;
}

/* Whether integers without a sign fit the type that has one. */
static bool check_unsigned(const MwOnnxTensor *tensor, const char *what, MwDiags *diags)
{
    for (int64_t i = 0; i < tensor->count; i++)
        if (mw_onnx_integer(tensor, i) < 0) {
            mw_diag_error(diags, mw_span_none(), "%s: an element is 2^63 or more", what);
            return false;
        }
    return true;
}

const MwOnnxTensor *mw_onnx_tensor_read(MwArena *arena, const MwOnnx__TensorProto *proto,
                                        const char *path, const char *what, MwDiags *diags)
{
    MwOnnxTensor *tensor = MW_NEW(arena, MwOnnxTensor, 1);
    if (!mw_onnx_type(proto->data_type, &tensor->type)) {
        mw_diag_error(diags, mw_span_none(), "%s: elements of type %s are not read", what,
                      mw_onnx_type_name(proto->data_type));
        return NULL;
    }
    if (proto->n_dims > MW_MAX_RANK || proto->has_segment ||
        !mw_onnx_count((int)proto->n_dims, proto->dims, &tensor->count)) {
        mw_diag_error(diags, mw_span_none(), "%s: its shape is not one of a tensor", what);
        return NULL;
    }
    tensor->rank = (int)proto->n_dims;
    for (int i = 0; i < tensor->rank; i++)
        tensor->dim[i] = proto->dims[i];
    const bool good = take_elements(arena, tensor, proto, path, what, diags) &&
                      (proto->data_type != UINT64 || check_unsigned(tensor, what, diags));
    return good ? tensor : NULL;
}

bool mw_onnx_is_uniform(const MwOnnxTensor *tensor)
{
    const size_t bytes = (size_t)mw_type_bytes(tensor->type);
    const char *data = tensor->data;
    return tensor->count > 0 && !tensor->symbolic &&
           memcmp(data, data + bytes, (size_t)(tensor->count - 1) * bytes) == 0;
}

const MwOnnxTensor *mw_onnx_tensor_permute(MwArena *arena, const MwOnnxTensor *tensor,
                                           const int8_t *order)
{
    int64_t dim[MW_MAX_RANK], stride[MW_MAX_RANK], step = 1, at[MW_MAX_RANK] = {0};
    for (int i = tensor->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= tensor->dim[i];
    }
    for (int i = 0; i < tensor->rank; i++)
        dim[i] = tensor->dim[order[i]];
    MwOnnxTensor *result = mw_onnx_tensor_new(arena, tensor->type, tensor->rank, dim);
    const size_t bytes = (size_t)mw_type_bytes(tensor->type);
    char *to = (char *)(uintptr_t)result->data;
    for (int64_t i = 0; i < tensor->count; i++) {
        int64_t from = 0;
        for (int d = 0; d < tensor->rank; d++)
            from += at[d] * stride[order[d]];
        memcpy(to + (size_t)i * bytes, (const char *)tensor->data + (size_t)from * bytes, bytes);
        for (int d = tensor->rank - 1; d >= 0 && ++at[d] == dim[d]; d--)
            at[d] = 0;
    }
    return result;
}
