/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/nccl_lanes.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum {
    IDLE,
    BEGUN,  /* what was queued before it may not be done */
    READY,  /* and its peer is told so, of a receive */
    CALLED, /* NCCL is: the lane has to settle */
    QUEUED, /* `done` is recorded after it */
} State;

/* Rows of equal length, equally far apart. */
typedef struct {
    size_t offset, pitch, width, height; /* bytes; rows */
} Strip;

typedef struct Lane Lane;

typedef struct {
    Lane *lane;
    State state;
    int64_t bytes;
    char *memory; /* the message, as one piece: in the buffer, or packed */
    bool is_packed;
    Strip *strips; /* [strip_count] of the buffer, in order of the packed message */
    int strip_count;
    cudaEvent_t done;
} Message;

struct MwParcels {
    Message *messages;
    int count;
    bool sends;
    int tag;
    char *buffer;
    cudaStream_t compute;
    cudaEvent_t ready; /* what was queued on the device before they began is done */
    bool is_under_way;
};

struct Lane {
    MwNcclComm comm; /* the sender is 0, the receiver 1 */
    cudaStream_t stream;
    int peer;
    bool sends;
    Message *called; /* until the communicator has settled */
    int *credits;    /* [tags] messages that the receiver is ready for */
    int *going;      /* ring of tags of messages that go, not yet called for */
    int going_first, going_count, going_room;
};

struct MwNcclLanes {
    MwArena *arena;
    MwNccl *nccl;
    MwTransport *hosts;
    MwNotes *notes;
    MW_VEC(Lane *) lanes;
    MW_VEC(MwParcels *) parcels;
    MwParcels **under_way; /* [under_way_count] in the order in which they began */
    int under_way_count, tag_count, called_count;
};

enum { NOTE_READY, NOTE_GOES };

/* Of the kernel of one message. They stay until their peer has come: those of messages that are under
 * way together, and those of a collective, must all have room on a GPU (an A100 has 108 multiprocessors, and
 * may have one of NCCL's blocks on each), or each could wait for one that finds none elsewhere. */
enum { LANE_BLOCKS = 4 };

#define CUDA(name, ...) MW_NCCL_CUDA(lanes->nccl, name, __VA_ARGS__)

/* ---- Packing ---- */

/* The runs of a box as strips; counts them where `strips` is NULL. */
static int make_strips(const MwBlock *box, Strip *strips)
{
    const size_t bytes = (size_t)mw_type_bytes(box->global.type);
    Strip strip = {0};
    int count = 0;
    for (MwRun run = {0}; mw_block_next_run(box, &run);) {
        const size_t offset = (size_t)run.global * bytes, width = (size_t)run.count * bytes;
        const bool fits = strip.height > 0 && width == strip.width;
        if (fits && strip.height == 1)
            strip.pitch = offset - strip.offset;
        if (fits && offset == strip.offset + strip.height * strip.pitch) {
            strip.height++;
        } else {
            count += strip.height > 0;
            strip = (Strip){offset, width, width, 1};
        }
        if (strips)
            strips[count] = strip;
    }
    return count + (strip.height > 0);
}

static bool copy_strips(MwNcclLanes *lanes, const MwParcels *parcels, const Message *message,
                        cudaStream_t stream, MwFault *fault)
{
    char *packed = message->memory;
    for (int i = 0; i < message->strip_count; i++) {
        const Strip *strip = &message->strips[i];
        char *at = parcels->buffer + strip->offset;
        if (parcels->sends ? !CUDA(cudaMemcpy2DAsync, packed, strip->width, at, strip->pitch,
                                   strip->width, strip->height, cudaMemcpyDeviceToDevice, stream)
                           : !CUDA(cudaMemcpy2DAsync, at, strip->pitch, packed, strip->width,
                                   strip->width, strip->height, cudaMemcpyDeviceToDevice, stream))
            return false;
        packed += strip->width * strip->height;
    }
    return true;
}

static Lane *find_lane(const MwNcclLanes *lanes, int peer, bool sends)
{
    for (int i = 0; i < lanes->lanes.count; i++)
        if (lanes->lanes.at[i]->peer == peer && lanes->lanes.at[i]->sends == sends)
            return lanes->lanes.at[i];
    return NULL;
}

