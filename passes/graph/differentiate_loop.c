/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gradients of a loop run in a second loop, from the last step to the first.
 *
 * What its steps take of the steps of the first loop is stacked there (scan_out) and taken apart
 * here (scan_in); what no gradient uses of that, simplify removes. The gradient by the value that a
 * step takes over is carried to the step before. The gradient by a value outside of the loop is a
 * sum over all steps: where the term of a step is itself a sum (a product, a reduction), all terms
 * are one sum over the stacked operands, after the loop; so the gradient by a weight is one large
 * product. Other terms are added up step by step.
 *
 * Source: Griewank and Walther, "Evaluating Derivatives", 2nd edition, 2008, section 3.2, of which
 * the stack is the tape. */
#include "passes/graph/differentiate_loop.h"

#include "ir/build.h"
#include "ir/einsum.h"

#include <string.h>

void mw_loop_begin(MwDifferentiator *d)
{
    MwArena *arena = d->graph->arena;
    d->first_added = d->graph->nodes.count;
    d->added_loop.count = 0;
    d->back = MW_NEW(arena, int, d->loops.count);
    d->image = MW_NEW(arena, MwValueId, d->values);
    d->adjoint = MW_NEW(arena, MwValueId, d->values);
    memset(d->back, MW_BACK_NONE, sizeof *d->back * (size_t)d->loops.count);
    memset(d->image, -1, sizeof *d->image * (size_t)d->values);
    memset(d->adjoint, -1, sizeof *d->adjoint * (size_t)d->values);
}

/* ---- Operators of the border ---- */

static MwValueId scan_in(MwGraph *graph, MwValueId x, int64_t axis, int loop, bool reverse)
{
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_LOOP, loop),
                            mw_attr_int(MW_ATTR_REVERSE, reverse)};
    return mw_build(graph, NULL, MW_OP_SCAN_IN, &x, 1, attrs, MW_COUNT(attrs));
}

static MwValueId scan_out(MwGraph *graph, MwValueId y, int64_t axis, int loop, int64_t steps,
                          bool reverse)
{
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_LOOP, loop),
                            mw_attr_int(MW_ATTR_STEPS, steps),
                            mw_attr_int(MW_ATTR_REVERSE, reverse)};
    return mw_build(graph, NULL, MW_OP_SCAN_OUT, &y, 1, attrs, MW_COUNT(attrs));
}

static MwValueId scan_carry(MwDifferentiator *d, MwValueId first, int loop, int64_t steps)
{
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_LOOP, loop),
                            mw_attr_int(MW_ATTR_CARRY, d->carries++),
                            mw_attr_int(MW_ATTR_STEPS, steps)};
    return mw_build(d->graph, NULL, MW_OP_SCAN_CARRY, &first, 1, attrs, MW_COUNT(attrs));
}

static MwValueId scan_next(MwGraph *graph, MwValueId next, MwValueId carry, int loop, int64_t steps)
{
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_LOOP, loop), mw_attr_int(MW_ATTR_STEPS, steps)};
    const MwValueId operands[] = {next, carry};
    return mw_build(graph, NULL, MW_OP_SCAN_NEXT, operands, 2, attrs, MW_COUNT(attrs));
}

/* ---- What the second loop takes of the first ---- */

/* The element of the same step of what the first loop takes apart, or of what it stacks now. */
static MwValueId make_image(MwDifferentiator *d, MwValueId value, int loop)
{
    MwGraph *graph = d->graph;
    const MwNode maker = *mw_value_node(graph, value);
    const MwOrigin origin = graph->origin;
    const MwPhase phase = graph->phase;
    if (maker.op == MW_OP_SCAN_IN)
        return scan_in(graph, maker.operands[0], mw_node_int(&maker, MW_ATTR_AXIS), d->back[loop],
                       !mw_node_int(&maker, MW_ATTR_REVERSE));
    graph->origin = maker.origin;
    graph->phase = maker.phase;
    MwValueId stack = scan_out(graph, value, 0, loop, d->loops.at[loop].steps, false);
    mw_graph_rename(graph, stack,
                    mw_arena_printf(graph->arena, "%s.steps", mw_value(graph, value)->name));
    graph->origin = origin;
    graph->phase = phase;
    return scan_in(graph, stack, 0, d->back[loop], true);
}

