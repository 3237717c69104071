/* SPDX-License-Identifier: MIT */
/* The messages of a transfer, of one rank or of all.
 *
 * Hop 0: both sides have a layout in which every device has a part (transfer_layout.c); where the
 * part of a sender and the part of a receiver meet, a box crosses. Then the receivers put their
 * parts together, one digit of the layout after another: the devices that differ in it form a ring,
 * in which each passes on what it had or got last, ways - 1 hops long. As digits are primes, a
 * power of two of replicas takes its logarithm in hops (recursive doubling), and a box that only
 * one of them has runs down a binomial tree; in either case nobody sends more than one message a
 * hop, and the bytes that a device sends are those of a ring. */
#include "runtime/plan/messages.h"

#include "runtime/plan/transfer_layout.h"

#include <stdlib.h>

/* A rank's view of a transfer while its messages are listed. */
typedef struct {
    MwArena *arena;
    const MwTransfer *transfer;
    MwTransferLayout from, to;
} Listing;

static Listing listing_of(MwArena *arena, const MwTransfer *transfer)
{
    MW_ASSERT(mw_transfer_is_valid(transfer));
    Listing listing = {.arena = arena, .transfer = transfer};
    mw_transfer_layouts(transfer, &listing.from, &listing.to);
    return listing;
}

/* ---- Hop 0 ---- */

/* Pieces of another layout that meet a box: from `first` to `last` of each dimension. */
typedef struct {
    int64_t first[MW_MAX_RANK], last[MW_MAX_RANK];
    int64_t at[MW_MAX_RANK];
    int rank;
} PieceRange;

static PieceRange pieces_meeting(const MwTransferLayout *layout, const MwBox *box)
{
    PieceRange range = {.rank = box->global.rank};
    for (int d = 0; d < range.rank; d++) {
        range.first[d] = mw_transfer_piece(layout, d, box->start[d]);
        range.last[d] = mw_transfer_piece(layout, d, box->start[d] + box->size[d] - 1);
        range.at[d] = range.first[d];
    }
    return range;
}

/* False after the last. */
static bool next_piece(PieceRange *range)
{
    for (int d = range->rank - 1; d >= 0; d--) {
        if (range->at[d]++ < range->last[d])
            return true;
        range->at[d] = range->first[d];
    }
    return false;
}

/* False if they share no element. */
static bool intersect(const MwBox *a, const MwBox *b, MwBox *common)
{
    *common = (MwBox){.global = a->global};
    for (int d = 0; d < a->global.rank; d++) {
        int64_t end = mw_min(a->start[d] + a->size[d], b->start[d] + b->size[d]);
        common->start[d] = mw_max(a->start[d], b->start[d]);
        common->size[d] = end - common->start[d];
        if (common->size[d] <= 0)
            return false;
    }
    return true;
}

/* Lists the messages that `device` of one side sends to, or receives from, the other side. */
static void list_crossing(const Listing *listing, bool sends, int device, MwMessages *messages)
{
    const MwTransfer *transfer = listing->transfer;
    const MwTransferLayout *own = sends ? &listing->from : &listing->to;
    const MwTransferLayout *other = sends ? &listing->to : &listing->from;
    MwBox part, other_part, box;
    if (!mw_transfer_part(own, device, 0, &part))
        return;
    PieceRange range = pieces_meeting(other, &part);
    do {
        int peer = mw_transfer_holder(other, range.at);
        if (!mw_transfer_part(other, peer, 0, &other_part) || !intersect(&part, &other_part, &box))
            continue;
        MwMessage message = {.box = box};
        message.from = transfer->from.first_rank + (sends ? device : peer);
        message.to = transfer->to.first_rank + (sends ? peer : device);
        mw_vec_push(listing->arena, messages, message);
    } while (next_piece(&range));
}

/* ---- Later hops ---- */

/* The ring of one digit, whose first hop is `hop`: in its step t a device passes on what the device
 * t before it had. */
static void list_ring(const Listing *listing, bool sends, int device, int digit_index, int hop,
                      MwMessages *messages)
{
    const MwTransferLayout *layout = &listing->to;
    const MwTransferDigit *digit = &layout->digits[digit_index];
    int sender = device / digit->stride % digit->ways - (sends ? 0 : 1);
    for (int t = 0; t < digit->ways - 1; t++) {
        int origin = mw_transfer_neighbour(digit, device, sender - t);
        MwMessage message = {.hop = hop + t};
        if (!mw_transfer_part(layout, origin, digit_index, &message.box))
            continue;
        int first = listing->transfer->to.first_rank;
        message.from = first + mw_transfer_neighbour(digit, device, sender);
        message.to = first + mw_transfer_neighbour(digit, device, sender + 1);
        mw_vec_push(listing->arena, messages, message);
    }
}

static void list_passing(const Listing *listing, bool sends, int device, MwMessages *messages)
{
    int hop = 1;
    for (int i = 0; i < listing->to.replica_count; i++) {
        list_ring(listing, sends, device, i, hop, messages);
        hop += listing->to.digits[i].ways - 1;
    }
}

/* ---- Lists ---- */

static int compare_messages(const void *a, const void *b)
{
    const MwMessage *x = a, *y = b;
    if (x->hop != y->hop)
        return x->hop < y->hop ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static void sort(MwMessages *messages)
{
    if (messages->count > 0)
        qsort(messages->at, (size_t)messages->count, sizeof *messages->at, compare_messages);
}

MwMessages mw_transfer_messages(MwArena *arena, const MwTransfer *transfer)
{
    Listing listing = listing_of(arena, transfer);
    MwMessages messages = {0};
    for (int device = 0; device < mw_mesh_devices(&transfer->from.mesh); device++)
        list_crossing(&listing, true, device, &messages);
    for (int device = 0; device < mw_mesh_devices(&transfer->to.mesh); device++)
        list_passing(&listing, true, device, &messages);
    sort(&messages);
    return messages;
}

MwRankMessages mw_transfer_of_rank(MwArena *arena, const MwTransfer *transfer, int rank)
{
    Listing listing = listing_of(arena, transfer);
    MwRankMessages lists = {0};
    if (mw_transfer_side_has(&transfer->from, rank))
        list_crossing(&listing, true, rank - transfer->from.first_rank, &lists.sends);
    if (mw_transfer_side_has(&transfer->to, rank)) {
        int device = rank - transfer->to.first_rank;
        list_crossing(&listing, false, device, &lists.receives);
        list_passing(&listing, false, device, &lists.receives);
        list_passing(&listing, true, device, &lists.sends);
    }
    sort(&lists.sends);
    sort(&lists.receives);
    return lists;
}

int64_t mw_transfer_crossing_bytes(const MwMessages *messages)
{
    int64_t bytes = 0;
    for (int i = 0; i < messages->count; i++) {
        const MwBox *box = &messages->at[i].box;
        if (messages->at[i].hop == 0)
            bytes += mw_box_elements(box) * mw_type_bytes(box->global.type);
    }
    return bytes;
}

int64_t mw_transfer_least_bytes(const MwTransfer *transfer)
{
    return mw_tensor_bytes(&transfer->global);
}
