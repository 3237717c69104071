/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/nccl_p2p.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* The states of a message, in the order in which it goes through them. */
typedef enum {
    IDLE,    /* not started, or complete */
    STARTED, /* work that was queued on the device before it may not be done */
    READY,   /* that work is done; the sender of a receive knows it */
    CALLED,  /* NCCL was called, and the communicator is not ready yet */
    QUEUED,  /* its work is on the link's stream, before the event `done` */
} State;

/* Rows of equal length at equal distances: what cudaMemcpy2DAsync copies. */
typedef struct {
    size_t offset, pitch, width; /* bytes: of the first row in the buffer, between rows, of a row */
    size_t height;               /* rows */
} Rows;

typedef struct Link Link;

typedef struct {
    Link *link;
    State state;
    int64_t bytes;
    char *memory; /* [bytes] contiguous: in the buffer, or packed */
    bool is_packed;
    Rows *rows; /* [rows_count] the box in the buffer, in the order of the packed message */
    int rows_count;
    cudaEvent_t done;
} Message;

struct MwRequest {
    Message *messages;
    int count;
    bool sends;
    int tag;
    char *buffer;
    cudaStream_t compute;
    cudaEvent_t ready; /* occurs when the work queued on the device before the start is done */
    bool is_started;
};

struct Link {
    MwNcclComm comm; /* rank 0 is the sender, rank 1 the receiver */
    cudaStream_t stream;
    int peer;
    bool sends;
    void *memory;    /* of one of its messages */
    Message *called; /* the message in state CALLED; NULL: none */
    int *credits;    /* [tags] sending: messages that the receiver is ready for */
    int *
        /* receiving: ring of the tags of messages that the peer sends, not yet called for */
        announced;
    int announced_first, announced_count, announced_room;
};

struct MwNcclP2p {
    MwArena *arena;
    MwNccl *nccl;
    MwTransport *hosts;
    MwControl *control;
    MW_VEC(Link *) links;
    MW_VEC(MwRequest *) requests;
    MwRequest **started; /* [started_count] in the order of their starts */
    int started_count, tag_count;
};

/* Kinds of control messages. */
enum {
    CONTROL_READY,   /* receiver to sender: it is ready for one more message of the tag */
    CONTROL_SENDING, /* sender to receiver: a message of the tag is on its way */
};

/* Thread blocks of the kernel of one message. More blocks use more of the bandwidth of a link. But
 * a block occupies its multiprocessor until the peer has come, so that the blocks of all messages
 * in flight and of a collective must have room on a GPU at once: else each message could wait for
 * one that finds no room at the peer. Where a multiprocessor holds one block of NCCL, the 108 of an
 * A100 have room for 27 messages of 4 blocks, less those that a collective takes. Derived, not
 * measured. */
enum { MESSAGE_BLOCKS = 4 };

#define CUDA(name, ...) MW_NCCL_CUDA(p2p->nccl, name, __VA_ARGS__)

/* ---- Packing ---- */

/* Describes a box as rows, in `rows` unless it is NULL. Returns their number. */
static int make_rows(const MwBox *box, Rows *rows)
{
    const size_t bytes = (size_t)mw_type_bytes(box->global.type);
    Rows last = {0};
    int count = 0;
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);) {
        const size_t offset = (size_t)segment.global * bytes;
        const size_t width = (size_t)segment.count * bytes;
        const bool fits = last.height > 0 && width == last.width;
        if (fits && last.height == 1)
            last.pitch = offset - last.offset;
        if (fits && offset == last.offset + last.height * last.pitch) {
            last.height++;
        } else {
            count += last.height > 0;
            last = (Rows){offset, width, width, 1};
        }
        if (rows)
            rows[count] = last;
    }
    return count + (last.height > 0);
}

/* Packs the message of a send, or unpacks that of a receive. */
static bool copy_rows(MwNcclP2p *p2p, const MwRequest *request, const Message *message,
                      cudaStream_t stream, MwFault *fault)
{
    char *packed = message->memory;
    for (int i = 0; i < message->rows_count; i++) {
        const Rows *rows = &message->rows[i];
        char *at = request->buffer + rows->offset;
        if (request->sends ? !CUDA(cudaMemcpy2DAsync, packed, rows->width, at, rows->pitch,
                                   rows->width, rows->height, cudaMemcpyDeviceToDevice, stream)
                           : !CUDA(cudaMemcpy2DAsync, at, rows->pitch, packed, rows->width,
                                   rows->width, rows->height, cudaMemcpyDeviceToDevice, stream))
            return false;
        packed += rows->width * rows->height;
    }
    return true;
}

