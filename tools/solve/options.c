/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/solve/options.h"

#include "base/threads.h"
#include "tools/argument.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_TIME_LIMIT = 256,
    OPTION_THREADS,
    OPTION_SEED,
    OPTION_GAP,
    OPTION_USAGE_LIMIT,
    OPTION_RELAX,
    OPTION_DUMP_ILP,
};

static const struct argp_option option_list[] = {
    {"time-limit", OPTION_TIME_LIMIT, "SECONDS", 0,
     "Stop after this time, which includes reading, with the best answer so far (no limit: the "
     "search ends by itself)",
     0},
    {"threads", OPTION_THREADS, "N", 0, "Number of threads that search (number of cores)", 0},
    {"seed", OPTION_SEED, "K", 0, "Seed of the pseudo-random decisions (0)", 0},
    {"gap", OPTION_GAP, "FRACTION", 0,
     "Stop when the answer is proven to be within this fraction of the optimum, such as 0.01 or 1% "
     "(0)",
     0},
    {"usage-limit", OPTION_USAGE_LIMIT, "USAGE", 0, "Use this limit instead of that in the file",
     0},
    {"relax", OPTION_RELAX, NULL, 0,
     "If no answer keeps the limit, give one that exceeds it by the least", 0},
    {"output", 'o', "FILE", 0, "Write the answer to FILE, as JSON, instead of standard output", 0},
    {"dump-ilp", OPTION_DUMP_ILP, "FILE", 0,
     "Write the problem as an integer program instead of solving it: CPLEX LP, or MPS if FILE ends "
     "in .mps",
     0},
    {"quiet", 'q', NULL, 0, "Print no progress", 0},
    {"verbose", 'v', NULL, 0, "Print the steps of the search, too", 0},
    {0}};

static const char doc[] =
    "Solves a strategy-selection problem: one strategy for each node, least cost, a limit of usage "
    "at every time.\v"
    "Ctrl-C ends the search with the best answer so far, a second one at once.\n\n"
    "Exit status: 0 with an answer, 1 if the problem cannot be read or the answer not be written, "
    "2 if it is proven that there is no answer, 3 if none was found in time, 4 with an answer that "
    "exceeds the limit (--relax), 64 for wrong usage.";

/* Parses an unsigned integer of at most 64 bits. */
static uint64_t parse_whole(const struct argp_state *state, const char *what, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno == ERANGE)
        argp_error(state, "%s is a whole number of at least 0, not '%s'", what, text);
    return value;
}

static int parse_threads(const struct argp_state *state, const char *text)
{
    int threads = mw_argument_count(state, "the number of threads", text);
    if (threads > MW_MOST_THREADS)
        argp_error(state, "the number of threads is at most %d, not '%s'", MW_MOST_THREADS, text);
    return threads;
}

static int64_t parse_usage_limit(const struct argp_state *state, const char *text)
{
    uint64_t limit = parse_whole(state, "a limit of usage", text);
    if (limit > INT64_MAX)
        argp_error(state, "a limit of usage is at most %lld, not '%s'", (long long)INT64_MAX, text);
    return (int64_t)limit;
}

static double parse_gap(const struct argp_state *state, const char *text)
{
    char *end;
    double gap = strtod(text, &end);
    if (end > text && strcmp(end, "%") == 0) {
        gap /= 100;
        end++;
    }
    if (end == text || *end || !(gap >= 0 && gap < 1))
        argp_error(state, "a gap is a share below 1, like 0.01 or 1%%, not '%s'", text);
    return gap;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    MwSolveToolOptions *options = state->input;
    switch (key) {
    case OPTION_TIME_LIMIT:
        options->solve.time_limit_s = mw_argument_seconds(state, arg);
        return 0;
    case OPTION_THREADS:
        options->solve.threads = parse_threads(state, arg);
        return 0;
    case OPTION_SEED:
        options->solve.seed = parse_whole(state, "a seed", arg);
        return 0;
    case OPTION_GAP:
        options->solve.gap = parse_gap(state, arg);
        return 0;
    case OPTION_USAGE_LIMIT:
        options->usage_limit = parse_usage_limit(state, arg);
        options->has_usage_limit = true;
        return 0;
    case OPTION_RELAX:
        options->solve.relax = true;
        return 0;
    case OPTION_DUMP_ILP:
        options->dump_ilp = arg;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case 'v':
        options->verbose = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->problem)
            argp_error(state, "one problem at a time: '%s' is a second", arg);
        options->problem = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->problem)
            argp_error(state, "which problem? Say FILE.json or FILE.json.gz");
        if (options->dump_ilp && options->output)
            argp_error(state, "--dump-ilp writes no answer: leave -o out");
        if (options->quiet && options->verbose)
            argp_error(state, "--quiet and --verbose are opposites");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

MwSolveToolOptions mw_solve_options_parse(int argc, char **argv)
{
    const struct argp argp = {option_list, parse_option, "PROBLEM.json[.gz]", doc, NULL,
                              NULL,        NULL};
    MwSolveToolOptions options = {.solve.threads = mw_parallel_threads()};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    return options;
}
