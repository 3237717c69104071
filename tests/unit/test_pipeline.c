/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pipeline: finding passes by name, stopping, dumping, timing; and that the dump after every
 * pass reads back as the same graph. */
#include "frontend/frontend.h"
#include "ir/print.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

static const char *const models[] = {
    "mlp.graph batch=4 inputs=3 width=5 classes=5",
    "gpt.graph batch=4 seq=3 vocab=5 layers=2 width=4 heads=2",
    "llama.graph batch=4 seq=3 vocab=5 layers=2 width=8 heads=4 kv_heads=2 hidden=6",
    "bert.graph batch=4 seq=8 vocab=5 layers=1 width=4 heads=2 mask_rate=0.4 dropout_rate=0.2",
    "gpt.graph batch=4 seq=4 vocab=5 layers=2 width=16 heads=2 in fp8",
    "vit.graph batch=4 image=4 channels=2 patch=2 classes=5 layers=1 width=4 heads=2",
    "gpt.graph batch=4 seq=3 vocab=5 layers=2 width=4 heads=2 in bf16",
    "vit.graph batch=4 image=4 channels=2 patch=2 classes=5 layers=1 width=4 heads=2 in bf16",
};

static const MwPass graph_passes[] = {MW_PASS_simplify,      MW_PASS_precision, MW_PASS_layers,
                                      MW_PASS_differentiate, MW_PASS_update,    MW_PASS_micro_batch,
                                      MW_PASS_clean};

static const char *print(MwArena *arena, const MwGraph *graph)
{
    MwText text = {.arena = arena};
    mw_graph_print(&text, graph);
    return text.at;
}

START_TEST(dumps_read_back_as_the_same_graph)
{
    for (int i = 0; i < MW_COUNT(graph_passes); i++) {
        TestModel model = test_model_new(models[_i], 2, graph_passes[i]);
        ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
        MwGraph *graph = model.compilation.graph;
        const char *text = print(model.arena, graph);
        MwSource source = {"dump.graph", text, strlen(text)};
        MwGraph *again =
            mw_graph_parse(model.arena, graph->interner, &source, NULL, 0, model.diags);
        ck_assert_msg(again != NULL, "after %s: %s", mw_pass_name(graph_passes[i]),
                      diags_text(model.arena, model.diags));
        ck_assert_str_eq(print(model.arena, again), text);
        test_model_free(&model);
    }
}
END_TEST

/* Names made up by number differ from layer to layer. */
START_TEST(what_training_adds_is_named_after_what_it_is_for)
{
    TestModel model = test_model_new(models[_i], 2, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    for (int v = 0; v < graph->values.count; v++)
        ck_assert_str_ne(mw_arena_strndup(model.arena, graph->values.at[v].name, 1), "_");
    test_model_free(&model);
}
END_TEST

START_TEST(passes_are_found_by_name)
{
    for (int i = 0; i < MW_PASS_COUNT; i++) {
        MwPass pass;
        ck_assert(mw_pass_parse(mw_pass_name((MwPass)i), &pass));
        ck_assert_int_eq(pass, i);
        ck_assert_str_ne(mw_pass_what((MwPass)i), "");
    }
    MwPass none;
    ck_assert(!mw_pass_parse("simplif", &none));
}
END_TEST

START_TEST(stops_dumps_and_times_as_asked)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwSource source = {.name = "m.graph",
                       .text = "model m {\n  input x: f32[2]\n  y = x * 1.0\n  output y\n}\n"};
    source.bytes = strlen(source.text);
    MwGraph *graph = mw_graph_parse(arena, mw_interner_new(arena), &source, NULL, 0, diags);
    MwCompilation compilation = {.arena = arena, .graph = graph};
    char *dump = NULL, *times = NULL, *progress = NULL;
    size_t dump_bytes = 0, times_bytes = 0, progress_bytes = 0;
    MwPipelineOptions options = {.stop_after = MW_PASS_differentiate,
                                 .dump_after = MW_PASS_simplify,
                                 .dump = open_memstream(&dump, &dump_bytes),
                                 .times = open_memstream(&times, &times_bytes),
                                 .progress = {open_memstream(&progress, &progress_bytes), 80}};
    ck_assert(mw_pipeline_run(&compilation, &options, diags));
    fclose(options.dump);
    fclose(options.times);
    fclose(options.progress.out);
    ck_assert_str_eq(dump, "model m {\n  input x: f32[2]\n  output y = x\n}\n");
    ck_assert_ptr_nonnull(strstr(times, "simplify"));
    ck_assert_ptr_nonnull(strstr(times, "differentiate"));
    ck_assert_ptr_null(strstr(times, "update"));
    ck_assert_ptr_nonnull(strstr(progress, "layers: clusters operators"));
    ck_assert_str_eq(strrchr(progress, '\r'), "\r\033[K"); /* the line is clear at the end */
    free(dump);
    free(times);
    free(progress);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pipeline");
    TCase *tests = tcase_create("pipeline");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, dumps_read_back_as_the_same_graph, 0, MW_COUNT(models));
    tcase_add_loop_test(tests, what_training_adds_is_named_after_what_it_is_for, 0,
                        MW_COUNT(models));
    tcase_add_test(tests, passes_are_found_by_name);
    tcase_add_test(tests, stops_dumps_and_times_as_asked);
    return run_suite(suite);
}
