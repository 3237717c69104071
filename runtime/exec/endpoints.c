/* SPDX-License-Identifier: MIT */
#include "runtime/exec/endpoints.h"

#include "base/clock.h"
#include "runtime/plan/messages.h"

/* Progress of messages in flight, polled after every instruction. Where the transport moves a
 * message in pieces or over sockets, one poll moves one piece at most. So all polls are made when a
 * message was just started or waited for, since both ends have to agree first; otherwise one poll
 * for each POLL_INTERVAL_S that was spent computing, and MOST_POLLS at most. More polls hide more
 * of the transfers, and cost the time of MPI_Testall where nothing moves: some 0.2 us each, that is
 * 1 to 2 % of the interval. Chosen with bench/overlap: with one poll after each instruction, a
 * pipeline with heavy transfers took a fifth longer. Where ranks outnumber cores, a poll that finds
 * nothing gives the core away, and one is made after each instruction: four ranks on two cores took
 * a sixth less CPU time in all. */
static const double POLL_INTERVAL_S = 16e-6;
enum { MOST_POLLS = 16 };

/* The requests of one hop; NULL where the rank has no message in it. */
typedef struct {
    MwRequest *sends, *receives;
} Hop;

/* A slot of the endpoint's buffer. */
typedef struct {
    Hop *hops;
    int arrived; /* hops whose receives are complete, for the message in flight */
    int users;   /* endpoints posted ahead: tasks that are still to use the slot's value */
} Slot;

typedef struct {
    const MwTrafficEndpoint *info;
    const MwTrafficProgram *program; /* its micro_batches[m] is the micro-batch of message m */
    const MwPlanBuffer *buffer;
    Slot *slots;
    int slot_count, hop_count;
    int posted, done; /* messages of this step */
} Endpoint;

struct MwEndpoints {
    MwArena *arena;
    const MwPlan *plan;
    MwDevice *device;
    MwTransport *transport;
    char *memory; /* the device's arena */
    MwTraffic traffic;
    Endpoint *endpoints; /* [traffic.endpoints] */
    double polled_s;     /* time of the last poll */
    bool is_fresh;       /* a message was started or waited for since then */
};

const MwTraffic *mw_endpoints_traffic(const MwEndpoints *endpoints)
{
    return &endpoints->traffic;
}

/* ---- Setting up ---- */

/* The message set of one transfer for one slot: `shard` is the rank's part of the tensor, in
 * `set.buffer`. */
typedef struct {
    const MwMessages *messages;
    const MwBox *shard;
    MwMessageSet set; /* without its boxes */
} Packing;

/* The request of one hop; stays NULL where it has no message. */
static bool init_hop(MwEndpoints *endpoints, Packing packing, int hop, MwRequest **request,
                     MwFault *fault)
{
    MwTransport *transport = endpoints->transport;
    MW_VEC(MwPeerBox) boxes = {0};
    for (int i = 0; i < packing.messages->count; i++) {
        const MwMessage *message = &packing.messages->at[i];
        if (message->hop == hop)
            mw_vec_push(endpoints->arena, &boxes,
                        ((MwPeerBox){.peer = packing.set.sends ? message->to : message->from,
                                     .box = mw_box_within(&message->box, packing.shard)}));
    }
    if (!boxes.count)
        return true;
    packing.set.boxes = boxes.at;
    packing.set.count = boxes.count;
    *request = transport->table->init_request(transport, endpoints->device, &packing.set, fault);
    return *request != NULL;
}

static int count_hops(const MwRankMessages *messages)
{
    int hops = 1;
    for (int i = 0; i < messages->sends.count; i++)
        hops = (int)mw_max(hops, messages->sends.at[i].hop + 1);
    for (int i = 0; i < messages->receives.count; i++)
        hops = (int)mw_max(hops, messages->receives.at[i].hop + 1);
    return hops;
}

static bool init_slot(MwEndpoints *endpoints, const Endpoint *endpoint, int slot,
                      const MwRankMessages *messages, const MwBox *shard, MwFault *fault)
{
    Hop *hops = endpoint->slots[slot].hops = MW_NEW(endpoints->arena, Hop, endpoint->hop_count);
    Packing sends = {&messages->sends, shard, {.sends = true, .tag = endpoint->info->transfer}};
    Packing receives = {&messages->receives, shard, {.tag = endpoint->info->transfer}};
    sends.set.buffer = receives.set.buffer =
        endpoints->memory + mw_plan_slot_offset(endpoint->buffer, slot);
    for (int h = 0; h < endpoint->hop_count; h++)
        if (!init_hop(endpoints, sends, h, &hops[h].sends, fault) ||
            !init_hop(endpoints, receives, h, &hops[h].receives, fault))
            return false;
    return true;
}

