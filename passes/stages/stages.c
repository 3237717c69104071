/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inter-operator pass: which layers form a stage, on which devices, with how many
 * micro-batches, by which schedule, and which of them recompute (docs/pipelines.md).
 *
 * In:  the model with its layers, the cluster if there is one, the user's options and pins.
 * Out: compilation->staging. Without a cluster, or for a graph that later passes have rewritten,
 *      the layers are cut evenly into the stages that the options name, or one.
 * Source: Zheng et al., "Alpa", OSDI 2022, section 5.2. The objective is extended by transfers,
 *         work
 *      once per step, micro-batches, schedules, recomputation and the memory of micro-batches in
 *      flight. */
#include "passes/graph/layers.h"
#include "passes/pass.h"
#include "passes/sharding/share.h"
#include "passes/stages/trials.h"

#include "base/quantity.h"
#include "base/text.h"
#include "schedule/generate.h"
#include "solver/solver.h"

#include <math.h>
#include <string.h>

static int device_count(const MwCompilation *compilation)
{
    const MwCluster *cluster = compilation->cluster;
    return cluster ? mw_cluster_devices(cluster) : 1;
}

/* ---- Without a search ---- */

static const MwSubmesh *cut_devices(MwArena *arena, int devices, int stages)
{
    MwSubmesh *meshes = MW_NEW(arena, MwSubmesh, stages);
    for (int i = 0; i < stages; i++)
        meshes[i] =
            (MwSubmesh){.first_device = i * (devices / stages), .device_count = devices / stages};
    return meshes;
}

static const int *cut_layers(MwArena *arena, int layers, MwPipelineKind kind, int meshes,
                             int chunks)
{
    int *stage = MW_NEW(arena, int, layers);
    for (int l = 0; l < layers; l++)
        stage[l] = mw_pipeline_stage_of_part(kind, meshes, chunks,
                                             (int)((int64_t)l * meshes * chunks / layers));
    return stage;
}

/* Makes a staging of equal cuts of layers and devices. */
static void cut_evenly(MwCompilation *compilation)
{
    MwArena *arena = compilation->arena;
    int meshes = (int)mw_max(compilation->options.stages, 1);
    int chunks = (int)mw_max(compilation->options.chunks, 1);
    int layers = mw_layer_count(compilation->graph);
    const MwPipelineKind kind = mw_usual_schedule(compilation);
    int micro_batches = (int)mw_max(mw_wanted_micro_batches(compilation), 1);
    MwRematLevel *remat = MW_NEW(arena, MwRematLevel, layers);
    for (int l = 0; l < layers; l++)
        remat[l] = mw_least_remat(compilation);
    compilation->staging = (MwStaging){
        .stage_count = mw_pipeline_stages(kind, meshes, chunks),
        .mesh_count = meshes,
        .meshes = cut_devices(arena, device_count(compilation), meshes),
        .layer_stage = cut_layers(arena, layers, kind, meshes, chunks),
        .layer_remat = remat,
        .layer_count = layers,
        .micro_batches = micro_batches,
        .schedule = mw_pipeline_schedule_new(arena, kind, meshes, micro_batches, chunks)};
}

/* Whether the graph is a model as a user writes it, not the result of later passes. */
static bool is_model_graph(const MwGraph *graph)
{
    for (int n = 0; n < graph->nodes.count; n++) {
        MwLowering lowering = mw_op_info(graph->nodes.at[n].op)->lowering;
        if (lowering == MW_LOWER_COLLECTIVE || lowering == MW_LOWER_TRANSFER ||
            graph->nodes.at[n].op == MW_OP_SHARD)
            return false;
    }
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_assign_accumulates(graph, &graph->assigns.at[i]))
            return false;
    return true;
}

/* ---- Pins ---- */

typedef struct {
    int *stage;           /* [layers] pinned stage; -1: free */
    const MwPin **pin_of; /* [layers] the pin that gives the stage */
    int least_stages;
} StagePins;

