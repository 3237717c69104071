/* SPDX-License-Identifier: MIT */
/* Communicators of NCCL, and what keeps a rank from waiting for ever for one that is gone.
 *
 * Communicators do not block: a call may return before what it asks for is queued, and is done with
 * when the communicator has settled. Wherever the host waits it calls mw_nccl_idle, which lets
 * messages go on, asks the communicators for errors, and ends the wait where nothing has come of a
 * call for the time that was given. */
#ifndef MW_RUNTIME_CUDA_NCCL_WATCH_H
#define MW_RUNTIME_CUDA_NCCL_WATCH_H

#include "base/vec.h"
#include "runtime/exec/transport.h"

#include <nccl.h>

typedef struct {
    ncclComm_t comm;
    char label[64]; /* what messages call it: "along axis 0" */
} MwNcclComm;

/* A call whose work is on a stream. */
typedef struct {
    cudaEvent_t done;
    const MwNcclComm *comm;
    const char *call;
} MwNcclCall;

enum { MW_NCCL_MOST_CALLS = 64 };

/* A ring, oldest first: each is done when those before it are, or soon after. */
typedef struct {
    MwNcclCall at[MW_NCCL_MOST_CALLS];
    int first, count;
    double oldest_s; /* since when the oldest is the oldest */
} MwNcclCalls;

typedef struct {
    int gpu; /* CUDA's number of it */
    double timeout_s;
    MW_VEC(MwNcclComm *) comms;
    MwNcclCalls collectives, messages; /* under way */
    double checked_s;                  /* when the communicators were asked for errors */
    bool failed;                       /* communicators are of no use any more */
    /* Lets messages go on. */
    bool (*progress)(void *context, MwFault *fault);
    void *context;
} MwNccl;

/* What a rank tells others with whom it makes a communicator. */
typedef struct {
    bool failed;
    MwFault fault;
    ncclUniqueId id;
} MwNcclCard;

bool mw_nccl_watch_init(MwNccl *nccl, int gpu, double timeout_s, MwFault *fault);
/* Ends the communicators: in order, or breaks them off. */
void mw_nccl_watch_end(MwNccl *nccl, bool break_off);

/* "device 1: NAME failed: CAUSE" */
bool mw_nccl_cuda_check(MwNccl *nccl, cudaError_t status, const char *call, MwFault *fault);
/* "device 1: NAME LABEL failed: CAUSE"; `comm` may be NULL. */
bool mw_nccl_check(MwNccl *nccl, const MwNcclComm *comm, ncclResult_t status, const char *call,
                   MwFault *fault);

/* A new id, or why there is none. */
MwNcclCard mw_nccl_card(MwNccl *nccl, const MwNcclComm *comm);
/* Whether all is good on every rank; else every rank has the fault of the first where it is not.
 * Collective over all ranks. */
bool mw_nccl_agree(MwArena *arena, MwTransport *hosts, bool good, MwFault *fault);
/* Begins to make `comm`, which has its label and stays where it is; it has to settle. Its kernels have
 * at most so many `blocks`; 0: as many as NCCL likes. */
bool mw_nccl_comm_begin(MwNccl *nccl, MwArena *arena, MwNcclComm *comm, int members,
                        ncclUniqueId id, int self, int blocks, MwFault *fault);
bool mw_nccl_is_settled(MwNccl *nccl, const MwNcclComm *comm, const char *call, bool *settled,
                        MwFault *fault);
/* Waits until what `call` asked for is queued. */
bool mw_nccl_settle(MwNccl *nccl, const MwNcclComm *comm, const char *call, MwFault *fault);
/* What is on `stream` by now is to be done in time. There is room in `calls`. */
bool mw_nccl_watch(MwNccl *nccl, MwNcclCalls *calls, const MwNcclComm *comm, const char *call,
                   cudaStream_t stream, MwFault *fault);

/* Whether all that was on the stream when the event was recorded is done. */
bool mw_nccl_is_done(MwNccl *nccl, cudaEvent_t event, bool *done, MwFault *fault);

/* One turn of a wait. */
bool mw_nccl_idle(MwNccl *nccl, MwFault *fault);
/* The same for a wait for others that began at `since_s`: false, after a fault, when that is too long
 * ago. `what` is what is waited for. */
bool mw_nccl_idle_since(MwNccl *nccl, double since_s, const char *what, const char *label,
                        MwFault *fault);

#define MW_NCCL_CUDA(nccl, name, ...) mw_nccl_cuda_check(nccl, name(__VA_ARGS__), #name, fault)
#define MW_NCCL_CALL(nccl, comm, name, ...)                                                        \
    mw_nccl_check(nccl, comm, name(__VA_ARGS__), #name, fault)

#endif
