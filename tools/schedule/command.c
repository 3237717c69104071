/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright schedule NAME --stages P --micro-batches M`. */
#include "tools/argument.h"
#include "tools/argument_schedule.h"
#include "tools/commands.h"
#include "tools/schedule/view.h"
#include "tools/show_options.h"
#include "tools/terminal.h"

#include "schedule/check.h"
#include "schedule/generate.h"

#include <stdlib.h>
#include <unistd.h>

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_SVG, FORMAT_COUNT } Format;

/* In the order of Format. */
#define FORMATS "text|json|svg"

enum { MAX_TASKS = 1 << 20, PLAIN_COLUMNS = 128, MIN_COLUMNS = 40 };

typedef struct {
    bool named;
    MwPipelineKind kind;
    int meshes, micro_batches, chunks; /* 0: not given */
    double forward, backward_input, weight, transfer, weight_share;
    MwShowOptions show;
    int columns; /* 0: not given */
} Options;

enum {
    OPTION_STAGES = 256,
    OPTION_MICRO_BATCHES,
    OPTION_CHUNKS,
    OPTION_TIMES,
    OPTION_WEIGHT_MEMORY,
    OPTION_WIDTH
};

static const struct argp_option option_list[] = {
    {"stages", OPTION_STAGES, "P", 0, "How many meshes the model is spread over", 0},
    {"micro-batches", OPTION_MICRO_BATCHES, "M", 0, "How many parts the batch is cut into", 0},
    {"chunks", OPTION_CHUNKS, "V", 0, "How many stages each mesh holds; for interleaved (2)", 0},
    {"times", OPTION_TIMES, "F,B,W,COMM", 0,
     "What a micro-batch takes on each mesh: forward, gradients of inputs, gradients of weights; "
     "and "
     "a transfer to the next mesh (1,1,1,0)",
     0},
    {"weight-memory", OPTION_WEIGHT_MEMORY, "SHARE", 0,
     "What a micro-batch keeps until its gradients of weights, as a share of what it keeps until "
     "those of inputs; for zb-1p and zb-2p (1)",
     0},
    {MW_SHOW_FORMAT(FORMATS)},
    {"width", OPTION_WIDTH, "COLUMNS", 0, "Columns of the text (the terminal's, else 128)", 0},
    {MW_SHOW_OUTPUT},
    {0}};

static void parse_name(Options *options, const struct argp_state *state, const char *name)
{
    if (options->named)
        argp_error(state, "one schedule at a time: '%s' is a second", name);
    options->named = true;
    options->kind = mw_argument_schedule(state, name);
}

static void parse_times(Options *options, const struct argp_state *state, const char *text)
{
    double *const times[] = {&options->forward, &options->backward_input, &options->weight,
                             &options->transfer};
    const char *at = text;
    for (int i = 0; i < MW_COUNT(times); i++) {
        char *end;
        *times[i] = strtod(at, &end);
        bool good = end > at && *times[i] >= 0 && *times[i] <= 1e9; /* no NaN either */
        if (!good || *end != (i + 1 < MW_COUNT(times) ? ',' : '\0'))
            argp_error(state, "--times wants F,B,W,COMM, four numbers from 0 to 1e9, not '%s'",
                       text);
        at = end + 1;
    }
}

static void parse_share(Options *options, const struct argp_state *state, const char *text)
{
    char *end;
    options->weight_share = strtod(text, &end);
    if (end == text || *end != '\0' || !(options->weight_share >= 0 && options->weight_share <= 1))
        argp_error(state, "--weight-memory wants a number from 0 to 1, not '%s'", text);
}

/* Checks what takes all options to check. */
static void check_options(Options *options, const struct argp_state *state)
{
    if (!options->named)
        argp_error(state, "which schedule?");
    if (!options->meshes)
        argp_error(state, "how many stages? Say --stages P");
    if (!options->micro_batches)
        argp_error(state, "how many micro-batches? Say --micro-batches M");
    const MwPipelineInfo *info = mw_pipeline_info(options->kind);
    if (options->chunks > 1 && !info->chunked)
        argp_error(state, "%s has one chunk a mesh; --chunks is for %s", info->name,
                   mw_pipeline_info(mw_pipeline_chunked())->name);
    if (options->chunks > mw_pipeline_most_chunks(options->kind))
        argp_error(state, "%s has at most %d chunks a mesh", info->name,
                   mw_pipeline_most_chunks(options->kind));
    if (!options->chunks)
        options->chunks = info->chunked ? 2 : 1;
    int64_t tasks = (int64_t)options->meshes * options->micro_batches; /* each of at most 2^20 */
    tasks = mw_min(tasks, MAX_TASKS + 1) * options->chunks * (info->splits ? 3 : 2);
    if (tasks > MAX_TASKS)
        argp_error(state, "stages x micro-batches x chunks are too many to show: at most %d tasks",
                   MAX_TASKS);
    if (!info->trains)
        options->backward_input = options->weight = 0;
    if (options->forward + options->backward_input + options->weight == 0)
        argp_error(state, "--times: no task takes any time");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case OPTION_STAGES:
        options->meshes = mw_argument_count(state, "the number of stages", arg);
        return 0;
    case OPTION_MICRO_BATCHES:
        options->micro_batches = mw_argument_count(state, "the number of micro-batches", arg);
        return 0;
    case OPTION_CHUNKS:
        options->chunks = mw_argument_count(state, "the number of chunks", arg);
        return 0;
    case OPTION_TIMES:
        parse_times(options, state, arg);
        return 0;
    case OPTION_WEIGHT_MEMORY:
        parse_share(options, state, arg);
        return 0;
    case OPTION_WIDTH:
        options->columns = mw_argument_count(state, "the width", arg);
        if (options->columns < MIN_COLUMNS)
            argp_error(state, "the width must be at least %d, not '%s'", MIN_COLUMNS, arg);
        return 0;
    case ARGP_KEY_ARG:
        parse_name(options, state, arg);
        return 0;
    case ARGP_KEY_END:
        check_options(options, state);
        return 0;
    default:
        return mw_show_parse(&options->show, key, arg, state);
    }
}

/* The times of all meshes are alike: a chunk takes its part of the time of its mesh. */
static const MwStageTimes *stage_times(MwArena *arena, const Options *options)
{
    const int meshes = options->meshes, chunks = options->chunks;
    const int stages = mw_pipeline_stages(options->kind, meshes, chunks);
    MwStageTimes *times = MW_NEW(arena, MwStageTimes, stages);
    for (int s = 0; s < stages; s++) {
        const double part = mw_pipeline_parts_of(options->kind, meshes, chunks, s) / (double)chunks;
        times[s].task[MW_TASK_FORWARD] = options->forward * part;
        times[s].task[MW_TASK_BACKWARD] = (options->backward_input + options->weight) * part;
        times[s].task[MW_TASK_BACKWARD_INPUT] = options->backward_input * part;
        times[s].task[MW_TASK_WEIGHT] = options->weight * part;
        times[s].to_next = times[s].to_previous = options->transfer;
        times[s].memory.saved = (1 - options->weight_share) * part;
        times[s].memory.late = options->weight_share * part;
    }
    return times;
}

/* The schedule that the options ask for, with its times; NULL after errors. */
static const MwScheduleView *make_view(MwArena *arena, const Options *options, MwDiags *diags)
{
    const MwStageTimes *times = stage_times(arena, options);
    const MwPipelineSchedule *schedule = mw_pipeline_schedule_timed(
        arena, options->kind, options->meshes, options->micro_batches, options->chunks, times);
    if (!mw_pipeline_schedule_check(arena, schedule, diags))
        return NULL;
    MwScheduleView *view = MW_NEW(arena, MwScheduleView, 1);
    *view = (MwScheduleView){.schedule = schedule,
                             .timeline = mw_timeline_new(arena, schedule, times),
                             .clocks = mw_timeline_new_clocks(arena, schedule),
                             .forward = options->forward,
                             .backward_input = options->backward_input,
                             .weight = options->weight,
                             .transfer = options->transfer};
    return mw_timeline_check(arena, schedule, times, view->timeline, diags) ? view : NULL;
}

static int text_columns(const Options *options)
{
    const int terminal = options->show.output ? 0 : mw_terminal_columns(STDOUT_FILENO);
    return options->columns ? options->columns : terminal ? terminal : PLAIN_COLUMNS;
}

static void show(MwText *text, const MwScheduleView *view, const Options *options)
{
    switch ((Format)options->show.format) {
    case FORMAT_TEXT:
        mw_schedule_view_text(text, view, text_columns(options));
        break;
    case FORMAT_JSON:
        mw_schedule_view_json(text, view);
        break;
    case FORMAT_SVG:
        mw_schedule_view_svg(text, view);
        break;
    case FORMAT_COUNT:
        MW_UNREACHABLE();
    }
}

int mw_command_schedule(int argc, char **argv)
{
    static const struct argp argp = {
        option_list,
        parse_option,
        "NAME",
        "Draws the timeline of a pipeline schedule and computes its bubble and the micro-batches "
        "in flight.\vSchedules:\n"
#define SCHEDULE(id, name, text, what, ...) "  " text ": " what "\n"
#include "schedule/schedule.def"
#undef SCHEDULE
        "docs/schedules.md explains what is shown.",
        NULL,
        NULL,
        NULL};
    Options options = {
        .show.formats = FORMATS, .forward = 1, .backward_input = 1, .weight = 1, .weight_share = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    const MwScheduleView *view = make_view(arena, &options, diags);
    if (view) {
        MwText text = {.arena = arena};
        show(&text, view, &options);
        mw_result_write(options.show.output, &text, diags);
    }
    mw_diags_print(diags, stderr);
    int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&arena);
    return status;
}
