/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Row steps: where the gradient of a table is that of rows that the batch looks up, the update
 * steps these rows alone, and the gradient of the whole table is not made.
 *
 * In:  the cut graph with its update.
 * Out: for a table w with ids[n] and the gradients d[n, width] of what they looked up, in place of
 *      embedding_grad and of the optimizer's operator on all of w:
 *
 *        first = first_equal(ids)                 the place of the first of equal ids
 *        rows  = select(first == 0.., ids, -1)    each id once, no row elsewhere
 *        sums  = embedding_grad(first, d)         the gradient of rows[i], in row i; times a factor
 *                                                 of the loss, if it has one
 *        w.new = put_rows(w, rows, OPTIMIZER(embedding(rows, w), sums, ...))
 *
 *      and so for each state. Sums are in the order of those of embedding_grad by ids. The rule
 *      of put_rows lets w be split by rows and by columns; ids and sums are whole on every device.
 *
 * Which tables: those where a step with gradient 0 changes nothing (`rests` in
 * ir/optimizers.def), if fewer rows are looked up than there are; the numbers are the same. And
 * those that `sparse` of the train statement names, whatever their optimizer does to other rows, as
 * torch.optim.SparseAdam does. In two cases the former keep their whole gradient, and the latter
 * are an error: where the gradient has other terms than those of look-ups, or is clipped or scaled;
 * and with several micro-batches, since their rows are gone when the update runs (so the search for
 * stages takes one). */
#include "ir/build.h"
#include "ir/optimizer.h"
#include "ir/rewrite.h"
#include "passes/pass.h"

enum { MOST_TERMS = 64 }; /* look-ups of one table; the gradient of one with more stays whole */

/* The look-ups of a table, as terms of its gradient, at most MOST_TERMS. */
typedef struct {
    const MwNode *term[MOST_TERMS]; /* operators embedding_grad */
    int count;
    int visits; /* nodes between the gradient and its terms */
    int64_t ids;
    MwValueId
        scale; /* a scalar that multiplies all of them, as a factor of the loss; no value: 1 */
} LookUps;

static bool is_scalar(const MwGraph *graph, MwValueId value)
{
    return mw_value_tensor(graph, value)->rank == 0;
}

/* Adds a term of the gradient, an operator embedding_grad; false if there are too many, or if its
 * type or its scale is not that of the others. */
static bool add_look_up(const MwGraph *graph, const MwNode *node, MwValueId scale, LookUps *found)
{
    const MwType type = mw_value_tensor(graph, node->operands[1])->type;
    if (found->count == MOST_TERMS ||
        (found->count && (mw_value_tensor(graph, found->term[0]->operands[1])->type != type ||
                          found->scale.index != scale.index)))
        return false;
    found->scale = scale;
    found->term[found->count++] = node;
    found->ids += mw_tensor_elements(mw_value_tensor(graph, node->operands[0]));
    return true;
}

/* Collects the terms of which `gradient`, which `scale` multiplies, is the sum; false if one is no
 * gradient of a look-up. */
static bool find_look_ups(const MwGraph *graph, MwValueId gradient, MwValueId scale, LookUps *found)
{
    const MwNode *node = mw_value_node(graph, gradient);
    if (node->op == MW_OP_EMBEDDING_GRAD)
        return add_look_up(graph, node, scale, found);
    if (found->visits++ == 2 * MOST_TERMS)
        return false;
    if (node->op == MW_OP_CAST)
        return find_look_ups(graph, node->operands[0], scale, found);
    if (node->op == MW_OP_MUL && node->phase == MW_PHASE_BACKWARD && !mw_has_value(scale) &&
        is_scalar(graph, node->operands[1]))
        return find_look_ups(graph, node->operands[0], node->operands[1], found);
    return node->op == MW_OP_ADD && find_look_ups(graph, node->operands[0], scale, found) &&
           find_look_ups(graph, node->operands[1], scale, found);
}

