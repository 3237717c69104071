/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/reference/interpret.h"

#include "base/hash.h"
#include "base/philox.h"
#include "ir/loops.h"

#include <math.h>
#include <string.h>

/* To the nearest value of the type, ties to even; integers are values already. */
static double round_to(double x, MwType type)
{
    static const struct {
        int digits, least; /* the exponent of the least number above 0 */
        double last;       /* what is beyond it becomes it; 0: infinity */
    } floats[MW_TYPE_COUNT] = {[MW_F32] = {24, -149, 0},
                               [MW_BF16] = {8, -133, 0},
                               [MW_F16] = {11, -24, 0},
                               [MW_E4M3] = {4, -9, 448},
                               [MW_E5M2] = {3, -16, 57344}};
    const int digits = floats[type].digits, least = floats[type].least;
    const double last = floats[type].last;
    int exponent;
    if (last > 0 && fabs(x) > last)
        return copysign(last, x);
    if (!mw_type_is_float(type) || x == 0 || x - x != 0)
        return x;
    frexp(x, &exponent);
    const double unit = ldexp(1, mw_max(exponent - digits, least));
    const double near = rint(x / unit) * unit;
    const double end = type == MW_F16 ? 0x1p16 : 0x1p128;
    return fabs(near) >= end ? copysign(INFINITY, x) : near;
}

static double initial_element(const MwNode *node, uint64_t seed, uint64_t stream, int64_t i)
{
    const char *init = mw_node_text(node, MW_ATTR_INIT);
    double value = mw_node_float(node, MW_ATTR_VALUE);
    if (strcmp(init, "zeros") == 0)
        return 0;
    if (strcmp(init, "ones") == 0)
        return 1;
    if (strcmp(init, "constant") == 0)
        return value;
    if (strcmp(init, "normal") == 0)
        return value * mw_normal_at(seed, stream, (uint64_t)i);
    MW_ASSERT(strcmp(init, "uniform") == 0);
    return value * (2 * mw_uniform_at(seed, stream, (uint64_t)i) - 1);
}

static void initialise(Interpreter *interpreter, MwValueId id)
{
    const MwValue *value = mw_value(interpreter->graph, id);
    const MwNode *node = mw_value_node(interpreter->graph, id);
    uint64_t stream = mw_hash_bytes(value->name, strlen(value->name));
    for (int64_t i = 0; i < mw_tensor_elements(&value->tensor); i++)
        interpreter->at[id.index][i] =
            round_to(initial_element(node, interpreter->place.seed, stream, i), value->tensor.type);
}

static bool has_initial_value(const MwNode *node)
{
    return node->op == MW_OP_WEIGHT || node->op == MW_OP_STATE;
}

Interpreter *interpreter_new(MwArena *arena, const MwGraph *graph, uint64_t seed, int micro_batches)
{
    Interpreter *interpreter = MW_NEW(arena, Interpreter, 1);
    *interpreter = (Interpreter){
        .graph = graph, .arena = arena, .place = place_alone(seed), .micro_batches = micro_batches};
    interpreter->at = MW_NEW(arena, double *, graph->values.count);
    interpreter->inputs = MW_NEW(arena, double *, graph->values.count);
    interpreter->losses = MW_NEW(arena, double, micro_batches);
    for (int v = 0; v < graph->values.count; v++) {
        MwValueId id = {v};
        int64_t elements = mw_tensor_elements(mw_value_tensor(graph, id));
        interpreter->at[v] = MW_NEW(arena, double, elements);
        if (mw_value_node(graph, id)->op == MW_OP_INPUT)
            interpreter->inputs[v] = MW_NEW(arena, double, elements *micro_batches);
        if (has_initial_value(mw_value_node(graph, id)))
            initialise(interpreter, id);
    }
    interpreter->place.step = 0;
    return interpreter;
}

void interpreter_set(Interpreter *interpreter, MwValueId input, const double *elements)
{
    int64_t count = mw_tensor_elements(mw_value_tensor(interpreter->graph, input));
    MW_ASSERT(interpreter->inputs[input.index] != NULL);
    memcpy(interpreter->inputs[input.index], elements,
           sizeof(double) * (size_t)(count * interpreter->micro_batches));
}

static void load_inputs(Interpreter *interpreter)
{
    for (int v = 0; v < interpreter->graph->values.count; v++) {
        if (!interpreter->inputs[v])
            continue;
        int64_t count = mw_tensor_elements(&interpreter->graph->values.at[v].tensor);
        memcpy(interpreter->at[v], interpreter->inputs[v] + count * interpreter->place.micro_batch,
               sizeof(double) * (size_t)count);
    }
}

