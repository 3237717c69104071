/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offsets of the buffers of a mesh. */
#include "codegen/plan/memory.h"
#include "codegen/plan/storage.h"

/* Whether no other buffer lies where this one does. */
static bool has_own_place(const MwStorageBuffer *buffer, bool overlaps)
{
    return buffer->persistent || buffer->spans || (overlaps && buffer->early_spans);
}

/* Buffers that are live through the step or over several tasks lie first; the others share what
 * follows. */
static void place(MwMeshStorage *mesh, bool overlaps)
{
    int count = mesh->buffers.count, moving = 0;
    MwLifetime *lifetimes = MW_NEW(mesh->arena, MwLifetime, count);
    int64_t fixed = 0, fixed_live = 0;
    for (int i = 0; i < count; i++) {
        MwStorageBuffer *buffer = &mesh->buffers.at[i];
        if (has_own_place(buffer, overlaps)) {
            buffer->offset = fixed;
            fixed += buffer->slots * mw_slot_bytes(buffer->bytes);
            fixed_live += buffer->bytes * buffer->slots;
        } else {
            lifetimes[moving++] = (MwLifetime){.bytes = buffer->bytes,
                                               .begin = overlaps ? buffer->early : buffer->begin,
                                               .end = buffer->end};
        }
    }
    int64_t bytes = mw_memory_assign(mesh->arena, lifetimes, moving, MW_BUFFER_ALIGNMENT);
    mesh->live_bytes = fixed_live + mw_memory_lower_bound(mesh->arena, lifetimes, moving);
    mesh->arena_bytes = fixed + bytes;
    moving = 0;
    for (int i = 0; i < count; i++)
        if (!has_own_place(&mesh->buffers.at[i], overlaps))
            mesh->buffers.at[i].offset = fixed + lifetimes[moving++].offset;
}

void mw_storage_place(MwMeshStorage *mesh, bool overlaps, int64_t limit_bytes)
{
    place(mesh, overlaps);
    if (overlaps && limit_bytes && mesh->arena_bytes > limit_bytes)
        place(mesh, false);
}
