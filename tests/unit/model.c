/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/model.h"

#include "base/hash.h"
#include "base/philox.h"
#include "frontend/frontend.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 5, IDS = 5, MOST_DEFINES = 16 };

/* Loads "NAME.graph SIZE=VALUE ... [in bf16]". */
static MwGraph *load_file(TestModel *model, MwInterner *interner, const char *text)
{
    MwDefine defines[MOST_DEFINES];
    int count = 0;
    char *rest = mw_arena_strdup(model->arena, text), *word = strtok_r(rest, " ", &rest);
    const char *path = mw_arena_printf(model->arena, "%s/models/%s", SOURCE_ROOT, word);
    while ((word = strtok_r(NULL, " ", &rest)) && strcmp(word, "in") != 0) {
        char *equals = strchr(word, '=');
        MW_ASSERT(equals && count < MOST_DEFINES);
        *equals = '\0';
        defines[count++] = (MwDefine){word, equals + 1};
    }
    MwGraph *graph = mw_graph_load(model->arena, interner, path, defines, count, model->diags);
    if (graph && word) {
        MwType precision;
        MW_ASSERT(mw_product_parse(rest, &precision));
        mw_graph_set_precision(graph, precision);
    }
    return graph;
}

static MwGraph *load_text(TestModel *model, MwInterner *interner, const char *text)
{
    MwSource *source = MW_NEW(model->arena, MwSource, 1);
    *source = (MwSource){"test.graph", text, strlen(text)};
    return mw_graph_parse(model->arena, interner, source, NULL, 0, model->diags);
}

static void draw_inputs(TestModel *model)
{
    const MwGraph *graph = model->compilation.graph;
    for (int v = 0; v < graph->values.count; v++) {
        const MwValue *value = &graph->values.at[v];
        if (!model->run->inputs[v])
            continue;
        uint64_t stream = mw_hash_bytes(value->name, strlen(value->name));
        int64_t count = mw_tensor_elements(&value->tensor) * model->run->micro_batches;
        for (int64_t i = 0; i < count; i++) {
            double x = mw_uniform_at(SEED, stream, (uint64_t)i);
            bool is_float = mw_type_is_float(value->tensor.type);
            model->run->inputs[v][i] = is_float                        ? 2 * x - 1
                                       : value->tensor.type == MW_BOOL ? x < 0.5
                                                                       : (int)(x * IDS);
        }
    }
}

TestModel test_model_compile(const char *text, const MwCompileOptions *compile, MwPass last)
{
    TestModel model = {.arena = mw_arena_new()};
    model.diags = mw_diags_new(model.arena);
    MwInterner *interner = mw_interner_new(model.arena);
    bool is_file = strstr(text, "model ") == NULL;
    MwGraph *graph =
        is_file ? load_file(&model, interner, text) : load_text(&model, interner, text);
    if (!graph)
        return model;
    model.compilation = (MwCompilation){.arena = model.arena, .options = *compile, .graph = graph};
    MwPipelineOptions options = {.stop_after = last, .dump_after = MW_PASS_COUNT};
    model.ok = mw_pipeline_run(&model.compilation, &options, model.diags);
    if (model.ok) {
        model.run = interpreter_new(model.arena, model.compilation.graph, SEED,
                                    (int)mw_max(1, model.compilation.staging.micro_batches));
        draw_inputs(&model);
    }
    return model;
}

TestModel test_model_new(const char *text, int micro_batches, MwPass last)
{
    return test_model_compile(text, &(MwCompileOptions){.micro_batches = micro_batches}, last);
}

void test_model_free(TestModel *model)
{
    mw_arena_free(&model->arena);
}

double test_model_loss(const TestModel *model)
{
    return model->run->at[model->compilation.graph->metrics.at[0].value.index][0];
}
