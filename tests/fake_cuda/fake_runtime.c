/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/fake_cuda/fake.h"

#include "tests/kernels/cuda_shim.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry Entry;
struct Entry {
    FakeWork *work;
    void *state;
    Entry *next;
};

struct CUstream_st {
    Entry *first, **end;
    int count;
    cudaStream_t next;
};

/* A record is the stream's turn with this number. */
/* Of so many turns one is everybody's, and of so many questions whether something is done one lets it go
 * on, where streams are late. */
enum { SLOWLY = 64 };

struct CUevent_st {
    uint64_t recorded, done;
    cudaStream_t stream; /* of the last record */
    int users;           /* entries of streams that refer to it, and its owner */
};

typedef struct Name Name;
struct Name {
    const char *text;
    const Name *next;
};

/* Like the library's, of the process. */
static struct {
    cudaStream_t streams;
    int device;
    cudaError_t last;
    unsigned int order;
    unsigned int turns, queries; /* whether an event is done */
    bool (*idle)(void *context);
    void *idle_context;
    const Name *loaded; /* kernels */
} fake;

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        abort();
    return memory;
}

/* ---- Faults ---- */

enum { MOST_CALLS = 64 };

static int count_call(const char *call)
{
    static struct {
        const char *name;
        int count;
    } calls[MOST_CALLS];
    int i = 0;
    while (i < MOST_CALLS - 1 && calls[i].name && strcmp(calls[i].name, call) != 0)
        i++;
    calls[i].name = call;
    return ++calls[i].count;
}

FakeFault fake_fault(const char *call)
{
    static const char *const kinds[] = {
        [FAKE_FAIL] = "fail", [FAKE_HANG] = "hang", [FAKE_ASYNC] = "async"};
    const char *faults = getenv("FAKE_CUDA_FAULT");
    const int number = count_call(call);
    for (const char *at = faults; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64], kind[16];
        int wanted;
        if (sscanf(at, "%63[^:]:%d:%15[^,]", name, &wanted, kind) != 3 || strcmp(name, call) != 0 ||
            wanted != number)
            continue;
        for (int k = FAKE_FAIL; k <= FAKE_ASYNC; k++)
            if (strcmp(kind, kinds[k]) == 0)
                return (FakeFault)k;
    }
    return FAKE_GOOD;
}

static cudaError_t result(cudaError_t error)
{
    if (error != cudaSuccess)
        fake.last = error;
    return error;
}

void fake_refuse(cudaError_t error)
{
    result(error);
}

/* What a call returns that was told to fail. */
#define MAY_FAIL(error)                                                                            \
    do {                                                                                           \
        if (fake_fault(__func__) == FAKE_FAIL)                                                     \
            return result(error);                                                                  \
    } while (0)

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaSuccess ? "cudaSuccess" : "cudaErrorOfTheFake";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorNoKernelImageForDevice:
        return "no kernel image is available for execution on the device";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    default:
        return "an error of the fake";
    }
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t last = fake.last;
    fake.last = cudaSuccess;
    return last;
}

/* ---- Devices ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
    const char *devices = getenv("FAKE_CUDA_DEVICES");
    MAY_FAIL(cudaErrorInsufficientDriver);
    *count = devices ? atoi(devices) : 8;
    return result(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    int count;
    MAY_FAIL(cudaErrorInvalidDevice);
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
        return error;
    if (device < 0 || device >= count)
        return result(cudaErrorInvalidDevice);
    fake.device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = fake.device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 9
             : attribute == cudaDevAttrComputeCapabilityMinor ? 0
                                                              : 132;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    MAY_FAIL(cudaErrorInvalidDevice);
    snprintf(id, (size_t)bytes, "0000:%02x:00.0", device);
    return cudaSuccess;
}

/* ---- Memory ---- */

static cudaError_t take_memory(void **memory, size_t bytes)
{
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*memory)
        memset(*memory, 0x5a, bytes);
    return result(*memory || !bytes ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    MAY_FAIL(cudaErrorMemoryAllocation);
    return take_memory(memory, bytes);
}

static void drain(cudaStream_t stream);

