/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graph: adding nodes, its dump, and its checker. */
#include "base/text.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <string.h>

/* A small graph that uses everything a graph can hold. */
typedef struct {
    TestGraph test;
    MwValueId x, w, m, loss, dw;
} Model;

static const char *intern(TestGraph *test, const char *text)
{
    return mw_intern(test->graph->interner, text);
}

static MwValueId add_weight(TestGraph *test, const char *op, const char *name, const char *init,
                            double value)
{
    MwOp kind;
    MW_ASSERT(mw_op_parse(op, &kind));
    MwTensor type = test_type("f32[4, 6]");
    MwAttr attrs[] = {mw_attr_text(MW_ATTR_INIT, intern(test, init)),
                      mw_attr_float(MW_ATTR_VALUE, value)};
    MwNodeSpec spec = {.op = kind, .given = &type, .name = name, .attrs = attrs, .attr_count = 2};
    return test_add(test, &spec);
}

static void add_forward(Model *model)
{
    TestGraph *test = &model->test;
    MwGraph *graph = test->graph;
    mw_vec_push(test->arena, &graph->repeats,
                ((MwRepeat){.name = intern(test, "layers"), .count = 2, .parent = -1}));
    mw_vec_push(test->arena, &graph->repeats,
                ((MwRepeat){.name = intern(test, "parts"), .count = 3, .parent_iteration = 1}));
    model->x = test_source(test, MW_OP_INPUT, "x", "f32[8, 4]");
    graph->origin.scope = intern(test, "layers.1.parts.2.mlp");
    graph->origin.repeat = 1;
    graph->origin.iteration = 2;
    model->w = add_weight(test, "weight", "layers.1.w", "normal", 0.02);
    MwValueId product[] = {model->x, model->w};
    MwValueId h = test_apply(test, "h", "einsum", product, 2, "equation = ab,bc->ac");
    graph->origin.scope = intern(test, "");
    graph->origin.repeat = -1;
    graph->origin.iteration = 0;
    MwValueId part = test_apply(test, "part", "split", &h, 1, "axis = 1; sizes = [2, 4]");
    model->loss = test_apply(test, "loss", "reduce_sum", &part, 1, "axes = [0, 1]");
    mw_vec_push(test->arena, &graph->outputs, ((MwOutput){intern(test, "h"), h}));
    mw_vec_push(test->arena, &graph->outputs, ((MwOutput){intern(test, "left"), part}));
}

static void add_update(Model *model)
{
    TestGraph *test = &model->test;
    MwGraph *graph = test->graph;
    graph->phase = MW_PHASE_BACKWARD;
    MwValueId seed =
        test_apply(test, NULL, "constant", NULL, 0, "type = f32; shape = [8, 6]; value = 0.1");
    MwValueId product[] = {model->x, seed};
    graph->phase = MW_PHASE_BACKWARD_WEIGHT;
    graph->origin.layer = 3;
    model->dw = test_apply(test, "dw", "einsum", product, 2, "equation = ab,ac->bc");
    graph->phase = MW_PHASE_UPDATE;
    graph->origin.layer = 0;
    model->m = add_weight(test, "state", "layers.1.w.m", "zeros", 0);
    MwValueId moment[] = {model->m, model->dw};
    MwValueId next = test_apply(test, NULL, "add", moment, 2, "");
    mw_vec_push(test->arena, &graph->assigns, ((MwAssign){model->m, next}));
}

static void add_pins(Model *model)
{
    TestGraph *test = &model->test;
    MwGraph *graph = test->graph;
    MwPin pin = mw_pin_new(model->w);
    pin.has_spec = true;
    pin.stage = 2;
    pin.spec = mw_spec_with_partial(mw_spec_with_dim(pin.spec, 1, 1), 2, MW_COMBINE_SUM);
    mw_vec_push(test->arena, &graph->pins, pin);
    MwValueId right = mw_graph_find(graph, intern(test, "part.1"));
    pin = mw_pin_new(right);
    pin.ring = true;
    pin.remat = false;
    mw_vec_push(test->arena, &graph->pins, pin);
}

