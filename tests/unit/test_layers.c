/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers: against all ways to cut a small model; at the borders of repeats of the models; what
 * gradients, updates and sources inherit; and what is refused. */
#include "cost/cost.h"
#include "frontend/frontend.h"
#include "ir/print.h"
#include "passes/graph/layers.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 64, MOST_NODES = 64 };

static TestModel cut(const char *text, int layers, MwPass last)
{
    TestModel model = test_model_compile(text, &(MwCompileOptions){.layers = layers}, last);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    return model;
}

static bool is_laid(const MwNode *node)
{
    return node->phase == MW_PHASE_FORWARD && node->operand_count > 0;
}

static double flops_of(const TestModel *model, int n)
{
    const MwGraph *graph = model->compilation.graph;
    MwShardingRule rule = mw_sharding_rule(model->arena, graph, (MwNodeId){n});
    int ways[MW_MAX_FACTORS];
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        ways[f] = 1;
    return mw_cost_node_work(graph, (MwNodeId){n}, &rule, ways).flops;
}

/* ---- Against all ways to cut ---- */

/* Models without repeats, the number of layers, and the values that need not flow. */
static const struct {
    const char *text;
    int layers;
    const char *remade;
} small[] = {
    {"model m {\n"
     "  input x: f32[8, 16]\n"
     "  weight a: f32[16, 64] = ones\n"
     "  weight b: f32[64, 16] = ones\n"
     "  weight c: f32[16, 64] = ones\n"
     "  weight d: f32[64, 16] = ones\n"
     "  h = tanh(x @ a)\n"
     "  y = tanh(h @ b)\n"
     "  h = tanh(y @ c)\n"
     "  y = h @ d + y\n"
     "  output y\n"
     "}\n",
     2, " "},
    /* Balance allows a cut in the middle of either block, where more flows. */
    {"model m {\n"
     "  input x: f32[8, 16]\n"
     "  weight a: f32[16, 64] = ones\n"
     "  weight b: f32[64, 16] = ones\n"
     "  weight c: f32[16, 64] = ones\n"
     "  weight d: f32[64, 16] = ones\n"
     "  h = tanh(x @ a)\n"
     "  y = tanh(h @ b)\n"
     "  h = tanh(y @ c)\n"
     "  y = h @ d + y\n"
     "  output y\n"
     "}\n",
     3, " "},
    /* A wide value that is used at the end crosses every border; a narrow one does not mind. */
    {"model m {\n"
     "  input x: f32[8, 32]\n"
     "  weight a: f32[32, 32] = ones\n"
     "  weight b: f32[32, 8] = ones\n"
     "  weight c: f32[8, 32] = ones\n"
     "  weight e: f32[32, 32] = ones\n"
     "  wide = x @ a\n"
     "  slim = tanh(wide @ b)\n"
     "  y = relu(slim @ c)\n"
     "  z = y @ e\n"
     "  output o = z + y\n"
     "}\n",
     3, " "},
    /* Least flows after the slice, which computes nothing. */
    {"model m {\n"
     "  input x: f32[8, 32]\n"
     "  weight a: f32[32, 32] = ones\n"
     "  weight b: f32[4, 256] = ones\n"
     "  h = slice(x @ a, axis = 1, begin = 0, end = 4)\n"
     "  output o = transpose(h @ b, [1, 0])\n"
     "}\n",
     2, " "},
    /* A mask of the inputs, a cast of a weight: made again. */
    {"model m {\n"
     "  input x: f32[64, 16]\n"
     "  weight a: bf16[16, 16] = ones\n"
     "  mask = cast(exp(x) > 1, f32)\n"
     "  w = cast(a, f32)\n"
     "  h = x @ w\n"
     "  h = tanh(h @ w)\n"
     "  h = tanh(h @ w) * mask\n"
     "  output h\n"
     "}\n",
     3, " exp gt mask w "},
};

typedef struct {
    const TestModel *model;
    int count;
    int node[MOST_NODES]; /* the laid ones, in order */
    double flops[MOST_NODES];
    const char *remade;
} Laid;

static Laid find_laid(const TestModel *model, const char *remade)
{
    Laid laid = {.model = model, .remade = remade};
    for (int n = 0; n < model->compilation.graph->nodes.count; n++) {
        if (!is_laid(&model->compilation.graph->nodes.at[n]))
            continue;
        ck_assert_int_lt(laid.count, MOST_NODES);
        laid.flops[laid.count] = flops_of(model, n);
        laid.node[laid.count++] = n;
    }
    return laid;
}

