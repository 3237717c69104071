/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The known forms of parallelism are points of the space of strategies: where the costs favour one
 * of them, the optimum is it, though no line of the compiler names it. Each test makes such costs
 * and reads the plan off the report. */
#include "frontend/cluster/cluster.h"
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "passes/sharding/report.h"
#include "tests/unit/clusters.h"
#include "tests/unit/support.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwCluster cluster;
    MwCompilation compilation;
} Form;

static Form form_new(MwCluster cluster, const char *mesh)
{
    MwArena *arena = mw_arena_new();
    Form form = {.arena = arena, .diags = mw_diags_new(arena), .cluster = cluster};
    form.compilation.arena = arena;
    ck_assert(mw_mesh_parse(mesh, &form.compilation.options.mesh));
    form.compilation.options.stages = 1;
    return form;
}

static void plan(Form *form, MwGraph *graph)
{
    form->compilation.cluster = &form->cluster;
    form->compilation.graph = graph;
    MwPipelineOptions pipeline = {.stop_after = MW_PASS_partition, .dump_after = MW_PASS_COUNT};
    bool ok = graph && mw_pipeline_run(&form->compilation, &pipeline, form->diags);
    mw_diags_print(form->diags, stderr);
    ck_assert(ok);
    const MwSharding *sharding = form->compilation.stages[0].sharding;
    /* Where memory binds, the bound is that of a problem that does not see the copies resharding
     * makes: a hundredth may be missing there. */
    ck_assert_double_ge(sharding->lower_bound_s, 0.99 * sharding->objective_s);
}

static const char GPT[] = SOURCE_ROOT "/models/gpt.graph";
static const char BERT[] = SOURCE_ROOT "/models/bert.graph";

static void plan_text(Form *form, const char *text)
{
    static MwSource source = {.name = "test.graph"};
    source.text = text;
    source.bytes = strlen(text);
    plan(form,
         mw_graph_parse(form->arena, mw_interner_new(form->arena), &source, NULL, 0, form->diags));
}

static void plan_model(Form *form, const char *path, MwType precision, const MwDefine *defines)
{
    int count = 0;
    while (defines[count].name)
        count++;
    MwGraph *graph =
        mw_graph_load(form->arena, mw_interner_new(form->arena), path, defines, count, form->diags);
    ck_assert_ptr_nonnull(graph);
    graph->precision = precision;
    plan(form, graph);
}

static void plan_gpt(Form *form, const MwDefine *defines)
{
    plan_model(form, GPT, MW_F32, defines);
}

static const MwReportNode *node_of(const Form *form, const char *name)
{
    const MwGraph *graph = form->compilation.stages[0].graph;
    MwValueId value = mw_graph_find(graph, mw_intern(graph->interner, name));
    ck_assert_msg(mw_has_value(value), "no value %s", name);
    int index = form->compilation.stages[0].report->index[mw_value(graph, value)->node.index];
    return &form->compilation.stages[0].report->nodes[index];
}

static void check_spec(const Form *form, const char *name, const char *wanted)
{
    const MwReportNode *node = node_of(form, name);
    char text[MW_SPEC_TEXT_BYTES];
    ck_assert_msg(strcmp(mw_spec_text(node->spec, node->rank, text), wanted) == 0,
                  "%s is %s, not %s", name, text, wanted);
}

/* As node `name` takes its operand `k`. */
static void check_operand(const Form *form, const char *name, int k, const char *wanted)
{
    const MwReportOperand *operand = &node_of(form, name)->operands[k];
    char text[MW_SPEC_TEXT_BYTES];
    ck_assert_msg(strcmp(mw_spec_text(operand->spec, operand->rank, text), wanted) == 0,
                  "%s takes operand %d as %s, not %s", name, k, text, wanted);
}

