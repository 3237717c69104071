/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/export/onnx.h"

#include "base/file.h"
#include "codegen/onnx/export.h"
#include "frontend/frontend.h"
#include "ir/loops.h"
#include "passes/pass.h"
#include "tools/export/onnx_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    MwArena *arena;
    const MwOnnxOptions *options;
    MwDiags *diags;
    MwInterner *interner;
    MwOpenSizes open;
} Export;

/* ---- The model at a point ---- */

/* The sizes with which the model is loaded: those that are given, then those that are open. A later
 * one of a name counts. */
static MwGraph *load(Export *e, int point)
{
    const MwOnnxOptions *options = e->options;
    MwDefine *defines = MW_NEW(e->arena, MwDefine, options->define_count + e->open.size_count);
    int count = 0;
    for (int i = 0; i < options->define_count; i++) {
        bool is_open = false;
        for (int k = 0; k < e->open.size_count; k++)
            is_open |= strcmp(options->defines[i].name, e->open.sizes[k].name) == 0;
        if (!is_open)
            defines[count++] = options->defines[i];
    }
    for (int k = 0; k < e->open.size_count; k++)
        defines[count++] =
            (MwDefine){e->open.sizes[k].name,
                       mw_arena_printf(e->arena, "%" PRId64, mw_open_value(&e->open, point, k))};
    MwGraph *graph = mw_graph_load(e->arena, e->interner, options->model, defines, count, e->diags);
    if (!graph && point > 0)
        mw_diag_note(e->diags, mw_span_none(), "with other values of the sizes that stay open");
    return graph;
}

/* The value that is asked for by a name; none after an error. */
static MwValueId find_value(Export *e, const MwGraph *graph, const MwLoops *loops, const char *name)
{
    const MwValueId metric = mw_outputs_find(&graph->metrics, name);
    const MwValueId value = mw_has_value(metric) ? metric : mw_graph_find(graph, name);
    if (!mw_has_value(value))
        mw_diag_error(e->diags, mw_span_none(), "the model has no value '%s'", name);
    else if (mw_has_value(mw_outputs_find(&graph->outputs, name)))
        mw_diag_error(e->diags, mw_span_none(), "--value %s is given twice", name);
    else if (loops->of_value[value.index] >= 0)
        mw_diag_error(e->diags, mw_value_node(graph, value)->origin.span,
                      "'%s' is of one step of a scan: a value of all steps is what 'collect' gives",
                      name);
    else
        return value;
    return mw_no_value();
}

/* Has the graph give the values that are asked for. */
static bool choose_outputs(Export *e, MwGraph *graph)
{
    const MwOnnxOptions *options = e->options;
    const MwLoops loops = mw_loops(e->arena, graph);
    if (options->value_count)
        graph->outputs = (MwOutputs){0};
    for (int i = 0; i < options->value_count; i++) {
        const char *name = mw_intern(e->interner, options->values[i]);
        const MwValueId value = find_value(e, graph, &loops, name);
        if (!mw_has_value(value))
            return false;
        mw_vec_push(e->arena, &graph->outputs, ((MwOutput){name, value}));
    }
    if (graph->outputs.count)
        return true;
    mw_diag_error(e->diags, mw_span_none(),
                  "the model has no output; --value NAME exports one of its values");
    return false;
}

/* What the model is in inference: its outputs, without training. What a model that is trained
 * assigns, it assigns in training. */
static MwGraph *infer(Export *e, int point)
{
    MwGraph *graph = load(e, point);
    if (!graph || !choose_outputs(e, graph))
        return NULL;
    if (graph->trains.count)
        graph->assigns.count = 0;
    graph->trains.count = graph->metrics.count = graph->rates.count = graph->pins.count = 0;
    MwCompilation compilation = {.arena = e->arena, .graph = graph};
    const MwPipelineOptions pipeline = {.stop_after = MW_PASS_simplify,
                                        .dump_after = MW_PASS_COUNT};
    return mw_pipeline_run(&compilation, &pipeline, e->diags) ? compilation.graph : NULL;
}

/* ---- Open sizes ---- */

/* The value that the model is loaded with; false after an error. */
static bool find_size(Export *e, const MwSizeTexts *sizes, MwOpenSize *size)
{
    const MwOnnxOptions *options = e->options;
    const char *text = NULL;
    for (int i = 0; i < sizes->count; i++)
        if (strcmp(sizes->at[i].name, size->name) == 0)
            text = sizes->at[i].value;
    for (int i = 0; text && i < options->define_count; i++)
        if (strcmp(options->defines[i].name, size->name) == 0)
            text = options->defines[i].value;
    char *end = NULL;
    size->value = text ? strtoll(text, &end, 10) : 0;
    if (!text)
        mw_diag_error(e->diags, mw_span_none(), "the model has no size '%s' to leave open",
                      size->name);
    else if (*end || size->value < 1 || size->value > 1 << 20)
        mw_diag_error(e->diags, mw_span_none(),
                      "size '%s' is %s, and a whole number from 1 to 2^20 is needed to leave it "
                      "open: -D %s=VALUE gives one",
                      size->name, text, size->name);
    else if (size->value == 1)
        size->value = 2; /* dimensions of 1 stretch, and others do not */
    return mw_diags_error_count(e->diags) == 0;
}