static const char *name_of(const MwGraph *graph, const MwPin *pin)
{
    return mw_value(graph, pin->value)->name;
}

static bool is_source(const MwGraph *graph, MwValueId value)
{
    return mw_value_node(graph, value)->operand_count == 0;
}

/* Whether an operator of the forward phase uses the value. */
static bool is_used_forward(const MwGraph *graph, MwValueId value)
{
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count && node->phase == MW_PHASE_FORWARD; k++)
            if (mw_value_equal(node->operands[k], value))
                return true;
    }
    return false;
}

/* Reports that `pin` names another stage than `other`, a pin on a value of the same layer. */
static void refuse_layer(const MwGraph *graph, const MwPin *pin, const MwPin *other, MwDiags *diags)
{
    mw_diag_error(diags, pin->span,
                  "'%s' cannot be in stage %d: it is in one layer with '%s', which is pinned to "
                  "stage %d",
                  name_of(graph, pin), pin->stage, name_of(graph, other), other->stage);
    if (is_source(graph, pin->value) || is_source(graph, other->value))
        mw_diag_note(diags, mw_span_none(),
                     "an input, weight or constant is in the layer that uses it first");
    else
        mw_diag_note(diags, mw_span_none(),
                     "layers are never cut; --layers makes more and smaller ones");
}

/* Records the stage that a pin gives to its layer; false after an error. */
static bool add_pin(const MwGraph *graph, StagePins *pins, const MwPin *pin, MwDiags *diags)
{
    int layer = mw_value_node(graph, pin->value)->origin.layer;
    if (is_source(graph, pin->value) && !is_used_forward(graph, pin->value)) {
        mw_diag_error(diags, pin->span,
                      "'%s' cannot be in stage %d: nothing in the forward phase uses it",
                      name_of(graph, pin), pin->stage);
        return false;
    }
    if (pins->pin_of[layer] && pins->stage[layer] != pin->stage) {
        refuse_layer(graph, pin, pins->pin_of[layer], diags);
        return false;
    }
    pins->pin_of[layer] = pin;
    pins->stage[layer] = pin->stage;
    pins->least_stages = (int)mw_max(pins->least_stages, pin->stage + 1);
    return true;
}

/* Whether the pinned stages ascend with the layers and leave each of the `stages` stages (0: any
 * number) at least one layer. Reports an error if not. */
static bool check_order(const MwGraph *graph, const StagePins *pins, int layers, int stages,
                        MwDiags *diags)
{
    int last = -1;
    for (int l = 0; l < layers; l++) {
        if (!pins->pin_of[l])
            continue;
        const MwPin *pin = pins->pin_of[l];
        if (last >= 0 && pin->stage < pins->stage[last]) {
            mw_diag_error(diags, pin->span,
                          "'%s' cannot be in stage %d: it comes after '%s', which is pinned to "
                          "stage %d",
                          name_of(graph, pin), pin->stage, name_of(graph, pins->pin_of[last]),
                          pins->stage[last]);
            mw_diag_note(diags, mw_span_none(),
                         "stages follow the order of the statements: what is to be in an earlier "
                         "stage stands before what is in later ones");
            return false;
        }
        int room = last < 0 ? l : pins->stage[last] + l - last;
        if (pin->stage > room) {
            mw_diag_error(diags, pin->span,
                          "'%s' cannot be in stage %d: it is in layer %d, and every stage needs a "
                          "layer",
                          name_of(graph, pin), pin->stage, l);
            return false;
        }
        last = l;
    }
    if (last < 0 || stages - 1 - pins->stage[last] <= layers - 1 - last)
        return true;
    mw_diag_error(
        diags, pins->pin_of[last]->span,
        "'%s' cannot be in stage %d of %d: it is in layer %d of %d, and every stage needs "
        "a layer",
        name_of(graph, pins->pin_of[last]), pins->stage[last], stages, last, layers);
    return false;
}