/* Collectives of `kind` along `axis` in the phase, on at least `bytes`. */
static int count_collectives(const Form *form, MwPhase phase, MwCollective kind, int axis,
                             int64_t bytes)
{
    const MwReport *report = form->compilation.stages[0].report;
    int count = 0;
    for (int i = 0; i < report->count; i++) {
        const MwReportNode *node = &report->nodes[i];
        for (int k = 0; k < node->collective_count; k++)
            count += mw_node(form->compilation.stages[0].graph, node->node)->phase == phase &&
                     node->collectives[k].kind == kind && node->collectives[k].axis == axis &&
                     node->collectives[k].bytes >= bytes;
    }
    return count;
}

static void check_collectives(const Form *form, MwPhase phase, int axis, int64_t bytes,
                              const int counts[MW_COLLECTIVE_COUNT])
{
    for (int kind = 0; kind < MW_COLLECTIVE_COUNT; kind++) {
        int count = count_collectives(form, phase, (MwCollective)kind, axis, bytes);
        ck_assert_msg(count == counts[kind], "%d %s in phase %d, not %d", count,
                      mw_collective_name((MwCollective)kind), phase, counts[kind]);
    }
}

#define COUNTS(all_reduce, all_gather, reduce_scatter, all_to_all)                                 \
    ((int[MW_COLLECTIVE_COUNT]){[MW_ALL_REDUCE] = all_reduce,                                      \
                                [MW_ALL_GATHER] = all_gather,                                      \
                                [MW_REDUCE_SCATTER] = reduce_scatter,                              \
                                [MW_ALL_TO_ALL] = all_to_all})

/* ---- Data parallel ---- */

/* Sizes of weights that do not divide leave one all_reduce for each gradient. */
static const char wide_batch[] = "size batch = 65536\n"
                                 "model m {\n"
                                 "  input x: f32[batch, 65]\n"
                                 "  input y: f32[batch, 69]\n"
                                 "  weight w1: f32[65, 67] = normal(0.1)\n"
                                 "  weight w2: f32[67, 69] = normal(0.1)\n"
                                 "  d = tanh(x @ w1) @ w2 - y\n"
                                 "  loss = sum(d * d)\n"
                                 "  train loss with sgd(lr = 0.1)\n"
                                 "}\n";

START_TEST(a_wide_batch_is_split)
{
    Form form = form_new(test_cluster(4), "4");
    plan_text(&form, wide_batch);
    check_spec(&form, "x", "[S0, R]");
    check_spec(&form, "d", "[S0, R]");
    check_spec(&form, "w1", "[R, R]");
    check_spec(&form, "w2", "[R, R]");
    check_spec(&form, "grad.w1", "[R, R] +P0");
    check_collectives(&form, MW_PHASE_FORWARD, 0, 0, COUNTS(1, 0, 0, 0)); /* the loss */
    check_collectives(&form, MW_PHASE_BACKWARD, 0, 0, COUNTS(0, 0, 0, 0));
    check_collectives(&form, MW_PHASE_UPDATE, 0, 0, COUNTS(2, 0, 0, 0));
    mw_arena_free(&form.arena);
}
END_TEST

/* Gradients stay partial over micro-batches and are synchronised once a step. */
START_TEST(gradients_accumulate_partial)
{
    Form form = form_new(test_cluster(4), "4");
    form.compilation.options.micro_batches = 8;
    plan_text(&form, wide_batch);
    check_spec(&form, "grad.w1.so_far", "[R, R] +P0");
    check_spec(&form, "grad.w1.total", "[R, R] +P0");
    check_collectives(&form, MW_PHASE_BACKWARD, 0, 0, COUNTS(0, 0, 0, 0));
    check_collectives(&form, MW_PHASE_UPDATE, 0, 1024, COUNTS(2, 0, 0, 0));
    mw_arena_free(&form.arena);
}
END_TEST

/* ---- ZeRO ---- */

static const char optimizer_heavy[] = "model m {\n"
                                      "  input x: f32[4096, 1024]\n"
                                      "  input y: f32[4096, 1024]\n"
                                      "  weight w1: f32[1024, 1024] = normal(0.1)\n"
                                      "  weight w2: f32[1024, 1024] = normal(0.1)\n"
                                      "  weight w3: f32[1024, 1024] = normal(0.1)\n"
                                      "  d = tanh(tanh(x @ w1) @ w2) @ w3 - y\n"
                                      "  loss = sum(d * d)\n"
                                      "  train loss with adamw(lr = 0.1)\n"
                                      "}\n";

