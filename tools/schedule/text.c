/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `schedule --format text`: a row for each mesh, in as many pieces as it takes, and the figures.
 * Each task is a block that begins with its label, or with its letter alone where the labels of a
 * kind of task do not fit. */
#include "tools/schedule/view.h"

#include "base/quantity.h"
#include "tools/text_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *mw_schedule_view_label(MwTask task, char buffer[MW_SCHEDULE_LABEL_BYTES])
{
    static const char letters[MW_TASK_KIND_COUNT] = {'F', 'B', 'B', 'W'};
    char letter = letters[task.kind];
    snprintf(buffer, MW_SCHEDULE_LABEL_BYTES, "%c%d", task.chunk % 2 ? tolower(letter) : letter,
             task.micro_batch);
    return buffer;
}

const char *mw_schedule_view_meaning(const MwPipelineSchedule *schedule, MwTaskKind kind)
{
    static const char *const meanings[MW_TASK_KIND_COUNT] = {
        "F forward", "B backward", "B gradients of inputs", "W gradients of weights"};
    return mw_pipeline_has_task(schedule->kind, kind) ? meanings[kind] : NULL;
}

const char *mw_schedule_view_time(const MwScheduleView *view, MwArena *arena, double time,
                                  int digits)
{
    return view->in_seconds ? mw_seconds_text(arena, time)
                            : mw_arena_printf(arena, "%.*g", digits, time);
}

void mw_schedule_view_figures(MwText *text, const MwScheduleView *view)
{
    mw_text_printf(text, "clocks %.0f, total %s, longest span of a mesh %s, bubble rate %.4f",
                   view->clocks->total,
                   mw_schedule_view_time(view, text->arena, view->timeline->total, 6),
                   mw_schedule_view_time(view, text->arena, view->timeline->cost, 6),
                   view->timeline->bubble_rate);
}

/* ---- The drawing ---- */

/* A drawing of the schedule from a time on, as far as the columns reach. */
typedef struct {
    const MwScheduleView *view;
    int columns;                          /* of a row, without its head */
    double from;                          /* time at the first column */
    double scale;                         /* columns per unit of time */
    int narrowest[MW_TASK_KIND_COUNT];    /* columns of the narrowest block of the kind */
    int widest_label[MW_TASK_KIND_COUNT]; /* letters of the widest label of the kind */
} Drawing;

static int column(const Drawing *drawing, double time)
{
    return (int)mw_max(0,
                       mw_min(lround((time - drawing->from) * drawing->scale), drawing->columns));
}

/* The least time of a task that takes any time. */
static double shortest_task(const MwScheduleView *view)
{
    double shortest = view->timeline->total;
    for (int i = 0; i < view->schedule->mesh_count; i++) {
        for (int k = 0; k < view->schedule->meshes[i].task_count; k++) {
            MwTaskTime time = view->timeline->meshes[i].tasks[k];
            if (time.end > time.start)
                shortest = fmin(shortest, time.end - time.start);
        }
    }
    return shortest;
}

/* Columns that a block should have: its label and a space. */
static double wanted_block(const MwScheduleView *view)
{
    char label[MW_SCHEDULE_LABEL_BYTES];
    MwTask last = {MW_TASK_FORWARD, view->schedule->micro_batches - 1, 0};
    return (double)strlen(mw_schedule_view_label(last, label)) + 1;
}

/* The scale fills the width, unless blocks would then be wider than their labels need. Blocks of
 * the shortest time that are wider than one column are of whole columns, so that equal times look
 * equal. */
static double choose_scale(const MwScheduleView *view, int columns)
{
    double shortest = shortest_task(view);
    double block = fmin(columns / view->timeline->total * shortest, wanted_block(view));
    if (block >= 1)
        block = floor(block + 1e-9);
    return block / shortest;
}

static Drawing drawing_new(const MwScheduleView *view, int columns, double from, double scale)
{
    char label[MW_SCHEDULE_LABEL_BYTES];
    Drawing drawing = {view, columns, from, scale};
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
        drawing.narrowest[kind] = columns;
    for (int i = 0; i < view->schedule->mesh_count; i++) {
        for (int k = 0; k < view->schedule->meshes[i].task_count; k++) {
            MwTask task = view->schedule->meshes[i].tasks[k];
            MwTaskTime time = view->timeline->meshes[i].tasks[k];
            if (time.start < from || time.end > from + columns / scale)
                continue;
            int *narrowest = &drawing.narrowest[task.kind];
            int *widest = &drawing.widest_label[task.kind];
            *narrowest =
                (int)mw_min(*narrowest, column(&drawing, time.end) - column(&drawing, time.start));
            *widest = (int)mw_max(*widest, (int64_t)strlen(mw_schedule_view_label(task, label)));
        }
    }
    return drawing;
}

static void draw_task(const Drawing *drawing, char *row, MwTask task, MwTaskTime time)
{
    int begin = column(drawing, time.start), end = column(drawing, time.end);
    if (begin == end)
        return; /* too short to be seen */
    char label[MW_SCHEDULE_LABEL_BYTES];
    mw_schedule_view_label(task, label);
    int length = (int)strlen(label);
    bool fits = drawing->widest_label[task.kind] <= drawing->narrowest[task.kind] &&
                length <= end - begin; /* it may be cut off */
    memset(row + begin, ' ', (size_t)(end - begin));
    memcpy(row + begin, label, fits ? (size_t)length : 1);
}

static int head_digits(const MwScheduleView *view)
{
    return snprintf(NULL, 0, "%d", view->schedule->mesh_count - 1);
}

/* Returns the number of columns for tasks. */
static int row_columns(const MwScheduleView *view, int columns)
{
    return columns - (int)strlen("mesh   ") - head_digits(view);
}

