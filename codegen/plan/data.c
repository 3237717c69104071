/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds the data of a stage to the plan: inputs, outputs, weights and states. */
#include "codegen/plan/stage.h"

#include "codegen/plan/bounds.h"
#include "ir/host.h"

#include <string.h>

static MwSpec spec_of(const MwStageBuilder *s, MwValueId local_value)
{
    return s->stage->local->value_spec[local_value.index];
}

static const MwTensor *global_tensor(const MwStageBuilder *s, MwValueId local_value)
{
    return mw_value_tensor(s->stage->local->global,
                           s->stage->local->value_global[local_value.index]);
}

/* Returns the tensor of the whole batch, given that of a micro-batch. */
static MwTensor whole_batch(const MwStageBuilder *s, const MwTensor *tensor)
{
    MwTensor whole = *tensor;
    if (whole.rank)
        whole.dim[0] *= s->compilation->staging.micro_batches;
    return whole;
}

/* Sets `global` to the tensor of the model that the devices hold as `held`; whether that has
 * padding. */
static bool find_padding(const MwStageBuilder *s, const char *name, bool is_output,
                         const MwTensor *held, MwTensor *global)
{
    const MwTensor *tensor = mw_unpadded(s->compilation, name, is_output);
    *global = tensor ? *tensor : *held;
    return tensor != NULL;
}

void mw_stage_builder_inputs(const MwStageBuilder *s)
{
    const MwGraph *graph = s->stage->local->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        if (graph->nodes.at[n].op != MW_OP_INPUT)
            continue;
        MwValueId value = mw_node_result(graph, (MwNodeId){n}, 0);
        MwValueId root = mw_legal_root(s->legal, s->legal->form[value.index]);
        bool whole = mw_input_is_whole(graph, &graph->nodes.at[n]);
        const char *name = mw_value(graph, value)->name;
        MwTensor held = *global_tensor(s, value), global;
        held = whole ? held : whole_batch(s, &held);
        const bool is_padded = find_padding(s, name, false, &held, &global);
        MwPlanInput *input = &s->mesh->inputs[s->mesh->input_count++];
        *input =
            (MwPlanInput){.name = name,
                          .buffer = mw_stage_builder_buffer(s, s->legal->form[value.index]),
                          .global = global,
                          .is_padded = is_padded,
                          .padded = held,
                          .spec = spec_of(s, value),
                          .whole = whole,
                          .program = s->program[mw_live_input_phase(s->legal, s->units, root)]};
        mw_plan_input_bounds(s->arena, s->compilation, input);
    }
}

/* That after which an output is there. */
static int output_program(const MwStageBuilder *s, MwValueId legal_value)
{
    MwValueId root = mw_legal_root(s->legal, legal_value);
    const int node = mw_value(mw_stage_builder_graph(s), root)->node.index;
    for (int phase = MW_PHASE_UPDATE - 1; phase > 0 && s->flight.is_sequential; phase--)
        if (s->program[phase] >= 0)
            return s->program[phase];
    return s->program[mw_legal_at(s->legal, node)->op == MW_OP_INPUT
                          ? mw_live_input_phase(s->legal, s->units, root)
                          : mw_units_phase(s->legal, s->units, node)];
}

void mw_stage_builder_outputs(const MwStageBuilder *s)
{
    const MwGraph *graph = s->stage->local->graph;
    MwPlanMesh *mesh = s->mesh;
    for (int i = 0; i < graph->outputs.count; i++) {
        MwValueId value = graph->outputs.at[i].value;
        MwValueId legal = mw_stage_builder_graph(s)->outputs.at[i].value;
        MwPhase phase = mw_value_node(graph, value)->phase;
        MwOp op = mw_value_node(graph, value)->op;
        bool whole = phase == MW_PHASE_UPDATE || op == MW_OP_WEIGHT || op == MW_OP_STATE;
        const char *name = graph->outputs.at[i].name;
        MwTensor held = *global_tensor(s, value), global;
        held = whole ? held : whole_batch(s, &held);
        const bool is_padded = find_padding(s, name, true, &held, &global);
        mesh->outputs[mesh->output_count++] =
            (MwPlanOutput){.name = name,
                           .buffer = mw_stage_builder_buffer(s, legal),
                           .global = global,
                           .is_padded = is_padded,
                           .padded = held,
                           .spec = spec_of(s, value),
                           .whole = whole,
                           .program = whole ? -1 : output_program(s, legal)};
    }
}