static Lane *take_lane(MwNcclLanes *lanes, int peer, bool sends)
{
    Lane *lane = find_lane(lanes, peer, sends);
    if (lane)
        return lane;
    lane = MW_NEW(lanes->arena, Lane, 1);
    lane->peer = peer;
    lane->sends = sends;
    snprintf(lane->comm.label, sizeof lane->comm.label, "%s rank %d", sends ? "to" : "from", peer);
    mw_vec_push(lanes->arena, &lanes->lanes, lane);
    return lane;
}

static bool make_message(MwNcclLanes *lanes, const MwParcels *parcels, const MwParcel *parcel,
                         Message *message, MwFault *fault)
{
    const MwBlock *box = &parcel->box;
    message->lane = take_lane(lanes, parcel->peer, parcels->sends);
    message->lane->going_room++;
    message->bytes = mw_block_elements(box) * mw_type_bytes(box->global.type);
    message->strip_count = make_strips(box, NULL);
    message->strips = MW_NEW(lanes->arena, Strip, message->strip_count);
    make_strips(box, message->strips);
    message->memory = parcels->buffer + message->strips->offset;
    message->is_packed = message->strip_count > 1 || message->strips->height > 1;
    return (!message->is_packed ||
            CUDA(cudaMalloc, (void **)&message->memory, (size_t)message->bytes)) &&
           CUDA(cudaEventCreateWithFlags, &message->done, cudaEventDisableTiming);
}

MwParcels *mw_nccl_lanes_pack(MwNcclLanes *lanes, cudaStream_t compute, void *buffer,
                              const MwParcel *parcels, int count, bool sends, int tag,
                              MwFault *fault)
{
    MwParcels *packed = MW_NEW(lanes->arena, MwParcels, 1);
    *packed = (MwParcels){.messages = MW_NEW(lanes->arena, Message, count),
                          .sends = sends,
                          .tag = tag,
                          .buffer = buffer,
                          .compute = compute};
    mw_vec_push(lanes->arena, &lanes->parcels, packed);
    lanes->tag_count = (int)mw_max(lanes->tag_count, tag + 1);
    for (; packed->count < count; packed->count++)
        if (!make_message(lanes, packed, &parcels[packed->count], &packed->messages[packed->count],
                          fault))
            return NULL;
    return CUDA(cudaEventCreateWithFlags, &packed->ready, cudaEventDisableTiming) ? packed : NULL;
}

/* ---- Opening ---- */

/* Ranks that open their lanes in this order do not wait for each other in a ring. */
static int compare_lanes(int self, const Lane *a, const Lane *b)
{
    const int a_from = a->sends ? self : a->peer, b_from = b->sends ? self : b->peer;
    const int a_to = a->sends ? a->peer : self, b_to = b->sends ? b->peer : self;
    return a_from != b_from ? a_from - b_from : a_to - b_to;
}

static void sort_lanes(MwNcclLanes *lanes)
{
    for (int i = 1; i < lanes->lanes.count; i++) {
        Lane *lane = lanes->lanes.at[i];
        int to = i;
        for (; to > 0 && compare_lanes(lanes->hosts->rank, lane, lanes->lanes.at[to - 1]) < 0; to--)
            lanes->lanes.at[to] = lanes->lanes.at[to - 1];
        lanes->lanes.at[to] = lane;
    }
}

static bool make_stream(MwNcclLanes *lanes, Lane *lane, MwFault *fault)
{
    int least, greatest;
    lane->credits = MW_NEW(lanes->arena, int, lanes->tag_count);
    lane->going = MW_NEW(lanes->arena, int, lane->going_room);
    /* Streams of this priority have queues of their own in the GPU: what waits on the device's streams
     * is never before them. */
    return CUDA(cudaDeviceGetStreamPriorityRange, &least, &greatest) &&
           CUDA(cudaStreamCreateWithPriority, &lane->stream, cudaStreamNonBlocking, greatest);
}

