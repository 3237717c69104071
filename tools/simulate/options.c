/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/simulate/options.h"

#include "tools/argument.h"

#include <stdlib.h>
#include <string.h>

/* In the order of MwSimulateFormat. */
#define FORMATS "text|json"

/* Steps that are simulated, unless it is said, where tasks do not always take the same time. */
enum { DEFAULT_STEPS = 20 };

static const double DAY_S = 24 * 3600;

enum {
    OPTION_CLUSTER = 256,
    OPTION_MEASURED,
    OPTION_NO_CONTENTION,
    OPTION_NO_OVERLAP,
    OPTION_JITTER,
    OPTION_STRAGGLER,
    OPTION_SEED,
    OPTION_STEPS,
    OPTION_TRACE,
    OPTION_MTBF,
    OPTION_CHECKPOINT,
    OPTION_RESTART,
    OPTION_EVERY,
    OPTION_FOR
};

/* The options have their order in --help by groups. */
enum { GROUP_STEP = 1, GROUP_RUN, GROUP_SHOW };

static const struct argp_option option_list[] = {
    {0, 0, 0, 0, "A step:", GROUP_STEP},
    {"cluster", OPTION_CLUSTER, "FILE|NAME|local:N", 0,
     "Take the links of this cluster, and its nodes (the times of the plan)", GROUP_STEP},
    {"measured", OPTION_MEASURED, "TRACE", 0,
     "Take the times of instructions from a run's --trace, not from the plan", GROUP_STEP},
    {"no-contention", OPTION_NO_CONTENTION, NULL, 0,
     "Transfers share a link only where they go between the same meshes", GROUP_STEP},
    {"no-overlap", OPTION_NO_OVERLAP, "collectives|messages", OPTION_ARG_OPTIONAL,
     "These, or both, are in line with kernels, none beside them; may be repeated", GROUP_STEP},
    {"jitter", OPTION_JITTER, "X", 0,
     "Relative standard deviation of the time of a task on a device (0)", GROUP_STEP},
    {"straggler", OPTION_STRAGGLER, "RANK=X", 0,
     "What this rank computes takes X times as long; may be repeated", GROUP_STEP},
    {"steps", OPTION_STEPS, "N", 0, "Simulate N steps (1; 20 with --jitter)", GROUP_STEP},
    {"seed", OPTION_SEED, "N", 0, "Seed of all that is random (0)", GROUP_STEP},
    {0, 0, 0, 0, "A run, whose TIMEs are such as 30s, 10min, 5h and 30d:", GROUP_RUN},
    {"mtbf", OPTION_MTBF, "TIME", 0, "Mean time between failures of a device", GROUP_RUN},
    {"checkpoint", OPTION_CHECKPOINT, "TIME", 0, "How long a checkpoint stops the steps (0s)",
     GROUP_RUN},
    {"checkpoint-every", OPTION_EVERY, "TIME", 0,
     "Time of steps between checkpoints (that of Daly 2006, which is best)", GROUP_RUN},
    {"restart", OPTION_RESTART, "TIME", 0, "From a failure to the next step (0s)", GROUP_RUN},
    {"for", OPTION_FOR, "TIME", 0, "Length of the run (30d)", GROUP_RUN},
    {0, 0, 0, 0, "What is shown:", GROUP_SHOW},
    {"trace", OPTION_TRACE, "FILE", 0, "Write the first step to FILE, for Perfetto", GROUP_SHOW},
    {"format", MW_OPTION_FORMAT, FORMATS, 0, "What to write (text)", GROUP_SHOW},
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", GROUP_SHOW},
    {0}};

/* ---- Arguments ---- */

/* A number from `least` on, at most `most`. */
static double parse_factor(const struct argp_state *state, const char *what, const char *text,
                           double least, double most)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= least && value <= most))
        argp_error(state, "%s is a number from %g to %g, not '%s'", what, least, most, text);
    return value;
}

/* A length of time that is not 0. */
static double parse_time(const struct argp_state *state, const char *option, const char *text)
{
    const double time_s = mw_argument_duration(state, option, text);
    if (time_s == 0)
        argp_error(state, "%s is more than 0", option);
    return time_s;
}

static MwStraggler parse_straggler(const struct argp_state *state, const char *text)
{
    char *end;
    const long rank = strtol(text, &end, 10);
    if (end == text || *end != '=' || rank < 0 || rank > INT32_MAX)
        argp_error(state, "--straggler wants RANK=X, not '%s'", text);
    return (MwStraggler){
        (int)rank, parse_factor(state, "how much longer a straggler takes", end + 1, 1e-3, 1e3)};
}

