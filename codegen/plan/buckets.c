/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/buckets.h"

#include "codegen/plan/bucket_cut.h"
#include "codegen/plan/bucket_items.h"
#include "codegen/plan/message_order.h"
#include "codegen/plan/unit_times.h"
#include "codegen/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Collectives that become one instruction: of one key, at one level of their items. */
typedef struct {
    int level, key;
    MW_VEC(int32_t) units;
} Group;

typedef struct {
    MW_VEC(Group) groups; /* ascending by level */
    bool is_placed;
} Bucket;

/* Neighbouring items that are not cut apart. */
typedef struct {
    double ready_s;
    int end; /* of its items, in the order of the cut */
} Atom;

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    const MwCostModel *model;
    MwOrder *order;
    MwPhase phase;
    const MwBucketing *bucketing;
    MwBucketItems found;
    MwMessageOrder messages; /* of the update */
    int *sorted;             /* [items] in the order of the cut */
    MW_VEC(Atom) atoms;
    double *key_bytes; /* [atoms + 1][keys] of the atoms before */
    double most_bytes; /* of all calls of a bucket with several atoms */
    MW_VEC(Bucket) buckets;
    int early_count;    /* the first buckets, which stand before all else */
    int32_t *bucket_of; /* [units] -1: none */
    bool *is_placed;    /* [units] */
    int32_t *placed;    /* units in the new order of the phase */
    int placed_count;
} Placer;

/* ---- Cutting ---- */

static bool has_gathers(const Placer *p)
{
    return p->phase != MW_PHASE_UPDATE;
}

/* Whether what a bucket makes takes memory that is not there before it is needed. */
static bool is_small(const Placer *p)
{
    return has_gathers(p) || !p->bucketing->sums_first;
}

/* Gathers are cut from the end of the program: what it waits for there is what it is late by. */
static double ready_s(const Placer *p, int item)
{
    const MwBucketItem *at = &p->found.items.at[item];
    if (!p->legal->backend->overlaps)
        return 0;
    return has_gathers(p) ? p->found.end_s - at->used_s : at->made_s;
}

typedef struct {
    double ready_s;
    int item, tie;
} Sorted;

static int compare_sorted(const void *a, const void *b)
{
    const Sorted *x = a, *y = b;
    if (x->ready_s != y->ready_s)
        return x->ready_s < y->ready_s ? -1 : 1;
    return x->tie - y->tie;
}

static void sort_items(Placer *p)
{
    const int count = p->found.items.count;
    Sorted *sorted = MW_NEW(p->arena, Sorted, count);
    for (int i = 0; i < count; i++)
        sorted[i] = (Sorted){ready_s(p, i), i, has_gathers(p) ? -i : i};
    qsort(sorted, (size_t)count, sizeof *sorted, compare_sorted);
    p->sorted = MW_NEW(p->arena, int, count);
    for (int i = 0; i < count; i++)
        p->sorted[i] = sorted[i].item;
}

static double total_bytes(const Placer *p)
{
    double bytes = 0;
    for (int i = 0; i < p->found.items.count; i++)
        bytes += p->found.items.at[i].bytes;
    return bytes;
}

static void count_bytes(Placer *p, int item)
{
    const int keys = p->found.keys.count;
    double *at = p->key_bytes + p->atoms.count * keys;
    for (int c = 0; c < p->found.items.at[item].calls.count; c++) {
        const MwBucketCall *call = &p->found.items.at[item].calls.at[c];
        at[call->key] += call->bytes;
    }
}

/* Joins neighbours where there are more items than can be cut. */
static void form_atoms(Placer *p)
{
    const int items = p->found.items.count, keys = p->found.keys.count;
    const double least = items <= MW_BUCKET_ITEMS ? 0 : total_bytes(p) / (MW_BUCKET_ITEMS - 1);
    double bytes = 0;
    p->key_bytes = MW_NEW(p->arena, double, (size_t)(items + 1) * (size_t)keys);
    p->most_bytes = is_small(p) ? fmax(MW_TUNED_BUCKET_MB * 1e6, least) : INFINITY;
    for (int i = 0; i < items; i++) {
        const bool begins = bytes == 0;
        if (begins) {
            (void)mw_vec_add(p->arena, &p->atoms);
            memcpy(p->key_bytes + p->atoms.count * keys, p->key_bytes + (p->atoms.count - 1) * keys,
                   sizeof(double) * (size_t)keys);
        }
        mw_vec_last(&p->atoms) = (Atom){ready_s(p, p->sorted[i]), i + 1};
        count_bytes(p, p->sorted[i]);
        bytes += p->found.items.at[p->sorted[i]].bytes;
        bytes = bytes < least ? bytes : 0;
    }
}

