/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright export CHECKPOINT -o FOLDER`, and `meshwright export MODEL.graph --onnx FILE`. */
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/export/files.h"
#include "tools/export/onnx.h"

#include "base/file.h"
#include "base/vec.h"
#include "tools/data_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef MW_VEC(const char *) Words;

typedef struct {
    MwArena *arena;
    const char *source; /* a checkpoint, or a model for ONNX */
    const char *map, *like, *output;
    int64_t most_bytes; /* of a file */
    const char *onnx;   /* NULL: weights alone */
    Words weights, open, values;
    MW_VEC(MwDefine) defines;
} Options;

enum {
    OPTION_MAP = 256,
    OPTION_LIKE,
    OPTION_FILE_SIZE,
    OPTION_ONNX,
    OPTION_WEIGHTS,
    OPTION_OPEN,
    OPTION_VALUE
};
enum { DEFAULT_GB = 5 };

static const struct argp_option option_list[] = {
    {"map", OPTION_MAP, "MAP", 0,
     "The names that the tensors get: a .map file, or a built-in map such as hf-llama", 0},
    {"like", OPTION_LIKE, "FOLDER", 0,
     "Write the tensors that the weights in FOLDER have, with their names and types, and its texts "
     "(config.json, tokenizer.json) beside them",
     0},
    {"file-size", OPTION_FILE_SIZE, "GB", 0, "Write files of at most GB, a whole number (5)", 0},
    {"output", 'o', "FOLDER", 0, "Where to write; made where it is not there", 0},
    {NULL, 0, NULL, 0, "For a model as an ONNX file:", 1},
    {"onnx", OPTION_ONNX, "FILE", 0, "Write the model with its weights, for inference", 1},
    {"weights", OPTION_WEIGHTS, "FILE", 0,
     "Take weights from a .safetensors file, an index, a folder with these, or a checkpoint, under "
     "the names that --map says, or their own",
     1},
    {NULL, 'D', "SIZE=VALUE", 0, "Override a size of the model", 1},
    {"open", OPTION_OPEN, "SIZE", 0, "Leave a size open, such as batch", 1},
    {"value", OPTION_VALUE, "NAME", 0, "Export this value, instead of the outputs of the model", 1},
    {0}};

/* The options of one use that are given with the other. */
static void check_use(const struct argp_state *state, const Options *options)
{
    if (options->onnx && (options->output || options->like || options->most_bytes))
        argp_error(state, "-o, --like and --file-size are for weights alone, and not for --onnx");
    if (!options->onnx && (options->weights.count || options->open.count || options->values.count ||
                           options->defines.count))
        argp_error(state, "--weights, -D, --open and --value are for --onnx");
    if (options->onnx && !options->source)
        argp_error(state, "say which MODEL.graph");
    if (!options->onnx && (!options->source || !options->output))
        argp_error(state, "say which CHECKPOINT, and -o FOLDER; or MODEL.graph and --onnx FILE");
    if (options->like && !options->map)
        argp_error(state, "--like goes with --map");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case OPTION_MAP:
        options->map = arg;
        return 0;
    case OPTION_LIKE:
        options->like = arg;
        return 0;
    case OPTION_FILE_SIZE:
        options->most_bytes =
            (int64_t)mw_argument_count(state, "the size of a file", arg) * 1000000000;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case OPTION_ONNX:
        options->onnx = arg;
        return 0;
    case OPTION_WEIGHTS:
        mw_vec_push(options->arena, &options->weights, arg);
        return 0;
    case OPTION_OPEN:
        mw_vec_push(options->arena, &options->open, arg);
        return 0;
    case OPTION_VALUE:
        mw_vec_push(options->arena, &options->values, arg);
        return 0;
    case 'D':
        mw_vec_push(options->arena, &options->defines,
                    mw_argument_define(state, options->arena, arg));
        return 0;
    case ARGP_KEY_ARG:
        if (options->source)
            argp_error(state, "one at a time: '%s' is a second", arg);
        options->source = arg;
        return 0;
    case ARGP_KEY_END:
        check_use(state, options);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Texts beside weights ---- */

/* True for what stands beside weights and says how to use them: configurations and tokenizers. */
static bool is_text(const char *name)
{
    static const char *const ends[] = {".json", ".txt", ".model", ".jinja"};
    bool is = false;
    for (int i = 0; i < MW_COUNT(ends); i++)
        is |= mw_text_ends_in(name, ends[i]);
    return is && name[0] != '.' && !mw_text_ends_in(name, ".index.json");
}

static bool copy_text(MwArena *arena, const Options *options, const char *name, MwFault *fault)
{
    size_t bytes;
    const char *from = mw_arena_printf(arena, "%s/%s", options->like, name);
    const char *to = mw_arena_printf(arena, "%s/%s", options->output, name);
    const char *text = mw_file_read(arena, from, &bytes);
    if (!text)
        return mw_fault_set(fault, "cannot read %s: %s", from, strerror(errno));
    return mw_file_write(to, text, bytes, 0644) ||
           mw_fault_set(fault, "cannot write %s: %s", to, strerror(errno));
}

static bool copy_texts(MwArena *arena, const Options *options, MwFault *fault)
{
    DIR *folder = options->like ? opendir(options->like) : NULL; /* NULL: it is a file */
    bool good = true;
    for (struct dirent *entry; good && folder && (entry = readdir(folder));)
        if (is_text(entry->d_name))
            good = copy_text(arena, options, entry->d_name, fault);
    if (folder)
        closedir(folder);
    return good;
}

/* ---- The command ---- */

/* Makes the folder; a fault where it is the one of --like, which stays as it is. */
static bool make_folder(const Options *options, MwFault *fault)
{
    if (mkdir(options->output, 0777) != 0 && errno != EEXIST)
        return mw_fault_set(fault, "cannot make %s: %s", options->output, strerror(errno));
    if (options->like && mw_file_is_same(options->like, options->output))
        return mw_fault_set(fault, "%s is the folder of --like, and stays as it is",
                            options->output);
    return true;
}

static bool export(MwArena *arena, const Options *options, MwExportSource *source, MwFault *fault)
{
    const int64_t most_bytes =
        options->most_bytes ? options->most_bytes : (int64_t)DEFAULT_GB * 1000000000;
    MwExportTensors tensors = {0};
    if (options->map && !(source->map = mw_weight_map_open(arena, options->map, fault)))
        return false;
    if (!mw_store_add(source->weights, options->source, fault) ||
        (options->like && !mw_store_add(source->like, options->like, fault)) ||
        !mw_export_tensors(arena, source, &tensors, fault) || !make_folder(options, fault) ||
        !mw_export_write(options->output, source->weights, &tensors, most_bytes, fault) ||
        !copy_texts(arena, options, fault))
        return false;
    printf("%s: %d tensors\n", options->output, tensors.count);
    return true;
}

static bool export_weights(MwArena *arena, const Options *options)
{
    MwExportSource source = {.weights = mw_store_new(arena),
                             .like = options->like ? mw_store_new(arena) : NULL};
    MwFault fault;
    const bool good = export(arena, options, &source, &fault);
    if (!good)
        fprintf(stderr, "meshwright: error: %s\n", fault.text);
    mw_store_close(&source.weights);
    mw_store_close(&source.like);
    return good;
}

static bool export_model(MwArena *arena, const Options *options)
{
    const MwOnnxOptions onnx = {
        .model = mw_data_file(arena, &mw_data_models, options->source),
        .output = options->onnx,
        .weights = {options->weights.at, options->weights.count, options->map},
        .defines = options->defines.at,
        .define_count = options->defines.count,
        .open = options->open.at,
        .open_count = options->open.count,
        .values = options->values.at,
        .value_count = options->values.count};
    MwDiags *diags = mw_diags_new(arena);
    mw_export_onnx(arena, &onnx, diags);
    mw_diags_print(diags, stderr);
    return mw_diags_error_count(diags) == 0;
}

int mw_command_export(int argc, char **argv)
{
    static const struct argp parser = {
        option_list,
        parse_option,
        "CHECKPOINT\nMODEL.graph",
        "Writes the weights of a checkpoint (a folder of checkpoints: the newest) as safetensors "
        "files, under their names or those of other software; or a model with its weights as an "
        "ONNX file.\vdocs/export.md says what an ONNX file has.",
        NULL,
        NULL,
        NULL};
    Options options = {.arena = mw_arena_new()};
    if (argp_parse(&parser, argc, argv, 0, NULL, &options))
        return EXIT_FAILURE;
    const bool good = options.onnx ? export_model(options.arena, &options)
                                   : export_weights(options.arena, &options);
    mw_arena_free(&options.arena);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