static bool wants_rows(const MwGraph *graph, const char *weight)
{
    const MwTrain *train = mw_train_of(graph, weight);
    return train && mw_patterns_match(&train->sparse, weight);
}

/* Whether the optimizer's operator takes its states as they are kept: from others than f32, a step
 * of some rows would make the whole table. */
static bool takes_kept_states(const MwGraph *graph, const MwNode *node)
{
    bool all = true;
    for (int k = 1; k < node->result_count; k++)
        all &= mw_value_node(graph, node->operands[1 + k])->op == MW_OP_STATE;
    return all;
}

/* Whether `node` is the step of a table by an operator of its own that gives the new table, and its
 * gradient is that of look-ups. */
static bool has_row_form(const MwGraph *graph, const MwNode *node, LookUps *found)
{
    const MwOptimizerInfo *info = mw_optimizer_of(node->op);
    *found = (LookUps){.count = 0};
    return info && !info->gives_change &&
           mw_value_node(graph, node->operands[0])->op == MW_OP_WEIGHT &&
           takes_kept_states(graph, node) &&
           find_look_ups(graph, node->operands[1], mw_no_value(), found);
}

static bool becomes_row_step(const MwGraph *graph, const MwNode *node, LookUps *found)
{
    if (!has_row_form(graph, node, found))
        return false;
    const MwValue *weight = mw_value(graph, node->operands[0]);
    const bool rests = mw_optimizer_of(node->op)->rests_without_decay &&
                       mw_node_float(node, MW_ATTR_WEIGHT_DECAY) == 0;
    return (rests && found->ids < weight->tensor.dim[0]) || wants_rows(graph, weight->name);
}

/* ---- The row form ---- */

/* Operand k of all look-ups, one after another: i32[n], or [n, width]. */
static MwValueId join(const MwRewrite *r, const LookUps *found, int k)
{
    MwGraph *to = r->to;
    MwValueId part[MOST_TERMS];
    for (int i = 0; i < found->count; i++) {
        const MwValueId value = r->value[found->term[i]->operands[k].index];
        const MwTensor *tensor = mw_value_tensor(to, value);
        const int64_t width = k == 0 ? 1 : tensor->dim[tensor->rank - 1];
        const int64_t dim[] = {mw_tensor_elements(tensor) / width, width};
        const MwTensor flat = mw_tensor(tensor->type, 1 + k, dim);
        part[i] = mw_build_reshape(to, value, &flat);
    }
    return mw_build_concat(to, part, found->count, 0);
}

/* Each of ids[n] where it is the first of equal ones, and -1 elsewhere. */
static MwValueId distinct(MwGraph *to, MwValueId ids, MwValueId first)
{
    const MwTensor tensor = *mw_value_tensor(to, ids);
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, MW_I32), mw_attr_shape(to->arena, &tensor),
                            mw_attr_int(MW_ATTR_AXIS, 0)};
    const MwValueId places = mw_build(to, NULL, MW_OP_IOTA, NULL, 0, attrs, MW_COUNT(attrs));
    const MwValueId is_first = mw_build_binary(to, MW_OP_EQ, first, places);
    return mw_build_select(to, is_first, ids, mw_build_constant(to, &tensor, -1));
}

