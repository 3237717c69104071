/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/meshes.h"

#include "base/divisors.h"

MwMeshList mw_mesh_shapes(MwArena *arena, int devices)
{
    MwMeshList list = {0};
    mw_vec_push(arena, &list, ((MwMeshShape){1, {devices}}));
    const MwDivisors divisors = mw_divisors(arena, devices);
    for (int i = 1; i < divisors.count - 1; i++) {
        const int outer = (int)divisors.at[i];
        mw_vec_push(arena, &list, ((MwMeshShape){2, {outer, devices / outer}}));
    }
    return list;
}
