/* SPDX-License-Identifier: MIT */
/* What an executor is made of, for the files that it is in. */
#ifndef MW_RUNTIME_EXEC_EXECUTOR_STATE_H
#define MW_RUNTIME_EXEC_EXECUTOR_STATE_H

#include "runtime/exec/endpoints.h"
#include "runtime/exec/exchanges.h"
#include "runtime/exec/step_data.h"
#include "runtime/exec/trace.h"
#include "runtime/exec/weights.h"
#include "runtime/order/commands.h"

typedef struct MwExecutor MwExecutor;

struct MwExecutor {
    const MwArena *arena;
    const MwPlan *plan;
    const MwPlanMesh *mesh;
    MwDevice *device;
    MwTransport *transport;
    MwTrace *trace;
    MwEndpoints *endpoints;
    MwCommandList commands;                  /* of every step */
    const char *(*labels)[MW_TRAFFIC_KINDS]; /* [endpoints] names of their operations in faults */
    int coordinate[MW_MAX_AXES];
    char *memory;           /* the arena, on the device */
    char *host;             /* what the mesh keeps on the host; NULL: nothing */
    MwExchanges *exchanges; /* of its plan, and of those of executors beside it */
    MwZeroRange *zeros;     /* [zero_count] zeroed before every step */
    int zero_count;
    char *staging;              /* host memory for one output, or one input; NULL: not needed */
    char *host_slots;           /* [MW_STEP_SLOTS] of alloc_host; NULL: not used */
    int64_t host_slot_bytes;    /* all inputs of a step, then its metrics */
    int64_t *host_input_offset; /* [mesh->inputs] of micro-batch 0, in a slot */
    int64_t host_metric_offset; /* of the metrics of the mesh, in a slot */
    bool replays;               /* graphs are captured and replayed */
    bool *is_captured;          /* [graphs of the device] */
    MwFault uncaptured; /* why the device could not capture a graph; "": it has not failed */
    int steps;          /* steps run before the capture, where steps are replayed */
    /* Scratch memory for the instruction that runs. */
    MwKernelArg *args;
    void **operands;
    int64_t *operand_bytes;
    MwExchange *parts;        /* the parts of the collective that runs */
    const MwExecutor *beside; /* the executor whose memory this one has; NULL: it has its own */
    MwSavedWeights saved;     /* what a step changes and must not, where it is beside */
    uint64_t seed;
    int64_t step;        /* the last that was queued */
    int64_t kernel_step; /* what kernels get (base/philox.h) */
    int queued;          /* steps that are not finished: the last so many */
    int64_t failed;      /* the step that `late` is of, which is queued; 0: none has failed */
    MwFault late;
};

/* The slot of a buffer, on the device or on the host, that tasks of a micro-batch use; -1 is no
 * micro-batch. */
static inline void *mw_executor_slot(const MwExecutor *executor, int buffer, int micro_batch)
{
    const MwPlanMesh *mesh = executor->mesh;
    const int64_t offset = mw_plan_slot_offset(&mesh->buffers[buffer], micro_batch);
    return mw_plan_is_on_host(mesh, &mesh->buffers[buffer])
               ? executor->host + (offset - mw_host_begin(mesh->arena_bytes))
               : executor->memory + offset;
}

/* Queues the work of the commands [begin, end) of a step, or does it; inputs are filled unless the
 * device captures. */
bool mw_executor_do_commands(const MwExecutor *executor, int begin, int end,
                             const MwExecutorData *data, MwFault *fault);
/* The events of a command, which mw_executor_do_commands waits for and records, too. */
bool mw_executor_wait_before(const MwExecutor *executor, const MwCommand *command, MwFault *fault);
bool mw_executor_record_after(const MwExecutor *executor, const MwCommand *command, MwFault *fault);

#endif
