/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scan becomes one node Scan. Its body has the nodes of the loop; it takes the values of before
 * by their names. */
#include "codegen/onnx/rules.h"

typedef struct {
    MwWriter *writer;
    MwWrittenScan *scan; /* of the graph; NULL: the scan is one node of it */
    MwWrittenNodes *body;
    MW_VEC(const char *) operands, results;      /* of the node */
    MW_VEC(MwOnnx__ValueInfo *) inputs, outputs; /* of the body */
    MW_VEC(int64_t) in_axes, in_directions, out_axes, out_directions;
} Scan;

/* A result of the body, under a name of its own: no input of the body, and no name twice. */
static void add_output(Scan *s, MwValueId value)
{
    MwWriter *writer = s->writer;
    const char *name =
        mw_writer_put1(writer, "Identity", mw_writer_in(writer, value, MW_ORDER_OWN));
    mw_vec_push(writer->arena, &s->outputs, mw_writer_info(writer, name, value, -1));
}

static void add_input(Scan *s, const char *name, MwValueId value)
{
    mw_vec_push(s->writer->arena, &s->inputs, mw_writer_info(s->writer, name, value, -1));
}

static const MwNode *node_of(const Scan *s, MwNodeId id)
{
    return mw_node(s->writer->graph, id);
}

static MwValueId result_of(const Scan *s, MwNodeId id)
{
    return mw_node_result(s->writer->graph, id, 0);
}

/* The scan_next of a carry; it is in the graph, as every loop is well formed. */
static MwNodeId next_of(const Scan *s, MwNodeId carry)
{
    return (MwNodeId){s->writer->loops.next[carry.index]};
}

static void add_carries(Scan *s)
{
    MwWriter *writer = s->writer;
    for (int i = 0; i < s->scan->carries.count; i++) {
        const MwNodeId carry = s->scan->carries.at[i];
        add_input(s, writer->name[result_of(s, carry).index][MW_ORDER_OWN], result_of(s, carry));
        add_output(s, node_of(s, next_of(s, carry))->operands[0]);
        mw_vec_push(writer->arena, &s->operands,
                    mw_writer_in(writer, node_of(s, carry)->operands[0], MW_ORDER_OWN));
        mw_vec_push(writer->arena, &s->results,
                    writer->name[result_of(s, next_of(s, carry)).index][MW_ORDER_OWN]);
    }
}

static void add_ins(Scan *s)
{
    MwWriter *writer = s->writer;
    for (int i = 0; i < s->scan->ins.count; i++) {
        const MwNode *in = node_of(s, s->scan->ins.at[i]);
        const MwValueId value = result_of(s, s->scan->ins.at[i]);
        add_input(s, writer->name[value.index][MW_ORDER_OWN], value);
        mw_vec_push(writer->arena, &s->operands,
                    mw_writer_in(writer, in->operands[0], MW_ORDER_OWN));
        mw_vec_push(writer->arena, &s->in_axes, mw_node_int(in, MW_ATTR_AXIS));
        mw_vec_push(writer->arena, &s->in_directions, mw_node_int(in, MW_ATTR_REVERSE));
    }
}

/* A Scan has as many steps as one of its inputs has elements, so it has one. */
static void add_count(Scan *s)
{
    MwWriter *writer = s->writer;
    if (s->scan->ins.count)
        return;
    const MwNode *before = writer->node;
    const MwNodeId says = s->scan->carries.count ? s->scan->carries.at[0] : s->scan->outs.at[0];
    writer->node = node_of(s, says);
    const char *steps = mw_writer_range(writer, mw_writer_attr(writer, MW_ATTR_STEPS, 0));
    writer->node = before;
    MwOnnx__ValueInfo *info =
        mw_writer_info(writer, mw_writer_name(writer, "/step"), result_of(s, says), -1);
    info->type->tensor_type->elem_type = 7; /* INT64 */
    info->type->tensor_type->shape->n_dim = 0;
    mw_vec_push(writer->arena, &s->inputs, info);
    mw_vec_push(writer->arena, &s->operands, steps);
    mw_vec_push(writer->arena, &s->in_axes, 0);
    mw_vec_push(writer->arena, &s->in_directions, 0);
}

static void add_outs(Scan *s)
{
    MwWriter *writer = s->writer;
    for (int i = 0; i < s->scan->outs.count; i++) {
        const MwNode *out = node_of(s, s->scan->outs.at[i]);
        add_output(s, out->operands[0]);
        mw_vec_push(writer->arena, &s->results,
                    writer->name[result_of(s, s->scan->outs.at[i]).index][MW_ORDER_OWN]);
        mw_vec_push(writer->arena, &s->out_axes, mw_node_int(out, MW_ATTR_AXIS));
        mw_vec_push(writer->arena, &s->out_directions, mw_node_int(out, MW_ATTR_REVERSE));
    }
}

