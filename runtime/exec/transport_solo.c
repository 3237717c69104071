/* SPDX-License-Identifier: MIT */
#include "runtime/exec/transport_solo.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    MwTransport base;
    MwArena *scratch;
    MwMeshShape mesh;
    void *arena;
    int64_t arena_bytes;
} Solo;

static bool solo_join(MwTransport *transport, const MwMeshShape *mesh, int first_rank,
                      MwFault *fault)
{
    (void)first_rank, (void)fault;
    ((Solo *)transport)->mesh = *mesh;
    return true;
}

static void *solo_arena(MwTransport *transport, MwDevice *device, int64_t bytes, MwFault *fault)
{
    Solo *solo = (Solo *)transport;
    solo->arena_bytes = bytes;
    return solo->arena = device->table->alloc(device, bytes, fault);
}

static bool solo_exchange(MwTransport *transport, MwDevice *device, const MwExchange *exchange,
                          MwFault *fault)
{
    const Solo *solo = (Solo *)transport;
    const int ways = solo->mesh.size[exchange->axis];
    const int64_t element_bytes = mw_type_bytes(exchange->type);
    int64_t result;
    MW_ASSERT(mw_exchange_result(exchange->kind, ways, exchange->count, &result));
    if (ways > 1 && exchange->destination != exchange->source)
        return device->table->zero(device, exchange->destination, result * element_bytes, fault);
    return exchange->destination == exchange->source ||
           device->table->copy(device, exchange->destination, exchange->source,
                               result * element_bytes, fault);
}

struct MwParcels {
    char *buffer;
    int64_t bytes; /* 0: no message */
    bool sends;
};

static MwParcels *solo_pack(MwTransport *transport, MwDevice *device, void *buffer,
                            const MwParcel *parcels, int count, bool sends, int tag, MwFault *fault)
{
    (void)device, (void)tag, (void)fault;
    MwParcels *packed = MW_NEW(((Solo *)transport)->scratch, MwParcels, 1);
    *packed = (MwParcels){buffer, count ? mw_tensor_bytes(&parcels->box.global) : 0, sends};
    return packed;
}

static bool solo_open(MwTransport *transport, MwFault *fault)
{
    (void)transport, (void)fault;
    return true;
}

/* A copy onto itself reads all of what is sent. */
static bool solo_begin(MwTransport *transport, MwDevice *device, MwParcels *parcels, MwFault *fault)
{
    (void)transport;
    if (!parcels->bytes)
        return true;
    if (!parcels->sends)
        return device->table->zero(device, parcels->buffer, parcels->bytes, fault);
    return !device->is_blind ||
           device->table->copy(device, parcels->buffer, parcels->buffer, parcels->bytes, fault);
}

static bool solo_test(MwTransport *transport, MwDevice *device, MwParcels *parcels, bool *done,
                      MwFault *fault)
{
    (void)transport, (void)device, (void)parcels, (void)fault;
    *done = true;
    return true;
}

static bool solo_wait(MwTransport *transport, MwDevice *device, MwParcels *parcels, MwFault *fault)
{
    (void)transport, (void)device, (void)parcels, (void)fault;
    return true;
}

static bool solo_send(MwTransport *transport, int peer, const void *data, int64_t bytes,
                      MwFault *fault)
{
    (void)transport, (void)peer, (void)data, (void)bytes, (void)fault;
    return true;
}

static bool solo_receive(MwTransport *transport, int peer, void *data, int64_t bytes,
                         MwFault *fault)
{
    (void)transport, (void)peer, (void)fault;
    memset(data, 0, (size_t)bytes);
    return true;
}

static bool solo_share(MwTransport *transport, const void *mine, int64_t bytes, void *all,
                       MwFault *fault)
{
    (void)fault;
    memset(all, 0, (size_t)(bytes * transport->size));
    memcpy((char *)all + bytes * transport->rank, mine, (size_t)bytes);
    return true;
}

static bool solo_barrier(MwTransport *transport, MwFault *fault)
{
    (void)transport, (void)fault;
    return true;
}

static MW_NORETURN void solo_abort(MwTransport *transport, int status)
{
    (void)transport;
    exit(status);
}

static void solo_destroy(MwTransport *transport, MwDevice *device)
{
    Solo *solo = (Solo *)transport;
    if (solo->arena)
        device->table->release(device, solo->arena, solo->arena_bytes);
}

static const MwTransportTable solo_table = {
    .name = "solo",
    .join = solo_join,
    .arena = solo_arena,
    .exchange = solo_exchange,
    .pack = solo_pack,
    .open = solo_open,
    .begin = solo_begin,
    .test = solo_test,
    .wait = solo_wait,
    .send = solo_send,
    .receive = solo_receive,
    .share = solo_share,
    .barrier = solo_barrier,
    .abort = solo_abort,
    .destroy = solo_destroy,
};

MwTransport *mw_transport_solo_new(MwArena *arena, int rank, int size)
{
    Solo *solo = MW_NEW(arena, Solo, 1);
    solo->base = (MwTransport){.table = &solo_table, .rank = rank, .size = size, .is_queued = true};
    solo->scratch = arena;
    return &solo->base;
}

void mw_transport_free(MwTransport **transport, MwDevice *device)
{
    if (*transport)
        (*transport)->table->destroy(*transport, device);
    *transport = NULL;
}
