/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The predicted times of programs, from those of their instructions: in the order and with the
 * waits of the executor (runtime/order/commands.h), which does collectives beside kernels where the
 * backend can. Kernels beside a collective have what it leaves of the device
 * (MwPlanMesh.collective_share); it is not slowed down by them.
 *
 * Time grows with the instructions, and for each collective with those it does not wait for. */
#ifndef MW_CODEGEN_PLAN_PREDICT_H
#define MW_CODEGEN_PLAN_PREDICT_H

#include "cost/cost.h"
#include "runtime/plan/traffic.h"

/* Seconds of a program by itself. `overlaps`: collectives run while kernels run. */
double mw_predict_program_s(bool overlaps, const MwPlanMesh *mesh, int program);

/* Seconds from the beginning of a task, where it waits for no message. */
typedef struct {
    double *op_s;    /* [op_count of the program's traffic] to each operation */
    double *instr_s; /* [instr_count] to each instruction, in a loop to its first run */
} MwPredictedTimes;

/* The seconds of a program by itself, as a task on the mesh; fills in the times in between. Of the
 * update it is mw_predict_update_s, and what runs before that begins with it. */
double mw_predict_task_s(bool overlaps, const MwPlanMesh *mesh, const MwTraffic *traffic,
                         int program, const MwPredictedTimes *times);

/* Seconds of a collective, from the bytes of the larger of its sources and results. */
double mw_predict_collective_s(const MwCostModel *model, const MwPlanInstr *instr);

/* Seconds from the end of the last micro-batch on the mesh to the end of the step there: of what of
 * the update, the last program, does not run beside the last tasks before it. */
double mw_predict_update_s(bool overlaps, const MwPlanMesh *mesh);

#endif
