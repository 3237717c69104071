/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of an export, and what the rules of operators build nodes of ONNX with.
 *
 * A value of the graph has a name of ONNX in one or two *orders* of its dimensions: their own, and
 * with the channels, which are the last, before the dimensions of space, as convolutions and
 * pooling of ONNX want them. A rule asks for the order that it needs, and gives its result in one;
 * where another asks for the other order, a Transpose is added. Constants, iotas and broadcasts
 * become nodes only where they are asked for.
 *
 * Tables are indexed by values and nodes of the graph: time and memory of an export grow linearly
 * with these. */
#ifndef MW_CODEGEN_ONNX_WRITER_H
#define MW_CODEGEN_ONNX_WRITER_H

#include "codegen/onnx/file.h"
#include "codegen/onnx/open.h"
#include "ir/key_map.h"
#include "ir/loops.h"

typedef enum { MW_ORDER_OWN, MW_ORDER_CHANNELS_FIRST, MW_ORDER_COUNT } MwDimOrder;

typedef MW_VEC(MwOnnx__NodeProto *) MwWrittenNodes;

/* A scan of the graph, which becomes one node with a body. */
typedef struct {
    MwWrittenNodes body;
    MW_VEC(MwNodeId) carries, ins, outs; /* its border, in the order of the graph */
} MwWrittenScan;

typedef struct {
    MwArena *arena;
    const MwGraph *graph;
    const MwOpenSizes *open;
    MwDiags *diags;
    MwLoops loops;
    MwOutputs results; /* the outputs of the file */
    bool *needed;      /* [nodes] some output depends on it */
    bool *is_given;    /* [values] it is a state that is an input of the file */
    int *uses;         /* [values] operands of needed nodes, and outputs, that are the value */
    int *user;         /* [values] the last needed node that takes it; -1: none does */
    int *filters; /* [values] operands of needed nodes that are it as the filter of a convolution */
    bool *is_named;                      /* [values] an output has the value and its name */
    bool *is_merged;                     /* [nodes] it is part of what its user becomes */
    const char *(*name)[MW_ORDER_COUNT]; /* [values] in each order; NULL: not there */
    const char **filter_name;            /* [values] as a filter of ONNX; NULL: not there */
    MwWrittenScan *scans;                /* [loops] */
    MwWrittenNodes nodes;                /* of the model itself */
    MwWrittenNodes *target;              /* where nodes are added: `nodes`, or the body of a scan */
    const MwNode *node;                  /* that is written; NULL: none */
    MW_VEC(MwOnnx__TensorProto *) initializers;
    MwOnnxExport *export;
    MW_VEC(MwOnnx__ValueInfo *) inputs, outputs;
    MwKeyMap names;               /* that are taken: how often, as a pointer to an int */
    MwKeyMap shared;              /* names of constants, and of what sizes give, by content */
    MW_VEC(int) refused;          /* nodes that cannot be expressed, */
    MW_VEC(const char *) reasons; /* and why: NULL, their operator */
} MwWriter;

/* ---- Nodes and initializers (build.c) ---- */

/* `wanted`, or with a suffix if that name is taken. */
const char *mw_writer_name(MwWriter *writer, const char *wanted);
/* A name for the value in its own order: that of the model, if no other output has it. */
const char *mw_writer_value_name(MwWriter *writer, MwValueId value);
/* The node that is written cannot be expressed for this reason. Returns false. */
bool mw_writer_refuse(MwWriter *writer, const char *reason);

/* Adds a node with one result and returns the name of that. An operand of NULL is left out. */
const char *mw_writer_put(MwWriter *writer, const char *op, const char *const *operands, int count);
/* The same with several results, whose names it stores. */
void mw_writer_put_many(MwWriter *writer, const char *op, const char *const *operands, int count,
                        const char **results, int result_count);
static inline const char *mw_writer_put1(MwWriter *writer, const char *op, const char *a)
{
    return mw_writer_put(writer, op, &a, 1);
}
static inline const char *mw_writer_put2(MwWriter *writer, const char *op, const char *a,
                                         const char *b)
{
    return mw_writer_put(writer, op, (const char *[]){a, b}, 2);
}
static inline const char *mw_writer_put3(MwWriter *writer, const char *op, const char *a,
                                         const char *b, const char *c)
{
    return mw_writer_put(writer, op, (const char *[]){a, b, c}, 3);
}

/* Attributes of the node that was added last. */
void mw_writer_int(MwWriter *writer, const char *name, int64_t value);
void mw_writer_ints(MwWriter *writer, const char *name, const int64_t *values, int count);
void mw_writer_float(MwWriter *writer, const char *name, double value);
void mw_writer_text(MwWriter *writer, const char *name, const char *value);
void mw_writer_graph(MwWriter *writer, const char *name, const MwOnnx__GraphProto *graph);

/* Names of initializers, of which equal ones are shared: one number, a tensor of no dimensions;
 * `count` times a number; i64[count]; f32[count]. */
