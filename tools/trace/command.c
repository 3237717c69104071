/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright trace PLAN TRACE...`. */
#include "runtime/check/check.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/trace/print.h"

#include <limits.h>

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_COUNT } Format;

static const char *const format_names[FORMAT_COUNT] = {"text", "json"};

typedef struct {
    MwArena *arena;
    MW_VEC(const char *) paths; /* the plan, then traces */
    const char *output;
    Format format;
    int top;
    bool all;
} Options;

enum { OPTION_FORMAT = 256, OPTION_ALL, OPTION_TOP, DEFAULT_TOP = 20 };

static const struct argp_option option_list[] = {
    {"format", OPTION_FORMAT, "text|json", 0, "What to write (text)", 0},
    {"top", OPTION_TOP, "N", 0, "Show the N operators that differ most (20)", 0},
    {"all", OPTION_ALL, NULL, 0, "Show every instruction by itself", 0},
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
    case OPTION_TOP:
        options->top = mw_argument_count(state, "the number of operators", arg);
        return 0;
    case OPTION_ALL:
        options->all = true;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        mw_vec_push(options->arena, &options->paths, arg);
        return 0;
    case ARGP_KEY_END:
        if (options->paths.count < 2)
            argp_error(state, "which plan or executable, and which trace of it?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Empty after an error. */
static MwText report_text(MwArena *arena, const MwPlan *plan, const Options *options,
                          MwDiags *diags)
{
    MwText text = {.arena = arena};
    MwTraceReport report;
    const MwTraceRun *run =
        mw_trace_read(arena, plan, options->paths.at + 1, options->paths.count - 1, diags);
    if (!run)
        return text;
    if (!mw_trace_compare(arena, plan, run, !options->all, &report)) {
        mw_diag_error(diags, mw_span_none(), "%s: no step has ended on all its ranks",
                      options->paths.at[1]);
        return text;
    }
    switch (options->format) {
    case FORMAT_TEXT:
        mw_trace_print_text(&text, &report,
                            options->top   ? options->top
                            : options->all ? INT_MAX
                                           : DEFAULT_TOP);
        break;
    case FORMAT_JSON:
        mw_trace_print_json(&text, &report);
        break;
    case FORMAT_COUNT:
        MW_UNREACHABLE();
    }
    return text;
}

int mw_command_trace(int argc, char **argv)
{
    static const struct argp argp = {
        option_list,
        parse_option,
        "PLAN TRACE...",
        "Tells where a run, whose times --trace wrote, and its prediction differ most.\v"
        "PLAN is a plan file or an executable. Of a run that was killed, the traces of its ranks "
        "are TRACE.rank0 and so on. docs/running.md explains what is shown.",
        NULL,
        NULL,
        NULL};
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    Options options = {.arena = arena};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    const MwPlan *plan = mw_plan_read(arena, options.paths.at[0], diags);
    if (plan && mw_plan_check(plan, diags)) {
        const MwText text = report_text(arena, plan, &options, diags);
        if (text.at)
            mw_result_write(options.output, &text, diags);
    }
    mw_diags_print(diags, stderr);
    const int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&arena);
    return status;
}