/* The sender has the id; the receiver waits for it, whatever befell either before. */
static bool open_lane(MwNcclLanes *lanes, Lane *lane, MwFault *fault)
{
    const MwTransportTable *hosts = lanes->hosts->table;
    MwNcclCard card = {0};
    if (lane->sends)
        card = mw_nccl_card(lanes->nccl, &lane->comm);
    if (!(lane->sends ? hosts->send(lanes->hosts, lane->peer, &card, sizeof card, fault)
                      : hosts->receive(lanes->hosts, lane->peer, &card, sizeof card, fault)))
        return false;
    *fault = card.fault;
    return !card.failed && make_stream(lanes, lane, fault) &&
           mw_nccl_comm_begin(lanes->nccl, lanes->arena, &lane->comm, 2, card.id, !lane->sends,
                              LANE_BLOCKS, fault);
}

bool mw_nccl_lanes_open(MwNcclLanes *lanes, MwFault *fault)
{
    MwFault later;
    bool good = true;
    sort_lanes(lanes);
    lanes->under_way = MW_NEW(lanes->arena, MwParcels *, lanes->parcels.count);
    for (int i = 0; i < lanes->lanes.count; i++)
        good = open_lane(lanes, lanes->lanes.at[i], good ? fault : &later) && good;
    good = mw_nccl_agree(lanes->arena, lanes->hosts, good, fault);
    for (int i = 0; good && i < lanes->lanes.count; i++)
        good =
            mw_nccl_settle(lanes->nccl, &lanes->lanes.at[i]->comm, "ncclCommInitRankConfig", fault);
    return good;
}

/* ---- Notes ---- */

static bool take_notes(MwNcclLanes *lanes, MwFault *fault)
{
    MwNote note;
    bool found;
    while (true) {
        if (!mw_note_take(lanes->notes, &note, &found, fault))
            return false;
        if (!found)
            return true;
        Lane *lane = find_lane(lanes, note.peer, note.kind == NOTE_READY);
        MW_ASSERT(lane && note.tag < lanes->tag_count);
        if (note.kind == NOTE_READY) {
            lane->credits[note.tag]++;
            continue;
        }
        MW_ASSERT(lane->going_count < lane->going_room);
        lane->going[(lane->going_first + lane->going_count++) % lane->going_room] = note.tag;
    }
}

/* ---- Progress ---- */

/* Receives tell their peers. */
static bool make_ready(MwNcclLanes *lanes, const MwParcels *parcels, MwFault *fault)
{
    for (int i = 0; i < parcels->count; i++) {
        Message *message = &parcels->messages[i];
        message->state = READY;
        if (!parcels->sends &&
            !mw_note_send(lanes->notes, (MwNote){message->lane->peer, NOTE_READY, parcels->tag},
                          fault))
            return false;
    }
    return true;
}

/* In the order in which they began, which is that of their events on the stream. */
static bool find_ready(MwNcclLanes *lanes, MwFault *fault)
{
    bool done = true;
    for (int i = 0; i < lanes->under_way_count && done; i++) {
        const MwParcels *parcels = lanes->under_way[i];
        if (parcels->messages->state != BEGUN)
            continue;
        if (!mw_nccl_is_done(lanes->nccl, parcels->ready, &done, fault) ||
            (done && !make_ready(lanes, parcels, fault)))
            return false;
    }
    return true;
}

/* Whether NCCL can be called on the lane now. */
static bool is_free(const MwNcclLanes *lanes, const Lane *lane)
{
    return !lane->called && lanes->nccl->messages.count + lanes->called_count < MW_NCCL_MOST_CALLS;
}

static bool call(MwNcclLanes *lanes, Message *message, MwFault *fault)
{
    Lane *lane = message->lane;
    lane->called = message;
    lanes->called_count++;
    message->state = CALLED;
    return lane->sends
               ? MW_NCCL_CALL(lanes->nccl, &lane->comm, ncclSend, message->memory,
                              (size_t)message->bytes, ncclUint8, 1, lane->comm.comm, lane->stream)
               : MW_NCCL_CALL(lanes->nccl, &lane->comm, ncclRecv, message->memory,
                              (size_t)message->bytes, ncclUint8, 0, lane->comm.comm, lane->stream);
}