static bool flows(const Laid *laid, int i)
{
    const MwGraph *graph = laid->model->compilation.graph;
    const char *name = graph->values.at[graph->nodes.at[laid->node[i]].first_result].name;
    return !strstr(laid->remade, mw_arena_printf(laid->model->arena, " %s ", name));
}

/* The bytes that must come from before `border` to what is after it. */
static int64_t border_bytes(const Laid *laid, int border)
{
    const MwGraph *graph = laid->model->compilation.graph;
    int64_t bytes = 0;
    for (int i = 0; i < border; i++) {
        int value = graph->nodes.at[laid->node[i]].first_result;
        bool is_used = false;
        for (int j = border; j < laid->count; j++) {
            const MwNode *user = &graph->nodes.at[laid->node[j]];
            for (int k = 0; k < user->operand_count; k++)
                is_used |= user->operands[k].index == value;
        }
        if (is_used && flows(laid, i))
            bytes += mw_tensor_bytes(&graph->values.at[value].tensor);
    }
    return bytes;
}

typedef struct {
    int64_t bytes;
    double squares, most, least; /* FLOPs of a layer */
} Measure;

/* Bit i of `cuts`: there is a cut before laid node i + 1. */
static Measure measure(const Laid *laid, const int64_t *bytes, unsigned cuts)
{
    Measure m = {.least = 1e300};
    double flops = 0;
    for (int i = 0; i <= laid->count; i++) {
        if (i == laid->count || (i > 0 && cuts >> (i - 1) & 1)) {
            m.bytes += i < laid->count ? bytes[i] : 0;
            m.squares += flops * flops;
            m.most = flops > m.most ? flops : m.most;
            m.least = flops < m.least ? flops : m.least;
            flops = 0;
        }
        flops += i < laid->count ? laid->flops[i] : 0;
    }
    return m;
}

static Measure best_of_all(const Laid *laid, const int64_t *bytes, int layers)
{
    double mean = measure(laid, bytes, 0).most / layers;
    Measure best = {.bytes = INT64_MAX};
    for (unsigned cuts = 0; cuts < 1u << (laid->count - 1); cuts++) {
        if (__builtin_popcount(cuts) != layers - 1)
            continue;
        Measure m = measure(laid, bytes, cuts);
        if (m.most <= 1.6 * mean && m.least >= 0.4 * mean &&
            (m.bytes < best.bytes || (m.bytes == best.bytes && m.squares < best.squares)))
            best = m;
    }
    return best;
}

static unsigned cuts_of(const Laid *laid)
{
    unsigned cuts = 0;
    const MwNode *nodes = laid->model->compilation.graph->nodes.at;
    for (int i = 1; i < laid->count; i++) {
        int layer = nodes[laid->node[i]].origin.layer;
        int before = nodes[laid->node[i - 1]].origin.layer;
        ck_assert(layer == before || layer == before + 1);
        cuts |= (unsigned)(layer - before) << (i - 1);
    }
    return cuts;
}

START_TEST(a_small_model_is_cut_in_the_best_way)
{
    TestModel model = cut(small[_i].text, small[_i].layers, MW_PASS_layers);
    Laid laid = find_laid(&model, small[_i].remade);
    int64_t bytes[MOST_NODES];
    for (int i = 0; i < laid.count; i++)
        bytes[i] = border_bytes(&laid, i);
    Measure best = best_of_all(&laid, bytes, small[_i].layers);
    Measure own = measure(&laid, bytes, cuts_of(&laid));
    ck_assert_int_eq(mw_layer_count(model.compilation.graph), small[_i].layers);
    ck_assert_int_eq(own.bytes, best.bytes);
    ck_assert_double_eq_tol(own.squares, best.squares, 1e-6 * best.squares);
    test_model_free(&model);
}
END_TEST

/* ---- The models ---- */

/* Models, the layers that they are cut into, and how many iterations their repeat has. */
static const struct {
    const char *text;
    int layers, iterations;
} repeated[] = {
    {"gpt.graph", 4, 4},
    {"gpt.graph layers=48 batch=1 seq=8 width=16 vocab=64", 48, 48},
    {"llama.graph", 4, 4},
    {"bert.graph", 4, 4},
    {"vit.graph layers=7", 7, 7},
    /* Less would flow a step from the border. */
    {"model m {\n"
     "  input x: f32[8, 32]\n"
     "  repeat 3 {\n"
     "    weight w: f32[16, 16] = ones\n"
     "    y = slice(x, axis = 1, begin = 0, end = 16) @ w\n"
     "    x = pad(y, axis = 1, begin = 0, end = 16)\n"
     "  }\n"
     "  output x\n"
     "}\n",
     3, 3},
    /* The product with the vocabulary is half a layer and more. */
    {"gpt.graph layers=48 batch=1 seq=8 width=16 vocab=128", 49, 48},
    {"llama.graph layers=3 vocab=1200", 4, 3},
};