static const int64_t WEIGHT_BYTES = 4 << 20;

/* The batch is split; gradients are reduce-scattered, each device updates its part of weights and
 * states, and the new weights are gathered. */
START_TEST(optimizer_state_is_split)
{
    Form form = form_new(test_cluster(4), "4");
    plan_text(&form, optimizer_heavy);
    check_spec(&form, "d", "[S0, R]");
    check_spec(&form, "w2", "[R, R]");
    check_spec(&form, "grad.w2", "[R, R] +P0");
    check_spec(&form, "w2.m", "[S0, R]");
    check_spec(&form, "w2.v", "[S0, R]");
    check_operand(&form, "w2.new", 1, "[S0, R]");
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_UPDATE, MW_REDUCE_SCATTER, 0, WEIGHT_BYTES),
                     3);
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_UPDATE, MW_ALL_REDUCE, 0, WEIGHT_BYTES), 0);
    mw_arena_free(&form.arena);
}
END_TEST

/* With too little memory for whole weights they are stored split, and gathered for forward and
 * again for backward. */
START_TEST(little_memory_splits_the_weights)
{
    Form roomy = form_new(test_cluster(4), "4"), tight = form_new(test_cluster(4), "4");
    plan_text(&roomy, optimizer_heavy);
    tight.compilation.options.memory_bytes =
        roomy.compilation.stages[0].sharding->peak_bytes * 9 / 10;
    tight.compilation.options.micro_batches = 1;
    tight.compilation.options.remat = MW_REMAT_NONE;
    plan_text(&tight, optimizer_heavy);
    ck_assert_int_le(tight.compilation.stages[0].sharding->peak_bytes,
                     tight.compilation.options.memory_bytes);
    ck_assert_double_ge(tight.compilation.stages[0].sharding->objective_s,
                        roomy.compilation.stages[0].sharding->objective_s);
    check_spec(&tight, "d", "[S0, R]");
    check_spec(&tight, "w2", "[S0, R]");
    check_spec(&tight, "w3", "[S0, R]");
    ck_assert_int_ge(count_collectives(&tight, MW_PHASE_FORWARD, MW_ALL_GATHER, 0, WEIGHT_BYTES),
                     2);
    ck_assert_int_ge(count_collectives(&tight, MW_PHASE_BACKWARD, MW_ALL_GATHER, 0, WEIGHT_BYTES),
                     1);
    mw_arena_free(&roomy.arena);
    mw_arena_free(&tight.arena);
}
END_TEST

/* ---- Tensor, vocabulary, sequence and context parallel ---- */

/* Few tokens, large weights: columns, then rows, one all_reduce after each attention and mlp
 * forward and one before each backward. */
START_TEST(large_weights_are_split_by_columns_then_rows)
{
    Form form = form_new(test_cluster(4), "4");
    plan_gpt(&form, (MwDefine[]){{"layers", "2"},
                                 {"batch", "1"},
                                 {"seq", "6"},
                                 {"width", "1024"},
                                 {"heads", "4"},
                                 {"vocab", "1024"},
                                 {0}});
    check_spec(&form, "layers.1.attention.wqkv", "[R, R, S0, R]");
    check_spec(&form, "layers.1.attention.wo", "[S0, R, R]");
    check_spec(&form, "layers.1.mlp.w1", "[R, S0]");
    check_spec(&form, "layers.1.mlp.b1", "[S0]");
    check_spec(&form, "layers.1.mlp.gelu", "[R, R, S0]");
    check_spec(&form, "layers.1.mlp.w2", "[S0, R]");
    check_spec(&form, "layers.1.mlp.w2.m", "[S0, R]");
    check_spec(&form, "wte", "[S0, R]");
    int64_t activation_bytes = 6 * 1024 * 4;
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_FORWARD, MW_ALL_REDUCE, 0, activation_bytes),
                     1 + 2 * 2);
    ck_assert_int_eq(
        count_collectives(&form, MW_PHASE_BACKWARD, MW_ALL_REDUCE, 0, activation_bytes), 1 + 2 * 2);
    check_collectives(&form, MW_PHASE_UPDATE, 0, 0, COUNTS(0, 0, 0, 0));
    mw_arena_free(&form.arena);
}
END_TEST

