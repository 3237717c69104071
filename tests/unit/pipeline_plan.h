/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small model in two stages, by hand, with a weight `t` that both have:
 *
 *     h = x w1 + t;  pred = h t;  loss = mean (pred - y)^2
 *
 * on x f32[16, 4] and y f32[16], by gradient descent. On two meshes, h and its gradient cross on
 * each micro-batch and the parts of t's gradient once a step. The first mesh splits the rows over
 * its devices; every device of the second has them all. The schedule is 1F1B. */
#ifndef MW_TESTS_UNIT_PIPELINE_PLAN_H
#define MW_TESTS_UNIT_PIPELINE_PLAN_H

#include "runtime/plan/kernel.h"
#include "runtime/plan/plan.h"

enum { PIPELINE_BATCH = 16, PIPELINE_IN = 4, PIPELINE_WIDTH = 3 };

/* Buffers, the same on each mesh, though it does not use all. */
enum {
    PIPELINE_W1,
    PIPELINE_T,
    PIPELINE_W1_GRAD,
    PIPELINE_SHIFT_GRAD, /* the first mesh's part of t's gradient */
    PIPELINE_HEAD_GRAD,  /* the second's */
    PIPELINE_LOSS_PART,
    PIPELINE_X,
    PIPELINE_Y,
    PIPELINE_H,
    PIPELINE_PRED,
    PIPELINE_DIFF,
    PIPELINE_H_GRAD,
    PIPELINE_LOSS,
    PIPELINE_BUFFERS
};

enum { PIPELINE_FORWARD, PIPELINE_BACKWARD, PIPELINE_UPDATE, PIPELINE_PROGRAMS };

/* In the order of MwPlan.transfers. */
enum {
    PIPELINE_SEND_H,
    PIPELINE_SEND_H_GRAD,
    PIPELINE_SEND_SHIFT_GRAD,
    PIPELINE_SEND_HEAD_GRAD,
    PIPELINE_TRANSFERS
};

/* On 1 mesh or 2, each of `devices`. */
MwPlan *pipeline_plan(MwArena *arena, int meshes, int devices, int micro_batches);
/* Its kernels, in this program. */
extern const MwKernelEntry mw_kernel_table[];

#endif
