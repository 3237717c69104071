/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright sweep MODEL.graph --over NAME=VALUES`: a plan for every combination of values. */
#include "base/quantity.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/what_if/columns.h"
#include "tools/what_if/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 8, MOST_POINTS = 4096 };

typedef struct {
    const char *over[MOST_AXES]; /* "NAME=VALUES" */
    int over_count;
    MwWhatIfOptions what_if;
} Options;

enum { OPTION_OVER = 512 };

static const struct argp_option option_list[] = {
    {"over", OPTION_OVER, "NAME=VALUES", 0,
     "Plan with each of these values of a size of the model (batch), a figure of the cluster "
     "(network.bandwidth, nodes) or an option (stages): 256,512 or 0.5x..4x or 25GB/s..100GB/s, "
     "where .. doubles; given several times, with every combination",
     0},
    MW_WHAT_IF_ROWS};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case OPTION_OVER:
        if (options->over_count == MOST_AXES)
            argp_error(state, "--over is given more than %d times", MOST_AXES);
        options->over[options->over_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (options->over_count == 0)
            argp_error(state, "what is to be varied? Say --over NAME=VALUES");
        return 0;
    default:
        return mw_what_if_parse(&options->what_if, key, arg, state);
    }
}

/* ---- Points ---- */

typedef struct {
    MwWhatIfAxis axes[MOST_AXES];
    int axis_count;
} Sweep;

static bool is_over_clusters(const Sweep *sweep)
{
    for (int a = 0; a < sweep->axis_count; a++)
        if (strcmp(sweep->axes[a].name, "--cluster") == 0)
            return true;
    return false;
}

/* Adds an axis; false after an error. */
static bool add_axis(MwSession *session, const char *over, Sweep *sweep)
{
    MwWhatIfAxis *axis = &sweep->axes[sweep->axis_count];
    if (!mw_what_if_axis(session->options.arena, &session->options, over, axis, session->diags))
        return false;
    for (int a = 0; a < sweep->axis_count; a++)
        if (strcmp(sweep->axes[a].name, axis->name) == 0) {
            mw_diag_error(session->diags, mw_span_none(),
                          "%s is given twice: write all of its values in one, as A,B", axis->title);
            return false;
        }
    sweep->axis_count++;
    return true;
}

/* Reads the axes, and checks the values of figures where there is one cluster to check them on. */
static bool read_axes(MwSession *session, const Options *options, Sweep *sweep)
{
    MwArena *arena = session->options.arena;
    for (int i = 0; i < options->over_count; i++)
        if (!add_axis(session, options->over[i], sweep))
            return false;
    if (is_over_clusters(sweep))
        return true;
    if (!mw_session_load_cluster(session))
        return false;
    for (int a = 0; a < sweep->axis_count; a++)
        mw_what_if_axis_check(arena, &sweep->axes[a], session->compilation.cluster, session->diags);
    return mw_diags_error_count(session->diags) == 0;
}

/* The value of an axis at a point; the last axis runs fastest. */
static const char *value_at(const Sweep *sweep, int point, int axis)
{
    for (int a = sweep->axis_count - 1; a > axis; a--)
        point /= sweep->axes[a].values.count;
    return sweep->axes[axis].values.at[point % sweep->axes[axis].values.count];
}

/* The number of combinations; 0 after an error. */
static int count_points(const Sweep *sweep, MwDiags *diags)
{
    int64_t points = 1;
    for (int a = 0; a < sweep->axis_count && points <= MOST_POINTS; a++)
        points *= sweep->axes[a].values.count;
    if (points <= MOST_POINTS)
        return (int)points;
    mw_diag_error(diags, mw_span_none(), "more than %d combinations of values are too many",
                  MOST_POINTS);
    return 0;
}

static MwVariants make_points(MwSession *session, const Sweep *sweep, int points)
{
    MwArena *arena = session->options.arena;
    MwVariants variants = {0};
    for (int p = 0; p < points; p++) {
        MwVariant variant = mw_variant(&session->options);
        for (int a = 0; a < sweep->axis_count; a++)
            mw_variant_set(arena, &variant, &sweep->axes[a], value_at(sweep, p, a));
        mw_vec_push(arena, &variants, variant);
    }
    return variants;
}

/* ---- The table ---- */

/* A value as a cell: a number, if it is nothing else. */
static MwWhatIfCell value_cell(const char *value)
{
    char *end;
    const double number = strtod(value, &end);
    const bool is_number = end > value && !*end && isfinite(number);
    return is_number ? (MwWhatIfCell){value, number, true} : mw_what_if_word(value);
}

static void note_measured(MwWhatIfTable *table, const MwSession *session, const Sweep *sweep)
{
    const MwCluster *cluster = session->compilation.cluster;
    for (int a = 0; cluster && a < sweep->axis_count; a++) {
        const MwWhatIfAxis *axis = &sweep->axes[a];
        if (!axis->figure || !mw_cluster_section_is_link(axis->figure->key->section))
            continue;
        const bool is_node = axis->figure->key->section == MW_SECTION_NODE;
        const MwLink *link = is_node ? &cluster->node_link : &cluster->network_link;
        if (link->measured_count)
            mw_vec_push(table->arena, &table->notes,
                        mw_arena_printf(table->arena,
                                        "%s: formulas take the place of the collectives that were "
                                        "measured on this link, in every row.",
                                        axis->name));
    }
}

static MwWhatIfTable make_table(MwSession *session, const Sweep *sweep, const MwVariants *variants)
{
    MwArena *arena = session->options.arena;
    MwWhatIfTable table = {.arena = arena};
    table.title = is_over_clusters(sweep)
                      ? session->options.model
                      : mw_arena_printf(arena, "%s on %s", session->options.model,
                                        session->compilation.cluster->name);
    for (int a = 0; a < sweep->axis_count; a++)
        mw_what_if_column(&table, sweep->axes[a].name, sweep->axes[a].name);
    mw_what_if_columns(&table);
    mw_what_if_columns_chart(&table, 0, "step_s", mw_seconds_text);
    for (int p = 0; p < variants->count; p++) {
        MwWhatIfRow *row = mw_what_if_row(&table);
        for (int a = 0; a < sweep->axis_count; a++)
            row->cells[a] = value_cell(value_at(sweep, p, a));
        mw_what_if_columns_fill(&table, row, &variants->at[p].result);
    }
    note_measured(&table, session, sweep);
    return table;
}

/* ---- The command ---- */

static void run(MwSession *session, const Options *options)
{
    Sweep sweep = {.axis_count = 0};
    if (!mw_variants_can_plan(&session->options, session->diags) ||
        !read_axes(session, options, &sweep))
        return;
    const int points = count_points(&sweep, session->diags);
    if (points == 0)
        return;
    MwVariants variants = make_points(session, &sweep, points);
    mw_variants_plan(session->options.arena, &variants, options->what_if.jobs);
    const MwWhatIfTable table = make_table(session, &sweep, &variants);
    mw_what_if_show(&options->what_if, &table, session->diags);
    mw_variants_check_any(&variants, session->diags);
}

int mw_command_sweep(int argc, char **argv)
{
    static const struct argp own = {option_list, parse_option, NULL, NULL, NULL, NULL, NULL};
    Options options = {.what_if.show.formats = MW_WHAT_IF_FORMATS};
    const MwToolCommand command = {
        .what = "Plans a model with every combination of values of its sizes, of figures of the "
                "cluster and of options, and shows what each gives.",
        .plans = true,
        .own = &own,
        .own_input = &options};
    MwSession session;
    mw_session_begin(&session, &command, argc, argv);
    run(&session, &options);
    return mw_session_end(&session);
}
