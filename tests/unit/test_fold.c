/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folded models: what the search learns of one is what it learns of the whole model, from a number
 * of nodes that does not grow with the number of equal layers. */
#include "frontend/frontend.h"
#include "ir/verify.h"
#include "passes/graph/layers.h"
#include "passes/pass.h"
#include "passes/stages/model.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwCluster cluster;
    MwCompilation compilation;
} Case;

/* A model before the pass `stages`, of which the size `layers` is as given. */
static void prepare(Case *c, const char *text, int layers)
{
    static const MwPipelineOptions pipeline = {.stop_after = MW_PASS_pad,
                                               .dump_after = MW_PASS_COUNT};
    *c = (Case){.arena = mw_arena_new(), .cluster = test_cluster(2)};
    c->diags = mw_diags_new(c->arena);
    MwSource *source = MW_NEW(c->arena, MwSource, 1);
    const char *all = mw_arena_printf(c->arena, "size layers = %d\n%s", layers, text);
    *source = (MwSource){.name = "case.graph", .text = all, .bytes = strlen(all)};
    c->compilation = (MwCompilation){.arena = c->arena, .cluster = &c->cluster};
    c->compilation.graph =
        mw_graph_parse(c->arena, mw_interner_new(c->arena), source, NULL, 0, c->diags);
    ck_assert_msg(c->compilation.graph != NULL, "%s", diags_text(c->arena, c->diags));
    ck_assert_msg(mw_pipeline_run(&c->compilation, &pipeline, c->diags), "%s",
                  diags_text(c->arena, c->diags));
}

static MwLayerFold fold_of(Case *c)
{
    return mw_layer_fold(c->arena, c->compilation.graph, mw_layer_count(c->compilation.graph));
}

#define HEAD                                                                                       \
    "model m {\n"                                                                                  \
    "  input x: f32[8, 64]\n"                                                                      \
    "  h = x\n"
#define LAYER                                                                                      \
    "    weight w: f32[64, 64] = normal(0.1)\n"                                                    \
    "    h = relu(h @ w)\n"

static const struct {
    const char *name, *text;
    int gaps;
    int first; /* the first layer whose nodes are compared: sums over all layers are in one */
    int few;   /* too few layers for a gap; 0: 4 */
} models[] = {
    {"equal layers",
     HEAD "  repeat layers {\n" LAYER "  }\n  train mean(h * h) with adamw(lr = 0.01)\n}\n", 1},
    {"the norm of all gradients",
     HEAD "  repeat layers {\n" LAYER
          "  }\n  train mean(h * h) with adamw(lr = 0.01), clip_norm = 1.0\n}\n",
     1, 1},
    {"layers of two kinds in turn",
     HEAD "  repeat layers as l {\n" LAYER "    if l % 2 == 0 { h = layer_norm(tanh(h)) }\n"
          "  }\n  train mean(h * h) with sgd(lr = 0.01)\n}\n",
     1},
    {"two runs, of which the second takes the end of the first",
     HEAD "  repeat layers {\n" LAYER "  }\n  c = h\n  repeat layers {\n"
          "    weight v: f32[64, 64] = normal(0.1)\n    h = h + c @ v\n  }\n"
          "  train mean(h * h) with sgd(lr = 0.01)\n}\n",
     2},
    {"a weight that the first and the last layer have in common",
     HEAD "  weight e: f32[64, 64] = normal(0.1)\n  h = x @ e\n  repeat layers {\n" LAYER
          "  }\n  h = h @ e\n  train mean(h * h) with sgd(lr = 0.01)\n}\n",
     1},
    {"a sum that each layer adds to",
     HEAD "  s = mean(x * x)\n  repeat layers {\n" LAYER "    s = s + mean(h)\n"
          "  }\n  train mean(h * h) + s with sgd(lr = 0.01)\n}\n",
     1},
    {"a layer of which the end takes something",
     HEAD "  repeat layers as l {\n" LAYER "    if l == 5 { c = h }\n"
          "  }\n  h = h * c\n  train mean(h * h) with sgd(lr = 0.01)\n}\n",
     1, 0, 6},
};

