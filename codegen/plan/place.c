/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offsets of the buffers of a mesh. */
#include "codegen/plan/memory.h"
#include "codegen/plan/storage.h"

/* Whether no other buffer lies where this one does. */
static bool has_own_place(const MwStorageBuffer *buffer, bool overlaps)
{
    return buffer->persistent || buffer->spans || (overlaps && buffer->early_spans);
}

/* What one memory takes. */
typedef struct {
    int64_t bytes, live_bytes;
} Place;

/* Places the buffers on the host, or those that are not, from offset `begin` on. Buffers that are
 * live through the step or over several tasks lie first; the others share what follows. */
static Place place(MwMeshStorage *mesh, bool on_host, int64_t begin, bool overlaps)
{
    int count = mesh->buffers.count, moving = 0;
    MwLifetime *lifetimes = MW_NEW(mesh->arena, MwLifetime, count);
    int64_t fixed = 0, fixed_live = 0;
    for (int i = 0; i < count; i++) {
        MwStorageBuffer *buffer = &mesh->buffers.at[i];
        if (buffer->on_host != on_host)
            continue;
        if (has_own_place(buffer, overlaps)) {
            buffer->offset = begin + fixed;
            fixed += buffer->slots * mw_slot_bytes(buffer->bytes);
            fixed_live += buffer->bytes * buffer->slots;
        } else {
            lifetimes[moving++] = (MwLifetime){.bytes = buffer->bytes,
                                               .begin = overlaps ? buffer->early : buffer->begin,
                                               .end = buffer->end};
        }
    }
    const int64_t bytes = mw_memory_assign(mesh->arena, lifetimes, moving, MW_BUFFER_ALIGNMENT);
    const int64_t live = mw_memory_lower_bound(mesh->arena, lifetimes, moving);
    moving = 0;
    for (int i = 0; i < count; i++) {
        MwStorageBuffer *buffer = &mesh->buffers.at[i];
        if (buffer->on_host == on_host && !has_own_place(buffer, overlaps))
            buffer->offset = begin + fixed + lifetimes[moving++].offset;
    }
    return (Place){fixed + bytes, fixed_live + live};
}

static void place_arena(MwMeshStorage *mesh, bool overlaps)
{
    const Place arena = place(mesh, false, 0, overlaps);
    mesh->arena_bytes = arena.bytes;
    mesh->live_bytes = arena.live_bytes;
}

void mw_storage_place(MwMeshStorage *mesh, bool overlaps, int64_t limit_bytes)
{
    place_arena(mesh, overlaps);
    if (overlaps && limit_bytes && mesh->arena_bytes > limit_bytes)
        place_arena(mesh, false);
    mesh->host_bytes = place(mesh, true, mw_host_begin(mesh->arena_bytes), false).bytes;
}
