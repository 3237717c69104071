/* SPDX-License-Identifier: MIT */
#include "runtime/exec/lines.h"

#include "base/clock.h"
#include "runtime/plan/messages.h"

/* Where a transport moves messages in pieces, or by sockets, a turn moves a piece at most, or looks
 * for one. So messages get all turns when one begins, as both ends have to agree first, and else one
 * for so much time that went into computing: a hundredth or two of it where nothing moves. */
static const double TURN_S = 16e-6;
enum { MOST_TURNS = 16 };

/* The messages of a rank that may be under way together; NULL where it has none. */
typedef struct {
    MwParcels *sends, *receives;
} Hop;

/* A slot of the line's buffer. */
typedef struct {
    Hop *hops;
    int arrived; /* hops whose receives are there, of the messages that are under way */
    int users;   /* tasks that still use what is, or will be, in it; of lines that are ahead */
} Slot;

typedef struct {
    const MwTrafficLine *line;
    const MwTrafficProgram *program; /* says which micro-batch a message is of */
    const MwPlanBuffer *buffer;
    Slot *slots;
    int slot_count, hop_count;
    int posted, done; /* messages of this step */
} Line;

struct MwLines {
    MwArena *arena;
    MwDevice *device;
    MwTransport *transport;
    MwTraffic traffic;
    Line *lines;
    double turn_s; /* when messages last had a turn */
    bool is_asked; /* something was sent, received or waited for since then */
};

const MwTraffic *mw_lines_traffic(const MwLines *lines)
{
    return &lines->traffic;
}

/* ---- Getting ready ---- */

