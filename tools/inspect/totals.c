/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/totals.h"

#include <string.h>

MwInspectTotals mw_inspect_totals(const MwPlanMesh *mesh)
{
    MwInspectTotals totals = {0};
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *weight = &mesh->weights[i];
        int64_t bytes = mesh->buffers[weight->buffer].bytes;
        *(weight->is_state ? &totals.state_bytes : &totals.weight_bytes) += bytes;
    }
    for (int i = 0; i < mesh->input_count; i++)
        totals.input_bytes += mw_plan_buffer_bytes(&mesh->buffers[mesh->inputs[i].buffer]);
    totals.other_bytes =
        mesh->arena_bytes - totals.weight_bytes - totals.state_bytes - totals.input_bytes;
    for (int i = 0; i < mesh->operator_count; i++) {
        const MwPlanOperator *op = &mesh->operators[i];
        totals.collective_count += op->collective_count;
        for (int k = 0; k < op->collective_count; k++)
            totals.communicated_bytes += op->collectives[k].bytes;
    }
    return totals;
}

double mw_inspect_gap(const MwPlanCosts *costs)
{
    if (costs->objective_s <= 0)
        return 0;
    return (costs->objective_s - costs->lower_bound_s) / costs->objective_s;
}

const MwPlanWeight *mw_inspect_state_of(const MwPlanMesh *mesh, const MwPlanWeight *weight)
{
    const MwPlanWeight *best = NULL;
    size_t length = strlen(weight->name);
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *state = &mesh->weights[i];
        if (!state->is_state || strncmp(state->name, weight->name, length) != 0 ||
            state->name[length] != '.' || strchr(state->name + length + 1, '.'))
            continue;
        if (!best || mesh->buffers[state->buffer].bytes < mesh->buffers[best->buffer].bytes)
            best = state;
    }
    return best;
}

const char *mw_spec_string(MwArena *arena, MwSpec spec, int rank)
{
    char buffer[MW_SPEC_TEXT_BYTES];
    return mw_arena_strdup(arena, mw_spec_text(spec, rank, buffer));
}

const char *mw_tensor_string(MwArena *arena, const MwTensor *tensor)
{
    char buffer[MW_TENSOR_TEXT_BYTES];
    return mw_arena_strdup(arena, mw_tensor_text(tensor, buffer));
}
