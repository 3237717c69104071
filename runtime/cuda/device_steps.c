/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/device_steps.h"

#include "runtime/cuda/error.h"

/* In pinned memory. */
typedef struct {
    int64_t number; /* of the step: copied to MwDevice.step when the stream begins it */
    int64_t done;   /* copied from there when the step is done */
} Words;

struct MwCudaSteps {
    cudaStream_t stream;
    Words *words; /* [MW_STEP_SLOTS] */
    cudaEvent_t ends[MW_STEP_SLOTS];
    int begun;
    cudaGraphExec_t *graphs; /* [graph_count] NULL: not captured */
    int graph_count;
    int captured; /* the graph of the capture */
};

#define CALL(name, ...) MW_CUDA_CALL(fault, name, __VA_ARGS__)

static MwCudaSteps *steps_of(const MwDevice *device)
{
    return ((const MwCudaDevice *)device)->steps;
}

bool mw_cuda_wait(const MwDevice *device, cudaEvent_t event, MwFault *fault)
{
    cudaError_t status;
    if (!device->idle)
        return CALL(cudaEventSynchronize, event);
    while ((status = cudaEventQuery(event)) == cudaErrorNotReady) {
        cudaGetLastError(); /* clears cudaErrorNotReady, which a later call would report */
        if (!device->idle(device->idle_context, fault))
            return false;
    }
    return mw_cuda_check(status, "cudaEventQuery", fault);
}

/* ---- Beginning and end of a step ---- */

int mw_cuda_steps_begun(const MwCudaSteps *steps)
{
    return steps->begun;
}

bool mw_cuda_set_step(MwDevice *device, int slot, int64_t step, MwFault *fault)
{
    MwCudaSteps *steps = steps_of(device);
    /* the slot has another number than its step until that is done */
    steps->words[slot] = (Words){.number = step, .done = ~step};
    steps->begun++;
    return CALL(cudaMemcpyAsync, (void *)(uintptr_t)device->step, &steps->words[slot].number,
                sizeof step, cudaMemcpyHostToDevice, steps->stream);
}

bool mw_cuda_end_step(MwDevice *device, int slot, MwFault *fault)
{
    const MwCudaSteps *steps = steps_of(device);
    return CALL(cudaMemcpyAsync, &steps->words[slot].done, device->step, sizeof *device->step,
                cudaMemcpyDeviceToHost, steps->stream) &&
           CALL(cudaEventRecord, steps->ends[slot], steps->stream);
}

bool mw_cuda_wait_step(MwDevice *device, int slot, MwFault *fault)
{
    return mw_cuda_wait(device, steps_of(device)->ends[slot], fault);
}

bool mw_cuda_is_step_done(MwDevice *device, int slot)
{
    const MwCudaSteps *steps = steps_of(device);
    const volatile Words *words = &steps->words[slot];
    cudaEventQuery(steps->ends[slot]); /* makes the driver look; what it says may be an error */
    cudaGetLastError();
    return words->done == words->number;
}

/* ---- Capture and replay ---- */

void mw_cuda_make_graphs(MwDevice *device, MwArena *arena, int count)
{
    MwCudaSteps *steps = steps_of(device);
    MW_ASSERT(!steps->graphs);
    steps->graphs = MW_NEW(arena, cudaGraphExec_t, count);
    steps->graph_count = count;
}

/* Begins a capture in relaxed mode, because NCCL makes calls during a capture, also from its own
 * threads, that the other modes forbid. The communication stream joins the capture at its first
 * wait for the compute stream and leaves it when the compute stream waits for it. */
bool mw_cuda_begin_capture(MwDevice *device, int graph, MwFault *fault)
{
    MwCudaSteps *steps = steps_of(device);
    MW_ASSERT(!steps->graphs[graph]);
    steps->captured = graph;
    device->is_capturing =
        CALL(cudaStreamBeginCapture, steps->stream, cudaStreamCaptureModeRelaxed);
    if (!device->is_capturing)
        cudaGetLastError(); /* clears the error, which a later launch would report */
    return device->is_capturing;
}

bool mw_cuda_end_capture(MwDevice *device, MwFault *fault)
{
    MwCudaSteps *steps = steps_of(device);
    cudaGraphExec_t *kept = &steps->graphs[steps->captured];
    cudaGraph_t graph = NULL;
    device->is_capturing = false;
    const bool good = CALL(cudaStreamEndCapture, steps->stream, &graph) &&
                      CALL(cudaGraphInstantiateWithFlags, kept, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (!good) {
        *kept = NULL;
        cudaGetLastError();
    }
    return good;
}

bool mw_cuda_replay(MwDevice *device, int graph, MwFault *fault)
{
    const MwCudaSteps *steps = steps_of(device);
    return CALL(cudaGraphLaunch, steps->graphs[graph], steps->stream);
}

void mw_cuda_drop_capture(MwDevice *device)
{
    MwCudaSteps *steps = steps_of(device);
    MwFault ignored;
    if (device->is_capturing)
        mw_cuda_end_capture(device, &ignored);
    for (int i = 0; i < steps->graph_count; i++) {
        if (steps->graphs[i])
            cudaGraphExecDestroy(steps->graphs[i]);
        steps->graphs[i] = NULL;
    }
}

/* ---- The steps of a device ---- */

bool mw_cuda_steps_make(MwArena *arena, MwCudaDevice *device, cudaStream_t stream, MwFault *fault)
{
    MwCudaSteps *steps = device->steps = MW_NEW(arena, MwCudaSteps, 1);
    void *step = NULL;
    steps->stream = stream;
    for (int i = 0; i < MW_STEP_SLOTS; i++)
        if (!CALL(cudaEventCreateWithFlags, &steps->ends[i], cudaEventDisableTiming))
            return false;
    const bool good =
        CALL(cudaMallocHost, (void **)&steps->words, sizeof *steps->words * MW_STEP_SLOTS) &&
        CALL(cudaMalloc, &step, sizeof *device->base.step);
    device->base.step = step;
    return good;
}

void mw_cuda_steps_free(MwCudaDevice *device)
{
    MwCudaSteps *steps = device->steps;
    if (!steps)
        return;
    mw_cuda_drop_capture(&device->base);
    for (int i = 0; i < MW_STEP_SLOTS; i++)
        if (steps->ends[i])
            cudaEventDestroy(steps->ends[i]);
    if (steps->words)
        cudaFreeHost(steps->words);
    if (device->base.step)
        cudaFree((void *)(uintptr_t)device->base.step);
    device->base.step = NULL;
    device->steps = NULL;
}
