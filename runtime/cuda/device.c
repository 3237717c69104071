/* SPDX-License-Identifier: MIT */
/* A GPU as a device. Its queues are streams, its marks events: kernels, routines and copies run on the
 * first, what a transport puts there on the second. Host memory is reached through two pinned pieces
 * by turns, so that the process copies one while the GPU copies the other.
 *
 * Allocated when the device is made: the streams, the pinned pieces, the number of the step (on the GPU,
 * and pinned), what gemm.h says; later what the transport asks for, which is the arena. */
#include "runtime/cuda/device.h"

#include "runtime/cuda/error.h"
#include "runtime/cuda/gemm.h"
#include "runtime/cuda/routines.h"
#include "runtime/mpi/parcels.h"
#include "runtime/plan/routine.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = 4 << 20, PIECES = 2 };

/* So many calls of `run` go by between two of its events, of which the last but one is done: few enough
 * launches for the queue of a stream (1024), which blocks the host when it is full. */
enum { RUN_CALLS = 64, RUN_EVENTS = 2 };

typedef struct {
    char *memory;     /* PIECE_BYTES, pinned */
    cudaEvent_t done; /* the last copy from or to it */
} Piece;

typedef struct {
    MwDevice base;
    const MwPlan *plan;
    MwKernel **kernels; /* [MwPlan.kernels] */
    cudaStream_t streams[MW_QUEUE_COUNT];
    cudaStream_t stream; /* of MW_QUEUE_COMPUTE */
    cudaEvent_t *marks;  /* [mark_count] */
    int mark_count;
    cudaEvent_t reached; /* the end of the stream when it was last asked for */
    Piece pieces[PIECES];
    int next;              /* the piece whose turn it is */
    void *hosted;          /* of alloc_host; NULL: none was asked for */
    int64_t *step;         /* pinned: what MwDevice.step is to be */
    cudaGraphExec_t graph; /* what is kept; NULL: nothing */
    int steps;             /* begun */
    unsigned int run_calls;
    cudaEvent_t ran[RUN_EVENTS]; /* of every RUN_CALLS calls, by turns */
    MwCudaGemm *gemm;
} Cuda;

cudaStream_t mw_device_cuda_stream(const MwDevice *device, MwQueue queue)
{
    return ((const Cuda *)device)->streams[queue];
}

#define CALL(name, ...) MW_CUDA_CALL(fault, name, __VA_ARGS__)

/* Until what was queued before the event is done. */
static bool wait_for(const Cuda *cuda, cudaEvent_t event, MwFault *fault)
{
    const MwDevice *device = &cuda->base;
    cudaError_t status;
    if (!device->idle)
        return CALL(cudaEventSynchronize, event);
    while ((status = cudaEventQuery(event)) == cudaErrorNotReady) {
        cudaGetLastError(); /* nothing went wrong */
        if (!device->idle(device->idle_context, fault))
            return false;
    }
    return mw_cuda_check(status, "cudaEventQuery", fault);
}

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

static bool cuda_copy_in(MwDevice *device, void *to, const void *host, int64_t bytes,
                         MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    for (int64_t at = 0; at < bytes; at += PIECE_BYTES) {
        const Piece *piece = &cuda->pieces[cuda->next];
        const size_t count = (size_t)mw_min(PIECE_BYTES, bytes - at);
        cuda->next = (cuda->next + 1) % PIECES;
        if (!wait_for(cuda, piece->done, fault))
            return false;
        memcpy(piece->memory, (const char *)host + at, count);
        if (!CALL(cudaMemcpyAsync, (char *)to + at, piece->memory, count, cudaMemcpyHostToDevice,
                  cuda->stream) ||
            !CALL(cudaEventRecord, piece->done, cuda->stream))
            return false;
    }
    return true;
}

static void *cuda_alloc_host(MwDevice *device, int64_t bytes, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    MW_ASSERT(!cuda->hosted);
    return CALL(cudaMallocHost, &cuda->hosted, (size_t)mw_max(bytes, 1)) ? cuda->hosted : NULL;
}

static bool cuda_fetch(MwDevice *device, void *to, const void *host, int64_t bytes, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaMemcpyAsync, to, host, (size_t)bytes, cudaMemcpyHostToDevice, cuda->stream);
}

/* Queued behind what still reads from the piece. */
static bool begin_out(const Cuda *cuda, const Piece *piece, const char *from, int64_t bytes,
                      MwFault *fault)
{
    return CALL(cudaMemcpyAsync, piece->memory, from, (size_t)bytes, cudaMemcpyDeviceToHost,
                cuda->stream) &&
           CALL(cudaEventRecord, piece->done, cuda->stream);
}

