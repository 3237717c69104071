/* SPDX-License-Identifier: MIT */
/* A group whose ranks are all on one machine communicates through shared memory (shared.h). Other
 * groups send messages and combine them in the same order, so that both ways give the same bits.
 * Where the memory of the device is not the host's, a collective is done piece by piece in buffers
 * on the host.
 *
 * Memory, allocated in make_groups, alloc_arena and init_request only: the communicators, the
 * arena, STAGING_BYTES for incoming messages if a group spans machines, 2 STAGING_BYTES for a
 * device whose memory is not the host's, and the host copies of requests.h. */
#include "runtime/mpi/transport.h"

#include "base/clock.h"
#include "base/vec.h"
#include "runtime/mpi/all_reduce.h"
#include "runtime/mpi/elements.h"
#include "runtime/mpi/error.h"
#include "runtime/mpi/host.h"
#include "runtime/mpi/requests.h"
#include "runtime/mpi/shared.h"
#include "runtime/mpi/tags.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Size of the staging buffers. A larger one takes fewer messages per collective, of which each
 * costs a latency for every member; a smaller one stays in the cache. 4 MiB carry a megabyte
 * between four members, which takes MPI some 100 us where a latency is 1 us. Chosen, not
 * measured. */
enum { STAGING_BYTES = 4 << 20 };

typedef struct {
    MPI_Comm comm; /* the ranks along the axis, in order of coordinate */
    int members, self;
    const void **pieces; /* [members] scratch memory of mw_combine */
    bool is_shared;      /* `shared` is used, and not messages */
    MwSharedGroup shared;
} Group;

typedef struct {
    MwTransport base;
    MwArena *arena;
    bool may_share; /* ranks of one machine may share memory */
    Group groups[MW_MAX_AXES];
    int axis_count;
    MPI_Comm node; /* the ranks of this machine */
    int node_size, node_rank;
    MwSharedMemory *memory; /* [node_size]; NULL: memory is not shared */
    void *device_arena;     /* the arena, unless it lies in shared memory */
    int64_t arena_bytes;
    char *staging; /* [STAGING_BYTES] incoming messages; NULL: every group is on one machine */
    /* [STAGING_BYTES] each: sources and results of collectives, for a device whose memory is not
     * the host's; in shared memory where that can be had. */
    char *outgoing, *incoming;
    MW_VEC(MwRequest *) requests;
    int *counts, *places; /* [2 * members] elements sent, then received, and where: MPI_Alltoallv */
} Mpi;

#define CALL(name, ...) MW_MPI_CALL(fault, name, __VA_ARGS__)

/* ---- Groups and the arena ---- */

/* The color of a group is the rank of its member whose coordinate is 0. */
static bool make_group(Mpi *mpi, const MwMeshShape *mesh, int first_rank, int axis, MwFault *fault)
{
    Group *group = &mpi->groups[axis];
    int coordinate[MW_MAX_AXES], stride = 1;
    mw_mesh_coordinates(mesh, mpi->base.rank - first_rank, coordinate);
    for (int a = axis + 1; a < mesh->axis_count; a++)
        stride *= mesh->size[a];
    int color = mpi->base.rank - coordinate[axis] * stride;
    *group = (Group){.members = mesh->size[axis],
                     .self = coordinate[axis],
                     .pieces = MW_NEW(mpi->arena, const void *, mesh->size[axis])};
    return CALL(MPI_Comm_split, MPI_COMM_WORLD, color, coordinate[axis], &group->comm);
}

static bool make_groups(Mpi *mpi, const MwMeshShape *mesh, int first_rank, MwFault *fault)
{
    int most = 1;
    mpi->axis_count = mesh->axis_count;
    for (int a = 0; a < MW_MAX_AXES; a++) {
        MPI_Comm unused = MPI_COMM_NULL;
        if (a < mesh->axis_count ? !make_group(mpi, mesh, first_rank, a, fault)
                                 : !CALL(MPI_Comm_split, MPI_COMM_WORLD, MPI_UNDEFINED, 0, &unused))
            return false;
        most = (int)mw_max(most, a < mesh->axis_count ? mesh->size[a] : 1);
    }
    mpi->counts = MW_NEW(mpi->arena, int, 2 * most);
    mpi->places = MW_NEW(mpi->arena, int, 2 * most);
    return CALL(MPI_Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                &mpi->node) &&
           CALL(MPI_Comm_size, mpi->node, &mpi->node_size) &&
           CALL(MPI_Comm_rank, mpi->node, &mpi->node_rank);
}

