/* SPDX-License-Identifier: MIT */
#include "runtime/weights.h"

#include "base/hash.h"
#include "base/philox.h"
#include "runtime/bf16.h"

#include <string.h>

/* Element of the weight before it is rounded. */
static double value_at(const MwPlanWeight *weight, uint64_t seed, uint64_t stream, int64_t index)
{
    switch (weight->init) {
    case MW_INIT_ZEROS:
        return 0;
    case MW_INIT_ONES:
        return 1;
    case MW_INIT_NORMAL:
        return weight->init_value * mw_normal_at(seed, stream, (uint64_t)index);
    case MW_INIT_UNIFORM:
        return weight->init_value * (2 * mw_uniform_at(seed, stream, (uint64_t)index) - 1);
    case MW_INIT_CONSTANT:
        return weight->init_value;
    }
    MW_UNREACHABLE();
}

static void store(MwType type, double value, void *to, int64_t index)
{
    switch (type) {
    case MW_F32:
        ((float *)to)[index] = (float)value;
        break;
    case MW_BF16:
        ((uint16_t *)to)[index] = mw_bf16_from_f64(value);
        break;
    case MW_I32:
        ((int32_t *)to)[index] = (int32_t)value;
        break;
    case MW_BOOL:
        ((bool *)to)[index] = value != 0;
        break;
    case MW_TYPE_COUNT:
        MW_UNREACHABLE();
    }
}

void mw_weight_values(const MwPlanWeight *weight, uint64_t seed, int64_t first, int64_t count,
                      void *to)
{
    uint64_t stream = mw_hash_bytes(weight->name, strlen(weight->name));
    for (int64_t i = 0; i < count; i++)
        store(weight->global.type, value_at(weight, seed, stream, first + i), to, i);
}

/* Elements made at a time. */
enum { CHUNK = 4096 };

/* Run by run of the device's block. */
static bool copy_values(MwDevice *device, const MwPlanWeight *weight, const MwBlock *block,
                        uint64_t seed, char *to, MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(weight->global.type);
    float values[CHUNK];
    for (MwRun run = {0}; mw_block_next_run(block, &run);) {
        for (int64_t at = 0; at < run.count; at += CHUNK) {
            int64_t count = mw_min(CHUNK, run.count - at);
            mw_weight_values(weight, seed, run.global + at, count, values);
            if (!device->table->copy_in(device, to + (run.local + at) * bytes, values,
                                        count * bytes, fault))
                return false;
        }
    }
    return true;
}

bool mw_weight_start(MwDevice *device, const MwPlanMesh *mesh, const int coordinate[MW_MAX_AXES],
                     int index, uint64_t seed, void *to, MwFault *fault)
{
    const MwPlanWeight *weight = &mesh->weights[index];
    if (weight->init == MW_INIT_ZEROS)
        return device->table->zero(device, to, mesh->buffers[weight->buffer].bytes, fault);
    const MwBlock block = mw_block(&weight->global, weight->spec, &mesh->shape, coordinate);
    return copy_values(device, weight, &block, seed, to, fault) ||
           mw_fault_prefix(fault, "weight %s", weight->name);
}
