/* SPDX-License-Identifier: MIT */
/* NCCL computes sums of f32 and of integers, in an order of its own, and of two numbers of any
 * type. What NCCL does not offer, would round at every rank (sums of more than two in bf16, unless
 * a run asks for that), or computes without passing on NaN (maxima of floats) is combined here, in
 * order of member: pieces of the members' blocks are sent to the member that combines them.
 *
 * Memory, allocated in alloc_arena and init_request only: STAGING_BYTES on the device if a group
 * has several members, the packed messages, and what NCCL allocates. */
#include "runtime/cuda/nccl_transport.h"

#include "runtime/cuda/combine.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_memory.h"
#include "runtime/cuda/nccl_p2p.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Size of the staging buffer on the device, in which the pieces of all members of a block are
 * combined. A larger one takes fewer rounds of sends and receives for a collective that is combined
 * here. Chosen, not measured. */
enum { STAGING_BYTES = 16 << 20 };

/* Thread blocks of the kernel of a collective: an eighth of the multiprocessors of an H100 or H200,
 * so that products beside it keep the rest; NCCL's own bound is 32 or more. More may use more of
 * the links. NCCL_MAX_CTAS sets another. Chosen, not measured. */
enum { COLLECTIVE_BLOCKS = 16 };

typedef struct {
    MwNcclComm
        comm; /* the ranks along the axis, in order of coordinate; unused in a group of one */
    int members, self;
} Group;

typedef struct {
    MwTransport base;
    MwTransport *hosts;
    MwArena *arena;
    MwNccl nccl;
    MwNcclP2p *p2p;
    const MwDevice *device;
    bool rounds_sums; /* MwTransportOptions */
    Group groups[MW_MAX_AXES];
    int axis_count;
    cudaStream_t stream; /* the device's MW_QUEUE_COMMUNICATION */
    bool is_replayed;    /* graphs were launched that may not be done */
    bool is_connecting;  /* a call waits until those before it are done */
    MwNcclMemory memory; /* the arena, and then `staging` */
    void *staging;       /* [STAGING_BYTES] on the device; NULL: every group has one member */
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
    Group *group = &nccl->groups[axis];
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
    nccl->axis_count = mesh->axis_count;
    for (int a = 0; a < MW_MAX_AXES; a++)
        good = make_group(nccl, mesh, first_rank, a, good ? fault : &later) && good;
    good = mw_nccl_agree(nccl->arena, nccl->hosts, good, fault);
    for (int a = 0; good && a < mesh->axis_count; a++)
        if (nccl->groups[a].members > 1)
            good = mw_nccl_wait_ready(&nccl->nccl, &nccl->groups[a].comm, "ncclCommInitRankConfig",
                                      fault);
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
    const char *from = nccl->staging;
    mw_cuda_combine(MW_F32, MW_COMBINE_SUM, from, 1, 1, (char *)nccl->staging + sizeof(float),
                    nccl->stream);
    return mw_nccl_cuda_check(&nccl->nccl, cudaGetLastError(), "combining", fault) &&
           CUDA(cudaStreamSynchronize, nccl->stream);
}

/* With the communicators of collectives. */
static bool register_memory(Nccl *nccl, MwFault *fault)
{
    for (int a = 0; a < nccl->axis_count; a++)
        if (nccl->groups[a].members > 1 &&
            !mw_nccl_memory_register(&nccl->nccl, &nccl->memory, &nccl->groups[a].comm, fault))
            return false;
    return true;
}

static void *nccl_alloc_arena(MwTransport *transport, MwDevice *device, int64_t bytes,
                              MwFault *fault)
{
    Nccl *nccl = (Nccl *)transport;
    bool has_collectives = false;
    nccl->stream = mw_device_cuda_stream(device, MW_QUEUE_COMMUNICATION);
    nccl->device = device;
    device->idle = nccl_idle;
    device->quiesce = nccl_quiesce;
    device->idle_context = nccl;
    for (int a = 0; a < nccl->axis_count; a++)
        has_collectives |= nccl->groups[a].members > 1;
    nccl->memory.bytes = has_collectives ? mw_slot_bytes(bytes) + STAGING_BYTES : bytes;
    if (!mw_nccl_memory_alloc(nccl->arena, nccl->hosts, device, &nccl->memory, has_collectives,
                              fault) ||
        !register_memory(nccl, fault))
        return NULL;
    if (has_collectives)
        nccl->staging = (char *)nccl->memory.at + mw_slot_bytes(bytes);
    return !has_collectives || load_combining(nccl, fault) ? nccl->memory.at : NULL;
}

/* ---- Collectives ---- */

/* True if NCCL combines as mw_combine does, up to the order of sums, or as the run asks for. NCCL
 * rounds a sum to the type of its operands at every rank but one, so of two it is rounded once. */
