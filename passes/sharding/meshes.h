/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The logical meshes that a set of devices may form. */
#ifndef MW_PASSES_SHARDING_MESHES_H
#define MW_PASSES_SHARDING_MESHES_H

#include "base/vec.h"
#include "ir/cluster.h"

typedef MW_VEC(MwMeshShape) MwMeshList;

/* All shapes of one and two axes of `devices` devices, in `arena`. The shape with the longest
 * inner axis comes first, because it splits a node least. */
MwMeshList mw_mesh_shapes(MwArena *arena, int devices);

#endif
