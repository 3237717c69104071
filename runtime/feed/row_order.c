/* SPDX-License-Identifier: MIT */
#include "runtime/feed/row_order.h"

#include "base/hash.h"
#include "base/philox.h"

#include <string.h>

enum { FEISTEL_ROUNDS = 8 };

/* One pass of the network over numbers of 2 `half` bits. */
static uint64_t feistel(uint64_t seed, uint64_t stream, int half, uint64_t value)
{
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    uint64_t left = value >> half, right = value & mask;
    for (uint64_t round = 0; round < FEISTEL_ROUNDS; round++) {
        uint32_t word[4];
        mw_philox(seed, stream, round << 32 | right, word);
        const uint64_t next = left ^ (word[0] & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

int64_t mw_permute(uint64_t seed, uint64_t stream, int64_t count, int64_t value)
{
    int half = 1;
    uint64_t at = (uint64_t)value;
    while (half < 32 && (UINT64_C(1) << 2 * half) < (uint64_t)count)
        half++;
    do
        at = feistel(seed, stream, half, at);
    while (at >= (uint64_t)count);
    return (int64_t)at;
}

static uint64_t stream_of(const char *name, uint64_t part, uint64_t index)
{
    return mw_hash_mix(mw_hash_mix(mw_hash_bytes(name, strlen(name)), part), index);
}

/* Shares the slots of a block out by weight, at least one each, so that no share is off by more
 * than one slot, or what the least takes. */
static void share_slots(MwRowOrder *order, const MwRowPart *parts)
{
    double all = 0, below = 0;
    for (int i = 0; i < order->part_count; i++)
        all += parts[i].weight;
    for (int i = 0; i < order->part_count; i++) {
        const int64_t left = order->part_count - i - 1; /* parts that still need a slot */
        below += parts[i].weight;
        const int64_t end = (int64_t)(below / all * MW_MIXTURE_BLOCK + 0.5);
        order->first_slot[i + 1] =
            left == 0 ? MW_MIXTURE_BLOCK
                      : mw_min(mw_max(end, order->first_slot[i] + 1), MW_MIXTURE_BLOCK - left);
    }
}

MwRowOrder mw_row_order(MwArena *arena, const MwRowPart *parts, int count, uint64_t seed,
                        bool is_shuffled)
{
    MwRowOrder order = {.seed = seed, .is_shuffled = is_shuffled};
    MW_ASSERT(count > 0 && count <= MW_MIXTURE_BLOCK);
    order.first_row = MW_NEW(arena, int64_t, count + 1);
    for (int i = 0; i < count; i++)
        order.first_row[i + 1] = order.first_row[i] + parts[i].rows;
    order.rows = order.first_row[count];
    MW_ASSERT(order.rows > 0);
    if (parts[0].weight > 0) {
        order.part_count = count;
        order.first_slot = MW_NEW(arena, int64_t, count + 1);
        share_slots(&order, parts);
    }
    return order;
}

/* Row number `ordinal` of those that are taken from rows first .. first + count - 1. */
static int64_t row_of(const MwRowOrder *order, int part, int64_t count, int64_t ordinal)
{
    const int64_t place = ordinal % count;
    if (!order->is_shuffled)
        return place;
    return mw_permute(order->seed,
                      stream_of("row epoch", (uint64_t)part, (uint64_t)(ordinal / count)), count,
                      place);
}

int64_t mw_row_at(const MwRowOrder *order, int64_t place)
{
    if (order->part_count == 0)
        return row_of(order, 0, order->rows, place);
    const int64_t block = place / MW_MIXTURE_BLOCK;
    const int64_t slot = mw_permute(order->seed, stream_of("mixture", 0, (uint64_t)block),
                                    MW_MIXTURE_BLOCK, place % MW_MIXTURE_BLOCK);
    int part = 0;
    while (slot >= order->first_slot[part + 1])
        part++;
    const int64_t begin = order->first_slot[part], slots = order->first_slot[part + 1] - begin;
    const int64_t first = order->first_row[part], rows = order->first_row[part + 1] - first;
    return first + row_of(order, part, rows, block * slots + slot - begin);
}
