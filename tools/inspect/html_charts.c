/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/html_charts.h"

#include "base/quantity.h"
#include "base/vec.h"
#include "runtime/plan/live.h"
#include "runtime/plan/origin.h"
#include "tools/inspect/chart.h"
#include "tools/inspect/html_page.h"
#include "tools/text_table.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = MW_CHART_WIDTH,
    LEFT = MW_CHART_LEFT,
    RIGHT = MW_CHART_RIGHT,
    TOP = MW_CHART_TOP,
    BOTTOM = MW_CHART_BOTTOM
};
/* Heights in pixels. */
enum { MEMORY_HEIGHT = 220, ROOFLINE_HEIGHT = 420 };
/* A task has its name and a line where there are so few. */
enum { MOST_NAMED_TASKS = 48, LETTER = 7 };

/* ---- Memory ---- */

typedef struct {
    const MwPlan *plan;
    const MwPlanMesh *mesh;
    MwPlanLive live;
    double *begin_s; /* [points + 1] when each begins, where the mesh never waits */
    double step_s;
} Memory;

static int point_count(const Memory *memory)
{
    return memory->live.first[memory->mesh->task_count];
}

static void time_points(MwArena *arena, Memory *memory)
{
    const MwPlanMesh *mesh = memory->mesh;
    double at_s = 0;
    memory->begin_s = MW_NEW(arena, double, point_count(memory) + 1);
    for (int t = 0; t < mesh->task_count; t++) {
        const MwPlanProgram *program = &mesh->programs[mesh->tasks[t].program];
        for (int p = memory->live.first[t]; p < memory->live.first[t + 1]; p++) {
            const int i = p - memory->live.first[t];
            memory->begin_s[p] = at_s;
            if (i < program->instr_count)
                at_s += program->instrs[i].time_s * mw_plan_instr_runs(program, i);
        }
    }
    memory->begin_s[point_count(memory)] = memory->step_s = at_s;
}

