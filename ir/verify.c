/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checker of graphs. It stops at the first error, because later checks rely on earlier ones,
 * and it never uses an index that it has not checked. */
#include "ir/verify.h"

#include "ir/loops.h"
#include "ir/print.h"
#include "ir/shape/shape.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    const MwGraph *graph;
    const char *pass;
    MwDiags *diags;
    MwArena *arena; /* freed after the check */
} GraphCheck;

static bool fail(GraphCheck *check, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);

static bool fail(GraphCheck *check, MwSpan span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = mw_arena_vprintf(check->arena, format, args);
    va_end(args);
    mw_diag_error(check->diags, span, "after %s: %s", check->pass, message);
    return false;
}

static bool value_exists(const GraphCheck *check, MwValueId value)
{
    return value.index >= 0 && value.index < check->graph->values.count;
}

static const char *name_of(const GraphCheck *check, MwValueId value)
{
    return mw_value(check->graph, value)->name;
}

/* Past the words of a name that are numbers: "w" of "0.1.w". */
static const char *after_numbers(const char *name)
{
    const char *end = name;
    while (isdigit((unsigned char)*end))
        end++;
    return end > name && *end == '.' ? after_numbers(end + 1) : name;
}

/* "1.e5" */
static bool is_fraction(const char *name)
{
    const char *end = name + strspn(name, "0123456789");
    return end[0] == '.' && (end[1] == 'e' || end[1] == 'E') &&
           end[2 + strspn(end + 2, "0123456789")] == '\0';
}

/* Whether the lexer reads it as one name: words of letters, digits and '_', joined by '.', of
 * which the first that is no number does not begin with a digit. */
static bool is_name(const char *name)
{
    if (!name || isdigit((unsigned char)*after_numbers(name)) || is_fraction(name))
        return false;
    for (const char *c = name; *c; c++)
        if (*c == '.' ? (c == name || !c[1] || c[1] == '.')
                      : !isalnum((unsigned char)*c) && *c != '_')
            return false;
    return *name != '\0';
}

/* Checks that the results of nodes are the values in order, each once. */
static bool check_results(GraphCheck *check, int n, int *next_value)
{
    const MwNode *node = &check->graph->nodes.at[n];
    if (node->result_count < 1 || node->first_result != *next_value ||
        node->first_result + node->result_count > check->graph->values.count)
        return fail(check, node->origin.span, "node %d does not have the next values as results",
                    n);
    for (int k = 0; k < node->result_count; k++) {
        const MwValue *value = &check->graph->values.at[node->first_result + k];
        if (value->node.index != n)
            return fail(check, node->origin.span, "value %d does not know its node, %d",
                        node->first_result + k, n);
        if (!is_name(value->name))
            return fail(check, node->origin.span, "value %d has no proper name",
                        node->first_result + k);
        if (mw_graph_find(check->graph, value->name).index != node->first_result + k)
            return fail(check, node->origin.span, "the name '%s' does not lead to its value",
                        value->name);
    }
    *next_value += node->result_count;
    return true;
}

static const char *node_name(const GraphCheck *check, const MwNode *node)
{
    return check->graph->values.at[node->first_result].name;
}

/* Whether an edge of the forward phase leads to an earlier layer. Sources serve every layer. */
static bool flows_back(const MwNode *maker, const MwNode *user)
{
    return maker->operand_count > 0 && user->phase == MW_PHASE_FORWARD &&
           maker->origin.layer > user->origin.layer;
}

static bool check_operands(GraphCheck *check, const MwNode *node)
{
    for (int i = 0; i < node->operand_count; i++) {
        MwValueId operand = node->operands[i];
        if (operand.index < 0 || operand.index >= node->first_result)
            return fail(check, node->origin.span, "operand %d of '%s' does not come before it", i,
                        node_name(check, node));
        const MwNode *maker = mw_value_node(check->graph, operand);
        if (maker->phase > node->phase)
            return fail(check, node->origin.span, "'%s' runs %s but uses '%s', which runs %s",
                        node_name(check, node), mw_phase_name(node->phase), name_of(check, operand),
                        mw_phase_name(maker->phase));
        if (flows_back(maker, node))
            return fail(check, node->origin.span,
                        "'%s' is in layer %d but uses '%s', which is in layer %d",
                        node_name(check, node), node->origin.layer, name_of(check, operand),
                        maker->origin.layer);
    }
    return true;
}

