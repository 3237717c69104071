/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures that every format of `inspect` shows, derived from the plan, and their texts. */
#include "tools/inspect.h"

#include <math.h>
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
        totals.input_bytes += mesh->buffers[mesh->inputs[i].buffer].bytes;
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

typedef struct {
    double unit;
    const char *name;
} Unit;

/* `units` from the largest; the last is taken for whatever is smaller. */
static const char *quantity_text(MwArena *arena, double value, const Unit *units, int count)
{
    int i = 0;
    while (i + 1 < count && fabs(value) < units[i].unit)
        i++;
    double shown = value / units[i].unit;
    int decimals = shown == floor(shown) ? 0 : shown < 10 ? 2 : shown < 100 ? 1 : 0;
    return mw_arena_printf(arena, "%.*f %s", decimals, shown, units[i].name);
}

const char *mw_seconds_text(MwArena *arena, double seconds)
{
    static const Unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    return seconds == 0 ? "0" : quantity_text(arena, seconds, units, MW_COUNT(units));
}

const char *mw_bytes_text(MwArena *arena, double bytes)
{
    static const Unit units[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
    return quantity_text(arena, bytes, units, MW_COUNT(units));
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