/* The place of a metric among those of the model. */
static int metric_index(const MwGraph *model, const char *name)
{
    int i = 0;
    while (model->metrics.at[i].name != name)
        i++;
    return i;
}

void mw_stage_builder_metrics(const MwStageBuilder *s)
{
    const MwGraph *graph = mw_stage_builder_graph(s);
    for (int i = 0; i < graph->metrics.count; i++) {
        const MwOutput *metric = &graph->metrics.at[i];
        s->mesh->metrics[s->mesh->metric_count++] =
            (MwPlanMetric){.name = metric->name,
                           .index = metric_index(s->compilation->graph, metric->name),
                           .buffer = mw_stage_builder_buffer(s, metric->value),
                           .minimised = mw_metric_is_loss(graph, metric->name)};
    }
}

static MwInit init_of(const char *name)
{
    MwInit init;
    const bool known = mw_init_parse(name, &init);
    MW_ASSERT(known);
    return init;
}

static bool accumulates(const MwGraph *graph, MwValueId target)
{
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_value_equal(graph->assigns.at[i].target, target))
            return mw_assign_accumulates(graph, &graph->assigns.at[i]);
    return false;
}

/* What a weight on the host and the copy of it that the device has are set to, is that of the
 * weight. */
static void be_copy(const MwStageBuilder *s, MwValueId weight, MwPlanWeight *copy)
{
    const MwGraph *global = s->stage->local->global;
    const MwNode *node = mw_value_node(global, weight);
    copy->is_copy = true;
    copy->copy_of = mw_value(global, weight)->name;
    copy->init = init_of(mw_node_text(node, MW_ATTR_INIT));
    copy->init_value = mw_node_float(node, MW_ATTR_VALUE);
    copy->is_padded = find_padding(s, copy->copy_of, false, &copy->padded, &copy->global);
    copy->global.type = copy->padded.type;
}

/* The part of the plan for a weight or state of the local graph. */
static MwPlanWeight weight_of(const MwStageBuilder *s, MwValueId value, const MwValueId *copied)
{
    const MwGraph *graph = s->stage->local->graph;
    const MwNode *node = mw_value_node(graph, value);
    const char *name = mw_value(graph, value)->name;
    MwTensor global;
    const MwTensor *held = global_tensor(s, value);
    const bool is_padded = find_padding(s, name, false, held, &global);
    MwPlanWeight weight =
        (MwPlanWeight){.name = name,
                       .buffer = mw_stage_builder_buffer(s, s->legal->form[value.index]),
                       .global = global,
                       .is_padded = is_padded,
                       .padded = *held,
                       .spec = spec_of(s, value),
                       .init = init_of(mw_node_text(node, MW_ATTR_INIT)),
                       .init_value = mw_node_float(node, MW_ATTR_VALUE),
                       .is_state = node->op == MW_OP_STATE,
                       .reset_each_step = accumulates(graph, value)};
    const MwValueId of = copied[s->stage->local->value_global[value.index].index];
    if (mw_has_value(of))
        be_copy(s, of, &weight);
    return weight;
}

static MwPlanWeight copy_of(const MwStageBuilder *s, const MwLegalCopy *copy,
                            const MwValueId *copied)
{
    const MwValue *state = mw_value(mw_stage_builder_graph(s), copy->state);
    MwPlanWeight weight = weight_of(s, copy->weight, copied);
    weight.copy_of = weight.name;
    weight.name = state->name;
    weight.buffer = mw_stage_builder_buffer(s, copy->state);
    weight.global.type = weight.padded.type = state->tensor.type;
    weight.is_state = weight.is_copy = true;
    return weight;
}

void mw_stage_builder_weights(const MwStageBuilder *s)
{
    const MwGraph *graph = s->stage->local->graph;
    const MwValueId *copied = mw_host_weights(s->arena, s->stage->local->global);
    MwPlanMesh *mesh = s->mesh;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_WEIGHT || graph->nodes.at[n].op == MW_OP_STATE)
            mesh->weights[mesh->weight_count++] =
                weight_of(s, mw_node_result(graph, (MwNodeId){n}, 0), copied);
    for (int i = 0; i < s->legal->copies.count; i++)
        mesh->weights[mesh->weight_count++] = copy_of(s, &s->legal->copies.at[i], copied);
}