static bool init_endpoint(MwEndpoints *endpoints, Endpoint *endpoint, MwFault *fault)
{
    const int rank = endpoints->transport->rank, index = endpoint->info->transfer;
    const MwTransfer transfer = mw_transfer_of_plan(endpoints->plan, index);
    const MwRankMessages messages = mw_transfer_of_rank(endpoints->arena, &transfer, rank);
    const MwBox shard = mw_transfer_shard(endpoint->info->sends ? &transfer.from : &transfer.to,
                                          &transfer.global, rank);
    endpoint->hop_count = count_hops(&messages);
    endpoint->slot_count = (int)mw_min(endpoint->buffer->slots, endpoints->plan->micro_batches);
    endpoint->slots = MW_NEW(endpoints->arena, Slot, endpoint->slot_count);
    for (int s = 0; s < endpoint->slot_count; s++)
        if (!init_slot(endpoints, endpoint, s, &messages, &shard, fault))
            return mw_fault_prefix(fault, "transfer %d (%s)", index,
                                   endpoints->plan->transfers[index].name);
    return true;
}

MwEndpoints *mw_endpoints_new(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                              MwDevice *device, MwTransport *transport, char *memory,
                              MwFault *fault)
{
    MwEndpoints *endpoints = MW_NEW(arena, MwEndpoints, 1);
    *endpoints = (MwEndpoints){.arena = arena,
                               .plan = plan,
                               .device = device,
                               .transport = transport,
                               .memory = memory,
                               .traffic = mw_traffic(arena, plan, mesh)};
    endpoints->endpoints = MW_NEW(arena, Endpoint, endpoints->traffic.endpoint_count);
    for (int e = 0; e < endpoints->traffic.endpoint_count; e++) {
        Endpoint *endpoint = &endpoints->endpoints[e];
        endpoint->info = &endpoints->traffic.endpoints[e];
        endpoint->program = &endpoints->traffic.programs[endpoint->info->program];
        endpoint->buffer = &mesh->buffers[endpoint->info->buffer];
        if (!init_endpoint(endpoints, endpoint, fault))
            return NULL;
    }
    return endpoints;
}

/* ---- Requests, of which NULL is complete ---- */

static bool start(const MwEndpoints *endpoints, MwRequest *request, MwFault *fault)
{
    MwTransport *transport = endpoints->transport;
    return !request || transport->table->start(transport, endpoints->device, request, fault);
}

static bool wait(const MwEndpoints *endpoints, MwRequest *request, MwFault *fault)
{
    MwTransport *transport = endpoints->transport;
    return !request || transport->table->wait(transport, endpoints->device, request, fault);
}

static bool test(const MwEndpoints *endpoints, MwRequest *request, bool *done, MwFault *fault)
{
    MwTransport *transport = endpoints->transport;
    *done = true;
    return !request || transport->table->test(transport, endpoints->device, request, done, fault);
}

/* The slot of message number `message` of a step. */
static Slot *slot_of(const Endpoint *endpoint, int message)
{
    const int micro_batch = endpoint->program->micro_batches[message];
    return &endpoint->slots[mw_plan_slot(endpoint->buffer, micro_batch)];
}

/* ---- Sending ---- */

static bool send(const MwEndpoints *endpoints, Endpoint *endpoint, MwFault *fault)
{
    MwRequest *request = slot_of(endpoint, endpoint->posted++)->hops[0].sends;
    return wait(endpoints, request, fault) && start(endpoints, request, fault);
}

static bool wait_sent(const MwEndpoints *endpoints, const Endpoint *endpoint, MwFault *fault)
{
    for (int s = 0; s < endpoint->slot_count; s++)
        if (!wait(endpoints, endpoint->slots[s].hops[0].sends, fault))
            return false;
    return true;
}

static bool progress_sends(const MwEndpoints *endpoints, Endpoint *endpoint, MwFault *fault)
{
    bool done = true;
    while (endpoint->done < endpoint->posted && done) {
        if (!test(endpoints, slot_of(endpoint, endpoint->done)->hops[0].sends, &done, fault))
            return false;
        endpoint->done += done;
    }
    return true;
}

/* ---- Receiving ---- */

/* Starts the receives of all hops. The sends of later hops start when their hop is reached; the
 * sends of hop 0 are the other mesh's. */
static bool post_receive(const MwEndpoints *endpoints, Endpoint *endpoint, MwFault *fault)
{
    Slot *slot = slot_of(endpoint, endpoint->posted++);
    slot->arrived = 0;
    slot->users = endpoint->info->users;
    for (int h = 0; h < endpoint->hop_count; h++)
        if (!start(endpoints, slot->hops[h].receives, fault))
            return false;
    return true;
}

static bool post_ahead(const MwEndpoints *endpoints, Endpoint *endpoint, MwFault *fault)
{
    while (endpoint->info->is_ahead && endpoint->posted < endpoint->program->run_count &&
           slot_of(endpoint, endpoint->posted)->users == 0)
        if (!post_receive(endpoints, endpoint, fault))
            return false;
    return true;
}

/* The receives of one more hop are complete: the sends of the next hop start. */
static bool pass_on(const MwEndpoints *endpoints, const Endpoint *endpoint, Slot *slot,
                    MwFault *fault)
{
    slot->arrived++;
    return slot->arrived == endpoint->hop_count ||
           start(endpoints, slot->hops[slot->arrived].sends, fault);
}

