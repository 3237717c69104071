/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/graph.h"

#include <string.h>

const MwOnnx__AttributeProto *mw_onnx_attribute(const MwOnnxNode *node, const char *name)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const MwOnnx__AttributeProto *attribute = node->proto->attribute[i];
        if (attribute->name && strcmp(attribute->name, name) == 0)
            return attribute;
    }
    return NULL;
}

int64_t mw_onnx_int_of(const MwOnnxNode *node, const char *name, int64_t fallback)
{
    const MwOnnx__AttributeProto *attribute = mw_onnx_attribute(node, name);
    return attribute && attribute->has_i ? attribute->i : fallback;
}

double mw_onnx_float_of(const MwOnnxNode *node, const char *name, double fallback)
{
    const MwOnnx__AttributeProto *attribute = mw_onnx_attribute(node, name);
    return attribute && attribute->has_f ? (double)attribute->f : fallback;
}

bool mw_onnx_text_is(const MwOnnxNode *node, const char *name, const char *fallback,
                     const char *text)
{
    const MwOnnx__AttributeProto *attribute = mw_onnx_attribute(node, name);
    if (!attribute || !attribute->has_s)
        return strcmp(fallback, text) == 0;
    return attribute->s.len == strlen(text) &&
           memcmp(attribute->s.data, text, attribute->s.len) == 0;
}

int mw_onnx_ints_of(const MwOnnxNode *node, const char *name, int64_t *numbers, int room)
{
    const MwOnnx__AttributeProto *attribute = mw_onnx_attribute(node, name);
    if (!attribute || attribute->n_ints > (size_t)room)
        return -1;
    for (size_t i = 0; i < attribute->n_ints; i++)
        numbers[i] = attribute->ints[i];
    return (int)attribute->n_ints;
}
