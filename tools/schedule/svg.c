/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `schedule --format svg`: a picture of its own, without scripts or fonts. Each task is a box in
 * the colour of its kind, paler in later chunks; pointing at one gives its task and times. */
#include "tools/schedule/view.h"

#include <stdio.h>
#include <string.h>

/* Lengths in pixels. */
enum {
    WIDTH = 1200,
    MARGIN = 16,
    HEAD = 64,  /* width of the names of the meshes, left of their rows */
    TOP = 48,   /* height above the first row */
    ROW = 28,   /* height from row to row */
    BOX = 24,   /* height of a task */
    LETTER = 7, /* width of a letter of a label, about */
    TEXT_HEIGHT = 20,
    SWATCH = 12,   /* side of a box in the legend */
    MIN_LINED = 5, /* least mean width at which boxes have lines between them */
};

static double x_of(const MwScheduleView *view, double time)
{
    return MARGIN + HEAD + time * (WIDTH - 2 * MARGIN - HEAD) / view->timeline->total;
}

static void add_label(MwText *text, double x, double y, const char *label)
{
    mw_text_printf(text, "<text x=\"%.2f\" y=\"%.2f\">%s</text>\n", x, y, label);
}

static const char *const classes[MW_TASK_KIND_COUNT] = {"f", "b", "b", "w"};

static void add_box(MwText *text, const MwScheduleView *view, int mesh, int k)
{
    MwTask task = view->schedule->meshes[mesh].tasks[k];
    MwTaskTime time = view->timeline->meshes[mesh].tasks[k];
    char label[MW_SCHEDULE_LABEL_BYTES];
    double x = x_of(view, time.start), width = x_of(view, time.end) - x, y = TOP + ROW * mesh;
    double opacity = 1 - 0.6 * task.chunk / view->schedule->chunks;
    mw_schedule_view_label(task, label);
    mw_text_printf(text,
                   "<rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" "
                   "fill-opacity=\"%.2f\"><title>%s of micro-batch %d, chunk %d: %s to %s"
                   "</title></rect>\n",
                   classes[task.kind], x, y, width, BOX, opacity, mw_task_kind_name(task.kind),
                   task.micro_batch, task.chunk,
                   mw_schedule_view_time(view, text->arena, time.start, 6),
                   mw_schedule_view_time(view, text->arena, time.end, 6));
    if (width >= LETTER * (double)strlen(label) + 4)
        mw_text_printf(text, "<text class=\"l\" x=\"%.2f\" y=\"%.0f\">%s</text>\n", x + width / 2,
                       y + BOX * 0.68, label);
}

static void add_row(MwText *text, const MwScheduleView *view, int mesh)
{
    char name[32];
    snprintf(name, sizeof name, "mesh %d", mesh);
    add_label(text, MARGIN, TOP + ROW * mesh + BOX * 0.68, name);
    mw_text_printf(text, "<rect class=\"idle\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                   MARGIN + HEAD, TOP + ROW * mesh, WIDTH - 2 * MARGIN - HEAD, BOX);
    for (int k = 0; k < view->schedule->meshes[mesh].task_count; k++)
        add_box(text, view, mesh, k);
}

static void add_legend(MwText *text, const MwPipelineSchedule *schedule, double y)
{
    double x = MARGIN;
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++) {
        const char *meaning = mw_schedule_view_meaning(schedule, (MwTaskKind)kind);
        if (!meaning)
            continue;
        mw_text_printf(text,
                       "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\"/>\n",
                       classes[kind], x, y - SWATCH + 2, SWATCH, SWATCH);
        add_label(text, x + SWATCH + 4, y, meaning);
        x += SWATCH + LETTER * (double)strlen(meaning) + MARGIN;
    }
}

void mw_schedule_view_svg(MwText *text, const MwScheduleView *view)
{
    const MwPipelineSchedule *schedule = view->schedule;
    const MwPipelineInfo *info = mw_pipeline_info(schedule->kind);
    const int bottom = TOP + ROW * schedule->mesh_count;
    const int height = bottom + 2 * TEXT_HEIGHT + MARGIN;
    MwText line = {.arena = text->arena};
    mw_text_printf(text,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n",
                   WIDTH, height, WIDTH, height);
    mw_text_printf(text,
                   "<style>text{font:12px sans-serif;fill:#222}.l{text-anchor:middle}"
                   "rect{stroke:#fff;stroke-width:%g}.idle{fill:#eee}.f{fill:#8ab4e8}"
                   ".b{fill:#7cc8a4}.w{fill:#f2c14e}</style>\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                   WIDTH / view->clocks->total < MIN_LINED ? 0.1 : 1);
    mw_text_printf(&line, "%s, %d meshes, %d micro-batches: %s", info->name, schedule->mesh_count,
                   schedule->micro_batches, info->what);
    add_label(text, MARGIN, TOP - TEXT_HEIGHT, line.at);
    for (int i = 0; i < schedule->mesh_count; i++)
        add_row(text, view, i);
    add_legend(text, schedule, bottom + TEXT_HEIGHT);
    line = (MwText){.arena = text->arena};
    mw_schedule_view_figures(&line, view);
    add_label(text, MARGIN, bottom + 2 * TEXT_HEIGHT, line.at);
    mw_text_add(text, "</svg>\n");
}