/* Iteration i is in layer i; what is before is with the first, what is after with the last or in a
 * layer of its own. */
START_TEST(layers_begin_where_iterations_do)
{
    TestModel model = cut(repeated[_i].text, 0, MW_PASS_layers);
    const MwGraph *graph = model.compilation.graph;
    int seen = 0, layers = repeated[_i].layers;
    ck_assert_int_eq(mw_layer_count(model.compilation.graph), layers);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwOrigin *origin = &graph->nodes.at[n].origin;
        if (!is_laid(&graph->nodes.at[n]))
            continue;
        if (origin->repeat >= 0)
            seen = origin->iteration + 1;
        int wanted = origin->repeat >= 0 ? origin->iteration : seen ? layers - 1 : 0;
        ck_assert_msg(origin->layer == wanted, "%s is in layer %d and not %d",
                      graph->values.at[graph->nodes.at[n].first_result].name, origin->layer,
                      wanted);
    }
    ck_assert_int_eq(seen, repeated[_i].iterations);
    test_model_free(&model);
}
END_TEST

#define LINEAR(name)                                                                               \
    "block " name "(x) {\n"                                                                        \
    "  weight w: f32[16, 16] = ones\n"                                                             \
    "  return tanh(x @ w)\n"                                                                       \
    "}\n"

/* Models whose outermost repeats say little of their layers, and how many they are cut into. */
static const struct {
    const char *text;
    int least, most;
} structured[] = {
    /* Two iterations without work, then 20 operators: as without repeats. */
    {LINEAR("a") "model m {\n"
                 "  input x: f32[8, 16]\n"
                 "  repeat 2 { x = maximum(x, x * 0.5) }\n"
                 "  x = a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(x))))))))))))))))))))\n"
                 "  output x\n"
                 "}\n",
     8, 20},
    /* Nested: the inner iterations are layers where the outer ones are heavy. */
    {LINEAR("a") "model m {\n"
                 "  input x: f32[8, 16]\n"
                 "  repeat 2 { repeat 3 { repeat 4 { x = a(x) } } }\n"
                 "  output x\n"
                 "}\n",
     24, 24},
    /* Tiny iterations: several are one layer. */
    {"model m {\n"
     "  input x: f32[8, 16]\n"
     "  repeat 500 { x = tanh(x) }\n"
     "  output x\n"
     "}\n",
     80, 160},
    /* Taps of nine convolutions: no layer is lighter than half of the mean. */
    {LINEAR("a") "model m {\n"
                 "  input x: f32[8, 16]\n"
                 "  repeat 9 { x = a(x) }\n"
                 "  repeat 2 { x = x * 0.5 }\n"
                 "  repeat 9 { x = a(x) }\n"
                 "  output x\n"
                 "}\n",
     18, 18},
};

START_TEST(what_repeats_and_is_heavy_makes_the_layers)
{
    TestModel model = cut(structured[_i].text, 0, MW_PASS_layers);
    const MwGraph *graph = model.compilation.graph;
    int layers = mw_layer_count(graph);
    ck_assert_msg(layers >= structured[_i].least && layers <= structured[_i].most, "%d layers",
                  layers);
    double *flops = MW_NEW(model.arena, double, layers), total = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        if (is_laid(&graph->nodes.at[n])) {
            flops[graph->nodes.at[n].origin.layer] += flops_of(&model, n);
            total += flops_of(&model, n);
        }
    for (int l = 0; l < layers; l++) {
        ck_assert_double_ge(flops[l], 0.4 * total / layers);
        ck_assert_double_le(flops[l], 1.61 * total / layers);
    }
    test_model_free(&model);
}
END_TEST

/* Models and numbers of layers at which FLOPs can be balanced. */
static const struct {
    const char *text;
    int layers;
} balanced[] = {
    {"gpt.graph", 0},          {"llama.graph", 0},
    {"bert.graph", 0},         {"vit.graph", 0},
    {"mlp.graph", 2},          {"gpt.graph", 2},
    {"gpt.graph", 3},          {"gpt.graph", 8},
    {"llama.graph", 9},        {"bert.graph", 2},
    {"vit.graph", 2},          {"gpt.graph layers=12", 5},
    {"gpt.graph layers=1", 0}, {"bert.graph layers=24", 7},
};

