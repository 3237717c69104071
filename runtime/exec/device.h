/* SPDX-License-Identifier: MIT */
/* The interface of a device: memory, copies, and the execution of one kernel or routine.
 *
 * Calls are queued in order, on the queue MW_QUEUE_COMPUTE where they name none. They may return
 * before their work is done; only copy_out and synchronize wait for the work queued before them.
 * Functions that can fail set the fault and return false or NULL. */
#ifndef MW_RUNTIME_EXEC_DEVICE_H
#define MW_RUNTIME_EXEC_DEVICE_H

#include "runtime/exec/fault.h"
#include "runtime/order/command.h"
#include "runtime/plan/kernel.h"
#include "runtime/plan/plan.h"

typedef struct MwDevice MwDevice;
typedef struct MwChoices MwChoices;

/* Steps that can be queued at once, on a device that does one while the next is queued. What the
 * host writes for a step and reads of it is in a slot of its own. */
enum { MW_STEP_SLOTS = 2 };

static inline int mw_step_slot(int64_t step)
{
    return (int)(step % MW_STEP_SLOTS);
}

/* One call of a kernel or routine. Addresses are of the device's memory. */
typedef struct {
    const MwPlanInstr *instr; /* kind, target and accesses */
    void *const *operands;
    const int64_t *operand_bytes; /* size of each operand's whole buffer */
    const MwKernelArg *args;
    MwQueue queue; /* MW_QUEUE_COMPUTE, but perhaps of the routine copy */
} MwDeviceCall;

typedef struct {
    const char *name;

    /* ---- Memory ---- */

    /* Aligned to MW_BUFFER_ALIGNMENT, with undefined contents. */
    void *(*alloc)(MwDevice *device, int64_t bytes, MwFault *fault);
    void (*release)(MwDevice *device, void *memory, int64_t bytes);
    /* Host memory that the device can read and write by itself and that lives as long as the
     * device. At most one allocation per device. NULL: the device has none, and none of the
     * functions that need it or that end steps. */
    void *(*alloc_host)(MwDevice *device, int64_t bytes, MwFault *fault);
    /* Memory of the host for what a plan has there, which `copy_in`, `copy_out`, `copy`, `zero` and
     * `run` take as they take that of the device. It lives as long as the device. At most one
     * allocation per device. */
    void *(*alloc_kept)(MwDevice *device, int64_t bytes, MwFault *fault);

    /* ---- Copies ---- */

    /* `host` may be reused when the call returns. */
    bool (*copy_in)(MwDevice *device, void *to, const void *host, int64_t bytes, MwFault *fault);
    /* `host` lies in memory of alloc_host; it is read when the queue reaches the copy. */
    bool (*copy_in_async)(MwDevice *device, void *to, const void *host, int64_t bytes,
                          MwFault *fault);
    bool (*copy_out)(MwDevice *device, void *host, const void *from, int64_t bytes, MwFault *fault);
    /* `host` lies in memory of alloc_host; it is written when the queue reaches the copy. */
    bool (*copy_out_async)(MwDevice *device, void *host, const void *from, int64_t bytes,
                           MwFault *fault);
    bool (*copy)(MwDevice *device, void *to, const void *from, int64_t bytes, MwFault *fault);
    bool (*zero)(MwDevice *device, void *to, int64_t bytes, MwFault *fault);

    /* ---- Execution ---- */

    bool (*run)(MwDevice *device, const MwDeviceCall *call, MwFault *fault);
    /* Measures how the call is done fastest, unless MwDevice.choices says it; the operands lose
     * their contents. What is in `choices` when the call runs first holds. NULL: there is nothing
     * to choose. */
    bool (*tune)(MwDevice *device, const MwDeviceCall *call, MwFault *fault);
    bool (*synchronize)(MwDevice *device, MwFault *fault);

    /* ---- Steps ---- */

    /* Sets the number of the step for the work queued from now on. The step that had the slot
     * before is done. NULL where MwDevice.step is NULL. */
    bool (*set_step)(MwDevice *device, int slot, int64_t step, MwFault *fault);
    /* The step in the slot is done when all work is that is queued now. */
    bool (*end_step)(MwDevice *device, int slot, MwFault *fault);
    /* Waits until the step is done. */
    bool (*wait_step)(MwDevice *device, int slot, MwFault *fault);
    /* Whether it is, which the device says itself: also after a fault of later work. */
    bool (*is_step_done)(MwDevice *device, int slot);

    /* ---- Order between two queues; NULL for a device with one ---- */

    /* Creates events 0 .. count - 1, but for those that an earlier call created. */
    bool (*make_events)(MwDevice *device, MwArena *arena, int count, MwFault *fault);
    /* The event occurs when all work that is now on the queue is done. */
    bool (*record_event)(MwDevice *device, MwQueue queue, int event, MwFault *fault);
    /* Work queued from now on starts after the event as it was recorded last. */
    bool (*wait_event)(MwDevice *device, MwQueue queue, int event, MwFault *fault);

    /* ---- Capture and replay of work as graphs; NULL for a device without them ---- */

    /* Graphs are numbered 0 .. count - 1. Called once. */
    void (*make_graphs)(MwDevice *device, MwArena *arena, int count);
    /* Work that is queued between begin_capture and end_capture is not done but kept as the graph,
     * with its addresses and arguments. At most one capture at a time, of each graph one. */
    bool (*begin_capture)(MwDevice *device, int graph, MwFault *fault);
    bool (*end_capture)(MwDevice *device, MwFault *fault);
    /* Queues the work of the graph on MW_QUEUE_COMPUTE. */
    bool (*replay)(MwDevice *device, int graph, MwFault *fault);
    /* Frees the captured work of all graphs, if there is any. */
    void (*drop_capture)(MwDevice *device);

    void (*destroy)(MwDevice *device);
} MwDeviceTable;

struct MwDevice {
    const MwDeviceTable *table;
    bool is_host;    /* the process can read and write the device's memory */
    bool is_dry_run; /* the memory holds no data, so that contents need not be computed */
    const char
        *warning; /* what its user should know, as a library that is missing; NULL: nothing */
    const char *kept_folder; /* where alloc_kept makes a file, if it does; NULL: a usual place */
    MwChoices *choices;      /* of `tune`; NULL where that is NULL */
    bool is_capturing; /* between begin_capture and end_capture: nothing queued can be waited for */
    /* Address, on the device, from which kernels read the number of the step. NULL: they take it by
     * value. */
    const int64_t *step;
    /* Called repeatedly while copy_out or synchronize waits, so that a transport's messages make
     * progress and a lost peer is noticed. False, after a fault, ends the wait. NULL: there is
     * nothing to do. */
    bool (*idle)(void *context, MwFault *fault);
    /* Called before an operation that may block the process, and with it `idle`, until the device
     * has done all its work: waits until no work on the device depends on another rank. NULL: none
     * does. */
    bool (*quiesce)(void *context, MwFault *fault);
    void *idle_context; /* the context of both */
};

/* The functions of the plan's kernels, in the order of the plan. `kernels` ends with an entry whose
 * name is NULL. NULL after a fault that names a kernel that it lacks. */
MwKernel **mw_device_kernels(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             MwFault *fault);

void mw_device_free(MwDevice **device);

#endif