static Link *find_link(const MwNcclP2p *p2p, int peer, bool sends)
{
    for (int i = 0; i < p2p->links.count; i++)
        if (p2p->links.at[i]->peer == peer && p2p->links.at[i]->sends == sends)
            return p2p->links.at[i];
    return NULL;
}

static Link *take_link(MwNcclP2p *p2p, int peer, bool sends)
{
    Link *link = find_link(p2p, peer, sends);
    if (link)
        return link;
    link = MW_NEW(p2p->arena, Link, 1);
    link->peer = peer;
    link->sends = sends;
    snprintf(link->comm.label, sizeof link->comm.label, "%s rank %d", sends ? "to" : "from", peer);
    mw_vec_push(p2p->arena, &p2p->links, link);
    return link;
}

static bool init_message(MwNcclP2p *p2p, const MwRequest *request, const MwPeerBox *peer_box,
                         Message *message, MwFault *fault)
{
    const MwBox *box = &peer_box->box;
    message->link = take_link(p2p, peer_box->peer, request->sends);
    message->link->announced_room++;
    message->bytes = mw_box_elements(box) * mw_type_bytes(box->global.type);
    message->rows_count = make_rows(box, NULL);
    message->rows = MW_NEW(p2p->arena, Rows, message->rows_count);
    make_rows(box, message->rows);
    message->memory = request->buffer + message->rows->offset;
    message->is_packed = message->rows_count > 1 || message->rows->height > 1;
    if (message->is_packed && !CUDA(cudaMalloc, (void **)&message->memory, (size_t)message->bytes))
        return false;
    message->link->memory = message->memory;
    return CUDA(cudaEventCreateWithFlags, &message->done, cudaEventDisableTiming);
}

MwRequest *mw_nccl_p2p_request_new(MwNcclP2p *p2p, cudaStream_t compute, const MwMessageSet *set,
                                   MwFault *fault)
{
    MwRequest *request = MW_NEW(p2p->arena, MwRequest, 1);
    *request = (MwRequest){.messages = MW_NEW(p2p->arena, Message, set->count),
                           .sends = set->sends,
                           .tag = set->tag,
                           .buffer = set->buffer,
                           .compute = compute};
    mw_vec_push(p2p->arena, &p2p->requests, request);
    p2p->tag_count = (int)mw_max(p2p->tag_count, set->tag + 1);
    for (; request->count < set->count; request->count++)
        if (!init_message(p2p, request, &set->boxes[request->count],
                          &request->messages[request->count], fault))
            return NULL;
    return CUDA(cudaEventCreateWithFlags, &request->ready, cudaEventDisableTiming) ? request : NULL;
}

/* ---- Connecting ---- */

/* Orders links by sender, then by receiver: ranks that open their links in this order do not wait
 * for each other in a cycle. */
static int compare_links(int self, const Link *a, const Link *b)
{
    const int a_from = a->sends ? self : a->peer, b_from = b->sends ? self : b->peer;
    const int a_to = a->sends ? a->peer : self, b_to = b->sends ? b->peer : self;
    return a_from != b_from ? a_from - b_from : a_to - b_to;
}

static void sort_links(MwNcclP2p *p2p)
{
    for (int i = 1; i < p2p->links.count; i++) {
        Link *link = p2p->links.at[i];
        int to = i;
        for (; to > 0 && compare_links(p2p->hosts->rank, link, p2p->links.at[to - 1]) < 0; to--)
            p2p->links.at[to] = p2p->links.at[to - 1];
        p2p->links.at[to] = link;
    }
}

static bool make_stream(MwNcclP2p *p2p, Link *link, MwFault *fault)
{
    int least, greatest;
    link->credits = MW_NEW(p2p->arena, int, p2p->tag_count);
    link->announced = MW_NEW(p2p->arena, int, link->announced_room);
    /* Streams of one priority may share a hardware queue of the GPU. No other stream has the
     * greatest priority, so that nothing of the device's streams is ever ahead of a message. */
    return CUDA(cudaDeviceGetStreamPriorityRange, &least, &greatest) &&
           CUDA(cudaStreamCreateWithPriority, &link->stream, cudaStreamNonBlocking, greatest);
}

