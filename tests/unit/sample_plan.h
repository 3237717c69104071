/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small plan that runs: linear regression by gradient descent, data parallel over `ranks` ranks
 * (at most 4) with `micro_batches`, on x f32[16, 4] and y f32[16]. It has a record of every kind.
 */
#ifndef MW_TESTS_UNIT_SAMPLE_PLAN_H
#define MW_TESTS_UNIT_SAMPLE_PLAN_H

#include "runtime/plan/kernel.h"
#include "runtime/plan/plan.h"

enum { SAMPLE_BATCH = 16, SAMPLE_WIDTH = 4 };

enum {
    SAMPLE_W,
    SAMPLE_G,
    SAMPLE_LOSS_PART,
    SAMPLE_X,
    SAMPLE_Y,
    SAMPLE_PRED,
    SAMPLE_DIFF,
    SAMPLE_LOSS, /* lies where x was */
    SAMPLE_BUFFERS
};

MwPlan *sample_plan(MwArena *arena, int ranks, int micro_batches);
/* Its kernels, in this program. */
extern const MwKernelEntry mw_kernel_table[];

#endif
