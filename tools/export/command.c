/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright export CHECKPOINT -o FOLDER`. */
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/export/files.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *checkpoint, *map, *like, *output;
    int64_t most_bytes; /* of a file */
} Options;

enum { OPTION_MAP = 256, OPTION_LIKE, OPTION_FILE_SIZE };
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
    {0}};

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
    case ARGP_KEY_ARG:
        if (options->checkpoint)
            argp_error(state, "one checkpoint at a time: '%s' is a second", arg);
        options->checkpoint = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->checkpoint || !options->output)
            argp_error(state, "say which CHECKPOINT, and -o FOLDER");
        if (options->like && !options->map)
            argp_error(state, "--like goes with --map");
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

static bool export(MwArena *arena, const Options *options, MwExportSource *source, MwFault *fault)
{
    MwExportTensors tensors = {0};
    if (options->map && !(source->map = mw_weight_map_open(arena, options->map, fault)))
        return false;
    if (!mw_store_add(source->weights, options->checkpoint, fault) ||
        (options->like && !mw_store_add(source->like, options->like, fault)) ||
        !mw_export_tensors(arena, source, &tensors, fault))
        return false;
    if (mkdir(options->output, 0777) != 0 && errno != EEXIST)
        return mw_fault_set(fault, "cannot make %s: %s", options->output, strerror(errno));
    if (!mw_export_write(options->output, source->weights, &tensors, options->most_bytes, fault) ||
        !copy_texts(arena, options, fault))
        return false;
    printf("%s: %d tensors\n", options->output, tensors.count);
    return true;
}

int mw_command_export(int argc, char **argv)
{
    static const struct argp parser = {
        option_list,
        parse_option,
        "CHECKPOINT",
        "Writes the weights of a checkpoint (a folder of checkpoints: the newest) as safetensors "
        "files, under their names or those of other software.",
        NULL,
        NULL,
        NULL};
    Options options = {.most_bytes = (int64_t)DEFAULT_GB * 1000000000};
    if (argp_parse(&parser, argc, argv, 0, NULL, &options))
        return EXIT_FAILURE;
    MwArena *arena = mw_arena_new();
    MwExportSource source = {.weights = mw_store_new(arena),
                             .like = options.like ? mw_store_new(arena) : NULL};
    MwFault fault;
    const bool good = export(arena, &options, &source, &fault);
    if (!good)
        fprintf(stderr, "meshwright: error: %s\n", fault.text);
    mw_store_close(&source.weights);
    mw_store_close(&source.like);
    mw_arena_free(&arena);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