static Model model_new(void)
{
    Model model = {.test = test_graph_new()};
    add_forward(&model);
    add_update(&model);
    add_pins(&model);
    MwPatterns no_decay = {0}, sparse = {0}, only = {0};
    MwOverrides rates = {0}, decays = {0};
    mw_vec_push(model.test.arena, &rates, ((MwOverride){"embed", {1e-4}}));
    mw_vec_push(model.test.arena, &rates, ((MwOverride){"*.b", {0}}));
    mw_vec_push(model.test.arena, &decays, ((MwOverride){"embed", {0.5}}));
    mw_vec_push(model.test.arena, &no_decay, "*.b");
    mw_vec_push(model.test.arena, &no_decay, "norm.*");
    mw_vec_push(model.test.arena, &sparse, "embed");
    mw_vec_push(model.test.arena, &only, "layers.*");
    test_train(model.test.graph, model.loss);
    MwTrain *train = &model.test.graph->trains.at[0];
    *train = (MwTrain){.loss = train->loss,
                       .optimizer = MW_OPTIMIZER_ADAMW,
                       .learning_rate = {3e-4},
                       .option = {[MW_ATTR_BETA1] = 0.9,
                                  [MW_ATTR_BETA2] = 0.95,
                                  [MW_ATTR_EPS] = 1e-8,
                                  [MW_ATTR_WEIGHT_DECAY] = 0.1},
                       .rates = rates,
                       .decays = decays,
                       .no_decay = no_decay,
                       .sparse = sparse,
                       .only = only,
                       .clip_norm = 1,
                       .ema = 0.999,
                       .schedule = MW_SCHEDULE_COSINE,
                       .warmup_steps = 10,
                       .total_steps = 1000,
                       .final_rate = 0.1,
                       .micro_batches = 4,
                       .states = MW_BF16,
                       .accumulate = MW_BF16,
                       .offload = MW_OFFLOAD_STATES};
    return model;
}

static const char *dump(const Model *model)
{
    MwText text = {.arena = model->test.arena};
    mw_graph_print(&text, model->test.graph);
    return text.at;
}

START_TEST(a_dump_shows_everything)
{
    Model model = model_new();
    ck_assert_str_eq(
        dump(&model),
        "model test {\n"
        "  repeat layers = 2\n"
        "  repeat parts = 3 with repeat = [0, 1]\n"
        "  input x: f32[8, 4]\n"
        "  weight layers.1.w: f32[4, 6] = normal(0.02) with scope = layers.1.parts.2.mlp, "
        "repeat = [1, 2], spec = [R, S0] +P1, stage = 2\n"
        "  h = einsum(x, layers.1.w, equation = \"ab,bc->ac\") with scope = layers.1.parts.2.mlp, "
        "repeat = [1, 2]\n"
        "  part.0, part.1 = split(h, axis = 1, sizes = [2, 4]) with ring.1 = true, "
        "remat.1 = false\n"
        "  loss = reduce_sum(part.0, axes = [0, 1])\n"
        "  _6 = constant(shape = [8, 6], type = f32, value = 0.1) with phase = backward\n"
        "  dw = einsum(x, _6, equation = \"ab,ac->bc\") with phase = backward_weight, "
        "layer = 3\n"
        "  state layers.1.w.m: f32[4, 6] = zeros with phase = update\n"
        "  _9 = add(layers.1.w.m, dw) with phase = update\n"
        "  output h\n"
        "  output left = part.0\n"
        "  assign layers.1.w.m = _9\n"
        "  train loss with adamw(lr = 0.0003, betas = [0.9, 0.95], eps = 1e-08, "
        "weight_decay = 0.1), rates = [[\"embed\", 0.0001], [\"*.b\", 0]], "
        "decays = [[\"embed\", 0.5]], no_decay = [\"*.b\", \"norm.*\"], sparse = [\"embed\"], "
        "only = [\"layers.*\"], clip_norm = 1, ema = 0.999, schedule = cosine, "
        "warmup_steps = 10, total_steps = 1000, final_rate = 0.1, micro_batches = 4, states = "
        "bf16, "
        "accumulate = bf16, offload = states\n"
        "}\n");
    test_graph_free(&model.test);
}
END_TEST