static bool end_out(const Cuda *cuda, const Piece *piece, char *host, int64_t bytes, MwFault *fault)
{
    if (!wait_for(cuda, piece->done, fault))
        return false;
    memcpy(host, piece->memory, (size_t)bytes);
    return true;
}

static bool cuda_copy_out(MwDevice *device, void *host, const void *from, int64_t bytes,
                          MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    for (int64_t begin = 0, end = -PIECE_BYTES; end < bytes;
         begin += PIECE_BYTES, end += PIECE_BYTES) {
        if (begin < bytes &&
            !begin_out(cuda, &cuda->pieces[begin / PIECE_BYTES % PIECES],
                       (const char *)from + begin, mw_min(PIECE_BYTES, bytes - begin), fault))
            return false;
        if (end >= 0 && !end_out(cuda, &cuda->pieces[end / PIECE_BYTES % PIECES],
                                 (char *)host + end, mw_min(PIECE_BYTES, bytes - end), fault))
            return false;
    }
    return true;
}

static bool cuda_copy(MwDevice *device, void *to, const void *from, int64_t bytes, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaMemcpyAsync, to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, cuda->stream);
}

static bool cuda_zero(MwDevice *device, void *to, int64_t bytes, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaMemsetAsync, to, 0, (size_t)bytes, cuda->stream);
}

static bool cuda_synchronize(MwDevice *device, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaEventRecord, cuda->reached, cuda->stream) &&
           wait_for(cuda, cuda->reached, fault);
}

/* ---- Queues ---- */

static bool cuda_make_marks(MwDevice *device, MwArena *arena, int count, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    cuda->marks = MW_NEW(arena, cudaEvent_t, count);
    for (; cuda->mark_count < count; cuda->mark_count++)
        if (!CALL(cudaEventCreateWithFlags, &cuda->marks[cuda->mark_count], cudaEventDisableTiming))
            return false;
    return true;
}

static bool cuda_mark(MwDevice *device, MwQueue queue, int mark, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaEventRecord, cuda->marks[mark], cuda->streams[queue]);
}

static bool cuda_wait(MwDevice *device, MwQueue queue, int mark, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    return CALL(cudaStreamWaitEvent, cuda->streams[queue], cuda->marks[mark], 0);
}

/* The copy reads the pinned number when its turn comes. */
static bool cuda_set_step(MwDevice *device, int64_t step, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    *cuda->step = step;
    cuda->steps++;
    return CALL(cudaMemcpyAsync, (void *)(uintptr_t)device->step, cuda->step, sizeof step,
                cudaMemcpyHostToDevice, cuda->stream);
}

/* ---- Steps that are repeated ---- */

/* Relaxed: NCCL calls what other modes forbid meanwhile, from threads of its own too. The other stream
 * is captured from its first wait for this one on until this one waits for it. */
static bool cuda_keep(MwDevice *device, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    MW_ASSERT(!cuda->graph);
    device->is_keeping = CALL(cudaStreamBeginCapture, cuda->stream, cudaStreamCaptureModeRelaxed);
    return device->is_keeping;
}

