/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes, attributes and initializers of ONNX. */
#include "codegen/onnx/writer.h"

#include "base/element.h"

#include <string.h>

/* AttributeProto.AttributeType */
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_GRAPH = 5, TYPE_INTS = 7 };
enum { MOST_ATTRIBUTES = 8 };

bool mw_writer_refuse(MwWriter *writer, const char *reason)
{
    mw_vec_push(writer->arena, &writer->refused, (int)(writer->node - writer->graph->nodes.at));
    mw_vec_push(writer->arena, &writer->reasons, reason);
    return false;
}

/* ---- Names ---- */

const char *mw_writer_name(MwWriter *writer, const char *wanted)
{
    const char *name = wanted;
    for (;;) {
        int **seen = (int **)mw_key_map_at(writer->arena, &writer->names, name, strlen(name));
        if (!*seen) {
            *seen = MW_NEW(writer->arena, int, 1);
            return name == wanted ? mw_arena_strdup(writer->arena, wanted) : name;
        }
        int **of_wanted =
            (int **)mw_key_map_at(writer->arena, &writer->names, wanted, strlen(wanted));
        name = mw_arena_printf(writer->arena, "%s_%d", wanted, ++**of_wanted);
    }
}

const char *mw_writer_value_name(MwWriter *writer, MwValueId value)
{
    const char *name = mw_value(writer->graph, value)->name;
    return writer->is_named[value.index] ? name : mw_writer_name(writer, name);
}

/* Adds the path of a node: /layers.3/attention/ of scope "layers.3.attention". The number of a
 * module belongs to the part before it. */
static void add_path(MwText *text, const char *scope)
{
    mw_text_add(text, "/");
    for (const char *at = scope; *at; at++) {
        const bool parts = *at == '.' && !(at[1] >= '0' && at[1] <= '9');
        mw_text_add_n(text, parts ? "/" : at, 1);
    }
    if (*scope)
        mw_text_add(text, "/");
}

static const char *node_name(MwWriter *writer, const char *op)
{
    MwText text = {.arena = writer->arena};
    add_path(&text, writer->node ? writer->node->origin.scope : "");
    mw_text_add(&text, op);
    return mw_writer_name(writer, text.at);
}

/* ---- Nodes ---- */

void mw_writer_put_many(MwWriter *writer, const char *op, const char *const *operands, int count,
                        const char **results, int result_count)
{
    MwOnnx__NodeProto *node = MW_NEW(writer->arena, MwOnnx__NodeProto, 1);
    mw_onnx__node_proto__init(node);
    node->op_type = mw_arena_strdup(writer->arena, op);
    node->name = (char *)node_name(writer, op);
    node->n_input = (size_t)count;
    node->input = MW_NEW(writer->arena, char *, count);
    for (int i = 0; i < count; i++)
        node->input[i] = mw_arena_strdup(writer->arena, operands[i] ? operands[i] : "");
    node->n_output = (size_t)result_count;
    node->output = MW_NEW(writer->arena, char *, result_count);
    for (int k = 0; k < result_count; k++)
        results[k] = node->output[k] =
            mw_arena_printf(writer->arena, "%s_output_%d", node->name, k);
    node->attribute = MW_NEW(writer->arena, MwOnnx__AttributeProto *, MOST_ATTRIBUTES);
    mw_vec_push(writer->arena, writer->target, node);
}

const char *mw_writer_put(MwWriter *writer, const char *op, const char *const *operands, int count)
{
    const char *result;
    mw_writer_put_many(writer, op, operands, count, &result, 1);
    return result;
}

/* ---- Attributes ---- */

static MwOnnx__AttributeProto *add_attribute(MwWriter *writer, const char *name, int type)
{
    MwOnnx__NodeProto *node = mw_vec_last(writer->target);
    MwOnnx__AttributeProto *attribute = MW_NEW(writer->arena, MwOnnx__AttributeProto, 1);
    mw_onnx__attribute_proto__init(attribute);
    attribute->name = mw_arena_strdup(writer->arena, name);
    attribute->has_type = true;
    attribute->type = type;
    MW_ASSERT(node->n_attribute < MOST_ATTRIBUTES);
    node->attribute[node->n_attribute++] = attribute;
    return attribute;
}

