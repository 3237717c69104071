/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points lie from left to right at equal distances, one for each value of a label, numbers in
 * ascending order, since values are often doubled from one to the next, or words; up they lie from
 * 0. */
#include "tools/what_if/chart.h"

#include "tools/inspect/chart.h"
#include "tools/inspect/html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels: of the whole, of the names of lines, and of a line of text. */
enum { HEIGHT = 420, LEGEND = 230, LINE = 18, TICKS = 5 };

enum { MOST_NAMED = 20 /* lines that the legend has room for */ };

/* Told apart in light and in dark; lines beyond these begin with the first again. */
static const char *const colours[] = {"#3b7dd8", "#d9822b", "#3f9e5f", "#b04fb0",
                                      "#c94040", "#2aa5a5", "#8a7a30", "#7a7f88"};

typedef MW_VEC(const char *) Words;

typedef struct {
    const MwWhatIfTable *table;
    const MwWhatIfChart *chart;
    Words xs, lines; /* values of the label, and names of lines, in the order of the rows */
    double most;     /* at the top of the axis */
} Plot;

/* The index of a word, which is added where it is new. */
static int index_of(MwArena *arena, Words *words, const char *word)
{
    for (int i = 0; i < words->count; i++)
        if (strcmp(words->at[i], word) == 0)
            return i;
    mw_vec_push(arena, words, word);
    return words->count - 1;
}

static const char *x_of(const Plot *plot, const MwWhatIfRow *row)
{
    return row->cells[plot->chart->x].text;
}

/* "batch 256, stages 2": the labels but that of x. */
static const char *line_of(MwArena *arena, const Plot *plot, const MwWhatIfRow *row)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "");
    for (int c = 0; c < plot->table->label_count; c++)
        if (c != plot->chart->x)
            mw_text_printf(&text, "%s%s %s", text.bytes ? ", " : "",
                           plot->table->columns[c].heading, row->cells[c].text);
    return text.at;
}

static double y_value(const Plot *plot, const MwWhatIfRow *row)
{
    return row->cells[plot->chart->y].number;
}

/* The least of 1, 2 and 5 times a power of ten, TICKS times which is at least `most`. */
static double tick_step(double most)
{
    const double least = most / TICKS, power = pow(10, floor(log10(least)));
    const double steps[] = {power, 2 * power, 5 * power};
    for (int i = 0; i < MW_COUNT(steps); i++)
        if (steps[i] >= least * (1 - 1e-9))
            return steps[i];
    return 10 * power;
}

static int by_number(const void *a, const void *b)
{
    const double x = strtod(*(const char *const *)a, NULL);
    const double y = strtod(*(const char *const *)b, NULL);
    return (x > y) - (x < y);
}

static bool are_numbers(const MwWhatIfTable *table, int column)
{
    for (int r = 0; r < table->rows.count; r++)
        if (!table->rows.at[r].cells[column].is_number)
            return false;
    return true;
}

static Plot plot_of(MwArena *arena, const MwWhatIfTable *table, const MwWhatIfChart *chart)
{
    Plot plot = {.table = table, .chart = chart};
    for (int r = 0; r < table->rows.count; r++) {
        const MwWhatIfRow *row = &table->rows.at[r];
        index_of(arena, &plot.xs, x_of(&plot, row));
        index_of(arena, &plot.lines, line_of(arena, &plot, row));
        plot.most = fmax(plot.most, y_value(&plot, row));
    }
    if (plot.xs.count && are_numbers(table, chart->x))
        qsort(plot.xs.at, (size_t)plot.xs.count, sizeof *plot.xs.at, by_number);
    return plot;
}

static double x_at(const Plot *plot, int index)
{
    const double width = MW_CHART_WIDTH - MW_CHART_LEFT - LEGEND;
    return MW_CHART_LEFT + width * (index + 0.5) / plot->xs.count;
}

static double y_at(const Plot *plot, double value)
{
    const double height = HEIGHT - MW_CHART_TOP - MW_CHART_BOTTOM;
    return HEIGHT - MW_CHART_BOTTOM - height * value / plot->most;
}