const MwValueId *mw_loop_images(MwDifferentiator *d, MwNodeId node, const MwValueId *values,
                                int count)
{
    const int loop = d->loops.of_node[node.index];
    if (loop < 0)
        return values;
    MwValueId *images = MW_NEW(d->graph->arena, MwValueId, count);
    for (int k = 0; k < count; k++) {
        images[k] = values[k];
        if (d->loops.of_value[values[k].index] != loop)
            continue;
        if (!mw_has_value(d->image[values[k].index]))
            d->image[values[k].index] = make_image(d, values[k], loop);
        images[k] = d->image[values[k].index];
    }
    return images;
}

const MwValueId *mw_loop_result_images(MwDifferentiator *d, MwNodeId node)
{
    const int count = mw_node(d->graph, node)->result_count;
    MwValueId *results = MW_NEW(d->graph->arena, MwValueId, count);
    for (int k = 0; k < count; k++)
        results[k] = mw_node_result(d->graph, node, k);
    return mw_loop_images(d, node, results, count);
}

/* ---- Sums over the steps ---- */

/* Whether a value of the gradients is given anew at every step. `added_loop` is brought up to date:
 * the rule is that of ir/loops.h. */
static bool varies_by_step(MwDifferentiator *d, MwValueId value)
{
    const MwGraph *graph = d->graph;
    for (int n = d->first_added + d->added_loop.count; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        int loop = -1;
        for (int k = 0; k < node->operand_count; k++) {
            const int maker = mw_value(graph, node->operands[k])->node.index;
            if (maker >= d->first_added)
                loop = (int)mw_max(loop, d->added_loop.at[maker - d->first_added]);
        }
        if (mw_op_is_scan(node->op))
            loop = node->op == MW_OP_SCAN_IN || node->op == MW_OP_SCAN_CARRY
                       ? (int)mw_node_int(node, MW_ATTR_LOOP)
                       : -1;
        mw_vec_push(graph->arena, &d->added_loop, loop);
    }
    const int maker = mw_value(graph, value)->node.index;
    return maker >= d->first_added && d->added_loop.at[maker - d->first_added] >= 0;
}

/* The loop of the gradients, while it is differentiated. */
typedef struct {
    MwDifferentiator *d;
    int back;
    int64_t steps;
} Back;

/* A value of all steps, in the order of the steps of the first loop. */
typedef struct {
    MwValueId value;
    int axis; /* of the steps; -1: the value is the same at every step */
} Stacked;

static Stacked stack(const Back *b, MwValueId value)
{
    MwGraph *graph = b->d->graph;
    const MwNode *maker = mw_value_node(graph, value);
    if (!varies_by_step(b->d, value))
        return (Stacked){value, -1};
    if (maker->op == MW_OP_SCAN_IN && mw_node_int(maker, MW_ATTR_REVERSE))
        return (Stacked){maker->operands[0], (int)mw_node_int(maker, MW_ATTR_AXIS)};
    return (Stacked){scan_out(graph, value, 0, b->back, b->steps, true), 0};
}

/* The sum of an einsum over the steps: one einsum with a letter more. */
static MwValueId sum_einsum(const Back *b, const MwNode *node)
{
    MwGraph *graph = b->d->graph;
    MwEinsum einsum;
    MW_ASSERT(!mw_einsum_parse(mw_node_text(node, MW_ATTR_EQUATION), &einsum));
    MwValueId operands[2];
    int axis[2];
    for (int k = 0; k < node->operand_count; k++) {
        const Stacked stacked = stack(b, node->operands[k]);
        operands[k] = stacked.value;
        axis[k] = stacked.axis;
    }
    const char *equation = mw_einsum_extend(graph->arena, &einsum, axis, -1);
    if (!equation)
        return mw_no_value();
    const MwAttr attrs[] = {
        mw_attr_text(MW_ATTR_EQUATION, mw_intern(graph->interner, equation)),
        mw_attr_int(MW_ATTR_TYPE, mw_node_int(node, MW_ATTR_TYPE)),
    };
    return mw_build(graph, NULL, MW_OP_EINSUM, operands, node->operand_count, attrs,
                    MW_COUNT(attrs));
}