/* Checks that the node has exactly the attributes of its operator, in order. */
static bool check_attrs(GraphCheck *check, const MwNode *node)
{
    uint64_t wanted = mw_op_info(node->op)->attrs;
    int at = 0;
    for (int key = 0; key < MW_ATTR_COUNT; key++)
        if (wanted >> key & 1)
            if (at >= node->attr_count || node->attrs[at++].key != (MwAttrKey)key)
                return fail(check, node->origin.span, "'%s' lacks attribute %s",
                            node_name(check, node), mw_attr_name((MwAttrKey)key));
    if (at != node->attr_count)
        return fail(check, node->origin.span, "'%s' has attributes that %s does not have",
                    node_name(check, node), mw_op_info(node->op)->name);
    return true;
}

static bool check_types(GraphCheck *check, const MwNode *node)
{
    MwTensor *operands = MW_NEW(check->arena, MwTensor, node->operand_count);
    for (int i = 0; i < node->operand_count; i++)
        operands[i] = *mw_value_tensor(check->graph, node->operands[i]);
    MwShapeQuery query = {.op = node->op,
                          .operands = operands,
                          .operand_count = node->operand_count,
                          .attrs = node->attrs,
                          .attr_count = node->attr_count,
                          .given = &check->graph->values.at[node->first_result].tensor,
                          .span = node->origin.span};
    MwTensor *results;
    int count;
    if (!mw_shape_infer(check->arena, &query, &results, &count, check->diags))
        return fail(check, node->origin.span, "'%s' has no type", node_name(check, node));
    if (count != node->result_count)
        return fail(check, node->origin.span, "'%s' has %d results instead of %d",
                    node_name(check, node), node->result_count, count);
    for (int k = 0; k < count; k++) {
        const MwValue *value = &check->graph->values.at[node->first_result + k];
        char has[MW_TENSOR_TEXT_BYTES], should[MW_TENSOR_TEXT_BYTES];
        if (!mw_tensor_equal(&value->tensor, &results[k]))
            return fail(check, node->origin.span, "'%s' is %s but should be %s", value->name,
                        mw_tensor_text(&value->tensor, has), mw_tensor_text(&results[k], should));
    }
    return true;
}

static bool repeat_place_exists(const GraphCheck *check, int repeat, int iteration, int before)
{
    return repeat == -1 || (repeat >= 0 && repeat < before && iteration >= 0 &&
                            iteration < check->graph->repeats.at[repeat].count);
}

static bool check_origin(GraphCheck *check, const MwNode *node)
{
    const MwOrigin *origin = &node->origin;
    if (!origin->scope || (*origin->scope && !is_name(origin->scope)))
        return fail(check, origin->span, "'%s' has no proper scope", node_name(check, node));
    if (!repeat_place_exists(check, origin->repeat, origin->iteration, check->graph->repeats.count))
        return fail(check, origin->span,
                    "'%s' lies in iteration %d of repeat %d, which does not "
                    "exist",
                    node_name(check, node), origin->iteration, origin->repeat);
    if (origin->layer < 0)
        return fail(check, origin->span, "'%s' is in layer %d", node_name(check, node),
                    origin->layer);
    return true;
}

static bool check_nodes(GraphCheck *check)
{
    int next_value = 0;
    for (int n = 0; n < check->graph->nodes.count; n++) {
        const MwNode *node = &check->graph->nodes.at[n];
        if ((unsigned)node->op >= MW_OP_COUNT || (unsigned)node->phase >= MW_PHASE_COUNT)
            return fail(check, node->origin.span, "node %d has no proper operator or phase", n);
        if (!check_results(check, n, &next_value) || !check_operands(check, node) ||
            !check_attrs(check, node) || !check_types(check, node) || !check_origin(check, node))
            return false;
    }
    if (next_value != check->graph->values.count)
        return fail(check, mw_span_none(), "value %d belongs to no node", next_value);
    return true;
}

