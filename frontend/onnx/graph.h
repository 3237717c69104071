/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An ONNX graph as the importer works on it: values and the nodes that make them, in the order of
 * the file, in which a node comes after those that it reads.
 *
 * What is known of a value grows as the nodes are translated, one after another: its type and
 * sizes; its elements, where they do not depend on the inputs of the model; and the term of the
 * language that computes it (emit.h). */
#ifndef MW_FRONTEND_ONNX_GRAPH_H
#define MW_FRONTEND_ONNX_GRAPH_H

#include "base/intern.h"
#include "frontend/onnx/tensor.h"
#include "frontend/terms/name_map.h"

typedef struct MwOnnxNode MwOnnxNode;
typedef struct MwOnnxTerm MwOnnxTerm;

/* The type and the sizes of a tensor. */
typedef struct {
    MwType type;
    int rank;
    MwOnnxDim dim[MW_MAX_RANK];
} MwOnnxShape;

typedef struct MwOnnxValue MwOnnxValue;

struct MwOnnxValue {
    const char *name;     /* of ONNX; interned */
    MwOnnxNode *producer; /* NULL: an input, an initializer, or nothing */
    int result;           /* which of the producer's */
    enum { MW_ONNX_UNKNOWN, MW_ONNX_BAD, MW_ONNX_KNOWN } state;

    /* Where it is KNOWN: */
    MwOnnxShape shape;
    const MwOnnxTensor *constant;  /* NULL: depends on inputs, or is not computed here */
    const MwOnnxTensor *stretched; /* NULL: not known; of a value that is no constant: elements of
                                      which those of the value are copies, along dimensions that
                                      are 1 here */
    bool is_weight;                /* an initializer that is trained: a name, not numbers */
    MwOnnxTerm *term;              /* NULL: not needed yet, of a constant */
    int8_t order[MW_MAX_RANK];     /* dimension i of the term is dimension order[i] of the value */
    const MwOnnxNode *user;        /* the first node that reads it; NULL: none */
    bool is_output;                /* of the graph */
    const char *module;            /* the innermost that all of its readers are in */
    MwOnnxValue *same;             /* a weight that this one is, transposed; NULL: none */
};

struct MwOnnxNode {
    const MwOnnx__NodeProto *proto;
    const char *op;     /* interned */
    const char *label;  /* its name for messages */
    const char *module; /* path of the module it belongs to; "" for the model itself */
    int input_count, output_count;
    MwOnnxValue **inputs; /* NULL: left out */
    MwOnnxValue **outputs;
};

typedef struct {
    const char *name;
    int64_t value; /* its default */
    bool is_fixed; /* it is its default, since something depends on the number */
} MwOnnxSymbol;

typedef MW_VEC(MwOnnxSymbol) MwOnnxSymbols;

typedef struct {
    MwArena *arena;
    MwInterner *interner;
    MwDiags *diags;
    const char *path;
    const char *name; /* of the graph */
    int64_t opset;
    MwNameMap values; /* MwOnnxValue by name */
    MW_VEC(MwOnnxValue *) inputs, outputs, initializers;
    MW_VEC(MwOnnxNode *) nodes;
    MwOnnxSymbols symbols;
    const MwOnnxSymbols *given; /* sizes whose defaults are given */
    bool has_fixed_batch;       /* the first size of an input is a symbol that is its default */
} MwOnnxGraph;

/* ---- read.c ---- */

/* Unpacks the bytes of a file. NULL after an error. The message lies in `arena`, and refers to
 * none of the bytes. */
const MwOnnx__ModelProto *mw_onnx_unpack(MwArena *arena, const void *data, size_t bytes,
                                         const char *path, MwDiags *diags);

/* Fills the graph of a model; its arena, interner, diags, path, the values that sizes are
 * given, and the symbols of a reading before are given. False after errors. */
bool mw_onnx_graph_read(MwOnnxGraph *graph, const MwOnnx__ModelProto *model);

/* The symbol of the name; NULL: there is none. */
MwOnnxSymbol *mw_onnx_symbol(const MwOnnxSymbols *symbols, const char *name);

/* ---- attribute.c ---- */

/* The attribute of a name; NULL if the node has none. */
const MwOnnx__AttributeProto *mw_onnx_attribute(const MwOnnxNode *node, const char *name);
int64_t mw_onnx_int_of(const MwOnnxNode *node, const char *name, int64_t fallback);
double mw_onnx_float_of(const MwOnnxNode *node, const char *name, double fallback);
/* Whether the text of the attribute, or `fallback` where there is none, is `text`. */
bool mw_onnx_text_is(const MwOnnxNode *node, const char *name, const char *fallback,
                     const char *text);
/* Its numbers, at most `room`; -1 if there is no such attribute or it has more. */
int mw_onnx_ints_of(const MwOnnxNode *node, const char *name, int64_t *numbers, int room);

/* Input i of the node; NULL if it is left out. */
static inline MwOnnxValue *mw_onnx_input(const MwOnnxNode *node, int i)
{
    return i < node->input_count ? node->inputs[i] : NULL;
}

#endif