static bool find_sizes(Export *e)
{
    const MwOnnxOptions *options = e->options;
    MwSizeTexts sizes = {0};
    if (options->open_count > MW_OPEN_MOST_SIZES) {
        mw_diag_error(e->diags, mw_span_none(), "at most %d sizes can stay open",
                      MW_OPEN_MOST_SIZES);
        return false;
    }
    if (options->open_count && !mw_graph_sizes(e->arena, options->model, &sizes, e->diags))
        return false;
    for (int i = 0; i < options->open_count; i++) {
        MwOpenSize *size = &e->open.sizes[e->open.size_count++];
        size->name = options->open[i];
        if (!find_size(e, &sizes, size))
            return false;
    }
    return true;
}

static bool is_prime(int64_t number)
{
    for (int64_t by = 2; by * by <= number; by++)
        if (number % by == 0)
            return false;
    return true;
}

static bool is_taken(const MwOpenSizes *sizes, int count, int64_t value)
{
    bool is = false;
    for (int i = 0; i < count; i++)
        is |= sizes->sizes[i].value == value;
    return is;
}

/* The values that sizes begin at: for each the first prime from `times[i]` times that which is
 * given on, of which no two are equal; `times` NULL: that which is given. */
static void begin_sizes(Export *e, const MwOpenSizes *given, const int *times)
{
    for (int i = 0; i < given->size_count; i++) {
        int64_t value = given->sizes[i].value * (times ? times[i] : 1);
        while (times && (!is_prime(value) || is_taken(&e->open, i, value)))
            value++;
        e->open.sizes[i].value = value;
    }
}

/* Loads the graphs at all points. */
static bool load_points(Export *e, const MwOpenSizes *given, const int *times)
{
    begin_sizes(e, given, times);
    for (int point = 0; point < mw_open_point_count(&e->open); point++)
        if (!(e->open.graphs[point] = infer(e, point)))
            return false;
    return true;
}

/* A size that is a number of the model by chance too, such as its experts, makes nodes equal that
 * are not for other sizes; and where all points are even, a size that is rounded looks as if it
 * were not. So points begin at primes, the greater the better. A model may have tables that are too
 * short for them, or take even sizes alone: then at what is given. */
static bool load_all(Export *e)
{
    static const int times[][MW_OPEN_MOST_SIZES] = {{11, 13, 17, 19}, {1, 1, 1, 1}};
    const MwOpenSizes given = e->open;
    MwDiags *diags = e->diags;
    const char *differs = NULL;
    bool loads = false;
    for (int i = 0; i < MW_COUNT(times) && (!loads || differs) && given.size_count; i++) {
        e->diags = mw_diags_new(e->arena);
        loads = load_points(e, &given, times[i]);
        differs = loads ? mw_open_compare(&e->open, e->arena) : differs;
    }
    e->diags = diags;
    if (!loads && !differs) {
        if (!load_points(e, &given, NULL))
            return false;
        differs = mw_open_compare(&e->open, e->arena);
    }
    if (differs)
        mw_diag_error(e->diags, mw_span_none(), "%s: the sizes cannot stay open", differs);
    return !differs;
}

/* ---- Weights ---- */

static const MwTensor *shape_of(const void *context, const char *name)
{
    const Export *e = context;
    const MwGraph *graph = e->open.graphs[0];
    const MwValueId value = mw_graph_find(graph, mw_intern(e->interner, name));
    return mw_has_value(value) && mw_op_is_data(mw_value_node(graph, value)->op)
               ? mw_value_tensor(graph, value)
               : NULL;
}

static void write(Export *e, const MwOnnxExport *export)
{
    MwFault fault;
    MwWeightFiles files;
    const MwWeightShapes shapes = {shape_of, e};
    if (!mw_weight_files_open(&files, e->arena, &e->options->weights, shapes, &fault) ||
        !mw_onnx_file_write(e->arena, e->options->output, export, &files, &fault))
        mw_diag_error(e->diags, mw_span_none(), "%s", fault.text);
    mw_weight_files_close(&files);
}

/* Whether the file, or the one beside it, is one that the command reads, which is an error. */
static bool is_read(const Export *e)
{
    const MwOnnxOptions *options = e->options;
    const char *const written[] = {options->output,
                                   mw_onnx_file_outside(e->arena, options->output)};
    bool is = false;
    for (int i = 0; i < MW_COUNT(written) && !is; i++) {
        is = mw_file_is_same(written[i], options->model);
        for (int k = 0; k < options->weights.path_count; k++)
            is |= mw_file_is_same(written[i], options->weights.paths[k]);
        is |= options->weights.map && mw_file_is_same(written[i], options->weights.map);
        if (is)
            mw_diag_error(e->diags, mw_span_none(), "cannot write %s: it is what is exported",
                          written[i]);
    }
    return is;
}

void mw_export_onnx(MwArena *arena, const MwOnnxOptions *options, MwDiags *diags)
{
    Export e = {
        .arena = arena, .options = options, .diags = diags, .interner = mw_interner_new(arena)};
    MwOnnxExport export;
    if (!is_read(&e) && find_sizes(&e) && load_all(&e) &&
        mw_onnx_export(arena, &e.open, diags, &export))
        write(&e, &export);
}
