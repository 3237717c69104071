/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright inspect OUT|OUT.plan`. */
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/inspect/inspect.h"
#include "tools/show_options.h"
#include "tools/terminal.h"

#include <unistd.h>

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_DOT, FORMAT_HTML, FORMAT_COUNT } Format;

/* In the order of Format. */
#define FORMATS "text|json|dot|html"

typedef struct {
    const char *plan;
    MwShowOptions show;
} Options;

static const struct argp_option option_list[] = {
    {MW_SHOW_FORMAT(FORMATS)},
    {MW_SHOW_ALL("Show every layer, not one of those that are alike")},
    {MW_SHOW_OUTPUT},
    {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (options->plan)
            argp_error(state, "one plan at a time: '%s' is a second", arg);
        options->plan = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->plan)
            argp_error(state, "which executable or plan file?");
        return 0;
    default:
        return mw_show_parse(&options->show, key, arg, state);
    }
}

/* On a terminal, lines keep to its width. */
static void show_text(MwText *text, const MwPlan *plan, const Options *options)
{
    const int columns = options->show.output ? 0 : mw_terminal_columns(STDOUT_FILENO);
    mw_inspect_text(text, plan, (MwInspectView){options->show.all, columns});
    if (columns)
        *text = mw_terminal_wrap(text, columns);
}

static void show(MwText *text, const MwPlan *plan, const Options *options)
{
    switch ((Format)options->show.format) {
    case FORMAT_TEXT:
        show_text(text, plan, options);
        break;
    case FORMAT_JSON:
        mw_inspect_json(text, plan);
        break;
    case FORMAT_DOT:
        mw_inspect_dot(text, plan);
        break;
    case FORMAT_HTML:
        mw_inspect_html(text, plan);
        break;
    case FORMAT_COUNT:
        MW_UNREACHABLE();
    }
}

int mw_command_inspect(int argc, char **argv)
{
    static const struct argp argp = {option_list,
                                     parse_option,
                                     "OUT|OUT.plan",
                                     "Shows what a plan or executable does, and why.\v"
                                     "docs/inspect.md explains what is shown.",
                                     NULL,
                                     NULL,
                                     NULL};
    Options options = {.show.formats = FORMATS};
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    const MwPlan *plan = mw_show_plan(arena, options.plan, diags);
    if (plan) {
        MwText text = {.arena = arena};
        show(&text, plan, &options);
        if (options.show.format != FORMAT_TEXT || options.show.output || !mw_terminal_page(&text))
            mw_result_write(options.show.output, &text, diags);
    }
    mw_diags_print(diags, stderr);
    int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&arena);
    return status;
}
