/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cutting a model into stages: what each runs, what crosses, and that weights which stages share
 * take the same step in all of them. */
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <string.h>

/* Three layers, or four; `table` is used by the first and the last, `scale` (by way of a cast) by
 * all. */
#define MODEL(last)                                                                                \
    "model m {\n"                                                                                  \
    "  input tokens: i32[8, 4]\n"                                                                  \
    "  input targets: i32[8, 4]\n"                                                                 \
    "  weight table: f32[32, 16] = normal(0.2)\n"                                                  \
    "  weight scale: f32[16] = ones\n"                                                             \
    "  half = cast(scale, bf16)\n"                                                                 \
    "  s = cast(half, f32)\n"                                                                      \
    "  x = embedding(tokens, table) * s\n"                                                         \
    "  weight w1: f32[16, 16] = normal(0.2) with layer = 1\n"                                      \
    "  h = relu(x @ w1) * s with layer = 1\n"                                                      \
    "  known = cast(tokens > 0, f32)\n"                                                            \
    "  seen = reshape(known, [8, 4, 1])\n"                                                         \
    "  o = (x + h) * s * seen with layer = 2\n"                                                    \
    "  logits = einsum(\"bsw,vw->bsv\", o, table) with layer = " last "\n"                         \
    "  loss = cross_entropy(logits, targets) with layer = " last "\n"                              \
    "  output h, logits\n"                                                                         \
    "  train loss with adamw(lr = 0.01), clip_norm = 1\n"                                          \
    "}\n"

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwCluster cluster;
    MwCompilation compilation;
} Cut;

static void split_text(Cut *cut, const char *model, MwCompileOptions options)
{
    *cut = (Cut){.arena = mw_arena_new()};
    cut->diags = mw_diags_new(cut->arena);
    cut->cluster = test_cluster(options.stages);
    const MwSource source = {"m.graph", model, strlen(model)};
    cut->compilation.arena = cut->arena;
    cut->compilation.cluster = &cut->cluster;
    cut->compilation.options = options;
    cut->compilation.graph =
        mw_graph_parse(cut->arena, mw_interner_new(cut->arena),
                       mw_arena_dup(cut->arena, &source, sizeof source), NULL, 0, cut->diags);
    MwPipelineOptions pipeline = {.stop_after = MW_PASS_split, .dump_after = MW_PASS_COUNT};
    bool ok = cut->compilation.graph && mw_pipeline_run(&cut->compilation, &pipeline, cut->diags);
    ck_assert_msg(ok, "%s", diags_text(cut->arena, cut->diags));
    ck_assert_int_eq(cut->compilation.staging.stage_count,
                     options.stages * (int)mw_max(options.chunks, 1));
}

static void split(Cut *cut, MwCompileOptions options)
{
    split_text(cut, options.chunks > 1 ? MODEL("3") : MODEL("2"), options);
}

static const MwGraph *graph_of(const Cut *cut, int stage)
{
    return cut->compilation.stages[stage].graph;
}

/* The node that gives the value called `name`; NULL: the stage has none. */
static const MwNode *find(const Cut *cut, int stage, const char *name)
{
    const MwGraph *graph = graph_of(cut, stage);
    MwValueId value = mw_graph_find(graph, mw_intern(graph->interner, name));
    return mw_has_value(value) ? mw_value_node(graph, value) : NULL;
}

static bool is_op(const MwNode *node, MwOp op)
{
    return node && node->op == op;
}

/* The only send or receive of a transfer in a stage. */
static const MwNode *find_end(const Cut *cut, int stage, MwOp op, int transfer)
{
    const MwNode *found = NULL;
    for (int n = 0; n < graph_of(cut, stage)->nodes.count; n++) {
        const MwNode *node = &graph_of(cut, stage)->nodes.at[n];
        if (node->op != op || mw_node_int(node, MW_ATTR_TRANSFER) != transfer)
            continue;
        ck_assert_ptr_null(found);
        found = node;
    }
    return found;
}

