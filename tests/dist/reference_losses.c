/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The losses of a model by the reference interpreter, as a run's loss log:
 *
 *     reference_losses [-D SIZE=VALUE]... [-f FEED]... [-n STEPS] [-s SEED] MODEL.graph
 *
 * The model is differentiated and its optimizer lowered, and then run in double precision on the
 * whole batch, with the weights, data and dropout that a run with the same seed has. */
#include "base/element.h"
#include "base/vec.h"
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "runtime/feed/feed.h"
#include "tests/reference/interpret.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    MwArena *arena;
    MW_VEC(MwDefine) defines;
    MW_VEC(const char *) feeds;
    int64_t steps;
    uint64_t seed;
    const char *model;
} Options;

/* What the feeds give, and the values that take it. */
typedef struct {
    MwPlanMesh mesh; /* nothing but inputs */
    MwValueId *values;
    MwFeeds *feeds;
} Data;

static void add_define(Options *options, char *text)
{
    char *equals = strchr(text, '=');
    MW_ASSERT(equals != NULL);
    *equals = '\0';
    mw_vec_push(options->arena, &options->defines, ((MwDefine){text, equals + 1}));
}

static bool read_options(int argc, char **argv, Options *options)
{
    for (int key; (key = getopt(argc, argv, "D:f:n:s:")) != -1;) {
        if (key == 'D')
            add_define(options, optarg);
        else if (key == 'f')
            mw_vec_push(options->arena, &options->feeds, optarg);
        else if (key == 'n')
            options->steps = atoll(optarg);
        else if (key == 's')
            options->seed = strtoull(optarg, NULL, 10);
        else
            return false;
    }
    options->model = argv[optind];
    return optind + 1 == argc;
}

static const MwGraph *load(const Options *options, MwDiags *diags)
{
    MwCompilation compilation = {.arena = options->arena};
    const MwPipelineOptions pipeline = {.stop_after = MW_PASS_update, .dump_after = MW_PASS_COUNT};
    compilation.graph =
        mw_graph_load(options->arena, mw_interner_new(options->arena), options->model,
                      options->defines.at, options->defines.count, diags);
    bool good = compilation.graph && mw_pipeline_run(&compilation, &pipeline, diags);
    return good ? compilation.graph : NULL;
}

static bool open_data(const Options *options, const MwGraph *graph, Data *data, MwFault *fault)
{
    data->mesh.shape = (MwMeshShape){1, {1}};
    data->mesh.inputs = MW_NEW(options->arena, MwPlanInput, graph->nodes.count);
    data->values = MW_NEW(options->arena, MwValueId, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        if (graph->nodes.at[n].op != MW_OP_INPUT)
            continue;
        int i = data->mesh.input_count++;
        data->values[i] = mw_node_result(graph, (MwNodeId){n}, 0);
        data->mesh.inputs[i] = (MwPlanInput){.name = mw_value(graph, data->values[i])->name,
                                             .global = *mw_value_tensor(graph, data->values[i])};
    }
    const MwPlan plan = {.meshes = &data->mesh, .mesh_count = 1};
    const MwFeedsWanted wanted = {.texts = options->feeds.at,
                                  .count = options->feeds.count,
                                  .seed = options->seed,
                                  .option = "--feed"};
    data->feeds = mw_feeds_open(options->arena, &plan, &data->mesh, &wanted, fault);
    return data->feeds != NULL;
}

static bool feed_step(const Data *data, int64_t step, Interpreter *interpreter, MwFault *fault)
{
    bool good = true;
    for (int i = 0; good && i < data->mesh.input_count; i++) {
        MwArena *arena = mw_arena_new();
        const MwTensor *tensor = &data->mesh.inputs[i].global;
        const int64_t count = mw_tensor_elements(tensor);
        const MwBox whole =
            mw_shard_box(tensor, mw_spec_replicated(), &data->mesh.shape, (int[3]){0});
        void *raw = mw_arena_alloc(arena, (size_t)mw_tensor_bytes(tensor));
        double *elements = MW_NEW(arena, double, count);
        good = mw_feeds_input(data->feeds, i, step, &whole, raw, fault);
        for (int64_t k = 0; good && k < count; k++)
            elements[k] = mw_element_get(tensor->type, raw, k);
        if (good)
            interpreter_set(interpreter, data->values[i], elements);
        mw_arena_free(&arena);
    }
    return good;
}

static bool run(const Options *options, const MwGraph *graph, Data *data, MwFault *fault)
{
    Interpreter *interpreter = interpreter_new(options->arena, graph, options->seed, 1);
    printf("step,loss\n");
    for (int64_t step = 1; step <= options->steps; step++) {
        if (!feed_step(data, step, interpreter, fault))
            return false;
        interpreter_step(interpreter);
        printf("%lld,%.17g\n", (long long)step, interpreter->losses[0]);
    }
    return true;
}

int main(int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    Options options = {.arena = arena, .steps = 10, .seed = 1};
    Data data = {0};
    MwFault fault = {0};
    if (!read_options(argc, argv, &options))
        return 2;
    const MwGraph *graph = load(&options, diags);
    bool good =
        graph && open_data(&options, graph, &data, &fault) && run(&options, graph, &data, &fault);
    mw_diags_print(diags, stderr);
    if (*fault.text)
        fprintf(stderr, "%s\n", fault.text);
    mw_feeds_close(&data.feeds);
    mw_arena_free(&arena);
    return !good;
}
