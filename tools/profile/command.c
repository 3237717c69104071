/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright profile`: measures this machine into a .cluster file (tools/profile/probe.h says
 * how). One plan is made and run for every size of group that divides the ranks; the first measures
 * the work of one device too, with all ranks at it. */
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/profile/probe.h"
#include "tools/ranks.h"

#include "base/beside.h"
#include "base/file.h"
#include "frontend/cluster/print.h"
#include "frontend/cluster/read.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 256, STEPS = 12 };

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    int ranks, steps;
    const char *output;
    const char *folder; /* temporary */
} Profile;

/* ---- Options ---- */

static const struct argp_option option_list[] = {
    {"ranks", 'n', "RANKS", 0, "How many ranks will run at once (one per core)", 0},
    {"output", 'o', "FILE", 0, "The .cluster file to write (machine.cluster)", 0},
    {"steps", 's', "STEPS", 0,
     "How often all is measured: fewer take less time, and are less exact (12)", 0},
    {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Profile *profile = state->input;
    switch (key) {
    case 'n':
        profile->ranks = mw_argument_count(state, "the number of ranks", arg);
        if (profile->ranks > MAX_RANKS)
            argp_error(state, "the number of ranks is at most %d, not %s", MAX_RANKS, arg);
        return 0;
    case 's':
        profile->steps = mw_argument_count(state, "the number of steps", arg);
        return 0;
    case 'o':
        profile->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is too much: the file to write is named by -o", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Running ---- */

static bool run_plan(Profile *profile, char *plan, char *trace)
{
    const char *const run[] = {
        mw_beside_program(profile->arena, "meshwright-run"),
        plan,
        "--steps",
        mw_arena_printf(profile->arena, "%d", 1 + profile->steps), /* the first does not count */
        "--trace",
        trace,
    };
    return mw_ranks_run(profile->arena, profile->ranks, run, MW_COUNT(run), -1, profile->diags);
}

/* Makes, runs and reads one probe, and adds what it measured to `cluster`. */
static bool measure(Profile *profile, int ways, bool has_work, MwCluster *cluster)
{
    MwProbes probes = mw_probe_new(profile->arena, profile->ranks, ways, has_work);
    char *plan = mw_arena_printf(profile->arena, "%s/probe.plan", profile->folder);
    char *trace = mw_arena_printf(profile->arena, "%s/trace", profile->folder);
    MwText text = {.arena = profile->arena};
    mw_plan_print(&text, probes.plan);
    if (!mw_file_write(plan, text.at, text.bytes, 0644)) {
        mw_diag_error(profile->diags, mw_span_none(), "cannot write '%s': %s", plan,
                      strerror(errno));
        return false;
    }
    /* A turn of a rank on a core is longer than most instructions, which a typical time hides. */
    const MwProbeTime which =
        profile->ranks > sysconf(_SC_NPROCESSORS_ONLN) ? MW_PROBE_MEAN : MW_PROBE_TYPICAL;
    if (!run_plan(profile, plan, trace) || !mw_probe_read(&probes, which, trace, profile->diags))
        return false;
    mw_probe_fill(cluster, &probes);
    return true;
}

/* Measures groups of every size that divides the ranks; with the first of them the work too. */
static bool measure_all(Profile *profile, MwCluster *cluster)
{
    bool has_work = true;
    for (int ways = profile->ranks == 1 ? 1 : 2; ways <= profile->ranks; ways++) {
        if (profile->ranks % ways)
            continue;
        fprintf(stderr, "meshwright: measuring %sgroups of %d\n", has_work ? "work and " : "",
                ways);
        if (!measure(profile, ways, has_work, cluster))
            return false;
        has_work = false;
    }
    return true;
}

/* ---- The file ---- */

static const char *cpu_name(MwArena *arena)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    const char *name = "a CPU";
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (colon) {
            name = mw_arena_strndup(arena, colon + 2, strcspn(colon + 2, "\n"));
            break;
        }
    }
    if (file)
        fclose(file);
    return name;
}

/* The output's file name without its folder and ending, as far as it is a name. */
static const char *cluster_name(MwArena *arena, const char *output)
{
    const char *slash = strrchr(output, '/');
    char *name = mw_arena_strdup(arena, slash ? slash + 1 : output);
    char *ending = strstr(name, ".cluster");
    if (ending && ending != name)
        *ending = '\0';
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            *c = '-';
    return isalpha((unsigned char)name[0]) ? name : mw_arena_printf(arena, "machine%s", name);
}

static bool write_cluster(Profile *profile, const MwCluster *cluster)
{
    MwText text = {.arena = profile->arena};
    time_t now = time(NULL);
    char day[32];
    strftime(day, sizeof day, "%Y-%m-%d", localtime(&now));
    mw_text_printf(&text,
                   "# Measured by `meshwright profile -n %d` on %s: %s, %ld cores.\n"
                   "# Products are of OpenBLAS on one thread a rank, with all ranks at work.\n",
                   profile->ranks, day, cpu_name(profile->arena), sysconf(_SC_NPROCESSORS_ONLN));
    mw_cluster_print(&text, cluster);
    MwSource source = {profile->output, text.at, text.bytes};
    MW_ASSERT(mw_cluster_read(profile->arena, &source, profile->diags));
    if (mw_file_write(profile->output, text.at, text.bytes, 0644))
        return true;
    mw_diag_error(profile->diags, mw_span_none(), "cannot write '%s': %s", profile->output,
                  strerror(errno));
    return false;
}

static MwCluster empty_cluster(Profile *profile)
{
    const int64_t unit = 1 << 20;
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / profile->ranks;
    return (MwCluster){.name = cluster_name(profile->arena, profile->output),
                       .backend = "cpu",
                       .nodes = 1,
                       .devices_per_node = profile->ranks,
                       .device.memory_bytes = memory / unit * unit};
}

/* ---- The command ---- */

static void remove_folder(Profile *profile)
{
    unlink(mw_arena_printf(profile->arena, "%s/probe.plan", profile->folder));
    unlink(mw_arena_printf(profile->arena, "%s/trace", profile->folder));
    for (int rank = 0; rank < profile->ranks; rank++) /* of a run that failed */
        unlink(mw_arena_printf(profile->arena, "%s/trace.rank%d", profile->folder, rank));
    rmdir(profile->folder);
}

/* Before everything is measured in vain. */
static bool can_write(Profile *profile)
{
    const char *slash = strrchr(profile->output, '/');
    const char *folder = slash ? mw_arena_strndup(profile->arena, profile->output,
                                                  (size_t)(slash - profile->output) + 1)
                               : ".";
    if (access(folder, W_OK) == 0)
        return true;
    mw_diag_error(profile->diags, mw_span_none(), "cannot write '%s': %s", profile->output,
                  strerror(errno));
    return false;
}

static void profile_machine(Profile *profile)
{
    if (!can_write(profile))
        return;
    char *folder = mw_arena_printf(profile->arena, "%s/meshwright-XXXXXX", mw_file_scratch());
    profile->folder = mkdtemp(folder);
    if (!profile->folder) {
        mw_diag_error(profile->diags, mw_span_none(), "cannot make the folder '%s': %s", folder,
                      strerror(errno));
        return;
    }
    mw_ranks_warn_if_busy(profile->diags);
    MwCluster cluster = empty_cluster(profile);
    if (measure_all(profile, &cluster))
        write_cluster(profile, &cluster);
    remove_folder(profile);
}

int mw_command_profile(int argc, char **argv)
{
    const struct argp argp = {
        option_list, parse_option,
        NULL,        "Measures this machine into a .cluster file to compile for.",
        NULL,        NULL,
        NULL};
    MwArena *arena = mw_arena_new();
    Profile profile = {.arena = arena,
                       .diags = mw_diags_new(arena),
                       .ranks = (int)mw_min(MAX_RANKS, sysconf(_SC_NPROCESSORS_ONLN)),
                       .steps = STEPS,
                       .output = "machine.cluster"};
    argp_parse(&argp, argc, argv, 0, NULL, &profile);
    profile_machine(&profile);
    mw_diags_print(profile.diags, stderr);
    int status = mw_diags_error_count(profile.diags) != 0;
    mw_arena_free(&arena);
    return status;
}