static bool check_repeats(GraphCheck *check)
{
    for (int i = 0; i < check->graph->repeats.count; i++) {
        const MwRepeat *repeat = &check->graph->repeats.at[i];
        if (!is_name(repeat->name) || repeat->count < 0 ||
            !repeat_place_exists(check, repeat->parent, repeat->parent_iteration, i))
            return fail(check, mw_span_none(), "repeat %d is not well formed", i);
    }
    return true;
}

static bool check_outputs(GraphCheck *check)
{
    for (int i = 0; i < check->graph->outputs.count; i++) {
        const MwOutput *output = &check->graph->outputs.at[i];
        if (!is_name(output->name))
            return fail(check, mw_span_none(), "output %d has no proper name", i);
        if (!value_exists(check, output->value))
            return fail(check, mw_span_none(), "output '%s' has no value", output->name);
        for (int k = 0; k < i; k++)
            if (check->graph->outputs.at[k].name == output->name)
                return fail(check, mw_span_none(), "two outputs are named '%s'", output->name);
    }
    return true;
}

static bool check_assign(GraphCheck *check, const MwAssign *assign, bool *is_assigned)
{
    const MwGraph *graph = check->graph;
    if (!value_exists(check, assign->target) || !value_exists(check, assign->value))
        return fail(check, mw_span_none(), "an assign lacks its target or value");
    const MwNode *target = mw_value_node(graph, assign->target);
    const char *name = name_of(check, assign->target);
    if (target->op != MW_OP_WEIGHT && target->op != MW_OP_STATE)
        return fail(check, target->origin.span, "'%s' is assigned but is no weight or state", name);
    if (!mw_tensor_equal(mw_value_tensor(graph, assign->target),
                         mw_value_tensor(graph, assign->value)))
        return fail(check, target->origin.span, "'%s' is assigned '%s', which has another type",
                    name, name_of(check, assign->value));
    if (is_assigned[assign->target.index])
        return fail(check, target->origin.span, "'%s' is assigned twice", name);
    is_assigned[assign->target.index] = true;
    return true;
}

static bool check_assigns(GraphCheck *check)
{
    bool *is_assigned = MW_NEW(check->arena, bool, check->graph->values.count);
    for (int i = 0; i < check->graph->assigns.count; i++)
        if (!check_assign(check, &check->graph->assigns.at[i], is_assigned))
            return false;
    return true;
}

/* Whether the spec splits only dimensions that the value has, and uses no axis twice. */
static bool spec_fits(MwSpec spec, int rank)
{
    MwAxes used = mw_spec_partial(spec);
    for (int d = 0; d < MW_MAX_RANK; d++) {
        MwAxes axes = mw_spec_dim(spec, d);
        if (axes && (d >= rank || axes & used))
            return false;
        used |= axes;
    }
    return true;
}

static bool check_pins(GraphCheck *check)
{
    bool *is_pinned = MW_NEW(check->arena, bool, check->graph->values.count);
    for (int i = 0; i < check->graph->pins.count; i++) {
        const MwPin *pin = &check->graph->pins.at[i];
        if (!value_exists(check, pin->value))
            return fail(check, pin->span, "pin %d has no value", i);
        const char *name = name_of(check, pin->value);
        if (is_pinned[pin->value.index])
            return fail(check, pin->span, "'%s' has two pins", name);
        is_pinned[pin->value.index] = true;
        if (pin->has_spec && !spec_fits(pin->spec, mw_value_tensor(check->graph, pin->value)->rank))
            return fail(check, pin->span, "the spec pinned to '%s' does not fit it", name);
        if (pin->stage < -1 || pin->remat < -1 || pin->remat > 1 || pin->ring < -1 || pin->ring > 1)
            return fail(check, pin->span, "the ring, stage or remat pinned to '%s' is not possible",
                        name);
    }
    return true;
}