/* The sum of a sum over the steps: one sum over an axis more. */
static MwValueId sum_reduction(const Back *b, const MwNode *node)
{
    MwGraph *graph = b->d->graph;
    const Stacked stacked = stack(b, node->operands[0]);
    const MwAttr *reduced = mw_node_attr(node, MW_ATTR_AXES);
    int64_t axes[MW_MAX_RANK];
    int count = 0;
    for (int i = 0; i < reduced->ints.count; i++) {
        if (reduced->ints.at[i] >= stacked.axis && count == i)
            axes[count++] = stacked.axis;
        axes[count++] = reduced->ints.at[i] + (reduced->ints.at[i] >= stacked.axis);
    }
    if (count == reduced->ints.count)
        axes[count++] = stacked.axis;
    const MwTensor shape = *mw_value_tensor(graph, (MwValueId){node->first_result});
    const MwAttr attrs[] = {
        mw_attr_ints(MW_ATTR_AXES, axes, count),
        mw_attr_int(MW_ATTR_TYPE, mw_node_int(node, MW_ATTR_TYPE)),
    };
    MwValueId sum =
        mw_build(graph, NULL, MW_OP_REDUCE_SUM, &stacked.value, 1, attrs, MW_COUNT(attrs));
    return mw_build_reshape(graph, sum, &shape);
}

/* The sum of `term` over the steps, step by step, in `type`. */
static MwValueId sum_by_step(const Back *b, MwValueId term, MwType type)
{
    MwGraph *graph = b->d->graph;
    MwTensor tensor = *mw_value_tensor(graph, term);
    tensor.type = type;
    MwValueId so_far = scan_carry(b->d, mw_build_constant(graph, &tensor, 0), b->back, b->steps);
    MwValueId sum = mw_build_binary(graph, MW_OP_ADD, so_far, mw_build_cast(graph, term, type));
    return scan_next(graph, sum, so_far, b->back, b->steps);
}

static MwValueId sum_over_steps(const Back *b, MwValueId term, MwType type)
{
    MwGraph *graph = b->d->graph;
    const MwNode maker = *mw_value_node(graph, term);
    if (!varies_by_step(b->d, term))
        return sum_by_step(b, term, type);
    MwValueId sum = mw_no_value();
    if (maker.op == MW_OP_EINSUM)
        sum = sum_einsum(b, &maker);
    if (maker.op == MW_OP_REDUCE_SUM)
        sum = sum_reduction(b, &maker);
    if (maker.op == MW_OP_RESHAPE || maker.op == MW_OP_TRANSPOSE) {
        sum = sum_over_steps(b, maker.operands[0], type);
        sum = mw_build(graph, NULL, maker.op, &sum, 1, maker.attrs, maker.attr_count);
    }
    return mw_has_value(sum) ? sum : sum_by_step(b, term, type);
}

static Back back_of(MwDifferentiator *d, int loop)
{
    return (Back){d, d->back[loop], d->loops.at[loop].steps};
}

MwValueId mw_loop_sum(MwDifferentiator *d, MwNodeId node, MwValueId value, MwValueId term)
{
    const int loop = d->loops.of_node[node.index];
    if (loop < 0 || d->loops.of_value[value.index] == loop)
        return term;
    const Back back = back_of(d, loop);
    return sum_over_steps(&back, term, mw_differentiator_type(d, value));
}

/* ---- The border ---- */

static MwValueId zeros_like(MwDifferentiator *d, MwValueId value)
{
    MwTensor tensor = *mw_value_tensor(d->graph, value);
    return mw_build_constant(d->graph, &tensor, 0);
}

/* The gradient by `value`, in its own type; zeros if there is none. */
static MwValueId gradient_or_zeros(MwDifferentiator *d, MwValueId value)
{
    MwValueId gradient = d->gradient[value.index];
    return mw_has_value(gradient)
               ? mw_build_cast(d->graph, gradient, mw_value_tensor(d->graph, value)->type)
               : zeros_like(d, value);
}