void mw_writer_int(MwWriter *writer, const char *name, int64_t value)
{
    MwOnnx__AttributeProto *attribute = add_attribute(writer, name, TYPE_INT);
    attribute->has_i = true;
    attribute->i = value;
}

void mw_writer_ints(MwWriter *writer, const char *name, const int64_t *values, int count)
{
    MwOnnx__AttributeProto *attribute = add_attribute(writer, name, TYPE_INTS);
    attribute->n_ints = (size_t)count;
    attribute->ints = mw_arena_dup(writer->arena, values, sizeof *values * (size_t)count);
}

void mw_writer_float(MwWriter *writer, const char *name, double value)
{
    MwOnnx__AttributeProto *attribute = add_attribute(writer, name, TYPE_FLOAT);
    attribute->has_f = true;
    attribute->f = (float)value;
}

static void set_bytes(MwOnnx__AttributeProto *attribute, const void *data, size_t bytes)
{
    attribute->has_s = true;
    attribute->s = (ProtobufCBinaryData){bytes, (uint8_t *)data};
}

void mw_writer_text(MwWriter *writer, const char *name, const char *value)
{
    set_bytes(add_attribute(writer, name, TYPE_STRING), mw_arena_strdup(writer->arena, value),
              strlen(value));
}

void mw_writer_graph(MwWriter *writer, const char *name, const MwOnnx__GraphProto *graph)
{
    MwOnnx__AttributeProto *attribute = add_attribute(writer, name, TYPE_GRAPH);
    const size_t bytes = mw_onnx__graph_proto__get_packed_size(graph);
    uint8_t *packed = mw_arena_alloc(writer->arena, bytes);
    mw_onnx__graph_proto__pack(graph, packed);
    attribute->has_g = true;
    attribute->g = (ProtobufCBinaryData){bytes, packed};
}

/* ---- Initializers ---- */

static int onnx_type(MwType type)
{
    static const int types[MW_TYPE_COUNT] = {
#define TYPE(id, name, bytes, kind, element, scalar, npy, onnx, ...) [MW_##id] = onnx,
#include "base/types.def"
    };
    return types[type];
}

static MwOnnx__TensorProto *add_tensor(MwWriter *writer, const char *name, MwType type, int rank,
                                       const int64_t *dims)
{
    MwOnnx__TensorProto *tensor = MW_NEW(writer->arena, MwOnnx__TensorProto, 1);
    mw_onnx__tensor_proto__init(tensor);
    tensor->name = (char *)name;
    tensor->has_data_type = true;
    tensor->data_type = onnx_type(type);
    tensor->n_dims = (size_t)rank;
    tensor->dims = mw_arena_dup(writer->arena, dims, sizeof *dims * (size_t)rank);
    mw_vec_push(writer->arena, &writer->initializers, tensor);
    return tensor;
}

/* The name of an initializer with these elements; one that there is, or a new one. */
static const char *share(MwWriter *writer, MwType type, int rank, int64_t count, const void *data)
{
    const size_t bytes = (size_t)count * (size_t)mw_type_bytes(type);
    const int64_t head[] = {type, rank, count};
    char *key = mw_arena_alloc(writer->arena, sizeof head + bytes);
    memcpy(key, head, sizeof head);
    memcpy(key + sizeof head, data, bytes);
    const char **name =
        (const char **)mw_key_map_at(writer->arena, &writer->shared, key, sizeof head + bytes);
    if (*name)
        return *name;
    *name = mw_writer_name(writer, "/constant"); /* no name of a model */
    MwOnnx__TensorProto *tensor = add_tensor(writer, *name, type, rank, &count);
    tensor->has_raw_data = true;
    tensor->raw_data = (ProtobufCBinaryData){bytes, (uint8_t *)key + sizeof head};
    return *name;
}

const char *mw_writer_number(MwWriter *writer, MwType type, double value)
{
    uint64_t element = 0;
    mw_element_put(type, &element, 0, value);
    return share(writer, type, 0, 1, &element);
}

const char *mw_writer_filled(MwWriter *writer, MwType type, double value, int64_t count)
{
    void *data = mw_arena_alloc(writer->arena, (size_t)count * (size_t)mw_type_bytes(type));
    for (int64_t i = 0; i < count; i++)
        mw_element_put(type, data, i, value);
    return share(writer, type, 1, count, data);
}

