/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/nccl_comm.h"

#include "base/clock.h"
#include "base/threads.h"
#include "runtime/cuda/error.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time between two polls of the communicators for errors, which take locks. An error is seen that
 * much later. Chosen, not measured. */
static const double POLL_INTERVAL_S = 0.01;

/* ---- Errors ---- */

bool mw_nccl_cuda_check(MwNccl *nccl, cudaError_t status, const char *call, MwFault *fault)
{
    if (status == cudaSuccess)
        return true;
    nccl->failed = true;
    return mw_cuda_check(status, call, fault);
}

bool mw_nccl_check(MwNccl *nccl, const MwNcclComm *comm, ncclResult_t status, const char *call,
                   MwFault *fault)
{
    if (status == ncclSuccess || status == ncclInProgress)
        return true;
    const char *detail = ncclGetLastError(comm ? comm->comm : NULL);
    nccl->failed = true;
    return mw_fault_set(fault, "device %d: %s%s%s failed: %s%s%s", nccl->gpu, call, comm ? " " : "",
                        comm ? comm->label : "", ncclGetErrorString(status),
                        detail && *detail ? ": " : "", detail ? detail : "");
}

static bool too_late(MwNccl *nccl, const char *what, const char *label, MwFault *fault)
{
    nccl->failed = true;
    return mw_fault_set(fault,
                        "device %d: %s %s has not completed after %g s: another rank no longer "
                        "takes part in it (--timeout sets this limit)",
                        nccl->gpu, what, label, nccl->timeout_s);
}

/* ---- Communicators ---- */

MwNcclRootId mw_nccl_root_id(MwNccl *nccl, const MwNcclComm *comm)
{
    MwNcclRootId root = {0};
    MwFault *fault = &root.fault;
    root.failed = !MW_NCCL_CALL(nccl, comm, ncclGetUniqueId, &root.id);
    return root;
}

/* The message from one rank to all others. */
typedef struct {
    bool failed;
    MwFault fault;
} Verdict;

bool mw_nccl_agree(MwArena *arena, MwTransport *hosts, bool good, MwFault *fault)
{
    Verdict own = {.failed = !good}, *all = MW_NEW(arena, Verdict, hosts->size);
    if (!good)
        own.fault = *fault;
    if (!hosts->table->allgather(hosts, &own, sizeof own, all, fault))
        return false;
    for (int r = 0; r < hosts->size; r++)
        if (all[r].failed) {
            *fault = all[r].fault;
            return mw_fault_prefix(fault, "rank %d", r);
        }
    return true;
}

/* Each communicator has memory of its own. To share that (ncclCommSplit with splitShare) is for
 * communicators that are at work one after another, and those of axes and of messages are at work
 * at once; and what shares has faults with calls that do not block, and with fewer blocks than the
 * parent has (NVIDIA/nccl on GitHub, issues 1605 and 2430, open in 2026). */
bool mw_nccl_comm_begin(MwNccl *nccl, MwArena *arena, MwNcclComm *comm,
                        const MwNcclMembership *membership, MwFault *fault)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (membership->most_blocks)
        config.maxCTAs = membership->most_blocks;
    if (!MW_NCCL_CALL(nccl, comm, ncclCommInitRankConfig, &comm->comm, membership->members,
                      membership->id, membership->self, &config))
        return false;
    mw_vec_push(arena, &nccl->comms, comm);
    return true;
}

bool mw_nccl_is_ready(MwNccl *nccl, const MwNcclComm *comm, const char *call, bool *ready,
                      MwFault *fault)
{
    ncclResult_t status = ncclSuccess;
    if (!MW_NCCL_CALL(nccl, comm, ncclCommGetAsyncError, comm->comm, &status) ||
        !mw_nccl_check(nccl, comm, status, call, fault))
        return false;
    *ready = status == ncclSuccess;
    return true;
}

bool mw_nccl_wait_ready(MwNccl *nccl, const MwNcclComm *comm, const char *call, MwFault *fault)
{
    const double since_s = mw_clock_s();
    bool ready;
    while (true) {
        if (!mw_nccl_is_ready(nccl, comm, call, &ready, fault))
            return false;
        if (ready)
            return true;
        if (!mw_nccl_idle_since(nccl, since_s, call, comm->label, fault))
            return false;
    }
}

/* ---- Calls in flight ---- */

bool mw_nccl_is_done(MwNccl *nccl, cudaEvent_t event, bool *done, MwFault *fault)
{
    const cudaError_t status = cudaEventQuery(event);
    *done = status == cudaSuccess;
    if (status != cudaErrorNotReady)
        return mw_nccl_cuda_check(nccl, status, "cudaEventQuery", fault);
    cudaGetLastError(); /* clears cudaErrorNotReady, which a later call would report */
    return true;
}

static bool remove_done(MwNccl *nccl, MwNcclCalls *calls, MwFault *fault)
{
    bool done = true;
    while (calls->count > 0) {
        if (!mw_nccl_is_done(nccl, calls->at[calls->first].done, &done, fault))
            return false;
        if (!done)
            return true;
        calls->first = (calls->first + 1) % MW_NCCL_MOST_CALLS;
        calls->count--;
        calls->oldest_s = mw_clock_s();
    }
    return true;
}