static bool call_send(MwNcclLanes *lanes, const MwParcels *parcels, Message *message,
                      MwFault *fault)
{
    Lane *lane = message->lane;
    if (message->state != READY || lane->credits[parcels->tag] == 0 || !is_free(lanes, lane))
        return true;
    lane->credits[parcels->tag]--;
    return mw_note_send(lanes->notes, (MwNote){lane->peer, NOTE_GOES, parcels->tag}, fault) &&
           call(lanes, message, fault);
}

static bool call_sends(MwNcclLanes *lanes, MwFault *fault)
{
    for (int i = 0; i < lanes->under_way_count; i++) {
        const MwParcels *parcels = lanes->under_way[i];
        for (int m = 0; m < parcels->count && parcels->sends; m++)
            if (!call_send(lanes, parcels, &parcels->messages[m], fault))
                return false;
    }
    return true;
}

/* The first receive of the tag on the lane whose sender may have been told that it is ready. */
static Message *find_receive(const MwNcclLanes *lanes, const Lane *lane, int tag)
{
    for (int i = 0; i < lanes->under_way_count; i++) {
        const MwParcels *parcels = lanes->under_way[i];
        for (int m = 0; m < parcels->count && parcels->tag == tag; m++)
            if (parcels->messages[m].lane == lane && parcels->messages[m].state == READY)
                return &parcels->messages[m];
    }
    MW_UNREACHABLE();
}

static bool call_receives(MwNcclLanes *lanes, MwFault *fault)
{
    for (int i = 0; i < lanes->lanes.count; i++) {
        Lane *lane = lanes->lanes.at[i];
        if (lane->going_count == 0 || !is_free(lanes, lane))
            continue;
        const int tag = lane->going[lane->going_first];
        lane->going_first = (lane->going_first + 1) % lane->going_room;
        lane->going_count--;
        if (!call(lanes, find_receive(lanes, lane, tag), fault))
            return false;
    }
    return true;
}

static const MwParcels *parcels_of(const MwNcclLanes *lanes, const Message *message)
{
    for (int i = 0; i < lanes->under_way_count; i++) {
        const MwParcels *parcels = lanes->under_way[i];
        if (message >= parcels->messages && message < parcels->messages + parcels->count)
            return parcels;
    }
    MW_UNREACHABLE();
}

/* What NCCL was called for is queued by now. */
static bool finish_call(MwNcclLanes *lanes, Lane *lane, MwFault *fault)
{
    Message *message = lane->called;
    const MwParcels *parcels = parcels_of(lanes, message);
    lane->called = NULL;
    lanes->called_count--;
    message->state = QUEUED;
    return (lane->sends || !message->is_packed ||
            copy_strips(lanes, parcels, message, lane->stream, fault)) &&
           CUDA(cudaEventRecord, message->done, lane->stream) &&
           mw_nccl_watch(lanes->nccl, &lanes->nccl->messages, &lane->comm,
                         lane->sends ? "ncclSend" : "ncclRecv", lane->stream, fault);
}

static bool finish_calls(MwNcclLanes *lanes, MwFault *fault)
{
    for (int i = 0; i < lanes->lanes.count; i++) {
        Lane *lane = lanes->lanes.at[i];
        bool settled;
        if (!lane->called)
            continue;
        if (!mw_nccl_is_settled(lanes->nccl, &lane->comm, lane->sends ? "ncclSend" : "ncclRecv",
                                &settled, fault) ||
            (settled && !finish_call(lanes, lane, fault)))
            return false;
    }
    return true;
}

bool mw_nccl_lanes_call(const MwNcclLanes *lanes)
{
    return lanes->called_count > 0;
}

bool mw_nccl_lanes_progress(MwNcclLanes *lanes, MwFault *fault)
{
    return take_notes(lanes, fault) && find_ready(lanes, fault) && call_sends(lanes, fault) &&
           call_receives(lanes, fault) && finish_calls(lanes, fault);
}

/* ---- Parcels ---- */