/* A vocabulary that outweighs the rest: logits stay split, the log-sum-exp and the picked logit are
 * completed as scalars per token. */
START_TEST(a_large_vocabulary_is_split)
{
    Form form = form_new(test_cluster(4), "4");
    plan_gpt(&form, (MwDefine[]){{"layers", "1"},
                                 {"batch", "2"},
                                 {"seq", "512"},
                                 {"width", "512"},
                                 {"heads", "4"},
                                 {"vocab", "32768"},
                                 {0}});
    check_spec(&form, "wte", "[S0, R]");
    check_spec(&form, "embedding", "[R, R, R] +P0");
    check_spec(&form, "logits", "[R, R, S0]");
    check_spec(&form, "logsumexp", "[R, R] +L0");
    check_spec(&form, "pick", "[R, R] +P0");
    check_spec(&form, "grad.logits", "[R, R, S0]");
    mw_arena_free(&form.arena);
}
END_TEST

/* Enough tokens to make work on rows dear: between the products the sequence is split, and the
 * all_reduces become reduce_scatter and all_gather. */
START_TEST(rows_between_products_are_split)
{
    Form form = form_new(test_cluster(4), "4");
    plan_gpt(&form, (MwDefine[]){{"layers", "1"},
                                 {"batch", "1"},
                                 {"seq", "1024"},
                                 {"width", "1024"},
                                 {"heads", "4"},
                                 {"vocab", "4096"},
                                 {0}});
    check_spec(&form, "layers.0.mlp.w1", "[R, S0]");
    check_spec(&form, "layers.0.mlp.w2", "[S0, R]");
    check_spec(&form, "layers.0.norm.layer_norm", "[R, S0, R]");
    check_spec(&form, "layers.0.x", "[R, S0, R]");
    check_spec(&form, "layers.0.mlp.einsum.1", "[R, R, R] +P0");
    int64_t activation_bytes = 1024 * 1024 * 4;
    check_collectives(&form, MW_PHASE_FORWARD, 0, activation_bytes, COUNTS(0, 3, 3, 0));
    mw_arena_free(&form.arena);
}
END_TEST

/* One long sequence, little else: everything is split along it, but for keys and values. */
START_TEST(a_long_sequence_is_split)
{
    Form form = form_new(test_cluster(4), "4");
    plan_gpt(&form, (MwDefine[]){{"layers", "1"},
                                 {"batch", "1"},
                                 {"seq", "8192"},
                                 {"width", "64"},
                                 {"heads", "1"},
                                 {"vocab", "64"},
                                 {0}});
    check_spec(&form, "layers.0.attention.sdpa.0", "[R, S0, R, R]");
    check_operand(&form, "layers.0.attention.sdpa.0", 0, "[R, S0, R, R]");
    check_operand(&form, "layers.0.attention.sdpa.0", 1, "[R, R, R, R]");
    check_operand(&form, "layers.0.attention.sdpa.0", 2, "[R, R, R, R]");
    check_spec(&form, "layers.0.mlp.gelu", "[R, S0, R]");
    check_spec(&form, "layers.0.mlp.w1", "[R, R]");
    mw_arena_free(&form.arena);
}
END_TEST

/* Plans a layer of a model in bf16 on four DGX A100, with a mesh axis across them. */
static Form plan_on_nodes(MwArena *arena, const char *path, const char *seq,
                          const char *const *pins, int pin_count)
{
    MwDiags *diags = mw_diags_new(arena);
    const MwCluster *cluster =
        mw_cluster_load(arena, SOURCE_ROOT "/clusters/dgx-a100-4.cluster", diags);
    mw_diags_print(diags, stderr);
    ck_assert_ptr_nonnull(cluster);
    Form form = form_new(*cluster, "4x8");
    form.compilation.options.micro_batches = 1;
    form.compilation.options.pins = pins;
    form.compilation.options.pin_count = pin_count;
    plan_model(&form, path, MW_BF16,
               (MwDefine[]){{"layers", "1"},
                            {"batch", "1"},
                            {"seq", seq},
                            {"width", "1024"},
                            {"heads", "8"},
                            {"vocab", "512"},
                            {0}});
    return form;
}

