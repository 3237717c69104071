/* SPDX-License-Identifier: MIT */
/* Follows two steps of the schedule without data, activity by activity: what is read must have been
 * written, for the same micro-batch unless it is the same for all, and nothing that lies over it
 * may have been written since. So no two buffers that hold something needed overlap; no lifetime is
 * taken from the plan.
 *
 * Buffers that the activities treat alike share their fate, so that one of each class is followed:
 * there are few classes, however many buffers and micro-batches. */
#include "runtime/check/effects.h"
#include "runtime/check/rules.h"
#include "runtime/plan/invariant.h"

#include <stdlib.h>
#include <string.h>

/* A buffer with all that decides its fate, as bytes. */
typedef struct {
    unsigned char *key;
    size_t key_bytes;
    int buffer;
} Kind;

typedef struct {
    int time; /* of the activity that wrote it; 0: none did */
    int micro_batch;
} Slot;

typedef struct {
    const MwCheck *check;
    const MwEffects *effects;
    const bool *is_invariant; /* [buffers] */
    int *ran;                 /* [activities] the last time of each; 0: never */
    Slot *slots;              /* of one buffer */
    int time;                 /* of the activity that runs, 1 first */
    int buffer;
    bool failed;
} Follow;

/* ---- Classes ---- */

static int compare_keys(const void *a, const void *b)
{
    const Kind *x = a, *y = b;
    return memcmp(x->key, y->key, x->key_bytes);
}

static int compare_kinds(const void *a, const void *b)
{
    const int keys = compare_keys(a, b);
    return keys ? keys : ((const Kind *)a)->buffer - ((const Kind *)b)->buffer;
}

static Kind kind_of(const MwCheck *check, const MwEffects *effects, const bool *is_invariant,
                    int buffer)
{
    const MwPlanBuffer *of = &check->mesh->buffers[buffer];
    const size_t bytes = sizeof of->slots + 2 + (size_t)effects->activity_count;
    Kind kind = {mw_arena_alloc(check->arena, bytes), bytes, buffer};
    unsigned char *at = kind.key;
    memcpy(at, &of->slots, sizeof of->slots);
    at += sizeof of->slots;
    *at++ = of->persistent;
    *at++ = is_invariant[buffer];
    for (int a = 0; a < effects->activity_count; a++) {
        const MwEffect *effect = &effects->effects[a][buffer];
        *at++ = (unsigned char)((effect->reader > 0) | effect->writes << 1 |
                                (effect->culprit > 0) << 2 | (effect->lost > 0) << 3);
    }
    return kind;
}

/* ---- One buffer of a class ---- */

/* The last write over the buffer since an activity at `time` wrote it; 0: none. */
static int last_culprit(const Follow *follow, int time)
{
    int last = 0;
    for (int a = 0; a < follow->effects->activity_count; a++) {
        const int culprit = follow->effects->effects[a][follow->buffer].culprit;
        if (culprit && follow->ran[a] >= time) {
            time = follow->ran[a];
            last = culprit;
        }
    }
    return last;
}

static void check_read(Follow *follow, const MwEffect *effect, const Slot *slot, int micro_batch)
{
    const MwAccessPlace *place = &follow->effects->places.at[effect->reader];
    const MwPlanBuffer *buffer = &follow->check->mesh->buffers[follow->buffer];
    follow->failed = true;
    if (!slot->time) {
        mw_check_place_error(follow->check, place,
                             "reads buffer %d '%s' before anything has written it", follow->buffer,
                             buffer->name);
        return;
    }
    const int culprit = effect->lost ? effect->lost : last_culprit(follow, slot->time);
    if (culprit) {
        mw_check_overwritten(follow->check, follow->effects, effect->reader, culprit);
        return;
    }
    if (!buffer->persistent && !follow->is_invariant[follow->buffer] && micro_batch >= 0 &&
        slot->micro_batch >= 0 && slot->micro_batch != micro_batch) {
        mw_check_place_error(follow->check, place,
                             "reads buffer %d '%s' of micro-batch %d, where that of micro-batch %d "
                             "is: it has %d slot%s",
                             follow->buffer, buffer->name, micro_batch, slot->micro_batch,
                             buffer->slots, buffer->slots == 1 ? "" : "s");
        return;
    }
    follow->failed = false;
}

static void follow_activity(Follow *follow, int activity, int micro_batch)
{
    const MwEffect *effect = &follow->effects->effects[activity][follow->buffer];
    Slot *slot =
        &follow->slots[mw_plan_slot(&follow->check->mesh->buffers[follow->buffer], micro_batch)];
    follow->time++;
    if (effect->reader && !follow->failed)
        check_read(follow, effect, slot, micro_batch);
    if (effect->writes)
        *slot = (Slot){follow->time, micro_batch};
    follow->ran[activity] = follow->time;
}

/* Slots that micro-batches reach. */
static size_t slot_count(const MwCheck *check, int buffer)
{
    return (size_t)mw_min(check->mesh->buffers[buffer].slots, check->plan->micro_batches);
}

static void follow_step(Follow *follow)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    if (!mesh->buffers[follow->buffer].persistent)
        memset(follow->slots, 0, sizeof *follow->slots * slot_count(follow->check, follow->buffer));
    follow_activity(follow, mesh->program_count + MW_ACTIVITY_RESET, -1);
    for (int t = 0; t < mesh->task_count; t++)
        follow_activity(follow, mesh->tasks[t].program, mesh->tasks[t].micro_batch);
    follow_activity(follow, mesh->program_count + MW_ACTIVITY_END, -1);
}

static void follow_buffer(const MwCheck *check, const MwEffects *effects, const bool *is_invariant,
                          int buffer)
{
    Follow follow = {.check = check,
                     .effects = effects,
                     .is_invariant = is_invariant,
                     .ran = MW_NEW(check->arena, int, effects->activity_count),
                     .slots = MW_NEW(check->arena, Slot, slot_count(check, buffer)),
                     .buffer = buffer};
    follow_activity(&follow, check->mesh->program_count + MW_ACTIVITY_SET_WEIGHTS, -1);
    follow_step(&follow);
    follow_step(&follow);
}

void mw_check_schedule(const MwCheck *check)
{
    const int count = check->mesh->buffer_count;
    const MwEffects effects = mw_check_effects(check);
    const bool *is_invariant = mw_plan_find_invariant(check->arena, check->plan, check->mesh);
    Kind *kinds = MW_NEW(check->arena, Kind, count);
    for (int b = 0; b < count; b++)
        kinds[b] = kind_of(check, &effects, is_invariant, b);
    qsort(kinds, (size_t)count, sizeof *kinds, compare_kinds);
    for (int i = 0; i < count; i++)
        if (i == 0 || compare_keys(&kinds[i - 1], &kinds[i]) != 0)
            follow_buffer(check, &effects, is_invariant, kinds[i].buffer);
}
