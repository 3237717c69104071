/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/kernels/run_graph.h"

#include "base/element.h"
#include "codegen/plan/build.h"
#include "runtime/check/check.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/transport_solo.h"
#include "schedule/generate.h"
#include "tests/reference/interpret.h"
#include "tests/reference/spread.h"
#include "tests/unit/clusters.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { SEED = 7 };

GraphRun graph_run_new(int backend)
{
    return (GraphRun){.test = test_graph_new(), .backend = &graph_backends[backend]};
}

void graph_run_free(GraphRun *run)
{
    test_graph_free(&run->test);
}

void graph_run_output(GraphRun *run, MwValueId value)
{
    MwGraph *graph = run->test.graph;
    const char *name = mw_arena_printf(graph->arena, "out%d", graph->outputs.count);
    mw_vec_push(graph->arena, &graph->outputs, ((MwOutput){name, value}));
}

/* ---- Elements ---- */

/* An integer over all of the range of the type, of one of 64 bits up to 2^52. */
static double draw_integer(MwType type, double unit)
{
    const double count = pow(2, mw_min(8 * mw_type_bytes(type), 53));
    return floor(unit * count) - (mw_type_kind(type) == MW_TYPE_SIGNED ? count / 2 : 0);
}

/* Indices: most are below 8, some are negative, and some do not fit into 32 bits. */
static double draw_index(MwType type, double unit, uint64_t *random)
{
    const int which = (int)random_below(random, 8);
    const double index = (double)(int)(unit * 9) - (which == 0);
    return which == 1 && type == MW_I64 ? index + 0x1p32 : index;
}

/* A float of any size between 2^-26 and 2^66. */
static double draw_wide(double unit, uint64_t *random)
{
    const int which = (int)random_below(random, 16);
    const double special[] = {NAN, INFINITY, -INFINITY};
    if (which < MW_COUNT(special))
        return special[which];
    return ldexp(4 * unit - 2, (int)random_below(random, 92) - 26);
}

/* A number that the type holds exactly. */
static double draw_element(MwType type, Draw draw, uint64_t *random)
{
    double unit = (double)(random_next(random) >> 11) * 0x1p-53;
    if (mw_type_is_index(type) && draw != DRAW_WIDE)
        return draw_index(type, unit, random);
    if (mw_type_is_integer(type))
        return draw_integer(type, unit);
    if (type == MW_BOOL)
        return unit < 0.5;
    if (draw == DRAW_NAN && random_below(random, 8) == 0)
        return NAN;
    int64_t element[1];
    mw_element_put(type, element, 0,
                   draw == DRAW_POSITIVE ? 0.25 + 1.75 * unit
                   : draw == DRAW_WIDE   ? draw_wide(unit, random)
                                         : 4 * unit - 2);
    return mw_element_get(type, element, 0);
}

/* ---- Data of the executor ---- */

typedef struct {
    GraphRun *run;
    double **inputs; /* [inputs] in the order of the plan, which is that of the graph */
} Data;

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *fault)
{
    (void)step, (void)fault;
    const Data *data = context;
    MwType type = data->run->plan->meshes->inputs[input].global.type;
    for (int64_t i = 0; i < mw_box_elements(box); i++)
        mw_element_put(type, to, i, data->inputs[input][i]);
    return true;
}

static bool take_output(void *context, int output, int64_t step, const MwBox *box, bool is_first,
                        const void *from, MwFault *fault)
{
    (void)step, (void)fault, (void)is_first;
    const Data *data = context;
    MwType type = data->run->plan->meshes->outputs[output].global.type;
    for (int64_t i = 0; i < mw_box_elements(box); i++)
        data->run->got[output][i] = mw_element_get(type, from, i);
    return true;
}

/* ---- The two runs ---- */

static void interpret(GraphRun *run, const Data *data)
{
    MwGraph *graph = run->test.graph;
    Interpreter *interpreter = interpreter_new(graph->arena, graph, SEED, 1);
    int inputs = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_INPUT)
            interpreter_set(interpreter, mw_node_result(graph, (MwNodeId){n}, 0),
                            data->inputs[inputs++]);
    interpreter_step(interpreter);
    for (int i = 0; i < graph->outputs.count; i++)
        run->want[i] = interpreter->at[graph->outputs.at[i].value.index];
}

/* The graph as it is, on a mesh of one device. */
static MwLocalGraph whole_graph(MwGraph *graph)
{
    MwLocalGraph local = {.global = graph, .graph = graph, .mesh = {.axis_count = 1, .size = {1}}};
    local.value_spec = MW_NEW(graph->arena, MwSpec, graph->values.count);
    local.value_global = MW_NEW(graph->arena, MwValueId, graph->values.count);
    local.node_global = MW_NEW(graph->arena, MwNodeId, graph->nodes.count);
    for (int v = 0; v < graph->values.count; v++)
        local.value_global[v].index = v;
    for (int n = 0; n < graph->nodes.count; n++)
        local.node_global[n].index = n;
    return local;
}

