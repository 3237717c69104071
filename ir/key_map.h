/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table from a key of bytes to a pointer, for interning by structure. */
#ifndef MW_IR_KEY_MAP_H
#define MW_IR_KEY_MAP_H

#include "base/vec.h"

typedef struct {
    const void *key; /* NULL: empty */
    size_t bytes;
    uint64_t hash;
    void *value;
} MwKeySlot;

/* Empty if zeroed. Open addressing and linear probing, at most half full. */
typedef struct {
    MwKeySlot *slots;
    int capacity, count;
} MwKeyMap;

/* The slot of the key's value, which is NULL if the key is new; the caller fills it. Valid until
 * the next call. The key is copied to `arena`. */
void **mw_key_map_at(MwArena *arena, MwKeyMap *map, const void *key, size_t bytes);

/* A key of integers. */
typedef MW_VEC(int64_t) MwKeyWords;

static inline void **mw_key_map_at_words(MwArena *arena, MwKeyMap *map, const MwKeyWords *words)
{
    return mw_key_map_at(arena, map, words->at, sizeof *words->at * (size_t)words->count);
}

#endif