/* Every transfer has one send and one receive, of the same tensor in the same phase. */
static void check_transfers(const Cut *cut)
{
    for (int i = 0; i < cut->compilation.crossing_count; i++) {
        const MwCrossing *crossing = &cut->compilation.crossings[i];
        ck_assert_int_ne(mw_staging_mesh(&cut->compilation.staging, crossing->from_stage),
                         mw_staging_mesh(&cut->compilation.staging, crossing->to_stage));
        const MwNode *send = find_end(cut, crossing->from_stage, MW_OP_SEND, i);
        const MwNode *receive = find_end(cut, crossing->to_stage, MW_OP_RECEIVE, i);
        ck_assert(send && receive);
        ck_assert_int_eq(send->phase, crossing->phase);
        ck_assert_int_eq(receive->phase, crossing->phase);
        ck_assert(mw_tensor_equal(
            &graph_of(cut, crossing->from_stage)->values.at[send->first_result].tensor,
            &crossing->tensor));
        ck_assert(mw_tensor_equal(
            &graph_of(cut, crossing->to_stage)->values.at[receive->first_result].tensor,
            &crossing->tensor));
    }
}

static int crossings(const Cut *cut, const char *name, MwPhase phase)
{
    int count = 0;
    for (int i = 0; i < cut->compilation.crossing_count; i++)
        count += strcmp(cut->compilation.crossings[i].name, name) == 0 &&
                 cut->compilation.crossings[i].phase == phase;
    return count;
}

static const int micro_batches[] = {1, 4};

START_TEST(every_transfer_has_two_ends)
{
    for (int stages = 2; stages <= 3; stages++) {
        Cut cut;
        split(&cut, (MwCompileOptions){.stages = stages, .micro_batches = micro_batches[_i]});
        ck_assert_int_gt(cut.compilation.crossing_count, 0);
        check_transfers(&cut);
        mw_arena_free(&cut.arena);
    }
}
END_TEST

START_TEST(activations_and_their_gradients_cross_each_micro_batch)
{
    Cut cut;
    split(&cut, (MwCompileOptions){.stages = 3, .micro_batches = micro_batches[_i]});
    ck_assert_int_eq(crossings(&cut, "x", MW_PHASE_FORWARD), 2); /* to both later stages */
    ck_assert_int_eq(crossings(&cut, "h", MW_PHASE_FORWARD), 1);
    ck_assert(is_op(find(&cut, 1, "x"), MW_OP_RECEIVE));
    ck_assert(is_op(find(&cut, 2, "x"), MW_OP_RECEIVE));
    ck_assert_int_eq(crossings(&cut, "logits", MW_PHASE_FORWARD), 0);
    mw_arena_free(&cut.arena);
}
END_TEST

/* The new value of a weight that several stages keep is made in each, of the same sum. */
START_TEST(shared_weights_take_one_step)
{
    Cut cut;
    split(&cut, (MwCompileOptions){.stages = 3, .micro_batches = micro_batches[_i]});
    for (int stage = 0; stage < 3; stage += 2) {
        ck_assert(is_op(find(&cut, stage, "table"), MW_OP_WEIGHT));
        ck_assert(is_op(find(&cut, stage, "table.new"), MW_OP_ADAMW));
        const MwNode *sum = find(&cut, stage, "grad.table");
        ck_assert(is_op(sum, MW_OP_ADD));
        ck_assert_int_eq(sum->phase, MW_PHASE_UPDATE);
    }
    ck_assert_ptr_null(find(&cut, 1, "table"));
    const MwGraph *first = graph_of(&cut, 0), *last = graph_of(&cut, 2);
    for (int k = 0; k < 2; k++)
        ck_assert_str_eq(mw_value(first, find(&cut, 0, "grad.table")->operands[k])->name,
                         mw_value(last, find(&cut, 2, "grad.table")->operands[k])->name);
    ck_assert_int_eq(crossings(&cut, "table.new", MW_PHASE_UPDATE), 0);
    int terms = 0;
    for (int i = 0; i < cut.compilation.crossing_count; i++) {
        const MwCrossing *crossing = &cut.compilation.crossings[i];
        if (crossing->tensor.rank != 2) /* only the table and what is like it has two dimensions */
            continue;
        ck_assert_int_eq(crossing->phase, MW_PHASE_UPDATE);
        terms++;
    }
    ck_assert_int_eq(terms, 2);
    mw_arena_free(&cut.arena);
}
END_TEST

