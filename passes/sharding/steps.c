/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/steps.h"

#include "base/backend.h"
#include "cost/units.h"

void mw_steps_add(MwSteps *steps, MwOp op, int axis, int dim, int64_t bytes)
{
    const double seconds =
        mw_cost_collective_s(steps->model, mw_op_collective(op), axis, (double)bytes);
    mw_vec_push(steps->arena, &steps->at,
                ((MwReshardStep){.op = op,
                                 .axis = axis,
                                 .dim = dim,
                                 .from_dim = -1,
                                 .bytes = bytes,
                                 .cost = mw_max(1, mw_picoseconds(seconds))}));
}

void mw_steps_hide(MwSteps *steps, int first, double seconds)
{
    double all = 0;
    if (!mw_backend_named(steps->model->cluster->backend)->overlaps)
        return;
    for (int i = first; i < steps->at.count; i++)
        all += mw_seconds(steps->at.at[i].cost);
    const double seen = all > seconds ? (all - seconds) / all : 0;
    for (int i = first; i < steps->at.count; i++)
        steps->at.at[i].cost = (int64_t)((double)steps->at.at[i].cost * seen);
}

MwReshardPath mw_steps_path(const MwSteps *steps)
{
    MwReshardPath path = {.steps = steps->at.at, .count = steps->at.count};
    for (int i = 0; i < path.count; i++)
        path.cost += path.steps[i].cost;
    return path;
}
