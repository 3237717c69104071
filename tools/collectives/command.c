/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright collectives --cluster C --bytes A..B`. */
#include "tools/argument.h"
#include "tools/argument_bytes.h"
#include "tools/collectives/measure.h"
#include "tools/collectives/table.h"
#include "tools/commands.h"
#include "tools/data_files.h"
#include "tools/ranks.h"
#include "tools/show_options.h"

#include "base/backend.h"
#include "base/beside.h"
#include "frontend/cluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_SVG, FORMAT_COUNT } Format;

/* In the order of Format. */
#define FORMATS "text|json|svg"

typedef struct {
    MwArena *arena;
    const char *cluster;
    MwCollective kind;
    int64_t least, most;
    bool has_sizes;
    MwMeshShape mesh; /* no axes: all devices of the cluster along one */
    int axis;
    int ranks;     /* to be measured; 0: none */
    bool measures; /* this process is one of them */
    MwShowOptions show;
} Options;

enum {
    OPTION_CLUSTER = 256,
    OPTION_BYTES,
    OPTION_COLLECTIVE,
    OPTION_MESH,
    OPTION_AXIS,
    OPTION_RUN,
    OPTION_MEASURE
};
enum { MOST_RANKS = 256 };

static const char collective_text[] = "One of"
#define COLLECTIVE(id, name, ...) " " name
#include "base/collectives.def"
#undef COLLECTIVE
                                      " (all_reduce)";

static const struct argp_option option_list[] = {
    {"cluster", OPTION_CLUSTER, "FILE|NAME|local:N", 0, "The cluster", 0},
    {"bytes", OPTION_BYTES, "A..B", 0,
     "The sizes: A, its multiples by powers of four, and B (1KiB..1GiB; with --run, 1KiB..16MiB)",
     0},
    {"collective", OPTION_COLLECTIVE, "KIND", 0, collective_text, 0},
    {"mesh", OPTION_MESH, "SHAPE", 0,
     "The mesh whose axis communicates, as 4x8 (all devices along one axis)", 0},
    {"axis", OPTION_AXIS, "A", 0, "The axis, from 0 (0)", 0},
    {"run", OPTION_RUN, "RANKS", 0,
     "Measure all-reduces too, among ranks on this machine that stand for the devices (of local:N "
     "unless --cluster says which)",
     0},
    {"measure", OPTION_MEASURE, NULL, OPTION_HIDDEN, "", 0},
    {MW_SHOW_FORMAT(FORMATS)},
    {MW_SHOW_OUTPUT},
    {0}};

/* ---- Options ---- */

static void parse_sizes(Options *options, const struct argp_state *state, const char *text)
{
    const char *dots = strstr(text, "..");
    const char *least = dots ? mw_arena_strndup(options->arena, text, (size_t)(dots - text)) : text;
    options->least = mw_argument_bytes(state, "number of bytes", least);
    options->most = dots ? mw_argument_bytes(state, "number of bytes", dots + 2) : options->least;
    if (options->most < options->least)
        argp_error(state, "--bytes wants A..B, the lesser first, not '%s'", text);
}

static MwCollective parse_collective(const struct argp_state *state, const char *text)
{
    const char *names[MW_COLLECTIVE_COUNT];
    for (int i = 0; i < MW_COLLECTIVE_COUNT; i++)
        names[i] = mw_collective_name((MwCollective)i);
    return (MwCollective)mw_argument_choice(state, "collective", names, MW_COLLECTIVE_COUNT, text);
}

static int parse_axis(const struct argp_state *state, const char *text)
{
    char *end;
    const long axis = strtol(text, &end, 10);
    if (end == text || *end || axis < 0 || axis >= MW_MAX_AXES)
        argp_error(state, "an axis is a whole number from 0 to %d, not '%s'", MW_MAX_AXES - 1,
                   text);
    return (int)axis;
}

static int parse_ranks(const struct argp_state *state, const char *text)
{
    const int ranks = mw_argument_count(state, "the number of ranks", text);
    if (ranks < 2 || ranks > MOST_RANKS)
        argp_error(state, "--run wants from 2 to %d ranks, not %s", MOST_RANKS, text);
    return ranks;
}

/* Checks what takes all options to check. */
static void check_options(Options *options, const struct argp_state *state)
{
    if (options->ranks && options->kind != MW_ALL_REDUCE)
        argp_error(state, "--run measures all_reduce alone");
    if (options->ranks && (options->mesh.axis_count || options->axis))
        argp_error(state,
                   "--run measures all its ranks along one axis: leave out --mesh and --axis");
    if (options->ranks && !options->cluster)
        options->cluster = mw_arena_printf(options->arena, "local:%d", options->ranks);
    if (!options->cluster)
        argp_error(state, "for which cluster? Say --cluster FILE, NAME or local:N");
    if (options->ranks)
        options->mesh = (MwMeshShape){1, {options->ranks}};
    if (options->ranks && !options->has_sizes)
        options->most = 16 << 20;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case OPTION_CLUSTER:
        options->cluster = arg;
        return 0;
    case OPTION_BYTES:
        parse_sizes(options, state, arg);
        options->has_sizes = true;
        return 0;
    case OPTION_COLLECTIVE:
        options->kind = parse_collective(state, arg);
        return 0;
    case OPTION_MESH:
        options->mesh = mw_argument_mesh(state, arg);
        return 0;
    case OPTION_AXIS:
        options->axis = parse_axis(state, arg);
        return 0;
    case OPTION_RUN:
        options->ranks = parse_ranks(state, arg);
        return 0;
    case OPTION_MEASURE:
        options->measures = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is too much: the cluster is named by --cluster", arg);
        return 0;
    case ARGP_KEY_END:
        check_options(options, state);
        return 0;
    default:
        return mw_show_parse(&options->show, key, arg, state);
    }
}

/* ---- The table ---- */

static int64_t device_count(const MwMeshShape *mesh)
{
    int64_t devices = 1;
    for (int a = 0; a < mesh->axis_count; a++)
        devices *= mesh->size[a]; /* each at most 2^20 */
    return devices;
}

/* Checks the mesh against the cluster; without axes, it becomes that of all devices. */
static bool fit_mesh(Options *options, const MwCluster *cluster, MwDiags *diags)
{
    char text[MW_MESH_TEXT_BYTES];
    const int devices = mw_cluster_devices(cluster);
    MwMeshShape *mesh = &options->mesh;
    if (mesh->axis_count == 0)
        *mesh = (MwMeshShape){1, {devices}};
    mw_mesh_text(mesh, text);
    if (device_count(mesh) > devices)
        mw_diag_error(diags, mw_span_none(), "%s %s has %lld devices, cluster %s has %d",
                      options->ranks ? "--run" : "--mesh", text, (long long)device_count(mesh),
                      cluster->name, devices);
    else if (options->axis >= mesh->axis_count)
        mw_diag_error(diags, mw_span_none(), "mesh %s has no axis %d", text, options->axis);
    else if (mesh->size[options->axis] == 1)
        mw_diag_error(diags, mw_span_none(),
                      "axis %d of mesh %s has one device, which has nobody to communicate with",
                      options->axis, text);
    else
        return true;
    return false;
}

/* ---- Measuring ---- */

/* Ranks of this machine are CPUs. */
static bool has_ranks(const MwCluster *cluster, MwDiags *diags)
{
    if (!mw_backend_named(cluster->backend)->uses_nccl)
        return true;
    mw_diag_error(diags, mw_span_none(),
                  "--run measures CPU ranks of this machine, and cluster %s is not of such devices",
                  cluster->name);
    return false;
}

/* Starts ranks of this program that measure the times of the table, and takes what they print. */
static bool measure(Options *options, MwCollectiveTable *table, MwDiags *diags)
{
    MwArena *arena = options->arena;
    const char *const words[] = {
        mw_beside_program(arena, "meshwright"),
        "collectives",
        "--run",
        mw_arena_printf(arena, "%d", options->ranks),
        "--cluster",
        options->cluster,
        "--bytes",
        mw_arena_printf(arena, "%lld..%lld", (long long)options->least, (long long)options->most),
        "--measure",
    };
    FILE *printed = tmpfile();
    if (!printed) {
        mw_diag_error(diags, mw_span_none(), "cannot make a temporary file: %s", strerror(errno));
        return false;
    }
    mw_ranks_warn_if_busy(diags);
    const bool good =
        mw_ranks_run(arena, options->ranks, words, MW_COUNT(words), fileno(printed), diags);
    rewind(printed);
    const bool is_whole = good && mw_collective_times_read(table, printed, diags);
    fclose(printed);
    return is_whole;
}

static void show(MwText *text, const MwCollectiveTable *table, Format format)
{
    switch (format) {
    case FORMAT_TEXT:
        mw_collective_table_text(text, table);
        break;
    case FORMAT_JSON:
        mw_collective_table_json(text, table);
        break;
    case FORMAT_SVG:
        mw_collective_table_svg(text, table);
        break;
    case FORMAT_COUNT:
        MW_UNREACHABLE();
    }
}

static void compare(Options *options, MwDiags *diags)
{
    MwArena *arena = options->arena;
    const char *path = mw_data_file(arena, &mw_data_clusters, options->cluster);
    const MwCluster *cluster = mw_cluster_load(arena, path, diags);
    if (!cluster || !fit_mesh(options, cluster, diags) ||
        (options->ranks && !has_ranks(cluster, diags)))
        return;
    const MwCostModel model = mw_cost_model(cluster, &options->mesh);
    MwCollectiveTable table = mw_collective_table_new(arena, &model, options->kind, options->axis,
                                                      options->least, options->most);
    if (options->ranks)
        mw_collective_times_new(arena, &table);
    if (options->measures) {
        mw_collective_measure(arena, &table);
        return;
    }
    if (options->ranks && !measure(options, &table, diags))
        return;
    MwText text = {.arena = arena};
    show(&text, &table, (Format)options->show.format);
    mw_result_write(options->show.output, &text, diags);
}

int mw_command_collectives(int argc, char **argv)
{
    static const struct argp argp = {
        option_list,
        parse_option,
        NULL,
        "Compares the algorithms of a collective on a cluster: what it takes by each, for several "
        "sizes, and which one plans count with.\v"
        "docs/clusters.md explains what is shown.",
        NULL,
        NULL,
        NULL};
    Options options = {.arena = mw_arena_new(),
                       .kind = MW_ALL_REDUCE,
                       .least = 1 << 10,
                       .most = 1 << 30,
                       .show.formats = FORMATS};
    MwDiags *diags = mw_diags_new(options.arena);
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    compare(&options, diags);
    mw_diags_print(diags, stderr);
    const int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&options.arena);
    return status;
}
