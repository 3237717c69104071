/* SPDX-License-Identifier: MIT */
/* The queues of the device are CUDA streams, its events CUDA events. Kernels, routines and copies
 * run on the stream of MW_QUEUE_COMPUTE, the collectives of a transport on that of
 * MW_QUEUE_COMMUNICATION. Copies from and to the host go through two pinned buffers in turn, so
 * that the process copies one while the GPU copies the other.
 *
 * Memory: the pinned buffers, what device_steps.h and the workspaces of gemm.h, conv.h and
 * attention.h take, and what the transport and the executor request, which is the arena and host
 * memory for inputs and metrics. */
#include "runtime/cuda/device.h"

#include "runtime/cuda/attention.h"
#include "runtime/cuda/conv.h"
#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/device_steps.h"
#include "runtime/cuda/error.h"
#include "runtime/cuda/gemm.h"
#include "runtime/cuda/routines.h"
#include "runtime/exec/choices.h"
#include "runtime/mpi/error.h"
#include "runtime/plan/routine.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* Size and number of the pinned buffers. A larger one takes fewer calls of CUDA per byte; a smaller
 * one leaves less of the first copy, into it, unhidden. 4 MiB take some 160 us over PCIe 4.0 at 25
 * GB/s, a call some microseconds. Derived, not measured. */
enum { PINNED_BYTES = 4 << 20, PINNED_BUFFERS = 2 };

/* The host stays at most RUN_EVENTS * RUN_CALLS calls of `run` ahead of the GPU, where ranks wait
 * for each other: after every RUN_CALLS calls it waits for the event that is RUN_EVENTS * RUN_CALLS
 * calls old and records it anew. A call makes few launches (sdpa_grad makes 3), so that the queue
 * of a stream, which holds 1024, does not become full and block the host. A graph counts as
 * GRAPH_CALLS, since how much of the queue it takes is not documented: 8 of them are more than
 * enough to do while the host queues the next. Chosen, not measured. */
enum { RUN_CALLS = 64, RUN_EVENTS = 2, GRAPH_CALLS = 16 };

typedef struct {
    char *memory;     /* [PINNED_BYTES] */
    cudaEvent_t done; /* occurs when the last copy from or to it is done */
} Pinned;

typedef struct {
    MwCudaDevice device;
    const MwPlan *plan;
    MwKernel **kernels; /* [MwPlan.kernels] */
    cudaStream_t streams[MW_QUEUE_COUNT];
    cudaStream_t stream; /* streams[MW_QUEUE_COMPUTE] */
    cudaEvent_t *events; /* [event_count] the events that make_events made */
    int event_count;
    cudaEvent_t reached; /* synchronize records it at the end of the stream */
    Pinned pinned[PINNED_BUFFERS];
    int next;          /* the pinned buffer for the next copy to the device */
    void *host_memory; /* of alloc_host; NULL: not called */
    char *kept;        /* [kept_bytes] of alloc_kept, pinned; NULL: not called */
    int64_t kept_bytes;
    int run_calls;               /* since the last of these events was recorded */
    cudaEvent_t ran[RUN_EVENTS]; /* recorded in turn after every RUN_CALLS calls */
    int next_ran;
    MwCudaGemm *gemm;
    MwCudaConv *conv;
    MwCudaAttention *attention;
} Cuda;

cudaStream_t mw_device_cuda_stream(const MwDevice *device, MwQueue queue)
{
    return ((const Cuda *)device)->streams[queue];
}

#define CALL(name, ...) MW_CUDA_CALL(fault, name, __VA_ARGS__)

/* ---- Memory ---- */

