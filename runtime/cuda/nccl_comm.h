/* SPDX-License-Identifier: MIT */
/* Communicators of NCCL, and a watchdog that keeps a rank from waiting for ever for one that is
 * gone.
 *
 * Communicators are non-blocking: a call may return before its work is queued. The communicator is
 * *ready* when that is done, that is when ncclCommGetAsyncError gives ncclSuccess instead of
 * ncclInProgress. Wherever the host waits it calls mw_nccl_idle, which lets messages make progress,
 * polls the communicators for errors, and fails the wait when a call has not completed within the
 * time-out. */
#ifndef MW_RUNTIME_CUDA_NCCL_COMM_H
#define MW_RUNTIME_CUDA_NCCL_COMM_H

#include "base/vec.h"
#include "runtime/exec/transport.h"

#include <nccl.h>

typedef struct {
    ncclComm_t comm;
    char label[64]; /* its name in messages: "along axis 0" */
} MwNcclComm;

/* A call whose work is on a stream. */
typedef struct {
    cudaEvent_t done;
    const MwNcclComm *comm;
    const char *call; /* name of the function */
} MwNcclCall;

/* Calls that may be in flight in one ring; further calls wait. Enough that the host is not held up
 * by it while a GPU is a step behind. Chosen, not measured. */
enum { MW_NCCL_MOST_CALLS = 64 };

/* A ring of calls in flight, oldest first; a call completes when those before it have, or soon
 * after. */
typedef struct {
    MwNcclCall at[MW_NCCL_MOST_CALLS];
    int first, count;
    double oldest_s; /* time since which the first call has been the oldest */
} MwNcclCalls;

typedef struct {
    int gpu;          /* CUDA's number of the device */
    double timeout_s; /* time that the oldest call of a ring may take */
    bool mixes;       /* a communicator may be called while graphs with its calls are at work */
    MW_VEC(MwNcclComm *) comms;
    MwNcclCalls collectives, messages; /* in flight */
    double polled_s;                   /* time when the communicators were last polled for errors */
    bool failed;                       /* the communicators can no longer be used */
    /* A communicator was called and is not ready yet: NCCL launches its work by a thread of its
     * own. Others are called when it is, so that all is launched in the order of the calls. */
    bool is_calling;
    /* Lets messages make progress. */
    bool (*progress)(void *context, MwFault *fault);
    void *context;
} MwNccl;

/* What the root of a communicator sends to its other members: the unique id, or why there is
 * none. */
typedef struct {
    bool failed;
    MwFault fault;
    ncclUniqueId id;
} MwNcclRootId;

/* `mixes`: see MwTransportOptions.mixes_graphs. */
bool mw_nccl_init(MwNccl *nccl, int gpu, double timeout_s, bool mixes, MwFault *fault);
/* Ends the communicators: finalizes them, or aborts them if `aborts` or after a failure. */
void mw_nccl_end(MwNccl *nccl, bool aborts);

/* False, after the fault "device 1: CALL failed: CAUSE", if `status` is an error. */
bool mw_nccl_cuda_check(MwNccl *nccl, cudaError_t status, const char *call, MwFault *fault);
/* False, after the fault "device 1: CALL LABEL failed: CAUSE", if `status` is an error. `comm` may
 * be NULL. */
bool mw_nccl_check(MwNccl *nccl, const MwNcclComm *comm, ncclResult_t status, const char *call,
                   MwFault *fault);

MwNcclRootId mw_nccl_root_id(MwNccl *nccl, const MwNcclComm *comm);
/* True if `good` on every rank; otherwise every rank gets the fault of the first rank that is not.
 * Collective over all ranks. */
bool mw_nccl_agree(MwArena *arena, MwTransport *hosts, bool good, MwFault *fault);

/* This process's membership in a communicator. */
typedef struct {
    ncclUniqueId id;
    int members, self;
    int most_blocks; /* bound of the thread blocks of its kernels; 0: NCCL's default */
} MwNcclMembership;

/* Begins to initialize `comm`, whose label is set and which does not move; it is not ready yet. */
bool mw_nccl_comm_begin(MwNccl *nccl, MwArena *arena, MwNcclComm *comm,
                        const MwNcclMembership *membership, MwFault *fault);
/* `call` names the last call in faults. */
bool mw_nccl_is_ready(MwNccl *nccl, const MwNcclComm *comm, const char *call, bool *ready,
                      MwFault *fault);
bool mw_nccl_wait_ready(MwNccl *nccl, const MwNcclComm *comm, const char *call, MwFault *fault);
/* Adds a call to the ring, which has room: its work is what is on `stream` now. */
bool mw_nccl_watch_call(MwNccl *nccl, MwNcclCalls *calls, const MwNcclComm *comm, const char *call,
                        cudaStream_t stream, MwFault *fault);

/* `*done`: the event, as it was recorded last, has occurred. */
bool mw_nccl_is_done(MwNccl *nccl, cudaEvent_t event, bool *done, MwFault *fault);

/* Called in every iteration of a wait. */
bool mw_nccl_idle(MwNccl *nccl, MwFault *fault);
/* Is called in every iteration of a wait for other ranks that began at `since_s`. Returns false,
 * after a fault that names `what` and `label`, if the wait takes longer than the time-out. */
bool mw_nccl_idle_since(MwNccl *nccl, double since_s, const char *what, const char *label,
                        MwFault *fault);

#define MW_NCCL_CUDA(nccl, name, ...) mw_nccl_cuda_check(nccl, name(__VA_ARGS__), #name, fault)
#define MW_NCCL_CALL(nccl, comm, name, ...)                                                        \
    mw_nccl_check(nccl, comm, name(__VA_ARGS__), #name, fault)

#endif