static void run_node(Interpreter *interpreter, const MwNode *node)
{
    enum { MOST_OPERANDS = 64 };
    MW_ASSERT(node->operand_count <= MOST_OPERANDS);
    const double *operands[MOST_OPERANDS];
    for (int i = 0; i < node->operand_count; i++)
        operands[i] = interpreter->at[node->operands[i].index];
    evaluate_node(interpreter->graph, node, &interpreter->place, operands,
                  interpreter->at + node->first_result);
}

/* What a step of a loop leaves becomes what the next one takes over. */
static void carry_on(Interpreter *interpreter, const MwNode *next)
{
    const MwValueId value = {next->first_result};
    memcpy(interpreter->at[next->operands[1].index], interpreter->at[value.index],
           sizeof(double) * (size_t)mw_tensor_elements(mw_value_tensor(interpreter->graph, value)));
}

/* Runs the loop whose nodes are the first of `order`; returns how many they are. */
static int run_loop(Interpreter *interpreter, const MwLoops *loops, const int32_t *order, int left)
{
    const int loop = loops->of_node[order[0]];
    int count = 0;
    while (count < left && loops->of_node[order[count]] == loop)
        count++;
    for (int64_t run = 0; run < loops->at[loop].steps; run++) {
        interpreter->place.run = run;
        for (int i = 0; i < count; i++)
            run_node(interpreter, &interpreter->graph->nodes.at[order[i]]);
        for (int i = 0; i < count; i++)
            if (interpreter->graph->nodes.at[order[i]].op == MW_OP_SCAN_NEXT)
                carry_on(interpreter, &interpreter->graph->nodes.at[order[i]]);
    }
    interpreter->place.run = 0;
    return count;
}

static void run_nodes(Interpreter *interpreter, bool update)
{
    const MwGraph *graph = interpreter->graph;
    MwArena *arena = mw_arena_new();
    const MwLoops loops = mw_loops(arena, graph);
    const int32_t *order = mw_loops_order(arena, graph, &loops);
    for (int i = 0; i < graph->nodes.count; i++) {
        const MwNode *node = &graph->nodes.at[order[i]];
        if ((node->phase == MW_PHASE_UPDATE) != update || !evaluate_can(node->op))
            continue;
        if (loops.of_node[order[i]] < 0)
            run_node(interpreter, node);
        else
            i += run_loop(interpreter, &loops, order + i, graph->nodes.count - i) - 1;
    }
    mw_arena_free(&arena);
}

/* All assigns of one kind at once: no target changes before every value is read. */
static void run_assigns(Interpreter *interpreter, bool accumulating)
{
    const MwGraph *graph = interpreter->graph;
    MwArena *arena = mw_arena_new();
    double **values = MW_NEW(arena, double *, graph->assigns.count);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < graph->assigns.count; i++) {
            const MwAssign *assign = &graph->assigns.at[i];
            if (mw_assign_accumulates(graph, assign) != accumulating)
                continue;
            size_t bytes =
                sizeof(double) * (size_t)mw_tensor_elements(mw_value_tensor(graph, assign->target));
            if (pass == 0)
                values[i] = mw_arena_dup(arena, interpreter->at[assign->value.index], bytes);
            else
                memcpy(interpreter->at[assign->target.index], values[i], bytes);
        }
    mw_arena_free(&arena);
}

static void reset_accumulators(Interpreter *interpreter)
{
    const MwGraph *graph = interpreter->graph;
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_assign_accumulates(graph, &graph->assigns.at[i]))
            initialise(interpreter, graph->assigns.at[i].target);
}

void interpreter_step(Interpreter *interpreter)
{
    const MwGraph *graph = interpreter->graph;
    reset_accumulators(interpreter);
    interpreter->place.step++;
    for (int m = 0; m < interpreter->micro_batches; m++) {
        interpreter->place.micro_batch = m;
        load_inputs(interpreter);
        run_nodes(interpreter, false);
        run_assigns(interpreter, true);
        if (graph->metrics.count)
            interpreter->losses[m] = interpreter->at[graph->metrics.at[0].value.index][0];
    }
    run_nodes(interpreter, true);
    run_assigns(interpreter, false);
}

double *interpreter_value(const Interpreter *interpreter, const char *name)
{
    MwValueId id = mw_graph_find(interpreter->graph, mw_intern(interpreter->graph->interner, name));
    MW_ASSERT(mw_has_value(id));
    return interpreter->at[id.index];
}
