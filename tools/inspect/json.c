/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `inspect --format json`; the keys are listed in docs/inspect.md. */
#include "tools/json.h"
#include "tools/inspect/inspect.h"
#include "tools/inspect/pipeline.h"
#include "tools/inspect/summary.h"
#include "tools/inspect/totals.h"

#include "ir/print.h"

/* ---- Operators and weights ---- */

static void put_collectives(MwJson *json, const MwPlanOperator *op)
{
    mw_json_field_array(json, "collectives");
    for (int i = 0; i < op->collective_count; i++) {
        const MwPlanCollective *collective = &op->collectives[i];
        yajl_gen_map_open(json->gen);
        mw_json_field_string(json, "kind", mw_collective_name(collective->kind));
        mw_json_field_int(json, "axis", collective->axis);
        mw_json_field_int(json, "bytes", collective->bytes);
        mw_json_field_double(json, "time_s", collective->time_s);
        yajl_gen_map_close(json->gen);
    }
    yajl_gen_array_close(json->gen);
}

static void put_operator(MwJson *json, int stage, const MwPlanOperator *op)
{
    yajl_gen_map_open(json->gen);
    mw_json_field_string(json, "name", op->name);
    mw_json_field_string(json, "op", op->op);
    mw_json_field_int(json, "stage", stage);
    mw_json_field_string(json, "phase", op->phase);
    mw_json_field_string(json, "source", op->source);
    mw_json_field_string(json, "type", mw_type_name(op->type));
    mw_json_field_spec(json, "spec", op->spec, op->rank);
    mw_json_field_array(json, "operand_specs");
    for (int i = 0; i < op->operand_count; i++) {
        char text[MW_SPEC_TEXT_BYTES];
        mw_json_string(json, mw_spec_text(op->operands[i].spec, op->operands[i].rank, text));
    }
    yajl_gen_array_close(json->gen);
    mw_json_field_double(json, "compute_s", op->compute_s);
    mw_json_field_double(json, "communication_s", op->communication_s);
    put_collectives(json, op);
    mw_json_field_bool(json, "pinned", op->pinned);
    if (op->has_runner_up) {
        mw_json_field_spec(json, "runner_up_spec", op->runner_up, op->rank);
        mw_json_field_double(json, "runner_up_extra_s", op->runner_up_extra_s);
    }
    yajl_gen_map_close(json->gen);
}

static void put_operators(MwJson *json, const MwPlan *plan)
{
    mw_json_field_array(json, "operators");
    for (int s = 0; s < plan->stage_count; s++) {
        const MwPlanStage *stage = &plan->stages[s];
        const MwPlanOperator *first = plan->meshes[stage->mesh].operators + stage->first_operator;
        for (int i = 0; i < stage->operator_count; i++)
            put_operator(json, s, &first[i]);
    }
    yajl_gen_array_close(json->gen);
}

static void put_weight(MwJson *json, const MwPlanMesh *mesh, int stage, const MwPlanWeight *weight)
{
    const MwPlanWeight *state = mw_inspect_state_of(mesh, weight);
    yajl_gen_map_open(json->gen);
    mw_json_field_string(json, "name", weight->name);
    mw_json_field_int(json, "stage", stage);
    mw_json_field_string(json, "type", mw_type_name(weight->global.type));
    mw_json_field_shape(json, "shape", &weight->global);
    mw_json_field_spec(json, "spec", weight->spec, weight->global.rank);
    if (state)
        mw_json_field_spec(json, "state_spec", state->spec, state->global.rank);
    mw_json_field_int(json, "bytes_per_device", mesh->buffers[weight->buffer].bytes);
    yajl_gen_map_close(json->gen);
}

static void put_weights(MwJson *json, const MwInspectPipeline *p)
{
    mw_json_field_array(json, "weights");
    for (int m = 0; m < p->plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &p->plan->meshes[m];
        for (int w = 0; w < mesh->weight_count; w++)
            if (!mesh->weights[w].is_state)
                put_weight(json, mesh, p->weight_stage[m][w], &mesh->weights[w]);
    }
    yajl_gen_array_close(json->gen);
}

static void put_paddings(MwJson *json, const MwPlan *plan)
{
    mw_json_field_array(json, "paddings");
    for (int m = 0; m < plan->mesh_count; m++) {
        int count;
        const MwInspectPadding *paddings =
            mw_inspect_paddings(json->arena, &plan->meshes[m], &count);
        for (int i = 0; i < count; i++) {
            yajl_gen_map_open(json->gen);
            mw_json_field_string(json, "name", paddings[i].name);
            mw_json_field_string(json, "kind", paddings[i].kind);
            mw_json_field_int(json, "mesh_id", m);
            mw_json_field_int(json, "dimension", paddings[i].dim);
            mw_json_field_int(json, "size", paddings[i].size);
            mw_json_field_int(json, "padded", paddings[i].padded);
            yajl_gen_map_close(json->gen);
        }
    }
    yajl_gen_array_close(json->gen);
}

