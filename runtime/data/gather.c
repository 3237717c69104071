/* SPDX-License-Identifier: MIT */
#include "runtime/data/gather.h"

#include <string.h>

static bool is_of_mesh(const MwShardedTensor *tensor, int rank)
{
    int first = tensor->mesh->first_rank;
    return rank >= first && rank < first + mw_mesh_devices(&tensor->mesh->shape);
}

/* The shard of `rank`, which is on the mesh. `*is_first`: no lower rank holds the same one. */
static MwBox shard_of(const MwShardedTensor *tensor, int rank, bool *is_first)
{
    const MwMeshShape *shape = &tensor->mesh->shape;
    int coordinate[MW_MAX_AXES];
    mw_mesh_coordinates(shape, rank - tensor->mesh->first_rank, coordinate);
    *is_first = mw_shard_is_first(tensor->held, tensor->spec, shape, coordinate);
    const MwBox box = mw_shard_box_of_micro_batch(tensor->held, tensor->spec, shape, coordinate,
                                                  tensor->micro, tensor->micros);
    return mw_box_clip(&box, tensor->global);
}

bool mw_sharded_is_sent(const MwShardedTensor *tensor, int rank)
{
    bool is_first = false;
    if (is_of_mesh(tensor, rank))
        shard_of(tensor, rank, &is_first);
    return is_first;
}

bool mw_gather(const MwShardedTensor *tensor, MwTransport *transport, int root, const void *part,
               void *whole, void *scratch, MwFault *fault)
{
    const int first = tensor->mesh->first_rank, self = transport->rank;
    const int devices = mw_mesh_devices(&tensor->mesh->shape);
    const int64_t bytes = mw_type_bytes(tensor->global->type);
    for (int rank = first; rank < first + devices; rank++) {
        bool is_first;
        const MwBox box = shard_of(tensor, rank, &is_first);
        const char *from = self == rank ? part : scratch;
        if (!is_first || (self != root && self != rank))
            continue;
        if (self != root) {
            if (!transport->table->send(transport, root, part, mw_box_held_bytes(&box), fault))
                return false;
            continue;
        }
        if (rank != root &&
            !transport->table->receive(transport, rank, scratch, mw_box_held_bytes(&box), fault))
            return false;
        for (MwSegment segment = {0}; mw_box_next_segment(&box, &segment);)
            memcpy((char *)whole + segment.global * bytes, from + segment.local * bytes,
                   (size_t)(segment.count * bytes));
    }
    return true;
}
