/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The logical meshes that devices are tried as. */
#ifndef MW_PASSES_SHARDING_MESHES_H
#define MW_PASSES_SHARDING_MESHES_H

#include "base/vec.h"
#include "ir/cluster.h"

typedef MW_VEC(MwMeshShape) MwMeshList;

/* All shapes of one and two axes, in `arena`, the longest inner axis first: it is the least
 * fragmented. */
MwMeshList mw_mesh_shapes(MwArena *arena, int devices);

#endif
