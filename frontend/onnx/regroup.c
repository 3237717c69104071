/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/regroup.h"

#include <string.h>

/* Dimensions [from, from_end) of a value that become dimensions [to, to_end) of another shape,
 * each as few as the sizes allow. A dimension of size 1 is a group by itself, which becomes
 * nothing, or comes from nothing. */
typedef struct {
    int from, from_end, to, to_end;
    int place; /* of its first dimension, among those of the term that are not 1 */
} Group;

typedef struct {
    Group group[2 * MW_MAX_RANK];
    int count;
} Groups;

/* Grows a group until both sides have one product. */
static bool close_group(const MwOnnxShape *from, const MwOnnxShape *to, Group *group)
{
    MwOnnxDim of_from = from->dim[group->from], of_to = to->dim[group->to];
    while (!mw_onnx_dim_equal(&of_from, &of_to)) {
        const bool grows_from = of_from.value < of_to.value;
        if (of_from.value == of_to.value)
            return false;
        if (grows_from ? group->from_end == from->rank : group->to_end == to->rank)
            return false;
        const bool fits = grows_from
                              ? mw_onnx_dim_mul(&of_from, &from->dim[group->from_end++], &of_from)
                              : mw_onnx_dim_mul(&of_to, &to->dim[group->to_end++], &of_to);
        if (!fits)
            return false;
    }
    return true;
}

static bool find_groups(const MwOnnxShape *from, const MwOnnxShape *to, Groups *groups)
{
    int i = 0, k = 0;
    while (i < from->rank || k < to->rank) {
        Group *group = &groups->group[groups->count++];
        *group = (Group){.from = i, .from_end = i, .to = k, .to_end = k};
        if (i < from->rank && mw_onnx_dim_is(&from->dim[i], 1)) {
            group->from_end = ++i;
        } else if (k < to->rank && mw_onnx_dim_is(&to->dim[k], 1)) {
            group->to_end = ++k;
        } else {
            if (i == from->rank || k == to->rank)
                return false;
            group->from_end++;
            group->to_end++;
            if (!close_group(from, to, group))
                return false;
            i = group->from_end;
            k = group->to_end;
        }
    }
    return true;
}

/* Finds where the groups stand in the term. False if the dimensions of one do not stand together,
 * in order. */
static bool place_groups(const MwOnnxValue *value, Groups *groups)
{
    int place[MW_MAX_RANK], next = 0;
    for (int i = 0; i < value->shape.rank; i++)
        if (!mw_onnx_dim_is(&value->shape.dim[value->order[i]], 1))
            place[value->order[i]] = next++;
    int before = -1; /* the place of the group before, for dimensions of size 1 that are new */
    for (int g = 0; g < groups->count; g++) {
        Group *group = &groups->group[g];
        group->place = before;
        if (group->from == group->from_end || group->to == group->to_end)
            continue;
        int last = -1;
        for (int i = group->from; i < group->from_end; i++) {
            if (mw_onnx_dim_is(&value->shape.dim[i], 1))
                continue;
            if (last < 0)
                group->place = place[i];
            else if (place[i] != last + 1)
                return false;
            last = place[i];
        }
        before = group->place;
    }
    return true;
}

MwOnnxTerm *mw_onnx_regroup(MwOnnxImport *import, MwOnnxValue *value, const MwOnnxShape *target,
                            int8_t *order)
{
    Groups groups = {.count = 0};
    MwOnnxTerm *term = mw_onnx_term_as_is(import, value);
    if (!find_groups(&value->shape, target, &groups) || !place_groups(value, &groups))
        return NULL;
    MwOnnxShape placed = {.type = value->shape.type};
    for (int place = -1; place < value->shape.rank; place++)
        for (int g = 0; g < groups.count; g++)
            for (int k = groups.group[g].to;
                 groups.group[g].place == place && k < groups.group[g].to_end; k++) {
                order[placed.rank] = (int8_t)k;
                placed.dim[placed.rank++] = target->dim[k];
            }
    return placed.rank == target->rank ? mw_onnx_reshape(import, term, &placed) : NULL;
}

MwOnnxTerm *mw_onnx_reshape_value(MwOnnxImport *import, MwOnnxValue *value,
                                  const MwOnnxShape *target, int8_t *order)
{
    MwOnnxTerm *term = mw_onnx_regroup(import, value, target, order);
    if (term)
        return term;
    for (int i = 0; i < MW_MAX_RANK; i++)
        order[i] = (int8_t)i;
    return mw_onnx_reshape(import, mw_onnx_term(import, value), target);
}