static void parse_no_overlap(MwSimulateOptions *options, const char *text,
                             const struct argp_state *state)
{
    const bool collectives = !text || strcmp(text, "collectives") == 0;
    const bool messages = !text || strcmp(text, "messages") == 0;
    if (!collectives && !messages)
        argp_error(state, "--no-overlap is of collectives or messages, not of '%s'", text);
    options->collectives_in_line |= collectives;
    options->messages_in_line |= messages;
}

static uint64_t parse_seed(const struct argp_state *state, const char *text)
{
    char *end;
    const long long seed = strtoll(text, &end, 10);
    if (end == text || *end || seed < 0)
        argp_error(state, "the seed is a whole number from 0 on, not '%s'", text);
    return (uint64_t)seed;
}

/* ---- Options ---- */

/* Parses an option of the run; ARGP_ERR_UNKNOWN: it is another. */
static error_t parse_run(MwSimulateRunOptions *run, int key, const char *arg,
                         const struct argp_state *state)
{
    switch (key) {
    case OPTION_MTBF:
        run->mtbf_s = parse_time(state, "--mtbf", arg);
        return 0;
    case OPTION_CHECKPOINT:
        run->checkpoint_s = mw_argument_duration(state, "--checkpoint", arg);
        return 0;
    case OPTION_RESTART:
        run->restart_s = mw_argument_duration(state, "--restart", arg);
        return 0;
    case OPTION_EVERY:
        run->every_s = parse_time(state, "--checkpoint-every", arg);
        return 0;
    case OPTION_FOR:
        run->horizon_s = parse_time(state, "--for", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The same of a step. */
static error_t parse_step(MwSimulateCommand *command, int key, char *arg,
                          const struct argp_state *state)
{
    switch (key) {
    case OPTION_CLUSTER:
        command->cluster = arg;
        return 0;
    case OPTION_MEASURED:
        command->measured = arg;
        return 0;
    case OPTION_NO_CONTENTION:
        command->simulate.contention = false;
        return 0;
    case OPTION_NO_OVERLAP:
        parse_no_overlap(&command->simulate, arg, state);
        return 0;
    case OPTION_JITTER:
        command->simulate.jitter = parse_factor(state, "--jitter", arg, 0, 10);
        return 0;
    case OPTION_STRAGGLER:
        mw_vec_push(command->arena, &command->stragglers, parse_straggler(state, arg));
        return 0;
    case OPTION_STEPS:
        command->simulate.steps = mw_argument_count(state, "the number of steps", arg);
        return 0;
    case OPTION_SEED:
        command->simulate.seed = parse_seed(state, arg);
        return 0;
    case OPTION_TRACE:
        command->trace = arg;
        return 0;
    default:
        return mw_show_parse(&command->show, key, arg, state);
    }
}

static void finish(MwSimulateCommand *command, const struct argp_state *state)
{
    const MwSimulateRunOptions *run = &command->run;
    if (!command->plan)
        argp_error(state, "which executable or plan file?");
    if (run->mtbf_s == 0 &&
        (run->checkpoint_s > 0 || run->restart_s > 0 || run->every_s > 0 || run->horizon_s > 0))
        argp_error(state, "what is asked of a run needs --mtbf, how often devices fail");
    if (run->horizon_s == 0)
        command->run.horizon_s = 30 * DAY_S;
    if (command->simulate.steps == 0)
        command->simulate.steps = command->simulate.jitter > 0 ? DEFAULT_STEPS : 1;
    command->simulate.stragglers = command->stragglers.at;
    command->simulate.straggler_count = command->stragglers.count;
    command->simulate.records = command->trace != NULL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    MwSimulateCommand *command = state->input;
    const error_t run = parse_run(&command->run, key, arg, state);
    if (run != ARGP_ERR_UNKNOWN)
        return run;
    switch (key) {
    case ARGP_KEY_ARG:
        if (command->plan)
            argp_error(state, "one plan at a time: '%s' is a second", arg);
        command->plan = arg;
        return 0;
    case ARGP_KEY_END:
        finish(command, state);
        return 0;
    default:
        return parse_step(command, key, arg, state);
    }
}

void mw_simulate_parse(MwSimulateCommand *command, int argc, char **argv)
{
    static const struct argp argp = {option_list,
                                     parse_option,
                                     "PLAN",
                                     "Simulates steps of a plan, and a run whose devices fail.\v"
                                     "PLAN is a plan file or an executable. docs/simulate.md "
                                     "explains what is simulated and what is shown.",
                                     NULL,
                                     NULL,
                                     NULL};
    command->show.formats = FORMATS;
    command->simulate.contention = true;
    argp_parse(&argp, argc, argv, 0, NULL, command);
}
