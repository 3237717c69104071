/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/memory.h"

#include "codegen/tuning.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    MwLifetime *lifetimes;
    int32_t *placed; /* those placed so far, by offset */
    int placed_count;
    int64_t alignment, arena_bytes;
    int64_t pairs; /* of buffers that were looked at so far */
} Placement;

static bool live_together(const MwLifetime *a, const MwLifetime *b)
{
    return a->begin <= b->end && b->begin <= a->end;
}

static void insert(Placement *p, int index)
{
    int at = p->placed_count++;
    while (at > 0 && p->lifetimes[p->placed[at - 1]].offset > p->lifetimes[index].offset) {
        p->placed[at] = p->placed[at - 1];
        at--;
    }
    p->placed[at] = index;
}

/* Puts a buffer into the smallest gap that holds it between those it lives with, or after them. */
static void place(Placement *p, int index)
{
    MwLifetime *own = &p->lifetimes[index];
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    p->pairs += p->placed_count;
    for (int i = 0; i < p->placed_count; i++) {
        const MwLifetime *other = &p->lifetimes[p->placed[i]];
        if (!live_together(own, other))
            continue;
        int64_t gap = other->offset - end;
        if (gap >= own->bytes && gap < best_gap) {
            best = end;
            best_gap = gap;
        }
        end = mw_max(end, mw_round_up(other->offset + other->bytes, p->alignment));
    }
    own->offset = best >= 0 ? best : end;
    p->arena_bytes = mw_max(p->arena_bytes, own->offset + own->bytes);
    insert(p, index);
}

/* ---- Orders ---- */

typedef struct {
    int64_t key;
    int32_t index;
} Keyed;

static int compare_keyed(const void *a, const void *b)
{
    const Keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int64_t by_size(const MwLifetime *l)
{
    return l->bytes;
}

static int64_t by_duration(const MwLifetime *l)
{
    return l->end - l->begin;
}

static int64_t by_area(const MwLifetime *l)
{
    return l->bytes * (l->end - l->begin + 1);
}

static int64_t by_begin(const MwLifetime *l)
{
    return -(int64_t)l->begin;
}

static void sort_order(MwArena *arena, const Placement *p, int32_t *order, int count,
                       int64_t (*key)(const MwLifetime *))
{
    Keyed *keyed = MW_NEW(arena, Keyed, count);
    for (int i = 0; i < count; i++)
        keyed[i] = (Keyed){key(&p->lifetimes[i]), i};
    qsort(keyed, (size_t)count, sizeof *keyed, compare_keyed);
    for (int i = 0; i < count; i++)
        order[i] = keyed[i].index;
}

static void place_all(Placement *p, const int32_t *order, int count)
{
    p->placed_count = 0;
    p->arena_bytes = 0;
    for (int i = 0; i < count; i++)
        place(p, order[i]);
}

/* Moves the buffer that ends last in the arena to the front of the order; false if it is there. */
static bool move_highest_first(const Placement *p, int32_t *order, int count)
{
    int at = 0;
    while (p->lifetimes[order[at]].offset + p->lifetimes[order[at]].bytes != p->arena_bytes)
        at++;
    int32_t highest = order[at];
    memmove(&order[1], order, sizeof *order * (size_t)at);
    order[0] = highest;
    return at > 0 && count > 1;
}

/* Places the buffers in each of several orders. Then moves the buffer that ends highest to the
 * front of the order and places them again, until the bound is reached or the number of rounds,
 * which is limited because a placement looks at up to count^2 / 2 pairs of buffers, as is the
 * number of orders. */
int64_t mw_memory_assign(MwArena *arena, MwLifetime *lifetimes, int count, int64_t alignment)
{
    static int64_t (*const keys[])(const MwLifetime *) = {by_size, by_area, by_duration, by_begin};
    const int64_t bound = mw_memory_lower_bound(arena, lifetimes, count);
    const int rounds =
        (int)mw_min(MW_TUNED_PLACE_ROUNDS, 1 + MW_TUNED_PLACE_STEPS / (1 + (int64_t)count * count));
    Placement p = {.alignment = alignment};
    p.lifetimes = mw_arena_dup(arena, lifetimes, sizeof *lifetimes * (size_t)count);
    p.placed = MW_NEW(arena, int32_t, count);
    int32_t *order = MW_NEW(arena, int32_t, count);
    int64_t best = INT64_MAX;
    for (int k = 0; k < MW_COUNT(keys) && count && p.pairs <= MW_TUNED_PLACE_PAIRS; k++) {
        sort_order(arena, &p, order, count, keys[k]);
        for (int round = 0; round < rounds && best > bound; round++) {
            place_all(&p, order, count);
            if (p.arena_bytes < best) {
                best = p.arena_bytes;
                memcpy(lifetimes, p.lifetimes, sizeof *lifetimes * (size_t)count);
            }
            if (!move_highest_first(&p, order, count))
                break;
        }
    }
    return count ? best : 0;
}

int64_t mw_memory_lower_bound(MwArena *arena, const MwLifetime *lifetimes, int count)
{
    int last = 0;
    for (int i = 0; i < count; i++)
        last = (int)mw_max(last, lifetimes[i].end);
    int64_t *change = MW_NEW(arena, int64_t, last + 2);
    for (int i = 0; i < count; i++) {
        change[lifetimes[i].begin] += lifetimes[i].bytes;
        change[lifetimes[i].end + 1] -= lifetimes[i].bytes;
    }
    int64_t live = 0, most = 0;
    for (int t = 0; t <= last; t++) {
        live += change[t];
        most = mw_max(most, live);
    }
    return most;
}
