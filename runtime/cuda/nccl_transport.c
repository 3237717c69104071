/* SPDX-License-Identifier: MIT */
/* Memory, allocated in alloc_arena and init_request only: the staging of collectives on the device
 * if a group has several members, the packed messages, and what NCCL allocates. */
#include "runtime/cuda/nccl_transport.h"

#include "runtime/cuda/combine.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_collectives.h"
#include "runtime/cuda/nccl_memory.h"
#include "runtime/cuda/nccl_p2p.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Thread blocks of the kernel of a collective: an eighth of the multiprocessors of an H100 or H200,
 * so that products beside it keep the rest; NCCL's own bound is 32 or more. More may use more of
 * the links. NCCL_MAX_CTAS sets another. Chosen, not measured. */
enum { COLLECTIVE_BLOCKS = 16 };

typedef struct {
    MwTransport base;
    MwTransport *hosts;
    MwArena *arena;
    MwNccl nccl;
    MwNcclP2p *p2p;
    MwNcclCollectives collectives; /* on the device's MW_QUEUE_COMMUNICATION */
    MwNcclMemory memory;           /* the arena, and then the staging of collectives */
} Nccl;

#define CALL(group, name, ...) MW_NCCL_CALL(&nccl->nccl, &(group)->comm, name, __VA_ARGS__)
#define CUDA(name, ...) MW_NCCL_CUDA(&nccl->nccl, name, __VA_ARGS__)

/* ---- Groups ---- */

/* Collective over all ranks for every axis, whether their mesh has it or not. The member with
 * coordinate 0 creates the id. */
static bool make_group(Nccl *nccl, const MwMeshShape *mesh, int first_rank, int axis,
                       MwFault *fault)
{
    MwNcclRootId *roots = MW_NEW(nccl->arena, MwNcclRootId, nccl->base.size);
    MwNcclGroup *group = &nccl->collectives.groups[axis];
    MwNcclRootId own = {0};
    int coordinate[MW_MAX_AXES], stride = 1;
    mw_mesh_coordinates(mesh, nccl->base.rank - first_rank, coordinate);
    group->members = axis < mesh->axis_count ? mesh->size[axis] : 1;
    group->self = axis < mesh->axis_count ? coordinate[axis] : 0;
    for (int a = axis + 1; a < mesh->axis_count; a++)
        stride *= mesh->size[a];
    snprintf(group->comm.label, sizeof group->comm.label, "along axis %d", axis);
    if (group->members > 1 && group->self == 0)
        own = mw_nccl_root_id(&nccl->nccl, &group->comm);
    if (!nccl->hosts->table->allgather(nccl->hosts, &own, sizeof own, roots, fault))
        return false;
    if (group->members == 1)
        return true;
    const MwNcclRootId *root = &roots[nccl->base.rank - group->self * stride];
    const MwNcclMembership membership = {
        .id = root->id,
        .members = group->members,
        .self = group->self,
        .most_blocks = COLLECTIVE_BLOCKS,
    };
    *fault = root->fault;
    return !root->failed &&
           mw_nccl_comm_begin(&nccl->nccl, nccl->arena, &group->comm, &membership, fault);
}

static bool nccl_make_groups(MwTransport *transport, const MwMeshShape *mesh, int first_rank,
                             MwFault *fault)
{
    Nccl *nccl = (Nccl *)transport;
    MwFault later; /* a fault after the first one */
    bool good = nccl->hosts->table->make_groups(nccl->hosts, mesh, first_rank, fault);
    nccl->collectives.axis_count = mesh->axis_count;
    for (int a = 0; a < MW_MAX_AXES; a++)
        good = make_group(nccl, mesh, first_rank, a, good ? fault : &later) && good;
    good = mw_nccl_agree(nccl->arena, nccl->hosts, good, fault);
    for (int a = 0; good && a < mesh->axis_count; a++)
        if (nccl->collectives.groups[a].members > 1)
            good = mw_nccl_wait_ready(&nccl->nccl, &nccl->collectives.groups[a].comm,
                                      "ncclCommInitRankConfig", fault);
    return good;
}

static bool nccl_idle(void *context, MwFault *fault)
{
    return mw_nccl_idle(&((Nccl *)context)->nccl, fault);
}

/* Waits until no call is in flight. A call whose communicator is not ready is in flight too: NCCL
 * may be working on it in a thread of its own. */
static bool nccl_quiesce(void *context, MwFault *fault)
{
    Nccl *nccl = context;
    while (nccl->nccl.collectives.count + nccl->nccl.messages.count > 0 || nccl->nccl.is_calling)
        if (!mw_nccl_idle(&nccl->nccl, fault))
            return false;
    return true;
}

/* Launches the combining kernel once, so that its code is loaded while nothing waits for other
 * ranks. */
