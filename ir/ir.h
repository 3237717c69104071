/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operator graph: one model, from the front end to partition.
 *
 * A graph is an array of nodes and an array of values. A node applies one operator of ir/ops.def
 * to values and makes one or more new values; sources (inputs, weights, states, constants) are
 * nodes without operands. Invariant: operands are results of earlier nodes, so a plain loop over
 * nodes is in topological order. Nodes are only added at the end; a pass that removes or
 * replaces nodes builds a new graph. What a pass learns is in side tables of its own, indexed by
 * node or value.
 *
 * A graph dumps to a flat .graph text that parses back to the same graph (ir/print.h). */
#ifndef MW_IR_IR_H
#define MW_IR_IR_H

#include "base/diag.h"
#include "base/intern.h"
#include "base/role.h"
#include "base/spec.h"
#include "base/tensor.h"
#include "base/vec.h"
#include "ir/op.h"

typedef struct {
    int32_t index; /* negative: no node */
} MwNodeId;

typedef struct {
    int32_t index; /* negative: no value */
} MwValueId;

static inline MwValueId mw_no_value(void)
{
    return (MwValueId){-1};
}

static inline bool mw_has_value(MwValueId value)
{
    return value.index >= 0;
}

static inline bool mw_value_equal(MwValueId a, MwValueId b)
{
    return a.index == b.index;
}

/* When a node runs within a training step. */
typedef enum {
    MW_PHASE_FORWARD,  /* once per micro-batch */
    MW_PHASE_BACKWARD, /* once per micro-batch, after forward */
    /* once per micro-batch, after backward: gradients of weights, if the schedule runs them
     * apart from those that earlier stages wait for */
    MW_PHASE_BACKWARD_WEIGHT,
    MW_PHASE_UPDATE, /* once per step, after all micro-batches */
    MW_PHASE_COUNT
} MwPhase;

/* Where a node comes from. Every pass keeps it. */
typedef struct {
    MwSpan span;
    /* interned path of blocks and repeats: "layers.3.attention"; "" at the top */
    const char *scope;
    int repeat;    /* index into MwGraph.repeats of the innermost repeat; -1: none */
    int iteration; /* iteration of that repeat */
    /* Layer of the model as passes/graph/layers.c clusters it; 0 before. A gradient has the
     * layer of the node that it differentiates, an update that of its weight. */
    int layer;
} MwOrigin;

typedef struct {
    MwOp op;
    MwPhase phase;
    const MwValueId *operands;
    int operand_count;
    int32_t first_result; /* results are values first_result .. first_result + result_count - 1 */
    int result_count;
    const MwAttr *attrs; /* in the operator's order, with defaults filled in */
    int attr_count;
    MwOrigin origin;
} MwNode;

typedef struct {
    MwTensor tensor;
    MwNodeId node;
    const char *name; /* interned and unique in the graph; never NULL */
} MwValue;

/* What the user pins for a value: `with spec = …, ring = …, stage = …, remat = …`, or `--pin`. */
typedef struct {
    MwValueId value;
    MwSpan span;
    const char *text; /* of the option `--pin`, "w=[R, S0]"; NULL: the pin is an annotation */
    bool has_spec;
    MwSpec spec;
    int ring;  /* -1: not pinned; else whether its node has a ring (MwShardingRule) */
    int stage; /* -1: not pinned */
    int remat; /* -1: not pinned; else 0 or 1 */
} MwPin;

/* A pin of `value` that pins nothing. */
static inline MwPin mw_pin_new(MwValueId value)
{
    return (MwPin){.value = value, .ring = -1, .stage = -1, .remat = -1};
}

/* Whether the pin restricts the strategies of a node. */
static inline bool mw_pin_is_of_sharding(const MwPin *pin)
{
    return pin->has_spec || pin->ring >= 0;
}

typedef struct {
    const char *name; /* the loop variable's or size's name in scopes, e.g. "layers" */
    int count;
    int parent, parent_iteration; /* the enclosing repeat; -1: none */
} MwRepeat;

typedef enum {
#define OPTIMIZER(id, ...) MW_OPTIMIZER_##id,
#define COMPOSED(id, ...) MW_OPTIMIZER_##id,
#include "ir/optimizers.def"
    MW_OPTIMIZER_COUNT
} MwOptimizer; /* facts: ir/optimizer.h */
/* What a train statement keeps in the memory of the host. */
typedef enum {
    MW_OFFLOAD_NONE,
    MW_OFFLOAD_STATES, /* states of the optimizer */
    MW_OFFLOAD_WEIGHTS /* and weights, of which the device has copies */
} MwOffload;
typedef enum { MW_SCHEDULE_CONSTANT, MW_SCHEDULE_LINEAR, MW_SCHEDULE_COSINE } MwRateSchedule;

