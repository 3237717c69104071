/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/nccl_collectives.h"

#include "runtime/cuda/combine.h"

#define CALL(group, name, ...) MW_NCCL_CALL(c->nccl, &(group)->comm, name, __VA_ARGS__)

/* ---- What NCCL does ---- */

/* True if NCCL combines as mw_combine does, up to the order of sums, or as the run asks for. NCCL
 * rounds a sum to the type of its operands at every rank but one, so of two it is rounded once. */
static bool has_operation(const MwNcclCollectives *c, int members, MwType type, MwCombine combine,
                          ncclRedOp_t *operation)
{
    *operation = ncclMax;
    if (type == MW_BOOL)
        return true;
    switch (combine) {
    case MW_COMBINE_SUM:
        *operation = ncclSum;
        return !mw_type_is_narrow(type) ||
               (mw_type_is_half(type) && (members == 2 || c->rounds_sums));
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

static bool wait_for_calls(MwNcclCollectives *c, int most, MwFault *fault)
{
    while (c->nccl->collectives.count > most)
        if (!mw_nccl_idle(c->nccl, fault))
            return false;
    return true;
}

/* Waits until nothing is left on the stream, so that NCCL connects while the GPU is idle. */
bool mw_nccl_drain(MwNcclCollectives *c, const MwNcclGroup *group, MwFault *fault)
{
    return mw_nccl_watch_call(c->nccl, &c->nccl->collectives, &group->comm, "connecting", c->stream,
                              fault) &&
           wait_for_calls(c, 0, fault);
}

/* Waits for room in the ring of calls, and for graphs that were launched, unless NCCL may be called
 * beside them or this call is for a graph too. */
static bool wait_for_room(MwNcclCollectives *c, const MwNcclGroup *group, MwFault *fault)
{
    const bool follows_graph = c->is_replayed && !c->nccl->mixes && !c->device->is_capturing;
    if (c->is_connecting)
        return mw_nccl_drain(c, group, fault);
    if (!wait_for_calls(c, follows_graph ? 0 : MW_NCCL_MOST_CALLS - 1, fault))
        return false;
    c->is_replayed = c->is_replayed && !follows_graph;
    return true;
}

/* Every call on the stream is preceded by begin_call and followed by end_call. */
static bool begin_call(MwNcclCollectives *c, const MwNcclGroup *group, MwFault *fault)
{
    if (!wait_for_room(c, group, fault))
        return false;
    while (c->nccl->is_calling)
        if (!mw_nccl_idle(c->nccl, fault))
            return false;
    return c->nccl->is_calling = true;
}

/* A captured call is watched when it is replayed. */
static bool end_call(MwNcclCollectives *c, const MwNcclGroup *group, const char *call,
                     MwFault *fault)
{
    if (!mw_nccl_wait_ready(c->nccl, &group->comm, call, fault))
        return false;
    c->nccl->is_calling = false;
    return c->device->is_capturing ||
           mw_nccl_watch_call(c->nccl, &c->nccl->collectives, &group->comm, call, c->stream, fault);
}

bool mw_nccl_replayed(MwNcclCollectives *c, cudaStream_t stream, MwFault *fault)
{
    c->is_replayed = true;
    for (int a = 0; a < c->axis_count; a++)
        if (c->groups[a].members > 1 &&
            (!wait_for_calls(c, MW_NCCL_MOST_CALLS - 1, fault) ||
             !mw_nccl_watch_call(c->nccl, &c->nccl->collectives, &c->groups[a].comm,
                                 "a graph with collectives", stream, fault)))
            return false;
    return true;
}

/* The data that is sent to and received from one member, with sizes in bytes; 0: none. */
typedef struct {
    const void *from;
    void *to;
    int64_t sent, received;
} Pair;

static bool call_pair(MwNcclCollectives *c, const MwNcclGroup *group, int member, Pair pair,
                      MwFault *fault)
{
    ncclComm_t comm = group->comm.comm;
    return (!pair.sent || CALL(group, ncclSend, pair.from, (size_t)pair.sent, ncclUint8, member,
                               comm, c->stream)) &&
           (!pair.received || CALL(group, ncclRecv, pair.to, (size_t)pair.received, ncclUint8,
                                   member, comm, c->stream));
}

/* Returns the data that this member exchanges with member `m`. */
typedef Pair PairOf(const void *context, int m);

/* Exchanges data with all members at once. */
static bool call_pairs(MwNcclCollectives *c, const MwNcclGroup *group, PairOf *pair,
                       const void *context, MwFault *fault)
{
    bool good = begin_call(c, group, fault) && CALL(group, ncclGroupStart);
    for (int m = 0; good && m < group->members; m++)
        good = call_pair(c, group, m, pair(context, m), fault);
    return good && CALL(group, ncclGroupEnd) && end_call(c, group, "ncclSend/ncclRecv", fault);
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
static bool reduce_block(MwNcclCollectives *c, const MwNcclGroup *group, const MwExchange *exchange,
                         int64_t block, char *to, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(exchange->type);
    const int64_t most = mw_max(1, MW_NCCL_STAGING_BYTES / (group->members * bytes));
    for (int64_t begin = 0; begin < block; begin += most) {
        const Piece piece = {exchange,  group->self, block, begin, mw_min(most, block - begin),
                             c->staging};
        if (!call_pairs(c, group, scatter_pair, &piece, fault))
            return false;
        mw_cuda_combine(exchange->type, exchange->combine, c->staging, group->members,
                        piece_count(&piece, group->self), to + begin * bytes, c->stream);
        if (!mw_nccl_cuda_check(c->nccl, cudaGetLastError(), "combining", fault))
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
static bool combine_all(MwNcclCollectives *c, const MwNcclGroup *group, const MwExchange *exchange,
                        MwFault *fault)
{
    const int64_t block = mw_ceil_div(exchange->count, group->members);
    const int64_t begin = mw_min(exchange->count, group->self * block);
    const Piece whole = {exchange, group->self, block, 0, block, exchange->destination};
    return reduce_block(c, group, exchange, block,
                        (char *)exchange->destination + begin * mw_type_bytes(exchange->type),
                        fault) &&
           call_pairs(c, group, gather_pair, &whole, fault);
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

static bool all_to_all(MwNcclCollectives *c, const MwNcclGroup *group, const MwExchange *exchange,
                       MwFault *fault)
{
    const Piece blocks = {.exchange = exchange,
                          .self = group->self,
                          .block = exchange->count / group->members,
                          .to = exchange->destination};
    return call_pairs(c, group, block_pair, &blocks, fault);
}

/* An exchange with one other member of the group. */
typedef struct {
    const MwExchange *exchange;
    const MwNcclGroup *group;
} PeerExchange;

/* Receives the source of one member, and sends its own to one. */
static Pair peer_pair(const void *context, int m)
{
    const PeerExchange *peers = context;
    const MwExchange *exchange = peers->exchange;
    const int self = peers->group->self, members = peers->group->members;
    const int64_t bytes = exchange->count * mw_type_bytes(exchange->type);
    return (Pair){.from = exchange->source,
                  .sent = mw_collective_taker(exchange->kind, members, self) == m ? bytes : 0,
                  .to = exchange->destination,
                  .received = mw_collective_giver(exchange->kind, members, self) == m ? bytes : 0};
}

/* ---- Collectives of NCCL's own ---- */

/* Whether NCCL does the collective itself, in one call. */
static bool is_native(const MwNcclCollectives *c, const MwNcclGroup *group,
                      const MwExchange *exchange)
{
    ncclRedOp_t operation;
    return exchange->kind == MW_ALL_GATHER ||
           ((exchange->kind == MW_ALL_REDUCE || exchange->kind == MW_REDUCE_SCATTER) &&
            has_operation(c, group->members, exchange->type, exchange->combine, &operation));
}

static bool call_native(MwNcclCollectives *c, const MwNcclGroup *group, const MwExchange *exchange,
                        MwFault *fault)
{
    const ncclDataType_t type = element_type(exchange->type);
    const size_t count = (size_t)exchange->count;
    ncclComm_t comm = group->comm.comm;
    ncclRedOp_t operation = ncclSum;
    if (exchange->kind == MW_ALL_GATHER)
        return CALL(group, ncclAllGather, exchange->source, exchange->destination, count, type,
                    comm, c->stream);
    MW_ASSERT(has_operation(c, group->members, exchange->type, exchange->combine, &operation));
    return exchange->kind == MW_ALL_REDUCE
               ? CALL(group, ncclAllReduce, exchange->source, exchange->destination, count, type,
                      operation, comm, c->stream)
               : CALL(group, ncclReduceScatter, exchange->source, exchange->destination,
                      count / (size_t)group->members, type, operation, comm, c->stream);
}

static const char *call_name(MwCollective kind)
{
    return kind == MW_ALL_GATHER   ? "ncclAllGather"
           : kind == MW_ALL_REDUCE ? "ncclAllReduce"
                                   : "ncclReduceScatter";
}

/* Collectives that are done together are one call of NCCL's: one launch, which waits for the other
 * ranks once. */
static bool exchange_native(MwNcclCollectives *c, const MwNcclGroup *group,
                            const MwExchange *exchanges, int count, MwFault *fault)
{
    bool good = begin_call(c, group, fault) && (count == 1 || CALL(group, ncclGroupStart));
    for (int i = 0; i < count && good; i++)
        good = call_native(c, group, &exchanges[i], fault);
    return good && (count == 1 || CALL(group, ncclGroupEnd)) &&
           end_call(c, group, call_name(exchanges->kind), fault);
}

/* A collective that is made of messages and kernels. */
static bool exchange_composed(MwNcclCollectives *c, const MwNcclGroup *group,
                              const MwExchange *exchange, MwFault *fault)
{
    switch (exchange->kind) {
    case MW_ALL_REDUCE:
        return combine_all(c, group, exchange, fault);
    case MW_REDUCE_SCATTER:
        return reduce_block(c, group, exchange, exchange->count / group->members,
                            exchange->destination, fault);
    case MW_ALL_TO_ALL:
        return all_to_all(c, group, exchange, fault);
    case MW_RING_SHIFT:
    case MW_RING_SHIFT_BACK:
    case MW_MIRROR:
        return call_pairs(c, group, peer_pair, &(PeerExchange){exchange, group}, fault);
    case MW_ALL_GATHER:
    case MW_COLLECTIVE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

bool mw_nccl_exchange(MwNcclCollectives *c, const MwExchange *exchanges, int count, MwFault *fault)
{
    const MwNcclGroup *group = &c->groups[exchanges->axis];
    bool good = true;
    if (is_native(c, group, exchanges))
        return exchange_native(c, group, exchanges, count, fault);
    for (int i = 0; i < count && good; i++)
        good = exchange_composed(c, group, &exchanges[i], fault);
    return good;
}