static bool load_combining(Nccl *nccl, MwFault *fault)
{
    const char *from = nccl->collectives.staging;
    mw_cuda_combine(MW_F32, MW_COMBINE_SUM, from, 1, 1,
                    (char *)nccl->collectives.staging + sizeof(float), nccl->collectives.stream);
    return mw_nccl_cuda_check(&nccl->nccl, cudaGetLastError(), "combining", fault) &&
           CUDA(cudaStreamSynchronize, nccl->collectives.stream);
}

/* With the communicators of collectives. */
static bool register_memory(Nccl *nccl, MwFault *fault)
{
    for (int a = 0; a < nccl->collectives.axis_count; a++)
        if (nccl->collectives.groups[a].members > 1 &&
            !mw_nccl_memory_register(&nccl->nccl, &nccl->memory, &nccl->collectives.groups[a].comm,
                                     fault))
            return false;
    return true;
}

static void *nccl_alloc_arena(MwTransport *transport, MwDevice *device, int64_t bytes,
                              MwFault *fault)
{
    Nccl *nccl = (Nccl *)transport;
    bool has_collectives = false;
    nccl->collectives.stream = mw_device_cuda_stream(device, MW_QUEUE_COMMUNICATION);
    nccl->collectives.device = device;
    device->idle = nccl_idle;
    device->quiesce = nccl_quiesce;
    device->idle_context = nccl;
    for (int a = 0; a < nccl->collectives.axis_count; a++)
        has_collectives |= nccl->collectives.groups[a].members > 1;
    nccl->memory.bytes = has_collectives ? mw_slot_bytes(bytes) + MW_NCCL_STAGING_BYTES : bytes;
    if (!mw_nccl_memory_alloc(nccl->arena, nccl->hosts, device, &nccl->memory, has_collectives,
                              fault) ||
        !register_memory(nccl, fault))
        return NULL;
    if (has_collectives)
        nccl->collectives.staging = (char *)nccl->memory.at + mw_slot_bytes(bytes);
    return !has_collectives || load_combining(nccl, fault) ? nccl->memory.at : NULL;
}

/* ---- Collectives ---- */

static bool nccl_exchange(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                          int count, MwFault *fault)
{
    Nccl *nccl = (Nccl *)transport;
    return nccl->collectives.groups[exchanges->axis].members == 1
               ? nccl->hosts->table->exchange(nccl->hosts, device, exchanges, count, fault)
               : mw_nccl_exchange(&nccl->collectives, exchanges, count, fault);
}

static bool nccl_replayed(MwTransport *transport, MwDevice *device, MwFault *fault)
{
    return mw_nccl_replayed(&((Nccl *)transport)->collectives,
                            mw_device_cuda_stream(device, MW_QUEUE_COMPUTE), fault);
}

/* ---- Messages between devices ---- */

static MwRequest *nccl_init_request(MwTransport *transport, MwDevice *device,
                                    const MwMessageSet *set, MwFault *fault)
{
    return mw_nccl_p2p_request_new(((Nccl *)transport)->p2p,
                                   mw_device_cuda_stream(device, MW_QUEUE_COMPUTE), set, fault);
}

static bool exchange_first(Nccl *nccl, MwDevice *device, const MwExchange *exchange, MwFault *fault)
{
    const size_t bytes = (size_t)(exchange->count * mw_type_bytes(exchange->type));
    return CUDA(cudaMemsetAsync, (void *)(uintptr_t)exchange->source, 0, bytes,
                nccl->collectives.stream) &&
           nccl_exchange(&nccl->base, device, exchange, 1, fault) &&
           mw_nccl_drain(&nccl->collectives, &nccl->collectives.groups[exchange->axis], fault);
}

/* NCCL connects ranks at the first call that takes a connection, which depends on collective, type
 * and size: so each is done once, one after another. */
static bool nccl_connect(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                         int count, MwFault *fault)
{
    Nccl *nccl = (Nccl *)transport;
    if (!mw_nccl_p2p_connect(nccl->p2p, fault))
        return false;
    bool good = device->table->synchronize(device, fault);
    nccl->collectives.is_connecting = true;
    for (int i = 0; good && i < count; i++)
        good = exchange_first(nccl, device, &exchanges[i], fault);
    nccl->collectives.is_connecting = false;
    good = good && mw_nccl_p2p_send_first(nccl->p2p, fault);
    fault->is_alone = !good;
    nccl->hosts->idle = good ? nccl_idle : NULL; /* before, hosts agree on what has failed */
    nccl->hosts->idle_context = nccl;
    return good;
}

static bool nccl_start(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    (void)device;
    return mw_nccl_p2p_start(((Nccl *)transport)->p2p, request, fault);
}

static bool nccl_test(MwTransport *transport, MwDevice *device, MwRequest *request, bool *done,
                      MwFault *fault)
{
    (void)device;
    return mw_nccl_p2p_test(((Nccl *)transport)->p2p, request, done, fault);
}

static bool nccl_wait(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    (void)device;
    return mw_nccl_p2p_wait(((Nccl *)transport)->p2p, request, fault);
}

/* ---- Hosts ---- */

