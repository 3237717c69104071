/* SPDX-License-Identifier: MIT */
/* Runs a plan on one rank: a loop over instructions, on a device and a transport.
 *
 * Everything is allocated by mw_executor_new: the arena, and on devices whose memory is not the
 * host's a staging buffer for outputs and memory for the inputs of a step. The plan has passed
 * mw_plan_check. */
#ifndef MW_RUNTIME_EXEC_EXECUTOR_H
#define MW_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/exec/transport.h"
#include "runtime/plan/block.h"

typedef struct MwExecutor MwExecutor;
typedef struct MwTrace MwTrace;

/* Where inputs come from and outputs go. */
typedef struct {
    void *context;
    /* Writes the elements of `block` of an input of `step` to `to`. */
    bool (*input)(void *context, int input, int64_t step, const MwBlock *block, void *to,
                  MwFault *fault);
    /* Takes the elements of `block` of an output; NULL where nobody wants outputs. `is_first`: no
     * device of lower rank holds the same block. */
    bool (*output)(void *context, int output, int64_t step, const MwBlock *block, bool is_first,
                   const void *from, MwFault *fault);
} MwExecutorData;

/* Collective over all ranks. `trace` may be NULL. NULL after a fault. */
MwExecutor *mw_executor_new(MwArena *arena, const MwPlan *plan, MwDevice *device,
                            MwTransport *transport, MwTrace *trace, MwFault *fault);

/* Sets every weight and state to its initial value. Collective over all ranks; once. */
bool mw_executor_start(MwExecutor *executor, uint64_t seed, MwFault *fault);
/* Where device and transport can, and nobody traces or takes outputs, the device keeps what a step queues
 * when all code was loaded and all algorithms were found, and steps from then on repeat that at one call.
 * Not unless it is said here. */
void mw_executor_set_repeats(MwExecutor *executor, bool repeats);
/* Runs the tasks of one step, 1 first. `*loss` is the step's loss; NaN where the plan has none. */
bool mw_executor_step(MwExecutor *executor, int64_t step, const MwExecutorData *data, double *loss,
                      MwFault *fault);

/* The mesh that this rank belongs to. */
const MwPlanMesh *mw_executor_mesh(const MwExecutor *executor);
/* Address of a buffer on the device. */
void *mw_executor_buffer(const MwExecutor *executor, int buffer);

#endif