static void draw(MwText *text, const Drawing *drawing)
{
    const MwScheduleView *view = drawing->view;
    int used = column(drawing, view->timeline->total);
    char *row = MW_NEW(text->arena, char, used + 1);
    for (int i = 0; i < view->schedule->mesh_count; i++) {
        memset(row, '.', (size_t)used);
        for (int k = 0; k < view->schedule->meshes[i].task_count; k++)
            draw_task(drawing, row, view->schedule->meshes[i].tasks[k],
                      view->timeline->meshes[i].tasks[k]);
        int length = used;
        while (length > 0 && row[length - 1] == ' ')
            length--;
        mw_text_printf(text, "mesh %-*d  %.*s\n", head_digits(view), i, length, row);
    }
    mw_text_add(text, "\n");
}

static void add_legend(MwText *text, const MwScheduleView *view, double scale)
{
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++) {
        const char *meaning = mw_schedule_view_meaning(view->schedule, (MwTaskKind)kind);
        if (meaning)
            mw_text_printf(text, "%s, ", meaning);
    }
    if (view->schedule->chunks > 1)
        mw_text_add(text, "lower case in odd chunks, ");
    mw_text_printf(text, ". idle; a column is %s%s\n",
                   mw_schedule_view_time(view, text->arena, 1 / scale, 4),
                   scale * shortest_task(view) < 1 ? " and may hide shorter tasks" : "");
}

void mw_schedule_view_rows(MwText *text, const MwScheduleView *view, int columns)
{
    columns = row_columns(view, columns);
    const Drawing drawing = drawing_new(view, columns, 0, choose_scale(view, columns));
    draw(text, &drawing);
    add_legend(text, view, drawing.scale);
}

/* The mean time of the tasks of the kind whose mean is least: some stages have little work. */
static double mean_task(const MwScheduleView *view)
{
    double sum[MW_TASK_KIND_COUNT] = {0}, count[MW_TASK_KIND_COUNT] = {0};
    for (int i = 0; i < view->schedule->mesh_count; i++) {
        for (int k = 0; k < view->schedule->meshes[i].task_count; k++) {
            MwTaskTime time = view->timeline->meshes[i].tasks[k];
            MwTaskKind kind = view->schedule->meshes[i].tasks[k].kind;
            sum[kind] += time.end - time.start;
            count[kind]++;
        }
    }
    double least = view->timeline->total;
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
        if (sum[kind] > 0)
            least = fmin(least, sum[kind] / count[kind]);
    return least;
}

void mw_schedule_view_ends(MwText *text, const MwScheduleView *view, int columns)
{
    const int room = row_columns(view, columns);
    const double scale = wanted_block(view) / mean_task(view), shown = room / scale;
    if (2 * shown >= view->timeline->total) {
        mw_schedule_view_rows(text, view, columns);
        return;
    }
    const Drawing begin = drawing_new(view, room, 0, scale);
    const Drawing end = drawing_new(view, room, view->timeline->total - shown, scale);
    const char *length = mw_schedule_view_time(view, text->arena, shown, 4);
    mw_text_printf(text, "the first %s\n", length);
    draw(text, &begin);
    mw_text_printf(text, "the last %s\n", length);
    draw(text, &end);
    add_legend(text, view, scale);
}

/* ---- The figures ---- */

static const char *slots_text(MwArena *arena, const MwPipelineSchedule *schedule, int mesh)
{
    MwText text = {.arena = arena};
    for (int c = 0; c < mw_pipeline_mesh_chunks(schedule, mesh); c++)
        mw_text_printf(&text, "%s%d", c ? " + " : "", schedule->meshes[mesh].slots[c]);
    return text.at;
}

void mw_schedule_view_meshes(MwText *text, const MwScheduleView *view)
{
    static const char *const headings[] = {"mesh", "in flight", "busy", "span", "idle", "slots"};
    const int chunks = view->schedule->chunks;
    MwTextTable table =
        mw_text_table_new(text->arena, headings, MW_COUNT(headings) - (chunks == 1));
    for (int i = 0; i < view->schedule->mesh_count; i++) {
        const MwMeshTimeline *mesh = &view->timeline->meshes[i];
        const double idle = mesh->span - mesh->busy; /* of times that are rounded */
        const double figures[] = {mesh->busy, mesh->span, idle > 1e-9 * mesh->span ? idle : 0};
        const char **cells = mw_text_table_row(&table);
        cells[0] = mw_arena_printf(text->arena, "%d", i);
        cells[1] = mw_arena_printf(text->arena, "%d", view->schedule->meshes[i].in_flight);
        for (int f = 0; f < MW_COUNT(figures); f++)
            cells[2 + f] = mw_schedule_view_time(view, text->arena, figures[f], 6);
        if (chunks > 1)
            cells[5] = slots_text(text->arena, view->schedule, i);
    }
    mw_text_table_print(text, &table);
}

void mw_schedule_view_text(MwText *text, const MwScheduleView *view, int columns)
{
    const MwPipelineInfo *info = mw_pipeline_info(view->schedule->kind);
    mw_text_printf(text, "%s: %s\n", info->name, info->what);
    mw_text_printf(text, "meshes %d, micro-batches %d, chunks %d\n\n", view->schedule->mesh_count,
                   view->schedule->micro_batches, view->schedule->chunks);
    mw_schedule_view_rows(text, view, columns);
    mw_text_add(text, "\n");
    mw_schedule_view_meshes(text, view);
    mw_text_add(text, "\n");
    mw_schedule_view_figures(text, view);
    mw_text_add(text, "\n");
}
