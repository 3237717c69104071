/* SPDX-License-Identifier: MIT */
/* 64-bit content hashes (XXH3, from libxxhash), for hash tables, interning and the checksum of a
 * plan. A hash depends on the bytes alone, so it is the same on every machine. */
#ifndef MW_BASE_HASH_H
#define MW_BASE_HASH_H

#include "base/arena.h"

uint64_t mw_hash_bytes(const void *data, size_t bytes);

/* The hash of bytes that come in pieces: that of all of them together. */
typedef struct MwHashStream MwHashStream;
MwHashStream *mw_hash_stream_new(MwArena *arena);
void mw_hash_stream_add(MwHashStream *stream, const void *data, size_t bytes);
uint64_t mw_hash_stream_end(const MwHashStream *stream);

/* Mixes `value` into `hash`; order matters. */
static inline uint64_t mw_hash_mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xbf58476d1ce4e5b9u;
    return hash ^ (hash >> 31);
}

#endif