/* Number of stages on so many meshes; 0: any number. */
static int stages_on(const MwCompilation *compilation, int meshes)
{
    const MwPipelineKind kind = mw_usual_schedule(compilation);
    const int chunks =
        (int)mw_min(mw_wanted_chunks(&compilation->options), mw_pipeline_most_chunks(kind));
    return meshes ? mw_pipeline_stages(kind, meshes, chunks) : 0;
}

/* The reason why there are at most `stages` stages (0: any number), as the end of a message. */
static const char *stage_limit_text(const MwCompilation *compilation, int stages)
{
    int devices = device_count(compilation), chunks = mw_wanted_chunks(&compilation->options);
    int count = stages ? stages : devices;
    const char *what = stages ? "stage" : "device";
    const char *each = stages       ? " (--stages)"
                       : chunks > 1 ? mw_arena_printf(compilation->arena, " of %d stages", chunks)
                                    : "";
    return mw_arena_printf(compilation->arena, "there %s %d %s%s%s", count > 1 ? "are" : "is",
                           count, what, count > 1 ? "s" : "", each);
}

/* Checks that no pin names a stage beyond the number of stages or devices. */
static bool check_count(const MwCompilation *compilation, int stages, MwDiags *diags)
{
    int most = stages ? stages : stages_on(compilation, device_count(compilation));
    for (int i = 0; i < compilation->graph->pins.count; i++) {
        const MwPin *pin = &compilation->graph->pins.at[i];
        if (pin->stage < most)
            continue;
        mw_diag_error(diags, pin->span, "'%s' cannot be in stage %d: %s",
                      name_of(compilation->graph, pin), pin->stage,
                      stage_limit_text(compilation, stages));
        return false;
    }
    return true;
}

/* Reads the pinned stages and checks that they are possible; false after an error. */
static bool read_pins(const MwCompilation *compilation, StagePins *pins, MwDiags *diags)
{
    const MwGraph *graph = compilation->graph;
    int layers = mw_layer_count(graph);
    *pins = (StagePins){.stage = MW_NEW(compilation->arena, int, layers),
                        .pin_of = MW_NEW(compilation->arena, const MwPin *, layers),
                        .least_stages = 1};
    for (int l = 0; l < layers; l++)
        pins->stage[l] = -1;
    for (int i = 0; i < graph->pins.count; i++)
        if (graph->pins.at[i].stage >= 0 && !add_pin(graph, pins, &graph->pins.at[i], diags))
            return false;
    const int stages = stages_on(compilation, compilation->options.stages);
    return check_order(graph, pins, layers, stages, diags) &&
           check_count(compilation, stages, diags);
}

/* ---- What was not chosen ---- */

/* Lists the trials that were not taken, except those whose name is that of the taken one: the
 * same layout with stages that needed too much memory; and those that were left out, if they may be
 * better. */
static void note_alternatives(MwArena *arena, MwStaging *staging, const MwStageTrials *trials)
{
    int taken = trials->chosen >= 0 ? trials->chosen : trials->leanest, count = 0;
    MwStagingAlternative *all = MW_NEW(arena, MwStagingAlternative, trials->trial_count + 1);
    for (int i = 0; i < trials->trial_count; i++) {
        const MwStageTrial *trial = &trials->trials[i];
        bool is_same = taken >= 0 && strcmp(trial->name, trials->trials[taken].name) == 0;
        if (i != taken && !is_same)
            all[count++] = (MwStagingAlternative){
                .name = trial->name,
                .reason = trial->fits ? "time" : "memory",
                .step_s = trial->layout.step_s,
                .needed_bytes = trial->fits ? 0 : (int64_t)trial->needed_bytes};
    }
    if (taken >= 0 && trials->left_out_s < trials->trials[taken].layout.step_s)
        all[count++] = (MwStagingAlternative){.name = "layouts that were not compared",
                                              .reason = "effort",
                                              .step_s = trials->left_out_s};
    staging->alternatives = all;
    staging->alternative_count = count;
}

/* ---- The pass ---- */