START_TEST(layers_have_about_the_same_work)
{
    TestModel model = cut(balanced[_i].text, balanced[_i].layers, MW_PASS_layers);
    const MwGraph *graph = model.compilation.graph;
    double flops[MOST_LAYERS] = {0}, total = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        if (!is_laid(&graph->nodes.at[n]))
            continue;
        flops[graph->nodes.at[n].origin.layer] += flops_of(&model, n);
        total += flops_of(&model, n);
    }
    for (int l = 0; l < mw_layer_count(model.compilation.graph); l++) {
        ck_assert_double_gt(flops[l], 0);
        ck_assert_double_le(flops[l], 1.6001 * total / mw_layer_count(model.compilation.graph));
    }
    test_model_free(&model);
}
END_TEST

/* The layers within an iteration, counted from its first, are those within any other. */
START_TEST(identical_iterations_are_cut_alike)
{
    static const int layers[] = {8, 12, 24};
    TestModel model = cut("gpt.graph", layers[_i], MW_PASS_layers);
    const MwGraph *graph = model.compilation.graph;
    int first[4] = {-1, -1, -1, -1}, place[4][MOST_NODES] = {0}, count[4] = {0};
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwOrigin *origin = &graph->nodes.at[n].origin;
        if (!is_laid(&graph->nodes.at[n]) || origin->repeat < 0)
            continue;
        int i = origin->iteration;
        first[i] = first[i] < 0 ? origin->layer : first[i];
        place[i][count[i]++] = origin->layer - first[i];
    }
    /* The first and the last have the embedding and the product with the vocabulary beside them. */
    ck_assert_int_eq(count[1], count[2]);
    ck_assert_int_gt(place[1][count[1] - 1], 0);
    ck_assert_mem_eq(place[1], place[2], sizeof(int) * (size_t)count[1]);
    test_model_free(&model);
}
END_TEST

START_TEST(each_layer_of_a_model_without_repeats_has_substance)
{
    TestModel model = cut("mlp.graph", 0, MW_PASS_layers);
    const MwGraph *graph = model.compilation.graph;
    int products[3] = {0};
    ck_assert_int_eq(mw_layer_count(model.compilation.graph), 3);
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_EINSUM)
            products[graph->nodes.at[n].origin.layer]++;
    for (int l = 0; l < 3; l++)
        ck_assert_int_eq(products[l], 1);
    test_model_free(&model);
}
END_TEST

/* ---- What inherits ---- */

static const char *const trained[] = {"mlp.graph", "gpt.graph", "llama.graph", "bert.graph",
                                      "vit.graph"};

static int layer_of(const MwGraph *graph, MwValueId value)
{
    return mw_value_node(graph, value)->origin.layer;
}

/* A table that is larger than the weights of a layer is a layer, a smaller one is not; where a head
 * has the work of a layer, it is one in any case. */
START_TEST(large_tables_are_layers)
{
    static const struct {
        const char *model;
        int layers;
        bool is_alone; /* the table */
    } cases[] = {
        {"gpt.graph batch=4 seq=8 vocab=64 layers=4 width=16 heads=2", 4, false},
        {"gpt.graph batch=4 seq=8 vocab=1024 layers=4 width=16 heads=2", 0, true},
        {"llama.graph batch=4 seq=8 vocab=1024 layers=4 width=16 heads=2 kv_heads=1 hidden=32", 0,
         true},
        {"llama.graph batch=4 seq=8 vocab=48 layers=4 width=16 heads=2 kv_heads=1 hidden=32", 4,
         false},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        TestModel model = cut(cases[i].model, 0, MW_PASS_layers);
        const MwGraph *graph = model.compilation.graph;
        bool has_product = false;
        for (int n = 0; n < graph->nodes.count; n++) {
            const MwNode *node = &graph->nodes.at[n];
            has_product |= node->op == MW_OP_EINSUM && node->origin.layer == 0;
            if (node->op == MW_OP_EMBEDDING)
                ck_assert_int_eq(node->origin.layer, 0);
        }
        ck_assert_msg(has_product != cases[i].is_alone, "%s", cases[i].model);
        if (cases[i].layers)
            ck_assert_int_eq(mw_layer_count(graph), cases[i].layers);
        test_model_free(&model);
    }
}
END_TEST