/* The sender creates the id. The receiver waits for it in any case, even if an earlier link has
 * failed at either end. */
static bool open_link(MwNcclP2p *p2p, Link *link, MwFault *fault)
{
    const MwTransportTable *hosts = p2p->hosts->table;
    MwNcclRootId root = {0};
    if (link->sends)
        root = mw_nccl_root_id(p2p->nccl, &link->comm);
    if (!(link->sends ? hosts->send(p2p->hosts, link->peer, &root, sizeof root, fault)
                      : hosts->receive(p2p->hosts, link->peer, &root, sizeof root, fault)))
        return false;
    *fault = root.fault;
    const MwNcclMembership membership = {
        .id = root.id, .members = 2, .self = !link->sends, .most_blocks = MESSAGE_BLOCKS};
    return !root.failed && make_stream(p2p, link, fault) &&
           mw_nccl_comm_begin(p2p->nccl, p2p->arena, &link->comm, &membership, fault);
}

static bool call_nccl(MwNcclP2p *p2p, const Link *link, void *memory, size_t bytes, MwFault *fault)
{
    return link->sends ? MW_NCCL_CALL(p2p->nccl, &link->comm, ncclSend, memory, bytes, ncclUint8, 1,
                                      link->comm.comm, link->stream)
                       : MW_NCCL_CALL(p2p->nccl, &link->comm, ncclRecv, memory, bytes, ncclUint8, 0,
                                      link->comm.comm, link->stream);
}

bool mw_nccl_p2p_connect(MwNcclP2p *p2p, MwFault *fault)
{
    MwFault later; /* a fault after the first one */
    bool good = true;
    sort_links(p2p);
    p2p->started = MW_NEW(p2p->arena, MwRequest *, p2p->requests.count);
    for (int i = 0; i < p2p->links.count; i++)
        good = open_link(p2p, p2p->links.at[i], good ? fault : &later) && good;
    good = mw_nccl_agree(p2p->arena, p2p->hosts, good, fault);
    for (int i = 0; good && i < p2p->links.count; i++)
        good =
            mw_nccl_wait_ready(p2p->nccl, &p2p->links.at[i]->comm, "ncclCommInitRankConfig", fault);
    return good;
}

/* NCCL connects the two ends of a link at its first message. All ranks send it in the order of
 * links, one link at a time. */
static bool send_first(MwNcclP2p *p2p, const Link *link, MwFault *fault)
{
    const char *call = link->sends ? "ncclSend" : "ncclRecv";
    if (!call_nccl(p2p, link, link->memory, 1, fault) ||
        !mw_nccl_wait_ready(p2p->nccl, &link->comm, call, fault) ||
        !mw_nccl_watch_call(p2p->nccl, &p2p->nccl->messages, &link->comm, call, link->stream,
                            fault))
        return false;
    while (p2p->nccl->messages.count > 0)
        if (!mw_nccl_idle(p2p->nccl, fault))
            return false;
    return true;
}

bool mw_nccl_p2p_send_first(MwNcclP2p *p2p, MwFault *fault)
{
    for (int i = 0; i < p2p->links.count; i++)
        if (!send_first(p2p, p2p->links.at[i], fault))
            return false;
    return true;
}

/* ---- Control messages ---- */

static bool take_control_messages(MwNcclP2p *p2p, MwFault *fault)
{
    MwControlMessage message;
    bool found;
    while (true) {
        if (!mw_control_poll(p2p->control, &message, &found, fault))
            return false;
        if (!found)
            return true;
        Link *link = find_link(p2p, message.peer, message.kind == CONTROL_READY);
        MW_ASSERT(link && message.tag < p2p->tag_count);
        if (message.kind == CONTROL_READY) {
            link->credits[message.tag]++;
            continue;
        }
        MW_ASSERT(link->announced_count < link->announced_room);
        const int last = link->announced_first + link->announced_count++;
        link->announced[last % link->announced_room] = message.tag;
    }
}

/* ---- Progress ---- */

static bool set_ready(MwNcclP2p *p2p, const MwRequest *request, MwFault *fault)
{
    for (int i = 0; i < request->count; i++) {
        Message *message = &request->messages[i];
        const MwControlMessage ready = {message->link->peer, CONTROL_READY, request->tag};
        message->state = READY;
        if (!request->sends && !mw_control_send(p2p->control, ready, fault))
            return false;
    }
    return true;
}