static void add_axes(MwText *out, const Plot *plot, double step)
{
    const double right = MW_CHART_WIDTH - LEGEND, bottom = HEIGHT - MW_CHART_BOTTOM;
    for (int tick = 0; tick * step <= plot->most * (1 + 1e-9); tick++) {
        const double y = y_at(plot, tick * step);
        mw_chart_line(out, tick ? "grid" : "axis", (double[]){MW_CHART_LEFT, y},
                      (double[]){right, y});
        mw_chart_label(out, MW_CHART_LEFT - 6, y + 4, "end",
                       plot->chart->tick(out->arena, tick * step));
    }
    for (int i = 0; i < plot->xs.count; i++)
        mw_chart_label(out, x_at(plot, i), bottom + 16, "middle", plot->xs.at[i]);
    mw_chart_label(out, (MW_CHART_LEFT + right) / 2, HEIGHT - 6, "middle",
                   plot->table->columns[plot->chart->x].heading);
}

static void add_point(MwText *out, const Plot *plot, const MwWhatIfRow *row, const char *colour,
                      const double at[2])
{
    mw_text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>", at[0], at[1],
                   colour);
    mw_html_escaped(out, row->cells[plot->chart->y].text);
    mw_text_add(out, " at ");
    mw_html_escaped(out, x_of(plot, row));
    mw_text_add(out, "</title></circle>\n");
}

/* A point for each row of the line that was planned, and lines between neighbours. */
static void add_line(MwText *out, const Plot *plot, int line)
{
    MwArena *arena = out->arena;
    Words xs = plot->xs;
    const char *colour = colours[line % MW_COUNT(colours)];
    double last[2] = {0};
    bool has_last = false;
    for (int r = 0; r < plot->table->rows.count; r++) {
        const MwWhatIfRow *row = &plot->table->rows.at[r];
        if (strcmp(line_of(arena, plot, row), plot->lines.at[line]) != 0)
            continue;
        const double at[2] = {x_at(plot, index_of(arena, &xs, x_of(plot, row))),
                              y_at(plot, y_value(plot, row))};
        const bool is_planned = y_value(plot, row) > 0;
        if (is_planned && has_last)
            mw_text_printf(out,
                           "<line stroke=\"%s\" stroke-width=\"1.5\" x1=\"%.1f\" y1=\"%.1f\" "
                           "x2=\"%.1f\" y2=\"%.1f\"/>\n",
                           colour, last[0], last[1], at[0], at[1]);
        if (is_planned)
            add_point(out, plot, row, colour, at);
        memcpy(last, at, sizeof last);
        has_last = is_planned;
    }
}

static void add_legend(MwText *out, const Plot *plot)
{
    const int x = MW_CHART_WIDTH - LEGEND + 16;
    for (int i = 0; i < plot->lines.count && *plot->lines.at[i]; i++) {
        const int y = MW_CHART_TOP + LINE * (i + 1);
        if (i == MOST_NAMED) {
            mw_chart_label(out, x + 10, y, "start",
                           mw_arena_printf(out->arena, "and %d more", plot->lines.count - i));
            return;
        }
        mw_text_printf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/>\n", x, y - 4,
                       colours[i % MW_COUNT(colours)]);
        mw_chart_label(out, x + 10, y, "start", plot->lines.at[i]);
    }
}

static void add_chart(MwText *out, const MwWhatIfTable *table, const MwWhatIfChart *chart,
                      const char *style)
{
    Plot plot = plot_of(out->arena, table, chart);
    mw_chart_begin(out, "plans", HEIGHT);
    mw_text_add(out, style);
    if (plot.most > 0) {
        const double step = tick_step(plot.most);
        plot.most = step * ceil(plot.most / step - 1e-9);
        add_axes(out, &plot, step);
        for (int i = 0; i < plot.lines.count; i++)
            add_line(out, &plot, i);
        add_legend(out, &plot);
    }
    mw_chart_end(out);
}

void mw_what_if_chart(MwText *out, const MwWhatIfTable *table, const MwWhatIfChart *chart)
{
    add_chart(out, table, chart, "");
}

void mw_what_if_chart_file(MwText *out, const MwWhatIfTable *table)
{
    MwText style = {.arena = out->arena};
    mw_text_add(&style, "<style>text{font:12px sans-serif;fill:#222}.grid{stroke:#b8bcc4;"
                        "stroke-width:0.5}.axis{stroke:#222}</style>\n"
                        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    mw_chart_label(&style, MW_CHART_WIDTH - MW_CHART_RIGHT, HEIGHT - 6, "end", table->title);
    add_chart(out, table, &table->charts[0], style.at);
}
