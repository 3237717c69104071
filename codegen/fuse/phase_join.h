/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of the forward that run in one with a kernel of the backward, which then reads from
 * memory once what both read: the log-sum-exps of the rows of logits, and the gradient of the
 * logits.
 *
 * A kernel of the forward, a, joins one of the backward, b, that takes a result of it, where
 *   - a reduces rows (a sum of all elements alone is spread better by itself);
 *   - all that follows it in the forward is small, such as a loss, and can run in the backward too;
 *   - what these read lives until b anyway, so that nothing large takes more memory.
 *
 * A step that only evaluates (runtime/plan/evaluation.h) then computes what b adds in vain. */
#ifndef MW_CODEGEN_FUSE_PHASE_JOIN_H
#define MW_CODEGEN_FUSE_PHASE_JOIN_H

#include "codegen/fuse/joining.h"

/* Joins such kernels. The backward of a micro-batch runs directly behind its forward. */
void mw_fusion_join_phases(MwFusion *f);

#endif