/* Reports that the model does not fit the memory; returns false. */
static bool refuse_memory(MwCompilation *compilation, const MwStageTrials *trials, MwDiags *diags)
{
    MwArena *arena = compilation->arena;
    double memory = (double)mw_memory_bytes(compilation);
    compilation->excess = (MwExcess){.kind = MW_EXCESS_LAYOUT,
                                     .mesh = -1,
                                     .needed_bytes = (int64_t)trials->needed_bytes,
                                     .limit_bytes = mw_memory_bytes(compilation)};
    int devices = device_count(compilation);
    mw_diag_error(diags, mw_span_none(),
                  "the model does not fit the cluster: in the leanest way found a device needs %s "
                  "of memory, %s more than the %s it has",
                  mw_bytes_text(arena, trials->needed_bytes),
                  mw_bytes_text(arena, trials->needed_bytes - memory),
                  mw_bytes_text(arena, memory));
    if (trials->kept_bytes > memory * devices)
        mw_diag_note(
            diags, mw_span_none(),
            "weights, gradients and optimizer states alone need %s; it takes at least %.0f "
            "such devices",
            mw_bytes_text(arena, trials->kept_bytes), ceil(trials->kept_bytes / memory));
    else
        mw_diag_note(diags, mw_span_none(), "about %.0f such devices, or %d with %s each, would do",
                     ceil(trials->needed_bytes / memory * devices), devices,
                     mw_bytes_text(arena, trials->needed_bytes));
    return false;
}

static void note_pins(const MwGraph *graph, MwDiags *diags)
{
    MwText text = {.arena = graph->arena};
    for (int i = 0; i < graph->pins.count; i++)
        if (graph->pins.at[i].stage >= 0)
            mw_text_printf(&text, "%s'%s' to stage %d", text.at ? ", " : "",
                           name_of(graph, &graph->pins.at[i]), graph->pins.at[i].stage);
    mw_diag_note(diags, mw_span_none(), "pinned are %s", text.at);
}

/* Reports that no cut meets the options and pins; returns false. */
static bool refuse_stages(const MwCompilation *compilation, MwStageReason reason, int least_stages,
                          MwDiags *diags)
{
    const MwCompileOptions *options = &compilation->options;
    int devices = device_count(compilation), stages = (int)mw_max(options->stages, least_stages);
    if (reason == MW_STAGES_PINS)
        mw_diag_error(diags, mw_span_none(), "no stages meet all that is pinned with `stage`");
    else if (reason == MW_STAGES_UNANSWERED || stages == 1)
        mw_diag_error(diags, mw_span_none(),
                      "no stages of %d layers meet all that is asked for with --stages, --mesh, "
                      "--chunks and --schedule",
                      mw_layer_count(compilation->graph));
    else
        mw_diag_error(diags, mw_span_none(),
                      "the %d device%s of cluster %s cannot be shared out to %d stages", devices,
                      devices > 1 ? "s" : "", compilation->cluster->name, stages);
    mw_diag_note(
        diags, mw_span_none(), "a stage has 1, 2, 4, ... devices of one node, or whole nodes%s",
        mw_wanted_chunks(options) > 1 ? "; all as many, where a mesh has several stages" : "");
    if (reason == MW_STAGES_PINS)
        note_pins(compilation->graph, diags);
    return false;
}

/* Whether the mesh that the user asks for, times `stages` (0: any number), uses all devices.
 * Reports an error if not. */
static bool check_mesh(const MwCompilation *compilation, int stages, MwDiags *diags)
{
    const MwMeshShape *wanted = &compilation->options.mesh;
    int all = device_count(compilation);
    int devices = wanted->axis_count ? mw_mesh_devices(wanted) : 1;
    char mesh[MW_MESH_TEXT_BYTES];
    if (wanted->axis_count == 0 || (stages ? devices * stages == all : all % devices == 0))
        return true;
    mw_mesh_text(wanted, mesh);
    if (stages > 1)
        mw_diag_error(diags, mw_span_none(),
                      "%d stages of --mesh %s have %d devices, cluster %s has %d", stages, mesh,
                      devices * stages, compilation->cluster->name, all);
    else
        mw_diag_error(diags, mw_span_none(), "--mesh %s has %d devices, cluster %s has %d", mesh,
                      devices, compilation->cluster->name, all);
    return false;
}