static bool cuda_kept(MwDevice *device, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    cudaGraph_t graph = NULL;
    device->is_keeping = false;
    const bool good = CALL(cudaStreamEndCapture, cuda->stream, &graph) &&
                      CALL(cudaGraphInstantiateWithFlags, &cuda->graph, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return good;
}

static bool cuda_repeat(MwDevice *device, int64_t step, MwFault *fault)
{
    const Cuda *cuda = (Cuda *)device;
    *cuda->step = step;
    return CALL(cudaGraphLaunch, cuda->graph, cuda->stream);
}

static void cuda_forget(MwDevice *device)
{
    Cuda *cuda = (Cuda *)device;
    MwFault ignored;
    if (device->is_keeping)
        cuda_kept(device, &ignored);
    if (cuda->graph)
        cudaGraphExecDestroy(cuda->graph);
    cuda->graph = NULL;
}

/* ---- Kernels and routines ---- */

static bool run_gemm(MwDevice *device, const MwCall *call, MwFault *fault)
{
    return mw_cuda_gemm_run(((Cuda *)device)->gemm, (MwRoutine)call->instr->target, call->operands,
                            call->args, fault);
}

static bool run_zero(MwDevice *device, const MwCall *call, MwFault *fault)
{
    return cuda_zero(device, call->operands[0], call->args[0].i, fault);
}

static bool run_copy(MwDevice *device, const MwCall *call, MwFault *fault)
{
    return cuda_copy(device, call->operands[1], call->operands[0], call->args[0].i, fault);
}

/* Errors of earlier calls, which the GPU met meanwhile, may show here too. */
static bool run_kernel(const Cuda *cuda, const MwCall *call, MwFault *fault)
{
    const int target = call->instr->target;
    cuda->kernels[target](call->operands, call->args, mw_plan_instr_sets(cuda->plan, call->instr),
                          cuda->stream);
    return mw_cuda_check(cudaGetLastError(), cuda->plan->kernels[target].name, fault);
}

static bool launch(const Cuda *cuda, MwCudaRoutine *routine, const char *name, const MwCall *call,
                   MwFault *fault)
{
    routine(call->operands, call->args, cuda->stream);
    return mw_cuda_check(cudaGetLastError(), name, fault);
}

static bool run_sdpa(MwDevice *device, const MwCall *call, MwFault *fault)
{
    return launch((Cuda *)device, mw_cuda_sdpa, "sdpa", call, fault);
}

static bool run_sdpa_grad(MwDevice *device, const MwCall *call, MwFault *fault)
{
    return launch((Cuda *)device, mw_cuda_sdpa_grad, "sdpa_grad", call, fault);
}

typedef bool Routine(MwDevice *device, const MwCall *call, MwFault *fault);

#define run_none NULL /* in the place of a routine that a GPU does not have */
static Routine *const routines[] = {
#define ROUTINE(id, name, accesses, ints, floats, type, extents, cpu, cuda)                        \
    [MW_ROUTINE_##id] = run_##cuda,
#include "runtime/plan/routines.def"
#undef ROUTINE
};

/* CUDA loads code to the GPU when it is first launched, and may block the host for that until the GPU
 * has done all it has to do: for ever, where that waits for what this rank's host was yet to do. So in
 * the first step, in which all code is launched, nothing is that needs others while it is loaded
 * (CUDA Programming Guide, "Lazy Loading", on concurrent execution). */
static bool settle(const Cuda *cuda, MwFault *fault)
{
    const MwDevice *device = &cuda->base;
    return cuda->steps > 1 || !device->settle || device->settle(device->idle_context, fault);
}

/* The host waits where it can let others go on, never for a place in the queue. */
static bool stay_near(Cuda *cuda, MwFault *fault)
{
    if (!cuda->base.idle || cuda->base.is_keeping || ++cuda->run_calls % RUN_CALLS != 0)
        return true;
    const cudaEvent_t event = cuda->ran[cuda->run_calls / RUN_CALLS % RUN_EVENTS];
    return wait_for(cuda, event, fault) && CALL(cudaEventRecord, event, cuda->stream);
}

static bool run_routine(MwDevice *device, const MwCall *call, MwFault *fault)
{
    const int target = call->instr->target;
    return routines[target] ? routines[target](device, call, fault)
                            : mw_fault_set(fault, "%s is for CPUs alone",
                                           mw_routine_info((MwRoutine)target)->name);
}

static bool cuda_run(MwDevice *device, const MwCall *call, MwFault *fault)
{
    Cuda *cuda = (Cuda *)device;
    if (!settle(cuda, fault) || !stay_near(cuda, fault))
        return false;
    return call->instr->kind == MW_INSTR_KERNEL ? run_kernel(cuda, call, fault)
                                                : run_routine(device, call, fault);
}

/* ---- The device ---- */

static void cuda_destroy(MwDevice *device)
{
    Cuda *cuda = (Cuda *)device;
    cuda_forget(device);
    mw_cuda_gemm_free(&cuda->gemm);
    for (int i = 0; i < PIECES; i++) {
        if (cuda->pieces[i].done)
            cudaEventDestroy(cuda->pieces[i].done);
        if (cuda->pieces[i].memory)
            cudaFreeHost(cuda->pieces[i].memory);
    }
    if (cuda->hosted)
        cudaFreeHost(cuda->hosted);
    if (cuda->step)
        cudaFreeHost(cuda->step);
    if (device->step)
        cudaFree((void *)(uintptr_t)device->step);
    if (cuda->reached)
        cudaEventDestroy(cuda->reached);
    for (int i = 0; i < RUN_EVENTS; i++)
        if (cuda->ran[i])
            cudaEventDestroy(cuda->ran[i]);
    for (int i = 0; i < cuda->mark_count; i++)
        cudaEventDestroy(cuda->marks[i]);
    for (int i = 0; i < MW_QUEUE_COUNT; i++)
        if (cuda->streams[i])
            cudaStreamDestroy(cuda->streams[i]);
}

static const MwDeviceTable cuda_table = {
    .name = "cuda",
    .alloc = cuda_alloc,
    .release = cuda_release,
    .copy_in = cuda_copy_in,
    .alloc_host = cuda_alloc_host,
    .fetch = cuda_fetch,
    .copy_out = cuda_copy_out,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .run = cuda_run,
    .set_step = cuda_set_step,
    .synchronize = cuda_synchronize,
    .make_marks = cuda_make_marks,
    .mark = cuda_mark,
    .wait = cuda_wait,
    .keep = cuda_keep,
    .kept = cuda_kept,
    .repeat = cuda_repeat,
    .forget = cuda_forget,
    .destroy = cuda_destroy,
};

/* This rank's place among those of the machine. */
static bool find_place(int *place, MwFault *fault)
{
    int is_started;
    MPI_Comm node;
    *place = 0;
    MPI_Initialized(&is_started);
    if (!is_started)
        return true;
    return mw_mpi_check(
               MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
               "MPI_Comm_split_type", fault) &&
           mw_mpi_check(MPI_Comm_rank(node, place), "MPI_Comm_rank", fault) &&
           mw_mpi_check(MPI_Comm_free(&node), "MPI_Comm_free", fault);
}

static bool choose_gpu(MwFault *fault)
{
    int place, count;
    if (!find_place(&place, fault) || !mw_cuda_count(&count, fault))
        return false;
    return CALL(cudaSetDevice, place % count);
}

static bool make_pieces(Cuda *cuda, MwFault *fault)
{
    for (int i = 0; i < PIECES; i++)
        if (!CALL(cudaMallocHost, (void **)&cuda->pieces[i].memory, PIECE_BYTES) ||
            !CALL(cudaEventCreateWithFlags, &cuda->pieces[i].done, cudaEventDisableTiming))
            return false;
    return true;
}

static bool make_step(Cuda *cuda, MwFault *fault)
{
    void *step = NULL;
    const bool good = CALL(cudaMallocHost, (void **)&cuda->step, sizeof *cuda->step) &&
                      CALL(cudaMalloc, &step, sizeof *cuda->step);
    cuda->base.step = step;
    return good;
}

/* The GPU begins what communicates before what computes. Streams of one priority may share a queue of
 * the GPU, where what waits is before what need not: lanes (nccl_lanes.c) have the greatest priority to
 * themselves. */
static bool make_streams(Cuda *cuda, MwFault *fault)
{
    int least, greatest;
    const bool good = CALL(cudaDeviceGetStreamPriorityRange, &least, &greatest) &&
                      CALL(cudaStreamCreateWithPriority, &cuda->streams[MW_QUEUE_COMPUTE],
                           cudaStreamNonBlocking, least) &&
                      CALL(cudaStreamCreateWithPriority, &cuda->streams[MW_QUEUE_COMMUNICATION],
                           cudaStreamNonBlocking, (int)mw_min(greatest + 1, least));
    cuda->stream = cuda->streams[MW_QUEUE_COMPUTE];
    return good;
}

static bool make_ready(Cuda *cuda, MwArena *arena, MwFault *fault)
{
    if (!choose_gpu(fault) || !make_streams(cuda, fault) ||
        !CALL(cudaEventCreateWithFlags, &cuda->reached, cudaEventDisableTiming) ||
        !make_pieces(cuda, fault) || !make_step(cuda, fault))
        return false;
    for (int i = 0; i < RUN_EVENTS; i++)
        if (!CALL(cudaEventCreateWithFlags, &cuda->ran[i], cudaEventDisableTiming))
            return false;
    cuda->gemm = mw_cuda_gemm_new(arena, cuda->plan, cuda->stream, fault);
    return cuda->gemm != NULL;
}

MwDevice *mw_device_cuda_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             int threads, MwFault *fault)
{
    (void)threads; /* the process only queues */
    Cuda *cuda = MW_NEW(arena, Cuda, 1);
    cuda->base = (MwDevice){.table = &cuda_table};
    cuda->plan = plan;
    cuda->kernels = mw_device_kernels(arena, plan, kernels, fault);
    if (!cuda->kernels)
        return NULL;
    if (!make_ready(cuda, arena, fault)) {
        cuda_destroy(&cuda->base);
        return NULL;
    }
    return &cuda->base;
}
