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

/* The buffers of one memory: what those take that have places of their own, and when the others
 * are live. */
typedef struct {
    Place fixed;
    MwLifetime *lifetimes; /* [moving] */
    int moving;
} Occupants;

static Occupants occupants_of(const MwMeshStorage *mesh, bool on_host, bool overlaps)
{
    Occupants of = {.lifetimes = MW_NEW(mesh->arena, MwLifetime, mesh->buffers.count)};
    for (int i = 0; i < mesh->buffers.count; i++) {
        const MwStorageBuffer *buffer = &mesh->buffers.at[i];
        if (buffer->on_host != on_host)
            continue;
        if (has_own_place(buffer, overlaps)) {
            of.fixed.bytes += buffer->slots * mw_slot_bytes(buffer->bytes);
            of.fixed.live_bytes += buffer->slots * buffer->bytes;
        } else {
            of.lifetimes[of.moving++] =
                (MwLifetime){.bytes = buffer->bytes,
                             .begin = overlaps ? buffer->early : buffer->begin,
                             .end = buffer->end};
        }
    }
    return of;
}

/* Places the buffers on the host, or those that are not, from offset `begin` on. Buffers that are
 * live through the step or over several tasks lie first; the others share what follows. */
static Place place(MwMeshStorage *mesh, bool on_host, int64_t begin, bool overlaps)
{
    const Occupants of = occupants_of(mesh, on_host, overlaps);
    const int64_t bytes =
        mw_memory_assign(mesh->arena, of.lifetimes, of.moving, MW_BUFFER_ALIGNMENT);
    const int64_t live = mw_memory_lower_bound(mesh->arena, of.lifetimes, of.moving);
    int64_t fixed = 0;
    int moving = 0;
    for (int i = 0; i < mesh->buffers.count; i++) {
        MwStorageBuffer *buffer = &mesh->buffers.at[i];
        if (buffer->on_host != on_host)
            continue;
        if (has_own_place(buffer, overlaps)) {
            buffer->offset = begin + fixed;
            fixed += buffer->slots * mw_slot_bytes(buffer->bytes);
        } else {
            buffer->offset = begin + of.fixed.bytes + of.lifetimes[moving++].offset;
        }
    }
    return (Place){of.fixed.bytes + bytes, of.fixed.live_bytes + live};
}

int64_t mw_storage_least_bytes(const MwMeshStorage *mesh)
{
    const Occupants of = occupants_of(mesh, false, false);
    return of.fixed.bytes + mw_memory_lower_bound(mesh->arena, of.lifetimes, of.moving);
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
