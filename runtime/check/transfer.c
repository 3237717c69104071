/* SPDX-License-Identifier: MIT */
/* The proof that a list of messages is a transfer.
 *
 * In: the transfer and its messages. Out: what is wrong, or nothing. Knows only what a spec means
 * (runtime/plan/box.h), not how messages are chosen. Boxes are compared as boxes, so that the time
 * does not grow with the tensor: what a rank got covers its box once if the boxes lie within it, no
 * two share an element, and their elements add up to its own; and it covers a box to be sent if
 * what they share with it adds up to that. */
#include "runtime/check/transfer.h"

typedef struct {
    MwArena *arena;
    const MwTransfer *transfer;
    const MwMessages *messages;
    /* Per device of the receiving side, the boxes it got, in order of hop. */
    struct {
        const MwMessage **at;
        int count;
    } * received;
} Check;

static int64_t shared_elements(const MwBox *a, const MwBox *b)
{
    int64_t elements = 1;
    for (int d = 0; d < a->global.rank; d++) {
        int64_t start = mw_max(a->start[d], b->start[d]);
        int64_t end = mw_min(a->start[d] + a->size[d], b->start[d] + b->size[d]);
        elements *= mw_max(0, end - start);
    }
    return elements;
}

static bool is_within(const MwBox *inner, const MwBox *outer)
{
    for (int d = 0; d < inner->global.rank; d++)
        if (inner->size[d] < 1 || inner->start[d] < outer->start[d] ||
            inner->start[d] + inner->size[d] > outer->start[d] + outer->size[d])
            return false;
    return true;
}

static const char *fault_of(const Check *check, int index, const char *what)
{
    const MwMessage *m = &check->messages->at[index];
    return mw_arena_printf(check->arena, "message %d (hop %d, rank %d to rank %d): %s", index,
                           m->hop, m->from, m->to, what);
}

/* ---- Every message by itself ---- */

static bool is_in_order(const MwMessage *a, const MwMessage *b)
{
    if (a->hop != b->hop)
        return a->hop < b->hop;
    return a->from != b->from ? a->from < b->from : a->to < b->to;
}

static const char *check_message(const Check *check, int index)
{
    const MwTransfer *transfer = check->transfer;
    const MwMessage *m = &check->messages->at[index];
    if (m->hop < 0 || (index > 0 && !is_in_order(m - 1, m)))
        return fault_of(check, index, "out of order");
    if (!mw_tensor_equal(&m->box.global, &transfer->global))
        return fault_of(check, index, "another tensor");
    if (!mw_transfer_side_has(m->hop == 0 ? &transfer->from : &transfer->to, m->from))
        return fault_of(check, index, "the sender is not on the mesh that sends in this hop");
    if (!mw_transfer_side_has(&transfer->to, m->to) || m->to == m->from)
        return fault_of(check, index, "the receiver is not another rank of the receiving mesh");
    MwBox wanted = mw_transfer_shard(&transfer->to, &transfer->global, m->to);
    if (!is_within(&m->box, &wanted))
        return fault_of(check, index, "the receiver's shard does not hold this box");
    return NULL;
}

/* ---- What ranks have ---- */

/* The messages that each device gets. */
static void sort_by_receiver(Check *check)
{
    const MwMessages *messages = check->messages;
    int first = check->transfer->to.first_rank;
    int devices = mw_mesh_devices(&check->transfer->to.mesh);
    check->received = mw_arena_alloc(check->arena, sizeof *check->received * (size_t)devices);
    for (int i = 0; i < messages->count; i++)
        check->received[messages->at[i].to - first].count++;
    for (int device = 0; device < devices; device++) {
        check->received[device].at =
            MW_NEW(check->arena, const MwMessage *, check->received[device].count);
        check->received[device].count = 0;
    }
    for (int i = 0; i < messages->count; i++) {
        int device = messages->at[i].to - first;
        check->received[device].at[check->received[device].count++] = &messages->at[i];
    }
}

/* Relies on no two boxes that a rank gets sharing an element. */
static bool sender_has_box(const Check *check, const MwMessage *m)
{
    const MwTransfer *transfer = check->transfer;
    if (m->hop == 0) {
        MwBox held = mw_transfer_shard(&transfer->from, &transfer->global, m->from);
        return is_within(&m->box, &held);
    }
    int device = m->from - transfer->to.first_rank;
    int64_t elements = 0;
    for (int i = 0; i < check->received[device].count; i++) {
        const MwMessage *before = check->received[device].at[i];
        if (before->hop < m->hop)
            elements += shared_elements(&before->box, &m->box);
    }
    return elements == mw_box_elements(&m->box);
}

static const char *check_receiver(const Check *check, int device)
{
    int rank = check->transfer->to.first_rank + device;
    const MwMessage **boxes = check->received[device].at;
    int64_t elements = 0;
    for (int i = 0; i < check->received[device].count; i++) {
        elements += mw_box_elements(&boxes[i]->box);
        for (int k = 0; k < i; k++)
            if (shared_elements(&boxes[i]->box, &boxes[k]->box) > 0)
                return fault_of(check, (int)(boxes[i] - check->messages->at),
                                "the receiver gets an element a second time");
    }
    MwBox wanted = mw_transfer_shard(&check->transfer->to, &check->transfer->global, rank);
    int64_t missing = mw_box_elements(&wanted) - elements;
    if (missing != 0)
        return mw_arena_printf(check->arena, "rank %d never gets %lld elements of its box", rank,
                               (long long)missing);
    return NULL;
}

const char *mw_transfer_check(MwArena *arena, const MwTransfer *transfer,
                              const MwMessages *messages)
{
    Check check = {arena, transfer, messages, NULL};
    const char *fault = NULL;
    for (int i = 0; i < messages->count && !fault; i++)
        fault = check_message(&check, i);
    if (fault)
        return fault;
    sort_by_receiver(&check);
    for (int device = 0; device < mw_mesh_devices(&transfer->to.mesh) && !fault; device++)
        fault = check_receiver(&check, device);
    for (int i = 0; i < messages->count && !fault; i++)
        if (!sender_has_box(&check, &messages->at[i]))
            fault = fault_of(&check, i, "the sender does not have this box by then");
    /* Every receiver got everything, so that every element crossed; now none did twice. */
    if (!fault && mw_transfer_crossing_bytes(messages) != mw_transfer_least_bytes(transfer))
        fault = "an element crosses more than once";
    return fault;
}
