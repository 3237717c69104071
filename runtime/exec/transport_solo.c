/* SPDX-License-Identifier: MIT */
#include "runtime/exec/transport_solo.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    MwTransport base;
    MwArena *scratch; /* for the requests */
    MwMeshShape mesh;
    void *arena;
    int64_t arena_bytes;
} Solo;

static bool solo_make_groups(MwTransport *transport, const MwMeshShape *mesh, int first_rank,
                             MwFault *fault)
{
    (void)first_rank, (void)fault;
    ((Solo *)transport)->mesh = *mesh;
    return true;
}

static void *solo_alloc_arena(MwTransport *transport, MwDevice *device, int64_t bytes,
                              MwFault *fault)
{
    Solo *solo = (Solo *)transport;
    solo->arena_bytes = bytes;
    return solo->arena = device->table->alloc(device, bytes, fault);
}

/* Sets the result of a collective. A group of one member copies its operand; a group of several
 * gives zeros, except that an all-reduce in place leaves its buffer as it is. */
static bool exchange_part(const Solo *solo, MwDevice *device, const MwExchange *exchange,
                          MwFault *fault)
{
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

static bool solo_exchange(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                          int count, MwFault *fault)
{
    for (int i = 0; i < count; i++)
        if (!exchange_part((Solo *)transport, device, &exchanges[i], fault))
            return false;
    return true;
}

struct MwRequest {
    char *buffer;
    int64_t bytes; /* bytes of the whole buffer; 0: the message set is empty */
    bool sends;
};

static MwRequest *solo_init_request(MwTransport *transport, MwDevice *device,
                                    const MwMessageSet *set, MwFault *fault)
{
    (void)device, (void)fault;
    MwRequest *request = MW_NEW(((Solo *)transport)->scratch, MwRequest, 1);
    *request = (MwRequest){set->buffer, set->count ? mw_tensor_bytes(&set->boxes->box.global) : 0,
                           set->sends};
    return request;
}

static bool solo_connect(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                         int count, MwFault *fault)
{
    (void)transport, (void)device, (void)exchanges, (void)count, (void)fault;
    return true;
}

/* A receive zeroes the whole buffer. A send has no effect, except that a device without data
 * verifies that the buffer was written: copying it onto itself reads all of it. */
static bool solo_start(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    (void)transport;
    if (!request->bytes)
        return true;
    if (!request->sends)
        return device->table->zero(device, request->buffer, request->bytes, fault);
    return !device->is_dry_run ||
           device->table->copy(device, request->buffer, request->buffer, request->bytes, fault);
}

static bool solo_test(MwTransport *transport, MwDevice *device, MwRequest *request, bool *done,
                      MwFault *fault)
{
    (void)transport, (void)device, (void)request, (void)fault;
    *done = true;
    return true;
}

static bool solo_wait(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    (void)transport, (void)device, (void)request, (void)fault;
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

static bool solo_allgather(MwTransport *transport, const void *mine, int64_t bytes, void *all,
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
    .make_groups = solo_make_groups,
    .alloc_arena = solo_alloc_arena,
    .init_request = solo_init_request,
    .connect = solo_connect,
    .exchange = solo_exchange,
    .start = solo_start,
    .test = solo_test,
    .wait = solo_wait,
    .send = solo_send,
    .receive = solo_receive,
    .allgather = solo_allgather,
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
