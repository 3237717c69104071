/* SPDX-License-Identifier: MIT */
#include "runtime/data/gather.h"

#include <string.h>

static bool is_of_mesh(const MwSpread *spread, int rank)
{
    int first = spread->mesh->first_rank;
    return rank >= first && rank < first + mw_mesh_devices(&spread->mesh->shape);
}

/* The part of `rank`, which is one of the mesh. `*is_first`: no lower rank has the same. */
static MwBlock block_of(const MwSpread *spread, int rank, bool *is_first)
{
    const MwMeshShape *shape = &spread->mesh->shape;
    int coordinate[MW_MAX_AXES];
    mw_mesh_coordinates(shape, rank - spread->mesh->first_rank, coordinate);
    *is_first = mw_block_is_first(spread->global, spread->spec, shape, coordinate);
    return mw_block_micro(spread->global, spread->spec, shape, coordinate, spread->micro,
                          spread->micros);
}

bool mw_spread_is_sent(const MwSpread *spread, int rank)
{
    bool is_first = false;
    if (is_of_mesh(spread, rank))
        block_of(spread, rank, &is_first);
    return is_first;
}

static int64_t block_bytes(const MwBlock *block)
{
    return mw_block_elements(block) * mw_type_bytes(block->global.type);
}

bool mw_gather(const MwSpread *spread, MwTransport *transport, int root, const void *part,
               void *whole, void *room, MwFault *fault)
{
    const int first = spread->mesh->first_rank, self = transport->rank;
    const int devices = mw_mesh_devices(&spread->mesh->shape);
    const int64_t bytes = mw_type_bytes(spread->global->type);
    for (int rank = first; rank < first + devices; rank++) {
        bool is_first;
        const MwBlock block = block_of(spread, rank, &is_first);
        const char *from = self == rank ? part : room;
        if (!is_first || (self != root && self != rank))
            continue;
        if (self != root) {
            if (!transport->table->send(transport, root, part, block_bytes(&block), fault))
                return false;
            continue;
        }
        if (rank != root &&
            !transport->table->receive(transport, rank, room, block_bytes(&block), fault))
            return false;
        for (MwRun run = {0}; mw_block_next_run(&block, &run);)
            memcpy((char *)whole + run.global * bytes, from + run.local * bytes,
                   (size_t)(run.count * bytes));
    }
    return true;
}

bool mw_scatter(const MwSpread *spread, MwTransport *transport, void *part, const void *whole,
                void *room, MwFault *fault)
{
    const int first = spread->mesh->first_rank, self = transport->rank;
    const int devices = mw_mesh_devices(&spread->mesh->shape);
    const int64_t bytes = mw_type_bytes(spread->global->type);
    for (int rank = first; rank < first + devices; rank++) {
        bool is_first;
        const MwBlock block = block_of(spread, rank, &is_first);
        char *to = self == rank ? part : room;
        if (self != 0) {
            if (self == rank &&
                !transport->table->receive(transport, 0, part, block_bytes(&block), fault))
                return false;
            continue;
        }
        for (MwRun run = {0}; mw_block_next_run(&block, &run);)
            memcpy(to + run.local * bytes, (const char *)whole + run.global * bytes,
                   (size_t)(run.count * bytes));
        if (rank != 0 && !transport->table->send(transport, rank, room, block_bytes(&block), fault))
            return false;
    }
    return true;
}
