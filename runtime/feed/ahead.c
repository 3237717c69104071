/* SPDX-License-Identifier: MIT */
#include "runtime/feed/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { SLOTS = 2 };

/* A part of an input in a slot. */
typedef struct {
    char *data;
    bool good;
    MwFault fault; /* where it is not good */
} Part;

/* Room for the inputs of a step: step s has slot s % SLOTS. */
typedef struct {
    Part *parts; /* [box_count] */
    int64_t step;
    int count; /* parts that are read, the first so many */
} Slot;

struct MwAhead {
    const MwFeeds *feeds;
    const MwInputBox *boxes;
    int box_count, expected; /* the box that the step asks for next, if it asks in order */
    bool has_failed;
    MwFault fault; /* the first, where one has failed */
    pthread_t thread;
    pthread_mutex_t lock; /* of all below, but for the data of parts */
    pthread_cond_t changed;
    Slot slots[SLOTS];
    int64_t first, last; /* the steps to read */
    int64_t running;     /* the step that runs: those before it are done with */
    int64_t begun;       /* how often mw_ahead_begin was called */
    bool ends;
};

/* ---- The thread ---- */

/* Reads a part without the lock. False if what is to be read changed meanwhile. */
static bool read_part(MwAhead *ahead, Slot *slot, int index)
{
    const MwInputBox *box = &ahead->boxes[index];
    Part *part = &slot->parts[index];
    const int64_t begun = ahead->begun, step = slot->step;
    pthread_mutex_unlock(&ahead->lock);
    part->good =
        mw_feeds_input(ahead->feeds, box->input, step, &box->box, part->data, &part->fault);
    pthread_mutex_lock(&ahead->lock);
    return begun == ahead->begun && !ahead->ends;
}

/* Reads the step, once its slot is free. False if what is to be read changed meanwhile. */
static bool read_step(MwAhead *ahead, int64_t step)
{
    const int64_t begun = ahead->begun;
    Slot *slot = &ahead->slots[step % SLOTS];
    while (!ahead->ends && begun == ahead->begun && step - ahead->running >= SLOTS)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    if (ahead->ends || begun != ahead->begun)
        return false;
    slot->step = step;
    for (slot->count = 0; slot->count < ahead->box_count; slot->count++) {
        if (!read_part(ahead, slot, slot->count))
            return false;
        pthread_cond_broadcast(&ahead->changed);
    }
    pthread_cond_broadcast(&ahead->changed);
    return true;
}

static void *read_steps(void *context)
{
    MwAhead *ahead = context;
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->ends) {
        const int64_t begun = ahead->begun;
        for (int64_t step = ahead->first; step <= ahead->last && read_step(ahead, step); step++)
            ;
        while (!ahead->ends && begun == ahead->begun)
            pthread_cond_wait(&ahead->changed, &ahead->lock);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* Starts the thread, which no signal is for. */
static bool start(MwAhead *ahead, MwFault *fault)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&ahead->thread, NULL, read_steps, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ||
           mw_fault_set(fault, "cannot start a thread that reads data: %s", strerror(error));
}

/* ---- The run ---- */

MwAhead *mw_ahead_new(MwArena *arena, const MwFeeds *feeds, const MwInputBox *boxes, int count,
                      MwFault *fault)
{
    MwAhead *ahead = MW_NEW(arena, MwAhead, 1);
    *ahead = (MwAhead){.feeds = feeds, .boxes = boxes, .box_count = count, .last = -1};
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    for (int s = 0; s < SLOTS; s++) {
        ahead->slots[s].parts = MW_NEW(arena, Part, count);
        for (int i = 0; i < count; i++)
            ahead->slots[s].parts[i].data =
                mw_arena_alloc(arena, (size_t)mw_box_held_bytes(&boxes[i].box));
    }
    return start(ahead, fault) ? ahead : NULL;
}

void mw_ahead_begin(MwAhead *ahead, int64_t first, int64_t last)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->first = first;
    ahead->last = last;
    ahead->running = first;
    ahead->begun++;
    for (int s = 0; s < SLOTS; s++)
        ahead->slots[s] = (Slot){.parts = ahead->slots[s].parts};
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

static bool is_box(const MwInputBox *known, int input, const MwBox *box)
{
    const size_t bytes = sizeof *box->start * (size_t)box->global.rank;
    return known->input == input && memcmp(known->box.start, box->start, bytes) == 0 &&
           memcmp(known->box.size, box->size, bytes) == 0;
}

/* The number of the box that is asked for; -1: it is none of those known. */
static int find_box(MwAhead *ahead, int input, const MwBox *box)
{
    for (int i = 0; i < ahead->box_count; i++) {
        const int index = (ahead->expected + i) % ahead->box_count;
        if (is_box(&ahead->boxes[index], input, box)) {
            ahead->expected = (index + 1) % ahead->box_count;
            return index;
        }
    }
    return -1;
}

/* Waits for a part of the step that runs. */
static const Part *wait_for(MwAhead *ahead, int64_t step, int index)
{
    Slot *slot = &ahead->slots[step % SLOTS];
    pthread_mutex_lock(&ahead->lock);
    ahead->running = step;
    pthread_cond_broadcast(&ahead->changed);
    while (slot->step != step || slot->count <= index)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    return &slot->parts[index];
}

static bool take(MwAhead *ahead, int input, int64_t step, const MwBox *box, void *to,
                 MwFault *fault)
{
    const int index = find_box(ahead, input, box);
    if (index < 0 || step < ahead->first || step > ahead->last)
        return mw_feeds_input(ahead->feeds, input, step, box, to, fault);
    const Part *part = wait_for(ahead, step, index);
    if (part->good)
        memcpy(to, part->data, (size_t)mw_box_held_bytes(box));
    else
        *fault = part->fault;
    return part->good;
}

void mw_ahead_input(MwAhead *ahead, int input, int64_t step, const MwBox *box, void *to)
{
    MwFault fault;
    if (take(ahead, input, step, box, to, &fault))
        return;
    memset(to, 0, (size_t)mw_box_held_bytes(box));
    if (!ahead->has_failed)
        ahead->fault = fault;
    ahead->has_failed = true;
}

const MwFault *mw_ahead_fault(const MwAhead *ahead)
{
    return ahead->has_failed ? &ahead->fault : NULL;
}

void mw_ahead_close(MwAhead **ahead)
{
    if (*ahead) {
        pthread_mutex_lock(&(*ahead)->lock);
        (*ahead)->ends = true;
        pthread_cond_broadcast(&(*ahead)->changed);
        pthread_mutex_unlock(&(*ahead)->lock);
        pthread_join((*ahead)->thread, NULL);
        pthread_cond_destroy(&(*ahead)->changed);
        pthread_mutex_destroy(&(*ahead)->lock);
    }
    *ahead = NULL;
}