static const char *const not_in_rings[] = {"layers.*.attention.sdpa.0=no ring",
                                           "grad.layers.*.attention.q=no ring"};

/* Nodes that share a long sequence, each with all heads of a part of it: keys and values go round
 * the nodes, and their way is hidden, which is worth the work of combining. */
START_TEST(keys_of_a_long_sequence_go_round_the_nodes)
{
    MwArena *arena = mw_arena_new();
    Form form = plan_on_nodes(arena, BERT, "65536", NULL, 0);
    Form other = plan_on_nodes(arena, BERT, "65536", not_in_rings, MW_COUNT(not_in_rings));
    const char *const nodes[] = {"layers.0.attention.sdpa.0", "grad.layers.0.attention.q"};
    for (int i = 0; i < MW_COUNT(nodes); i++)
        for (int k = 0; k < 3; k++)
            check_operand(&form, nodes[i], k, "[R, S0, S1, R]");
    check_spec(&form, nodes[0], "[R, S0, S1, R]");
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_FORWARD, MW_RING_SHIFT, 0, 0), 2 * 3);
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_BACKWARD, MW_RING_SHIFT, 0, 0),
                     2 * 3 + 2 * 4);
    for (int k = 0; k < node_of(&form, nodes[0])->collective_count; k++)
        ck_assert_double_eq(node_of(&form, nodes[0])->collectives[k].time_s, 0);
    check_operand(&other, nodes[0], 1, "[R, R, S1, R]");
    ck_assert_double_lt(form.compilation.stages[0].sharding->objective_s,
                        other.compilation.stages[0].sharding->objective_s);
    mw_arena_free(&form.arena);
    mw_arena_free(&other.arena);
    mw_arena_free(&arena);
}
END_TEST

static const char *const in_rings[] = {"layers.*.attention.sdpa.0=ring",
                                       "grad.layers.*.attention.q=ring"};

/* Where a mask is causal, keys and values are gathered, and nodes have an early and a late half of
 * queries each, so that they have equal work, which is more than a ring hides. Backward, the
 * outputs, their log-sum-exp and gradient go along with the queries. */
START_TEST(queries_of_a_long_causal_sequence_are_mirrored)
{
    MwArena *arena = mw_arena_new();
    Form form = plan_on_nodes(arena, GPT, "65536", NULL, 0);
    Form rings = plan_on_nodes(arena, GPT, "65536", in_rings, MW_COUNT(in_rings));
    const int64_t half = (int64_t)65536 / 4 / 2;
    check_spec(&form, "layers.0.attention.sdpa.0", "[R, S0, S1, R]");
    check_operand(&form, "layers.0.attention.sdpa.0", 0, "[R, S0, S1, R]");
    check_operand(&form, "layers.0.attention.sdpa.0", 1, "[R, R, S1, R]");
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_FORWARD, MW_MIRROR, 0, 0), 3);
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_FORWARD, MW_MIRROR, 0, half * 128 * 2), 2);
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_BACKWARD, MW_MIRROR, 0, 0), 5);
    ck_assert_int_eq(count_collectives(&form, MW_PHASE_BACKWARD, MW_MIRROR, 0, half * 128 * 2), 4);
    ck_assert_double_lt(1.2 * form.compilation.stages[0].sharding->objective_s,
                        rings.compilation.stages[0].sharding->objective_s);
    mw_arena_free(&form.arena);
    mw_arena_free(&rings.arena);
    mw_arena_free(&arena);
}
END_TEST