/* Finds the started messages that are ready, in the order of the starts, which is that of the
 * events on the stream. */
static bool find_ready(MwNcclP2p *p2p, MwFault *fault)
{
    bool done = true;
    for (int i = 0; i < p2p->started_count && done; i++) {
        const MwRequest *request = p2p->started[i];
        if (request->messages->state != STARTED)
            continue;
        if (!mw_nccl_is_done(p2p->nccl, request->ready, &done, fault) ||
            (done && !set_ready(p2p, request, fault)))
            return false;
    }
    return true;
}

/* True if NCCL can be called on the link now. */
static bool is_free(const MwNcclP2p *p2p, const Link *link)
{
    return !link->called && p2p->nccl->messages.count < MW_NCCL_MOST_CALLS &&
           !p2p->nccl->is_calling;
}

static bool call(MwNcclP2p *p2p, Message *message, MwFault *fault)
{
    Link *link = message->link;
    link->called = message;
    p2p->nccl->is_calling = true;
    message->state = CALLED;
    return call_nccl(p2p, link, message->memory, (size_t)message->bytes, fault);
}

static bool call_send(MwNcclP2p *p2p, const MwRequest *request, Message *message, MwFault *fault)
{
    Link *link = message->link;
    const MwControlMessage sending = {link->peer, CONTROL_SENDING, request->tag};
    if (message->state != READY || link->credits[request->tag] == 0 || !is_free(p2p, link))
        return true;
    link->credits[request->tag]--;
    return mw_control_send(p2p->control, sending, fault) && call(p2p, message, fault);
}

static bool call_sends(MwNcclP2p *p2p, MwFault *fault)
{
    for (int i = 0; i < p2p->started_count; i++) {
        const MwRequest *request = p2p->started[i];
        for (int m = 0; m < request->count && request->sends; m++)
            if (!call_send(p2p, request, &request->messages[m], fault))
                return false;
    }
    return true;
}

/* The first receive of the tag on the link that the sender knows to be ready. */
static Message *find_receive(const MwNcclP2p *p2p, const Link *link, int tag)
{
    for (int i = 0; i < p2p->started_count; i++) {
        const MwRequest *request = p2p->started[i];
        for (int m = 0; m < request->count && request->tag == tag; m++)
            if (request->messages[m].link == link && request->messages[m].state == READY)
                return &request->messages[m];
    }
    MW_UNREACHABLE();
}

static bool call_receives(MwNcclP2p *p2p, MwFault *fault)
{
    for (int i = 0; i < p2p->links.count; i++) {
        Link *link = p2p->links.at[i];
        if (link->announced_count == 0 || !is_free(p2p, link))
            continue;
        const int tag = link->announced[link->announced_first];
        link->announced_first = (link->announced_first + 1) % link->announced_room;
        link->announced_count--;
        if (!call(p2p, find_receive(p2p, link, tag), fault))
            return false;
    }
    return true;
}

static const MwRequest *request_of(const MwNcclP2p *p2p, const Message *message)
{
    for (int i = 0; i < p2p->started_count; i++) {
        const MwRequest *request = p2p->started[i];
        if (message >= request->messages && message < request->messages + request->count)
            return request;
    }
    MW_UNREACHABLE();
}

/* The communicator is ready: the work of the call is queued. */
static bool finish_call(MwNcclP2p *p2p, Link *link, MwFault *fault)
{
    Message *message = link->called;
    const MwRequest *request = request_of(p2p, message);
    link->called = NULL;
    p2p->nccl->is_calling = false;
    message->state = QUEUED;
    return (link->sends || !message->is_packed ||
            copy_rows(p2p, request, message, link->stream, fault)) &&
           CUDA(cudaEventRecord, message->done, link->stream) &&
           mw_nccl_watch_call(p2p->nccl, &p2p->nccl->messages, &link->comm,
                              link->sends ? "ncclSend" : "ncclRecv", link->stream, fault);
}

static bool finish_calls(MwNcclP2p *p2p, MwFault *fault)
{
    for (int i = 0; i < p2p->links.count; i++) {
        Link *link = p2p->links.at[i];
        bool ready;
        if (!link->called)
            continue;
        if (!mw_nccl_is_ready(p2p->nccl, &link->comm, link->sends ? "ncclSend" : "ncclRecv", &ready,
                              fault) ||
            (ready && !finish_call(p2p, link, fault)))
            return false;
    }
    return true;
}