/* Those messages of one hop, of a rank that holds `block` in `buffer`. */
static bool pack_hop(MwLines *lines, const MwMessages *messages, int hop, const MwBlock *block,
                     void *buffer, bool sends, int tag, MwParcels **parcels, MwFault *fault)
{
    MW_VEC(MwParcel) list = {0};
    for (int i = 0; i < messages->count; i++) {
        const MwMessage *message = &messages->at[i];
        if (message->hop == hop)
            mw_vec_push(lines->arena, &list,
                        ((MwParcel){.peer = sends ? message->to : message->from,
                                    .box = mw_box_in_block(&message->box, block)}));
    }
    if (!list.count)
        return true;
    *parcels = lines->transport->table->pack(lines->transport, lines->device, buffer, list.at,
                                             list.count, sends, tag, fault);
    return *parcels != NULL;
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

static bool ready_line(MwLines *lines, const MwPlan *plan, Line *line, char *memory, MwFault *fault)
{
    const int rank = lines->transport->rank, index = line->line->transfer;
    const MwTransfer transfer = mw_transfer_of_plan(plan, index);
    const MwRankMessages messages = mw_transfer_of_rank(lines->arena, &transfer, rank);
    const MwBlock block = mw_transfer_block(line->line->sends ? &transfer.from : &transfer.to,
                                            &transfer.global, rank);
    line->hop_count = count_hops(&messages);
    line->slot_count = (int)mw_min(line->buffer->slots, plan->micro_batches);
    line->slots = MW_NEW(lines->arena, Slot, line->slot_count);
    for (int s = 0; s < line->slot_count; s++) {
        void *buffer = memory + mw_plan_slot_offset(line->buffer, s);
        line->slots[s].hops = MW_NEW(lines->arena, Hop, line->hop_count);
        for (int h = 0; h < line->hop_count; h++) {
            Hop *hop = &line->slots[s].hops[h];
            if (!pack_hop(lines, &messages.sends, h, &block, buffer, true, index, &hop->sends,
                          fault) ||
                !pack_hop(lines, &messages.receives, h, &block, buffer, false, index,
                          &hop->receives, fault))
                return mw_fault_prefix(fault, "transfer %d (%s)", index,
                                       plan->transfers[index].name);
        }
    }
    return true;
}

MwLines *mw_lines_new(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh, MwDevice *device,
                      MwTransport *transport, char *memory, MwFault *fault)
{
    MwLines *lines = MW_NEW(arena, MwLines, 1);
    *lines = (MwLines){.arena = arena,
                       .device = device,
                       .transport = transport,
                       .traffic = mw_traffic(arena, plan, mesh)};
    lines->lines = MW_NEW(arena, Line, lines->traffic.line_count);
    for (int l = 0; l < lines->traffic.line_count; l++) {
        Line *line = &lines->lines[l];
        line->line = &lines->traffic.lines[l];
        line->program = &lines->traffic.programs[line->line->program];
        line->buffer = &mesh->buffers[line->line->buffer];
        if (!ready_line(lines, plan, line, memory, fault))
            return NULL;
    }
    return lines;
}

/* ---- Messages ---- */

static bool begin(const MwLines *lines, MwParcels *parcels, MwFault *fault)
{
    return !parcels ||
           lines->transport->table->begin(lines->transport, lines->device, parcels, fault);
}

static bool wait(const MwLines *lines, MwParcels *parcels, MwFault *fault)
{
    return !parcels ||
           lines->transport->table->wait(lines->transport, lines->device, parcels, fault);
}

static bool test(const MwLines *lines, MwParcels *parcels, bool *done, MwFault *fault)
{
    *done = true;
    return !parcels ||
           lines->transport->table->test(lines->transport, lines->device, parcels, done, fault);
}

/* The slot of the line's message number `message` in a step. */
static Slot *slot_of(const Line *line, int message)
{
    return &line->slots[mw_plan_slot(line->buffer, line->program->micro_batches[message])];
}

/* ---- Sending ---- */

static bool send(const MwLines *lines, Line *line, MwFault *fault)
{
    MwParcels *parcels = slot_of(line, line->posted++)->hops[0].sends;
    return wait(lines, parcels, fault) && begin(lines, parcels, fault);
}

static bool wait_sent(const MwLines *lines, const Line *line, MwFault *fault)
{
    for (int s = 0; s < line->slot_count; s++)
        if (!wait(lines, line->slots[s].hops[0].sends, fault))
            return false;
    return true;
}

static bool progress_sends(const MwLines *lines, Line *line, MwFault *fault)
{
    bool done = true;
    while (line->done < line->posted && done) {
        if (!test(lines, slot_of(line, line->done)->hops[0].sends, &done, fault))
            return false;
        line->done += done;
    }
    return true;
}

/* ---- Receiving ---- */

/* Of all hops; what came is passed on as it comes. The sends of hop 0 are the other mesh's. */
static bool post_receive(const MwLines *lines, Line *line, MwFault *fault)
{
    Slot *slot = slot_of(line, line->posted++);
    slot->arrived = 0;
    slot->users = line->line->users;
    for (int h = 0; h < line->hop_count; h++)
        if (!begin(lines, slot->hops[h].receives, fault))
            return false;
    return true;
}

static bool post_ahead(const MwLines *lines, Line *line, MwFault *fault)
{
    while (line->line->is_ahead && line->posted < line->program->run_count &&
           slot_of(line, line->posted)->users == 0)
        if (!post_receive(lines, line, fault))
            return false;
    return true;
}

/* The receives of one more hop are there: the sends of the next begin. */
static bool pass_on(const MwLines *lines, const Line *line, Slot *slot, MwFault *fault)
{
    slot->arrived++;
    return slot->arrived == line->hop_count || begin(lines, slot->hops[slot->arrived].sends, fault);
}

/* Message by message, so that messages between two ranks keep their order. The last hop is asked
 * about too: a transport may need that to go on. */
static bool progress_receives(const MwLines *lines, const Line *line, MwFault *fault)
{
    bool done = true;
    for (int m = line->done; m < line->posted && done; m++) {
        Slot *slot = slot_of(line, m);
        while (slot->arrived < line->hop_count && done)
            if (!test(lines, slot->hops[slot->arrived].receives, &done, fault) ||
                (done && !pass_on(lines, line, slot, fault)))
                return false;
    }
    return true;
}

static bool receive(const MwLines *lines, Line *line, MwFault *fault)
{
    if (line->posted == line->done && !post_receive(lines, line, fault))
        return false;
    Slot *slot = slot_of(line, line->done++);
    while (slot->arrived < line->hop_count)
        if (!wait(lines, slot->hops[slot->arrived].receives, fault) ||
            !pass_on(lines, line, slot, fault))
            return false;
    for (int h = 0; h < line->hop_count; h++)
        if (!wait(lines, slot->hops[h].sends, fault))
            return false;
    return true;
}

/* ---- A step ---- */

bool mw_lines_begin_step(MwLines *lines, MwFault *fault)
{
    lines->turn_s = mw_clock_s();
    for (int l = 0; l < lines->traffic.line_count; l++) {
        Line *line = &lines->lines[l];
        line->posted = line->done = 0;
        for (int s = 0; s < line->slot_count; s++)
            line->slots[s].users = 0;
        if (!post_ahead(lines, line, fault))
            return false;
    }
    return true;
}

bool mw_lines_do(MwLines *lines, const MwTrafficEvent *event, int micro_batch, MwFault *fault)
{
    Line *line = &lines->lines[event->line];
    lines->is_asked = true;
    switch (event->kind) {
    case MW_TRAFFIC_WAIT:
        return wait(lines, line->slots[mw_plan_slot(line->buffer, micro_batch)].hops[0].sends,
                    fault);
    case MW_TRAFFIC_WAIT_ALL:
        return wait_sent(lines, line, fault);
    case MW_TRAFFIC_SEND:
        return send(lines, line, fault);
    case MW_TRAFFIC_RECEIVE:
        return receive(lines, line, fault);
    case MW_TRAFFIC_KINDS:
        break;
    }
    MW_UNREACHABLE();
}

/* `*done`: nothing is under way any more. */
static bool take_turn(const MwLines *lines, bool *done, MwFault *fault)
{
    *done = true;
    for (int l = 0; l < lines->traffic.line_count; l++) {
        Line *line = &lines->lines[l];
        if (line->done < line->posted &&
            !(line->line->sends ? progress_sends(lines, line, fault)
                                : progress_receives(lines, line, fault)))
            return false;
        *done = *done && line->done == line->posted;
    }
    return true;
}

static int64_t count_turns(const MwLines *lines)
{
    return lines->is_asked
               ? MOST_TURNS
               : mw_min(1 + (int64_t)((mw_clock_s() - lines->turn_s) / TURN_S), MOST_TURNS);
}

bool mw_lines_progress(MwLines *lines, MwFault *fault)
{
    bool done = false;
    if (lines->traffic.line_count == 0)
        return true;
    for (int64_t left = count_turns(lines); left > 0 && !done; left--)
        if (!take_turn(lines, &done, fault))
            return false;
    lines->is_asked = false;
    lines->turn_s = mw_clock_s();
    return true;
}

bool mw_lines_end_task(MwLines *lines, const MwPlanTask *task, MwFault *fault)
{
    const MwTrafficProgram *program = &lines->traffic.programs[task->program];
    for (int i = 0; i < program->line_count; i++) {
        Line *line = &lines->lines[program->lines[i]];
        line->slots[mw_plan_slot(line->buffer, task->micro_batch)].users--;
        if (!post_ahead(lines, line, fault))
            return false;
    }
    return true;
}

bool mw_lines_end_step(MwLines *lines, MwFault *fault)
{
    for (int l = 0; l < lines->traffic.line_count; l++)
        if (lines->lines[l].line->sends && !wait_sent(lines, &lines->lines[l], fault))
            return false;
    return true;
}