static bool mpi_make_groups(MwTransport *transport, const MwMeshShape *mesh, int first_rank,
                            MwFault *fault)
{
    Mpi *mpi = (Mpi *)transport;
    if (!make_groups(mpi, mesh, first_rank, fault))
        return false;
    transport->is_crowded = mpi->node_size > sysconf(_SC_NPROCESSORS_ONLN);
    return true;
}

/* How a peer's memory is found. */
typedef struct {
    int rank;      /* in MPI_COMM_WORLD; -1: it has no memory to share */
    int pid, file; /* process, and its descriptor of the memory */
    int64_t bytes;
} Place;

/* Maps the memory of all other ranks of this machine. False if one has none or cannot be mapped. */
static bool map_peers(Mpi *mpi, const Place *places, MwFault *fault)
{
    for (int i = 0; i < mpi->node_size; i++)
        if (i != mpi->node_rank &&
            (places[i].rank < 0 || !mw_shared_map(places[i].bytes, places[i].pid, places[i].file,
                                                  &mpi->memory[i], fault)))
            return false;
    return true;
}

/* Allocates memory that the other ranks of this machine map, and maps theirs. `*shared` is false on
 * all of them if one cannot. */
static bool share_arena(Mpi *mpi, int64_t bytes, Place *places, bool *shared, MwFault *fault)
{
    MwFault reason;
    Place own = {mpi->base.rank, (int)getpid(), -1, bytes};
    mpi->memory = MW_NEW(mpi->arena, MwSharedMemory, mpi->node_size);
    if (!mw_shared_create(bytes, &mpi->memory[mpi->node_rank], &own.file, &reason))
        own.rank = -1;
    if (!CALL(MPI_Allgather, &own, sizeof own, MPI_BYTE, places, sizeof own, MPI_BYTE, mpi->node))
        return false;
    int mapped = map_peers(mpi, places, &reason), all = 0;
    if (!CALL(MPI_Allreduce, &mapped, &all, 1, MPI_INT, MPI_LAND, mpi->node))
        return false;
    if (own.file >= 0)
        close(own.file);
    *shared = all && own.rank >= 0;
    if (!*shared) {
        for (int i = 0; i < mpi->node_size; i++)
            mw_shared_unmap(&mpi->memory[i]);
        mpi->memory = NULL;
    }
    return true;
}

/* Index, among the ranks of this machine, of rank `rank` of MPI_COMM_WORLD; -1: it is on another
 * machine. */
static int node_index(const Mpi *mpi, const Place *places, int rank)
{
    for (int i = 0; i < mpi->node_size; i++)
        if (places[i].rank == rank)
            return i;
    return -1;
}

/* Reads of a peer's counter before a waiting member yields its core, where each rank has a core of
 * its own: some microseconds, the time after which a peer that is not late has come. Chosen, not
 * measured. Without a core for each rank a member yields at once, and sleeps in long waits. */
enum { SPINS = 2000 };

/* Lets the group communicate through shared memory if every member is on this machine and the
 * machine shares memory. Collective over the group, also where its members differ in that. */
static bool share_group(Mpi *mpi, int axis, const Place *places, bool shared, MwFault *fault)
{
    Group *group = &mpi->groups[axis];
    const MwSharedMemory **memory = MW_NEW(mpi->arena, const MwSharedMemory *, group->members);
    int *ranks = MW_NEW(mpi->arena, int, group->members);
    if (!CALL(MPI_Allgather, &mpi->base.rank, 1, MPI_INT, ranks, 1, MPI_INT, group->comm))
        return false;
    for (int m = 0; shared && m < group->members; m++) {
        int index = node_index(mpi, places, ranks[m]);
        shared = index >= 0;
        memory[m] = shared ? &mpi->memory[index] : NULL;
    }
    if (!shared)
        return true;
    group->is_shared = true;
    group->shared = (MwSharedGroup){
        .members = group->members,
        .self = group->self,
        .axis = axis,
        .memory = memory,
        .pieces = group->pieces,
        .spins = mpi->base.is_crowded ? 0 : SPINS,
    };
    return true;
}

/* `*memory`: memory on the host that the other ranks of this machine map; NULL: it cannot be
 * had. */
static bool share_memory(Mpi *mpi, int64_t bytes, char **memory, MwFault *fault)
{
    Place *places = MW_NEW(mpi->arena, Place, mpi->node_size);
    bool shared = false;
    if (mpi->may_share && !share_arena(mpi, bytes, places, &shared, fault))
        return false;
    for (int a = 0; mpi->may_share && a < mpi->axis_count; a++)
        if (!share_group(mpi, a, places, shared, fault))
            return false;
    *memory = shared ? mpi->memory[mpi->node_rank].arena : NULL;
    return true;
}

