/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table from a key of bytes to a pointer, for interning what is equal by structure. */
#ifndef MW_IR_KEY_MAP_H
#define MW_IR_KEY_MAP_H

#include "base/vec.h"

typedef struct {
    const void *key; /* NULL: empty */
    size_t bytes;
    uint64_t hash;
    void *value;
} MwKeySlot;

/* Zeroed: empty. Open addressing, linear probing, at most half full. */
typedef struct {
    MwKeySlot *slots;
    int capacity, count;
} MwKeyMap;

/* Where the value of the key stands; NULL stands there if the key is new, for the caller to fill
 * in. Valid until the next call. The key is copied. */
void **mw_key_map_at(MwArena *arena, MwKeyMap *map, const void *key, size_t bytes);

/* A key made of integers. */
typedef MW_VEC(int64_t) MwKeyWords;

static inline void **mw_key_map_at_words(MwArena *arena, MwKeyMap *map, const MwKeyWords *words)
{
    return mw_key_map_at(arena, map, words->at, sizeof *words->at * (size_t)words->count);
}

#endif
