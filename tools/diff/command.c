/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright diff A B`. Exit statuses are those of diff(1). */
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/diff/differences.h"
#include "tools/show_options.h"

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_COUNT } Format;

/* In the order of Format. */
#define FORMATS "text|json"

enum { STATUS_EQUAL, STATUS_DIFFERENT, STATUS_TROUBLE };

typedef struct {
    const char *plans[2];
    int plan_count;
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
        if (options->plan_count == 2)
            argp_error(state, "two plans at a time: '%s' is a third", arg);
        options->plans[options->plan_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (options->plan_count < 2)
            argp_error(state, "which two executables or plan files?");
        return 0;
    default:
        return mw_show_parse(&options->show, key, arg, state);
    }
}

static void show(MwText *text, const MwDifferences *differences, const Options *options)
{
    switch ((Format)options->show.format) {
    case FORMAT_TEXT:
        mw_diff_print_text(text, differences, options->show.all);
        break;
    case FORMAT_JSON:
        mw_diff_print_json(text, differences, options->plans);
        break;
    case FORMAT_COUNT:
        MW_UNREACHABLE();
    }
}

int mw_command_diff(int argc, char **argv)
{
    static const struct argp argp = {
        option_list,
        parse_option,
        "A B",
        "Shows what two plans or executables differ in: decisions, predictions, "
        "memory and communication.\v"
        "Exit status: 0 if they are equal, 1 if they differ, 2 after errors and for wrong usage.",
        NULL,
        NULL,
        NULL};
    Options options = {.show.formats = FORMATS};
    argp_err_exit_status = STATUS_TROUBLE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwDifferences differences = {.arena = arena};
    const MwPlan *a = mw_show_plan(arena, options.plans[0], diags);
    const MwPlan *b = mw_show_plan(arena, options.plans[1], diags);
    if (a && b) {
        MwText text = {.arena = arena};
        mw_diff_plans(&differences, a, b);
        show(&text, &differences, &options);
        mw_result_write(options.show.output, &text, diags);
    }
    mw_diags_print(diags, stderr);
    const int status = mw_diags_error_count(diags) ? STATUS_TROUBLE
                       : differences.all.count     ? STATUS_DIFFERENT
                                                   : STATUS_EQUAL;
    mw_arena_free(&arena);
    return status;
}