static void *cuda_alloc(MwDevice *device, int64_t bytes, MwFault *fault)
{
    (void)device;
    void *memory = NULL;
    size_t left = 0, whole = 0;
    if (CALL(cudaMalloc, &memory, (size_t)mw_max(bytes, 1)))
        return memory;
    if (cudaMemGetInfo(&left, &whole) == cudaSuccess)
        mw_fault_prefix(fault, "cannot allocate %lld bytes where %lld of the GPU's %lld are free",
                        (long long)bytes, (long long)left, (long long)whole);
    else
        mw_fault_prefix(fault, "cannot allocate %lld bytes", (long long)bytes);
    return NULL;
}

static void cuda_release(MwDevice *device, void *memory, int64_t bytes)
{
    (void)device, (void)bytes;
    cudaFree(memory);
}

static void *cuda_alloc_kept(MwDevice *device, int64_t bytes, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    MW_ASSERT(!cuda->kept);
    cuda->kept_bytes = bytes;
    return CALL(cudaMallocHost, (void **)&cuda->kept, (size_t)bytes) ? cuda->kept : NULL;
}

static bool is_kept(const Cuda *cuda, const void *at)
{
    const char *byte = at;
    return cuda->kept && byte >= cuda->kept && byte < cuda->kept + cuda->kept_bytes;
}

static bool cuda_synchronize(MwDevice *device, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaEventRecord, cuda->reached, cuda->stream) &&
           mw_cuda_wait(&cuda->device.base, cuda->reached, fault);
}

/* Copies within the memory of the host, between steps. */
static bool copy_kept(MwDevice *device, void *to, const void *from, int64_t bytes, MwFault *fault)
{
    if (!cuda_synchronize(device, fault))
        return false;
    memcpy(to, from, (size_t)bytes);
    return true;
}

static bool cuda_copy_in(MwDevice *device, void *to, const void *host, int64_t bytes,
                         MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    if (is_kept(cuda, to))
        return copy_kept(device, to, host, bytes, fault);
    for (int64_t at = 0; at < bytes; at += PINNED_BYTES) {
        const Pinned *pinned = &cuda->pinned[cuda->next];
        const size_t count = (size_t)mw_min(PINNED_BYTES, bytes - at);
        cuda->next = (cuda->next + 1) % PINNED_BUFFERS;
        if (!mw_cuda_wait(&cuda->device.base, pinned->done, fault))
            return false;
        memcpy(pinned->memory, (const char *)host + at, count);
        if (!CALL(cudaMemcpyAsync, (char *)to + at, pinned->memory, count, cudaMemcpyHostToDevice,
                  cuda->stream) ||
            !CALL(cudaEventRecord, pinned->done, cuda->stream))
            return false;
    }
    return true;
}

static void *cuda_alloc_host(MwDevice *device, int64_t bytes, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    MW_ASSERT(!cuda->host_memory);
    return CALL(cudaMallocHost, &cuda->host_memory, (size_t)mw_max(bytes, 1)) ? cuda->host_memory
                                                                              : NULL;
}

static bool cuda_copy_in_async(MwDevice *device, void *to, const void *host, int64_t bytes,
                               MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaMemcpyAsync, to, host, (size_t)bytes, cudaMemcpyHostToDevice, cuda->stream);
}

static bool cuda_copy_out_async(MwDevice *device, void *host, const void *from, int64_t bytes,
                                MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaMemcpyAsync, host, from, (size_t)bytes, cudaMemcpyDeviceToHost, cuda->stream);
}

/* Begins to copy to a pinned buffer. The stream orders the copy after earlier copies from that
 * buffer. */
static bool begin_copy_out(const Cuda *cuda, const Pinned *pinned, const char *from, int64_t bytes,
                           MwFault *fault)
{
    return CALL(cudaMemcpyAsync, pinned->memory, from, (size_t)bytes, cudaMemcpyDeviceToHost,
                cuda->stream) &&
           CALL(cudaEventRecord, pinned->done, cuda->stream);
}