/* Glob patterns of names of weights: `*` is any text, `?` any letter. */
typedef MW_VEC(const char *) MwPatterns;

/* A number, or a tensor that is computed from the number of the step. */
typedef struct {
    double number;
    const char *tensor; /* interned name of one of MwGraph.rates; NULL: it is `number` */
} MwRate;

/* Values for the weights that a pattern matches; the first pattern that matches counts. */
typedef struct {
    const char *pattern;
    MwRate value;
} MwOverride;
typedef MW_VEC(MwOverride) MwOverrides;

/* A `train` statement. The pass update expresses it as nodes. */
typedef struct {
    const char *loss; /* the interned name of one of MwGraph.metrics */
    MwSpan span;
    MwOptimizer optimizer;
    MwRate learning_rate;
    double option[MW_ATTR_COUNT]; /* the optimizer's hyperparameters by attribute; others are 0 */
    MwOverrides rates;            /* instead of learning_rate; the schedule scales them too */
    MwOverrides decays;           /* instead of the option WEIGHT_DECAY */
    MwPatterns no_decay;          /* weights without weight decay, whatever `decays` says */
    MwPatterns sparse;            /* tables of which a step takes only the rows looked up */
    MwPatterns only;              /* the weights that are trained; empty: all */
    double clip_norm;             /* 0: no clipping */
    double ema;                   /* decay of the moving averages of weights; 0: there are none */
    MwRateSchedule schedule;
    int64_t warmup_steps, total_steps;
    double final_rate; /* fraction of learning_rate at total_steps */
    int micro_batches; /* 0: the compiler's choice */
    MwType states;     /* that the optimizer keeps its states in: F32, BF16 or FP8 */
    MwType accumulate; /* that gradients of micro-batches are added up in: F32 or BF16 */
    MwOffload offload;
} MwTrain;

#define MW_ONE_LOSS "loss" /* the name of the loss of a model that has one */

typedef struct {
    const char *name;
    MwValueId value;
} MwOutput; /* an output, a metric or a rate */
typedef MW_VEC(MwOutput) MwOutputs;

/* By what gradients are multiplied on their way back (passes/graph/loss_scale.h). */
typedef struct {
    double initial; /* 0: by nothing, and no step is skipped */
    int64_t growth; /* good steps in a row after which the scale is doubled; 0: it is never */
} MwLossScale;

/* How products take their operands as floats of 8 bits (passes/graph/quantise.c). */
typedef struct {
    int64_t history; /* steps whose greatest absolute value an operand is scaled by; 0: none is */
    int64_t margin;  /* powers of two that are left free beyond that value */
} MwFp8Scaling;

#define MW_FP8_MOST_HISTORY (1 << 20)
#define MW_FP8_MOST_MARGIN 32

#define MW_LOSS_SCALE_MOST 0x1p64 /* of a scale; the least is 1 / that */

/* At the end of a step `target`, the value of a WEIGHT or STATE, becomes `value`. If `value`
 * comes from an earlier phase than update, `target` is an accumulator: it becomes `value` after
 * every micro-batch, and has its initial value again when the next step begins. */
typedef struct {
    MwValueId target, value;
} MwAssign;

/* Values by interned name: a hash table with open addressing and linear probing, at most half
 * full. */
typedef struct {
    const char *name; /* interned; NULL: the slot is empty */
    MwValueId value;
    int next_suffix; /* name.i is taken for 1 <= i < next_suffix; 0 is as 1 */
} MwNameSlot;

typedef struct {
    MwNameSlot *slots;
    size_t capacity, count;
} MwNameTable;

typedef struct {
    MwArena *arena;
    MwInterner *interner;
    const char *name; /* of the model */
    MwNameTable *names;
    MW_VEC(MwNode) nodes;
    MW_VEC(MwValue) values;
    MwOutputs outputs;
    MW_VEC(MwAssign) assigns;
    MW_VEC(MwPin) pins;
    MwAxisRolePins roles; /* of the mesh axes in products and attention, as pinned; by pins */
    MW_VEC(MwRepeat) repeats;
    /* f32[], by unique interned names: the numbers that a run shows of each step. A loss is one
     * that a train statement minimises; losses come first. The node of a metric runs in the forward
     * phase, or in the update if the number is known only after the last micro-batch. The graph of
     * a stage has the metrics that the stage makes */
    MwOutputs metrics;
    /* f32[], in the update phase: the rates of train statements that are no numbers. They depend on
     * the number of the step alone. The pass update uses them up; then there are none */
    MwOutputs rates;
    MW_VEC(MwTrain) trains; /* the train statements of the model; none: it is for inference */
    uint64_t source_hash;   /* of the files that it was read from; 0: of none */
    /* of contractions. A type of 16 bits is applied by the pass precision, which leaves F32 here;
     * TF32 stays, and codegen applies it (mw_product_type). FP8 is never here: it is BF16, and
     * `fp8` */
    MwType precision;
    /* of products in BF16, those of layers; the pass quantise applies it, and leaves none */
    MwFp8Scaling fp8;
    /* of training; differentiate and update apply it, and it is nothing then */
    MwLossScale loss_scale;
    MwOrigin origin; /* of the nodes added next; the code that adds them sets it */
    MwPhase phase;   /* of the nodes added next; the code that adds them sets it */
} MwGraph;