/* Warns if the mesh that the user asks for makes a pipeline, and the user did not ask for one. */
static void warn_of_meshes(const MwCompilation *compilation, MwDiags *diags)
{
    const MwCompileOptions *options = &compilation->options;
    int meshes = compilation->staging.mesh_count;
    char mesh[MW_MESH_TEXT_BYTES];
    if (options->mesh.axis_count == 0 || options->stages > 0 || meshes == 1)
        return;
    mw_diag_warning(diags, mw_span_none(),
                    "--mesh %s has %d of the %d devices of cluster %s: the model becomes a "
                    "pipeline over %d meshes",
                    mw_mesh_text(&options->mesh, mesh), mw_mesh_devices(&options->mesh),
                    device_count(compilation), compilation->cluster->name, meshes);
    mw_diag_note(diags, mw_span_none(), "--stages %d asks for that", meshes);
}

/* The rows of a micro-batch of the first input that is cut into such; 0: there is none. */
static int64_t micro_batch_rows(const MwCompilation *compilation)
{
    const MwGraph *graph = compilation->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op == MW_OP_INPUT && !mw_input_is_whole(graph, node))
            return graph->values.at[node->first_result].tensor.dim[0] /
                   compilation->staging.micro_batches;
    }
    return 0;
}

/* Says which operator does not let the batch be padded. */
static void note_barrier_of_batch(const MwCompilation *compilation, MwDiags *diags)
{
    const MwGraph *graph = compilation->graph;
    for (int i = 0; i < compilation->barriers.count; i++) {
        const MwPadBarrier *barrier = &compilation->barriers.at[i];
        const MwNode *node = mw_value_node(graph, mw_graph_find(graph, barrier->name));
        if (node->op != MW_OP_INPUT || mw_input_is_whole(graph, node) || barrier->dim != 0)
            continue;
        mw_diag_note(diags, barrier->span, "it is not padded: %s needs it as it is", barrier->op);
        return;
    }
}

/* Warns if the devices of a mesh cannot divide the batch among them, nor any part of them. */
static void warn_of_batch(const MwCompilation *compilation, MwDiags *diags)
{
    const int64_t rows = micro_batch_rows(compilation);
    int devices = 1;
    for (int m = 0; m < compilation->staging.mesh_count && devices == 1; m++)
        if (rows > 1 && mw_common_divisor(rows, compilation->staging.meshes[m].device_count) == 1)
            devices = compilation->staging.meshes[m].device_count;
    if (devices == 1)
        return;
    mw_diag_warning(diags, mw_span_none(),
                    "%d devices cannot divide a batch of %lld among them: where they divide "
                    "nothing else, each of them does all of the work",
                    devices, (long long)rows);
    mw_diag_note(diags, mw_span_none(), "a batch of %lld would give each of them as many",
                 (long long)(mw_ceil_div(rows, devices) * devices));
    note_barrier_of_batch(compilation, diags);
}

/* Whether an even cut satisfies the options. */
static bool may_cut_evenly(const MwCompilation *compilation)
{
    const MwCompileOptions *options = &compilation->options;
    int meshes = (int)mw_max(options->stages, 1), devices = device_count(compilation);
    int stages = meshes * (int)mw_max(options->chunks, 1);
    return devices % meshes == 0 && stages <= mw_layer_count(compilation->graph) &&
           (meshes > 1 || stages == 1) &&
           (options->mesh.axis_count == 0 || mw_mesh_devices(&options->mesh) * meshes == devices);
}

/* Takes the result of the search into the staging. Two failures are left for the pass sharding
 * to report: pins of specs that cannot be met, and a lack of memory where one stage is the only
 * possible layout. */
