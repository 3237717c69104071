/* SPDX-License-Identifier: MIT */
/* What the executor needs of a device: memory, copies, and running one instruction. Calls are
 * queued in order, on the queue `compute` where they name none; only copy_out and synchronize wait for
 * what was queued there before.
 *
 * Functions that fail set the fault and return false or NULL. */
#ifndef MW_RUNTIME_EXEC_DEVICE_H
#define MW_RUNTIME_EXEC_DEVICE_H

#include "runtime/exec/fault.h"
#include "runtime/plan/kernel.h"
#include "runtime/plan/plan.h"

typedef struct MwDevice MwDevice;

/* A device with two does both at once, each in order; others have the first alone. */
typedef enum { MW_QUEUE_COMPUTE, MW_QUEUE_COMMUNICATION, MW_QUEUE_COUNT } MwQueue;

/* One kernel or routine with its operands' addresses on the device. */
typedef struct {
    const MwPlanInstr *instr; /* kind, target and accesses */
    void *const *operands;
    const int64_t *operand_bytes; /* of the whole buffers */
    const MwKernelArg *args;
} MwCall;

typedef struct {
    const char *name;
    /* Aligned to MW_BUFFER_ALIGNMENT; contents are undefined. */
    void *(*alloc)(MwDevice *device, int64_t bytes, MwFault *fault);
    void (*release)(MwDevice *device, void *memory, int64_t bytes);
    bool (*copy_in)(MwDevice *device, void *to, const void *host, int64_t bytes, MwFault *fault);
    /* Memory of the host that lives as long as the device, and a copy from there that is queued alone: it
     * reads what is there when its turn comes. NULL where there is no such memory. */
    void *(*alloc_host)(MwDevice *device, int64_t bytes, MwFault *fault);
    bool (*fetch)(MwDevice *device, void *to, const void *host, int64_t bytes, MwFault *fault);
    bool (*copy_out)(MwDevice *device, void *host, const void *from, int64_t bytes, MwFault *fault);
    bool (*copy)(MwDevice *device, void *to, const void *from, int64_t bytes, MwFault *fault);
    bool (*zero)(MwDevice *device, void *to, int64_t bytes, MwFault *fault);
    bool (*run)(MwDevice *device, const MwCall *call, MwFault *fault);
    /* What is queued from now on is of this step; all that was queued before is done. NULL where
     * MwDevice.step is. */
    bool (*set_step)(MwDevice *device, int64_t step, MwFault *fault);
    bool (*synchronize)(MwDevice *device, MwFault *fault);
    /* Of devices with two queues; else NULL. There are to be marks 0 .. count - 1; once. */
    bool (*make_marks)(MwDevice *device, MwArena *arena, int count, MwFault *fault);
    /* The mark is where the queue ends now. */
    bool (*mark)(MwDevice *device, MwQueue queue, int mark, MwFault *fault);
    /* What is queued from now on comes after what was before the mark, where that is now. */
    bool (*wait)(MwDevice *device, MwQueue queue, int mark, MwFault *fault);
    /* Of devices that can do again what was queued before, at one call; else NULL. From `keep` to `kept`
     * what is queued is not done: it is kept, with its addresses and arguments. Once. */
    bool (*keep)(MwDevice *device, MwFault *fault);
    bool (*kept)(MwDevice *device, MwFault *fault);
    /* Queues all that was kept, as of a step, on the queue `compute`; as set_step. */
    bool (*repeat)(MwDevice *device, int64_t step, MwFault *fault);
    /* What is kept, if anything, is of no use any more. */
    void (*forget)(MwDevice *device);
    void (*destroy)(MwDevice *device);
} MwDeviceTable;

struct MwDevice {
    const MwDeviceTable *table;
    bool is_host;    /* the process may read and write its memory */
    bool is_blind;   /* its memory holds nothing, so contents need not be computed */
    bool is_keeping; /* between `keep` and `kept`: nothing that is queued can be waited for */
    /* Where kernels find the number of the step, on the device; NULL: they get it by value. */
    const int64_t *step;
    /* Called again and again while copy_out or synchronize waits, so that the messages of a transport
     * go on meanwhile and a peer that is gone is noticed; NULL: nothing to do. False after a fault,
     * which ends the wait. */
    bool (*idle)(void *context, MwFault *fault);
    void *idle_context;
    /* Called before what may keep the process from calling `idle` until all that is on the device is
     * done: waits, as `idle` lets it, until nothing there needs other ranks. NULL: nothing does. False
     * after a fault. */
    bool (*settle)(void *context, MwFault *fault);
};

/* The functions of the plan's kernels, in the order of the plan; `kernels` ends with a NULL name.
 * NULL after a fault that names one that is not there. */
MwKernel **mw_device_kernels(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             MwFault *fault);

void mw_device_free(MwDevice **device);

#endif
