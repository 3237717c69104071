/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams and events of the fake. */
#include "tests/fake_cuda/fake_streams.h"

#include "tests/kernels/cuda_shim.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Where streams are late, every stream works in one of SLOWLY turns, and one of RELUCTANTLY
 * questions whether something is done lets it go on. */
enum { SLOWLY = 16, RELUCTANTLY = 2 };

/* What other streams do at most in the middle of work. */
enum { MOST_IN_PAUSE = 8 };

typedef struct Name Name;
struct Name {
    const char *text;
    const Name *next;
};

static struct {
    cudaStream_t streams;
    unsigned int order;
    const char *wanted;          /* by FAKE_CUDA_ORDER, or NULL */
    bool is_ordered;             /* whether that was asked */
    unsigned int pauses;         /* state of chance; 0: there are none */
    bool is_asked;               /* whether there are */
    unsigned int turns, queries; /* whether an event is done */
    const Name *loaded;          /* kernels */
    double clock_ms;
    int waits; /* of streams for events */
} fake;

cudaStream_t fake_streams(void)
{
    return fake.streams;
}

bool fake_graph_is_busy(void)
{
    for (cudaStream_t s = fake.streams; s; s = s->next)
        if (s->first && s->is_of_graph)
            return true;
    return false;
}

void fake_spend(double ms)
{
    fake.clock_ms += ms;
}

double fake_clock_ms(void)
{
    return fake.clock_ms;
}

bool fake_is_busy(void)
{
    for (cudaStream_t s = fake.streams; s; s = s->next)
        if (s->first || s->is_captured)
            return true;
    return false;
}

/* ---- Turns ---- */

static void drain_to(cudaStream_t stream, int most);

/* A stream that is full blocks the host. */
void fake_queue(cudaStream_t stream, FakeWork *work, const void *state, size_t bytes)
{
    enum { MOST_QUEUED = 1024 };
    if (stream->is_captured) {
        fake_capture_work(stream, work, state, bytes);
        return;
    }
    if (!stream->is_of_graph)
        drain_to(stream, MOST_QUEUED - 1);
    stream->count++;
    FakeEntry *entry = fake_allocate(1, sizeof *entry);
    *entry = (FakeEntry){work, fake_allocate(1, bytes + 1), NULL};
    if (bytes)
        memcpy(entry->state, state, bytes);
    *stream->end = entry;
    stream->end = &entry->next;
}

bool fake_never(void *state)
{
    (void)state;
    return false;
}

/* Records of events and waits for them. */
static FakeWork pass_mark, wait_mark;

/* A GPU that is broken does nothing but forget. */
static bool do_entry(const FakeEntry *entry)
{
    return (fake_is_broken() && entry->work != pass_mark && entry->work != wait_mark) ||
           entry->work(entry->state);
}

static bool turn_stream(cudaStream_t stream)
{
    FakeEntry *entry = stream->first;
    if (!entry || stream->is_working)
        return false;
    stream->is_working = true;
    const bool is_done = do_entry(entry);
    stream->is_working = false;
    if (!is_done)
        return false;
    stream->first = entry->next;
    stream->count--;
    if (!stream->first)
        stream->end = &stream->first;
    free(entry->state);
    free(entry);
    return true;
}

/* What FAKE_CUDA_ORDER was when this was called first. */
static const char *order_wanted(void)
{
    if (!fake.is_ordered)
        fake.wanted = getenv("FAKE_CUDA_ORDER");
    fake.is_ordered = true;
    return fake.wanted;
}

static bool is_late(void)
{
    return order_wanted() && strcmp(order_wanted(), "late") == 0;
}

static unsigned int draw(unsigned int *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 16;
}

/* Where an order was asked for, most streams pass by chance. */
static bool passes(void)
{
    const char *order = order_wanted();
    if (!order)
        return false;
    if (!fake.order)
        fake.order = (unsigned int)atoi(order) + 1;
    return draw(&fake.order) % 4 != 0;
}

/* ---- Others in the middle of work ---- */

/* One of RARELY pauses, if FAKE_CUDA_INTERLEAVE=N asked for them when this was called first. */
bool cuda_shim_pauses(void)
{
    enum { RARELY = 8 };
    const char *seed = fake.is_asked ? NULL : getenv("FAKE_CUDA_INTERLEAVE");
    fake.is_asked = true;
    if (seed)
        fake.pauses = (unsigned int)atoi(seed) + 1;
    return fake.pauses && draw(&fake.pauses) % RARELY == 0;
}

/* Other streams do something: each by chance, and some of them several things. */
void cuda_shim_pause(void)
{
    bool any = true;
    for (int i = 0; any && i < MOST_IN_PAUSE; i++) {
        any = false;
        for (cudaStream_t s = fake.streams; s; s = s->next)
            any |= draw(&fake.pauses) % 2 && turn_stream(s);
    }
}