const char *mw_writer_integers(MwWriter *writer, const int64_t *values, int count)
{
    return share(writer, MW_I64, 1, count, values);
}

const char *mw_writer_floats(MwWriter *writer, const float *values, int count)
{
    return share(writer, MW_F32, 1, count, values);
}

const char *mw_writer_weight(MwWriter *writer, MwValueId value, const int64_t *perm)
{
    MwOnnxInitial *initial = mw_vec_add(writer->arena, &writer->export->initials);
    int64_t dims[MW_MAX_RANK];
    initial->name = mw_value(writer->graph, value)->name;
    initial->whole = *mw_value_tensor(writer->graph, value);
    for (int i = 0; i < initial->whole.rank; i++) {
        initial->perm[i] = perm ? perm[i] : i;
        dims[i] = initial->whole.dim[initial->perm[i]];
        const MwOpenNumber size = mw_writer_dim(writer, value, i);
        if (!mw_open_is_constant(&size))
            mw_diag_error(writer->diags, mw_value_node(writer->graph, value)->origin.span,
                          "the shape of '%s' depends on a size that is to stay open",
                          initial->name);
    }
    const char *name = mw_writer_value_name(writer, value);
    initial->tensor = add_tensor(writer, name, initial->whole.type, initial->whole.rank, dims);
    return name;
}

/* ---- Common nodes ---- */

const char *mw_writer_cast(MwWriter *writer, const char *name, MwType from, MwType to)
{
    if (from == to)
        return name;
    const char *result = mw_writer_put1(writer, "Cast", name);
    mw_writer_int(writer, "to", onnx_type(to));
    return result;
}

const char *mw_writer_transpose(MwWriter *writer, const char *name, const int64_t *perm, int rank)
{
    const char *result = mw_writer_put1(writer, "Transpose", name);
    mw_writer_ints(writer, "perm", perm, rank);
    return result;
}

const char *mw_writer_unsqueeze(MwWriter *writer, const char *name, const int64_t *axes, int count)
{
    return count
               ? mw_writer_put2(writer, "Unsqueeze", name, mw_writer_integers(writer, axes, count))
               : name;
}

const char *mw_writer_slice(MwWriter *writer, const char *name, int axis, MwOpenNumber begin,
                            MwOpenNumber end)
{
    const char *const operands[] = {name, mw_writer_numbers(writer, &begin, 1),
                                    mw_writer_numbers(writer, &end, 1),
                                    mw_writer_integers(writer, (int64_t[]){axis}, 1)};
    return mw_writer_put(writer, "Slice", operands, MW_COUNT(operands));
}

/* ---- Inputs and outputs ---- */

MwOnnx__ValueInfo *mw_writer_info(MwWriter *writer, const char *name, MwValueId value, int without)
{
    const MwTensor *tensor = mw_value_tensor(writer->graph, value);
    MwOnnx__ValueInfo *info = MW_NEW(writer->arena, MwOnnx__ValueInfo, 1);
    MwOnnx__TensorType *type = MW_NEW(writer->arena, MwOnnx__TensorType, 1);
    mw_onnx__value_info__init(info);
    info->name = (char *)name;
    info->type = MW_NEW(writer->arena, MwOnnx__TypeProto, 1);
    mw_onnx__type_proto__init(info->type);
    info->type->tensor_type = type;
    mw_onnx__tensor_type__init(type);
    type->has_elem_type = true;
    type->elem_type = onnx_type(tensor->type);
    type->shape = MW_NEW(writer->arena, MwOnnx__TensorShape, 1);
    mw_onnx__tensor_shape__init(type->shape);
    type->shape->dim = MW_NEW(writer->arena, MwOnnx__Dimension *, tensor->rank);
    for (int d = 0; d < tensor->rank; d++) {
        const MwOpenNumber size = mw_writer_dim(writer, value, d);
        MwOnnx__Dimension *dim = MW_NEW(writer->arena, MwOnnx__Dimension, 1);
        MwText text = {.arena = writer->arena};
        mw_onnx__dimension__init(dim);
        mw_open_print(&text, writer->open, &size);
        dim->has_dim_value = mw_open_is_constant(&size);
        if (dim->has_dim_value)
            dim->dim_value = size.constant;
        else
            dim->dim_param = text.at;
        if (d != without)
            type->shape->dim[type->shape->n_dim++] = dim;
    }
    return info;
}
