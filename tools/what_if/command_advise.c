/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright advise MODEL.graph --clusters DIR|FILE|NAME`: a plan for every cluster and number of
 * its nodes, and which is best for what. */
#include "base/quantity.h"
#include "frontend/cluster/cluster.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/data_files.h"
#include "tools/what_if/columns.h"
#include "tools/what_if/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_CLUSTERS = 32, MOST_PLANS = 4096 };

typedef struct {
    const char *clusters[MOST_CLUSTERS]; /* folders, files and names */
    int cluster_count;
    const char *nodes; /* "1..64"; by default "1x", what each file says */
    double samples;    /* to be trained on; 0: not given */
    double budget_usd, deadline_s;
    MwWhatIfOptions what_if;
} Options;

enum { OPTION_CLUSTERS = 512, OPTION_NODES, OPTION_SAMPLES, OPTION_BUDGET, OPTION_DEADLINE };

static const struct argp_option option_list[] = {
    {"clusters", OPTION_CLUSTERS, "DIR|FILE|NAME", 0,
     "Compare this cluster, or all .cluster files of a folder; may be given several times", 0},
    {"nodes", OPTION_NODES, "VALUES", 0,
     "Compare so many nodes of each cluster: 1..64 doubles, 2,3,6 are these (as its file says)", 0},
    {"samples", OPTION_SAMPLES, "N", 0,
     "Rows of the batch to train on in all, such as 1e9: their time and cost are shown", 0},
    {"budget", OPTION_BUDGET, "USD", 0, "Find the least time that costs no more; with --samples",
     0},
    {"deadline", OPTION_DEADLINE, "TIME", 0,
     "Find the least cost that takes no longer, such as 12h or 30d; with --samples", 0},
    MW_WHAT_IF_ROWS};

/* ---- Options ---- */

static double parse_amount(const struct argp_state *state, const char *what, const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value > 0 && value <= 1e18))
        argp_error(state, "%s is a number greater than 0, at most 1e18, not '%s'", what, text);
    return value;
}

static void check_options(const Options *options, const struct argp_state *state)
{
    if (options->cluster_count == 0)
        argp_error(state, "which clusters? Say --clusters DIR, FILE or NAME");
    if (options->budget_usd > 0 && options->deadline_s > 0)
        argp_error(state, "--budget and --deadline are two questions: ask one at a time");
    if ((options->budget_usd > 0 || options->deadline_s > 0) && options->samples == 0)
        argp_error(state, "how much is to be done for that? Say --samples N");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case OPTION_CLUSTERS:
        if (options->cluster_count == MOST_CLUSTERS)
            argp_error(state, "--clusters is given more than %d times", MOST_CLUSTERS);
        options->clusters[options->cluster_count++] = arg;
        return 0;
    case OPTION_NODES:
        options->nodes = arg;
        return 0;
    case OPTION_SAMPLES:
        options->samples = parse_amount(state, "the number of samples", arg);
        return 0;
    case OPTION_BUDGET:
        options->budget_usd = parse_amount(state, "a budget", arg);
        return 0;
    case OPTION_DEADLINE:
        options->deadline_s = mw_argument_duration(state, "a deadline", arg);
        if (options->deadline_s == 0)
            argp_error(state, "a deadline is more than 0");
        return 0;
    case ARGP_KEY_END:
        check_options(options, state);
        return 0;
    default:
        return mw_what_if_parse(&options->what_if, key, arg, state);
    }
}

/* False after an error: an option of planning is given that `advise` decides on. */
static bool check_asked(const MwToolOptions *options, MwDiags *diags)
{
    for (int i = 0; i < options->asked.count; i++) {
        const char *name = options->asked.at[i].name;
        if (strcmp(name, "--cluster") != 0 && strcmp(name, "--objective") != 0)
            continue;
        mw_diag_error(
            diags, mw_span_none(),
            "leave out %s: advise compares the clusters of --clusters, and finds both the "
            "least time and the least cost",
            name);
        return false;
    }
    return true;
}

/* ---- What is compared ---- */

typedef struct {
    const char *cluster; /* its name, for people */
    int nodes;
} Candidate;

typedef struct {
    MW_VEC(Candidate) candidates; /* of each variant */
    MwVariants variants;
    bool has_prices; /* some cluster has one */
    MwWhatIfAxis cluster_axis, nodes_axis;
} Comparison;

static bool find_paths(MwSession *session, const Options *options, MwDataNames *paths)
{
    MwArena *arena = session->options.arena;
    for (int i = 0; i < options->cluster_count; i++) {
        MwDataNames found = {0};
        struct stat info;
        const char *name = options->clusters[i];
        if (stat(name, &info) != 0 || !S_ISDIR(info.st_mode))
            mw_vec_push(arena, &found, mw_data_file(arena, &mw_data_clusters, name));
        else if (!mw_data_paths(arena, &mw_data_clusters, name, &found, session->diags))
            return false;
        for (int f = 0; f < found.count; f++)
            mw_vec_push(arena, paths, found.at[f]);
    }
    return true;
}

/* Adds a cluster with some of its nodes, "4" or "2x". */
static bool add_candidate(MwSession *session, Comparison *comparison, const char *path,
                          const MwCluster *cluster, const char *nodes)
{
    MwArena *arena = session->options.arena;
    const MwWhatIfAxis *axis = &comparison->nodes_axis;
    MwVariant variant = mw_variant(&session->options);
    MwCluster changed = *cluster;
    if (!mw_cluster_figure_set(arena, &changed, axis->figure,
                               mw_what_if_axis_source(arena, axis, nodes), session->diags))
        return false;
    mw_variant_set(arena, &variant, &comparison->cluster_axis, path);
    mw_variant_set(arena, &variant, axis, nodes);
    mw_vec_push(arena, &comparison->variants, variant);
    mw_vec_push(arena, &comparison->candidates, ((Candidate){cluster->name, changed.nodes}));
    return true;
}

static bool add_cluster(MwSession *session, Comparison *comparison, const char *path)
{
    const MwCluster *cluster = mw_cluster_load(session->options.arena, path, session->diags);
    if (!cluster)
        return false;
    comparison->has_prices = comparison->has_prices || mw_cluster_usd_per_h(cluster) > 0;
    for (int i = 0; i < comparison->nodes_axis.values.count; i++)
        if (!add_candidate(session, comparison, path, cluster, comparison->nodes_axis.values.at[i]))
            return false;
    return true;
}

static bool compare(MwSession *session, const Options *options, Comparison *comparison)
{
    MwArena *arena = session->options.arena;
    MwDataNames paths = {0};
    comparison->cluster_axis = (MwWhatIfAxis){.kind = MW_WHAT_IF_OPTION, .name = "--cluster"};
    comparison->nodes_axis = (MwWhatIfAxis){.kind = MW_WHAT_IF_FIGURE,
                                            .name = "nodes",
                                            .title = "--nodes",
                                            .figure = mw_cluster_figure(arena, "nodes")};
    if (!find_paths(session, options, &paths) ||
        !mw_what_if_axis_values(arena, options->nodes, &comparison->nodes_axis, session->diags))
        return false;
    for (int i = 0; i < paths.count; i++)
        if (!add_cluster(session, comparison, paths.at[i]))
            return false;
    if (comparison->variants.count > MOST_PLANS)
        mw_diag_error(session->diags, mw_span_none(), "more than %d plans are too many",
                      MOST_PLANS);
    if (options->budget_usd > 0 && !comparison->has_prices)
        mw_diag_error(session->diags, mw_span_none(),
                      "--budget: none of the clusters has a price: give them `node_price`, or "
                      "`price` in the section `device`");
    return mw_diags_error_count(session->diags) == 0;
}

/* ---- What is best ---- */

/* Seconds for all samples, or for a step where no number of samples is given; infinite: no plan. */
static double time_of(const Options *options, const MwVariantResult *result)
{
    if (result->error || (options->samples > 0 && result->samples_per_s == 0))
        return INFINITY;
    return options->samples > 0 ? options->samples / result->samples_per_s : result->step_s;
}

/* USD for the same; infinite where there is no price. */
static double cost_of(const Options *options, const MwVariantResult *result)
{
    if (result->error || result->usd_per_h == 0)
        return INFINITY;
    return options->samples > 0 ? options->samples * result->usd_per_sample : result->usd_per_step;
}

static double devices_of(const Options *options, const MwVariantResult *result)
{
    (void)options;
    return result->error ? INFINITY : result->devices;
}

typedef double (*Amount)(const Options *options, const MwVariantResult *result);

/* Marks the row of the least amount among those of which `limited` is at most `limit`; of equal
 * ones that of the fewest devices. False: there is none. */
static bool mark_least(MwWhatIfTable *table, const Comparison *comparison, const Options *options,
                       Amount amount, Amount limited, double limit, const char *remark)
{
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < comparison->variants.count; i++) {
        const MwVariantResult *result = &comparison->variants.at[i].result;
        const double here = amount(options, result);
        const bool is_allowed = isfinite(here) && limited(options, result) <= limit;
        const bool is_leaner = best >= 0 && here == least &&
                               result->devices < comparison->variants.at[best].result.devices;
        if (!is_allowed || (here >= least && !is_leaner))
            continue;
        best = i;
        least = here;
    }
    if (best < 0)
        return false;
    MwWhatIfRow *row = &table->rows.at[best];
    row->remark =
        row->remark ? mw_arena_printf(table->arena, "%s, %s", row->remark, remark) : remark;
    return true;
}

static void mark(MwWhatIfTable *table, const Comparison *comparison, const Options *options)
{
    bool is_kept = true;
    mark_least(table, comparison, options, time_of, time_of, INFINITY, "least time");
    mark_least(table, comparison, options, cost_of, cost_of, INFINITY, "least cost");
    if (options->budget_usd > 0)
        is_kept = mark_least(table, comparison, options, time_of, cost_of, options->budget_usd,
                             "least time within the budget");
    else if (options->deadline_s > 0 && comparison->has_prices)
        is_kept = mark_least(table, comparison, options, cost_of, time_of, options->deadline_s,
                             "least cost within the deadline");
    else if (options->deadline_s > 0)
        is_kept = mark_least(table, comparison, options, devices_of, time_of, options->deadline_s,
                             "fewest devices within the deadline");
    if (!is_kept)
        mw_vec_push(table->arena, &table->notes,
                    options->budget_usd > 0 ? "No plan keeps to the budget."
                                            : "No plan keeps to the deadline.");
}

/* ---- The table ---- */

static MwWhatIfTable make_table(const MwSession *session, const Comparison *comparison,
                                const Options *options)
{
    MwArena *arena = session->options.arena;
    MwWhatIfTable table = {.arena = arena, .title = session->options.model};
    mw_what_if_column(&table, "cluster", "cluster");
    const int nodes = mw_what_if_column(&table, "nodes", "nodes");
    mw_what_if_columns(&table);
    const int time = mw_what_if_column(&table, "total_s", "time of all");
    const int cost = mw_what_if_column(&table, "total_usd", "cost of all");
    mw_what_if_columns_chart(&table, nodes, "step_s", mw_seconds_text);
    if (comparison->has_prices)
        mw_what_if_columns_chart(&table, nodes, "usd_per_million_samples", mw_usd_text);
    for (int i = 0; i < comparison->variants.count; i++) {
        const MwVariantResult *result = &comparison->variants.at[i].result;
        const Candidate *candidate = &comparison->candidates.at[i];
        MwWhatIfRow *row = mw_what_if_row(&table);
        row->cells[0] = mw_what_if_word(candidate->cluster);
        row->cells[nodes] = mw_what_if_count(arena, candidate->nodes);
        mw_what_if_columns_fill(&table, row, result);
        if (result->error || options->samples == 0)
            continue;
        const double time_s = time_of(options, result), usd = cost_of(options, result);
        if (isfinite(time_s))
            row->cells[time] = mw_what_if_number(time_s, mw_duration_text(arena, time_s));
        if (isfinite(usd))
            row->cells[cost] = mw_what_if_number(usd, mw_usd_text(arena, usd));
    }
    mark(&table, comparison, options);
    return table;
}

static void run(MwSession *session, const Options *options)
{
    Comparison comparison = {.has_prices = false};
    if (!mw_variants_can_plan(&session->options, session->diags) ||
        !check_asked(&session->options, session->diags) || !compare(session, options, &comparison))
        return;
    mw_variants_plan(session->options.arena, &comparison.variants, options->what_if.jobs);
    const MwWhatIfTable table = make_table(session, &comparison, options);
    mw_what_if_show(&options->what_if, &table, session->diags);
    mw_variants_check_any(&comparison.variants, session->diags);
}

int mw_command_advise(int argc, char **argv)
{
    static const struct argp own = {option_list, parse_option, NULL, NULL, NULL, NULL, NULL};
    Options options = {.nodes = "1x", .what_if.show.formats = MW_WHAT_IF_FORMATS};
    const MwToolCommand command = {
        .what = "Plans a model for several clusters and numbers of their nodes, and says which "
                "takes the least time, which costs least, and which keeps to a budget or a "
                "deadline.",
        .plans = true,
        .own = &own,
        .own_input = &options};
    MwSession session;
    mw_session_begin(&session, &command, argc, argv);
    run(&session, &options);
    return mw_session_end(&session);
}