bool mw_nccl_watch_call(MwNccl *nccl, MwNcclCalls *calls, const MwNcclComm *comm, const char *call,
                        cudaStream_t stream, MwFault *fault)
{
    MW_ASSERT(calls->count < MW_NCCL_MOST_CALLS);
    MwNcclCall *last = &calls->at[(calls->first + calls->count) % MW_NCCL_MOST_CALLS];
    if (calls->count++ == 0)
        calls->oldest_s = mw_clock_s();
    last->comm = comm;
    last->call = call;
    return MW_NCCL_CUDA(nccl, cudaEventRecord, last->done, stream);
}

static bool check_calls(MwNccl *nccl, MwNcclCalls *calls, double now_s, MwFault *fault)
{
    if (!remove_done(nccl, calls, fault))
        return false;
    const MwNcclCall *oldest = &calls->at[calls->first];
    return calls->count == 0 || now_s - calls->oldest_s <= nccl->timeout_s ||
           too_late(nccl, oldest->call, oldest->comm->label, fault);
}

/* The oldest call of a communicator in flight, which an error most likely comes from. */
static const char *call_of(const MwNccl *nccl, const MwNcclComm *comm)
{
    const MwNcclCalls *const rings[] = {&nccl->collectives, &nccl->messages};
    for (int r = 0; r < MW_COUNT(rings); r++)
        for (int i = 0; i < rings[r]->count; i++) {
            const MwNcclCall *call = &rings[r]->at[(rings[r]->first + i) % MW_NCCL_MOST_CALLS];
            if (call->comm == comm)
                return call->call;
        }
    return "communication";
}

static bool poll_comms(MwNccl *nccl, double now_s, MwFault *fault)
{
    bool ready;
    if (now_s - nccl->polled_s < POLL_INTERVAL_S)
        return true;
    nccl->polled_s = now_s;
    for (int i = 0; i < nccl->comms.count; i++)
        if (!mw_nccl_is_ready(nccl, nccl->comms.at[i], call_of(nccl, nccl->comms.at[i]), &ready,
                              fault))
            return false;
    return true;
}

bool mw_nccl_idle(MwNccl *nccl, MwFault *fault)
{
    const double now_s = mw_clock_s();
    if (!nccl->progress(nccl->context, fault) || !poll_comms(nccl, now_s, fault) ||
        !check_calls(nccl, &nccl->collectives, now_s, fault) ||
        !check_calls(nccl, &nccl->messages, now_s, fault))
        return false;
    sched_yield();
    return true;
}

bool mw_nccl_idle_since(MwNccl *nccl, double since_s, const char *what, const char *label,
                        MwFault *fault)
{
    /* The fault of a late call says more than that of a late wait, so it comes first. */
    return mw_nccl_idle(nccl, fault) &&
           (mw_clock_s() - since_s <= nccl->timeout_s || too_late(nccl, what, label, fault));
}

/* ---- Beginning and end ---- */

static bool make_events(MwNccl *nccl, MwNcclCalls *calls, MwFault *fault)
{
    for (int i = 0; i < MW_NCCL_MOST_CALLS; i++)
        if (!MW_NCCL_CUDA(nccl, cudaEventCreateWithFlags, &calls->at[i].done,
                          cudaEventDisableTiming))
            return false;
    return true;
}

static void free_events(MwNcclCalls *calls)
{
    for (int i = 0; i < MW_NCCL_MOST_CALLS; i++)
        if (calls->at[i].done)
            cudaEventDestroy(calls->at[i].done);
}

/* Graphs that are launched at once, or graphs and calls at once, of one communicator need support
 * that takes time in each launch. Where a step is one graph there is no need: steps follow each
 * other on one stream. What the user says holds; without support, a call waits for graphs that are
 * not done (nccl_collectives.c). */
static bool supports_mixing(bool mixes)
{
    enum { OVERWRITES = false };
    static const char name[] = "NCCL_GRAPH_MIXING_SUPPORT";
    setenv(name, mixes ? "1" : "0", OVERWRITES);
    return strcmp(getenv(name), "0") != 0;
}

bool mw_nccl_init(MwNccl *nccl, int gpu, double timeout_s, bool mixes, MwFault *fault)
{
    nccl->mixes = supports_mixing(mixes);
    nccl->gpu = gpu;
    nccl->timeout_s = timeout_s;
    return make_events(nccl, &nccl->collectives, fault) &&
           make_events(nccl, &nccl->messages, fault);
}

/* Ends all communicators. While one of them settles all are asked for errors, so none is destroyed
 * before all have ended. False if one fails, or does not settle in time. */
static bool finalize(MwNccl *nccl)
{
    MwFault ignored, *fault = &ignored;
    for (int i = 0; i < nccl->comms.count; i++) {
        const MwNcclComm *comm = nccl->comms.at[i];
        if (!MW_NCCL_CALL(nccl, comm, ncclCommFinalize, comm->comm))
            return false;
    }
    for (int i = 0; i < nccl->comms.count; i++)
        if (!mw_nccl_wait_ready(nccl, nccl->comms.at[i], "ncclCommFinalize", fault))
            return false;
    return true;
}

static void abort_one(void *nccl, int i)
{
    ncclCommAbort(((const MwNccl *)nccl)->comms.at[i]->comm);
}

void mw_nccl_end(MwNccl *nccl, bool aborts)
{
    const bool ended = !aborts && !nccl->failed && finalize(nccl);
    for (int i = 0; ended && i < nccl->comms.count; i++)
        ncclCommDestroy(nccl->comms.at[i]->comm);
    /* All at once: an abort waits for the GPU, where work of another communicator may stay until
     * that is aborted too. */
    if (!ended)
        mw_parallel(nccl->comms.count, nccl->comms.count, abort_one, nccl);
    free_events(&nccl->collectives);
    free_events(&nccl->messages);
}