static MwOnnx__GraphProto *body(Scan *s)
{
    MwOnnx__GraphProto *graph = MW_NEW(s->writer->arena, MwOnnx__GraphProto, 1);
    mw_onnx__graph_proto__init(graph);
    graph->name = (char *)mw_writer_name(s->writer, "scan");
    graph->n_node = (size_t)s->body->count;
    graph->node = s->body->at;
    graph->n_input = (size_t)s->inputs.count;
    graph->input = s->inputs.at;
    graph->n_output = (size_t)s->outputs.count;
    graph->output = s->outputs.at;
    return graph;
}

/* Adds the node, behind its body; returns its results. */
static char **put_scan(Scan *s, int result_count)
{
    MwWriter *writer = s->writer;
    const char **results = MW_NEW(writer->arena, const char *, result_count);
    mw_writer_put_many(writer, "Scan", s->operands.at, s->operands.count, results, result_count);
    mw_writer_int(writer, "num_scan_inputs", s->in_axes.count);
    mw_writer_ints(writer, "scan_input_axes", s->in_axes.at, s->in_axes.count);
    mw_writer_ints(writer, "scan_input_directions", s->in_directions.at, s->in_directions.count);
    if (s->out_axes.count) {
        mw_writer_ints(writer, "scan_output_axes", s->out_axes.at, s->out_axes.count);
        mw_writer_ints(writer, "scan_output_directions", s->out_directions.at,
                       s->out_directions.count);
    }
    mw_writer_graph(writer, "body", body(s));
    return mw_vec_last(writer->target)->output;
}

void mw_writer_scan(MwWriter *writer, int loop)
{
    MwWrittenScan *scan = &writer->scans[loop];
    Scan s = {.writer = writer, .scan = scan, .body = &scan->body};
    writer->target = s.body;
    add_carries(&s);
    add_ins(&s);
    add_count(&s);
    add_outs(&s);
    writer->target = &writer->nodes;
    char **results = put_scan(&s, s.results.count);
    for (int k = 0; k < s.results.count; k++)
        results[k] = (char *)s.results.at[k];
}

/* ---- Linear recurrences ---- */

/* y[t] = decay[t] y[t - 1] + x[t] as a Scan of its own. */
bool mw_write_linear_scan(MwWriter *writer, const char *op)
{
    (void)op;
    const MwValueId x = writer->node->operands[0];
    const int axis = (int)mw_node_int(writer->node, MW_ATTR_AXIS);
    const int64_t reverse = mw_node_int(writer->node, MW_ATTR_REVERSE);
    const int rank = mw_value_tensor(writer->graph, x)->rank;
    MwWrittenNodes *outside = writer->target, inside = {0};
    Scan s = {.writer = writer, .body = &inside};
    MwOpenNumber sizes[MW_MAX_RANK];
    int count = 0;
    for (int d = 0; d < rank; d++)
        if (d != axis)
            sizes[count++] = mw_writer_dim(writer, x, d);
    const MwType type = mw_value_tensor(writer->graph, x)->type;
    const char *first = mw_writer_put2(writer, "Expand", mw_writer_number(writer, type, 0),
                                       mw_writer_numbers(writer, sizes, count));
    const char *const operands[] = {first, mw_writer_operand(writer, 0),
                                    mw_writer_operand(writer, 1)};
    const char *steps[MW_COUNT(operands)];
    for (int k = 0; k < MW_COUNT(operands); k++) {
        steps[k] = mw_writer_name(writer, "/step");
        mw_vec_push(writer->arena, &s.operands, operands[k]);
        mw_vec_push(writer->arena, &s.inputs, mw_writer_info(writer, steps[k], x, axis));
    }
    for (int k = 0; k < 2; k++) {
        mw_vec_push(writer->arena, &s.in_axes, axis);
        mw_vec_push(writer->arena, &s.in_directions, reverse);
    }
    mw_vec_push(writer->arena, &s.out_axes, axis);
    mw_vec_push(writer->arena, &s.out_directions, reverse);
    writer->target = &inside;
    const char *next =
        mw_writer_put2(writer, "Add", mw_writer_put2(writer, "Mul", steps[2], steps[0]), steps[1]);
    const char *out = mw_writer_put1(writer, "Identity", next);
    mw_vec_push(writer->arena, &s.outputs, mw_writer_info(writer, next, x, axis));
    mw_vec_push(writer->arena, &s.outputs, mw_writer_info(writer, out, x, axis));
    writer->target = outside;
    return mw_writer_give_own(writer, put_scan(&s, 2)[1]);
}