static void *mpi_alloc_arena(MwTransport *transport, MwDevice *device, int64_t bytes,
                             MwFault *fault)
{
    Mpi *mpi = (Mpi *)transport;
    bool needs_staging = false;
    char *shared;
    mpi->arena_bytes = bytes;
    if (!share_memory(mpi, device->is_host ? bytes : 2 * STAGING_BYTES, &shared, fault))
        return NULL;
    for (int a = 0; a < mpi->axis_count; a++)
        needs_staging |= !mpi->groups[a].is_shared && mpi->groups[a].members > 1;
    if (needs_staging)
        mpi->staging = mw_arena_alloc(mpi->arena, STAGING_BYTES);
    if (device->is_host && shared)
        return shared;
    if (!device->is_host) {
        mpi->outgoing = shared ? shared : mw_arena_alloc(mpi->arena, 2 * STAGING_BYTES);
        mpi->incoming = mpi->outgoing + STAGING_BYTES;
    }
    return mpi->device_arena = device->table->alloc(device, bytes, fault);
}

/* ---- Collectives by messages ---- */

static bool element_type(const MwExchange *exchange, int64_t count, MPI_Datatype *type,
                         MwFault *fault)
{
    *type = mw_mpi_element(exchange->type);
    return mw_mpi_counts(count, fault);
}

/* Elements [begin, begin + count) of every member's block. Blocks are `block` elements apart. */
typedef struct {
    int64_t block, begin, count;
} Piece;

/* Sends every member the piece of its block, and receives in the staging buffer the pieces of this
 * member's block from all members. */
static bool scatter_piece(Mpi *mpi, const Group *group, const MwExchange *exchange, Piece piece,
                          MwFault *fault)
{
    const int members = group->members;
    MPI_Datatype type;
    if (!element_type(exchange, exchange->count, &type, fault))
        return false;
    for (int m = 0; m < members; m++) {
        mpi->counts[m] = mpi->counts[members + m] = (int)piece.count;
        mpi->places[m] = (int)(m * piece.block + piece.begin);
        mpi->places[members + m] = (int)(m * piece.count);
    }
    return CALL(MPI_Alltoallv, exchange->source, mpi->counts, mpi->places, type, mpi->staging,
                mpi->counts + members, mpi->places + members, type, group->comm);
}

/* Combines what scatter_piece received. */
static void combine_staging(const Mpi *mpi, const Group *group, const MwExchange *exchange,
                            int64_t count, void *to)
{
    const int64_t bytes = mw_type_bytes(exchange->type);
    for (int m = 0; m < group->members; m++)
        group->pieces[m] = mpi->staging + m * count * bytes;
    mw_combine(exchange->type, exchange->combine, group->pieces, group->members, count, to);
}

/* Computes this member's block of the combined sources, piece by piece. */
static bool reduce_scatter(Mpi *mpi, Group *group, const MwExchange *exchange, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(exchange->type), block = exchange->count / group->members;
    const int64_t most = mw_max(1, STAGING_BYTES / (group->members * bytes));
    char *to = exchange->destination;
    for (int64_t begin = 0; begin < block; begin += most) {
        const Piece piece = {block, begin, mw_min(most, block - begin)};
        if (!scatter_piece(mpi, group, exchange, piece, fault))
            return false;
        combine_staging(mpi, group, exchange, piece.count, to + begin * bytes);
    }
    return true;
}

/* Piece by piece, as many elements as the staging buffer serves. */
static bool all_reduce(Mpi *mpi, Group *group, const MwExchange *exchange, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(exchange->type);
    const int64_t room = STAGING_BYTES - mw_mpi_all_reduce_scratch(group->members, 0);
    const int64_t most = mw_max(1, room / bytes);
    const MwReduceGroup members = {.comm = group->comm,
                                   .members = group->members,
                                   .self = group->self,
                                   .per_node = 1,
                                   .scratch = mpi->staging};
    const MwAlgorithm algorithm =
        mw_mpi_all_reduce_in_order(group->members, exchange->count * bytes);
    for (int64_t begin = 0; begin < exchange->count; begin += most) {
        MwExchange piece = *exchange;
        piece.count = mw_min(most, exchange->count - begin);
        piece.source = (const char *)exchange->source + begin * bytes;
        piece.destination = (char *)exchange->destination + begin * bytes;
        if (!mw_mpi_all_reduce(&members, algorithm, &piece, fault))
            return false;
    }
    return true;
}

