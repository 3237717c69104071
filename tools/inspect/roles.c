/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/roles.h"

#include "ir/op.h"
#include "tools/inspect/totals.h"

#include <string.h>

/* ---- Roles of an axis ---- */

static bool is_one_of(const char *op, const char *const *ops, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(op, ops[i]) == 0)
            return true;
    return false;
}

/* Whether an operator is a weight, or the copy that the device has of one on the host. */
static bool is_source_of_weight(const MwPlanMesh *mesh, const MwPlanOperator *op)
{
    if (strcmp(op->op, "weight") == 0)
        return true;
    for (int w = 0; w < mesh->weight_count && strcmp(op->op, "state") == 0; w++)
        if (mesh->weights[w].is_copy && strcmp(mesh->weights[w].name, op->name) == 0)
            return true;
    return false;
}

/* Whether an operator gives its first operand, cast or reshaped, or times one number, as products
 * in fp8 take theirs. */
static bool is_passed_on(const MwPlanOperator *op)
{
    MwOp kind;
    if (!mw_op_parse(op->op, &kind))
        return false;
    return op->operand_count == 1 ? mw_op_keeps_elements(kind)
                                  : kind == MW_OP_MUL && op->operands[1].rank == 0;
}

/* Whether operand `i` is a weight, maybe cast or scaled, or its copy that others share. */
static bool is_weight(const MwPlanMesh *mesh, const MwPlanOperator *op, int i)
{
    int index = op->operands[i].operator_index;
    while (index >= 0) {
        const MwPlanOperator *maker = &mesh->operators[index];
        if (is_source_of_weight(mesh, maker))
            return true;
        if (!is_passed_on(maker))
            return false;
        index = maker->operands[0].operator_index;
    }
    return false;
}

static MwRole operator_role(const MwPlanMesh *mesh, const MwPlanOperator *op, bool is_attention,
                            int axis)
{
    MwRoleUse use = {.is_attention = is_attention, .spec = op->spec, .rank = op->rank};
    use.operand_count = mw_min(op->operand_count, MW_ROLE_MOST_OPERANDS);
    for (int i = 0; i < use.operand_count; i++)
        use.operands[i] =
            (MwRoleOperand){op->operands[i].spec, op->operands[i].rank, is_weight(mesh, op, i)};
    return mw_role_of_axis(&use, axis);
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
        const MwRole role = operator_role(mesh, op, is_attention, axis);
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

/* Whether a weight or state is what steps take: one with copies in shorter types, or the copy of
 * one on the host. */
static bool is_working(const MwPlanMesh *mesh, const MwPlanWeight *weight)
{
    const bool is_on_host = mw_plan_is_on_host(mesh, &mesh->buffers[weight->buffer]);
    return weight->is_copy ? mw_inspect_is_working_copy(mesh, weight)
                           : weight->is_state || !is_on_host;
}

/* Whether most bytes of the weights, or of the states, are kept split over some of the axes. */
static bool most_is_split(const MwPlanMesh *mesh, bool states, MwAxes axes)
{
    int64_t all = 0, split = 0;
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *weight = &mesh->weights[i];
        const int64_t bytes = mw_tensor_bytes(&weight->global);
        const bool is_weight = !weight->is_state || weight->is_copy;
        if (is_weight == states || weight->reset_each_step || !is_working(mesh, weight))
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