/* Emits the step `node` of a table on the rows that are looked up. */
static void emit_row_step(MwRewrite *r, const MwNode *node, const LookUps *found)
{
    const MwGraph *from = r->from;
    MwGraph *to = r->to;
    MwArena *arena = to->arena;
    mw_rewrite_at(r, node);
    const int begin = to->values.count;
    MwValueId *operands = mw_rewrite_operands(r, node);
    const MwValueId ids = join(r, found, 0), d = join(r, found, 1);
    const MwTensor of_rows = *mw_value_tensor(to, d);
    const MwValueId first = mw_build_unary(to, MW_OP_FIRST_EQUAL, ids);
    const MwValueId rows = distinct(to, ids, first);
    const MwAttr shape = mw_attr_shape(arena, &of_rows);
    const MwValueId sums =
        mw_build(to, NULL, MW_OP_EMBEDDING_GRAD, (MwValueId[]){first, d}, 2, &shape, 1);
    const MwType type = mw_value_tensor(from, node->operands[1])->type;
    MwValueId *tables =
        mw_arena_dup(arena, operands, sizeof *operands * (size_t)node->operand_count);
    operands[1] = mw_build_cast(to, sums, type);
    if (mw_has_value(found->scale))
        operands[1] = mw_build_binary(to, MW_OP_MUL, operands[1],
                                      mw_build_cast(to, r->value[found->scale.index], type));
    for (int k = 0; k < node->result_count; k++) {
        const int operand = k == 0 ? 0 : 1 + k;
        operands[operand] = mw_build_binary(to, MW_OP_EMBEDDING, rows, tables[operand]);
    }
    const MwNodeSpec spec = {.op = node->op,
                             .operands = operands,
                             .operand_count = node->operand_count,
                             .attrs = node->attrs,
                             .attr_count = node->attr_count};
    const MwNodeId step = mw_build_node(to, &spec);
    const char *name = mw_value(from, node->operands[0])->name;
    mw_build_name_temporaries(to, begin, to->values.count, mw_arena_printf(arena, "%s.rows", name));
    for (int k = 0; k < node->result_count; k++) {
        const MwValueId put[] = {tables[k == 0 ? 0 : 1 + k], rows, mw_node_result(to, step, k)};
        r->value[node->first_result + k] = mw_build(
            to, from->values.at[node->first_result + k].name, MW_OP_PUT_ROWS, put, 3, NULL, 0);
    }
}

/* ---- The pass ---- */

/* Reports an error if `sparse` names the weight that `assign` changes and it cannot step by rows;
 * false then. In a dump it may have its row step already. */
static bool check_assign(const MwCompilation *compilation, const MwAssign *assign, MwDiags *diags)
{
    const MwGraph *graph = compilation->graph;
    const MwValue *target = mw_value(graph, assign->target);
    const MwNode *step = mw_value_node(graph, assign->value);
    LookUps found;
    if (mw_value_node(graph, assign->target)->op != MW_OP_WEIGHT ||
        !wants_rows(graph, target->name) || step->op == MW_OP_PUT_ROWS ||
        has_row_form(graph, step, &found))
        return true;
    const MwSpan span = mw_train_of(graph, target->name)->span;
    if (compilation->staging.micro_batches > 1)
        mw_diag_error(diags, span,
                      "cannot cut the batch into %d micro-batches: the step of the rows of '%s' "
                      "takes the whole batch",
                      compilation->staging.micro_batches, target->name);
    else
        mw_diag_error(diags, span,
                      "'%s' cannot be sparse: it is no table that is only looked up and that the "
                      "optimizer steps element by element, without clip_norm or a scaled loss",
                      target->name);
    return false;
}

bool mw_pass_row_steps(MwCompilation *compilation, MwDiags *diags)
{
    const MwGraph *graph = compilation->graph;
    LookUps found;
    int count = 0;
    for (int i = 0; i < graph->assigns.count; i++)
        if (!check_assign(compilation, &graph->assigns.at[i], diags))
            return false;
    for (int n = 0; n < graph->nodes.count; n++)
        count += becomes_row_step(graph, &graph->nodes.at[n], &found);
    if (!count)
        return true;
    MwRewrite rewrite = mw_rewrite_begin(graph);
    for (int n = 0; n < graph->nodes.count; n++)
        if (becomes_row_step(graph, &graph->nodes.at[n], &found))
            emit_row_step(&rewrite, &graph->nodes.at[n], &found);
        else
            mw_rewrite_copy(&rewrite, &graph->nodes.at[n]);
    mw_rewrite_finish(&rewrite);
    compilation->graph = rewrite.to;
    return true;
}
