/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merging units that become kernels: two run in one where the nodes of either find their operands
 * at the points of the other. */
#ifndef MW_CODEGEN_FUSE_KERNEL_MERGE_H
#define MW_CODEGEN_FUSE_KERNEL_MERGE_H

#include "codegen/fuse/joining.h"

/* Cuts the space of the unit where node n, one of its nodes, needs a boundary between dimensions:
 * at the boundaries of its operands, and between rows and columns. False where that is at odds with
 * the cuts that are there; the unit is then unusable. */
bool mw_fusion_cut_space(const MwFusion *f, MwUnit *unit, int n);

/* Merge unit b into a, or a into b, if that is possible, both of one phase, and change nothing
 * else: the first where both run over the same points, the second also where one runs over the
 * rows, the columns or the whole of the other. */
void mw_fusion_merge_points(MwFusion *f, int a, int b);
void mw_fusion_merge_levels(MwFusion *f, int a, int b);
/* Merges a, of an earlier phase, and b as the last one does; the result runs in the phase of b.
 * False: that is impossible. */
bool mw_fusion_merge_phases(MwFusion *f, int a, int b);

#endif