bool mw_nccl_p2p_progress(MwNcclP2p *p2p, MwFault *fault)
{
    return take_control_messages(p2p, fault) && find_ready(p2p, fault) && call_sends(p2p, fault) &&
           call_receives(p2p, fault) && finish_calls(p2p, fault);
}

/* ---- Requests ---- */

bool mw_nccl_p2p_start(MwNcclP2p *p2p, MwRequest *request, MwFault *fault)
{
    MW_ASSERT(!request->is_started);
    for (int i = 0; i < request->count; i++) {
        Message *message = &request->messages[i];
        message->state = STARTED;
        if (request->sends && message->is_packed &&
            !copy_rows(p2p, request, message, request->compute, fault))
            return false;
    }
    request->is_started = true;
    p2p->started[p2p->started_count++] = request;
    return CUDA(cudaEventRecord, request->ready, request->compute) &&
           mw_nccl_p2p_progress(p2p, fault);
}

static void complete(MwNcclP2p *p2p, MwRequest *request)
{
    int at = 0, to = 0;
    for (; at < p2p->started_count; at++)
        if (p2p->started[at] != request)
            p2p->started[to++] = p2p->started[at];
    p2p->started_count = to;
    request->is_started = false;
}

static bool test_message(MwNcclP2p *p2p, Message *message, bool *done, MwFault *fault)
{
    *done = message->state == IDLE;
    if (message->state != QUEUED)
        return true;
    if (!mw_nccl_is_done(p2p->nccl, message->done, done, fault))
        return false;
    message->state = *done ? IDLE : QUEUED;
    return true;
}

bool mw_nccl_p2p_test(MwNcclP2p *p2p, MwRequest *request, bool *done, MwFault *fault)
{
    *done = true;
    if (!request->is_started)
        return true;
    if (!mw_nccl_p2p_progress(p2p, fault))
        return false;
    for (int i = 0; i < request->count && *done; i++)
        if (!test_message(p2p, &request->messages[i], done, fault))
            return false;
    if (*done)
        complete(p2p, request);
    return true;
}

/* The host waits only until the messages are queued; the device waits until they are complete. */
bool mw_nccl_p2p_wait(MwNcclP2p *p2p, MwRequest *request, MwFault *fault)
{
    const double since_s = mw_clock_s();
    if (!request->is_started)
        return true;
    for (int i = 0; i < request->count; i++) {
        Message *message = &request->messages[i];
        while (message->state != QUEUED && message->state != IDLE)
            if (!mw_nccl_idle_since(p2p->nccl, since_s, request->sends ? "a send" : "a receive",
                                    message->link->comm.label, fault))
                return false;
        if (message->state == QUEUED &&
            !CUDA(cudaStreamWaitEvent, request->compute, message->done, 0))
            return false;
        message->state = IDLE;
    }
    complete(p2p, request);
    return true;
}

/* ---- Creation and destruction ---- */

MwNcclP2p *mw_nccl_p2p_new(MwArena *arena, MwNccl *nccl, MwTransport *hosts, MwFault *fault)
{
    MwNcclP2p *p2p = MW_NEW(arena, MwNcclP2p, 1);
    *p2p = (MwNcclP2p){
        .arena = arena, .nccl = nccl, .hosts = hosts, .control = mw_control_new(arena, fault)};
    return p2p->control ? p2p : NULL;
}

static void free_request(MwRequest *request)
{
    for (int i = 0; i < request->count; i++) {
        if (request->messages[i].is_packed)
            cudaFree(request->messages[i].memory);
        if (request->messages[i].done)
            cudaEventDestroy(request->messages[i].done);
    }
    if (request->ready)
        cudaEventDestroy(request->ready);
}

void mw_nccl_p2p_free(MwNcclP2p **p2p)
{
    MwNcclP2p *old = *p2p;
    *p2p = NULL;
    if (!old)
        return;
    for (int i = 0; i < old->requests.count; i++)
        free_request(old->requests.at[i]);
    for (int i = 0; i < old->links.count; i++)
        if (old->links.at[i]->stream)
            cudaStreamDestroy(old->links.at[i]->stream);
    mw_control_free(&old->control);
}
