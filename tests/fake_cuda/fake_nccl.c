/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL over MPI, on the fake's streams. Communicators do not block, and what is called for is
 * queued some questions for errors later. Calls match by their order alone. A call that takes a
 * connection for the first time, which blocks the host, is an error while work is on the GPU, and
 * so is a call while another communicator has not settled: threads might launch in any order. Sums
 * go in order of rank, and are rounded at each. Kernels stay on the GPU until they are done; more
 * blocks than an A100 has room for are an error of the communicator, where a GPU might wait for
 * ever.
 *
 * Memory that is registered is of the GPU, is deregistered before the communicator ends and freed
 * after that; in a call either all ranks have what is registered or none has, at the same offset of
 * it. FAKE_NCCL_VERSION is the version of the library. */
#include "tests/fake_cuda/fake_registered.h"
#include "tests/fake_cuda/fake_streams.h"

#include "base/clock.h"
#include "runtime/plan/collective.h"
#include "tests/fake_cuda/nccl.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The tags of each communicator, above those of the runtime. */
enum { FIRST_TAG = 1 << 20, TAGS = 4, TAG_HELLO = 0, TAG_TABLE = 1, TAG_DATA = 2, TAG_PLACES = 3 };
enum { MOST_BLOCKS = 32 /* of a kernel */, GPU_BLOCKS = 108 };
enum { MOST_RANKS = 64, MOST_COMMS = 1024 };

typedef enum { SEND, RECEIVE, ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, KINDS } Kind;

/* Collectives of so many bytes take other connections than smaller ones. */
enum { LARGE_BYTES = 1024 };

/* Offsets in registered memory; -1: in none. */
typedef struct {
    int64_t from, to;
} Places;

typedef struct {
    Kind kind;
    const char *from;
    char *to, *parts; /* of every rank, to combine */
    int64_t count;
    ncclDataType_t type;
    ncclRedOp_t operation;
    int peer;
    Places own;     /* of `from` and `to` */
    Places *theirs; /* of every rank */
} Op;

/* What one call, or the calls of a group, put on a stream as one. */
typedef struct {
    ncclComm_t comm;
    cudaStream_t stream;
    Op *ops;
    int op_count;
    FakeFault fault;
    bool is_there; /* on the GPU */
    bool is_started;
    MPI_Request *requests; /* room for what all ops start */
    int request_count;
} Batch;

typedef struct {
    int world, number; /* of the rank that made the id, and of its ids */
} Id;

struct ncclComm {
    int ranks, rank, tag, root; /* root is a rank of MPI_COMM_WORLD */
    int world[MOST_RANKS];
    int hello[2], hellos[MOST_RANKS][2];
    MPI_Request requests[2 * MOST_RANKS];
    int request_count;
    int phase; /* of being made: 0 hellos, 1 the table, 2 done */
    Batch *held;
    int patience; /* questions until what is held is queued */
    atomic_bool is_aborted;
    bool is_destroyed;
    double finalized_s; /* when it was asked to end; 0: it was not */
    int blocks;         /* of its kernels */
    atomic_int working; /* batches that are on the GPU */
    ncclResult_t error;
    const char *why;                      /* of the last error; NULL: there is no more to say */
    bool is_connected[MOST_RANKS][KINDS]; /* by peer, or by size */
    FakeRegistered registered;
};

/* How long a communicator takes to end. */
static const double END_S = 0.03;

/* A call that the library's documentation forbids, which may do anything there. */
static void forbid(const char *what)
{
    fprintf(stderr, "fake NCCL: %s\n", what);
    abort();
}

static struct {
    int depth, id_count;
    Batch *batch; /* of the group that is open */
    int blocks;   /* on the GPU */
    int held;     /* communicators that have not settled */
    ncclComm_t comms[MOST_COMMS];
    atomic_int comm_count;
} group;

/* ---- Errors ---- */

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "unhandled cuda error",
        [ncclSystemError] = "unhandled system error",
        [ncclInternalError] = "internal error",
        [ncclInvalidArgument] = "invalid argument",
        [ncclInvalidUsage] = "invalid usage",
        [ncclRemoteError] = "remote process exited or there was a network error",
        [ncclInProgress] = "NCCL operation in progress",
    };
    return texts[result];
}

