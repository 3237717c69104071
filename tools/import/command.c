/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright import MODEL.onnx|FLAT.graph -o MODEL.graph --weights MODEL.safetensors`. */
#include "base/file.h"
#include "base/vec.h"
#include "frontend/import.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/import/files.h"
#include "tools/import/train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    MwArena *arena;
    const char *model, *output, *weights, *map, *train;
    bool is_flat; /* the structure of the model is not looked for */
    MW_VEC(MwDefine) defines;
} Options;

enum { OPTION_WEIGHTS = 256, OPTION_MAP, OPTION_TRAIN, OPTION_FLAT };

static const struct argp_option option_list[] = {
    {"output", 'o', "FILE", 0, "Write the model to FILE instead of standard output", 0},
    {"weights", OPTION_WEIGHTS, "FILE", 0, "Write the weights to FILE, as safetensors", 0},
    {"map", OPTION_MAP, "FILE", 0,
     "Write a map of names to FILE, by which export gives weights the names and the order of "
     "dimensions that they have in the ONNX file",
     0},
    {"train", OPTION_TRAIN, "LOSS with OPTIMIZER", 0,
     "Add a train statement to the model, such as 'cross_entropy(logits, labels) with adamw(lr = "
     "1e-4)'; names that the model lacks become inputs",
     0},
    {"flat", OPTION_FLAT, NULL, 0, "Write the model without blocks and repeats", 0},
    {"define", 'D', "SIZE=VALUE", 0, "Give a size that the model leaves open", 0},
    {0}};

/* Whether the model is a flat one already, and not an ONNX file. */
static bool is_graph(const char *path)
{
    return mw_text_ends_in(path, ".graph");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case 'o':
        options->output = arg;
        return 0;
    case OPTION_WEIGHTS:
        options->weights = arg;
        return 0;
    case OPTION_MAP:
        options->map = arg;
        return 0;
    case OPTION_TRAIN:
        options->train = arg;
        return 0;
    case OPTION_FLAT:
        options->is_flat = true;
        return 0;
    case 'D':
        mw_vec_push(options->arena, &options->defines,
                    mw_argument_define(state, options->arena, arg));
        return 0;
    case ARGP_KEY_ARG:
        if (options->model)
            argp_error(state, "one model at a time: '%s' is a second", arg);
        options->model = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->model)
            argp_error(state, "which model?");
        if (is_graph(options->model) && (options->weights || options->map || options->train ||
                                         options->is_flat || options->defines.count))
            argp_error(state,
                       "of a .graph file the structure is found, and no other option is for it");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Reads the ONNX file, and adds its model to `text`. */
static bool import_onnx(const Options *options, MwOnnxModel *model, MwText *text, MwDiags *diags)
{
    MwOnnxFile file = {.path = options->model,
                       .defines = options->defines.at,
                       .define_count = options->defines.count};
    MwTrainText train = {0};
    file.data = mw_file_read(options->arena, options->model, &file.bytes);
    if (!file.data) {
        mw_diag_error(diags, mw_span_none(), "cannot read %s: %s", options->model, strerror(errno));
        return false;
    }
    if (!mw_onnx_import(options->arena, &file, diags, model) ||
        (options->train && !mw_import_train(options->arena, model, options->train, &train, diags)))
        return false;
    MwSource *flat = MW_NEW(options->arena, MwSource, 1); /* diagnostics point into it */
    *flat = (MwSource){.name = options->model, .text = model->text, .bytes = model->bytes};
    const bool good = options->is_flat ? mw_import_flat(options->arena, flat, text, diags)
                                       : mw_import_source(options->arena, flat,
                                                          model->has_fixed_batch, text, diags);
    if (options->train)
        mw_train_text_move(&train, flat, diags);
    return good;
}

static void import(const Options *options, MwDiags *diags)
{
    MwText text = {.arena = options->arena};
    MwOnnxModel model = {0};
    if (is_graph(options->model) ? mw_import_file(options->arena, options->model, &text, diags)
                                 : import_onnx(options, &model, &text, diags))
        mw_import_write(&(MwImportFiles){.model = options->output,
                                         .weights = options->weights,
                                         .map = options->map},
                        &text, &model, diags);
}

int mw_command_import(int argc, char **argv)
{
    static const struct argp argp = {
        option_list,
        parse_option,
        "MODEL.onnx|FLAT.graph",
        "Makes a .graph file of an ONNX model, with blocks and repeats, and a file of its weights; "
        "or "
        "finds the structure of a flat model, whose names are paths of modules.\v"
        "docs/import.md says what is imported.",
        NULL,
        NULL,
        NULL};
    Options options = {.arena = mw_arena_new()};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    MwDiags *diags = mw_diags_new(options.arena);
    import(&options, diags);
    mw_diags_print(diags, stderr);
    const int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&options.arena);
    return status;
}