static bool adopt_trials(MwCompilation *compilation, const MwStageTrials *trials, int least_stages,
                         MwDiags *diags)
{
    int stages = compilation->options.stages;
    bool has_layout = trials->leanest >= 0;
    bool may_be_one = stages <= 1 && least_stages == 1;
    bool is_one = may_be_one && (stages == 1 || device_count(compilation) == 1 ||
                                 mw_layer_count(compilation->graph) == 1);
    if (trials->chosen < 0 && isfinite(trials->needed_bytes) && !is_one)
        return refuse_memory(compilation, trials, diags);
    bool is_refused =
        !may_be_one && (trials->reason == MW_STAGES_PINS || trials->reason == MW_STAGES_DEVICES);
    if (!has_layout && (is_refused || !may_cut_evenly(compilation)))
        return refuse_stages(compilation, trials->reason, least_stages, diags);
    if (has_layout)
        compilation->staging = trials->staging;
    else
        cut_evenly(compilation);
    note_alternatives(compilation->arena, &compilation->staging, trials);
    warn_of_meshes(compilation, diags);
    warn_of_batch(compilation, diags);
    return true;
}

/* ---- Options ---- */

static bool check_schedule(const MwCompilation *compilation, MwDiags *diags)
{
    const MwCompileOptions *options = &compilation->options;
    if (!mw_wants_schedule(options))
        return true;
    const MwPipelineInfo *info = mw_pipeline_info(mw_wanted_schedule(options));
    if (mw_trains(compilation) && !info->trains)
        mw_diag_error(diags, compilation->graph->trains.at[0].span,
                      "--schedule %s has no backward, and this model is trained", info->name);
    else if (options->chunks > 1 && !info->chunked)
        mw_diag_error(diags, mw_span_none(),
                      "--chunks %d: schedule %s has one stage on each mesh; %s has several",
                      options->chunks, info->name, mw_pipeline_info(mw_pipeline_chunked())->name);
    else if (options->chunks > mw_pipeline_most_chunks(mw_wanted_schedule(options)))
        mw_diag_error(diags, mw_span_none(), "--chunks %d: schedule %s has at most %d on each mesh",
                      options->chunks, info->name,
                      mw_pipeline_most_chunks(mw_wanted_schedule(options)));
    else if (options->chunks > 1 && (options->stages == 1 || device_count(compilation) == 1))
        mw_diag_error(diags, mw_span_none(),
                      "--chunks %d: on one mesh there is nothing to interleave", options->chunks);
    else
        return true;
    return false;
}

bool mw_pass_stages(MwCompilation *compilation, MwDiags *diags)
{
    StagePins pins;
    if (!check_schedule(compilation, diags))
        return false;
    if (!read_pins(compilation, &pins, diags))
        return false;
    if (!compilation->cluster || !is_model_graph(compilation->graph)) {
        cut_evenly(compilation);
        return true;
    }
    int layers = mw_layer_count(compilation->graph);
    int stages = (int)mw_max(compilation->options.stages, layers == 1);
    if (stages > device_count(compilation))
        return refuse_stages(compilation, MW_STAGES_DEVICES, stages, diags);
    if (!check_mesh(compilation, stages, diags))
        return false;
    compilation->sums_gradients_early = mw_must_sum_early(compilation);
    MwStageTrialsQuery query = {.compilation = compilation,
                                .layer_stage = pins.stage,
                                .least_stages = pins.least_stages,
                                .memory_bytes = (double)mw_memory_bytes(compilation),
                                .threads = mw_solve_threads()};
    MwStageTrials trials = mw_stage_trials(&query);
    compilation->solved_s += MW_SECONDS_OF_ENTRY * (double)trials.solved_entries;
    if (compilation->takes_next_layout && trials.chosen < 0) {
        mw_diag_error(diags, mw_span_none(), "no other layout fits the memory");
        return false;
    }
    return adopt_trials(compilation, &trials, pins.least_stages, diags);
}