static double time_x(const Memory *memory, double time_s)
{
    const double share = memory->step_s > 0 ? time_s / memory->step_s : 0;
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double bytes_y(const Memory *memory, double bytes)
{
    const double share = memory->mesh->arena_bytes ? bytes / (double)memory->mesh->arena_bytes : 0;
    return MEMORY_HEIGHT - BOTTOM - share * (MEMORY_HEIGHT - TOP - BOTTOM);
}

/* The outline of what is live: one column a pixel at most, which has the most of its points. */
static void add_area(MwText *out, const Memory *memory)
{
    const double floor_y = bytes_y(memory, 0);
    mw_text_printf(out, "<path class=\"area\" d=\"M%d %.1f", LEFT, floor_y);
    for (int p = 0; p < point_count(memory);) {
        const double x = floor(time_x(memory, memory->begin_s[p]));
        int64_t most = 0;
        for (; p < point_count(memory) && time_x(memory, memory->begin_s[p]) < x + 1; p++)
            most = mw_max(most, memory->live.bytes[p]);
        mw_text_printf(out, "L%.0f %.1fH%.1f", x, bytes_y(memory, (double)most),
                       time_x(memory, memory->begin_s[p]));
    }
    mw_text_printf(out, "V%.1fZ\"/>\n", floor_y);
}

static void add_tasks(MwText *out, const Memory *memory)
{
    const MwPlanMesh *mesh = memory->mesh;
    for (int t = 0; t < mesh->task_count && mesh->task_count <= MOST_NAMED_TASKS; t++) {
        const MwPlanTask *task = &mesh->tasks[t];
        const double x = time_x(memory, memory->begin_s[memory->live.first[t]]);
        const double end = time_x(memory, memory->begin_s[memory->live.first[t + 1]]);
        const char *name = mesh->programs[task->program].name;
        if (task->micro_batch >= 0 && mesh->task_count > 3)
            name = mw_arena_printf(out->arena, "%s %d", name, task->micro_batch);
        mw_chart_line(out, "grid", (double[]){x, TOP}, (double[]){x, MEMORY_HEIGHT - BOTTOM});
        if (end - x > LETTER * (double)strlen(name))
            mw_chart_label(out, (x + end) / 2, MEMORY_HEIGHT - BOTTOM + 16, "middle", name);
    }
}

static int greatest_point(const Memory *memory)
{
    int greatest = 0;
    for (int p = 1; p < point_count(memory); p++)
        if (memory->live.bytes[p] > memory->live.bytes[greatest])
            greatest = p;
    return greatest;
}

/* "9.53 MB are the most that is live, at layers.1.mlp.gelu (gelu) in backward." */
static void describe_memory(MwText *out, const Memory *memory)
{
    MwArena *arena = out->arena;
    const MwPlanMesh *mesh = memory->mesh;
    const int point = greatest_point(memory);
    int task = 0;
    while (memory->live.first[task + 1] <= point)
        task++;
    const MwPlanProgram *program = &mesh->programs[mesh->tasks[task].program];
    mw_text_printf(out, "<p>The arena is %s; the most that is live at a time is %s",
                   mw_bytes_text(arena, (double)mesh->arena_bytes),
                   mw_bytes_text(arena, (double)memory->live.bytes[point]));
    if (point - memory->live.first[task] < program->instr_count) {
        mw_text_add(out, ", at ");
        mw_html_escaped(out,
                        mw_plan_instr_title(arena, memory->plan, mesh,
                                            &program->instrs[point - memory->live.first[task]]));
        mw_text_printf(out, " in %s", program->name);
    }
    mw_text_add(out, ". Time is that of the mesh's own work.</p>\n");
}

void mw_inspect_html_memory(MwText *out, const MwPlan *plan, const MwPlanMesh *mesh)
{
    Memory memory = {.plan = plan, .mesh = mesh, .live = mw_plan_live(out->arena, mesh)};
    const double top = bytes_y(&memory, (double)mesh->arena_bytes);
    time_points(out->arena, &memory);
    if (!isfinite(memory.step_s))
        return;
    mw_text_add(out, "<h2>memory over a step</h2>\n");
    describe_memory(out, &memory);
    mw_chart_begin(out, "memory", MEMORY_HEIGHT);
    add_area(out, &memory);
    add_tasks(out, &memory);
    mw_chart_line(out, "ceiling", (double[]){LEFT, top}, (double[]){WIDTH - RIGHT, top});
    mw_chart_line(out, "axis", (double[]){LEFT, MEMORY_HEIGHT - BOTTOM},
                  (double[]){WIDTH - RIGHT, MEMORY_HEIGHT - BOTTOM});
    for (int quarter = 0; quarter <= 4; quarter++) {
        const double bytes = (double)mesh->arena_bytes * quarter / 4;
        mw_chart_label(out, LEFT - 6, bytes_y(&memory, bytes) + 4, "end",
                       mw_bytes_text(out->arena, bytes));
    }
    mw_chart_label(out, WIDTH - RIGHT, MEMORY_HEIGHT - 8, "end",
                   mw_seconds_text(out->arena, memory.step_s));
    mw_chart_end(out);
}

/* ---- Roofline ---- */

/* Instructions that are alike. */
typedef struct {
    const char *title;
    double flops, bytes, time_s; /* in a step */
    int count;
} Point;

typedef struct {
    const MwPlanMesh *mesh;
    MW_VEC(Point) points;
    /* Powers of ten at the ends of both axes: FLOP per byte, FLOP/s. */
    int first_x, last_x, first_y, last_y;
} Roofline;

static void add_work(MwArena *arena, Roofline *roofline, const char *title,
                     const MwPlanInstr *instr, int runs)
{
    Point *point = NULL;
    for (int i = 0; i < roofline->points.count && !point; i++)
        if (strcmp(roofline->points.at[i].title, title) == 0)
            point = &roofline->points.at[i];
    if (!point) {
        point = mw_vec_add(arena, &roofline->points);
        *point = (Point){.title = title};
    }
    point->flops += runs * instr->flops;
    point->bytes += runs * instr->work_bytes;
    point->time_s += runs * instr->time_s;
    point->count++;
}

static void find_points(MwArena *arena, const MwPlan *plan, Roofline *roofline)
{
    const MwPlanMesh *mesh = roofline->mesh;
    for (int p = 0; p < mesh->program_count; p++) {
        const MwPlanProgram *program = &mesh->programs[p];
        int tasks = 0;
        for (int t = 0; t < mesh->task_count; t++)
            tasks += mesh->tasks[t].program == p;
        for (int i = 0; i < program->instr_count; i++) {
            const MwPlanInstr *instr = &program->instrs[i];
            if (instr->has_work && instr->flops > 0 && instr->work_bytes > 0 && instr->time_s > 0)
                add_work(arena, roofline,
                         mw_text_folded_name(arena, mw_plan_instr_title(arena, plan, mesh, instr)),
                         instr, tasks * mw_plan_instr_runs(program, i));
        }
    }
}

/* Whether the chart can show it. */
static bool is_drawn(const Point *point)
{
    const double rate = point->flops / point->time_s, intensity = point->flops / point->bytes;
    return rate > 1e-30 && rate < 1e30 && intensity > 1e-30 && intensity < 1e30;
}

static double reached_flops_per_s(const Point *point)
{
    return point->flops / point->time_s;
}

/* The axes reach from the least point to the ceilings. */
static void find_axes(Roofline *roofline)
{
    const MwPlanMesh *mesh = roofline->mesh;
    double least_x = mesh->flops_per_s / mesh->bytes_per_s, most_x = least_x;
    double least_y = mesh->flops_per_s, most_y = least_y;
    for (int i = 0; i < roofline->points.count; i++) {
        const Point *point = &roofline->points.at[i];
        least_x = fmin(least_x, point->flops / point->bytes);
        most_x = fmax(most_x, point->flops / point->bytes);
        least_y = fmin(least_y, reached_flops_per_s(point));
        most_y = fmax(most_y, reached_flops_per_s(point));
    }
    roofline->first_x = (int)floor(log10(least_x));
    roofline->last_x = (int)ceil(log10(most_x) + 0.01);
    roofline->first_y = (int)floor(log10(least_y));
    roofline->last_y = (int)ceil(log10(most_y) + 0.01);
}

static double intensity_x(const Roofline *roofline, double intensity)
{
    const double share =
        (log10(intensity) - roofline->first_x) / (roofline->last_x - roofline->first_x);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double flops_y(const Roofline *roofline, double flops_per_s)
{
    const double share =
        (log10(flops_per_s) - roofline->first_y) / (roofline->last_y - roofline->first_y);
    return ROOFLINE_HEIGHT - BOTTOM - share * (ROOFLINE_HEIGHT - TOP - BOTTOM);
}

/* "100 GFLOP/s" */
static const char *rate_text(MwArena *arena, double flops_per_s)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    int unit = 0;
    for (; flops_per_s >= 999.5 && unit + 1 < MW_COUNT(units); unit++)
        flops_per_s /= 1000;
    return mw_arena_printf(arena, "%.3g %sFLOP/s", flops_per_s, units[unit]);
}

static void add_axes(MwText *out, const Roofline *roofline)
{
    const double bottom = ROOFLINE_HEIGHT - BOTTOM;
    for (int x = roofline->first_x; x <= roofline->last_x; x++) {
        const double at = intensity_x(roofline, pow(10, x));
        mw_chart_line(out, "grid", (double[]){at, TOP}, (double[]){at, bottom});
        mw_chart_label(out, at, bottom + 16, "middle",
                       mw_arena_printf(out->arena, "%g", pow(10, x)));
    }
    for (int y = roofline->first_y; y <= roofline->last_y; y++) {
        const double at = flops_y(roofline, pow(10, y));
        mw_chart_line(out, "grid", (double[]){LEFT, at}, (double[]){WIDTH - RIGHT, at});
        mw_chart_label(out, LEFT - 6, at + 4, "end", rate_text(out->arena, pow(10, y)));
    }
    mw_chart_label(out, (LEFT + WIDTH - RIGHT) / 2.0, ROOFLINE_HEIGHT - 6, "middle",
                   "arithmetic intensity, FLOP per byte");
}

/* Memory allows so many FLOP/s at each intensity, arithmetic so many at all; what lies below the
 * least of the axes is not drawn. */
static void add_ceilings(MwText *out, const Roofline *roofline)
{
    const MwPlanMesh *mesh = roofline->mesh;
    const double ridge = mesh->flops_per_s / mesh->bytes_per_s;
    const double begin =
        fmax(pow(10, roofline->first_x), pow(10, roofline->first_y) / mesh->bytes_per_s);
    const double ridge_at[] = {intensity_x(roofline, ridge), flops_y(roofline, mesh->flops_per_s)};
    if (begin < ridge)
        mw_chart_line(
            out, "ceiling",
            (double[]){intensity_x(roofline, begin), flops_y(roofline, begin * mesh->bytes_per_s)},
            ridge_at);
    mw_chart_line(out, "ceiling", ridge_at, (double[]){WIDTH - RIGHT, ridge_at[1]});
}

/* The area of a point is as its share of the step. */
static void add_point(MwText *out, const Roofline *roofline, const Point *point, double step_s)
{
    MwArena *arena = out->arena;
    const double share = step_s > 0 ? fmin(point->time_s / step_s, 1) : 0;
    mw_text_printf(out, "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
                   intensity_x(roofline, point->flops / point->bytes),
                   flops_y(roofline, reached_flops_per_s(point)), 3 + 30 * sqrt(share));
    mw_html_escaped(out, point->title);
    if (point->count > 1)
        mw_text_printf(out, " (x%d)", point->count);
    mw_text_printf(out, ": %s, %.3g FLOP per byte, %s in a step, %.1f %%</title></circle>\n",
                   rate_text(arena, reached_flops_per_s(point)), point->flops / point->bytes,
                   mw_seconds_text(arena, point->time_s), 100 * share);
}

void mw_inspect_html_roofline(MwText *out, const MwPlan *plan, const MwPlanMesh *mesh)
{
    Roofline roofline = {.mesh = mesh};
    if (!mesh->has_ceilings)
        return;
    find_points(out->arena, plan, &roofline);
    int drawn = 0;
    for (int i = 0; i < roofline.points.count; i++)
        if (is_drawn(&roofline.points.at[i]))
            roofline.points.at[drawn++] = roofline.points.at[i];
    roofline.points.count = drawn;
    if (!drawn)
        return;
    find_axes(&roofline);
    mw_text_printf(out,
                   "<h2>roofline</h2>\n<p>Predicted rates of what is computed, by FLOPs for each "
                   "byte of memory read or written. A device computes products at %s at most, and "
                   "moves %s a second. The larger a point, the more of the step it takes; pointing "
                   "at one names it.</p>\n",
                   rate_text(out->arena, mesh->flops_per_s),
                   mw_bytes_text(out->arena, mesh->bytes_per_s));
    mw_chart_begin(out, "roofline", ROOFLINE_HEIGHT);
    add_axes(out, &roofline);
    add_ceilings(out, &roofline);
    for (int i = 0; i < roofline.points.count; i++)
        add_point(out, &roofline, &roofline.points.at[i], mesh->costs.step_s);
    mw_chart_end(out);
}