/* Sums over all layers, in the update, may go without some. */
static void check_boundaries(const MwStageModel *folded, const MwStageModel *whole)
{
    for (int l = 0; l < whole->layer_count; l++)
        for (int phase = 0; phase < MW_PHASE_UPDATE; phase++) {
            const MwStageBoundary *a = &folded->boundaries[l][phase];
            const MwStageBoundary *b = &whole->boundaries[l][phase];
            ck_assert_int_eq(a->count, b->count);
            for (int i = 0; i < a->count; i++)
                ck_assert(mw_tensor_equal(&a->at[i], &b->at[i]));
        }
}

/* The nodes of an interval, one by one, but for their names. */
static void check_graph(const MwStageModel *folded, const MwStageModel *whole, int begin, int end)
{
    const MwGraph *a = mw_stage_model_graph(folded, begin, end, MW_LAYER_RECOMPUTES).graph;
    const MwGraph *b = mw_stage_model_graph(whole, begin, end, MW_LAYER_RECOMPUTES).graph;
    ck_assert_int_eq(a->nodes.count, b->nodes.count);
    for (int n = 0; n < a->nodes.count; n++) {
        ck_assert_int_eq(a->nodes.at[n].op, b->nodes.at[n].op);
        ck_assert_int_eq(a->nodes.at[n].phase, b->nodes.at[n].phase);
        ck_assert_int_eq(a->nodes.at[n].operand_count, b->nodes.at[n].operand_count);
        for (int k = 0; k < a->nodes.at[n].operand_count; k++)
            ck_assert_int_eq(a->nodes.at[n].operands[k].index, b->nodes.at[n].operands[k].index);
    }
}

/* The copies of a model, which nothing verifies while it is planned. */
static void check_verified(const MwStageModel *model, MwDiags *diags)
{
    for (MwRematLevel level = 0; level <= MW_LAYER_RECOMPUTES; level++)
        ck_assert(mw_graph_verify(model->lowered[level].graph, "remat", diags));
}

START_TEST(a_folded_model_says_what_the_whole_one_does)
{
    enum { LAYERS = 16, MICRO_BATCHES = 2 };
    Case c;
    prepare(&c, models[_i].text, LAYERS);
    const MwLayerFold fold = fold_of(&c);
    ck_assert_msg(fold.gaps.count == models[_i].gaps, "%s: %d gaps", models[_i].name,
                  fold.gaps.count);
    MwStageModel *folded = mw_stage_model_new(&c.compilation, &fold, MICRO_BATCHES, c.diags);
    MwStageModel *whole = mw_stage_model_new(&c.compilation, NULL, MICRO_BATCHES, c.diags);
    ck_assert(folded && whole);
    ck_assert(folded->fold == &fold);
    ck_assert_int_eq(folded->class_count, whole->class_count);
    for (int l = 0; l < whole->layer_count; l++) {
        ck_assert_int_eq(folded->layer_class[l], whole->layer_class[l]);
        if (l >= models[_i].first)
            ck_assert_int_eq(folded->layer_nodes[l], whole->layer_nodes[l]);
    }
    check_verified(folded, c.diags);
    check_verified(whole, c.diags);
    check_boundaries(folded, whole);
    for (int begin = models[_i].first; begin < whole->layer_count; begin++)
        for (int end = begin + 1; end <= mw_min(begin + 4, whole->layer_count); end++)
            check_graph(folded, whole, begin, end);
    ck_assert(!folded->whole->is_made);
    mw_stage_model_free(&folded);
    mw_stage_model_free(&whole);
    mw_arena_free(&c.arena);
}
END_TEST

START_TEST(more_equal_layers_are_no_more_nodes)
{
    int nodes[2] = {0};
    for (int i = 0; i < 2; i++) {
        Case c;
        prepare(&c, models[_i].text, i == 0 ? 20 : 40);
        nodes[i] = fold_of(&c).graph->nodes.count;
        mw_arena_free(&c.arena);
    }
    ck_assert_int_eq(nodes[0], nodes[1]);
}
END_TEST

START_TEST(few_equal_layers_stay)
{
    Case c;
    prepare(&c, models[_i].text, models[_i].few ? models[_i].few : 4);
    ck_assert(fold_of(&c).graph == NULL);
    mw_arena_free(&c.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fold");
    TCase *tests = tcase_create("fold");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, a_folded_model_says_what_the_whole_one_does, 0, MW_COUNT(models));
    tcase_add_loop_test(tests, more_equal_layers_are_no_more_nodes, 0, MW_COUNT(models));
    tcase_add_loop_test(tests, few_equal_layers_stay, 0, MW_COUNT(models));
    return run_suite(suite);
}
