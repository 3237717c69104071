/* SPDX-License-Identifier: MIT */
#include "runtime/data/checkpoint.h"

#include "runtime/data/gather.h"
#include "runtime/data/npy.h"

#include <string.h>

/* The weight that is being saved or loaded. */
typedef struct {
    const MwCheckpointRun *run;
    const MwPlanWeight *weight;
    MwShardedTensor tensor;
    MwArena *arena; /* scratch memory for this weight */
} Move;

/* The size of a shard: that of the tensor in its buffer. */
static int64_t part_bytes(const Move *move)
{
    return mw_tensor_bytes(&move->tensor.mesh->buffers[move->weight->buffer].tensor);
}

static char *alloc_if(const Move *move, bool is_needed, int64_t bytes)
{
    return is_needed ? mw_arena_alloc(move->arena, (size_t)bytes) : NULL;
}

/* True if an earlier mesh, or an earlier stage of the same mesh, has the weight. */
static bool is_saved_already(const Move *move)
{
    for (const MwPlanMesh *mesh = move->run->plan->meshes; mesh <= move->tensor.mesh; mesh++)
        for (int w = 0; w < mesh->weight_count && &mesh->weights[w] != move->weight; w++)
            if (!mesh->weights[w].reset_each_step &&
                strcmp(mesh->weights[w].name, move->weight->name) == 0)
                return true;
    return false;
}

static bool save_weight(const Move *move, const MwCheckpoint *checkpoint, MwFault *fault)
{
    if (is_saved_already(move))
        return true;
    const MwTensor *global = &move->weight->global;
    const bool writes = move->run->transport->rank == 0;
    const bool sends = mw_sharded_is_sent(&move->tensor, move->run->transport->rank);
    char *file = alloc_if(move, writes, MW_NPY_HEADER_BYTES + mw_tensor_bytes(global));
    char *scratch = alloc_if(move, writes, part_bytes(move));
    char *part = alloc_if(move, sends, part_bytes(move));
    if (sends &&
        !move->run->device->table->copy_out(
            move->run->device, part, mw_executor_buffer(move->run->executor, move->weight->buffer),
            part_bytes(move), fault))
        return false;
    char *whole = writes ? file + MW_NPY_HEADER_BYTES : NULL;
    return mw_gather(&move->tensor, move->run->transport, 0, part, whole, scratch, fault) &&
           (!writes ||
            mw_checkpoint_write_tensor(checkpoint, move->weight->name, global, file, fault));
}

/* Reads the tensor on rank 0. False on every rank if rank 0 cannot read it. */
static bool read_whole(const Move *move, const MwCheckpoint *checkpoint, const char **whole,
                       MwFault *fault)
{
    char failed = 0, *all = mw_arena_alloc(move->arena, (size_t)move->run->transport->size);
    if (move->run->transport->rank == 0) {
        *whole = mw_checkpoint_read_tensor(move->arena, checkpoint, move->weight->name,
                                           &move->weight->global, fault);
        failed = !*whole;
    }
    return move->run->transport->table->allgather(move->run->transport, &failed, 1, all, fault) &&
           !all[0];
}

static bool load_weight(const Move *move, const MwCheckpoint *checkpoint, MwFault *fault)
{
    const bool is_held = mw_executor_mesh(move->run->executor) == move->tensor.mesh;
    char *scratch = alloc_if(move, move->run->transport->rank == 0, part_bytes(move));
    char *part = alloc_if(move, is_held, part_bytes(move));
    const char *whole = NULL;
    return read_whole(move, checkpoint, &whole, fault) &&
           mw_scatter(&move->tensor, move->run->transport, part, whole, scratch, fault) &&
           (!is_held ||
            move->run->device->table->copy_in(
                move->run->device, mw_executor_buffer(move->run->executor, move->weight->buffer),
                part, part_bytes(move), fault));
}

/* ---- All weights ---- */

typedef bool MoveWeight(const Move *move, const MwCheckpoint *checkpoint, MwFault *fault);

static bool each_weight(Move move, const MwCheckpoint *checkpoint, MoveWeight *move_weight,
                        MwFault *fault)
{
    for (int i = 0; i < move.run->plan->mesh_count; i++) {
        const MwPlanMesh *mesh = &move.run->plan->meshes[i];
        for (int w = 0; w < mesh->weight_count; w++) {
            move.weight = &mesh->weights[w];
            move.tensor = (MwShardedTensor){
                mesh, &move.weight->global, mw_plan_held(move.weight), move.weight->spec, 0, 1};
            if (move.weight->reset_each_step)
                continue;
            move.arena = mw_arena_new();
            bool good = move_weight(&move, checkpoint, fault);
            mw_arena_free(&move.arena);
            if (!good)
                return false;
        }
    }
    return true;
}

bool mw_checkpoint_save(const MwCheckpointRun *run, const char *dir, int64_t step, uint64_t seed,
                        MwFault *fault)
{
    MwCheckpoint checkpoint = {0};
    const bool writes = run->transport->rank == 0;
    if (writes && !mw_checkpoint_begin(dir, step, seed, &checkpoint, fault))
        return false;
    bool good = each_weight((Move){.run = run}, &checkpoint, save_weight, fault) &&
                (!writes || mw_checkpoint_commit(dir, run->plan->model, &checkpoint, fault));
    if (!good && writes)
        mw_checkpoint_drop(&checkpoint);
    return good;
}

bool mw_checkpoint_load(const MwCheckpointRun *run, const MwCheckpoint *checkpoint, MwFault *fault)
{
    return each_weight((Move){.run = run}, checkpoint, load_weight, fault);
}