/* Waits for a copy to a pinned buffer, and copies from there to `host`. */
static bool end_copy_out(const Cuda *cuda, const Pinned *pinned, char *host, int64_t bytes,
                         MwFault *fault)
{
    if (!mw_cuda_wait(&cuda->device.base, pinned->done, fault))
        return false;
    memcpy(host, pinned->memory, (size_t)bytes);
    return true;
}

/* Copies piece by piece: while the GPU copies a piece, the process copies the piece before it. */
static bool cuda_copy_out(MwDevice *device, void *host, const void *from, int64_t bytes,
                          MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    if (is_kept(cuda, from))
        return copy_kept(device, host, from, bytes, fault);
    for (int64_t begin = 0, end = -PINNED_BYTES; end < bytes;
         begin += PINNED_BYTES, end += PINNED_BYTES) {
        if (begin < bytes &&
            !begin_copy_out(cuda, &cuda->pinned[begin / PINNED_BYTES % PINNED_BUFFERS],
                            (const char *)from + begin, mw_min(PINNED_BYTES, bytes - begin), fault))
            return false;
        if (end >= 0 && !end_copy_out(cuda, &cuda->pinned[end / PINNED_BYTES % PINNED_BUFFERS],
                                      (char *)host + end, mw_min(PINNED_BYTES, bytes - end), fault))
            return false;
    }
    return true;
}

static bool copy_on(const Cuda *cuda, MwQueue queue, void *to, const void *from, int64_t bytes,
                    MwFault *fault)
{
    const enum cudaMemcpyKind kind = is_kept(cuda, to)     ? cudaMemcpyDeviceToHost
                                     : is_kept(cuda, from) ? cudaMemcpyHostToDevice
                                                           : cudaMemcpyDeviceToDevice;
    return CALL(cudaMemcpyAsync, to, from, (size_t)bytes, kind, cuda->streams[queue]);
}

static bool cuda_copy(MwDevice *device, void *to, const void *from, int64_t bytes, MwFault *fault)
{
    return copy_on((const Cuda *)device, MW_QUEUE_COMPUTE, to, from, bytes, fault);
}

static bool cuda_zero(MwDevice *device, void *to, int64_t bytes, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    if (!is_kept(cuda, to))
        return CALL(cudaMemsetAsync, to, 0, (size_t)bytes, cuda->stream);
    if (!cuda_synchronize(device, fault))
        return false;
    memset(to, 0, (size_t)bytes);
    return true;
}

/* ---- Queues ---- */

static bool cuda_make_events(MwDevice *device, MwArena *arena, int count, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    cudaEvent_t *events = MW_NEW(arena, cudaEvent_t, mw_max(count, cuda->event_count));
    if (cuda->event_count)
        memcpy(events, cuda->events, sizeof *events * (size_t)cuda->event_count);
    cuda->events = events;
    for (; cuda->event_count < count; cuda->event_count++)
        if (!CALL(cudaEventCreateWithFlags, &cuda->events[cuda->event_count],
                  cudaEventDisableTiming))
            return false;
    return true;
}

static bool cuda_record_event(MwDevice *device, MwQueue queue, int event, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaEventRecord, cuda->events[event], cuda->streams[queue]);
}

static bool cuda_wait_event(MwDevice *device, MwQueue queue, int event, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaStreamWaitEvent, cuda->streams[queue], cuda->events[event], 0);
}

/* ---- Kernels and routines ---- */

static bool run_gemm(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    return mw_cuda_gemm_run(((Cuda *)device)->gemm, (MwRoutine)call->instr->target, call->operands,
                            call->args, fault);
}

static bool cuda_tune(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    const MwRoutine routine = (MwRoutine)call->instr->target;
    if (!mw_gemm_extras(routine))
        return true;
    for (int i = 0; i < call->instr->operand_count; i++)
        if (!cuda_zero(device, call->operands[i], call->operand_bytes[i], fault))
            return false;
    return mw_cuda_gemm_tune(((Cuda *)device)->gemm, routine, call->operands, call->args, fault);
}