START_TEST(names_are_made_unique)
{
    TestGraph test = test_graph_new();
    MwValueId a = test_source(&test, MW_OP_INPUT, "x", "f32[]");
    MwValueId b = test_source(&test, MW_OP_INPUT, "x", "f32[]");
    ck_assert_str_eq(mw_value(test.graph, a)->name, "x");
    ck_assert_str_eq(mw_value(test.graph, b)->name, "x.1");
    ck_assert(mw_value_equal(mw_graph_find(test.graph, intern(&test, "x.1")), b));
    ck_assert(!mw_has_value(mw_graph_find(test.graph, intern(&test, "y"))));
    test_graph_free(&test);
}
END_TEST

START_TEST(a_good_graph_passes)
{
    Model model = model_new();
    ck_assert_msg(mw_graph_verify(model.test.graph, "simplify", model.test.diags), "%s",
                  diags_text(model.test.arena, model.test.diags));
    test_graph_free(&model.test);
}
END_TEST

/* Ways of breaking a graph. */
static MwNode *node_named(Model *model, const char *name)
{
    MwGraph *graph = model->test.graph;
    return mw_value_node(graph, mw_graph_find(graph, intern(&model->test, name)));
}

static void use_later_value(Model *model)
{
    MwValueId *operand = (MwValueId *)node_named(model, "h")->operands;
    operand[0].index = model->loss.index;
}

static void use_of_backward(Model *model)
{
    node_named(model, "layers.1.w")->phase = MW_PHASE_BACKWARD;
}

static void use_of_later_layer(Model *model)
{
    node_named(model, "h")->origin.layer = 2;
    node_named(model, "part.0")->origin.layer = 1;
}

static void wrong_type(Model *model)
{
    MwGraph *graph = model->test.graph;
    mw_value(graph, mw_graph_find(graph, intern(&model->test, "h")))->tensor.dim[0] = 7;
}

static void wrong_attribute(Model *model)
{
    MwNode *node = node_named(model, "loss");
    ((MwAttr *)node->attrs)[0].key = MW_ATTR_AXIS;
}

static void extra_attribute(Model *model)
{
    MwNode *node = node_named(model, "_9");
    node->attrs = node_named(model, "loss")->attrs;
    node->attr_count = 1;
}

static void bad_attribute_value(Model *model)
{
    MwNode *node = node_named(model, "part.0");
    ((MwAttr *)node->attrs)[0].i = 2;
}

static void foreign_name(Model *model)
{
    mw_value(model->test.graph, model->dw)->name = intern(&model->test, "h");
}

static void bad_name(Model *model)
{
    mw_value(model->test.graph, model->dw)->name = intern(&model->test, "2..x");
}

static void wrong_node(Model *model)
{
    mw_value(model->test.graph, model->dw)->node.index = 0;
}

static void result_gap(Model *model)
{
    node_named(model, "loss")->first_result++;
}

static void stray_value(Model *model)
{
    MwGraph *graph = model->test.graph;
    MwValue copy = graph->values.at[0];
    mw_vec_push(model->test.arena, &graph->values, copy);
}

static void no_iteration(Model *model)
{
    node_named(model, "h")->origin.iteration = 3;
}

static void no_scope(Model *model)
{
    node_named(model, "h")->origin.scope = intern(&model->test, "a b");
}

static void repeat_in_itself(Model *model)
{
    model->test.graph->repeats.at[1].parent = 1;
}

static void two_outputs(Model *model)
{
    model->test.graph->outputs.at[1].name = intern(&model->test, "h");
}

static void no_output_value(Model *model)
{
    model->test.graph->outputs.at[1].value.index = 99;
}

static void assign_input(Model *model)
{
    model->test.graph->assigns.at[0].target = model->x;
}

