/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/kinds.h"

#include "runtime/plan/live.h"

#include <stdlib.h>
#include <string.h>

typedef enum { KIND_WEIGHT, KIND_STATE, KIND_GRADIENT, KIND_BUFFER, KIND_OTHER, KIND_COUNT } Kind;

/* "x.all_gather.2" is the result of a collective. */
static bool is_of_collective(const char *name)
{
    for (int kind = 0; kind < MW_COLLECTIVE_COUNT; kind++) {
        const char *word = mw_collective_name((MwCollective)kind);
        const char *at = strstr(name, word);
        if (at && at > name && at[-1] == '.' && at[strlen(word)] == '.')
            return true;
    }
    return false;
}

static Kind kind_of_weight(const MwPlanWeight *weight)
{
    if (weight->reset_each_step)
        return KIND_GRADIENT;
    return weight->is_state && !weight->is_copy ? KIND_STATE : KIND_WEIGHT;
}

/* [buffers] */
static Kind *kinds_of(MwArena *arena, const MwPlanMesh *mesh)
{
    Kind *kinds = MW_NEW(arena, Kind, mesh->buffer_count);
    for (int b = 0; b < mesh->buffer_count; b++)
        kinds[b] = is_of_collective(mesh->buffers[b].name) ? KIND_BUFFER : KIND_OTHER;
    for (int w = 0; w < mesh->weight_count; w++) {
        const MwPlanWeight *weight = &mesh->weights[w];
        kinds[weight->buffer] = kind_of_weight(weight);
        const char *gradient = mw_arena_printf(arena, "grad.%s", weight->name);
        for (int b = 0; b < mesh->buffer_count && !weight->is_state; b++)
            if (strcmp(mesh->buffers[b].name, gradient) == 0)
                kinds[b] = KIND_GRADIENT;
    }
    return kinds;
}

typedef struct {
    int64_t begin, end; /* bytes of the arena */
    Kind kind;
} Range;

static int by_begin(const void *a, const void *b)
{
    const Range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sums the bytes of each kind; those of several ranges count once, for the first of them. */
static void sum_ranges(Range *ranges, int count, int64_t bytes[KIND_COUNT])
{
    int64_t covered = 0;
    qsort(ranges, (size_t)count, sizeof *ranges, by_begin);
    for (int i = 0; i < count; i++) {
        const int64_t begin = mw_max(ranges[i].begin, covered);
        bytes[ranges[i].kind] += mw_max(ranges[i].end - begin, 0);
        covered = mw_max(covered, ranges[i].end);
    }
}

static int fullest_point(const MwPlanLive *live, const MwPlanMesh *mesh)
{
    int most = 0;
    for (int p = 1; p < live->first[mesh->task_count]; p++)
        if (live->bytes[p] > live->bytes[most])
            most = p;
    return most;
}

MwMemoryKinds mw_memory_kinds(MwArena *arena, const MwPlanMesh *mesh)
{
    const MwPlanLive live = mw_plan_live(arena, mesh);
    const MwPlanLiveSlots slots = mw_plan_live_at(arena, mesh, fullest_point(&live, mesh));
    const Kind *kinds = kinds_of(arena, mesh);
    Range *ranges = MW_NEW(arena, Range, slots.count);
    int64_t bytes[KIND_COUNT] = {0}, all = 0;
    for (int i = 0; i < slots.count; i++) {
        const MwPlanLiveSlot *at = &slots.at[i];
        const MwPlanBuffer *buffer = &mesh->buffers[at->buffer];
        const int64_t begin = buffer->offset + at->slot * mw_slot_bytes(buffer->bytes);
        ranges[i] = (Range){begin, begin + buffer->bytes, kinds[at->buffer]};
    }
    sum_ranges(ranges, slots.count, bytes);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        all += bytes[kind];
    return (MwMemoryKinds){.weights = bytes[KIND_WEIGHT],
                           .states = bytes[KIND_STATE],
                           .gradients = bytes[KIND_GRADIENT],
                           .activations = bytes[KIND_OTHER],
                           .buffers = bytes[KIND_BUFFER] + mesh->arena_bytes - all};
}