const char *ncclGetLastError(ncclComm_t comm)
{
    return comm && comm->why ? comm->why : "";
}

/* ---- Communicators ---- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    Id own = {0, group.id_count++};
    if (fake_fault(__func__) == FAKE_FAIL)
        return ncclSystemError;
    MPI_Comm_rank(MPI_COMM_WORLD, &own.world);
    memset(id, 0, sizeof *id);
    memcpy(id->internal, &own, sizeof own);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *result, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    Id from;
    int world;
    const FakeFault fault = fake_fault(__func__);
    if (fault == FAKE_FAIL || config->blocking)
        return ncclSystemError;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    memcpy(&from, id.internal, sizeof from);
    ncclComm_t comm = calloc(1, sizeof *comm);
    *result = comm;
    group.comms[group.comm_count++] = comm;
    comm->blocks = config->maxCTAs == NCCL_CONFIG_UNDEF_INT ? MOST_BLOCKS : config->maxCTAs;
    comm->ranks = ranks;
    comm->rank = rank;
    comm->root = from.world;
    comm->tag = FIRST_TAG + TAGS * (from.world * MOST_COMMS + from.number);
    comm->phase = fault == FAKE_HANG ? -1 : 0;
    comm->hello[0] = rank;
    comm->hello[1] = world;
    MPI_Isend(comm->hello, 2, MPI_INT, comm->root, comm->tag + TAG_HELLO, MPI_COMM_WORLD,
              &comm->requests[comm->request_count++]);
    for (int r = 0; r < ranks && world == comm->root; r++)
        MPI_Irecv(comm->hellos[r], 2, MPI_INT, MPI_ANY_SOURCE, comm->tag + TAG_HELLO,
                  MPI_COMM_WORLD, &comm->requests[comm->request_count++]);
    return ncclInProgress;
}

static bool are_done(MPI_Request *requests, int *count)
{
    int flag;
    MPI_Testall(*count, requests, &flag, MPI_STATUSES_IGNORE);
    if (flag)
        *count = 0;
    return flag;
}

static void begin_table(ncclComm_t comm)
{
    for (int r = 0; r < comm->ranks && comm->hello[1] == comm->root; r++)
        comm->world[comm->hellos[r][0]] = comm->hellos[r][1];
    for (int r = 0; r < comm->ranks && comm->hello[1] == comm->root; r++)
        if (comm->world[r] != comm->root)
            MPI_Isend(comm->world, comm->ranks, MPI_INT, comm->world[r], comm->tag + TAG_TABLE,
                      MPI_COMM_WORLD, &comm->requests[comm->request_count++]);
    if (comm->hello[1] != comm->root)
        MPI_Irecv(comm->world, comm->ranks, MPI_INT, comm->root, comm->tag + TAG_TABLE,
                  MPI_COMM_WORLD, &comm->requests[comm->request_count++]);
}

static bool run_batch(void *state);

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    if (comm->is_destroyed)
        forbid("ncclCommGetAsyncError of a communicator that was destroyed");
    *error = comm->error;
    if (comm->error != ncclSuccess)
        return ncclSuccess;
    *error = ncclInProgress;
    if (comm->phase < 0 || (comm->phase < 2 && !are_done(comm->requests, &comm->request_count)))
        return ncclSuccess;
    if (comm->phase == 0)
        begin_table(comm);
    if (comm->phase < 2) {
        comm->phase++;
        return ncclSuccess;
    }
    if (comm->held && --comm->patience > 0)
        return ncclSuccess;
    if (comm->held)
        fake_queue(comm->held->stream, run_batch, comm->held, sizeof *comm->held);
    group.held -= comm->held != NULL;
    free(comm->held);
    comm->held = NULL;
    if (comm->finalized_s == 0 || mw_clock_s() - comm->finalized_s > END_S)
        *error = ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    if (comm->held || comm->finalized_s != 0)
        return ncclInvalidUsage;
    comm->finalized_s = mw_clock_s();
    return ncclInProgress;
}

/* Its memory stays, so that later calls of it are seen. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (comm->is_destroyed)
        forbid("ncclCommDestroy of a communicator that was destroyed");
    if (comm->finalized_s == 0 || mw_clock_s() - comm->finalized_s <= END_S)
        forbid("ncclCommDestroy of a communicator that has not ended");
    if (fake_registered_count(&comm->registered))
        forbid("ncclCommDestroy of a communicator with registered memory");
    comm->is_destroyed = true;
    return ncclSuccess;
}

/* Whether the GPU has work of communicators that are not aborted. */
static bool is_held_up(void)
{
    for (int i = 0; i < group.comm_count; i++)
        if (group.comms[i]->working > 0 && !group.comms[i]->is_aborted)
            return true;
    return false;
}

