/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the axes of a mesh are used for (base/role.h): by the products and attentions of the forward
 * pass, each counted by the time that it computes. */
#ifndef MW_TOOLS_INSPECT_ROLES_H
#define MW_TOOLS_INSPECT_ROLES_H

#include "base/role.h"
#include "base/text.h"
#include "runtime/plan/plan.h"

/* The share of the time of products and attention in which an axis has each role; all 0 where a
 * mesh has none of these. */
typedef struct {
    double share[MW_ROLE_COUNT];
} MwAxisRoles;

MwAxisRoles mw_inspect_axis_roles(const MwPlanMesh *mesh, int axis);
/* NONE where no role has a share. */
MwRole mw_axis_greatest_role(const MwAxisRoles *roles);
/* "data 4 x tensor 2", in `arena`: the product of the axes by their roles; "expert+data 8" where an
 * axis has several. */
const char *mw_inspect_roles_text(MwArena *arena, const MwPlanMesh *mesh);

/* What is kept split over the devices that have the same part of the batch (Rajbhandari et al.:
 * ZeRO, SC 2020, section 5): 0 nothing; 1 the states of the optimizer; 2 the gradients too, which
 * are scattered as they are summed; 3 the weights too. By bytes: the most of each kind. */
int mw_inspect_zero_level(const MwPlanMesh *mesh);

#endif
