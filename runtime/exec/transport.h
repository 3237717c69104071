/* SPDX-License-Identifier: MIT */
/* What the executor needs of the ranks' connection: collectives on the devices of a mesh axis,
 * messages between devices and between hosts, and an end for all.
 *
 * Every rank of a group makes the same collective calls in the same order, on buffers at the same
 * place of arenas of the same size. They are done on the device's queue `queue`, by the host or by the
 * device; all else is in the order of the queue `compute`. Functions that fail set the fault and return false or NULL. */
#ifndef MW_RUNTIME_EXEC_TRANSPORT_H
#define MW_RUNTIME_EXEC_TRANSPORT_H

#include "runtime/exec/device.h"
#include "runtime/plan/block.h"
#include "runtime/plan/collective.h"

typedef struct MwTransport MwTransport;

/* One message from device to device: a part of a buffer. */
typedef struct {
    int peer;
    MwBlock box; /* of the buffer, whose tensor is `box.global` */
} MwParcel;

/* Messages that begin together, over and over, all sent or all received. */
typedef struct MwParcels MwParcels;

typedef struct {
    const char *name;
    /* Makes the groups of the mesh that starts at `first_rank` and this rank is in. Collective over
     * all ranks; once, before arena and exchange. */
    bool (*join)(MwTransport *transport, const MwMeshShape *mesh, int first_rank, MwFault *fault);
    /* The arena, where collectives reach it best. Collective over all ranks of the mesh. */
    void *(*arena)(MwTransport *transport, MwDevice *device, int64_t bytes, MwFault *fault);
    bool (*exchange)(MwTransport *transport, MwDevice *device, const MwExchange *exchange,
                     MwFault *fault);
    /* The device repeats exchanges that it kept (MwDeviceTable.repeat): they are under way. NULL: nobody
     * has to know. */
    bool (*repeated)(MwTransport *transport, MwDevice *device, MwFault *fault);
    /* Host memory, to and from any rank. */
    bool (*send)(MwTransport *transport, int peer, const void *data, int64_t bytes, MwFault *fault);
    bool (*receive)(MwTransport *transport, int peer, void *data, int64_t bytes, MwFault *fault);
    /* Parts of the buffer at `buffer`, to or from ranks of other meshes and of this one. Messages of
     * one tag between two ranks arrive in the order in which they begin. Lives as long as the
     * transport. */
    MwParcels *(*pack)(MwTransport *transport, MwDevice *device, void *buffer,
                       const MwParcel *parcels, int count, bool sends, int tag, MwFault *fault);
    /* All is packed: connects what the messages need. Collective over all ranks; once, before the
     * first begin. */
    bool (*open)(MwTransport *transport, MwFault *fault);
    /* After what was queued on the device. The buffer is the transport's until they are done. */
    bool (*begin)(MwTransport *transport, MwDevice *device, MwParcels *parcels, MwFault *fault);
    /* Whether they are done, as those are that never began; for what is queued on the device from
     * now on. */
    bool (*test)(MwTransport *transport, MwDevice *device, MwParcels *parcels, bool *done,
                 MwFault *fault);
    bool (*wait)(MwTransport *transport, MwDevice *device, MwParcels *parcels, MwFault *fault);
    /* `bytes` from every rank, in order of rank, to every rank. */
    bool (*share)(MwTransport *transport, const void *mine, int64_t bytes, void *all,
                  MwFault *fault);
    bool (*barrier)(MwTransport *transport, MwFault *fault);
    /* Ends every rank with `status`. */
    MW_NORETURN void (*abort)(MwTransport *transport, int status);
    /* Frees the arena too; collective over all ranks. */
    void (*destroy)(MwTransport *transport, MwDevice *device);
} MwTransportTable;

struct MwTransport {
    const MwTransportTable *table;
    int rank, size;
    MwQueue queue;  /* of exchanges among several */
    bool is_queued; /* the host takes no part in these once they are queued */
};

void mw_transport_free(MwTransport **transport, MwDevice *device);

#endif
