/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include "base/hash.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *text; /* NULL: empty slot */
    size_t length;
    uint64_t hash;
} InternSlot;

/* Open addressing with linear probing; capacity is a power of two, at most half full. */
struct MwInterner {
    pthread_mutex_t mutex; /* of all that follows */
    MwArena *arena;
    InternSlot *slots;
    size_t capacity, count;
};

MwInterner *mw_interner_new(MwArena *arena)
{
    MwInterner *interner = MW_NEW(arena, MwInterner, 1);
    pthread_mutex_init(&interner->mutex, NULL);
    interner->arena = mw_arena_new_within(arena);
    interner->capacity = 256;
    interner->slots = MW_NEW(interner->arena, InternSlot, interner->capacity);
    return interner;
}

static InternSlot *find_slot(const MwInterner *interner, const char *text, size_t length,
                             uint64_t hash)
{
    size_t mask = interner->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        InternSlot *slot = &interner->slots[i];
        if (!slot->text)
            return slot;
        if (slot->hash == hash && slot->length == length && memcmp(slot->text, text, length) == 0)
            return slot;
    }
}

static void grow(MwInterner *interner)
{
    InternSlot *old = interner->slots;
    size_t old_capacity = interner->capacity;
    interner->capacity *= 2;
    interner->slots = MW_NEW(interner->arena, InternSlot, interner->capacity);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].text)
            *find_slot(interner, old[i].text, old[i].length, old[i].hash) = old[i];
}

static const char *intern(MwInterner *interner, const char *text, size_t length, uint64_t hash)
{
    InternSlot *slot = find_slot(interner, text, length, hash);
    if (slot->text)
        return slot->text;
    const char *copy = mw_arena_strndup(interner->arena, text, length);
    *slot = (InternSlot){.text = copy, .length = length, .hash = hash};
    if (++interner->count * 2 > interner->capacity)
        grow(interner);
    return copy;
}

const char *mw_intern_n(MwInterner *interner, const char *text, size_t length)
{
    const uint64_t hash = mw_hash_bytes(text, length);
    pthread_mutex_lock(&interner->mutex);
    const char *interned = intern(interner, text, length, hash);
    pthread_mutex_unlock(&interner->mutex);
    return interned;
}

const char *mw_intern(MwInterner *interner, const char *text)
{
    return mw_intern_n(interner, text, strlen(text));
}

const char *mw_intern_printf(MwInterner *interner, const char *format, ...)
{
    char short_text[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(short_text, sizeof short_text, format, args);
    va_end(args);
    MW_ASSERT(length >= 0);
    if ((size_t)length < sizeof short_text)
        return mw_intern_n(interner, short_text, (size_t)length);
    MwArena *scratch = mw_arena_new();
    va_start(args, format);
    const char *text = mw_arena_vprintf(scratch, format, args);
    va_end(args);
    const char *interned = mw_intern_n(interner, text, (size_t)length);
    mw_arena_free(&scratch);
    return interned;
}
