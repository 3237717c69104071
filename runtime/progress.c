/* SPDX-License-Identifier: MIT */
#include "runtime/progress.h"

#include "base/text.h"
#include "runtime/data/event_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A line is printed every power of ten of steps, so that there are at most so many, and where the
 * last is so old. */
enum { MOST_LINES = 100 };
static const double patience_s = 5;

struct MwProgress {
    FILE *log;
    const char *log_path;
    MwEventFile *events;
    double *event_values; /* [metric_count + 2]: metrics, seconds, items per second */
    int64_t first, last, every;
    bool evaluates;
    const char **metric_names;
    int metric_count, loss_count; /* losses come first */
    double items;                 /* per step */
    const char *unit;
    /* Since the last line, and since the second step: the first warms up. */
    double line_s, total_s;
    int64_t line_steps, total_steps;
};

/* Tokens where the model has them, else rows of the first input. */
static void set_unit(MwProgress *progress, const MwPlan *plan)
{
    bool is_first = true;
    progress->unit = "steps";
    progress->items = 1;
    for (int m = 0; m < plan->mesh_count; m++) {
        for (int i = 0; i < plan->meshes[m].input_count; i++, is_first = false) {
            const MwPlanInput *input = &plan->meshes[m].inputs[i];
            if (strcmp(input->name, "tokens") == 0) {
                progress->unit = "tokens";
                progress->items = (double)mw_tensor_elements(&input->global);
                return;
            }
            if (is_first && input->global.rank > 0) {
                progress->unit = "samples";
                progress->items = (double)input->global.dim[0];
            }
        }
    }
}

static void name_metrics(MwArena *arena, MwProgress *progress, const MwPlan *plan)
{
    const MwPlanMesh *mesh;
    progress->metric_count = mw_plan_metric_count(plan);
    progress->loss_count = mw_plan_loss_count(plan);
    progress->metric_names = MW_NEW(arena, const char *, progress->metric_count);
    for (int i = 0; i < progress->metric_count; i++)
        progress->metric_names[i] = mw_plan_metric(plan, i, &mesh)->name;
}

/* The names of the columns. */
static const char *header_of(MwArena *arena, const MwProgress *progress)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "step,");
    for (int i = 0; i < progress->metric_count; i++)
        mw_text_printf(&text, "%s,", progress->metric_names[i]);
    mw_text_add(&text, "seconds");
    for (int i = 0; progress->evaluates && i < progress->metric_count; i++)
        mw_text_printf(&text, ",eval_%s", progress->metric_names[i]);
    mw_text_add(&text, "\n");
    return text.at;
}

/* Opens the log of a run that begins, or to go on with one, whose columns are the same. */
static bool open_log(MwArena *arena, MwProgress *progress, MwFault *fault)
{
    const char *header = header_of(arena, progress);
    char *found = mw_arena_alloc(arena, strlen(header) + 1);
    progress->log = fopen(progress->log_path, progress->first > 1 ? "a+" : "w");
    if (!progress->log)
        return mw_fault_set(fault, "cannot write %s: %s", progress->log_path, strerror(errno));
    if (progress->first > 1 && fread(found, 1, strlen(header), progress->log) > 0) {
        fseek(progress->log, 0, SEEK_END);
        return strcmp(found, header) == 0 ||
               mw_fault_set(fault, "%s has other columns than this run, which has %.*s",
                            progress->log_path, (int)strlen(header) - 1, header);
    }
    fputs(header, progress->log);
    return true;
}

/* The tags are the metrics, the speed, and the metrics of evaluations. */
static bool open_events(MwArena *arena, MwProgress *progress, const char *dir, MwFault *fault)
{
    const int count = progress->metric_count, all = (progress->evaluates ? 2 : 1) * count + 2;
    const char **tags = MW_NEW(arena, const char *, all);
    for (int i = 0; i < count; i++)
        tags[i] = progress->metric_names[i];
    tags[count] = "speed/seconds_per_step";
    tags[count + 1] = mw_arena_printf(arena, "speed/%s_per_second", progress->unit);
    for (int i = 0; count + 2 + i < all; i++)
        tags[count + 2 + i] = mw_arena_printf(arena, "eval_%s", progress->metric_names[i]);
    progress->event_values = MW_NEW(arena, double, count + 2);
    progress->events = mw_event_file_open(arena, dir, tags, all, progress->first, fault);
    return progress->events != NULL;
}

MwProgress *mw_progress_open(MwArena *arena, const MwPlan *plan, int64_t first, int64_t last,
                             MwProgressFiles files, bool evaluates, MwFault *fault)
{
    MwProgress *progress = MW_NEW(arena, MwProgress, 1);
    MwFault ignored;
    *progress = (MwProgress){
        .first = first, .last = last, .every = 1, .log_path = files.log, .evaluates = evaluates};
    name_metrics(arena, progress, plan);
    set_unit(progress, plan);
    while ((last - first + 1) / progress->every > MOST_LINES)
        progress->every *= 10;
    if ((files.log && !open_log(arena, progress, fault)) ||
        (files.tensorboard && !open_events(arena, progress, files.tensorboard, fault)))
        mw_progress_close(&progress, &ignored);
    return progress;
}

