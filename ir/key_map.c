/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/key_map.h"

#include "base/hash.h"

#include <string.h>

static MwKeySlot *find(const MwKeyMap *map, const void *key, size_t bytes, uint64_t hash)
{
    int mask = map->capacity - 1;
    int slot = (int)(hash & (uint64_t)mask);
    for (;; slot = (slot + 1) & mask) {
        MwKeySlot *at = &map->slots[slot];
        if (!at->key ||
            (at->hash == hash && at->bytes == bytes && memcmp(at->key, key, bytes) == 0))
            return at;
    }
}

static void grow(MwArena *arena, MwKeyMap *map)
{
    MwKeyMap old = *map;
    map->capacity = old.capacity ? 2 * old.capacity : 64;
    map->slots = MW_NEW(arena, MwKeySlot, map->capacity);
    for (int i = 0; i < old.capacity; i++) {
        const MwKeySlot *slot = &old.slots[i];
        if (slot->key)
            *find(map, slot->key, slot->bytes, slot->hash) = *slot;
    }
}

void **mw_key_map_at(MwArena *arena, MwKeyMap *map, const void *key, size_t bytes)
{
    if (2 * (map->count + 1) > map->capacity)
        grow(arena, map);
    uint64_t hash = mw_hash_bytes(key, bytes);
    MwKeySlot *slot = find(map, key, bytes, hash);
    if (!slot->key) {
        *slot = (MwKeySlot){.key = mw_arena_dup(arena, key, bytes), .bytes = bytes, .hash = hash};
        map->count++;
    }
    return &slot->value;
}
