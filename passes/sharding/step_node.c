/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/step_node.h"

#include "ir/build.h"

MwValueId mw_step_node(MwGraph *local, const MwMeshShape *mesh, const MwReshardStep *step,
                       MwValueId x, const char *name)
{
    const uint64_t takes = mw_op_info(step->op)->attrs;
    MwAttr attrs[5];
    int count = 0;
    attrs[count++] = mw_attr_int(MW_ATTR_MESH_AXIS, step->axis);
    attrs[count++] = mw_attr_int(MW_ATTR_WAYS, mesh->size[step->axis]);
    if (takes & MW_ATTR_BIT(AXIS))
        attrs[count++] = mw_attr_int(MW_ATTR_AXIS, step->dim);
    if (takes & MW_ATTR_BIT(FROM_AXIS))
        attrs[count++] = mw_attr_int(MW_ATTR_FROM_AXIS, step->from_dim);
    if (takes & MW_ATTR_BIT(COMBINE))
        attrs[count++] = mw_attr_text(MW_ATTR_COMBINE,
                                      mw_intern(local->interner, mw_combine_name(step->combine)));
    name = mw_arena_printf(local->arena, "%s.%s", name, mw_op_info(step->op)->name);
    return mw_build(local, name, step->op, &x, 1, attrs, count);
}