const char *mw_writer_number(MwWriter *writer, MwType type, double value);
const char *mw_writer_filled(MwWriter *writer, MwType type, double value, int64_t count);
const char *mw_writer_integers(MwWriter *writer, const int64_t *values, int count);
const char *mw_writer_floats(MwWriter *writer, const float *values, int count);
/* Adds a weight, with dimension i in the file as dimension perm[i]; `perm` NULL: as they are. */
const char *mw_writer_weight(MwWriter *writer, MwValueId value, const int64_t *perm);

/* Common nodes; a cast to the type that the operand has is none. */
const char *mw_writer_cast(MwWriter *writer, const char *name, MwType from, MwType to);
const char *mw_writer_transpose(MwWriter *writer, const char *name, const int64_t *perm, int rank);
const char *mw_writer_unsqueeze(MwWriter *writer, const char *name, const int64_t *axes, int count);
const char *mw_writer_slice(MwWriter *writer, const char *name, int axis, MwOpenNumber begin,
                            MwOpenNumber end);

/* What a graph says of an input or output: the type of a value, and its shape, without dimension
 * `without` unless that is -1. */
MwOnnx__ValueInfo *mw_writer_info(MwWriter *writer, const char *name, MwValueId value, int without);

/* ---- Sizes (sizes.c) ---- */

/* Dimension d of a value, and number `at` of an attribute of a node. One that is no polynomial of
 * the open sizes is an error, and gives its first value. */
MwOpenNumber mw_writer_dim(MwWriter *writer, MwValueId value, int d);
MwOpenNumber mw_writer_attr(MwWriter *writer, MwAttrKey key, int at);
/* The name of i64[count] with these numbers. Shared. */
const char *mw_writer_numbers(MwWriter *writer, const MwOpenNumber *numbers, int count);
/* The shape of a value. `infers`: one size may be -1, as Reshape takes it. */
const char *mw_writer_shape(MwWriter *writer, MwValueId value, bool infers);
/* 0, 1, .. of i64[count]. Shared. */
const char *mw_writer_range(MwWriter *writer, MwOpenNumber count);
/* The node that is written, in the graph of a point. */
const MwNode *mw_writer_node_at(const MwWriter *writer, int point);

/* ---- Values (values.c) ---- */

/* The name of a value with its dimensions in an order; nodes that it takes are added where the
 * value is made. */
const char *mw_writer_in(MwWriter *writer, MwValueId value, MwDimOrder order);
/* Operand k of the node that is written, in its own order. */
const char *mw_writer_operand(MwWriter *writer, int k);
/* Whether the value is there with its channels first and not otherwise. */
bool mw_writer_is_channels_first(const MwWriter *writer, MwValueId value);
/* What stretches to the value, as element-wise operators stretch their operands, in an order of
 * `rank` dimensions. `may_lack`: it may have fewer elements than the value. */
const char *mw_writer_stretched(MwWriter *writer, MwValueId value, int rank, MwDimOrder order,
                                bool may_lack);
/* The filter of a convolution, [features, channels, sizes..]. */
const char *mw_writer_filter(MwWriter *writer, MwValueId value);
/* `name` is result k of the node that is written. Returns true. */
bool mw_writer_give(MwWriter *writer, int k, const char *name, MwDimOrder order);
static inline bool mw_writer_give_own(MwWriter *writer, const char *name)
{
    return mw_writer_give(writer, 0, name, MW_ORDER_OWN);
}
/* The result of the node that is written is its operand 0. Returns true. */
bool mw_writer_alias(MwWriter *writer);
/* The number of a constant; false if the value is none, or has others for other sizes. */
bool mw_writer_constant(const MwWriter *writer, MwValueId value, double *number);
/* The one node that takes the value, where no other and no output does; NULL: there is none. */
const MwNode *mw_writer_only_user(const MwWriter *writer, MwValueId value);

static inline const MwTensor *mw_writer_operand_tensor(const MwWriter *writer, int k)
{
    return mw_value_tensor(writer->graph, writer->node->operands[k]);
}
static inline MwValueId mw_writer_result(const MwWriter *writer, int k)
{
    return (MwValueId){writer->node->first_result + k};
}
/* The type in which an operator of ONNX runs that does not take bf16, with the same results. */
static inline MwType mw_writer_wide(MwType type)
{
    return type == MW_BF16 ? MW_F32 : type;
}
/* The axis of a tensor in an order: `axis` is that in its own. */
static inline int mw_writer_axis(int rank, int axis, MwDimOrder order)
{
    return order == MW_ORDER_OWN || axis == 0 ? axis : axis == rank - 1 ? 1 : axis + 1;
}

/* ---- Windows (rules_windows.c) ---- */

/* Adds the node of pooling that a node of the graph is, and returns its result with the channels
 * first; NULL after a refusal. */
const char *mw_writer_pool(MwWriter *writer, const MwNode *node, const char *op);

/* ---- Scans (scan.c) ---- */

/* Adds the node of a scan whose body is written. */
void mw_writer_scan(MwWriter *writer, int loop);

#endif
