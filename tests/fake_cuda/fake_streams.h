/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the fake of CUDA's runtime share: what streams and events are, and what is
 * captured from streams instead of queued. */
#ifndef FAKE_CUDA_FAKE_STREAMS_H
#define FAKE_CUDA_FAKE_STREAMS_H

#include "tests/fake_cuda/fake.h"

#include <stdint.h>

typedef struct FakeEntry FakeEntry;
struct FakeEntry {
    FakeWork *work;
    void *state;
    FakeEntry *next;
};

struct CUstream_st {
    FakeEntry *first, **end;
    int count;
    bool is_working;  /* its first entry is being done: others are done in the middle of it */
    bool is_of_graph; /* and has room for all that the graph has */
    cudaStream_t next;
    bool is_captured; /* what is queued is kept for a graph */
    int lane;         /* of the capture */
};

/* A record is the stream's turn with this number. */
struct CUevent_st {
    uint64_t recorded, done;
    cudaStream_t stream; /* of the last record */
    double at_ms;        /* when it occurred last */
    bool is_timed;
    int users;   /* entries of streams that refer to it, and its owner */
    int capture; /* the number of that which the last record is of; 0: of none */
    int record;  /* there */
};

void *fake_allocate(size_t count, size_t bytes);
/* Remembers an error for cudaGetLastError; gives it. */
cudaError_t fake_result(cudaError_t error);

/* What a call returns that was told to fail, and every call once the GPU is broken. */
#define MAY_FAIL(error)                                                                            \
    do {                                                                                           \
        if (fake_fault(__func__) == FAKE_FAIL)                                                     \
            return fake_result(error);                                                             \
        if (fake_is_broken())                                                                      \
            return fake_result(cudaErrorIllegalAddress);                                           \
    } while (0)
/* The same of a call that queues work, which may break the GPU when the stream reaches it. */
#define MAY_BREAK(error, stream)                                                                   \
    do {                                                                                           \
        const FakeFault fault = fake_fault(__func__);                                              \
        if (fault == FAKE_FAIL)                                                                    \
            return fake_result(error);                                                             \
        if (fake_is_broken())                                                                      \
            return fake_result(cudaErrorIllegalAddress);                                           \
        if (fault == FAKE_ASYNC)                                                                   \
            fake_queue(stream, fake_break, NULL, 0);                                               \
    } while (0)

/* Memory of the GPU, by which library it was allocated. NULL: there is none left. */
typedef enum { FAKE_OF_CUDA, FAKE_OF_NCCL } FakeOwner;
void *fake_memory_new(size_t bytes, FakeOwner owner);
/* Ends the process where the memory is not the owner's, or was freed. */
void fake_memory_free(void *memory, FakeOwner owner);
/* Whether the bytes are in one allocation. */
bool fake_is_memory(const void *memory, size_t bytes);

cudaStream_t fake_stream_new(void);
cudaEvent_t fake_event_new(void);
void fake_record(cudaEvent_t event, cudaStream_t stream);
void fake_wait(cudaStream_t stream, cudaEvent_t event);
/* Waits for all that is queued on the stream, as calls do that block the host. */
void fake_drain(cudaStream_t stream);
void fake_drain_all(void);
/* The first stream; the others follow. */
cudaStream_t fake_streams(void);

/* Instead of queueing, where the stream is captured from. */
void fake_capture_work(cudaStream_t stream, FakeWork *work, const void *state, size_t bytes);
void fake_capture_record(cudaEvent_t event, cudaStream_t stream);
cudaError_t fake_capture_wait(cudaStream_t stream, cudaEvent_t event);
/* Whether host memory may be reached from the stream: what is captured reads it later, so that it
 * has to be pinned. */
bool fake_may_reach(cudaStream_t stream, const void *host);
bool fake_is_pinned(const void *host);

#endif