/* A state that no step changes is kept by each stage that uses it, another by one stage. */
START_TEST(states_that_stay_are_kept_by_all)
{
    Cut cut;
    split_text(&cut,
               "model m {\n"
               "  input x: f32[8, 16]\n"
               "  state frozen: f32[16, 16] = normal(0.2) with layer = 0\n"
               "  state moved: f32[16] = zeros with layer = 0\n"
               "  weight w: f32[16, 16] = normal(0.2) with layer = 0\n"
               "  h = tanh((x + moved) @ frozen @ w) with layer = 0\n"
               "  y = (h + moved) @ frozen with layer = 1\n"
               "  loss = mean(y * y) with layer = 1\n"
               "  assign moved = moved + 1\n"
               "  train loss with sgd(lr = 0.1)\n"
               "}\n",
               (MwCompileOptions){.stages = 2, .micro_batches = micro_batches[_i]});
    check_transfers(&cut);
    for (int stage = 0; stage < 2; stage++) {
        ck_assert(is_op(find(&cut, stage, "frozen"), MW_OP_STATE));
        ck_assert(is_op(find(&cut, stage, "moved"), stage ? MW_OP_RECEIVE : MW_OP_STATE));
    }
    ck_assert_int_eq(crossings(&cut, "frozen", MW_PHASE_FORWARD), 0);
    mw_arena_free(&cut.arena);
}
END_TEST

START_TEST(what_is_light_is_made_where_it_is_used)
{
    Cut cut;
    split(&cut, (MwCompileOptions){.stages = 3, .micro_batches = micro_batches[_i]});
    for (int stage = 0; stage < 3; stage++) {
        ck_assert(is_op(find(&cut, stage, "scale"), MW_OP_WEIGHT));
        ck_assert(is_op(find(&cut, stage, "s"), MW_OP_CAST));
        ck_assert(is_op(find(&cut, stage, "scale.new"), MW_OP_ADAMW));
    }
    for (int i = 0; i < cut.compilation.crossing_count; i++) {
        const char *name = cut.compilation.crossings[i].name;
        ck_assert_str_ne(name, "s");
        ck_assert_str_ne(name, "seen");
        ck_assert_str_ne(name, "step");
        ck_assert_str_ne(name, "learning_rate");
    }
    mw_arena_free(&cut.arena);
}
END_TEST

/* Outputs and the loss leave one stage; a stage has the inputs that it uses. */
START_TEST(what_leaves_leaves_once)
{
    Cut cut;
    split(&cut, (MwCompileOptions){.stages = 3, .micro_batches = micro_batches[_i]});
    ck_assert_int_eq(graph_of(&cut, 0)->outputs.count, 0);
    ck_assert_str_eq(graph_of(&cut, 1)->outputs.at[0].name, "h");
    ck_assert_str_eq(graph_of(&cut, 2)->outputs.at[0].name, "logits");
    for (int stage = 0; stage < 3; stage++) {
        ck_assert_int_eq(graph_of(&cut, stage)->metrics.count, stage == 2);
        ck_assert_int_eq(is_op(find(&cut, stage, "targets"), MW_OP_INPUT), stage == 2);
    }
    for (int stage = 0; stage < 3; stage++) /* the last for what it alone makes of it */
        ck_assert_int_eq(is_op(find(&cut, stage, "tokens"), MW_OP_INPUT), stage != 1);
    mw_arena_free(&cut.arena);
}
END_TEST

/* With two meshes and two stages on each, x goes from stage 0 to 2 by way of 1. */
START_TEST(stages_of_one_mesh_pass_on_by_another)
{
    Cut cut;
    split(&cut, (MwCompileOptions){.stages = 2,
                                   .chunks = 2,
                                   .has_schedule = true,
                                   .schedule = MW_PIPELINE_INTERLEAVED,
                                   .micro_batches = micro_batches[_i]});
    check_transfers(&cut);
    mw_arena_free(&cut.arena);
}
END_TEST

/* What would be made wherever it is used, but is pinned to a stage: of inputs, of weights, of
 * constants, and what uses a weight first that is pinned. */
