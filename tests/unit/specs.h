/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All specs of a tensor on a mesh, for tests that leave none out. */
#ifndef MW_TESTS_UNIT_SPECS_H
#define MW_TESTS_UNIT_SPECS_H

#include "base/spec.h"
#include "base/vec.h"

typedef MW_VEC(MwSpec) Specs;

/* Every spec that is valid for the tensor on the mesh, uses no axis of one device, and is not
 * partial. */
Specs complete_specs(MwArena *arena, const MwTensor *tensor, const MwMeshShape *mesh);
/* Those, and the ones that are partial, by `combine`. */
Specs all_specs(MwArena *arena, const MwTensor *tensor, const MwMeshShape *mesh, MwCombine combine);

#endif