static void assign_other_type(Model *model)
{
    model->test.graph->assigns.at[0].value = model->loss;
}

static void assign_twice(Model *model)
{
    MwGraph *graph = model->test.graph;
    MwAssign copy = graph->assigns.at[0];
    mw_vec_push(model->test.arena, &graph->assigns, copy);
}

static void two_pins(Model *model)
{
    model->test.graph->pins.at[1].value = model->w;
}

static void pin_axis_twice(Model *model)
{
    MwPin *pin = &model->test.graph->pins.at[0];
    pin->spec = mw_spec_with_dim(pin->spec, 0, 1);
}

static void pin_no_dim(Model *model)
{
    MwPin *pin = &model->test.graph->pins.at[0];
    pin->spec = mw_spec_with_dim(mw_spec_replicated(), 2, 1);
}

static void pin_remat(Model *model)
{
    model->test.graph->pins.at[1].remat = 2;
}

static void loss_no_scalar(Model *model)
{
    model->test.graph->metrics.at[0].value = model->w;
}

static void loss_in_backward(Model *model)
{
    node_named(model, "loss")->phase = MW_PHASE_BACKWARD;
}

static const struct {
    void (*damage)(Model *);
    const char *message;
} damages[] = {
    {use_later_value, "operand 0 of 'h' does not come before it"},
    {use_of_backward, "'h' runs forward but uses 'layers.1.w', which runs backward"},
    {use_of_later_layer, "'part.0' is in layer 1 but uses 'h', which is in layer 2"},
    {wrong_type, "'h' is f32[7, 6] but should be f32[8, 6]"},
    {wrong_attribute, "'loss' lacks attribute axes"},
    {extra_attribute, "'_9' has attributes that add does not have"},
    {bad_attribute_value, "'part.0' has no type"},
    {foreign_name, "the name 'h' does not lead to its value"},
    {bad_name, "value 7 has no proper name"},
    {wrong_node, "value 7 does not know its node, 6"},
    {result_gap, "node 4 does not have the next values as results"},
    {stray_value, "value 10 belongs to no node"},
    {no_iteration, "'h' lies in iteration 3 of repeat 1, which does not exist"},
    {no_scope, "'h' has no proper scope"},
    {repeat_in_itself, "repeat 1 is not well formed"},
    {two_outputs, "two outputs are named 'h'"},
    {no_output_value, "output 'left' has no value"},
    {assign_input, "'x' is assigned but is no weight or state"},
    {assign_other_type, "'layers.1.w.m' is assigned 'loss', which has another type"},
    {assign_twice, "'layers.1.w.m' is assigned twice"},
    {two_pins, "'layers.1.w' has two pins"},
    {pin_axis_twice, "the spec pinned to 'layers.1.w' does not fit it"},
    {pin_no_dim, "the spec pinned to 'layers.1.w' does not fit it"},
    {pin_remat, "the ring, stage or remat pinned to 'part.1' is not possible"},
    {loss_no_scalar, "metric 'loss' is f32[4, 6] and not f32[]"},
    {loss_in_backward, "metric 'loss' runs backward"},
};

START_TEST(a_damaged_graph_is_refused)
{
    Model model = model_new();
    damages[_i].damage(&model);
    ck_assert(!mw_graph_verify(model.test.graph, "simplify", model.test.diags));
    const char *message = mw_arena_printf(
        model.test.arena, "meshwright: error: after simplify: %s\n", damages[_i].message);
    const char *said = diags_text(model.test.arena, model.test.diags);
    ck_assert_msg(strstr(said, message) != NULL, "expected %s, got %s", message, said);
    test_graph_free(&model.test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *tests = tcase_create("graph");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, a_dump_shows_everything);
    tcase_add_test(tests, names_are_made_unique);
    tcase_add_test(tests, a_good_graph_passes);
    tcase_add_loop_test(tests, a_damaged_graph_is_refused, 0, MW_COUNT(damages));
    return run_suite(suite);
}
