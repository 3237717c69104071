/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/specs.h"

typedef struct {
    MwArena *arena;
    const MwTensor *tensor;
    const MwMeshShape *mesh;
    Specs specs;
} Search;

/* Adds every valid spec that puts the axes from `axis` on to a use. */
static void add_specs(Search *search, int axis, MwSpec spec, bool may_be_partial, MwCombine combine)
{
    if (axis == MW_MAX_AXES || axis == search->mesh->axis_count) {
        if (mw_spec_is_valid(spec, search->tensor, search->mesh))
            mw_vec_push(search->arena, &search->specs, spec);
        return;
    }
    MwAxes bit = (MwAxes)(1 << axis);
    add_specs(search, axis + 1, spec, may_be_partial, combine);
    if (search->mesh->size[axis] == 1)
        return;
    if (may_be_partial)
        add_specs(search, axis + 1,
                  mw_spec_with_partial(spec, mw_spec_partial(spec) | bit, combine), may_be_partial,
                  combine);
    for (int d = 0; d < search->tensor->rank; d++)
        add_specs(search, axis + 1, mw_spec_with_dim(spec, d, mw_spec_dim(spec, d) | bit),
                  may_be_partial, combine);
}

Specs complete_specs(MwArena *arena, const MwTensor *tensor, const MwMeshShape *mesh)
{
    Search search = {arena, tensor, mesh, {0}};
    add_specs(&search, 0, mw_spec_replicated(), false, MW_COMBINE_SUM);
    return search.specs;
}

Specs all_specs(MwArena *arena, const MwTensor *tensor, const MwMeshShape *mesh, MwCombine combine)
{
    Search search = {arena, tensor, mesh, {0}};
    add_specs(&search, 0, mw_spec_replicated(), true, combine);
    return search.specs;
}