/* Waits for the device, as the library's does. */
cudaError_t cudaFree(void *memory)
{
    for (cudaStream_t s = fake.streams; s; s = s->next)
        drain(s);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *whole)
{
    MAY_FAIL(cudaErrorInvalidValue);
    *left = 12;
    *whole = 1000;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    MAY_FAIL(cudaErrorMemoryAllocation);
    return take_memory(memory, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}

/* ---- Streams ---- */

static void drain_to(cudaStream_t stream, int most);

/* A stream that is full blocks the host. */
void fake_queue(cudaStream_t stream, FakeWork *work, void *state)
{
    enum { MOST_QUEUED = 1024 };
    drain_to(stream, MOST_QUEUED - 1);
    stream->count++;
    Entry *entry = allocate(1, sizeof *entry);
    *entry = (Entry){work, state, NULL};
    *stream->end = entry;
    stream->end = &entry->next;
}

bool fake_never(void *state)
{
    (void)state;
    return false;
}

static bool turn_stream(cudaStream_t stream)
{
    Entry *entry = stream->first;
    if (!entry || !entry->work(entry->state))
        return false;
    stream->first = entry->next;
    stream->count--;
    if (!stream->first)
        stream->end = &stream->first;
    free(entry->state);
    free(entry);
    return true;
}

static const char *order_wanted(void)
{
    return getenv("FAKE_CUDA_ORDER");
}

static bool is_late(void)
{
    return order_wanted() && strcmp(order_wanted(), "late") == 0;
}

/* Where an order was asked for, most streams pass by chance. */
static bool passes(void)
{
    const char *order = order_wanted();
    if (!order)
        return false;
    if (!fake.order)
        fake.order = (unsigned int)atoi(order) + 1;
    fake.order = fake.order * 1103515245u + 12345u;
    return (fake.order >> 16) % 4 != 0;
}

/* The stream, or that which it waits for, and so on. */
static bool turn_late(cudaStream_t stream);

bool fake_turn(cudaStream_t stream)
{
    bool any = false;
    if (stream && is_late() && ++fake.turns % SLOWLY != 0)
        return turn_late(stream);
    for (cudaStream_t s = fake.streams; s; s = s->next)
        any |= !passes() && turn_stream(s);
    return any;
}

/* As calls do that block the host: until there are no more than `most` entries. */
static void drain_to(cudaStream_t stream, int most)
{
    while (stream->count > most)
        if (!fake_turn(stream))
            sched_yield();
}

static void drain(cudaStream_t stream)
{
    drain_to(stream, 0);
}

void fake_while_draining(bool (*idle)(void *context), void *context)
{
    fake.idle = idle;
    fake.idle_context = context;
}

void fake_drain(cudaStream_t stream)
{
    bool goes_on = true;
    while (stream->first && goes_on) {
        if (!fake_turn(stream))
            sched_yield();
        goes_on = !fake.idle || fake.idle(fake.idle_context);
    }
}

void fake_load(void)
{
    for (cudaStream_t s = fake.streams; s; s = s->next)
        drain(s);
}

/* Whether a kernel of that name was launched before. */
static bool is_loaded(const char *kernel)
{
    const Name *name = fake.loaded;
    while (name && strcmp(name->text, kernel) != 0)
        name = name->next;
    if (name)
        return true;
    Name *last = allocate(1, sizeof *last);
    *last = (Name){kernel, fake.loaded};
    fake.loaded = last;
    return false;
}

void cuda_shim_before_launch(const char *kernel, void *stream)
{
    if (!is_loaded(kernel))
        fake_load();
    fake_drain(stream);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    (void)flags, (void)priority;
    MAY_FAIL(cudaErrorMemoryAllocation);
    *stream = allocate(1, sizeof **stream);
    (*stream)->end = &(*stream)->first;
    (*stream)->next = fake.streams;
    fake.streams = *stream;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    MAY_FAIL(cudaErrorMemoryAllocation);
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaStream_t *at = &fake.streams;
    drain(stream);
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    fake_turn(stream);
    return result(stream->first ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    drain(stream);
    return cudaSuccess;
}

/* ---- Copies ---- */

typedef struct {
    char *to;
    const char *from; /* NULL: the value is set */
    size_t to_pitch, from_pitch, width, height;
    int value;
} Copy;

static bool copy(void *state)
{
    const Copy *c = state;
    for (size_t row = 0; row < c->height; row++) {
        if (c->from)
            memmove(c->to + row * c->to_pitch, c->from + row * c->from_pitch, c->width);
        else
            memset(c->to + row * c->to_pitch, c->value, c->width);
    }
    return true;
}

static void queue_copy(cudaStream_t stream, Copy what)
{
    Copy *state = allocate(1, sizeof *state);
    *state = what;
    fake_queue(stream, copy, state);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    MAY_FAIL(cudaErrorLaunchFailure);
    queue_copy(stream, (Copy){.to = to, .from = from, .width = bytes, .height = 1});
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    (void)kind;
    MAY_FAIL(cudaErrorLaunchFailure);
    if (width > to_pitch || width > from_pitch)
        return result(cudaErrorInvalidValue);
    queue_copy(stream, (Copy){to, from, to_pitch, from_pitch, width, height, 0});
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    queue_copy(stream, (Copy){.to = to, .width = bytes, .height = 1, .value = value});
    return cudaSuccess;
}

/* ---- Events ---- */

/* A record of an event, or a wait for it. */
typedef struct {
    cudaEvent_t event;
    uint64_t number;
} Mark;

static void release(cudaEvent_t event)
{
    if (--event->users == 0)
        free(event);
}

static bool pass_mark(void *state)
{
    const Mark *mark = state;
    if (mark->event->done < mark->number)
        mark->event->done = mark->number;
    release(mark->event);
    return true;
}

static bool wait_mark(void *state)
{
    const Mark *mark = state;
    if (mark->event->done < mark->number)
        return false;
    release(mark->event);
    return true;
}

static bool turn_late(cudaStream_t stream)
{
    const Entry *entry = stream->first;
    if (entry && turn_stream(stream))
        return true;
    const Mark *mark = entry && entry->work == wait_mark ? entry->state : NULL;
    return mark && mark->event->stream != stream && turn_late(mark->event->stream);
}

static void queue_mark(cudaStream_t stream, cudaEvent_t event, FakeWork *work)
{
    Mark *mark = allocate(1, sizeof *mark);
    *mark = (Mark){event, event->recorded};
    event->users++;
    fake_queue(stream, work, mark);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    (void)flags;
    MAY_FAIL(cudaErrorMemoryAllocation);
    *event = allocate(1, sizeof **event);
    (*event)->users = 1;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    release(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    event->recorded++;
    event->stream = stream;
    queue_mark(stream, event, pass_mark);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    (void)flags;
    MAY_FAIL(cudaErrorLaunchFailure);
    queue_mark(stream, event, wait_mark);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    if (!is_late() || ++fake.queries % SLOWLY == 0)
        fake_turn(event->stream);
    return result(event->done < event->recorded ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    while (event->done < event->recorded)
        if (!fake_turn(event->stream))
            sched_yield();
    return cudaSuccess;
}