START_TEST(sources_are_with_their_first_user)
{
    TestModel model = cut(trained[_i], 0, MW_PASS_layers);
    const MwGraph *graph = model.compilation.graph;
    bool *is_seen = MW_NEW(model.arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++) {
            MwValueId operand = node->operands[k];
            if (mw_value_node(graph, operand)->operand_count == 0 && !is_seen[operand.index])
                ck_assert_int_eq(layer_of(graph, operand), node->origin.layer);
            is_seen[operand.index] = true;
        }
    }
    test_model_free(&model);
}
END_TEST

/* Backward, a layer uses what forward made up to it, and what backward made from it on. */
START_TEST(backward_goes_from_layer_to_layer)
{
    TestModel model = cut(trained[_i], 0, MW_PASS_differentiate);
    const MwGraph *graph = model.compilation.graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; node->phase == MW_PHASE_BACKWARD && k < node->operand_count; k++) {
            const MwNode *maker = mw_value_node(graph, node->operands[k]);
            const char *name = graph->values.at[node->first_result].name;
            if (maker->phase == MW_PHASE_BACKWARD)
                ck_assert_msg(maker->origin.layer >= node->origin.layer, "%s", name);
            else
                ck_assert_msg(maker->origin.layer <= node->origin.layer, "%s", name);
        }
    }
    for (int v = 0; v < graph->values.count; v++)
        if (mw_value_node(graph, (MwValueId){v})->op == MW_OP_WEIGHT)
            ck_assert_int_eq(layer_of(graph, model.compilation.gradient[v]),
                             layer_of(graph, (MwValueId){v}));
    test_model_free(&model);
}
END_TEST

START_TEST(updates_are_with_their_weight)
{
    TestModel model = cut(trained[_i], 0, MW_PASS_update);
    const MwGraph *graph = model.compilation.graph;
    for (int i = 0; i < graph->assigns.count; i++) {
        MwAssign assign = graph->assigns.at[i];
        const MwNode *made = mw_value_node(graph, assign.value);
        ck_assert_int_eq(layer_of(graph, assign.value), layer_of(graph, assign.target));
        ck_assert_int_eq(layer_of(graph, assign.target), layer_of(graph, made->operands[0]));
    }
    test_model_free(&model);
}
END_TEST

static bool is_shared_by_layers(const char *name)
{
    return strcmp(name, "step") == 0 || strncmp(name, "learning_rate", 13) == 0 ||
           strncmp(name, "clip", 4) == 0;
}

/* Even with clipping, only the norm of all gradients is of several layers. */
START_TEST(layers_do_not_mix_in_the_update)
{
    TestModel model = cut(trained[_i], 0, MW_PASS_update);
    const MwGraph *graph = model.compilation.graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const char *name = graph->values.at[node->first_result].name;
        for (int k = 0; node->phase == MW_PHASE_UPDATE && k < node->operand_count; k++) {
            const char *operand = mw_value(graph, node->operands[k])->name;
            if (!is_shared_by_layers(name) && !is_shared_by_layers(operand))
                ck_assert_msg(layer_of(graph, node->operands[k]) == node->origin.layer,
                              "%s uses %s", name, operand);
        }
    }
    test_model_free(&model);
}
END_TEST

/* ---- Dumps, pins and refusals ---- */

static const char *print(const TestModel *model)
{
    MwText text = {.arena = model->arena};
    mw_graph_print(&text, model->compilation.graph);
    return text.at;
}

START_TEST(a_dump_keeps_its_layers)
{
    TestModel model = cut("gpt.graph", 3, MW_PASS_layers);
    const char *text = print(&model);
    for (int layers = 0; layers <= 3; layers += 3) {
        TestModel again = cut(text, layers, MW_PASS_layers);
        ck_assert_int_eq(mw_layer_count(again.compilation.graph), 3);
        ck_assert_str_eq(print(&again), text);
        test_model_free(&again);
    }
    test_model_free(&model);
}
END_TEST

START_TEST(a_model_for_inference_has_layers)
{
    TestModel model = cut("size n = 16\n"
                          "model m {\n"
                          "  input x: f32[n, n]\n"
                          "  repeat 5 {\n"
                          "    weight w: f32[n, n] = ones\n"
                          "    x = tanh(x @ w)\n"
                          "  }\n"
                          "  output x\n"
                          "}\n",
                          0, MW_PASS_clean);
    ck_assert_int_eq(mw_layer_count(model.compilation.graph), 5);
    test_model_free(&model);
}
END_TEST

