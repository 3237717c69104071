/* SPDX-License-Identifier: MIT */
/* The interface that connects the ranks: collectives on the devices along a mesh axis,
 * point-to-point messages between devices, messages between hosts, and the end of all ranks.
 *
 * All members of a group call the same collectives in the same order, on buffers at the same offset
 * of arenas of the same size. Collectives run on the queue MwTransport.queue of the device, or on
 * the host; everything else is ordered with MW_QUEUE_COMPUTE. Functions that can fail set the fault
 * and return false or NULL. */
#ifndef MW_RUNTIME_EXEC_TRANSPORT_H
#define MW_RUNTIME_EXEC_TRANSPORT_H

#include "runtime/exec/device.h"
#include "runtime/plan/box.h"
#include "runtime/plan/collective.h"

typedef struct MwTransport MwTransport;

/* What a run asks of a transport between devices. */
typedef struct {
    double timeout_s; /* a device that waits longer for others is a fault */
    /* sums of floats of 16 bits may be rounded at every device, where that is faster; else they are
     * rounded once */
    bool rounds_sums;
    /* collectives are queued while others are at work in graphs (MwDeviceTable.replay) */
    bool mixes_graphs;
} MwTransportOptions;

/* One message between two devices: a part of a buffer. */
typedef struct {
    int peer;  /* rank */
    MwBox box; /* of the buffer, whose tensor is `box.global` */
} MwPeerBox;

/* Parts of one buffer, all sent or all received. */
typedef struct {
    void *buffer; /* on the device */
    const MwPeerBox *boxes;
    int count;
    bool sends;
    /* messages between two ranks with one tag arrive in the order in which they were started */
    int tag;
} MwMessageSet;

/* A persistent request (MPI 4.0, section 3.9): a message set that is started many times. */
typedef struct MwRequest MwRequest;

typedef struct {
    const char *name;

    /* ---- Setting up, in this order ---- */

    /* Makes one group for each axis of the mesh that this rank belongs to. Collective over all
     * ranks. */
    bool (*make_groups)(MwTransport *transport, const MwMeshShape *mesh, int first_rank,
                        MwFault *fault);
    /* Allocates the device's arena where collectives reach it best. Collective over all ranks. */
    void *(*alloc_arena)(MwTransport *transport, MwDevice *device, int64_t bytes, MwFault *fault);
    /* The request lives as long as the transport. `set` and its boxes need not outlive the call. */
    MwRequest *(*init_request)(MwTransport *transport, MwDevice *device, const MwMessageSet *set,
                               MwFault *fault);
    /* Connects the peers of all requests, and the members of groups as each of the `count`
     * exchanges needs it, whose buffers lose their contents: nothing is connected in a step. No
     * request may be initialized afterwards. Collective over all ranks. */
    bool (*connect)(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                    int count, MwFault *fault);

    /* ---- Communication between devices ---- */

    /* Does `count` collectives together: all of one kind, axis, type and combination, none of which
     * writes what another one reads or writes. */
    bool (*exchange)(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                     int count, MwFault *fault);
    /* Tells the transport that the device replays captured collectives (MwDeviceTable.replay).
     * NULL: it need not know. */
    bool (*replayed)(MwTransport *transport, MwDevice *device, MwFault *fault);
    /* Starts the messages, after the work that is queued on the device. The buffer belongs to the
     * transport until they are complete. */
    bool (*start)(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault);
    /* `*done`: the messages are complete, for work that is queued on the device from now on. A
     * request that is not started is complete. */
    bool (*test)(MwTransport *transport, MwDevice *device, MwRequest *request, bool *done,
                 MwFault *fault);
    bool (*wait)(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault);

    /* ---- Communication between hosts ---- */

    bool (*send)(MwTransport *transport, int peer, const void *data, int64_t bytes, MwFault *fault);
    bool (*receive)(MwTransport *transport, int peer, void *data, int64_t bytes, MwFault *fault);
    /* Every rank gets the `bytes` of every rank, in order of rank. */
    bool (*allgather)(MwTransport *transport, const void *mine, int64_t bytes, void *all,
                      MwFault *fault);
    bool (*barrier)(MwTransport *transport, MwFault *fault);

    /* ---- The end ---- */

    /* The run ends with the fault. Hosts still exchange what steps gave that came to their end
     * before: a wait for another host goes on for a second, and then ends with the fault. NULL:
     * there are no such waits. */
    void (*expect_end)(MwTransport *transport, const MwFault *fault);
    /* Ends every rank with `status`. */
    MW_NORETURN void (*abort)(MwTransport *transport, int status);
    /* Frees the arena too. Collective over all ranks. */
    void (*destroy)(MwTransport *transport, MwDevice *device);
} MwTransportTable;

struct MwTransport {
    const MwTransportTable *table;
    int rank, size;
    bool is_crowded; /* ranks of this machine outnumber its cores: waits sleep */
    MwQueue queue;   /* the queue of collectives in groups of several members */
    bool is_queued;  /* such collectives need nothing more of the host once they are queued */
    /* Called repeatedly while a message between hosts is waited for, so that work on the devices is
     * watched meanwhile. After a fault the end is expected. NULL: there is nothing to do. */
    bool (*idle)(void *context, MwFault *fault);
    void *idle_context;
    double end_s; /* when waits for other hosts end with `late` (base/clock.h); 0: there is none */
    MwFault late;
};

void mw_transport_free(MwTransport **transport, MwDevice *device);

#endif
