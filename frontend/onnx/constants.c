/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

/* A tensor of one list of numbers of an attribute. */
static const MwOnnxTensor *numbers_tensor(MwOnnxImport *import,
                                          const MwOnnx__AttributeProto *attribute, bool is_list)
{
    const bool floats = strstr(attribute->name, "float") != NULL;
    const size_t count = !is_list ? 1 : floats ? attribute->n_floats : attribute->n_ints;
    const int64_t dim[] = {(int64_t)count};
    if (count > (size_t)1 << 22)
        return NULL;
    MwOnnxTensor *tensor =
        mw_onnx_tensor_new(import->arena, floats ? MW_F32 : MW_I64, is_list, dim);
    void *data = (void *)(uintptr_t)tensor->data;
    for (size_t i = 0; i < count; i++)
        if (floats)
            ((float *)data)[i] = is_list ? attribute->floats[i] : attribute->f;
        else
            ((int64_t *)data)[i] = is_list ? attribute->ints[i] : attribute->i;
    return tensor;
}

bool mw_onnx_constant(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxTensor *tensor = NULL;
    const MwOnnx__AttributeProto *attribute;
    if ((attribute = mw_onnx_attribute(node, "value")) && attribute->t)
        tensor = mw_onnx_tensor_read(import->arena, attribute->t, import->graph->path, node->label,
                                     import->diags);
    else if ((attribute = mw_onnx_attribute(node, "value_float")) ||
             (attribute = mw_onnx_attribute(node, "value_int")))
        tensor = numbers_tensor(import, attribute, false);
    else if ((attribute = mw_onnx_attribute(node, "value_floats")) ||
             (attribute = mw_onnx_attribute(node, "value_ints")))
        tensor = numbers_tensor(import, attribute, true);
    if (!tensor)
        return mw_onnx_refuse(import, node, "a constant that is no tensor of numbers");
    return mw_onnx_set_constant(import, node, 0, tensor);
}

bool mw_onnx_constant_of_shape(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxShape shape = {.type = MW_F32};
    double number = 0;
    shape.rank = mw_onnx_constant_dims(mw_onnx_input(node, 0), shape.dim, MW_MAX_RANK);
    if (shape.rank < 0)
        return mw_onnx_refuse(import, node, "a shape that is computed from elements");
    const MwOnnx__AttributeProto *attribute = mw_onnx_attribute(node, "value");
    if (attribute && attribute->t) {
        const MwOnnxTensor *value = mw_onnx_tensor_read(
            import->arena, attribute->t, import->graph->path, node->label, import->diags);
        if (!value || value->count != 1 || !mw_onnx_is_number(value))
            return mw_onnx_refuse(import, node, "attribute value");
        shape.type = value->type;
        number = mw_onnx_number(value, 0);
    }
    for (int i = 0; i < shape.rank; i++)
        if (shape.dim[i].value < 1)
            return mw_onnx_refuse(import, node, "a tensor without elements");
    const char *text = mw_onnx_text(
        import, "constant(%s, [%s], type = %s)", mw_onnx_number_text(import, shape.type, number),
        mw_onnx_dims_text(import, shape.rank, shape.dim), mw_type_name(shape.type));
    mw_onnx_set(import, node, 0, &shape, mw_onnx_emit(import, &shape, text, NULL, 0), NULL);
    int64_t dim[MW_MAX_RANK];
    for (int i = 0; i < shape.rank; i++)
        dim[i] = mw_onnx_dim_is_constant(&shape.dim[i]) ? shape.dim[i].value : 1;
    MwOnnxTensor *stretched = mw_onnx_fold_new(import, shape.type, shape.rank, dim);
    for (int64_t i = 0; stretched && i < stretched->count; i++)
        mw_element_put(shape.type, (void *)(uintptr_t)stretched->data, i, number);
    if (node->outputs[0])
        node->outputs[0]->stretched = stretched;
    return true;
}

