/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/meshes.h"

MwMeshList mw_mesh_shapes(MwArena *arena, int devices)
{
    MwMeshList list = {0};
    mw_vec_push(arena, &list, ((MwMeshShape){1, {devices}}));
    for (int outer = 2; outer <= devices / 2; outer++)
        if (devices % outer == 0)
            mw_vec_push(arena, &list, ((MwMeshShape){2, {outer, devices / outer}}));
    return list;
}