/* Waits for the GPU; may be called by several threads. What is on streams of it refers to it
 * still. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    const struct timespec rest = {.tv_nsec = 20000};
    if (!comm)
        return ncclSuccess;
    comm->is_aborted = true;
    comm->registered = (FakeRegistered){0};
    while (is_held_up())
        nanosleep(&rest, NULL);
    return ncclSuccess;
}

/* ---- Memory ---- */

ncclResult_t ncclGetVersion(int *version)
{
    const char *wanted = getenv("FAKE_NCCL_VERSION");
    *version = wanted ? atoi(wanted) : 22809;
    return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void **memory, size_t bytes)
{
    *memory = fake_fault(__func__) == FAKE_GOOD ? fake_memory_new(bytes, FAKE_OF_NCCL) : NULL;
    if (!*memory)
        fake_refuse(cudaErrorMemoryAllocation);
    return *memory ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void *memory)
{
    fake_fault(__func__);
    for (int c = 0; c < group.comm_count; c++)
        if (fake_registered_has(&group.comms[c]->registered, memory))
            forbid("ncclMemFree of memory that is registered");
    fake_drain_all();
    fake_memory_free(memory, FAKE_OF_NCCL);
    return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes, void **handle)
{
    const FakeFault fault = fake_fault(__func__);
    if (fault != FAKE_GOOD || comm->held || comm->phase != 2)
        return ncclInvalidUsage;
    if (!fake_is_memory(memory, bytes))
        forbid("ncclCommRegister of memory that the GPU does not have");
    *handle = NULL;
    if (getenv("NCCL_LOCAL_REGISTER") && strcmp(getenv("NCCL_LOCAL_REGISTER"), "0") == 0)
        return ncclSuccess;
    *handle = fake_registered_add(&comm->registered, memory, bytes);
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    fake_fault(__func__);
    if (comm->finalized_s != 0 || comm->held || comm->working > 0)
        forbid("ncclCommDeregister while memory is used, or after that");
    return fake_registered_remove(&comm->registered, handle) ? ncclSuccess : ncclInvalidUsage;
}

/* ---- Work ---- */

/* The type of the elements: of several with one type of NCCL, the last. Floats of 8 bits, which are
 * moved as bytes, are never combined. */
