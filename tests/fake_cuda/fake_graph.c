/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs of the fake: what is captured from streams is a list, of as many lanes as there were
 * streams, with the pointers and arguments that were captured. A launch queues it on streams of its
 * own, which run as late and in as many orders as all others. One capture at a time, in the relaxed
 * mode. */
#include "tests/fake_cuda/fake_streams.h"

#include <stdlib.h>
#include <string.h>

typedef enum { WORK, RECORD, WAIT } Kind;

typedef struct {
    Kind kind;
    int lane, record;
    FakeWork *work;
    void *state;
    size_t bytes;
} Node;

struct CUgraph_st {
    Node *nodes;
    int count, lanes, records;
};

struct CUgraphExec_st {
    struct CUgraph_st graph;
    cudaStream_t *streams; /* [lanes] */
    cudaEvent_t *events;   /* [records], then one that begins and one for each lane */
};

static struct {
    cudaGraph_t graph; /* NULL: no capture goes on */
    int number;        /* of the capture */
} open_one;

/* ---- Capture ---- */

static void add(Node node)
{
    const cudaGraph_t graph = open_one.graph;
    graph->nodes = realloc(graph->nodes, sizeof *graph->nodes * (size_t)(graph->count + 1));
    if (!graph->nodes)
        abort();
    graph->nodes[graph->count++] = node;
}

static void *copied(const void *state, size_t bytes)
{
    void *copy = fake_allocate(1, bytes + 1);
    if (bytes)
        memcpy(copy, state, bytes);
    return copy;
}

void fake_capture_work(cudaStream_t stream, FakeWork *work, const void *state, size_t bytes)
{
    add((Node){WORK, stream->lane, 0, work, copied(state, bytes), bytes});
}

void fake_capture_record(cudaEvent_t event, cudaStream_t stream)
{
    event->capture = open_one.number;
    event->record = open_one.graph->records++;
    add((Node){.kind = RECORD, .lane = stream->lane, .record = event->record});
}

cudaError_t fake_capture_wait(cudaStream_t stream, cudaEvent_t event)
{
    if (!event->capture)
        return fake_result(cudaErrorStreamCaptureIsolation);
    if (!open_one.graph || event->capture != open_one.number)
        return fake_result(cudaErrorCapturedEvent);
    if (!stream->is_captured) {
        stream->is_captured = true;
        stream->lane = open_one.graph->lanes++;
    }
    add((Node){.kind = WAIT, .lane = stream->lane, .record = event->record});
    return cudaSuccess;
}

bool fake_may_reach(cudaStream_t stream, const void *host)
{
    return !stream->is_captured || fake_is_pinned(host);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    MAY_FAIL(cudaErrorUnknown);
    if (open_one.graph || mode != cudaStreamCaptureModeRelaxed)
        return fake_result(cudaErrorStreamCaptureUnsupported);
    open_one.graph = fake_allocate(1, sizeof *open_one.graph);
    open_one.graph->lanes = 1;
    open_one.number++;
    stream->is_captured = true;
    stream->lane = 0;
    return cudaSuccess;
}

/* Whether somebody waits for the end of a lane. */
static bool is_joined(const struct CUgraph_st *graph, int lane)
{
    int last = graph->count - 1;
    while (graph->nodes[last].lane != lane)
        last--;
    for (int i = last + 1; i < graph->count && graph->nodes[last].kind == RECORD; i++)
        if (graph->nodes[i].kind == WAIT && graph->nodes[i].record == graph->nodes[last].record)
            return true;
    return false;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = NULL;
    if (!open_one.graph || !stream->is_captured || stream->lane != 0)
        return fake_result(cudaErrorStreamCaptureUnsupported);
    for (cudaStream_t s = fake_streams(); s; s = s->next)
        s->is_captured = false;
    *graph = open_one.graph;
    open_one.graph = NULL;
    if (fake_fault(__func__) == FAKE_FAIL) { /* it ends the capture too */
        cudaGraphDestroy(*graph);
        *graph = NULL;
        return fake_result(cudaErrorStreamCaptureInvalidated);
    }
    for (int lane = 1; lane < (*graph)->lanes; lane++)
        if (!is_joined(*graph, lane)) {
            cudaGraphDestroy(*graph);
            *graph = NULL;
            return fake_result(cudaErrorStreamCaptureUnjoined);
        }
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    for (int i = 0; i < graph->count; i++)
        free(graph->nodes[i].state);
    free(graph->nodes);
    free(graph);
    return cudaSuccess;
}

/* ---- Launches ---- */

/* Takes memory of the GPU, for which the host may be blocked. */
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *result, cudaGraph_t graph,
                                          unsigned long long flags)
{
    (void)flags;
    MAY_FAIL(cudaErrorMemoryAllocation);
    fake_load();
    cudaGraphExec_t exec = *result = fake_allocate(1, sizeof *exec);
    const int events = graph->records + graph->lanes + 1;
    exec->graph = *graph;
    exec->graph.nodes = fake_allocate((size_t)graph->count + 1, sizeof *graph->nodes);
    for (int i = 0; i < graph->count; i++) {
        exec->graph.nodes[i] = graph->nodes[i];
        exec->graph.nodes[i].state = copied(graph->nodes[i].state, graph->nodes[i].bytes);
    }
    exec->streams = fake_allocate((size_t)graph->lanes, sizeof *exec->streams);
    for (int i = 0; i < graph->lanes; i++) {
        exec->streams[i] = fake_stream_new();
        exec->streams[i]->is_of_graph = true;
    }
    exec->events = fake_allocate((size_t)events, sizeof *exec->events);
    for (int i = 0; i < events; i++)
        exec->events[i] = fake_event_new();
    return cudaSuccess;
}

/* Comes after what is on the stream, and what comes there later after it. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    MAY_BREAK(cudaErrorLaunchFailure, stream);
    const struct CUgraph_st *graph = &exec->graph;
    cudaEvent_t *ends = exec->events + graph->records;
    fake_record(ends[graph->lanes], stream);
    for (int i = 0; i < graph->lanes; i++)
        fake_wait(exec->streams[i], ends[graph->lanes]);
    for (int i = 0; i < graph->count; i++) {
        const Node *node = &graph->nodes[i];
        if (node->kind == WORK)
            fake_queue(exec->streams[node->lane], node->work, node->state, node->bytes);
        else if (node->kind == RECORD)
            fake_record(exec->events[node->record], exec->streams[node->lane]);
        else
            fake_wait(exec->streams[node->lane], exec->events[node->record]);
    }
    for (int i = 0; i < graph->lanes; i++) {
        fake_record(ends[i], exec->streams[i]);
        fake_wait(stream, ends[i]);
    }
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    for (int i = 0; i < exec->graph.lanes; i++)
        cudaStreamDestroy(exec->streams[i]);
    for (int i = 0; i < exec->graph.records + exec->graph.lanes + 1; i++)
        cudaEventDestroy(exec->events[i]);
    for (int i = 0; i < exec->graph.count; i++)
        free(exec->graph.nodes[i].state);
    free(exec->graph.nodes);
    free(exec->streams);
    free(exec->events);
    free(exec);
    return cudaSuccess;
}