/* Seconds of the instructions that do atoms [begin, end). */
static double cost_s(const void *context, int begin, int end)
{
    const Placer *p = context;
    const int keys = p->found.keys.count;
    double cost = 0, bytes = 0;
    for (int k = 0; k < keys; k++) {
        const MwBucketKey *key = &p->found.keys.at[k];
        const double more = p->key_bytes[end * keys + k] - p->key_bytes[begin * keys + k];
        if (more > 0)
            cost += mw_cost_collective_s(p->model, key->kind, key->axis, more);
        bytes += more;
    }
    return end - begin > 1 && bytes > p->most_bytes ? INFINITY : MW_TUNED_BUCKET_CAUTION * cost;
}

static Group *find_group(const Placer *p, Bucket *bucket, int level, int key)
{
    int at = 0;
    for (; at < bucket->groups.count; at++) {
        Group *group = &bucket->groups.at[at];
        if (group->level == level && group->key == key)
            return group;
        if (group->level > level)
            break;
    }
    (void)mw_vec_add(p->arena, &bucket->groups);
    memmove(&bucket->groups.at[at + 1], &bucket->groups.at[at],
            sizeof(Group) * (size_t)(bucket->groups.count - 1 - at));
    bucket->groups.at[at] = (Group){.level = level, .key = key};
    return &bucket->groups.at[at];
}

static void add_unit(Placer *p, int bucket, int level, int key, int unit)
{
    Group *group = find_group(p, &p->buckets.at[bucket], level, key);
    mw_vec_push(p->arena, &group->units, unit);
    p->bucket_of[unit] = bucket;
}

static void add_bucket(Placer *p, int begin, int end)
{
    (void)mw_vec_add(p->arena, &p->buckets);
    for (int i = begin; i < end; i++) {
        const MwBucketItem *item = &p->found.items.at[p->sorted[i]];
        for (int c = 0; c < item->calls.count; c++)
            add_unit(p, p->buckets.count - 1, item->calls.at[c].level, item->calls.at[c].key,
                     item->calls.at[c].unit);
    }
}

static void cut_items(Placer *p)
{
    int ends[MW_BUCKET_ITEMS];
    double ready[MW_BUCKET_ITEMS];
    sort_items(p);
    form_atoms(p);
    MW_ASSERT(p->atoms.count <= MW_BUCKET_ITEMS);
    for (int a = 0; a < p->atoms.count; a++)
        ready[a] = p->atoms.at[a].ready_s;
    const int buckets = mw_bucket_cut(
        &(MwBucketProblem){
            .item_count = p->atoms.count, .ready_s = ready, .cost_s = cost_s, .context = p},
        ends);
    for (int b = 0, begin = 0; b < buckets; b++) {
        add_bucket(p, begin, p->atoms.at[ends[b] - 1].end);
        begin = p->atoms.at[ends[b] - 1].end;
    }
    p->early_count = is_small(p) ? 0 : p->buckets.count;
}

/* ---- Other collectives of the update ---- */

/* A bucket that may get more. */
typedef struct {
    int depth;    /* the number of such collectives before each of its own */
    int waits;    /* and of messages, one after another */
    bool is_sent; /* another mesh waits for what its own give */
    int key, bucket;
    double bytes;
} Late;

typedef MW_VEC(Late) Lates;

static double late_s(const Placer *p, int key, double bytes)
{
    const MwBucketKey *at = &p->found.keys.at[key];
    return mw_cost_collective_s(p->model, at->kind, at->axis, bytes);
}

/* Whether a collective of `bytes` may be added to a bucket, and then takes less time than by
 * itself. */
static bool may_join(const Placer *p, const Late *late, double bytes)
{
    return (!is_small(p) || late->bytes + bytes <= MW_TUNED_BUCKET_MB * 1e6) &&
           late_s(p, late->key, late->bytes + bytes) <=
               late_s(p, late->key, late->bytes) + late_s(p, late->key, bytes);
}

static bool is_like(const Late *a, const Late *b)
{
    return a->depth == b->depth && a->waits == b->waits && a->is_sent == b->is_sent;
}

/* Adds a collective to a bucket that is like `as`, or to a new one. */
static void join(Placer *p, Lates *lates, const Late *as, int unit)
{
    const int key = mw_bucket_find_key(p->arena, &p->found, p->legal, p->units, unit);
    const double bytes = mw_bucket_call_bytes(p->legal, p->units, unit);
    int i = 0;
    while (i < lates->count && (!is_like(&lates->at[i], as) || lates->at[i].key != key ||
                                !may_join(p, &lates->at[i], bytes)))
        i++;
    if (i == lates->count) {
        mw_vec_push(p->arena, lates, *as);
        lates->at[i].key = key;
        lates->at[i].bucket = p->buckets.count;
        (void)mw_vec_add(p->arena, &p->buckets);
    }
    lates->at[i].bytes += bytes;
    add_unit(p, lates->at[i].bucket, 0, key, unit);
}