static bool run_conv(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    return mw_cuda_conv_run(((Cuda *)device)->conv, (MwRoutine)call->instr->target, call->operands,
                            call->args, fault);
}

static bool run_sdpa(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    return mw_cuda_attention_run(((Cuda *)device)->attention, (MwRoutine)call->instr->target,
                                 call->operands, call->args, fault);
}

static bool run_zero(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    return cuda_zero(device, call->operands[0], call->args[0].i, fault);
}

static bool run_copy(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    return copy_on((const Cuda *)device, call->queue, call->operands[1], call->operands[0],
                   call->args[0].i, fault);
}

/* Runs a kernel of the host, when the GPU has done what was queued before: its operands were copied
 * then. */
static bool run_on_host(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    if (!cuda_synchronize(device, fault))
        return false;
    cuda->kernels[call->instr->target](call->operands, call->args,
                                       mw_plan_instr_sets(cuda->plan, call->instr), NULL);
    return true;
}

/* Launches a kernel. cudaGetLastError may also report an error of an earlier call. */
static bool run_kernel(const Cuda *cuda, const MwDeviceCall *call, MwFault *fault)
{
    const int target = call->instr->target;
    cuda->kernels[target](call->operands, call->args, mw_plan_instr_sets(cuda->plan, call->instr),
                          cuda->stream);
    return mw_cuda_check(cudaGetLastError(), cuda->plan->kernels[target].name, fault);
}

/* A routine has one of both; neither: a GPU does not have it. */
typedef struct {
    bool (*run)(MwDevice *device, const MwDeviceCall *call, MwFault *fault);
    MwCudaRoutine *kernel;
} Routine;