bool mw_nccl_lanes_begin(MwNcclLanes *lanes, MwParcels *parcels, MwFault *fault)
{
    MW_ASSERT(!parcels->is_under_way);
    for (int i = 0; i < parcels->count; i++) {
        Message *message = &parcels->messages[i];
        message->state = BEGUN;
        if (parcels->sends && message->is_packed &&
            !copy_strips(lanes, parcels, message, parcels->compute, fault))
            return false;
    }
    parcels->is_under_way = true;
    lanes->under_way[lanes->under_way_count++] = parcels;
    return CUDA(cudaEventRecord, parcels->ready, parcels->compute) &&
           mw_nccl_lanes_progress(lanes, fault);
}

static void end(MwNcclLanes *lanes, MwParcels *parcels)
{
    int at = 0, to = 0;
    for (; at < lanes->under_way_count; at++)
        if (lanes->under_way[at] != parcels)
            lanes->under_way[to++] = lanes->under_way[at];
    lanes->under_way_count = to;
    parcels->is_under_way = false;
}

static bool test_message(MwNcclLanes *lanes, Message *message, bool *done, MwFault *fault)
{
    *done = message->state == IDLE;
    if (message->state != QUEUED)
        return true;
    if (!mw_nccl_is_done(lanes->nccl, message->done, done, fault))
        return false;
    message->state = *done ? IDLE : QUEUED;
    return true;
}

bool mw_nccl_lanes_test(MwNcclLanes *lanes, MwParcels *parcels, bool *done, MwFault *fault)
{
    *done = true;
    if (!parcels->is_under_way)
        return true;
    if (!mw_nccl_lanes_progress(lanes, fault))
        return false;
    for (int i = 0; i < parcels->count && *done; i++)
        if (!test_message(lanes, &parcels->messages[i], done, fault))
            return false;
    if (*done)
        end(lanes, parcels);
    return true;
}

/* The host waits until they are queued alone, the device until they are done. */
bool mw_nccl_lanes_wait(MwNcclLanes *lanes, MwParcels *parcels, MwFault *fault)
{
    const double since_s = mw_clock_s();
    if (!parcels->is_under_way)
        return true;
    for (int i = 0; i < parcels->count; i++) {
        Message *message = &parcels->messages[i];
        while (message->state != QUEUED && message->state != IDLE)
            if (!mw_nccl_idle_since(lanes->nccl, since_s, parcels->sends ? "a send" : "a receive",
                                    message->lane->comm.label, fault))
                return false;
        if (message->state == QUEUED &&
            !CUDA(cudaStreamWaitEvent, parcels->compute, message->done, 0))
            return false;
        message->state = IDLE;
    }
    end(lanes, parcels);
    return true;
}

/* ---- Beginning and end ---- */

MwNcclLanes *mw_nccl_lanes_new(MwArena *arena, MwNccl *nccl, MwTransport *hosts, MwFault *fault)
{
    MwNcclLanes *lanes = MW_NEW(arena, MwNcclLanes, 1);
    *lanes = (MwNcclLanes){
        .arena = arena, .nccl = nccl, .hosts = hosts, .notes = mw_notes_new(arena, fault)};
    return lanes->notes ? lanes : NULL;
}

static void free_parcels(MwParcels *parcels)
{
    for (int i = 0; i < parcels->count; i++) {
        if (parcels->messages[i].is_packed)
            cudaFree(parcels->messages[i].memory);
        if (parcels->messages[i].done)
            cudaEventDestroy(parcels->messages[i].done);
    }
    if (parcels->ready)
        cudaEventDestroy(parcels->ready);
}

void mw_nccl_lanes_free(MwNcclLanes **lanes)
{
    MwNcclLanes *old = *lanes;
    *lanes = NULL;
    if (!old)
        return;
    for (int i = 0; i < old->parcels.count; i++)
        free_parcels(old->parcels.at[i]);
    for (int i = 0; i < old->lanes.count; i++)
        if (old->lanes.at[i]->stream)
            cudaStreamDestroy(old->lanes.at[i]->stream);
    mw_notes_free(&old->notes);
}