/* In a shorter one the combining takes longer than the keys to all nodes. */
START_TEST(keys_of_a_shorter_sequence_are_gathered)
{
    MwArena *arena = mw_arena_new();
    Form form = plan_on_nodes(arena, BERT, "16384", NULL, 0);
    for (int phase = MW_PHASE_FORWARD; phase <= MW_PHASE_BACKWARD; phase++)
        for (int axis = 0; axis < 2; axis++)
            ck_assert_int_eq(count_collectives(&form, phase, MW_RING_SHIFT, axis, 0), 0);
    mw_arena_free(&form.arena);
    mw_arena_free(&arena);
}
END_TEST

static const char long_attention[] = "model m {\n"
                                     "  input x: f32[1, 16384, 1, 64]\n"
                                     "  weight wq: f32[64, 64] = normal(0.1)\n"
                                     "  weight wk: f32[64, 64] = normal(0.1)\n"
                                     "  weight wv: f32[64, 64] = normal(0.1)\n"
                                     "  q = x @ wq\n"
                                     "  o = sdpa(q, x @ wk, x @ wv)\n"
                                     "  loss = sum(o * o)\n"
                                     "  train loss with sgd(lr = 0.1)\n"
                                     "}\n";

/* Where shifts run by themselves a ring takes longer than gathering, but where there is no memory
 * for all keys, there is for blocks of them. */
START_TEST(keys_that_do_not_fit_go_round)
{
    Form roomy = form_new(test_cluster(4), "4"), tight = form_new(test_cluster(4), "4");
    plan_text(&roomy, long_attention);
    check_operand(&roomy, "grad.q", 1, "[R, R, R, R]");
    tight.compilation.options.memory_bytes =
        roomy.compilation.stages[0].sharding->peak_bytes * 4 / 5;
    tight.compilation.options.micro_batches = 1;
    tight.compilation.options.remat = MW_REMAT_NONE;
    plan_text(&tight, long_attention);
    check_spec(&tight, "grad.q", "[R, S0, R, R]");
    check_operand(&tight, "grad.q", 1, "[R, S0, R, R]"); /* the most is live there */
    ck_assert_int_le(tight.compilation.stages[0].sharding->peak_bytes,
                     tight.compilation.options.memory_bytes);
    ck_assert_double_gt(tight.compilation.stages[0].sharding->objective_s,
                        roomy.compilation.stages[0].sharding->objective_s);
    mw_arena_free(&roomy.arena);
    mw_arena_free(&tight.arena);
}
END_TEST

/* A few queries read a long sequence (Jaegle et al., Perceiver, 2021): its keys and values stay
 * where they are, and what moves is what they give the queries. */
static const char long_memory[] = "model m {\n"
                                  "  input x: f32[1, 16384, 64]\n"
                                  "  input y: f32[1, 16, 1, 64]\n"
                                  "  weight q: f32[1, 16, 1, 64] = normal(0.1)\n"
                                  "  weight wk: f32[64, 1, 64] = normal(0.1)\n"
                                  "  weight wv: f32[64, 1, 64] = normal(0.1)\n"
                                  "  k = einsum(\"bsw,whd->bshd\", x, wk)\n"
                                  "  v = einsum(\"bsw,whd->bshd\", x, wv)\n"
                                  "  o, lse = sdpa(q, k, v)\n"
                                  "  loss = mse(o, y)\n"
                                  "  train loss with sgd(lr = 0.1)\n"
                                  "}\n";

START_TEST(a_long_memory_stays_split)
{
    Form form = form_new(test_cluster(4), "4");
    plan_text(&form, long_memory);
    check_spec(&form, "k", "[R, S0, R, R]");
    check_operand(&form, "o", 1, "[R, S0, R, R]");
    check_operand(&form, "o", 2, "[R, S0, R, R]");
    check_spec(&form, "o", "[R, R, R, R] +P0");
    check_spec(&form, "grad.q", "[R, R, R, R] +P0");
    /* the log-sum-exps, and the sum of what they weigh */
    check_collectives(&form, MW_PHASE_FORWARD, 0, 16 * 4, COUNTS(2, 0, 0, 0));
    check_collectives(&form, MW_PHASE_BACKWARD, 0, 0, COUNTS(1, 0, 0, 0)); /* the sum again */
    mw_arena_free(&form.arena);
}
END_TEST

