/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright trace PLAN TRACE...`. */
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/show_options.h"
#include "tools/trace/print.h"

#include <limits.h>

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_COUNT } Format;

/* In the order of Format. */
#define FORMATS "text|json"

typedef struct {
    MwArena *arena;
    MW_VEC(const char *) paths; /* the plan, then traces */
    MwShowOptions show;
    int top;
} Options;

enum { OPTION_TOP = 256, DEFAULT_TOP = 20 };

static const struct argp_option option_list[] = {
    {MW_SHOW_FORMAT(FORMATS)},
    {"top", OPTION_TOP, "N", 0, "Show the N operators that differ most (20)", 0},
    {MW_SHOW_ALL("Show every instruction by itself")},
    {MW_SHOW_OUTPUT},
    {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case OPTION_TOP:
        options->top = mw_argument_count(state, "the number of operators", arg);
        return 0;
    case ARGP_KEY_ARG:
        mw_vec_push(options->arena, &options->paths, arg);
        return 0;
    case ARGP_KEY_END:
        if (options->paths.count < 2)
            argp_error(state, "which plan or executable, and which trace of it?");
        return 0;
    default:
        return mw_show_parse(&options->show, key, arg, state);
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
    if (!mw_trace_compare(arena, plan, run, !options->show.all, &report)) {
        mw_diag_error(diags, mw_span_none(), "%s: no step has ended on all its ranks",
                      options->paths.at[1]);
        return text;
    }
    switch ((Format)options->show.format) {
    case FORMAT_TEXT:
        mw_trace_print_text(&text, &report,
                            options->top        ? options->top
                            : options->show.all ? INT_MAX
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
    Options options = {.arena = arena, .show.formats = FORMATS};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    const MwPlan *plan = mw_show_plan(arena, options.paths.at[0], diags);
    if (plan) {
        const MwText text = report_text(arena, plan, &options, diags);
        if (text.at)
            mw_result_write(options.show.output, &text, diags);
    }
    mw_diags_print(diags, stderr);
    const int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&arena);
    return status;
}
