/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collectives --format svg`: a picture of its own, without scripts or fonts. Seconds over bytes,
 * both in logarithms: a line for each algorithm, dashed where the library does not have it, and a
 * dot at what plans count with; small dots at measured times. */
#include "tools/collectives/table.h"

#include "base/quantity.h"
#include "tools/inspect/chart.h"

#include <math.h>

/* Lengths in pixels. */
enum { WIDTH = 960, HEIGHT = 520, LEFT = 72, RIGHT = 152, TOP = 40, BOTTOM = 48, LINE = 20 };

static const char *const colours[] = {"#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951",
                                      "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0"};

typedef struct {
    const MwCollectiveTable *table;
    double first_x, last_x; /* logarithms of the least and the greatest size */
    int first_y, last_y;    /* powers of ten of seconds, at the ends of the axis */
} Plot;

static double bytes_x(const Plot *plot, double bytes)
{
    const double range = plot->last_x - plot->first_x;
    const double share = range > 0 ? (log10(bytes) - plot->first_x) / range : 0.5;
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double time_y(const Plot *plot, double time_s)
{
    const double share = (log10(time_s) - plot->first_y) / (plot->last_y - plot->first_y);
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

static Plot plot_new(const MwCollectiveTable *table)
{
    double least = INFINITY, most = 0;
    for (int r = 0; r < table->row_count; r++) {
        const MwCollectiveRow *row = &table->rows[r];
        least = fmin(least, row->choice.time_s);
        most = fmax(most, row->choice.time_s);
        for (int c = 0; c < table->algorithm_count; c++) {
            const double measured_s = table->is_measured ? row->measured_s[c] : row->time_s[c];
            least = fmin(least, fmin(row->time_s[c], measured_s));
            most = fmax(most, fmax(row->time_s[c], measured_s));
        }
    }
    const int first_y = (int)floor(log10(least));
    return (Plot){.table = table,
                  .first_x = log10(table->rows[0].bytes),
                  .last_x = log10(table->rows[table->row_count - 1].bytes),
                  .first_y = first_y,
                  .last_y = (int)fmax(first_y + 1, ceil(log10(most)))};
}

static void add_axes(MwText *out, const Plot *plot)
{
    const double bottom = HEIGHT - BOTTOM, right = WIDTH - RIGHT;
    for (int r = 0; r < plot->table->row_count; r++) {
        const double bytes = plot->table->rows[r].bytes, x = bytes_x(plot, bytes);
        mw_chart_line(out, "grid", (double[]){x, TOP}, (double[]){x, bottom});
        mw_chart_label(out, x, bottom + 16, "middle", mw_collective_bytes_text(out->arena, bytes));
    }
    for (int power = plot->first_y; power <= plot->last_y; power++) {
        const double time_s = pow(10, power), y = time_y(plot, time_s);
        mw_chart_line(out, "grid", (double[]){LEFT, y}, (double[]){right, y});
        mw_chart_label(out, LEFT - 6, y + 4, "end", mw_seconds_text(out->arena, time_s));
    }
}

/* Small dots. */
static void add_measured(MwText *out, const Plot *plot, int column)
{
    for (int r = 0; r < plot->table->row_count; r++) {
        const MwCollectiveRow *row = &plot->table->rows[r];
        mw_text_printf(out,
                       "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" style=\"fill:%s\"><title>"
                       "measured: %s</title></circle>\n",
                       bytes_x(plot, row->bytes), time_y(plot, row->measured_s[column]),
                       colours[column], mw_seconds_text(out->arena, row->measured_s[column]));
    }
}

static void add_algorithm(MwText *out, const Plot *plot, int column)
{
    const MwCollectiveTable *table = plot->table;
    const char *name = mw_algorithm_name(table->algorithms[column]);
    const char *dashes = table->is_choice[column] ? "none" : "6 4";
    const double y = TOP + LINE * column;
    mw_text_add(out, "<polyline points=\"");
    for (int r = 0; r < table->row_count; r++)
        mw_text_printf(out, "%s%.1f,%.1f", r ? " " : "", bytes_x(plot, table->rows[r].bytes),
                       time_y(plot, table->rows[r].time_s[column]));
    mw_text_printf(out, "\" stroke=\"%s\" stroke-dasharray=\"%s\"><title>%s: %s</title>",
                   colours[column], dashes, name, mw_algorithm_what(table->algorithms[column]));
    mw_text_printf(out, "</polyline>\n<polyline points=\"%d,%.1f %d,%.1f\" stroke=\"%s\" ",
                   WIDTH - RIGHT + 16, y, WIDTH - RIGHT + 40, y, colours[column]);
    mw_text_printf(out, "stroke-dasharray=\"%s\"/>\n", dashes);
    mw_chart_label(out, WIDTH - RIGHT + 46, y + 4, "start", name);
}

static void add_choices(MwText *out, const Plot *plot)
{
    const MwCollectiveTable *table = plot->table;
    for (int r = 0; r < table->row_count; r++) {
        const MwCollectiveRow *row = &table->rows[r];
        mw_text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>%s: %s, %s</title>",
                       bytes_x(plot, row->bytes), time_y(plot, row->choice.time_s),
                       mw_collective_bytes_text(out->arena, row->bytes),
                       mw_seconds_text(out->arena, row->choice.time_s),
                       mw_collective_choice_name(&row->choice));
        mw_text_add(out, "</circle>\n");
    }
    const double y = TOP + LINE * table->algorithm_count;
    mw_text_printf(out, "<circle cx=\"%d\" cy=\"%.1f\" r=\"4\"/>\n", WIDTH - RIGHT + 28, y);
    mw_chart_label(out, WIDTH - RIGHT + 46, y + 4, "start", "in plans");
}

void mw_collective_table_svg(MwText *text, const MwCollectiveTable *table)
{
    const Plot plot = plot_new(table);
    MwText title = {.arena = text->arena};
    mw_text_printf(text,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n",
                   WIDTH, HEIGHT, WIDTH, HEIGHT);
    mw_text_add(text, "<style>text{font:12px sans-serif;fill:#222}.grid{stroke:#ddd}"
                      "polyline{fill:none;stroke-width:2}circle{fill:#222}</style>\n"
                      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    mw_collective_table_title(&title, table);
    mw_chart_label(text, LEFT, LINE, "start", title.at);
    add_axes(text, &plot);
    for (int c = 0; c < table->algorithm_count; c++) {
        add_algorithm(text, &plot, c);
        if (table->is_measured)
            add_measured(text, &plot, c);
    }
    add_choices(text, &plot);
    mw_chart_label(text, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "middle",
                   "bytes on each device");
    mw_text_add(text, "</svg>\n");
}