static bool nccl_send(MwTransport *transport, int peer, const void *data, int64_t bytes,
                      MwFault *fault)
{
    MwTransport *hosts = ((Nccl *)transport)->hosts;
    return hosts->table->send(hosts, peer, data, bytes, fault);
}

static bool nccl_receive(MwTransport *transport, int peer, void *data, int64_t bytes,
                         MwFault *fault)
{
    MwTransport *hosts = ((Nccl *)transport)->hosts;
    return hosts->table->receive(hosts, peer, data, bytes, fault);
}

static bool nccl_allgather(MwTransport *transport, const void *mine, int64_t bytes, void *all,
                           MwFault *fault)
{
    MwTransport *hosts = ((Nccl *)transport)->hosts;
    return hosts->table->allgather(hosts, mine, bytes, all, fault);
}

static bool nccl_barrier(MwTransport *transport, MwFault *fault)
{
    MwTransport *hosts = ((Nccl *)transport)->hosts;
    return hosts->table->barrier(hosts, fault);
}

static void nccl_expect_end(MwTransport *transport, const MwFault *fault)
{
    MwTransport *hosts = ((Nccl *)transport)->hosts;
    hosts->table->expect_end(hosts, fault);
}

static MW_NORETURN void nccl_abort(MwTransport *transport, int status)
{
    MwTransport *hosts = ((Nccl *)transport)->hosts;
    hosts->table->abort(hosts, status);
}

/* ---- Creation and destruction ---- */

/* True if NCCL has failed on any rank: the ranks finalize their communicators together, or abort
 * them together. */
static bool any_failed(Nccl *nccl)
{
    MwFault ignored;
    const char own = nccl->nccl.failed;
    char *all = MW_NEW(nccl->arena, char, nccl->base.size);
    return !nccl->hosts->table->allgather(nccl->hosts, &own, 1, all, &ignored) ||
           memchr(all, true, (size_t)nccl->base.size);
}

static void nccl_destroy(MwTransport *transport, MwDevice *device)
{
    Nccl *nccl = (Nccl *)transport;
    nccl->hosts->idle = NULL;
    if (device) {
        device->idle = device->quiesce = NULL;
        device->table->drop_capture(device); /* it refers to the communicators */
    }
    const bool aborts = any_failed(nccl);
    if (!aborts)
        mw_nccl_memory_deregister(&nccl->nccl, &nccl->memory);
    mw_nccl_end(&nccl->nccl, aborts);
    mw_nccl_p2p_free(&nccl->p2p);
    mw_nccl_memory_free(&nccl->memory, device);
    mw_transport_free(&nccl->hosts, device);
}

static const MwTransportTable nccl_table = {
    .name = "nccl",
    .make_groups = nccl_make_groups,
    .alloc_arena = nccl_alloc_arena,
    .exchange = nccl_exchange,
    .replayed = nccl_replayed,
    .init_request = nccl_init_request,
    .connect = nccl_connect,
    .start = nccl_start,
    .test = nccl_test,
    .wait = nccl_wait,
    .send = nccl_send,
    .receive = nccl_receive,
    .allgather = nccl_allgather,
    .barrier = nccl_barrier,
    .expect_end = nccl_expect_end,
    .abort = nccl_abort,
    .destroy = nccl_destroy,
};

static bool progress_messages(void *context, MwFault *fault)
{
    return mw_nccl_p2p_progress(((Nccl *)context)->p2p, fault);
}

/* Ranks that wait for each other time out one after another, by rank, so that the lowest can report
 * the fault and end the others first. A turn is longer than that takes; ranks beyond the last turn
 * share it. Chosen, not measured. */
static const double TURN_S = 3;
enum { LAST_TURN = 8 };

MwTransport *mw_transport_nccl_new(MwArena *arena, MwTransport *hosts,
                                   const MwTransportOptions *options, MwFault *fault)
{
    Nccl *nccl = MW_NEW(arena, Nccl, 1);
    int gpu = 0;
    nccl->base = (MwTransport){.table = &nccl_table,
                               .rank = hosts->rank,
                               .size = hosts->size,
                               .queue = MW_QUEUE_COMMUNICATION,
                               .is_queued = true};
    nccl->hosts = hosts;
    nccl->arena = arena;
    nccl->collectives.nccl = &nccl->nccl;
    nccl->collectives.rounds_sums = options->rounds_sums;
    nccl->nccl.progress = progress_messages;
    nccl->nccl.context = nccl;
    const double timeout_s = options->timeout_s + TURN_S * (double)mw_min(hosts->rank, LAST_TURN);
    if (CUDA(cudaGetDevice, &gpu) &&
        mw_nccl_init(&nccl->nccl, gpu, timeout_s, options->mixes_graphs, fault))
        nccl->p2p = mw_nccl_p2p_new(arena, &nccl->nccl, hosts, fault);
    if (nccl->p2p)
        return &nccl->base;
    mw_nccl_end(&nccl->nccl, true);
    return NULL;
}
