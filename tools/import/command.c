/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright import MODEL -o MODEL.graph`. */
#include "tools/argument.h"
#include "tools/commands.h"

#include "frontend/import.h"

typedef struct {
    const char *model, *output;
} Options;

static const struct argp_option option_list[] = {
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0}, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case 'o':
        options->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->model)
            argp_error(state, "one model at a time: '%s' is a second", arg);
        options->model = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->model)
            argp_error(state, "which model?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int mw_command_import(int argc, char **argv)
{
    static const struct argp argp = {
        option_list,
        parse_option,
        "MODEL.graph",
        "Finds the structure of a flat model, whose names are paths of modules, and writes it as "
        "a .graph file with blocks and repeats. The new file means the same model, with the same "
        "names of weights, inputs and outputs.",
        NULL,
        NULL,
        NULL};
    Options options = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwText text = {.arena = arena};
    if (mw_import_file(arena, options.model, &text, diags))
        mw_result_write(options.output, &text, diags);
    mw_diags_print(diags, stderr);
    int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&arena);
    return status;
}