static bool has_operation(const Nccl *nccl, int members, MwType type, MwCombine combine,
                          ncclRedOp_t *operation)
{
    *operation = ncclMax;
    if (type == MW_BOOL)
        return true;
    switch (combine) {
    case MW_COMBINE_SUM:
        *operation = ncclSum;
        return !mw_type_is_narrow(type) ||
               (mw_type_is_half(type) && (members == 2 || nccl->rounds_sums));
    case MW_COMBINE_MAX: /* that of NCCL may lose NaN */
        return !mw_type_is_float(type);
    case MW_COMBINE_LOGSUMEXP:
        return false;
    case MW_COMBINE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

static ncclDataType_t element_type(MwType type)
{
    static const ncclDataType_t types[MW_TYPE_COUNT] = {
#define TYPE(id, name, bytes, kind, element, scalar, npy, onnx, nccl, ...) [MW_##id] = nccl,
#include "base/types.def"
    };
    return types[type];
}

static bool wait_for_calls(Nccl *nccl, int most, MwFault *fault)
{
    while (nccl->nccl.collectives.count > most)
        if (!mw_nccl_idle(&nccl->nccl, fault))
            return false;
    return true;
}

/* Waits until nothing is left on the stream, so that NCCL connects while the GPU is idle. */
static bool drain(Nccl *nccl, const Group *group, MwFault *fault)
{
    return mw_nccl_watch_call(&nccl->nccl, &nccl->nccl.collectives, &group->comm, "connecting",
                              nccl->stream, fault) &&
           wait_for_calls(nccl, 0, fault);
}

/* Waits for room in the ring of calls, and for graphs that were launched, unless this call is for a
 * graph too. */
static bool wait_for_room(Nccl *nccl, const Group *group, MwFault *fault)
{
    const bool follows_graph = nccl->is_replayed && !nccl->device->is_capturing;
    if (nccl->is_connecting)
        return drain(nccl, group, fault);
    if (!wait_for_calls(nccl, follows_graph ? 0 : MW_NCCL_MOST_CALLS - 1, fault))
        return false;
    nccl->is_replayed = nccl->is_replayed && !follows_graph;
    return true;
}

/* Every call on the stream is preceded by begin_call and followed by end_call. */
static bool begin_call(Nccl *nccl, const Group *group, MwFault *fault)
{
    if (!wait_for_room(nccl, group, fault))
        return false;
    while (nccl->nccl.is_calling)
        if (!mw_nccl_idle(&nccl->nccl, fault))
            return false;
    return nccl->nccl.is_calling = true;
}

/* A captured call is watched when it is replayed. */
static bool end_call(Nccl *nccl, const Group *group, const char *call, MwFault *fault)
{
    if (!mw_nccl_wait_ready(&nccl->nccl, &group->comm, call, fault))
        return false;
    nccl->nccl.is_calling = false;
    return nccl->device->is_capturing ||
           mw_nccl_watch_call(&nccl->nccl, &nccl->nccl.collectives, &group->comm, call,
                              nccl->stream, fault);
}

/* Watches one call for each group, which stands for all collectives of the group in the step. */
static bool nccl_replayed(MwTransport *transport, MwDevice *device, MwFault *fault)
{
    Nccl *nccl = (Nccl *)transport;
    nccl->is_replayed = true;
    for (int a = 0; a < nccl->axis_count; a++)
        if (nccl->groups[a].members > 1 &&
            (!wait_for_calls(nccl, MW_NCCL_MOST_CALLS - 1, fault) ||
             !mw_nccl_watch_call(&nccl->nccl, &nccl->nccl.collectives, &nccl->groups[a].comm,
                                 "a step with collectives",
                                 mw_device_cuda_stream(device, MW_QUEUE_COMPUTE), fault)))
            return false;
    return true;
}

/* The data that is sent to and received from one member, with sizes in bytes; 0: none. */
typedef struct {
    const void *from;
    void *to;
    int64_t sent, received;
} Pair;

static bool call_pair(Nccl *nccl, const Group *group, int member, Pair pair, MwFault *fault)
{
    ncclComm_t comm = group->comm.comm;
    return (!pair.sent || CALL(group, ncclSend, pair.from, (size_t)pair.sent, ncclUint8, member,
                               comm, nccl->stream)) &&
           (!pair.received || CALL(group, ncclRecv, pair.to, (size_t)pair.received, ncclUint8,
                                   member, comm, nccl->stream));
}

/* Returns the data that this member exchanges with member `m`. */
typedef Pair PairOf(const void *context, int m);

/* Exchanges data with all members at once. */
static bool call_pairs(Nccl *nccl, const Group *group, PairOf *pair, const void *context,
                       MwFault *fault)
{
    bool good = begin_call(nccl, group, fault) && CALL(group, ncclGroupStart);
    for (int m = 0; good && m < group->members; m++)
        good = call_pair(nccl, group, m, pair(context, m), fault);
    return good && CALL(group, ncclGroupEnd) && end_call(nccl, group, "ncclSend/ncclRecv", fault);
}

/* Elements [begin, begin + count) of every member's block of the source. Blocks are `block`
 * elements apart; the last one may be short. */
typedef struct {
    const MwExchange *exchange;
    int self;
    int64_t block, begin, count;
    char *to; /* the received pieces of this member's block, in order of member */
} Piece;

static int64_t piece_count(const Piece *piece, int member)
{
    const int64_t at = member * piece->block + piece->begin;
    const int64_t left = mw_min((member + 1) * piece->block, piece->exchange->count) - at;
    return mw_max(0, mw_min(piece->count, left));
}

static Pair scatter_pair(const void *context, int m)
{
    const Piece *piece = context;
    const int64_t bytes = mw_type_bytes(piece->exchange->type);
    const int64_t own = piece_count(piece, piece->self);
    return (Pair){.from = (const char *)piece->exchange->source +
                          (m * piece->block + piece->begin) * bytes,
                  .sent = piece_count(piece, m) * bytes,
                  .to = piece->to + m * own * bytes,
                  .received = own * bytes};
}

/* Computes this member's block of the combined sources, piece by piece. */
static bool reduce_block(Nccl *nccl, const Group *group, const MwExchange *exchange, int64_t block,
                         char *to, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(exchange->type);
    const int64_t most = mw_max(1, STAGING_BYTES / (group->members * bytes));
    for (int64_t begin = 0; begin < block; begin += most) {
        const Piece piece = {exchange,     group->self, block, begin, mw_min(most, block - begin),
                             nccl->staging};
        if (!call_pairs(nccl, group, scatter_pair, &piece, fault))
            return false;
        mw_cuda_combine(exchange->type, exchange->combine, nccl->staging, group->members,
                        piece_count(&piece, group->self), to + begin * bytes, nccl->stream);
        if (!mw_nccl_cuda_check(&nccl->nccl, cudaGetLastError(), "combining", fault))
            return false;
    }
    return true;
}

/* Exchanges blocks with member `m`: sends this member's block, and receives the other at its place
 * in `to`. */
static Pair gather_pair(const void *context, int m)
{
    const Piece *piece = context;
    const int64_t bytes = mw_type_bytes(piece->exchange->type);
    if (m == piece->self)
        return (Pair){0};
    return (Pair){.from = piece->to + piece->self * piece->block * bytes,
                  .sent = piece_count(piece, piece->self) * bytes,
                  .to = piece->to + m * piece->block * bytes,
                  .received = piece_count(piece, m) * bytes};
}

/* Performs an all-reduce. Source and destination may be one buffer: a member overwrites its own
 * block of the source when no other member needs it any more. */
static bool combine_all(Nccl *nccl, const Group *group, const MwExchange *exchange, MwFault *fault)
{
    const int64_t block = mw_ceil_div(exchange->count, group->members);
    const int64_t begin = mw_min(exchange->count, group->self * block);
    const Piece whole = {exchange, group->self, block, 0, block, exchange->destination};
    return reduce_block(nccl, group, exchange, block,
                        (char *)exchange->destination + begin * mw_type_bytes(exchange->type),
                        fault) &&
           call_pairs(nccl, group, gather_pair, &whole, fault);
}

static Pair block_pair(const void *context, int m)
{
    const Piece *piece = context;
    const int64_t bytes = piece->block * mw_type_bytes(piece->exchange->type);
    return (Pair){.from = (const char *)piece->exchange->source + m * bytes,
                  .sent = bytes,
                  .to = piece->to + m * bytes,
                  .received = bytes};
}

static bool all_to_all(Nccl *nccl, const Group *group, const MwExchange *exchange, MwFault *fault)
{
    const Piece blocks = {.exchange = exchange,
                          .self = group->self,
                          .block = exchange->count / group->members,
                          .to = exchange->destination};
    return call_pairs(nccl, group, block_pair, &blocks, fault);
}

/* A shift by one member of the group. */
typedef struct {
    const MwExchange *exchange;
    const Group *group;
} Shift;

/* Receives the source of the member that is so many places behind this one, and sends its own. */
static Pair shift_pair(const void *context, int m)
{
    const Shift *shift = context;
    const int self = shift->group->self, members = shift->group->members;
    const int places = mw_collective_info(shift->exchange->kind)->shift;
    const int64_t bytes = shift->exchange->count * mw_type_bytes(shift->exchange->type);
    return (Pair){.from = shift->exchange->source,
                  .sent = mw_ring_member(members, m, places) == self ? bytes : 0,
                  .to = shift->exchange->destination,
                  .received = mw_ring_member(members, self, places) == m ? bytes : 0};
}

/* ---- Collectives of NCCL's own ---- */

/* Whether NCCL does the collective itself, in one call. */
static bool is_native(const Nccl *nccl, const Group *group, const MwExchange *exchange)
{
    ncclRedOp_t operation;
    return exchange->kind == MW_ALL_GATHER ||
           ((exchange->kind == MW_ALL_REDUCE || exchange->kind == MW_REDUCE_SCATTER) &&
            has_operation(nccl, group->members, exchange->type, exchange->combine, &operation));
}

static bool call_native(Nccl *nccl, const Group *group, const MwExchange *exchange, MwFault *fault)
{
    const ncclDataType_t type = element_type(exchange->type);
    const size_t count = (size_t)exchange->count;
    ncclComm_t comm = group->comm.comm;
    ncclRedOp_t operation = ncclSum;
    if (exchange->kind == MW_ALL_GATHER)
        return CALL(group, ncclAllGather, exchange->source, exchange->destination, count, type,
                    comm, nccl->stream);
    MW_ASSERT(has_operation(nccl, group->members, exchange->type, exchange->combine, &operation));
    return exchange->kind == MW_ALL_REDUCE
               ? CALL(group, ncclAllReduce, exchange->source, exchange->destination, count, type,
                      operation, comm, nccl->stream)
               : CALL(group, ncclReduceScatter, exchange->source, exchange->destination,
                      count / (size_t)group->members, type, operation, comm, nccl->stream);
}

static const char *call_name(MwCollective kind)
{
    return kind == MW_ALL_GATHER   ? "ncclAllGather"
           : kind == MW_ALL_REDUCE ? "ncclAllReduce"
                                   : "ncclReduceScatter";
}

/* Collectives that are done together are one call of NCCL's: one launch, which waits for the other
 * ranks once. */
static bool exchange_native(Nccl *nccl, const Group *group, const MwExchange *exchanges, int count,
                            MwFault *fault)
{
    bool good = begin_call(nccl, group, fault) && (count == 1 || CALL(group, ncclGroupStart));
    for (int i = 0; i < count && good; i++)
        good = call_native(nccl, group, &exchanges[i], fault);
    return good && (count == 1 || CALL(group, ncclGroupEnd)) &&
           end_call(nccl, group, call_name(exchanges->kind), fault);
}

/* A collective that is made of messages and kernels. */
static bool exchange_composed(Nccl *nccl, const Group *group, const MwExchange *exchange,
                              MwFault *fault)
{
    switch (exchange->kind) {
    case MW_ALL_REDUCE:
        return combine_all(nccl, group, exchange, fault);
    case MW_REDUCE_SCATTER:
        return reduce_block(nccl, group, exchange, exchange->count / group->members,
                            exchange->destination, fault);
    case MW_ALL_TO_ALL:
        return all_to_all(nccl, group, exchange, fault);
    case MW_RING_SHIFT:
    case MW_RING_SHIFT_BACK:
        return call_pairs(nccl, group, shift_pair, &(Shift){exchange, group}, fault);
    case MW_ALL_GATHER:
    case MW_COLLECTIVE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

static bool nccl_exchange(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                          int count, MwFault *fault)
{
    Nccl *nccl = (Nccl *)transport;
    const Group *group = &nccl->groups[exchanges->axis];
    bool good = true;
    if (group->members == 1)
        return nccl->hosts->table->exchange(nccl->hosts, device, exchanges, count, fault);
    if (is_native(nccl, group, exchanges))
        return exchange_native(nccl, group, exchanges, count, fault);
    for (int i = 0; i < count && good; i++)
        good = exchange_composed(nccl, group, &exchanges[i], fault);
    return good;
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
    return CUDA(cudaMemsetAsync, (void *)(uintptr_t)exchange->source, 0, bytes, nccl->stream) &&
           nccl_exchange(&nccl->base, device, exchange, 1, fault) &&
           drain(nccl, &nccl->groups[exchange->axis], fault);
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
    nccl->is_connecting = true;
    for (int i = 0; good && i < count; i++)
        good = exchange_first(nccl, device, &exchanges[i], fault);
    nccl->is_connecting = false;
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
    nccl->rounds_sums = options->rounds_sums;
    nccl->nccl.progress = progress_messages;
    nccl->nccl.context = nccl;
    const double timeout_s = options->timeout_s + TURN_S * (double)mw_min(hosts->rank, LAST_TURN);
    if (CUDA(cudaGetDevice, &gpu) && mw_nccl_init(&nccl->nccl, gpu, timeout_s, fault))
        nccl->p2p = mw_nccl_p2p_new(arena, &nccl->nccl, hosts, fault);
    if (nccl->p2p)
        return &nccl->base;
    mw_nccl_end(&nccl->nccl, true);
    return NULL;
}
