/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/roles.h"

#include "tools/inspect/totals.h"

#include <string.h>

const char *mw_role_name(MwRole role)
{
    static const char *const names[MW_ROLE_COUNT] = {[MW_ROLE_DATA] = "data",
                                                     [MW_ROLE_TENSOR] = "tensor",
                                                     [MW_ROLE_EXPERT] = "expert",
                                                     [MW_ROLE_CONTEXT] = "context",
                                                     [MW_ROLE_NONE] = "replicated"};
    return names[role];
}

/* ---- Roles of an axis ---- */

static bool is_one_of(const char *op, const char *const *ops, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(op, ops[i]) == 0)
            return true;
    return false;
}

/* Whether operand `i` is a weight, maybe cast, or its copy that others share. */
static bool is_weight(const MwPlanMesh *mesh, const MwPlanOperator *op, int i)
{
    static const char *const passing[] = {"identity", "cast", "reshape", "transpose"};
    int index = op->operands[i].operator_index;
    while (index >= 0) {
        const MwPlanOperator *maker = &mesh->operators[index];
        if (strcmp(maker->op, "weight") == 0)
            return true;
        if (!is_one_of(maker->op, passing, MW_COUNT(passing)) || maker->operand_count != 1)
            return false;
        index = maker->operands[0].operator_index;
    }
    return false;
}

/* The first dimension that is split over the axis; -1: none is. */
static int split_dim(MwSpec spec, int rank, int axis)
{
    for (int d = 0; d < rank; d++)
        if (mw_spec_dim(spec, d) & (MwAxes)(1 << axis))
            return d;
    return -1;
}

/* Of attention [batch, sequence, heads, ...] the third dimension is the heads'. */
enum { HEADS = 2 };

static MwRole attention_role(const MwPlanOperator *op, int axis)
{
    const int dim = split_dim(op->spec, op->rank, axis);
    if (dim == 0)
        return MW_ROLE_DATA;
    if (dim == HEADS)
        return MW_ROLE_TENSOR;
    if (dim > 0)
        return MW_ROLE_CONTEXT;
    const MwPlanOperatorOperand *key = &op->operands[1];
    return split_dim(key->spec, key->rank, axis) >= 0 ? MW_ROLE_CONTEXT : MW_ROLE_NONE;
}

static MwRole product_role(const MwPlanMesh *mesh, const MwPlanOperator *op, int axis)
{
    const int dim = split_dim(op->spec, op->rank, axis);
    bool splits = false;
    for (int i = 0; i < op->operand_count; i++) {
        const MwPlanOperatorOperand *operand = &op->operands[i];
        const int of_operand = split_dim(operand->spec, operand->rank, axis);
        splits |= of_operand >= 0;
        if (of_operand < 0 || !is_weight(mesh, op, i))
            continue;
        return of_operand == 0 && dim == 0 && operand->rank > 2 ? MW_ROLE_EXPERT : MW_ROLE_TENSOR;
    }
    if (dim == 0)
        return MW_ROLE_DATA;
    return dim > 0 || splits ? MW_ROLE_CONTEXT : MW_ROLE_NONE;
}

MwAxisRoles mw_inspect_axis_roles(const MwPlanMesh *mesh, int axis)
{
    static const char *const products[] = {"einsum", "matmul", "conv"}, *const attention = "sdpa";
    MwAxisRoles roles = {{0}};
    double all_s = 0;
    for (int i = 0; i < mesh->operator_count; i++) {
        const MwPlanOperator *op = &mesh->operators[i];
        const bool is_attention = strcmp(op->op, attention) == 0;
        if (strcmp(op->phase, "forward") != 0 ||
            (!is_attention && !is_one_of(op->op, products, MW_COUNT(products))))
            continue;
        const MwRole role = is_attention ? attention_role(op, axis) : product_role(mesh, op, axis);
        roles.share[role] += op->compute_s;
        all_s += op->compute_s;
    }
    for (int role = 0; all_s > 0 && role < MW_ROLE_COUNT; role++)
        roles.share[role] /= all_s;
    return roles;
}