static MwType element_type(ncclDataType_t type)
{
    MwType element = MW_F32;
#define TYPE(id, name, bytes, kind, element_type, scalar, npy, onnx, nccl, ...)                    \
    element = type == nccl && !mw_type_is_fp8(MW_##id) ? MW_##id : element;
#include "base/types.def"
    return element;
}

static int64_t type_bytes(ncclDataType_t type)
{
    return mw_type_bytes(element_type(type));
}

static void isend(Batch *batch, const void *from, int64_t bytes, int rank)
{
    MPI_Isend(from, (int)bytes, MPI_BYTE, batch->comm->world[rank], batch->comm->tag + TAG_DATA,
              MPI_COMM_WORLD, &batch->requests[batch->request_count++]);
}

static void ireceive(Batch *batch, void *to, int64_t bytes, int rank)
{
    MPI_Irecv(to, (int)bytes, MPI_BYTE, batch->comm->world[rank], batch->comm->tag + TAG_DATA,
              MPI_COMM_WORLD, &batch->requests[batch->request_count++]);
}

/* Tells a rank where the buffers of this one are, and is told where its own are. */
static void share_places(Batch *batch, Op *op, int rank)
{
    const int tag = batch->comm->tag + TAG_PLACES, world = batch->comm->world[rank];
    if (op->kind != RECEIVE)
        MPI_Isend(&op->own, sizeof op->own, MPI_BYTE, world, tag, MPI_COMM_WORLD,
                  &batch->requests[batch->request_count++]);
    if (op->kind != SEND)
        MPI_Irecv(&op->theirs[rank], sizeof op->own, MPI_BYTE, world, tag, MPI_COMM_WORLD,
                  &batch->requests[batch->request_count++]);
}

static void start_op(Batch *batch, Op *op)
{
    const int64_t bytes = op->count * type_bytes(op->type);
    const ncclComm_t comm = batch->comm;
    const bool is_message = op->kind == SEND || op->kind == RECEIVE;
    op->own = (Places){fake_registered_place(&comm->registered, op->from),
                       fake_registered_place(&comm->registered, op->to)};
    op->theirs = calloc((size_t)comm->ranks, sizeof *op->theirs);
    for (int r = 0; r < comm->ranks; r++)
        if (!is_message || r == op->peer)
            share_places(batch, op, r);
    if (op->kind == SEND) {
        isend(batch, op->from, bytes, op->peer);
        return;
    }
    if (op->kind == RECEIVE) {
        ireceive(batch, op->to, bytes, op->peer);
        return;
    }
    op->parts = op->kind == ALL_GATHER ? op->to : malloc((size_t)(bytes * comm->ranks));
    for (int r = 0; r < comm->ranks; r++) {
        isend(batch, op->from + (op->kind == REDUCE_SCATTER ? r * bytes : 0), bytes, r);
        ireceive(batch, op->parts + r * bytes, bytes, r);
    }
}

static MwCombine combine_of(ncclRedOp_t operation)
{
    MW_ASSERT(operation == ncclSum || operation == ncclMax);
    return operation == ncclSum ? MW_COMBINE_SUM : MW_COMBINE_MAX;
}

/* A receive meets what the peer sends from; a collective is alike on all ranks. */
static void check_places(const Batch *batch, const Op *op)
{
    for (int r = 0; r < batch->comm->ranks && op->kind != SEND; r++) {
        if (op->kind == RECEIVE && r == op->peer && (op->theirs[r].from < 0) != (op->own.to < 0))
            forbid("a message between memory that is registered and memory that is not");
        if (op->kind != RECEIVE &&
            (op->theirs[r].from != op->own.from || op->theirs[r].to != op->own.to))
            forbid("a collective on memory that is not registered alike on all ranks");
    }
    free(op->theirs);
}

static void finish_op(const Batch *batch, Op *op)
{
    check_places(batch, op);
    if (op->kind != ALL_REDUCE && op->kind != REDUCE_SCATTER)
        return;
    memcpy(op->to, op->parts, (size_t)(op->count * type_bytes(op->type)));
    for (int r = 1; r < batch->comm->ranks; r++) {
        const void *const parts[] = {op->to, op->parts + r * op->count * type_bytes(op->type)};
        mw_combine(element_type(op->type), combine_of(op->operation), parts, 2, op->count, op->to);
    }
    free(op->parts);
}

static bool run_batch(void *state)
{
    Batch *batch = state;
    if (batch->comm->is_aborted)
        return true;
    batch->comm->working += !batch->is_there;
    batch->is_there = true;
    if (batch->fault == FAKE_ASYNC)
        batch->comm->error = ncclRemoteError;
    if (batch->fault != FAKE_GOOD)
        return false;
    for (int i = 0; i < batch->op_count && !batch->is_started; i++)
        start_op(batch, &batch->ops[i]);
    group.blocks += batch->is_started ? 0 : batch->comm->blocks;
    batch->is_started = true;
    if (group.blocks > GPU_BLOCKS)
        batch->comm->error = ncclInternalError;
    if (!are_done(batch->requests, &batch->request_count))
        return false;
    group.blocks -= batch->comm->blocks;
    for (int i = 0; i < batch->op_count; i++)
        finish_op(batch, &batch->ops[i]);
    batch->comm->working--;
    return true;
}

/* ---- Calls ---- */

ncclResult_t ncclGroupStart(void)
{
    if (fake_fault(__func__) == FAKE_FAIL)
        return ncclInternalError;
    group.depth++;
    return ncclSuccess;
}

/* False: one of the connections is new, and work is on the GPU. */
static bool connect_all(const Batch *batch)
{
    bool good = true;
    for (int i = 0; i < batch->op_count; i++) {
        const Op *op = &batch->ops[i];
        const bool is_large = op->count * type_bytes(op->type) >= LARGE_BYTES;
        const int by = op->kind == SEND || op->kind == RECEIVE ? op->peer : is_large;
        good &= batch->comm->is_connected[by][op->kind] || !fake_is_busy();
        batch->comm->is_connected[by][op->kind] = true;
    }
    return good;
}

/* Whether a call meets a graph, and the library was told that none does. */
static bool is_mixed(const Batch *batch)
{
    const char *mixing = getenv("NCCL_GRAPH_MIXING_SUPPORT");
    return mixing && strcmp(mixing, "0") == 0 && !batch->stream->is_captured &&
           fake_graph_is_busy();
}

ncclResult_t ncclGroupEnd(void)
{
    Batch *batch = group.batch;
    if (fake_fault(__func__) == FAKE_FAIL)
        return ncclInternalError;
    group.depth--;
    group.batch = NULL;
    if (!batch)
        return ncclSuccess;
    if (!connect_all(batch)) {
        batch->comm->why = "a connection is made while work is on the GPU";
        return ncclInternalError;
    }
    if (is_mixed(batch)) {
        batch->comm->why = "a call meets a graph, with NCCL_GRAPH_MIXING_SUPPORT=0";
        return ncclInternalError;
    }
    if (group.held) {
        batch->comm->why = "another communicator is called by a thread of NCCL";
        return ncclInternalError;
    }
    group.held++;
    batch->comm->held = batch;
    batch->comm->patience = 3;
    return ncclInProgress;
}

/* A call that is not in a group is one of its own. */
static ncclResult_t add_op(const char *call, ncclComm_t comm, cudaStream_t stream, Op op)
{
    const FakeFault fault = fake_fault(call);
    if (fault == FAKE_FAIL)
        return ncclSystemError;
    if (fake_is_broken())
        return ncclUnhandledCudaError;
    if (comm->held || comm->phase != 2)
        return ncclInvalidUsage; /* it has not settled */
    if (!group.batch) {
        group.batch = calloc(1, sizeof *group.batch);
        group.batch->comm = comm;
        group.batch->stream = stream;
    }
    if (group.batch->comm != comm || group.batch->stream != stream)
        return ncclInvalidUsage; /* more than the fake can do */
    if (fault != FAKE_GOOD)
        group.batch->fault = fault;
    Batch *batch = group.batch;
    batch->ops = realloc(batch->ops, sizeof op * (size_t)(batch->op_count + 1));
    batch->ops[batch->op_count++] = op;
    batch->requests = realloc(batch->requests, sizeof *batch->requests *
                                                   (size_t)(4 * comm->ranks * batch->op_count));
    if (group.depth > 0)
        return ncclSuccess;
    group.depth++;
    return ncclGroupEnd();
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return add_op(
        __func__, comm, stream,
        (Op){.kind = SEND, .from = from, .count = (int64_t)count, .type = type, .peer = peer});
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return add_op(
        __func__, comm, stream,
        (Op){.kind = RECEIVE, .to = to, .count = (int64_t)count, .type = type, .peer = peer});
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream)
{
    return add_op(__func__, comm, stream,
                  (Op){ALL_REDUCE, from, to, NULL, (int64_t)count, type, operation, 0});
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream)
{
    return add_op(__func__, comm, stream,
                  (Op){REDUCE_SCATTER, from, to, NULL, (int64_t)count, type, operation, 0});
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return add_op(__func__, comm, stream,
                  (Op){ALL_GATHER, from, to, NULL, (int64_t)count, type, ncclSum, 0});
}