#define PINNED                                                                                     \
    "model m {\n"                                                                                  \
    "  input x: f32[16, 16]\n"                                                                     \
    "  weight a: f32[16, 16] = ones\n"                                                             \
    "  weight b: f32[16, 16] = ones with stage = 1\n"                                              \
    "  h = x @ a with stage = 0\n"                                                                 \
    "  y = h @ b\n"                                                                                \
    "  z = relu(y) with stage = 2\n"                                                               \
    "  output z\n"                                                                                 \
    "}\n"

START_TEST(values_pinned_to_stages_part_layers)
{
    TestModel model = cut(PINNED, 0, MW_PASS_layers);
    const MwGraph *graph = model.compilation.graph;
    static const char *const names[] = {"h", "y", "z"};
    ck_assert_int_eq(mw_layer_count(model.compilation.graph), 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(
            layer_of(graph, mw_graph_find(graph, mw_intern(graph->interner, names[i]))), i);
    test_model_free(&model);
}
END_TEST

START_TEST(there_are_as_many_as_stages)
{
    TestModel model =
        test_model_compile("mlp.graph", &(MwCompileOptions){.stages = 4}, MW_PASS_layers);
    ck_assert(model.ok);
    ck_assert_int_eq(mw_layer_count(model.compilation.graph), 4);
    test_model_free(&model);
}
END_TEST

static const struct {
    const char *text;
    MwCompileOptions options;
    const char *says;
} refused[] = {
    {"mlp.graph",
     {.layers = 20},
     "--layers 20: the model has 12 operators that compute, and each layer needs one"},
    {"mlp.graph",
     {.stages = 4, .chunks = 5},
     "--stages 4: the model has 12 operators that compute, and each of 20 stages needs one"},
    {"mlp.graph", {.layers = 5, .stages = 6}, "--layers 5: 6 stages need as many"},
    {PINNED, {.layers = 2}, "--layers 2: the stages that values are pinned to need at least 3"},
    {"model m {\n"
     "  input x: f32[4]\n"
     "  y = exp(x) with layer = 1\n"
     "  output y\n"
     "}\n",
     {.layers = 3},
     "--layers 3: the model is a dump that has 2 already"},
    {"model m {\n"
     "  input x: f32[4]\n"
     "  y = exp(x) with layer = 1\n"
     "  output z = exp(y)\n"
     "}\n",
     {0},
     "'z' is in layer 0 but uses 'y', which is in layer 1"},
};

START_TEST(says_why_layers_cannot_be_had)
{
    TestModel model = test_model_compile(refused[_i].text, &refused[_i].options, MW_PASS_layers);
    const char *says = diags_text(model.arena, model.diags);
    ck_assert(!model.ok);
    ck_assert_msg(strstr(says, refused[_i].says) != NULL, "%s", says);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layers");
    TCase *tests = tcase_create("layers");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, a_small_model_is_cut_in_the_best_way, 0, MW_COUNT(small));
    tcase_add_loop_test(tests, layers_begin_where_iterations_do, 0, MW_COUNT(repeated));
    tcase_add_loop_test(tests, what_repeats_and_is_heavy_makes_the_layers, 0, MW_COUNT(structured));
    tcase_add_loop_test(tests, layers_have_about_the_same_work, 0, MW_COUNT(balanced));
    tcase_add_loop_test(tests, identical_iterations_are_cut_alike, 0, 3);
    tcase_add_test(tests, each_layer_of_a_model_without_repeats_has_substance);
    tcase_add_test(tests, large_tables_are_layers);
    tcase_add_loop_test(tests, sources_are_with_their_first_user, 0, MW_COUNT(trained));
    tcase_add_loop_test(tests, backward_goes_from_layer_to_layer, 0, MW_COUNT(trained));
    tcase_add_loop_test(tests, updates_are_with_their_weight, 0, MW_COUNT(trained));
    tcase_add_loop_test(tests, layers_do_not_mix_in_the_update, 0, MW_COUNT(trained));
    tcase_add_test(tests, a_dump_keeps_its_layers);
    tcase_add_test(tests, a_model_for_inference_has_layers);
    tcase_add_test(tests, there_are_as_many_as_stages);
    tcase_add_test(tests, values_pinned_to_stages_part_layers);
    tcase_add_loop_test(tests, says_why_layers_cannot_be_had, 0, MW_COUNT(refused));
    return run_suite(suite);
}