/* ---- Meshes ---- */

static void put_shape(MwJson *json, const char *key, const MwMeshShape *shape)
{
    char text[MW_MESH_TEXT_BYTES];
    mw_json_field_string(json, key, mw_mesh_text(shape, text));
}

static void put_costs(MwJson *json, const MwPlanCosts *costs)
{
    mw_json_field_double(json, "objective_s", costs->objective_s);
    mw_json_field_double(json, "lower_bound_s", costs->lower_bound_s);
    mw_json_field_double(json, "compute_s", costs->compute_s);
    mw_json_field_double(json, "communication_s", costs->communication_s);
}

static void put_memory(MwJson *json, const MwPlanMesh *mesh)
{
    MwInspectTotals totals = mw_inspect_totals(mesh);
    mw_json_field_int(json, "peak_bytes", mesh->arena_bytes);
    mw_json_field_int(json, "live_bytes", mesh->costs.live_bytes);
    mw_json_field_int(json, "weight_bytes", totals.weight_bytes);
    mw_json_field_int(json, "state_bytes", totals.state_bytes);
    mw_json_field_int(json, "input_bytes", totals.input_bytes);
    mw_json_field_int(json, "host_bytes", mesh->host_bytes);
}

static void put_phases(MwJson *json, const MwPlanMesh *mesh)
{
    mw_json_field_array(json, "phases");
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++) {
        const MwInspectWork work = mw_inspect_work(mesh, (MwPhase)phase);
        yajl_gen_map_open(json->gen);
        mw_json_field_string(json, "phase", mw_phase_name((MwPhase)phase));
        mw_json_field_double(json, "kernel_s", work.kernel_s);
        mw_json_field_double(json, "routine_s", work.routine_s);
        mw_json_field_double(json, "collective_s", work.collective_s);
        yajl_gen_map_close(json->gen);
    }
    yajl_gen_array_close(json->gen);
}

static void put_meshes(MwJson *json, const MwPlan *plan)
{
    mw_json_field_array(json, "meshes");
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        yajl_gen_map_open(json->gen);
        put_shape(json, "mesh", &mesh->shape);
        mw_json_field_range(json, "ranks", mesh->first_rank, mw_mesh_devices(&mesh->shape));
        mw_json_field_double(json, "busy_s", mesh->costs.step_s);
        put_costs(json, &mesh->costs);
        put_memory(json, mesh);
        mw_json_field_int(json, "communicated_bytes", mw_inspect_totals(mesh).communicated_bytes);
        put_phases(json, mesh);
        yajl_gen_map_close(json->gen);
    }
    yajl_gen_array_close(json->gen);
}

/* Sums over the meshes; but the memory is that of the mesh that needs most. */
static void put_totals(MwJson *json, const MwPlan *plan)
{
    MwPlanCosts costs = {0};
    const MwPlanMesh *largest = &plan->meshes[0];
    int64_t communicated_bytes = 0;
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        costs.objective_s += mesh->costs.objective_s;
        costs.lower_bound_s += mesh->costs.lower_bound_s;
        costs.compute_s += mesh->costs.compute_s;
        costs.communication_s += mesh->costs.communication_s;
        communicated_bytes += mw_inspect_totals(mesh).communicated_bytes;
        if (mesh->arena_bytes > largest->arena_bytes)
            largest = mesh;
    }
    put_costs(json, &costs);
    put_memory(json, largest);
    mw_json_field_int(json, "communicated_bytes", communicated_bytes);
}

/* ---- Stages ---- */

static void put_stage(MwJson *json, int id, const MwInspectStage *stage)
{
    const MwPlanStage *plan = stage->plan;
    yajl_gen_map_open(json->gen);
    mw_json_field_int(json, "id", id);
    mw_json_field_range(json, "layers", plan->first_layer, plan->layer_count);
    mw_json_field_int(json, "remat_layers", plan->remat_layers);
    mw_json_field_int(json, "selective_layers", plan->selective_layers);
    mw_json_field_int(json, "streamed_layers", plan->streamed_layers);
    put_shape(json, "mesh", &stage->mesh->shape);
    mw_json_field_int(json, "mesh_id", plan->mesh);
    mw_json_field_range(json, "ranks", stage->mesh->first_rank,
                        mw_mesh_devices(&stage->mesh->shape));
    mw_json_field_double(json, "time_s", stage->work_s);
    mw_json_field_double(json, "forward_s", plan->forward_s);
    mw_json_field_double(json, "backward_s", plan->backward_s);
    mw_json_field_double(json, "weight_s", plan->weight_s);
    mw_json_field_double(json, "update_s", plan->update_s);
    mw_json_field_int(json, "memory_bytes", stage->mesh->arena_bytes);
    mw_json_field_int(json, "weight_bytes", stage->weight_bytes);
    mw_json_field_int(json, "state_bytes", stage->state_bytes);
    mw_json_field_int(json, "activation_bytes", stage->activation_bytes);
    mw_json_field_int(json, "in_flight", stage->in_flight);
    mw_json_field_int(json, "held_bytes", stage->held_bytes);
    yajl_gen_map_close(json->gen);
}