/* Buckets of the collectives that have as many before them. What is sent waits for no others, and
 * what waits for no message not for what does. */
static void join_late(Placer *p)
{
    Lates lates = {0};
    int *depth = MW_NEW(p->arena, int, p->units->units.count);
    for (int at = p->order->begin[p->phase]; at < p->order->begin[p->phase + 1]; at++) {
        const int unit = p->order->unit[at];
        depth[unit] = mw_most_read(p->legal, p->units, depth, unit);
        const Late as = {.depth = depth[unit],
                         .waits = p->messages.waits[unit],
                         .is_sent = p->messages.is_sent[unit]};
        if (p->found.item_of[unit] >= 0 || !mw_unit_may_join(p->legal, p->units, p->model, unit))
            continue;
        join(p, &lates, &as, unit);
        depth[unit]++;
    }
}

/* ---- The new order ---- */

static void place(Placer *p, int unit);

/* Places what a unit reads. */
static void place_makers(Placer *p, int u)
{
    const MwUnit *unit = &p->units->units.at[u];
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(p->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            const int maker = mw_operand_maker(p->legal, p->units, node, k);
            if (maker >= 0 && maker != u && p->units->units.at[maker].phase == p->phase)
                place(p, maker);
        }
    }
}

static void put(Placer *p, int unit)
{
    p->is_placed[unit] = true;
    p->placed[p->placed_count++] = unit;
}

/* The units of a group follow each other. */
static void place_group(Placer *p, const Group *group)
{
    for (int i = 0; i < group->units.count; i++)
        place_makers(p, group->units.at[i]);
    const int first = p->order->begin[p->phase] + p->placed_count;
    for (int i = 0; i < group->units.count; i++) {
        p->order->position[group->units.at[i]] = first;
        put(p, group->units.at[i]);
    }
}

static void place_bucket(Placer *p, Bucket *bucket)
{
    if (bucket->is_placed)
        return;
    bucket->is_placed = true;
    for (int g = 0; g < bucket->groups.count; g++)
        place_group(p, &bucket->groups.at[g]);
}

/* Places a unit behind what it reads. Recursion is as deep as the units that only a bucket needs so
 * early. */
static void place(Placer *p, int unit)
{
    if (p->is_placed[unit])
        return;
    if (p->bucket_of[unit] < 0) {
        place_makers(p, unit);
        p->order->position[unit] = p->order->begin[p->phase] + p->placed_count;
        put(p, unit);
        return;
    }
    for (int b = 0; b < p->early_count && p->bucket_of[unit] < p->early_count; b++)
        place_bucket(p, &p->buckets.at[b]);
    place_bucket(p, &p->buckets.at[p->bucket_of[unit]]);
}

static void place_all(Placer *p)
{
    const int begin = p->order->begin[p->phase], end = p->order->begin[p->phase + 1];
    const int32_t *unit = is_small(p) ? p->order->unit + begin : p->messages.unit;
    p->placed = MW_NEW(p->arena, int32_t, end - begin);
    for (int at = 0; at < end - begin; at++)
        place(p, unit[at]);
    MW_ASSERT(p->placed_count == end - begin);
    memcpy(p->order->unit + begin, p->placed, sizeof *p->placed * (size_t)(end - begin));
}

/* `arena`: for what is needed meanwhile. */
static void order_phase(MwArena *arena, Placer *p)
{
    const int units = p->units->units.count;
    p->arena = arena;
    p->found = mw_bucket_items(arena, p->legal, p->units, p->model, p->order, p->phase);
    p->bucket_of = MW_NEW(arena, int32_t, units);
    p->is_placed = MW_NEW(arena, bool, units);
    memset(p->bucket_of, -1, sizeof(int32_t) * (size_t)units);
    if (p->found.items.count && (!has_gathers(p) || p->bucketing->gathers_ahead))
        cut_items(p);
    if (p->phase == MW_PHASE_UPDATE) {
        p->messages = mw_message_order(arena, p->legal, p->units, p->order, p->phase);
        join_late(p);
    }
    place_all(p);
}

void mw_order_buckets(const MwLegal *legal, const MwUnits *units, const MwCostModel *model,
                      const MwBucketing *bucketing, MwOrder *order)
{
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++) {
        MwArena *arena = mw_arena_new();
        order_phase(arena, &(Placer){.legal = legal,
                                     .units = units,
                                     .model = model,
                                     .order = order,
                                     .phase = (MwPhase)phase,
                                     .bucketing = bucketing});
        mw_arena_free(&arena);
    }
    mw_order_find_loops(legal, units, order);
}
