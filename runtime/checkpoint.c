/* SPDX-License-Identifier: MIT */
#include "runtime/checkpoint.h"

#include "runtime/checkpoint_files.h"
#include "runtime/npy.h"

#include <string.h>

/* What moving one weight needs to know. */
typedef struct {
    const MwPlanMesh *mesh;
    const MwPlanWeight *weight;
    const MwExecutor *executor;
    MwDevice *device;
    MwTransport *transport;
    MwArena *arena; /* for this weight */
} Move;

static MwBlock block_of(const Move *move, int rank, bool *is_first)
{
    const MwPlanWeight *weight = move->weight;
    int coordinate[MW_MAX_AXES];
    mw_mesh_coordinates(&move->mesh->shape, rank - move->mesh->first_rank, coordinate);
    *is_first = mw_block_is_first(&weight->global, weight->spec, &move->mesh->shape, coordinate);
    return mw_block(&weight->global, weight->spec, &move->mesh->shape, coordinate);
}

/* Copies a block between its own order and the whole tensor's. */
static void place_block(const MwBlock *block, char *whole, char *part, bool into_whole)
{
    const int64_t bytes = mw_type_bytes(block->global.type);
    for (MwRun run = {0}; mw_block_next_run(block, &run);) {
        char *in_whole = whole + run.global * bytes, *in_part = part + run.local * bytes;
        memcpy(into_whole ? in_whole : in_part, into_whole ? in_part : in_whole,
               (size_t)(run.count * bytes));
    }
}

/* ---- Saving ---- */

/* This rank's part in host memory. */
static char *own_part(const Move *move, int64_t bytes, MwFault *fault)
{
    char *part = mw_arena_alloc(move->arena, (size_t)bytes);
    const void *from = mw_executor_buffer(move->executor, move->weight->buffer);
    return move->device->table->copy_out(move->device, part, from, bytes, fault) ? part : NULL;
}

/* Brings the part of `rank` to rank 0, which puts it into `whole`. */
static bool gather_part(const Move *move, int rank, char *whole, MwFault *fault)
{
    MwTransport *transport = move->transport;
    bool is_first;
    const MwBlock block = block_of(move, rank, &is_first);
    const int64_t bytes = mw_block_elements(&block) * mw_type_bytes(block.global.type);
    char *part = NULL;
    if (!is_first || (transport->rank != 0 && transport->rank != rank))
        return true;
    if (transport->rank == rank && !(part = own_part(move, bytes, fault)))
        return false;
    if (transport->rank != 0)
        return transport->table->send(transport, 0, part, bytes, fault);
    if (rank != 0) {
        part = mw_arena_alloc(move->arena, (size_t)bytes);
        if (!transport->table->receive(transport, rank, part, bytes, fault))
            return false;
    }
    place_block(&block, whole, part, true);
    return true;
}

static bool save_weight(const Move *move, const MwCheckpoint *checkpoint, MwFault *fault)
{
    const MwTensor *global = &move->weight->global;
    const bool writes = move->transport->rank == 0;
    char *file = mw_arena_alloc(
        move->arena, writes ? (size_t)(MW_NPY_HEADER_BYTES + mw_tensor_bytes(global)) : 0);
    char *whole = writes ? file + MW_NPY_HEADER_BYTES : NULL;
    for (int i = 0; i < mw_mesh_devices(&move->mesh->shape); i++)
        if (!gather_part(move, move->mesh->first_rank + i, whole, fault))
            return false;
    return !writes ||
           mw_checkpoint_write_tensor(checkpoint, move->weight->name, global, file, fault);
}

/* ---- Loading ---- */

/* Brings the part of `rank` from rank 0, which has `whole`. */
static bool scatter_part(const Move *move, int rank, char *whole, MwFault *fault)
{
    MwTransport *transport = move->transport;
    bool is_first;
    const MwBlock block = block_of(move, rank, &is_first);
    const int64_t bytes = mw_block_elements(&block) * mw_type_bytes(block.global.type);
    if (transport->rank != 0 && transport->rank != rank)
        return true;
    char *part = mw_arena_alloc(move->arena, (size_t)bytes);
    if (transport->rank == 0)
        place_block(&block, whole, part, false);
    if (transport->rank == 0 && rank != 0)
        return transport->table->send(transport, rank, part, bytes, fault);
    if (rank != 0 && !transport->table->receive(transport, 0, part, bytes, fault))
        return false;
    return move->device->table->copy_in(
        move->device, mw_executor_buffer(move->executor, move->weight->buffer), part, bytes, fault);
}

/* Rank 0 may be unable to read a file; the others must hear of it. */
static bool read_whole(const Move *move, const MwCheckpoint *checkpoint, const char **whole,
                       MwFault *fault)
{
    char failed = 0, *all = mw_arena_alloc(move->arena, (size_t)move->transport->size);
    if (move->transport->rank == 0) {
        *whole = mw_checkpoint_read_tensor(move->arena, checkpoint, move->weight->name,
                                           &move->weight->global, fault);
        failed = !*whole;
    }
    return move->transport->table->share(move->transport, &failed, 1, all, fault) && !all[0];
}

static bool load_weight(const Move *move, const MwCheckpoint *checkpoint, MwFault *fault)
{
    const char *whole = NULL;
    if (!read_whole(move, checkpoint, &whole, fault))
        return false;
    for (int i = 0; i < mw_mesh_devices(&move->mesh->shape); i++)
        if (!scatter_part(move, move->mesh->first_rank + i, (char *)(uintptr_t)whole, fault))
            return false;
    return true;
}

/* ---- All weights ---- */

typedef bool MoveWeight(const Move *move, const MwCheckpoint *checkpoint, MwFault *fault);

static bool each_weight(Move move, const MwPlan *plan, const MwCheckpoint *checkpoint,
                        MoveWeight *move_weight, MwFault *fault)
{
    for (int i = 0; i < plan->mesh_count; i++) {
        move.mesh = &plan->meshes[i];
        for (int w = 0; w < move.mesh->weight_count; w++) {
            move.weight = &move.mesh->weights[w];
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

bool mw_checkpoint_save(const char *dir, const MwPlan *plan, const MwExecutor *executor,
                        MwDevice *device, MwTransport *transport, int64_t step, uint64_t seed,
                        MwFault *fault)
{
    const Move move = {.executor = executor, .device = device, .transport = transport};
    MwCheckpoint checkpoint = {0};
    const bool writes = transport->rank == 0;
    if (writes && !mw_checkpoint_begin(dir, step, seed, &checkpoint, fault))
        return false;
    bool good = each_weight(move, plan, &checkpoint, save_weight, fault) &&
                (!writes || mw_checkpoint_commit(dir, plan->model, &checkpoint, fault));
    if (!good && writes)
        mw_checkpoint_drop(&checkpoint);
    return good;
}

bool mw_checkpoint_load(const MwCheckpoint *checkpoint, const MwPlan *plan,
                        const MwExecutor *executor, MwDevice *device, MwTransport *transport,
                        MwFault *fault)
{
    const Move move = {.executor = executor, .device = device, .transport = transport};
    return each_weight(move, plan, checkpoint, load_weight, fault);
}