/* ---- Flat tokens ---- */

/* Two sequences on four devices: each device has half of one, and of the tokens as one list the
 * quarter that they are. */
static const char flat_tokens[] = "model m {\n"
                                  "  input x: f32[2, 16384, 64]\n"
                                  "  input y: f32[2, 16384, 64]\n"
                                  "  weight w: f32[64, 64] = normal(0.1)\n"
                                  "  tokens = reshape(layer_norm(x), [32768, 64])\n"
                                  "  hidden = tanh(tokens @ w)\n"
                                  "  d = softmax(reshape(hidden, [2, 16384, 64])) - y\n"
                                  "  loss = sum(d * d)\n"
                                  "  train loss with sgd(lr = 0.1)\n"
                                  "}\n";

START_TEST(flat_tokens_stay_where_they_are)
{
    Form form = form_new(test_cluster(4), "2x2");
    plan_text(&form, flat_tokens);
    check_spec(&form, "x", "[S0, S1, R]");
    check_operand(&form, "tokens", 0, "[S0, S1, R]");
    check_spec(&form, "tokens", "[S01, R]");
    check_spec(&form, "hidden", "[S01, R]");
    check_spec(&form, "d", "[S0, S1, R]");
    for (int axis = 0; axis < 2; axis++) {
        check_collectives(&form, MW_PHASE_FORWARD, axis, 64, COUNTS(0, 0, 0, 0));
        check_collectives(&form, MW_PHASE_BACKWARD, axis, 0, COUNTS(0, 0, 0, 0));
    }
    mw_arena_free(&form.arena);
}
END_TEST

/* ---- A mix ---- */

/* Two nodes with a slow network: data parallel across them, tensor parallel within. */
START_TEST(slow_links_carry_gradients_fast_ones_activations)
{
    Form form = form_new(test_cluster_of_nodes(2, 2), "2x2");
    plan_gpt(&form, (MwDefine[]){{"layers", "1"},
                                 {"batch", "32"},
                                 {"seq", "512"},
                                 {"width", "2048"},
                                 {"heads", "4"},
                                 {"vocab", "512"},
                                 {0}});
    check_spec(&form, "layers.0.mlp.gelu", "[S0, R, S1]");
    check_operand(&form, "layers.0.mlp.einsum", 1, "[R, S1]");
    check_spec(&form, "layers.0.mlp.einsum.1", "[S0, R, R] +P1");
    check_spec(&form, "grad.layers.0.mlp.w1", "[R, S1] +P0");
    for (int phase = MW_PHASE_FORWARD; phase <= MW_PHASE_BACKWARD; phase++) {
        ck_assert_int_eq(count_collectives(&form, phase, MW_ALL_REDUCE, 0, 1 << 20), 0);
        ck_assert_int_eq(count_collectives(&form, phase, MW_REDUCE_SCATTER, 0, 1 << 20), 0);
    }
    mw_arena_free(&form.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("forms");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 100);
    tcase_add_test(tests, a_wide_batch_is_split);
    tcase_add_test(tests, gradients_accumulate_partial);
    tcase_add_test(tests, optimizer_state_is_split);
    tcase_add_test(tests, little_memory_splits_the_weights);
    tcase_add_test(tests, large_weights_are_split_by_columns_then_rows);
    tcase_add_test(tests, a_large_vocabulary_is_split);
    tcase_add_test(tests, rows_between_products_are_split);
    tcase_add_test(tests, a_long_sequence_is_split);
    tcase_add_test(tests, keys_of_a_long_sequence_go_round_the_nodes);
    tcase_add_test(tests, keys_that_do_not_fit_go_round);
    tcase_add_test(tests, queries_of_a_long_causal_sequence_are_mirrored);
    tcase_add_test(tests, keys_of_a_shorter_sequence_are_gathered);
    tcase_add_test(tests, a_long_memory_stays_split);
    tcase_add_test(tests, flat_tokens_stay_where_they_are);
    tcase_add_test(tests, slow_links_carry_gradients_fast_ones_activations);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
