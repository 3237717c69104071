/* SPDX-License-Identifier: MIT */
#include "runtime/exec/weights.h"

#include "base/element.h"
#include "base/hash.h"
#include "base/philox.h"
#include "runtime/plan/evaluation.h"

#include <stdlib.h>
#include <string.h>

/* Elements 4 block to 4 block + 3 of a stream of standard normals: the values of mw_normal_at, with
 * one call of Philox in place of four. */
static void normal_block(uint64_t seed, uint64_t stream, uint64_t block, double value[4])
{
    uint32_t word[4];
    mw_philox(seed, stream, block, word);
    for (int pair = 0; pair < 4; pair += 2) {
        double radius = sqrt(-2 * log(mw_random_uniform(word[pair])));
        double angle = 6.283185307179586 * mw_random_uniform(word[pair + 1]);
        value[pair] = radius * cos(angle);
        value[pair + 1] = radius * sin(angle);
    }
}

static void uniform_block(uint64_t seed, uint64_t stream, uint64_t block, double value[4])
{
    uint32_t word[4];
    mw_philox(seed, stream, block, word);
    for (int i = 0; i < 4; i++)
        value[i] = 2 * mw_random_uniform(word[i]) - 1;
}

/* The elements of a block, before they are scaled and rounded. */
static void block_values(MwInit init, uint64_t seed, uint64_t stream, uint64_t block,
                         double value[4])
{
    switch (init) {
    case MW_INIT_NORMAL:
        normal_block(seed, stream, block, value);
        return;
    case MW_INIT_UNIFORM:
        uniform_block(seed, stream, block, value);
        return;
    case MW_INIT_ZEROS:
    case MW_INIT_ONES:
    case MW_INIT_CONSTANT:
        for (int i = 0; i < 4; i++)
            value[i] = init != MW_INIT_ZEROS;
        return;
    }
    MW_UNREACHABLE();
}

void mw_weight_values(const MwPlanWeight *weight, uint64_t seed, int64_t first, int64_t count,
                      void *to)
{
    const char *name = mw_plan_stored_name(weight);
    const uint64_t stream = mw_hash_bytes(name, strlen(name));
    const bool is_plain = weight->init == MW_INIT_ZEROS || weight->init == MW_INIT_ONES;
    const double scale = is_plain ? 1 : weight->init_value;
    double value[4];
    for (int64_t i = 0; i < count; i++) {
        int64_t index = first + i;
        if (i == 0 || index % 4 == 0)
            block_values(weight->init, seed, stream, (uint64_t)index / 4, value);
        const double element = scale * value[index % 4];
        mw_element_put(weight->global.type, to, i, weight->is_copy ? (float)element : element);
    }
}

/* Elements that are generated per copy to the device: 16 KiB of stack. Chosen, not measured;
 * generating the numbers takes longer than the call. */
enum { CHUNK = 4096 };

static bool copy_values(MwDevice *device, const MwPlanWeight *weight, const MwBox *box,
                        uint64_t seed, char *to, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(weight->global.type);
    float values[CHUNK];
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);) {
        for (int64_t at = 0; at < segment.count; at += CHUNK) {
            int64_t count = mw_min(CHUNK, segment.count - at);
            mw_weight_values(weight, seed, segment.global + at, count, values);
            if (!device->table->copy_in(device, to + (segment.local + at) * bytes, values,
                                        count * bytes, fault))
                return false;
        }
    }
    return true;
}

bool mw_weight_init(MwDevice *device, const MwPlanMesh *mesh, const int coordinate[MW_MAX_AXES],
                    int index, uint64_t seed, void *to, MwFault *fault)
{
    const MwPlanWeight *weight = &mesh->weights[index];
    if (weight->init == MW_INIT_ZEROS || device->is_dry_run)
        return device->table->zero(device, to, mesh->buffers[weight->buffer].bytes, fault);
    const MwBox held = mw_shard_box(mw_plan_held(weight), weight->spec, &mesh->shape, coordinate);
    const MwBox box = mw_box_clip(&held, &weight->global);
    if (weight->is_padded &&
        !device->table->zero(device, to, mesh->buffers[weight->buffer].bytes, fault))
        return false;
    return copy_values(device, weight, &box, seed, to, fault) ||
           mw_fault_prefix(fault, "weight %s", weight->name);
}

static int compare_zeros(const void *a, const void *b)
{
    const int64_t x = ((const MwZeroRange *)a)->begin, y = ((const MwZeroRange *)b)->begin;
    return (x > y) - (x < y);
}

MwZeroRange *mw_weights_zero_ranges(MwArena *arena, const MwPlanMesh *mesh, int *count)
{
    MwZeroRange *zeros = MW_NEW(arena, MwZeroRange, mesh->weight_count);
    int all = 0, kept = 0;
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *weight = &mesh->weights[i];
        const MwPlanBuffer *buffer = &mesh->buffers[weight->buffer];
        if (weight->reset_each_step && weight->init == MW_INIT_ZEROS)
            zeros[all++] = (MwZeroRange){buffer->offset, buffer->offset + buffer->bytes};
    }
    qsort(zeros, (size_t)all, sizeof *zeros, compare_zeros);
    for (int i = 0; i < all; i++) {
        /* A gap below the alignment holds padding only. */
        if (kept && zeros[i].begin - zeros[kept - 1].end < MW_BUFFER_ALIGNMENT)
            zeros[kept - 1].end = zeros[i].end;
        else
            zeros[kept++] = zeros[i];
    }
    *count = kept;
    return zeros;
}

MwSavedWeights mw_saved_weights(MwArena *arena, const MwPlanMesh *mesh, void *const *at)
{
    const MwSavedWeights saved = {mesh, at, MW_NEW(arena, char *, mesh->weight_count)};
    for (int i = 0; i < mesh->weight_count; i++)
        if (mw_plan_changes(mesh, i))
            saved.host[i] =
                mw_arena_alloc(arena, (size_t)mesh->buffers[mesh->weights[i].buffer].bytes);
    return saved;
}

bool mw_weights_save(MwDevice *device, const MwSavedWeights *saved, MwFault *fault)
{
    for (int i = 0; saved->mesh && i < saved->mesh->weight_count; i++) {
        const MwPlanBuffer *buffer = &saved->mesh->buffers[saved->mesh->weights[i].buffer];
        if (saved->host[i] &&
            !device->table->copy_out(device, saved->host[i], saved->at[i], buffer->bytes, fault))
            return false;
    }
    return true;
}

bool mw_weights_restore(MwDevice *device, const MwSavedWeights *saved, MwFault *fault)
{
    for (int i = 0; saved->mesh && i < saved->mesh->weight_count; i++) {
        const MwPlanBuffer *buffer = &saved->mesh->buffers[saved->mesh->weights[i].buffer];
        if (saved->host[i] &&
            !device->table->copy_in(device, saved->at[i], saved->host[i], buffer->bytes, fault))
            return false;
    }
    return true;
}