static bool check_precision(GraphCheck *check)
{
    MwType precision = check->graph->precision;
    return mw_type_is_float(mw_type_stored(precision)) ||
           fail(check, mw_span_none(), "the precision is %s", mw_type_name(precision));
}

static bool check_metric(GraphCheck *check, const MwOutput *metric)
{
    if (!value_exists(check, metric->value))
        return fail(check, mw_span_none(), "metric '%s' is no value", metric->name);
    const MwNode *node = mw_value_node(check->graph, metric->value);
    const MwTensor *tensor = mw_value_tensor(check->graph, metric->value);
    const MwTensor scalar = mw_tensor_scalar(MW_F32);
    char type[MW_TENSOR_TEXT_BYTES];
    if (!mw_tensor_equal(tensor, &scalar))
        return fail(check, node->origin.span, "metric '%s' is %s and not f32[]", metric->name,
                    mw_tensor_text(tensor, type));
    if (node->phase == MW_PHASE_BACKWARD)
        return fail(check, node->origin.span, "metric '%s' runs backward", metric->name);
    return true;
}

/* A stage's graph has some of the metrics of the model. */
static bool check_metrics(GraphCheck *check)
{
    const MwOutputs *metrics = &check->graph->metrics;
    for (int i = 0; i < metrics->count; i++) {
        if (!check_metric(check, &metrics->at[i]))
            return false;
        if (i > 0 && mw_metric_is_loss(check->graph, metrics->at[i].name) &&
            !mw_metric_is_loss(check->graph, metrics->at[i - 1].name))
            return fail(check, mw_span_none(), "loss '%s' comes after a metric that is none",
                        metrics->at[i].name);
    }
    return true;
}

static bool check_loops(GraphCheck *check)
{
    MwNodeId node;
    const char *wrong = mw_loops_check(check->graph, &node);
    if (!wrong)
        return true;
    const MwNode *at = mw_node(check->graph, node);
    return fail(check, at->origin.span, "'%s' %s", node_name(check, at), wrong);
}

bool mw_graph_verify(const MwGraph *graph, const char *pass, MwDiags *diags)
{
    GraphCheck check = {.graph = graph, .pass = pass, .diags = diags, .arena = mw_arena_new()};
    bool good = check_repeats(&check) && check_nodes(&check) && check_outputs(&check) &&
                check_assigns(&check) && check_pins(&check) && check_precision(&check) &&
                check_metrics(&check) && check_loops(&check);
    mw_arena_free(&check.arena);
    return good;
}

/* Whether a node counts the positions of a part of a tensor. */
static bool has_position(const MwNode *node)
{
    for (int i = 0; i < node->attr_count; i++)
        if (mw_attr_is_origin(node->attrs[i].key) && node->attrs[i].ints.count > 0)
            return true;
    return false;
}

bool mw_graph_check_model(const MwGraph *graph, MwDiags *diags)
{
    int errors = mw_diags_error_count(diags);
    MwNodeId wrong;
    const char *why = mw_loops_check(graph, &wrong);
    if (why) { /* a scan gives none such, but a dump may have one */
        const MwNode *node = mw_node(graph, wrong);
        mw_diag_error(diags, node->origin.span, "'%s' %s",
                      graph->values.at[node->first_result].name, why);
        return false;
    }
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const char *name = mw_op_info(node->op)->name;
        if (mw_op_is_distributed(node->op))
            mw_diag_error(diags, node->origin.span,
                          "%s belongs to what one device runs: only the compiler writes it", name);
        else if (has_position(node))
            mw_diag_error(diags, node->origin.span,
                          "this %s counts positions in a part of a tensor: only the compiler "
                          "writes that",
                          name);
        else
            continue;
        mw_diag_note(diags, mw_span_none(),
                     "dumps cannot be compiled once they are cut for micro-batches or devices");
        break;
    }
    return mw_diags_error_count(diags) == errors;
}