/* An empty graph in `arena`. `interner` must outlive it. */
MwGraph *mw_graph_new(MwArena *arena, MwInterner *interner, const char *name);
/* A new graph with the name, repeats, precision, scales, train statements and roles of axes of
 * `like`, without metrics. */
MwGraph *mw_graph_new_like(MwArena *arena, const MwGraph *like);

/* That of a model of which nothing is said but its precision. */
MwLossScale mw_loss_scale_of(MwType precision);

/* The precision that a model is said to have, FP8 among them; and has it be that, with the usual
 * scales. */
MwType mw_graph_precision(const MwGraph *graph);
void mw_graph_set_precision(MwGraph *graph, MwType precision);
/* The scaling of a model of which nothing is said but its precision. */
MwFp8Scaling mw_fp8_scaling_of(MwType precision);

/* What a contraction takes operands of `type` as. */
MwType mw_product_type(const MwGraph *graph, MwType type);

/* A node to be added. */
typedef struct {
    MwOp op;
    const MwValueId *operands;
    int operand_count;
    const MwAttr *attrs; /* in any order; missing ones take their default */
    int attr_count;
    const MwTensor *given; /* result type of INPUT, WEIGHT, STATE and STEP; others ignore it */
    /* name of the result; several results get name.0, name.1; NULL: generated. A name that is
     * taken gets a suffix */
    const char *name;
    const char *const *result_names; /* instead of `name`: a name for each result; may be NULL */
    const char *callee; /* what messages of its shape rule call it; NULL: the operator's name */
    /* the results of a node with these attributes and operands of these types, in a graph with the
     * same interner, if there is one: its shape rule then need not be asked; NULL: none */
    const MwValue *like;
    int like_count;
} MwNodeSpec;

/* Adds a node and infers its result types. If its shape rule refuses it, adds errors at
 * graph->origin.span and returns a node with index -1. */
MwNodeId mw_graph_add(MwGraph *graph, const MwNodeSpec *spec, MwDiags *diags);

/* Names `value` `wanted`, with a suffix if that name is taken. */
void mw_graph_rename(MwGraph *graph, MwValueId value, const char *wanted);

/* Whether a train statement minimises the metric of that interned name. */
bool mw_metric_is_loss(const MwGraph *graph, const char *name);

/* The value with that interned name; no value if there is none. */
MwValueId mw_graph_find(const MwGraph *graph, const char *interned);

static inline MwNode *mw_node(const MwGraph *graph, MwNodeId id)
{
    return &graph->nodes.at[id.index];
}

static inline MwValue *mw_value(const MwGraph *graph, MwValueId id)
{
    return &graph->values.at[id.index];
}

static inline const MwTensor *mw_value_tensor(const MwGraph *graph, MwValueId id)
{
    return &graph->values.at[id.index].tensor;
}

static inline MwNode *mw_value_node(const MwGraph *graph, MwValueId id)
{
    return mw_node(graph, mw_value(graph, id)->node);
}

static inline MwValueId mw_node_result(const MwGraph *graph, MwNodeId id, int k)
{
    return (MwValueId){mw_node(graph, id)->first_result + k};
}

/* Attribute `key` of a node. The node must have it, except for mw_node_attr. */
const MwAttr *mw_node_attr(const MwNode *node, MwAttrKey key); /* NULL if the node has none */
int64_t mw_node_int(const MwNode *node, MwAttrKey key);
double mw_node_float(const MwNode *node, MwAttrKey key);
const char *mw_node_text(const MwNode *node, MwAttrKey key);
MwSpec mw_node_spec(const MwNode *node, MwAttrKey key); /* the attribute must be given */

/* Whether an input is no part of the batch and the same for every micro-batch: it says so, or has
 * no dimensions. */
static inline bool mw_input_is_whole(const MwGraph *graph, const MwNode *input)
{
    return mw_node_int(input, MW_ATTR_WHOLE) ||
           graph->values.at[input->first_result].tensor.rank == 0;
}

/* The value of that interned name; no value if the list has none. */
MwValueId mw_outputs_find(const MwOutputs *outputs, const char *name);

/* True if some node runs in `phase`. */
bool mw_graph_has_phase(const MwGraph *graph, MwPhase phase);

static inline bool mw_assign_accumulates(const MwGraph *graph, const MwAssign *assign)
{
    return mw_value_node(graph, assign->value)->phase != MW_PHASE_UPDATE;
}

#endif