/* A step hands the gradient by what it took over to the step before. */
static void begin_next(const Back *b, const MwNode *node)
{
    MwDifferentiator *d = b->d;
    MwValueId carry = node->operands[1];
    if (!d->active[carry.index])
        return;
    MwValueId first = gradient_or_zeros(d, (MwValueId){node->first_result});
    d->adjoint[carry.index] = scan_carry(d, first, b->back, b->steps);
    mw_differentiator_add(d, node->operands[0], d->adjoint[carry.index]);
}

static void begin_out(const Back *b, const MwNode *node)
{
    MwDifferentiator *d = b->d;
    MwValueId gradient = d->gradient[node->first_result];
    if (mw_has_value(gradient) && d->active[node->operands[0].index])
        mw_differentiator_add(d, node->operands[0],
                              scan_in(d->graph, gradient, mw_node_int(node, MW_ATTR_AXIS), b->back,
                                      !mw_node_int(node, MW_ATTR_REVERSE)));
}

/* Whether there are gradients by what the loop gives. */
static bool has_gradients(const MwDifferentiator *d, int loop)
{
    const MwLoop *range = &d->loops.at[loop];
    for (int n = range->first; n <= range->last; n++) {
        const MwNode *node = &d->graph->nodes.at[n];
        if (d->loops.of_node[n] == loop &&
            (node->op == MW_OP_SCAN_NEXT || node->op == MW_OP_SCAN_OUT) &&
            mw_has_value(d->gradient[node->first_result]))
            return true;
    }
    return false;
}

/* Begins the loop of the gradients: with the gradients by what the first loop gives. */
static void begin_back(MwDifferentiator *d, int loop)
{
    d->back[loop] = has_gradients(d, loop) ? d->next_loop++ : MW_BACK_UNUSED;
    const MwLoop range = d->loops.at[loop];
    const Back back = back_of(d, loop);
    for (int n = range.last; n >= range.first && d->back[loop] >= 0; n--) {
        const MwNode node = d->graph->nodes.at[n];
        if (d->loops.of_node[n] != loop)
            continue;
        d->graph->origin = mw_differentiator_origin(d, &node);
        if (node.op == MW_OP_SCAN_NEXT)
            begin_next(&back, &node);
        if (node.op == MW_OP_SCAN_OUT)
            begin_out(&back, &node);
    }
}

static void end_carry(const Back *b, const MwNode *node)
{
    MwDifferentiator *d = b->d;
    MwValueId carry = {node->first_result}, adjoint = d->adjoint[carry.index];
    if (!mw_has_value(adjoint))
        return;
    MwValueId first = scan_next(d->graph, gradient_or_zeros(d, carry), adjoint, b->back, b->steps);
    if (d->active[node->operands[0].index])
        mw_differentiator_add(d, node->operands[0], first);
}

static void end_in(const Back *b, const MwNode *node)
{
    MwDifferentiator *d = b->d;
    MwValueId gradient = d->gradient[node->first_result];
    if (mw_has_value(gradient) && d->active[node->operands[0].index])
        mw_differentiator_add(d, node->operands[0],
                              scan_out(d->graph, gradient, mw_node_int(node, MW_ATTR_AXIS), b->back,
                                       b->steps, !mw_node_int(node, MW_ATTR_REVERSE)));
}

bool mw_loop_differentiate(MwDifferentiator *d, MwNodeId id)
{
    const MwNode node = *mw_node(d->graph, id);
    const int loop = node.op == MW_OP_SCAN_CARRY ? (int)mw_node_int(&node, MW_ATTR_LOOP)
                                                 : d->loops.of_node[id.index];
    if (loop < 0)
        return false;
    if (d->back[loop] == MW_BACK_NONE)
        begin_back(d, loop);
    if (d->back[loop] == MW_BACK_UNUSED)
        return true;
    const Back back = back_of(d, loop);
    d->graph->origin = mw_differentiator_origin(d, &node);
    if (node.op == MW_OP_SCAN_CARRY)
        end_carry(&back, &node);
    if (node.op == MW_OP_SCAN_IN)
        end_in(&back, &node);
    return mw_op_is_scan(node.op);
}
