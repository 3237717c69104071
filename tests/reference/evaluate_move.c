/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators that move elements. */
#include "tests/reference/evaluate_rules.h"

#include <string.h>

static void copy(const Eval *e)
{
    memcpy(e->out[0], e->in[0], sizeof(double) * (size_t)mw_tensor_elements(eval_in(e, 0)));
}

static void transpose(const Eval *e)
{
    const MwTensor *operand = eval_in(e, 0), *result = eval_out(e, 0);
    const MwAttr *perm = mw_node_attr(e->node, MW_ATTR_PERM);
    int64_t stride[MW_MAX_RANK];
    eval_strides(operand, stride);
    for (int64_t i = 0; i < mw_tensor_elements(result); i++) {
        int64_t at[MW_MAX_RANK], from = 0;
        eval_index(result, i, at);
        for (int d = 0; d < result->rank; d++)
            from += at[d] * stride[perm->ints.at[d]];
        e->out[0][i] = e->in[0][from];
    }
}

static void flip(const Eval *e, int axis)
{
    const MwTensor *tensor = eval_out(e, 0);
    int64_t stride[MW_MAX_RANK];
    eval_strides(tensor, stride);
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++) {
        int64_t at[MW_MAX_RANK];
        eval_index(tensor, i, at);
        e->out[0][i] = e->in[0][i + (tensor->dim[axis] - 1 - 2 * at[axis]) * stride[axis]];
    }
}

/* Copies the elements that two tensors have in common where index `shift` of dimension `axis` of
 * `to` lies on index 0 of `from`. */
static void overlay(double *to, const MwTensor *to_tensor, const double *from,
                    const MwTensor *from_tensor, int axis, int64_t shift)
{
    int64_t stride[MW_MAX_RANK];
    eval_strides(to_tensor, stride);
    for (int64_t i = 0; i < mw_tensor_elements(from_tensor); i++) {
        int64_t at[MW_MAX_RANK], target = 0;
        eval_index(from_tensor, i, at);
        at[axis] += shift;
        if (at[axis] < 0 || at[axis] >= to_tensor->dim[axis])
            continue;
        for (int d = 0; d < to_tensor->rank; d++)
            target += at[d] * stride[d];
        to[target] = from[i];
    }
}

static void pad(const Eval *e, int axis)
{
    memset(e->out[0], 0, sizeof(double) * (size_t)mw_tensor_elements(eval_out(e, 0)));
    overlay(e->out[0], eval_out(e, 0), e->in[0], eval_in(e, 0), axis,
            mw_node_int(e->node, MW_ATTR_BEGIN));
}

static void split(const Eval *e, int axis)
{
    int64_t begin = 0;
    for (int k = 0; k < e->node->result_count; k++) {
        overlay(e->out[k], eval_out(e, k), e->in[0], eval_in(e, 0), axis, -begin);
        begin += eval_out(e, k)->dim[axis];
    }
}

static void concat(const Eval *e, int axis)
{
    int64_t begin = 0;
    for (int k = 0; k < e->node->operand_count; k++) {
        overlay(e->out[0], eval_out(e, 0), e->in[k], eval_in(e, k), axis, begin);
        begin += eval_in(e, k)->dim[axis];
    }
}

/* The index along the axis that the step of a loop has. */
static int64_t step_index(const Eval *e, int64_t steps)
{
    return mw_node_int(e->node, MW_ATTR_REVERSE) ? steps - 1 - e->place->run : e->place->run;
}

/* Copies between `step`, of one step, and `all`, of all steps along `axis`: to `all` if `out`. */
static void copy_step(const Eval *e, double *to, const double *from, int axis, bool out)
{
    const MwTensor *step = out ? eval_in(e, 0) : eval_out(e, 0);
    const MwTensor *all = out ? eval_out(e, 0) : eval_in(e, 0);
    int64_t stride[MW_MAX_RANK];
    eval_strides(all, stride);
    for (int64_t i = 0; i < mw_tensor_elements(step); i++) {
        int64_t at[MW_MAX_RANK], place = step_index(e, all->dim[axis]) * stride[axis];
        eval_index(step, i, at);
        for (int d = 0; d < step->rank; d++)
            place += at[d] * stride[d + (d >= axis)];
        if (out)
            to[place] = from[i];
        else
            to[i] = from[place];
    }
}

bool eval_move(const Eval *e)
{
    const MwAttr *attr = mw_node_attr(e->node, MW_ATTR_AXIS);
    int axis = attr ? (int)attr->i : 0;
    switch (e->node->op) {
    case MW_OP_RUN_AFTER:
    case MW_OP_RESHAPE:
    case MW_OP_SCAN_CARRY:
    case MW_OP_SCAN_NEXT:
        return copy(e), true;
    case MW_OP_SCAN_IN:
    case MW_OP_SCAN_OUT:
        return copy_step(e, e->out[0], e->in[0], axis, e->node->op == MW_OP_SCAN_OUT), true;
    case MW_OP_TRANSPOSE:
        return transpose(e), true;
    case MW_OP_FLIP:
        return flip(e, axis), true;
    case MW_OP_SLICE:
        overlay(e->out[0], eval_out(e, 0), e->in[0], eval_in(e, 0), axis,
                -mw_node_int(e->node, MW_ATTR_BEGIN));
        return true;
    case MW_OP_PAD:
        return pad(e, axis), true;
    case MW_OP_SPLIT:
        return split(e, axis), true;
    case MW_OP_CONCAT:
        return concat(e, axis), true;
    default:
        return false;
    }
}
