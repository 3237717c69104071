/* SPDX-License-Identifier: MIT */
#include "base/role.h"

#include <string.h>

static const char *const names[MW_ROLE_COUNT] = {[MW_ROLE_DATA] = "data",
                                                 [MW_ROLE_TENSOR] = "tensor",
                                                 [MW_ROLE_EXPERT] = "expert",
                                                 [MW_ROLE_CONTEXT] = "context",
                                                 [MW_ROLE_NONE] = "replicated"};

const char *mw_role_name(MwRole role)
{
    return names[role];
}

bool mw_role_parse(const char *name, size_t length, MwRole *role)
{
    for (int i = 0; i < MW_ROLE_NONE; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) {
            *role = (MwRole)i;
            return true;
        }
    return false;
}

int mw_spec_split_dim(MwSpec spec, int rank, int axis)
{
    for (int d = 0; d < rank; d++)
        if (mw_spec_dim(spec, d) & (MwAxes)(1 << axis))
            return d;
    return -1;
}

/* Of attention [batch, sequence, heads, ...] the third dimension is the heads'. */
enum { HEADS = 2 };

static MwRole attention_role(const MwRoleUse *use, int axis)
{
    const int dim = mw_spec_split_dim(use->spec, use->rank, axis);
    if (dim == 0)
        return MW_ROLE_DATA;
    if (dim == HEADS)
        return MW_ROLE_TENSOR;
    if (dim > 0)
        return MW_ROLE_CONTEXT;
    const MwRoleOperand *keys = &use->operands[1];
    return mw_spec_split_dim(keys->spec, keys->rank, axis) >= 0 ? MW_ROLE_CONTEXT : MW_ROLE_NONE;
}

static MwRole product_role(const MwRoleUse *use, int axis)
{
    const int dim = mw_spec_split_dim(use->spec, use->rank, axis);
    bool splits = false;
    for (int i = 0; i < use->operand_count; i++) {
        const MwRoleOperand *operand = &use->operands[i];
        const int of_operand = mw_spec_split_dim(operand->spec, operand->rank, axis);
        splits |= of_operand >= 0;
        if (of_operand >= 0 && operand->is_weight)
            return of_operand == 0 && dim == 0 && operand->rank > 2 ? MW_ROLE_EXPERT
                                                                    : MW_ROLE_TENSOR;
    }
    if (dim == 0)
        return MW_ROLE_DATA;
    return dim > 0 || splits ? MW_ROLE_CONTEXT : MW_ROLE_NONE;
}

MwRole mw_role_of_axis(const MwRoleUse *use, int axis)
{
    return use->is_attention ? attention_role(use, axis) : product_role(use, axis);
}
