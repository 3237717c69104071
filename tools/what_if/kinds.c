/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/kinds.h"

#include "runtime/plan/live.h"

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

/* What is live of one kind at a point: what there would be if all other buffers were empty. */
static int64_t live_of_kind(MwArena *arena, const MwPlanMesh *mesh, const Kind *kinds, Kind kind,
                            int point)
{
    MwPlanMesh only = *mesh;
    only.buffers =
        mw_arena_dup(arena, mesh->buffers, sizeof *only.buffers * (size_t)mesh->buffer_count);
    for (int b = 0; b < mesh->buffer_count; b++)
        if (kinds[b] != kind)
            only.buffers[b].bytes = 0;
    return mw_plan_live(arena, &only).bytes[point];
}

MwMemoryKinds mw_memory_kinds(MwArena *arena, const MwPlanMesh *mesh)
{
    const MwPlanLive live = mw_plan_live(arena, mesh);
    const Kind *kinds = kinds_of(arena, mesh);
    int64_t bytes[KIND_COUNT], all = 0;
    int most = 0;
    for (int p = 1; p < live.first[mesh->task_count]; p++)
        if (live.bytes[p] > live.bytes[most])
            most = p;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        bytes[kind] = live_of_kind(arena, mesh, kinds, (Kind)kind, most);
        all += bytes[kind];
    }
    return (MwMemoryKinds){.weights = bytes[KIND_WEIGHT],
                           .states = bytes[KIND_STATE],
                           .gradients = bytes[KIND_GRADIENT],
                           .activations = bytes[KIND_OTHER],
                           .buffers = bytes[KIND_BUFFER] + mesh->arena_bytes - all};
}