static const char pinned_model[] = "model m {\n"
                                   "  input x: f32[8, 16]\n"
                                   "  weight a: f32[16, 16] = normal(0.2)\n"
                                   "  weight b: f32[16, 16] = normal(0.2) with stage = 0\n"
                                   "  weight c: f32[16, 16] = normal(0.2)\n"
                                   "  mask = cast(x > 0, f32) with stage = 0\n"
                                   "  half = a * 0.5 with stage = 0\n"
                                   "  turned = transpose(b, perm = [1, 0])\n"
                                   "  ramp = sqrt(iota([16], type = f32)) with stage = 0\n"
                                   "  h = x @ c with spec = [S0, R], stage = 0\n"
                                   "  there = identity(h) with spec = [R, S0], stage = 1\n"
                                   "  y = (there @ half + mask) @ turned + ramp with stage = 1\n"
                                   "  output y\n"
                                   "  train sum(y) with sgd(lr = 0.1)\n"
                                   "}\n";

START_TEST(what_is_pinned_to_a_stage_runs_there_alone)
{
    static const struct {
        const char *name;
        MwOp op;
    } pinned[] = {{"mask", MW_OP_CAST},
                  {"half", MW_OP_MUL},
                  {"turned", MW_OP_TRANSPOSE},
                  {"ramp", MW_OP_SQRT}};
    Cut cut;
    split_text(&cut, pinned_model,
               (MwCompileOptions){.stages = 2, .micro_batches = micro_batches[_i]});
    for (int i = 0; i < MW_COUNT(pinned); i++) {
        ck_assert_msg(is_op(find(&cut, 0, pinned[i].name), pinned[i].op), "%s", pinned[i].name);
        ck_assert_msg(is_op(find(&cut, 1, pinned[i].name), MW_OP_RECEIVE), "%s", pinned[i].name);
        ck_assert_int_eq(crossings(&cut, pinned[i].name, MW_PHASE_FORWARD), 1);
    }
    ck_assert_ptr_null(find(&cut, 1, "a"));
    ck_assert_ptr_null(find(&cut, 1, "x"));
    check_transfers(&cut);
    mw_arena_free(&cut.arena);
}
END_TEST

static int spec_pins(const MwGraph *graph, const MwNode *node)
{
    int count = 0;
    for (int i = 0; i < graph->pins.count; i++)
        count += graph->pins.at[i].has_spec && graph->pins.at[i].value.index == node->first_result;
    return count;
}

/* Where a value is received, it may lie otherwise. */
START_TEST(a_pinned_spec_is_that_of_the_stage_that_makes_the_value)
{
    Cut cut;
    split_text(&cut, pinned_model,
               (MwCompileOptions){.stages = 2, .micro_batches = micro_batches[_i]});
    ck_assert_int_eq(spec_pins(graph_of(&cut, 0), find(&cut, 0, "h")), 1);
    ck_assert_int_eq(spec_pins(graph_of(&cut, 1), find(&cut, 1, "h")), 0);
    ck_assert_int_eq(spec_pins(graph_of(&cut, 1), find(&cut, 1, "there")), 1);
    mw_arena_free(&cut.arena);
}
END_TEST

START_TEST(one_stage_is_the_model)
{
    Cut cut;
    split(&cut, (MwCompileOptions){.stages = 1, .micro_batches = micro_batches[_i]});
    ck_assert_ptr_eq(graph_of(&cut, 0), cut.compilation.graph);
    ck_assert_int_eq(cut.compilation.crossing_count, 0);
    mw_arena_free(&cut.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("split");
    TCase *tests = tcase_create("split");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, every_transfer_has_two_ends, 0, MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, activations_and_their_gradients_cross_each_micro_batch, 0,
                        MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, shared_weights_take_one_step, 0, MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, states_that_stay_are_kept_by_all, 0, MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, what_is_light_is_made_where_it_is_used, 0, MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, what_leaves_leaves_once, 0, MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, stages_of_one_mesh_pass_on_by_another, 0, MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, what_is_pinned_to_a_stage_runs_there_alone, 0,
                        MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, a_pinned_spec_is_that_of_the_stage_that_makes_the_value, 0,
                        MW_COUNT(micro_batches));
    tcase_add_loop_test(tests, one_stage_is_the_model, 0, MW_COUNT(micro_batches));
    return run_suite(suite);
}
