/* SPDX-License-Identifier: MIT */
#define XXH_STATIC_LINKING_ONLY /* the type of the state */
#include "base/hash.h"

#include <xxhash.h>

struct MwHashStream {
    XXH3_state_t state;
};

MwHashStream *mw_hash_stream_new(MwArena *arena)
{
    /* The state wants a larger alignment than that of an arena. */
    const uintptr_t align = _Alignof(MwHashStream);
    const uintptr_t at = (uintptr_t)mw_arena_alloc(arena, sizeof(MwHashStream) + align);
    MwHashStream *stream = (MwHashStream *)((at + align - 1) / align * align);
    XXH3_64bits_reset(&stream->state);
    return stream;
}

void mw_hash_stream_add(MwHashStream *stream, const void *data, size_t bytes)
{
    XXH3_64bits_update(&stream->state, data, bytes);
}

uint64_t mw_hash_stream_end(const MwHashStream *stream)
{
    return XXH3_64bits_digest(&stream->state);
}

uint64_t mw_hash_bytes(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}