bool mw_onnx_random_uniform(MwOnnxImport *import, const MwOnnxNode *node)
{
    int64_t sizes[MW_MAX_RANK];
    MwOnnxShape shape = {.type = MW_F32,
                         .rank = mw_onnx_ints_of(node, "shape", sizes, MW_MAX_RANK)};
    bool good = shape.rank >= 0 && mw_onnx_int_of(node, "dtype", 1) == 1;
    for (int i = 0; good && i < shape.rank; i++) {
        shape.dim[i] = mw_onnx_dim(sizes[i]);
        good = sizes[i] > 0;
    }
    if (!good)
        return mw_onnx_refuse(import, node, "another type than f32, or a shape without elements");
    const double low = mw_onnx_float_of(node, "low", 0), high = mw_onnx_float_of(node, "high", 1);
    const char *text =
        mw_onnx_text(import, "uniform([%s])", mw_onnx_dims_text(import, shape.rank, shape.dim));
    MwOnnxTerm *term = mw_onnx_emit(import, &shape, text, NULL, 0);
    if (low != 0 || high != 1)
        term = mw_onnx_emit1(import, &shape,
                             mw_onnx_text(import, "#0 * %s + %s",
                                          mw_onnx_number_text(import, MW_F32, high - low),
                                          mw_onnx_number_text(import, MW_F32, low)),
                             term);
    return mw_onnx_set(import, node, 0, &shape, term, NULL);
}

/* Up to a size of the model, by steps of 1. */
bool mw_onnx_range(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxDim part[3];
    for (int i = 0; i < 3; i++)
        if (mw_onnx_constant_dims(mw_onnx_input(node, i), &part[i], 1) != 1)
            return mw_onnx_refuse(import, node, "a range that depends on elements");
    MwOnnxShape shape = {.type = node->inputs[0]->shape.type, .rank = 1};
    if (!mw_onnx_dim_is(&part[2], 1) || !mw_onnx_dim_is_constant(&part[0]) ||
        !mw_onnx_dim_sub(&part[1], &part[0], &shape.dim[0]) || shape.dim[0].value < 1 ||
        !mw_type_is_index(shape.type) || part[0].value > (int64_t)1 << 40 ||
        part[0].value < -((int64_t)1 << 40))
        return mw_onnx_refuse(import, node, "a range by other steps than 1, or from far away");
    const char *iota =
        mw_onnx_text(import, "iota([%s], type = %s)", mw_onnx_dim_text(import, &shape.dim[0]),
                     mw_type_name(shape.type));
    MwOnnxTerm *term = mw_onnx_emit(import, &shape, iota, NULL, 0);
    if (part[0].value)
        term = mw_onnx_emit2(import, &shape, "#0 + #1", term,
                             mw_onnx_emit_number(import, shape.type, (double)part[0].value));
    return mw_onnx_set(import, node, 0, &shape, term, NULL);
}

/* The sizes of its operand from `start` up to `end`. */
static bool set_sizes(MwOnnxImport *import, const MwOnnxNode *node, int rank, const MwOnnxDim *dims,
                      int count)
{
    const int64_t dim[] = {count};
    MwOnnxTensor *tensor = mw_onnx_tensor_new(import->arena, MW_I64, rank, dim);
    MwOnnxDim *symbolic = MW_NEW(import->arena, MwOnnxDim, count);
    for (int i = 0; i < count; i++) {
        symbolic[i] = dims[i];
        ((int64_t *)(uintptr_t)tensor->data)[i] = dims[i].value;
        if (!mw_onnx_dim_is_constant(&dims[i]))
            tensor->symbolic = symbolic;
    }
    return mw_onnx_set_constant(import, node, 0, tensor);
}

bool mw_onnx_shape_of(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxShape *shape = &node->inputs[0]->shape;
    int64_t start = mw_onnx_int_of(node, "start", 0),
            end = mw_onnx_int_of(node, "end", shape->rank);
    start = mw_max(0, mw_min(start < 0 ? start + shape->rank : start, shape->rank));
    end = mw_max(start, mw_min(end < 0 ? end + shape->rank : end, shape->rank));
    return set_sizes(import, node, 1, shape->dim + start, (int)(end - start));
}

bool mw_onnx_size_of(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxDim product;
    const MwOnnxShape *shape = &node->inputs[0]->shape;
    if (!mw_onnx_shape_product(shape, 0, shape->rank, &product))
        return mw_onnx_refuse(import, node, "a number of elements that is too large");
    return set_sizes(import, node, 0, &product, 1);
}