static void plan(GraphRun *run)
{
    MwGraph *graph = run->test.graph;
    MwCluster cluster = test_cluster(1);
    cluster.backend = run->backend->name;
    MwLocalGraph local = whole_graph(graph);
    MwSubmesh submesh = {.device_count = 1};
    MwStage stage = {.graph = graph, .local = &local};
    MwCompilation compilation = {
        .arena = graph->arena,
        .cluster = &cluster,
        .graph = graph,
        .staging = {.stage_count = 1,
                    .mesh_count = 1,
                    .meshes = &submesh,
                    .micro_batches = 1,
                    .schedule = mw_pipeline_schedule_new(graph->arena, MW_PIPELINE_1F1B, 1, 1, 1)},
        .stages = &stage};
    run->plan = mw_plan_build(&compilation, "test.graph", run->test.diags);
    if (run->plan && !mw_plan_check(run->plan, run->test.diags))
        run->plan = NULL;
    mw_diags_print(run->test.diags, stdout);
    ck_assert_ptr_nonnull(run->plan);
}

static void execute(GraphRun *run, Data *data)
{
    MwArena *arena = run->test.graph->arena;
    MwFault fault = {0};
    MwTransport *transport = mw_transport_solo_new(arena, 0, 1);
    const MwKernelEntry *kernels = run->backend->load(arena, run->plan, transport, &fault);
    MwDevice *device =
        kernels ? run->backend->device_new(arena, run->plan, kernels, 1, &fault) : NULL;
    MwExecutor *executor =
        device ? mw_executor_new(arena, run->plan, device, transport, NULL, &fault) : NULL;
    const MwExecutorData calls = {data, give_input, take_output};
    double loss;
    bool ran = executor && mw_executor_start(executor, SEED, &fault) &&
               mw_executor_step(executor, 1, &calls, &loss, &fault);
    ck_assert_msg(ran, "%s", fault.text);
    mw_transport_free(&transport, device);
    mw_device_free(&device);
}

void graph_run_step(GraphRun *run)
{
    MwGraph *graph = run->test.graph;
    Data data = {.run = run, .inputs = MW_NEW(graph->arena, double *, graph->nodes.count)};
    int inputs = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        if (graph->nodes.at[n].op != MW_OP_INPUT)
            continue;
        const MwTensor *tensor = mw_value_tensor(graph, mw_node_result(graph, (MwNodeId){n}, 0));
        int64_t elements = mw_tensor_elements(tensor);
        Draw draw = inputs < run->draw.count ? run->draw.at[inputs] : DRAW_ANY;
        uint64_t random = 12345 + (uint64_t)inputs; /* a new input changes none before it */
        data.inputs[inputs] = MW_NEW(graph->arena, double, elements);
        for (int64_t i = 0; i < elements; i++)
            data.inputs[inputs][i] = draw_element(tensor->type, draw, &random);
        inputs++;
    }
    run->got = MW_NEW(graph->arena, double *, graph->outputs.count);
    run->want = MW_NEW(graph->arena, double *, graph->outputs.count);
    for (int i = 0; i < graph->outputs.count; i++)
        run->got[i] =
            MW_NEW(graph->arena, double,
                   mw_tensor_elements(mw_value_tensor(graph, graph->outputs.at[i].value)));
    interpret(run, &data);
    plan(run);
    execute(run, &data);
}

const MwPlanInstr *graph_run_writer(const GraphRun *run, int i)
{
    const MwPlanProgram *program = run->plan->meshes->programs;
    const int buffer = run->plan->meshes->outputs[i].buffer;
    int writer = -1;
    for (int at = 0; at < program->instr_count; at++)
        for (int k = 0; k < program->instrs[at].operand_count; k++)
            if (program->instrs[at].operands[k].buffer == buffer &&
                program->instrs[at].operands[k].access != MW_ACCESS_READ)
                writer = at;
    ck_assert_int_ge(writer, 0);
    return &program->instrs[writer];
}

int graph_run_row_barriers(const GraphRun *run)
{
    const char *row = strstr(run->plan->kernel_source, "\n    for (int row = ");
    const char *end = row ? strstr(row, "\n    }\n") : NULL;
    int count = 0;
    ck_assert_ptr_nonnull(end);
    while ((row = strstr(row + 1, "__syncthreads();")) && row < end)
        count++;
    return count;
}

double graph_run_error(const GraphRun *run, int i)
{
    const MwGraph *graph = run->test.graph;
    double worst = 0;
    int64_t elements = mw_tensor_elements(mw_value_tensor(graph, graph->outputs.at[i].value));
    for (int64_t e = 0; e < elements; e++) {
        double got = run->got[i][e], want = run->want[i][e];
        double error = fabs(got - want) / fmax(1, fabs(want));
        if (isnan(got) != isnan(want) || (isinf(want) && got != want))
            return INFINITY;
        worst = isnan(error) ? worst : fmax(worst, error);
    }
    return worst;
}
