/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `inspect --format json`. The writer is libyajl's; the keys are listed in docs/inspect.md. */
#include "tools/inspect.h"

#include <string.h>
#include <yajl/yajl_gen.h>

static void put_string(yajl_gen json, const char *text)
{
    yajl_gen_string(json, (const unsigned char *)text, strlen(text));
}

static void field_string(yajl_gen json, const char *key, const char *text)
{
    put_string(json, key);
    put_string(json, text);
}

static void field_int(yajl_gen json, const char *key, int64_t value)
{
    put_string(json, key);
    yajl_gen_integer(json, value);
}

static void field_bool(yajl_gen json, const char *key, bool value)
{
    put_string(json, key);
    yajl_gen_bool(json, value);
}

static void field_double(yajl_gen json, MwArena *arena, const char *key, double value)
{
    MwText digits = {.arena = arena};
    mw_text_add_double(&digits, value);
    put_string(json, key);
    yajl_gen_number(json, digits.at, digits.bytes);
}

static void field_spec(yajl_gen json, const char *key, MwSpec spec, int rank)
{
    char text[MW_SPEC_TEXT_BYTES];
    field_string(json, key, mw_spec_text(spec, rank, text));
}

static void field_shape(yajl_gen json, const char *key, const MwTensor *tensor)
{
    put_string(json, key);
    yajl_gen_array_open(json);
    for (int d = 0; d < tensor->rank; d++)
        yajl_gen_integer(json, tensor->dim[d]);
    yajl_gen_array_close(json);
}

static void put_collectives(yajl_gen json, MwArena *arena, const MwPlanOperator *op)
{
    put_string(json, "collectives");
    yajl_gen_array_open(json);
    for (int i = 0; i < op->collective_count; i++) {
        const MwPlanCollective *collective = &op->collectives[i];
        yajl_gen_map_open(json);
        field_string(json, "kind", mw_collective_name(collective->kind));
        field_int(json, "axis", collective->axis);
        field_int(json, "bytes", collective->bytes);
        field_double(json, arena, "time_s", collective->time_s);
        yajl_gen_map_close(json);
    }
    yajl_gen_array_close(json);
}

static void put_operator(yajl_gen json, MwArena *arena, const MwPlanOperator *op)
{
    yajl_gen_map_open(json);
    field_string(json, "name", op->name);
    field_string(json, "op", op->op);
    field_string(json, "phase", op->phase);
    field_string(json, "source", op->source);
    field_spec(json, "spec", op->spec, op->rank);
    put_string(json, "operand_specs");
    yajl_gen_array_open(json);
    for (int i = 0; i < op->operand_count; i++) {
        char text[MW_SPEC_TEXT_BYTES];
        put_string(json, mw_spec_text(op->operands[i].spec, op->operands[i].rank, text));
    }
    yajl_gen_array_close(json);
    field_double(json, arena, "compute_s", op->compute_s);
    field_double(json, arena, "communication_s", op->communication_s);
    put_collectives(json, arena, op);
    field_bool(json, "pinned", op->pinned);
    if (op->has_runner_up) {
        field_spec(json, "runner_up_spec", op->runner_up, op->rank);
        field_double(json, arena, "runner_up_extra_s", op->runner_up_extra_s);
    }
    yajl_gen_map_close(json);
}

static void put_weight(yajl_gen json, const MwPlanMesh *mesh, const MwPlanWeight *weight)
{
    const MwPlanWeight *state = mw_inspect_state_of(mesh, weight);
    yajl_gen_map_open(json);
    field_string(json, "name", weight->name);
    field_string(json, "type", mw_type_name(weight->global.type));
    field_shape(json, "shape", &weight->global);
    field_spec(json, "spec", weight->spec, weight->global.rank);
    if (state)
        field_spec(json, "state_spec", state->spec, state->global.rank);
    field_int(json, "bytes_per_device", mesh->buffers[weight->buffer].bytes);
    yajl_gen_map_close(json);
}

static void put_memory(yajl_gen json, const MwPlanMesh *mesh)
{
    MwInspectTotals totals = mw_inspect_totals(mesh);
    field_int(json, "peak_bytes", mesh->arena_bytes);
    field_int(json, "live_bytes", mesh->costs.live_bytes);
    field_int(json, "weight_bytes", totals.weight_bytes);
    field_int(json, "state_bytes", totals.state_bytes);
    field_int(json, "input_bytes", totals.input_bytes);
    field_int(json, "communicated_bytes", totals.communicated_bytes);
}

static void put_mesh(yajl_gen json, MwArena *arena, const MwPlanMesh *mesh)
{
    char shape[MW_MESH_TEXT_BYTES];
    field_string(json, "mesh", mw_mesh_text(&mesh->shape, shape));
    field_double(json, arena, "step_s", mesh->costs.step_s);
    field_double(json, arena, "objective_s", mesh->costs.objective_s);
    field_double(json, arena, "lower_bound_s", mesh->costs.lower_bound_s);
    field_double(json, arena, "compute_s", mesh->costs.compute_s);
    field_double(json, arena, "communication_s", mesh->costs.communication_s);
    put_memory(json, mesh);
    put_string(json, "operators");
    yajl_gen_array_open(json);
    for (int i = 0; i < mesh->operator_count; i++)
        put_operator(json, arena, &mesh->operators[i]);
    yajl_gen_array_close(json);
    put_string(json, "weights");
    yajl_gen_array_open(json);
    for (int i = 0; i < mesh->weight_count; i++)
        if (!mesh->weights[i].is_state)
            put_weight(json, mesh, &mesh->weights[i]);
    yajl_gen_array_close(json);
}

void mw_inspect_json(MwText *text, const MwPlan *plan)
{
    yajl_gen json = yajl_gen_alloc(NULL);
    MW_ASSERT(json != NULL);
    yajl_gen_config(json, yajl_gen_beautify, 1);
    yajl_gen_config(json, yajl_gen_indent_string, " ");
    yajl_gen_map_open(json);
    field_string(json, "model", plan->model);
    field_string(json, "source", plan->source);
    field_string(json, "cluster", plan->cluster);
    field_string(json, "backend", plan->backend);
    field_int(json, "ranks", plan->rank_count);
    field_int(json, "micro_batches", plan->micro_batches);
    MW_ASSERT(plan->mesh_count == 1);
    put_mesh(json, text->arena, &plan->meshes[0]);
    yajl_gen_map_close(json);

    const unsigned char *bytes;
    size_t length;
    yajl_gen_get_buf(json, &bytes, &length);
    mw_text_add_n(text, (const char *)bytes, length);
    yajl_gen_free(json);
}