static bool all_gather(const Group *group, const MwExchange *exchange, MwFault *fault)
{
    MPI_Datatype type;
    int count = (int)exchange->count;
    return element_type(exchange, exchange->count, &type, fault) &&
           CALL(MPI_Allgather, exchange->source, count, type, exchange->destination, count, type,
                group->comm);
}

static bool all_to_all(const Group *group, const MwExchange *exchange, MwFault *fault)
{
    MPI_Datatype type;
    int count = (int)(exchange->count / group->members);
    return element_type(exchange, exchange->count, &type, fault) &&
           CALL(MPI_Alltoall, exchange->source, count, type, exchange->destination, count, type,
                group->comm);
}

/* Sends to one member and receives from one. Counts of MPI are ints. */
static bool send_receive(const Group *group, const MwExchange *exchange, MwFault *fault)
{
    MPI_Datatype type;
    const int count = (int)exchange->count, members = group->members;
    return element_type(exchange, exchange->count, &type, fault) &&
           CALL(MPI_Sendrecv, exchange->source, count, type,
                mw_collective_taker(exchange->kind, members, group->self), 0, exchange->destination,
                count, type, mw_collective_giver(exchange->kind, members, group->self), 0,
                group->comm, MPI_STATUS_IGNORE);
}

static bool exchange_messages(Mpi *mpi, Group *group, const MwExchange *exchange, MwFault *fault)
{
    switch (exchange->kind) {
    case MW_ALL_REDUCE:
        return all_reduce(mpi, group, exchange, fault);
    case MW_ALL_GATHER:
        return all_gather(group, exchange, fault);
    case MW_REDUCE_SCATTER:
        return reduce_scatter(mpi, group, exchange, fault);
    case MW_ALL_TO_ALL:
        return all_to_all(group, exchange, fault);
    case MW_RING_SHIFT:
    case MW_RING_SHIFT_BACK:
    case MW_MIRROR:
        return send_receive(group, exchange, fault);
    case MW_COLLECTIVE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

/* ---- Collectives ---- */

/* Collectives on buffers in host memory. */
static bool exchange_on_host(Mpi *mpi, Group *group, const MwExchange *exchanges, int count,
                             MwFault *fault)
{
    bool good = true;
    if (group->is_shared)
        mw_shared_exchange(&group->shared, exchanges, count);
    for (int i = 0; i < count && !group->is_shared && good; i++)
        good = exchange_messages(mpi, group, &exchanges[i], fault);
    return good;
}

/* Pieces of a buffer on the device, `stride` bytes apart, and their copy on the host, where they
 * are contiguous. */
typedef struct {
    char *at, *host;
    int64_t stride, bytes; /* of each */
    int count;
} Pieces;

static bool copy_pieces_out(MwDevice *device, const Pieces *pieces, MwFault *fault)
{
    for (int i = 0; i < pieces->count; i++)
        if (!device->table->copy_out(device, pieces->host + i * pieces->bytes,
                                     pieces->at + i * pieces->stride, pieces->bytes, fault))
            return false;
    return true;
}

static bool copy_pieces_in(MwDevice *device, const Pieces *pieces, MwFault *fault)
{
    for (int i = 0; i < pieces->count; i++)
        if (!device->table->copy_in(device, pieces->at + i * pieces->stride,
                                    pieces->host + i * pieces->bytes, pieces->bytes, fault))
            return false;
    return true;
}

/* A collective on buffers of the device, through the host: it is done on the same elements of every
 * block of source and result at a time, which are a collective of the same kind. */
static bool exchange_pieces(Mpi *mpi, MwDevice *device, Group *group, const MwExchange *exchange,
                            MwFault *fault)
{
    const MwCollectiveInfo *info = mw_collective_info(exchange->kind);
    const int sources = info->splits ? group->members : 1;
    const int results = info->joins ? group->members : 1;
    const int64_t bytes = mw_type_bytes(exchange->type), block = exchange->count / sources;
    const int64_t most = mw_max(1, STAGING_BYTES / (group->members * bytes));
    MwExchange piece = *exchange;
    piece.source = mpi->outgoing;
    piece.destination = mpi->incoming;
    for (int64_t begin = 0; begin < block; begin += most) {
        const int64_t count = mw_min(most, block - begin);
        const Pieces out = {(char *)(uintptr_t)exchange->source + begin * bytes, mpi->outgoing,
                            block * bytes, count * bytes, sources};
        const Pieces in = {(char *)exchange->destination + begin * bytes, mpi->incoming,
                           block * bytes, count * bytes, results};
        piece.count = sources * count;
        if (!copy_pieces_out(device, &out, fault) ||
            !exchange_on_host(mpi, group, &piece, 1, fault) || !copy_pieces_in(device, &in, fault))
            return false;
    }
    return true;
}

/* In a group of one member. */
static bool copy_own(MwDevice *device, const MwExchange *exchange, MwFault *fault)
{
    return exchange->destination == exchange->source ||
           device->table->copy(device, exchange->destination, exchange->source,
                               exchange->count * mw_type_bytes(exchange->type), fault);
}

static bool mpi_exchange(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                         int count, MwFault *fault)
{
    Mpi *mpi = (Mpi *)transport;
    Group *group = &mpi->groups[exchanges->axis];
    bool good = true;
    if (group->members > 1 && device->is_host)
        return exchange_on_host(mpi, group, exchanges, count, fault);
    for (int i = 0; i < count && good; i++)
        good = group->members == 1 ? copy_own(device, &exchanges[i], fault)
                                   : exchange_pieces(mpi, device, group, &exchanges[i], fault);
    return good;
}

/* ---- Messages between devices ---- */

static MwRequest *mpi_init_request(MwTransport *transport, MwDevice *device,
                                   const MwMessageSet *set, MwFault *fault)
{
    Mpi *mpi = (Mpi *)transport;
    MwRequest *request = mw_mpi_request_new(mpi->arena, device, set, fault);
    if (request)
        mw_vec_push(mpi->arena, &mpi->requests, request);
    for (int a = 0; a < mpi->axis_count; a++)
        mpi->groups[a].shared.idle = mw_mpi_progress;
    return request;
}

static bool mpi_connect(MwTransport *transport, MwDevice *device, const MwExchange *exchanges,
                        int count, MwFault *fault)
{
    (void)transport, (void)device, (void)exchanges, (void)count, (void)fault;
    return true;
}

static bool mpi_start(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    (void)transport, (void)device;
    return mw_mpi_request_start(request, fault);
}

static bool mpi_test(MwTransport *transport, MwDevice *device, MwRequest *request, bool *done,
                     MwFault *fault)
{
    (void)transport, (void)device;
    return mw_mpi_request_test(request, done, fault);
}

static bool mpi_wait(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    (void)device;
    if (!transport->is_crowded)
        return mw_mpi_request_wait(request, fault);
    const double begin_s = mw_clock_s();
    for (bool done = false;;) {
        if (!mw_mpi_request_test(request, &done, fault))
            return false;
        if (done)
            return true;
        mw_mpi_host_rest(begin_s);
    }
}

static MW_NORETURN void mpi_abort(MwTransport *transport, int status)
{
    (void)transport;
    MPI_Abort(MPI_COMM_WORLD, status);
    exit(status);
}

static void mpi_destroy(MwTransport *transport, MwDevice *device)
{
    Mpi *mpi = (Mpi *)transport;
    for (int i = 0; i < mpi->requests.count; i++)
        mw_mpi_request_free(mpi->requests.at[i]);
    for (int i = 0; mpi->memory && i < mpi->node_size; i++)
        mw_shared_unmap(&mpi->memory[i]);
    if (mpi->device_arena)
        device->table->release(device, mpi->device_arena, mpi->arena_bytes);
    MPI_Finalize();
}

static const MwTransportTable mpi_table = {
    .name = "mpi",
    .make_groups = mpi_make_groups,
    .alloc_arena = mpi_alloc_arena,
    .exchange = mpi_exchange,
    .init_request = mpi_init_request,
    .connect = mpi_connect,
    .start = mpi_start,
    .test = mpi_test,
    .wait = mpi_wait,
    .send = mw_mpi_host_send,
    .receive = mw_mpi_host_receive,
    .allgather = mw_mpi_host_allgather,
    .barrier = mw_mpi_host_barrier,
    .expect_end = mw_mpi_host_expect_end,
    .abort = mpi_abort,
    .destroy = mpi_destroy,
};

MwTransport *mw_transport_mpi_new(MwArena *arena, bool may_share, MwFault *fault)
{
    Mpi *mpi = MW_NEW(arena, Mpi, 1);
    mpi->base.table = &mpi_table;
    mpi->arena = arena;
    mpi->may_share = may_share;
    int level; /* any: the threads that read data never call MPI */
    if (!CALL(MPI_Init_thread, NULL, NULL, MPI_THREAD_FUNNELED, &level) ||
        !CALL(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN) ||
        !CALL(MPI_Comm_rank, MPI_COMM_WORLD, &mpi->base.rank) ||
        !CALL(MPI_Comm_size, MPI_COMM_WORLD, &mpi->base.size))
        return NULL;
    return &mpi->base;
}
