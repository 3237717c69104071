/* SPDX-License-Identifier: MIT */
/* The first of equal ids on a GPU: routine first_equal of runtime/plan/routines.def.
 *
 * A hash table holds the places of ids, with linear probing. A slot, once taken, holds places of
 * one id alone, and in the end the first of them; so the result does not depend on which thread
 * comes first, though the slots that ids get do. */
#include "base/tensor.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/routines.h"
#include "runtime/plan/routine.h"

enum { THREADS = 256, MOST_BLOCKS = 4096 };

static __global__ void __launch_bounds__(THREADS)
    clear_slots(int32_t *__restrict__ slot, int64_t slots)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < slots; i += step)
        slot[i] = -1;
}

static __global__ void __launch_bounds__(THREADS)
    take_slots(const int32_t *__restrict__ ids, int64_t count, int32_t *slot, int64_t slots)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        int64_t at = MW_FIRST_EQUAL_SLOT(ids[i], slots);
        int32_t there = atomicCAS(&slot[at], -1, (int32_t)i);
        while (there >= 0 && ids[there] != ids[i]) {
            at = (at + 1) & (slots - 1);
            there = atomicCAS(&slot[at], -1, (int32_t)i);
        }
        if (there >= 0)
            atomicMin(&slot[at], (int32_t)i);
    }
}

static __global__ void __launch_bounds__(THREADS)
    read_slots(const int32_t *__restrict__ ids, int64_t count, const int32_t *__restrict__ slot,
               int64_t slots, int32_t *__restrict__ first)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        int64_t at = MW_FIRST_EQUAL_SLOT(ids[i], slots);
        while (ids[slot[at]] != ids[i])
            at = (at + 1) & (slots - 1);
        first[i] = slot[at];
    }
}

static int blocks_for(int64_t count)
{
    return (int)mw_min((count + THREADS - 1) / THREADS, MOST_BLOCKS);
}

MW_C_BEGIN

void mw_cuda_first_equal(void *const *operands, const MwKernelArg *args, void *stream)
{
    const int64_t count = args[MW_FIRST_EQUAL_COUNT].i, slots = mw_first_equal_slots(count);
    const int32_t *ids = (const int32_t *)operands[0];
    int32_t *slot = (int32_t *)operands[2];
    MW_LAUNCH(clear_slots, blocks_for(slots), THREADS, stream, (slot, slots));
    MW_LAUNCH(take_slots, blocks_for(count), THREADS, stream, (ids, count, slot, slots));
    MW_LAUNCH(read_slots, blocks_for(count), THREADS, stream,
              (ids, count, slot, slots, (int32_t *)operands[1]));
}

MW_C_END