void fake_interleave(void)
{
    if (cuda_shim_pauses())
        cuda_shim_pause();
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

/* A turn; where there is nothing to do, as where a peer is waited for, the core is left to that.
 * (To sleep, if only for 20 us, took runs of pipelines twice the time, also three of four ranks at
 * once on two cores.) */
static void turn_or_rest(cudaStream_t stream)
{
    if (!fake_turn(stream))
        sched_yield();
}

/* As calls do that block the host: until there are no more than `most` entries. */
static void drain_to(cudaStream_t stream, int most)
{
    while (stream->count > most)
        turn_or_rest(stream);
}

void fake_drain(cudaStream_t stream)
{
    drain_to(stream, 0);
}

void fake_drain_all(void)
{
    for (cudaStream_t s = fake.streams; s; s = s->next)
        fake_drain(s);
}

void fake_load(void)
{
    fake_drain_all();
}

/* ---- Launches ---- */

/* Whether a kernel of that name was launched before. */
static bool is_loaded(const char *kernel)
{
    const Name *name = fake.loaded;
    while (name && strcmp(name->text, kernel) != 0)
        name = name->next;
    if (name)
        return true;
    Name *last = fake_allocate(1, sizeof *last);
    *last = (Name){kernel, fake.loaded};
    fake.loaded = last;
    return false;
}

typedef struct {
    void (*run)(void *state);
    _Alignas(16) char state[];
} Launch;

static bool launch(void *state)
{
    Launch *l = state;
    l->run(l->state);
    return true;
}

void cuda_shim_queue(const char *kernel, void *stream, void (*run)(void *state), const void *state,
                     size_t bytes)
{
    Launch *l = fake_allocate(1, sizeof *l + bytes);
    if (!is_loaded(kernel))
        fake_load();
    l->run = run;
    memcpy(l->state, state, bytes);
    fake_queue(stream, launch, l, sizeof *l + bytes);
    free(l);
}

/* ---- Streams ---- */

cudaStream_t fake_stream_new(void)
{
    cudaStream_t stream = fake_allocate(1, sizeof *stream);
    stream->end = &stream->first;
    stream->next = fake.streams;
    return fake.streams = stream;
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
    *stream = fake_stream_new();
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
    fake_drain(stream);
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    if (stream->is_captured)
        return fake_result(cudaErrorStreamCaptureUnsupported);
    fake_turn(stream);
    if (fake_is_broken())
        return fake_result(cudaErrorIllegalAddress);
    return fake_result(stream->first ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    if (stream->is_captured)
        return fake_result(cudaErrorStreamCaptureUnsupported);
    fake_drain(stream);
    return fake_result(fake_is_broken() ? cudaErrorIllegalAddress : cudaSuccess);
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
    if (mark->event->done < mark->number && !fake_is_broken())
        mark->event->done = mark->number;
    mark->event->at_ms = fake.clock_ms;
    release(mark->event);
    return true;
}

static bool wait_mark(void *state)
{
    const Mark *mark = state;
    if (mark->event->done < mark->number && !fake_is_broken())
        return false;
    release(mark->event);
    return true;
}

static bool turn_late(cudaStream_t stream)
{
    const FakeEntry *entry = stream->first;
    if (entry && turn_stream(stream))
        return true;
    const Mark *mark = entry && entry->work == wait_mark ? entry->state : NULL;
    return mark && mark->event->stream != stream && turn_late(mark->event->stream);
}

static void queue_mark(cudaStream_t stream, cudaEvent_t event, FakeWork *work)
{
    const Mark mark = {event, event->recorded};
    event->users++;
    fake_queue(stream, work, &mark, sizeof mark);
}

cudaEvent_t fake_event_new(void)
{
    cudaEvent_t event = fake_allocate(1, sizeof *event);
    event->users = 1;
    return event;
}

void fake_record(cudaEvent_t event, cudaStream_t stream)
{
    event->recorded++;
    event->stream = stream;
    event->capture = 0;
    queue_mark(stream, event, pass_mark);
}

void fake_wait(cudaStream_t stream, cudaEvent_t event)
{
    queue_mark(stream, event, wait_mark);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    MAY_FAIL(cudaErrorMemoryAllocation);
    *event = fake_event_new();
    (*event)->is_timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    if (!begin->is_timed || !end->is_timed || !begin->recorded || !end->recorded)
        return fake_result(cudaErrorInvalidResourceHandle);
    if (begin->done < begin->recorded || end->done < end->recorded)
        return fake_result(cudaErrorNotReady);
    *ms = (float)(end->at_ms - begin->at_ms);
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
    if (stream->is_captured)
        fake_capture_record(event, stream);
    else
        fake_record(event, stream);
    return cudaSuccess;
}

/* FAKE_CUDA_LOSE_WAIT=N: the N-th wait, from 1 on, is forgotten. */
static bool is_lost(void)
{
    const char *lost = getenv("FAKE_CUDA_LOSE_WAIT");
    return lost && ++fake.waits == atoi(lost);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    (void)flags;
    MAY_FAIL(cudaErrorLaunchFailure);
    if (is_lost())
        return cudaSuccess;
    if (stream->is_captured || event->capture)
        return fake_capture_wait(stream, event);
    fake_wait(stream, event);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    if (event->capture)
        return fake_result(cudaErrorCapturedEvent);
    if (!is_late() || ++fake.queries % RELUCTANTLY == 0)
        turn_or_rest(event->stream);
    if (fake_is_broken())
        return fake_result(cudaErrorIllegalAddress);
    return fake_result(event->done < event->recorded ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    MAY_FAIL(cudaErrorLaunchFailure);
    if (event->capture)
        return fake_result(cudaErrorCapturedEvent);
    while (event->done < event->recorded && !fake_is_broken())
        turn_or_rest(event->stream);
    return fake_result(fake_is_broken() ? cudaErrorIllegalAddress : cudaSuccess);
}
