/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright diff A B`. Exit statuses are those of diff(1). */
#include "runtime/check/check.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/diff/differences.h"

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_COUNT } Format;

static const char *const format_names[FORMAT_COUNT] = {"text", "json"};

enum { STATUS_EQUAL, STATUS_DIFFERENT, STATUS_TROUBLE };

typedef struct {
    const char *plans[2], *output;
    int plan_count;
    Format format;
    bool all;
} Options;

enum { OPTION_FORMAT = 256, OPTION_ALL };

static const struct argp_option option_list[] = {
    {"format", OPTION_FORMAT, "text|json", 0, "What to write (text)", 0},
    {"all", OPTION_ALL, NULL, 0, "Show every layer, not one of those that are alike", 0},
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
    {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case OPTION_FORMAT:
        options->format =
            (Format)mw_argument_choice(state, "format", format_names, FORMAT_COUNT, arg);
        return 0;
    case OPTION_ALL:
        options->all = true;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
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
        return ARGP_ERR_UNKNOWN;
    }
}

static const MwPlan *read_plan(MwArena *arena, const char *path, MwDiags *diags)
{
    const MwPlan *plan = mw_plan_read(arena, path, diags);
    return plan && mw_plan_check(plan, diags) ? plan : NULL;
}

static void show(MwText *text, const MwDifferences *differences, const Options *options)
{
    switch (options->format) {
    case FORMAT_TEXT:
        mw_diff_print_text(text, differences, options->all);
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
        "The exit status is 0 if they are equal, 1 if they differ, 2 if one cannot be read.",
        NULL,
        NULL,
        NULL};
    Options options = {0};
    argp_err_exit_status = STATUS_TROUBLE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwDifferences differences = {.arena = arena};
    const MwPlan *a = read_plan(arena, options.plans[0], diags);
    const MwPlan *b = read_plan(arena, options.plans[1], diags);
    if (a && b) {
        MwText text = {.arena = arena};
        mw_diff_plans(&differences, a, b);
        show(&text, &differences, &options);
        mw_result_write(options.output, &text, diags);
    }
    mw_diags_print(diags, stderr);
    const int status = mw_diags_error_count(diags) ? STATUS_TROUBLE
                       : differences.all.count     ? STATUS_DIFFERENT
                                                   : STATUS_EQUAL;
    mw_arena_free(&arena);
    return status;
}