static const Routine routines[] = {
#define KERNEL(name) .kernel = mw_cuda_##name
#define DEVICE(name) .run = run_##name
#define none
#define ROUTINE(id, name, accesses, ints, floats, type, extents, cpu, cuda)                        \
    [MW_ROUTINE_##id] = {cuda},
#include "runtime/plan/routines.def"
#undef KERNEL
#undef DEVICE
#undef none
};

static bool run_routine(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    const Routine *routine = &routines[call->instr->target];
    const char *name = mw_routine_info((MwRoutine)call->instr->target)->name;
    if (routine->run)
        return routine->run(device, call, fault);
    if (!routine->kernel)
        return mw_fault_set(fault, "%s is for CPUs alone", name);
    routine->kernel(call->operands, call->args, ((Cuda *)device)->stream);
    return mw_cuda_check(cudaGetLastError(), name, fault);
}

/* In the first step, waits until no work on the GPU depends on another rank. CUDA loads the code of
 * a kernel at its first launch, and may block the host until the GPU is idle: for ever, if work on
 * the GPU waits for another rank that waits for this host. The first step launches all code (CUDA
 * Programming Guide, "Lazy Loading", on concurrent execution). */
static bool quiesce(const Cuda *cuda, MwFault *fault)
{
    const MwDevice *device = &cuda->device.base;
    return mw_cuda_steps_begun(cuda->device.steps) > 1 || !device->quiesce ||
           device->quiesce(device->idle_context, fault);
}

/* Limits how far the host is ahead of the GPU. The host waits here, where messages make progress
 * meanwhile, so that it never blocks on a full queue of the stream. */
static bool limit_lead(Cuda *cuda, int calls, MwFault *fault)
{
    if (!cuda->device.base.idle || cuda->device.base.is_capturing)
        return true;
    cuda->run_calls += calls;
    if (cuda->run_calls < RUN_CALLS)
        return true;
    const cudaEvent_t event = cuda->ran[cuda->next_ran];
    cuda->run_calls = 0;
    cuda->next_ran = (cuda->next_ran + 1) % RUN_EVENTS;
    return mw_cuda_wait(&cuda->device.base, event, fault) &&
           CALL(cudaEventRecord, event, cuda->stream);
}

static bool cuda_run(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    if (call->instr->kind == MW_INSTR_KERNEL && cuda->plan->kernels[call->instr->target].on_host)
        return run_on_host(device, call, fault);
    if (!quiesce(cuda, fault) || !limit_lead(cuda, 1, fault))
        return false;
    return call->instr->kind == MW_INSTR_KERNEL ? run_kernel(cuda, call, fault)
                                                : run_routine(device, call, fault);
}

static bool cuda_replay(MwDevice *device, int graph, MwFault *fault)
{
    return limit_lead((Cuda *)device, GRAPH_CALLS, fault) && mw_cuda_replay(device, graph, fault);
}

/* ---- The device ---- */

static void cuda_destroy(MwDevice *device)
{
    Cuda *cuda = (Cuda *)device;
    mw_cuda_steps_free(&cuda->device);
    mw_cuda_gemm_free(&cuda->gemm);
    mw_cuda_conv_free(&cuda->conv);
    mw_cuda_attention_free(&cuda->attention);
    for (int i = 0; i < PINNED_BUFFERS; i++) {
        if (cuda->pinned[i].done)
            cudaEventDestroy(cuda->pinned[i].done);
        if (cuda->pinned[i].memory)
            cudaFreeHost(cuda->pinned[i].memory);
    }
    if (cuda->host_memory)
        cudaFreeHost(cuda->host_memory);
    if (cuda->kept)
        cudaFreeHost(cuda->kept);
    if (cuda->reached)
        cudaEventDestroy(cuda->reached);
    for (int i = 0; i < RUN_EVENTS; i++)
        if (cuda->ran[i])
            cudaEventDestroy(cuda->ran[i]);
    for (int i = 0; i < cuda->event_count; i++)
        cudaEventDestroy(cuda->events[i]);
    for (int i = 0; i < MW_QUEUE_COUNT; i++)
        if (cuda->streams[i])
            cudaStreamDestroy(cuda->streams[i]);
}

static const MwDeviceTable cuda_table = {
    .name = "cuda",
    .alloc = cuda_alloc,
    .release = cuda_release,
    .alloc_kept = cuda_alloc_kept,
    .copy_in = cuda_copy_in,
    .alloc_host = cuda_alloc_host,
    .copy_in_async = cuda_copy_in_async,
    .copy_out = cuda_copy_out,
    .copy_out_async = cuda_copy_out_async,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .run = cuda_run,
    .tune = cuda_tune,
    .synchronize = cuda_synchronize,
    .set_step = mw_cuda_set_step,
    .end_step = mw_cuda_end_step,
    .wait_step = mw_cuda_wait_step,
    .is_step_done = mw_cuda_is_step_done,
    .make_events = cuda_make_events,
    .record_event = cuda_record_event,
    .wait_event = cuda_wait_event,
    .make_graphs = mw_cuda_make_graphs,
    .begin_capture = mw_cuda_begin_capture,
    .end_capture = mw_cuda_end_capture,
    .replay = cuda_replay,
    .drop_capture = mw_cuda_drop_capture,
    .destroy = cuda_destroy,
};

/* Finds the index of this rank among the ranks of its machine. */
static bool find_local_rank(int *local_rank, MwFault *fault)
{
    int is_started;
    MPI_Comm node;
    *local_rank = 0;
    MPI_Initialized(&is_started);
    if (!is_started)
        return true;
    return mw_mpi_check(
               MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
               "MPI_Comm_split_type", fault) &&
           mw_mpi_check(MPI_Comm_rank(node, local_rank), "MPI_Comm_rank", fault) &&
           mw_mpi_check(MPI_Comm_free(&node), "MPI_Comm_free", fault);
}

/* Assigns the GPUs of a machine to its ranks in turn. */
static bool choose_gpu(MwFault *fault)
{
    int local_rank, count;
    if (!find_local_rank(&local_rank, fault) || !mw_cuda_count(&count, fault))
        return false;
    return CALL(cudaSetDevice, local_rank % count);
}

static bool make_pinned(Cuda *cuda, MwFault *fault)
{
    for (int i = 0; i < PINNED_BUFFERS; i++)
        if (!CALL(cudaMallocHost, (void **)&cuda->pinned[i].memory, PINNED_BYTES) ||
            !CALL(cudaEventCreateWithFlags, &cuda->pinned[i].done, cudaEventDisableTiming))
            return false;
    return true;
}

/* Makes the streams of all queues. Communication has a higher priority than computing, and so have
 * copies, which are done by engines of their own. Streams of one priority may share a hardware
 * queue of the GPU, where work that waits holds up work that does not: the streams of messages
 * (nccl_p2p.c) have the greatest priority to themselves. */
static bool make_streams(Cuda *cuda, MwFault *fault)
{
    int least, greatest;
    if (!CALL(cudaDeviceGetStreamPriorityRange, &least, &greatest))
        return false;
    for (int q = 0; q < MW_QUEUE_COUNT; q++)
        if (!CALL(cudaStreamCreateWithPriority, &cuda->streams[q], cudaStreamNonBlocking,
                  q == MW_QUEUE_COMPUTE ? least : (int)mw_min(greatest + 1, least)))
            return false;
    cuda->stream = cuda->streams[MW_QUEUE_COMPUTE];
    return true;
}

/* What the algorithms of products depend on besides their shapes. */
static bool say_of_what(const Cuda *cuda, MwArena *arena, MwFault *fault)
{
    struct cudaDeviceProp properties;
    int gpu = 0;
    if (!mw_cublaslt_load(fault) || !CALL(cudaGetDevice, &gpu) ||
        !CALL(cudaGetDeviceProperties, &properties, gpu))
        return false;
    cuda->device.base.choices->of = mw_arena_printf(arena, "%s, cuBLASLt %zu", properties.name,
                                                    mw_cublaslt.cublasLtGetVersion());
    return true;
}

static bool make_ready(Cuda *cuda, MwArena *arena, MwFault *fault)
{
    if (!choose_gpu(fault) || !make_streams(cuda, fault) ||
        !CALL(cudaEventCreateWithFlags, &cuda->reached, cudaEventDisableTiming) ||
        !make_pinned(cuda, fault) ||
        !mw_cuda_steps_make(arena, &cuda->device, cuda->stream, fault) ||
        !say_of_what(cuda, arena, fault))
        return false;
    for (int i = 0; i < RUN_EVENTS; i++)
        if (!CALL(cudaEventCreateWithFlags, &cuda->ran[i], cudaEventDisableTiming))
            return false;
    cuda->gemm =
        mw_cuda_gemm_new(arena, cuda->plan, cuda->stream, cuda->device.base.choices, fault);
    if (cuda->gemm)
        cuda->conv = mw_cuda_conv_new(arena, cuda->plan, cuda->stream, fault);
    if (cuda->conv)
        cuda->device.base.warning = mw_cuda_conv_warning(cuda->conv);
    if (cuda->conv)
        cuda->attention = mw_cuda_attention_new(arena, cuda->plan, cuda->stream, fault);
    return cuda->attention != NULL;
}

MwDevice *mw_device_cuda_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             int threads, MwFault *fault)
{
    (void)threads; /* the host only queues work */
    Cuda *cuda = MW_NEW(arena, Cuda, 1);
    cuda->device.base = (MwDevice){.table = &cuda_table, .choices = MW_NEW(arena, MwChoices, 1)};
    cuda->plan = plan;
    cuda->kernels = mw_device_kernels(arena, plan, kernels, fault);
    if (!cuda->kernels)
        return NULL;
    if (!make_ready(cuda, arena, fault)) {
        cuda_destroy(&cuda->device.base);
        return NULL;
    }
    return &cuda->device.base;
}