/* "12 s", "3 min 5 s", "2 h 10 min" */
static void print_duration(double time_s)
{
    long long seconds = (long long)ceil(time_s);
    if (seconds < 100)
        printf("%lld s", seconds);
    else if (seconds < 6000)
        printf("%lld min %lld s", seconds / 60, seconds % 60);
    else
        printf("%lld h %lld min", seconds / 3600, seconds / 60 % 60);
}

/* `kind` stands before each name. */
static void print_metrics(const MwProgress *progress, const char *kind, int64_t step,
                          const double *metrics)
{
    printf("step %lld", (long long)step);
    for (int i = 0; i < progress->metric_count; i++)
        printf(i < progress->loss_count ? "  %s%s %.5f" : "  %s%s %.6g", kind,
               progress->metric_names[i], metrics[i]);
}

static void print_line(MwProgress *progress, int64_t step, const double *metrics)
{
    print_metrics(progress, "", step, metrics);
    printf("  %.1f %s/s", progress->items * (double)progress->line_steps / progress->line_s,
           progress->unit);
    if (step < progress->last) {
        double average_s = progress->total_steps ? progress->total_s / (double)progress->total_steps
                                                 : progress->line_s / (double)progress->line_steps;
        printf("  left ");
        print_duration(average_s * (double)(progress->last - step));
    }
    printf("\n");
    fflush(stdout);
    progress->line_s = 0;
    progress->line_steps = 0;
}

static bool write_row(const MwProgress *progress, int64_t step, const double *metrics,
                      double time_s)
{
    bool good = fprintf(progress->log, "%lld,", (long long)step) > 0;
    for (int i = 0; i < progress->metric_count; i++)
        good &= fprintf(progress->log, "%.9g,", metrics[i]) > 0;
    return good && fprintf(progress->log, progress->evaluates ? "%.6f" : "%.6f\n", time_s) > 0 &&
           fflush(progress->log) == 0;
}

static bool write_event(MwProgress *progress, int64_t step, const double *metrics, double time_s,
                        MwFault *fault)
{
    const int count = progress->metric_count;
    for (int i = 0; i < count; i++)
        progress->event_values[i] = metrics[i];
    progress->event_values[count] = time_s;
    progress->event_values[count + 1] = progress->items / time_s;
    return mw_event_file_add(progress->events, step, (MwEventTags){0, count + 2},
                             progress->event_values, fault);
}

bool mw_progress_step(MwProgress *progress, int64_t step, const double *metrics, double time_s,
                      MwFault *fault)
{
    bool is_finite = true;
    for (int i = 0; i < progress->loss_count; i++)
        is_finite &= (bool)isfinite(metrics[i]);
    progress->line_s += time_s;
    progress->line_steps++;
    if (step > progress->first) {
        progress->total_s += time_s;
        progress->total_steps++;
    }
    if (step == progress->first || step == progress->last || step % progress->every == 0 ||
        progress->line_s > patience_s || !is_finite)
        print_line(progress, step, metrics);
    if (progress->log && !write_row(progress, step, metrics, time_s))
        return mw_fault_set(fault, "cannot write %s: %s", progress->log_path, strerror(errno));
    return !progress->events || write_event(progress, step, metrics, time_s, fault);
}

bool mw_progress_evaluated(MwProgress *progress, int64_t step, const double *metrics,
                           int64_t eval_steps, double time_s, MwFault *fault)
{
    bool good = true;
    if (metrics) {
        print_metrics(progress, "eval ", step, metrics);
        printf("  of %lld batch%s in %.2f s\n", (long long)eval_steps, eval_steps == 1 ? "" : "es",
               time_s);
        fflush(stdout);
    }
    const int count = progress->metric_count;
    if (metrics && progress->events &&
        !mw_event_file_add(progress->events, step, (MwEventTags){count + 2, count}, metrics, fault))
        return false;
    if (!progress->log)
        return true;
    for (int i = 0; i < count; i++)
        good &= (metrics ? fprintf(progress->log, ",%.9g", metrics[i])
                         : fprintf(progress->log, ",")) > 0;
    good &= fprintf(progress->log, "\n") > 0;
    return (good && fflush(progress->log) == 0) ||
           mw_fault_set(fault, "cannot write %s: %s", progress->log_path, strerror(errno));
}

bool mw_progress_close(MwProgress **progress, MwFault *fault)
{
    MwProgress *closed = *progress;
    *progress = NULL;
    if (!closed)
        return true;
    const bool events_good = mw_event_file_close(&closed->events, fault);
    if (closed->log && fclose(closed->log) != 0)
        return mw_fault_set(fault, "cannot write %s: %s", closed->log_path, strerror(errno));
    return events_good;
}
