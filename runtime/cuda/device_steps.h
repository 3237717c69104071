/* SPDX-License-Identifier: MIT */
/* The steps of a GPU, of which MW_STEP_SLOTS may be queued at once: their numbers, their ends, and
 * the graphs of their work. The functions with a device are those of
 * runtime/exec/device.h.
 *
 * A step is done when its event has occurred. Besides, the GPU itself writes the number of the step
 * to host memory: an error of the GPU makes every later call fail, also the query of an event that
 * had occurred before, and this memory says which step was the last that came to its end. */
#ifndef MW_RUNTIME_CUDA_DEVICE_STEPS_H
#define MW_RUNTIME_CUDA_DEVICE_STEPS_H

#include "runtime/exec/device.h"

#include <cuda_runtime_api.h>

typedef struct MwCudaSteps MwCudaSteps;

/* The beginning of the device of device.c. */
typedef struct {
    MwDevice base;
    MwCudaSteps *steps;
} MwCudaDevice;

/* Waits until the event has occurred, and calls MwDevice.idle meanwhile. */
bool mw_cuda_wait(const MwDevice *device, cudaEvent_t event, MwFault *fault);

/* Sets `steps` and MwDevice.step of the device, whose work is queued on `stream`. Allocates a
 * number on the GPU, and two of each slot on the host, pinned. */
bool mw_cuda_steps_make(MwArena *arena, MwCudaDevice *device, cudaStream_t stream, MwFault *fault);
/* Also of a device of which mw_cuda_steps_make has failed, or was not called. */
void mw_cuda_steps_free(MwCudaDevice *device);
/* How often mw_cuda_set_step was called. */
int mw_cuda_steps_begun(const MwCudaSteps *steps);

bool mw_cuda_set_step(MwDevice *device, int slot, int64_t step, MwFault *fault);
bool mw_cuda_end_step(MwDevice *device, int slot, MwFault *fault);
bool mw_cuda_wait_step(MwDevice *device, int slot, MwFault *fault);
bool mw_cuda_is_step_done(MwDevice *device, int slot);

void mw_cuda_make_graphs(MwDevice *device, MwArena *arena, int count);
bool mw_cuda_begin_capture(MwDevice *device, int graph, MwFault *fault);
bool mw_cuda_end_capture(MwDevice *device, MwFault *fault);
bool mw_cuda_replay(MwDevice *device, int graph, MwFault *fault);
void mw_cuda_drop_capture(MwDevice *device);

#endif