/* Message by message, so that messages between two ranks keep their order. The last hop is polled
 * too, since a transport may need that to make progress. */
static bool progress_receives(const MwEndpoints *endpoints, const Endpoint *endpoint,
                              MwFault *fault)
{
    bool done = true;
    for (int m = endpoint->done; m < endpoint->posted && done; m++) {
        Slot *slot = slot_of(endpoint, m);
        while (slot->arrived < endpoint->hop_count && done)
            if (!test(endpoints, slot->hops[slot->arrived].receives, &done, fault) ||
                (done && !pass_on(endpoints, endpoint, slot, fault)))
                return false;
    }
    return true;
}

static bool receive(const MwEndpoints *endpoints, Endpoint *endpoint, MwFault *fault)
{
    if (endpoint->posted == endpoint->done && !post_receive(endpoints, endpoint, fault))
        return false;
    Slot *slot = slot_of(endpoint, endpoint->done++);
    while (slot->arrived < endpoint->hop_count)
        if (!wait(endpoints, slot->hops[slot->arrived].receives, fault) ||
            !pass_on(endpoints, endpoint, slot, fault))
            return false;
    for (int h = 0; h < endpoint->hop_count; h++)
        if (!wait(endpoints, slot->hops[h].sends, fault))
            return false;
    return true;
}

/* ---- A step ---- */

bool mw_endpoints_begin_step(MwEndpoints *endpoints, MwFault *fault)
{
    endpoints->polled_s = mw_clock_s();
    for (int e = 0; e < endpoints->traffic.endpoint_count; e++) {
        Endpoint *endpoint = &endpoints->endpoints[e];
        endpoint->posted = endpoint->done = 0;
        for (int s = 0; s < endpoint->slot_count; s++)
            endpoint->slots[s].users = 0;
        if (!post_ahead(endpoints, endpoint, fault))
            return false;
    }
    return true;
}

bool mw_endpoints_do(MwEndpoints *endpoints, const MwTrafficOp *op, int micro_batch, MwFault *fault)
{
    Endpoint *endpoint = &endpoints->endpoints[op->endpoint];
    const Slot *slot;
    endpoints->is_fresh = true;
    switch (op->kind) {
    case MW_TRAFFIC_WAIT:
        slot = &endpoint->slots[mw_plan_slot(endpoint->buffer, micro_batch)];
        return wait(endpoints, slot->hops[0].sends, fault);
    case MW_TRAFFIC_WAIT_ALL:
        return wait_sent(endpoints, endpoint, fault);
    case MW_TRAFFIC_SEND:
        return send(endpoints, endpoint, fault);
    case MW_TRAFFIC_RECEIVE:
        return receive(endpoints, endpoint, fault);
    case MW_TRAFFIC_KINDS:
        break;
    }
    MW_UNREACHABLE();
}

/* Polls every endpoint once. `*done`: no message is in flight any more. */
static bool poll(const MwEndpoints *endpoints, bool *done, MwFault *fault)
{
    *done = true;
    for (int e = 0; e < endpoints->traffic.endpoint_count; e++) {
        Endpoint *endpoint = &endpoints->endpoints[e];
        if (endpoint->done < endpoint->posted &&
            !(endpoint->info->sends ? progress_sends(endpoints, endpoint, fault)
                                    : progress_receives(endpoints, endpoint, fault)))
            return false;
        *done = *done && endpoint->done == endpoint->posted;
    }
    return true;
}

static int64_t count_polls(const MwEndpoints *endpoints)
{
    if (endpoints->transport->is_crowded)
        return 1;
    if (endpoints->is_fresh)
        return MOST_POLLS;
    const double computed_s = mw_clock_s() - endpoints->polled_s;
    return mw_min(1 + (int64_t)(computed_s / POLL_INTERVAL_S), MOST_POLLS);
}

bool mw_endpoints_progress(MwEndpoints *endpoints, MwFault *fault)
{
    bool done = false;
    if (endpoints->traffic.endpoint_count == 0 || endpoints->device->is_capturing)
        return true;
    for (int64_t left = count_polls(endpoints); left > 0 && !done; left--)
        if (!poll(endpoints, &done, fault))
            return false;
    endpoints->is_fresh = false;
    endpoints->polled_s = mw_clock_s();
    return true;
}

bool mw_endpoints_end_task(MwEndpoints *endpoints, const MwPlanTask *task, MwFault *fault)
{
    const MwTrafficProgram *program = &endpoints->traffic.programs[task->program];
    for (int i = 0; i < program->ahead_count; i++) {
        Endpoint *endpoint = &endpoints->endpoints[program->ahead[i]];
        endpoint->slots[mw_plan_slot(endpoint->buffer, task->micro_batch)].users--;
        if (!post_ahead(endpoints, endpoint, fault))
            return false;
    }
    return true;
}

bool mw_endpoints_end_step(MwEndpoints *endpoints, MwFault *fault)
{
    for (int e = 0; e < endpoints->traffic.endpoint_count; e++)
        if (endpoints->endpoints[e].info->sends &&
            !wait_sent(endpoints, &endpoints->endpoints[e], fault))
            return false;
    return true;
}
