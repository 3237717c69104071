/* SPDX-License-Identifier: MIT */
#include "runtime/weights/load.h"

bool mw_weight_load(const MwCheckpointRun *run, const MwPlanWeight *weight, MwStore *store,
                    const MwStoredView *views, int view_count, MwFault *fault)
{
    const MwPlanMesh *mesh = mw_executor_mesh(run->executor);
    const int64_t bytes = mw_tensor_bytes(&mesh->buffers[weight->buffer].tensor);
    MwArena *arena = mw_arena_new();
    char *part = mw_arena_alloc(arena, (size_t)bytes);
    int coordinate[MW_MAX_AXES];
    mw_mesh_coordinates(&mesh->shape, run->transport->rank - mesh->first_rank, coordinate);
    const MwBox held = mw_shard_box(mw_plan_held(weight), weight->spec, &mesh->shape, coordinate);
    const MwBox box = mw_box_clip(&held, &weight->global);
    bool good = true;
    for (int i = 0; good && i < view_count; i++)
        good = mw_stored_view_read(&views[i], store, &box, part, fault);
    good = good && run->device->table->copy_in(run->device,
                                               mw_executor_buffer(run->executor, weight->buffer),
                                               part, bytes, fault);
    mw_arena_free(&arena);
    return good || mw_fault_prefix(fault, "weight %s", weight->name);
}

static bool load_from_checkpoint(const MwCheckpointRun *run, MwStore *store, MwFault *fault)
{
    const MwPlanMesh *mesh = mw_executor_mesh(run->executor);
    for (int w = 0; w < mesh->weight_count; w++) {
        const MwPlanWeight *weight = &mesh->weights[w];
        const char *name = mw_plan_stored_name(weight);
        const int stored = weight->reset_each_step ? -1 : mw_store_find(store, name);
        const MwStoredView view = mw_stored_view_same(stored, mw_tensor_elements(&weight->global));
        if (weight->reset_each_step)
            continue;
        if (stored < 0)
            return mw_fault_set(fault, "the checkpoint has no %s", name);
        if (!mw_weight_load(run, weight, store, &view, 1, fault))
            return false;
    }
    return true;
}

bool mw_checkpoint_load(const MwCheckpointRun *run, const MwCheckpoint *checkpoint, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    MwStore *store = mw_store_new(arena);
    const bool good =
        mw_checkpoint_verify(checkpoint, run->transport->rank, run->transport->size, fault) &&
        mw_store_add_checkpoint(store, checkpoint, fault) &&
        load_from_checkpoint(run, store, fault);
    mw_store_close(&store);
    mw_arena_free(&arena);
    return good;
}