static void put_border(MwJson *json, const MwInspectBorder *border)
{
    const MwPlanTransfer *transfer = border->transfer;
    yajl_gen_map_open(json->gen);
    mw_json_field_string(json, "name", transfer->name);
    mw_json_field_string(json, "phase", mw_phase_name(border->from.phase));
    mw_json_field_string(json, "type", mw_type_name(transfer->tensor.type));
    mw_json_field_shape(json, "shape", &transfer->tensor);
    mw_json_field_int(json, "from", border->from.stage);
    mw_json_field_int(json, "to", border->to.stage);
    mw_json_field_spec(json, "from_spec", transfer->from_spec, transfer->tensor.rank);
    mw_json_field_spec(json, "to_spec", transfer->to_spec, transfer->tensor.rank);
    mw_json_field_int(json, "runs", border->runs);
    mw_json_field_int(json, "bytes", border->bytes);
    mw_json_field_int(json, "lower_bound_bytes", border->least_bytes);
    mw_json_field_double(json, "time_s", transfer->time_s);
    yajl_gen_map_close(json->gen);
}

static void put_alternative(MwJson *json, const MwPlanAlternative *alternative)
{
    yajl_gen_map_open(json->gen);
    mw_json_field_string(json, "name", alternative->name);
    mw_json_field_string(json, "reason", alternative->reason);
    if (alternative->step_s > 0)
        mw_json_field_double(json, "step_s", alternative->step_s);
    if (alternative->needed_bytes > 0)
        mw_json_field_int(json, "needed_bytes", alternative->needed_bytes);
    yajl_gen_map_close(json->gen);
}

static void put_pipeline(MwJson *json, const MwInspectPipeline *p)
{
    mw_json_field_double(json, "timeline_s", p->drawn ? p->drawn->timeline->total : 0);
    mw_json_field_double(json, "bubble_rate", p->bubble_rate);
    mw_json_field_array(json, "stages");
    for (int s = 0; s < p->plan->stage_count; s++)
        put_stage(json, s, &p->stages[s]);
    yajl_gen_array_close(json->gen);
    mw_json_field_array(json, "cross_stage");
    for (int i = 0; i < p->plan->transfer_count; i++)
        put_border(json, &p->borders[i]);
    yajl_gen_array_close(json->gen);
    mw_json_field_array(json, "alternatives");
    for (int i = 0; i < p->plan->alternative_count; i++)
        put_alternative(json, &p->plan->alternatives[i]);
    yajl_gen_array_close(json->gen);
}

static void put_summary(MwJson *json, const MwPlan *plan)
{
    mw_json_field_string(json, "parallelism", mw_inspect_parallelism(json->arena, plan));
    mw_json_field_int(json, "zero", mw_inspect_plan_zero_level(plan));
    mw_json_field_int(json, "device_bytes", plan->device_bytes);
    mw_json_field_double(json, "model_flops", plan->model_flops);
    mw_json_field_double(json, "model_peak_s", plan->model_peak_s);
    if (!plan->has_price)
        return;
    mw_json_field_double(json, "usd_per_h", plan->usd_per_h);
    mw_json_field_double(json, "usd_per_step", mw_inspect_step_usd(plan));
    mw_json_field_double(json, "usd_per_million_samples", 1e6 * mw_inspect_sample_usd(plan));
}

void mw_inspect_json(MwText *text, const MwPlan *plan)
{
    const MwInspectPipeline pipeline = mw_inspect_pipeline(text->arena, plan);
    MwJson json = mw_json_begin(text->arena);
    mw_json_field_string(&json, "model", plan->model);
    mw_json_field_string(&json, "source", plan->source);
    mw_json_field_string(&json, "cluster", plan->cluster);
    mw_json_field_string(&json, "backend", plan->backend);
    mw_json_field_int(&json, "ranks", plan->rank_count);
    mw_json_field_int(&json, "micro_batches", plan->micro_batches);
    mw_json_field_string(&json, "schedule", plan->schedule);
    if (plan->mesh_count == 1)
        put_shape(&json, "mesh", &plan->meshes[0].shape);
    mw_json_field_double(&json, "step_s", plan->step_s);
    put_summary(&json, plan);
    put_totals(&json, plan);
    put_pipeline(&json, &pipeline);
    put_meshes(&json, plan);
    put_operators(&json, plan);
    put_weights(&json, &pipeline);
    put_paddings(&json, plan);
    mw_json_end(&json, text);
}