MwRole mw_axis_greatest_role(const MwAxisRoles *roles)
{
    MwRole best = MW_ROLE_NONE;
    for (int role = 0; role < MW_ROLE_COUNT; role++)
        if (roles->share[role] > roles->share[best])
            best = (MwRole)role;
    return best;
}

/* The least share of the time of products that a role is named for. Chosen, not measured. */
static const double NAMED_SHARE = 0.15;

/* "expert+data": the roles of an axis, the greatest first. */
static const char *axis_text(MwArena *arena, MwAxisRoles roles)
{
    MwText text = {.arena = arena};
    MwRole role = mw_axis_greatest_role(&roles);
    mw_text_add(&text, mw_role_name(role));
    for (;;) {
        roles.share[role] = 0;
        role = mw_axis_greatest_role(&roles);
        if (role == MW_ROLE_NONE || roles.share[role] < NAMED_SHARE)
            return text.at;
        mw_text_printf(&text, "+%s", mw_role_name(role));
    }
}

const char *mw_inspect_roles_text(MwArena *arena, const MwPlanMesh *mesh)
{
    const char *names[MW_MAX_AXES];
    int ways[MW_MAX_AXES], count = 0;
    MwText text = {.arena = arena};
    for (int axis = 0; axis < mesh->shape.axis_count; axis++) {
        const char *name = axis_text(arena, mw_inspect_axis_roles(mesh, axis));
        int k = 0;
        while (k < count && strcmp(names[k], name) != 0)
            k++;
        names[k] = name;
        ways[k] = (k < count ? ways[k] : 1) * mesh->shape.size[axis];
        count = mw_max(count, k + 1);
    }
    if (mw_mesh_devices(&mesh->shape) == 1)
        return "one device";
    for (int k = 0; k < count; k++)
        if (ways[k] > 1)
            mw_text_printf(&text, "%s%s %d", text.bytes ? " x " : "", names[k], ways[k]);
    return text.at;
}

/* ---- ZeRO ---- */

/* The axes that split the batch, by their greatest role. */
static MwAxes data_axes(const MwPlanMesh *mesh)
{
    MwAxes axes = 0;
    for (int axis = 0; axis < mesh->shape.axis_count; axis++) {
        const MwAxisRoles roles = mw_inspect_axis_roles(mesh, axis);
        if (mw_axis_greatest_role(&roles) == MW_ROLE_DATA && mesh->shape.size[axis] > 1)
            axes |= (MwAxes)(1 << axis);
    }
    return axes;
}

/* Whether most bytes of the weights, or of the states, are kept split over some of the axes. */
static bool most_is_split(const MwPlanMesh *mesh, bool states, MwAxes axes)
{
    int64_t all = 0, split = 0;
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *weight = &mesh->weights[i];
        const int64_t bytes = mw_tensor_bytes(&weight->global);
        if (weight->is_state != states || weight->reset_each_step)
            continue;
        all += bytes;
        split += mw_spec_axes(weight->spec, weight->global.rank) & axes ? bytes : 0;
    }
    return 2 * split > all;
}

/* Whether most bytes of gradients are scattered, not summed on all, over the axes. */
static bool most_is_scattered(const MwPlanMesh *mesh, MwAxes axes)
{
    double scattered = 0, summed = 0;
    for (int i = 0; i < mesh->operator_count; i++) {
        const MwPlanOperator *op = &mesh->operators[i];
        for (int k = 0; strcmp(op->phase, "forward") != 0 && k < op->collective_count; k++) {
            const MwPlanCollective *collective = &op->collectives[k];
            if (!(axes & (MwAxes)(1 << collective->axis)))
                continue;
            scattered += collective->kind == MW_REDUCE_SCATTER ? (double)collective->bytes : 0;
            summed += collective->kind == MW_ALL_REDUCE ? (double)collective->bytes : 0;
        }
    }
    return scattered > summed;
}

int mw_inspect_zero_level(const MwPlanMesh *mesh)
{
    const MwAxes axes = data_axes(mesh);
    if (!axes || !most_is_split(mesh, true, axes))
        return 0;
    if (most_is_split(mesh, false, axes))
        return 3;
    return most_is_scattered(mesh, axes) ? 2 : 1;
}
