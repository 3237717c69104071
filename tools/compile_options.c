/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/compile_options.h"

#include "base/backend.h"
#include "ir/print.h"
#include "tools/argument.h"
#include "tools/argument_bytes.h"
#include "tools/argument_schedule.h"
#include "tools/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_CLUSTER = 256,
    OPTION_PRECISION,
    OPTION_BACKEND,
    OPTION_CUDA_ARCH,
    OPTION_MESH,
    OPTION_ROLES,
    OPTION_PIN,
    OPTION_OBJECTIVE,
    OPTION_LAYERS,
    OPTION_MICRO_BATCHES,
    OPTION_STAGES,
    OPTION_CHUNKS,
    OPTION_SCHEDULE,
    OPTION_REMAT,
    OPTION_OFFLOAD,
    OPTION_MEMORY,
    OPTION_SOLVE_TIME,
    OPTION_SAVE_PROBLEM,
    OPTION_DUMP_ILP,
    OPTION_DUMP_AFTER,
    OPTION_STOP_AFTER,
    OPTION_TIME_PASSES,
};

/* "|cpu|cuda" */
static const char backend_names[] =
#define BACKEND(id, name, ...) "|" name
#include "base/backends.def"
#undef BACKEND
    ;

/* Stands for their names in the text of an option. */
#define SCHEDULES "%SCHEDULES%"

/* A plan records the options of the first two groups: what it is follows from them. */
enum { GROUP_MODEL = 1, GROUP_PLAN, GROUP_RESULT, GROUP_DEBUG };

static const struct argp_option model_options[] = {
    {NULL, 'D', "SIZE=VALUE", 0, "Override a size of the model", GROUP_MODEL},
    {"precision", OPTION_PRECISION, "f32|tf32|bf16|f16|fp8", 0,
     "What contractions and attention run in (as the model says)", GROUP_MODEL},
    {"dump-after", OPTION_DUMP_AFTER, "PASS", 0,
     "Print the graph after PASS, as a .graph file, on standard output", GROUP_DEBUG},
    {"stop-after", OPTION_STOP_AFTER, "PASS", 0, "Run the passes up to PASS only", GROUP_DEBUG},
    {"time-passes", OPTION_TIME_PASSES, NULL, 0,
     "Print the time of each pass, and of compiling kernels, on standard error", GROUP_DEBUG},
    {0}};

static const struct argp_option plan_options[] = {
    {"output", 'o', "FILE", 0,
     "Where the result goes (the name of the model, in the working folder)", GROUP_RESULT},
    {"quiet", 'q', NULL, 0, "Print no summary of the plan", GROUP_RESULT},
    {"cluster", OPTION_CLUSTER, "FILE|NAME|local:N", 0,
     "What to compile for: a .cluster file, one that comes with meshwright, such as dgx-a100, or N "
     "ranks of this machine (local:1)",
     GROUP_PLAN},
    {"backend", OPTION_BACKEND, backend_names + 1, 0, "Kind of devices (as the cluster says)",
     GROUP_PLAN},
    {"cuda-arch", OPTION_CUDA_ARCH, "LIST", 0,
     "GPUs that executables for cuda run on, by compute capability, such as 80,90 (those that "
     "meshwright was built for)",
     GROUP_RESULT},
    {"mesh", OPTION_MESH, "AxB", 0, "Pin the logical mesh, such as 2x4 (the best of all)",
     GROUP_PLAN},
    {"roles", OPTION_ROLES, "ROLE,..", 0,
     "Pin what products and attention use each axis of --mesh for: data, tensor, expert or context",
     GROUP_PLAN},
    {"pin", OPTION_PIN, "GLOB=SPEC", 0,
     "Pin the sharding of the values whose names match, as in 'layers.*.mlp.w1=[R, S1]'; "
     "GLOB=ring lets keys of attention go round the devices, 'GLOB=no ring' does not",
     GROUP_PLAN},
    {"objective", OPTION_OBJECTIVE, "time|cost", 0,
     "Plan for the least time of a step on all devices, or for the least cost of it, by the prices "
     "of the cluster file: on fewer nodes where that costs less (time)",
     GROUP_PLAN},
    {"layers", OPTION_LAYERS, "N", 0,
     "Cut the model into N layers, the units of stages (one for each iteration of its repeat)",
     GROUP_PLAN},
    {"stages", OPTION_STAGES, "N", 0, "Cut the model into N pipeline stages (the best of all)",
     GROUP_PLAN},
    {"schedule", OPTION_SCHEDULE, "NAME", 0,
     "Run the pipeline by this schedule: " SCHEDULES " (the best of all)", GROUP_PLAN},
    {"chunks", OPTION_CHUNKS, "N", 0, "Stages on each mesh, for interleaved (2)", GROUP_PLAN},
    {"remat", OPTION_REMAT, "all|selective|stream|none", 0,
     "What the backward makes again instead of keeping it: all, or all but results of products, "
     "convolutions and attention; `stream`: these wait on the host (as memory asks)",
     GROUP_PLAN},
    {"offload", OPTION_OFFLOAD, "states|weights|none", 0,
     "What is kept in the memory of the host and updated there (as the train statements say)",
     GROUP_PLAN},
    {"micro-batches", OPTION_MICRO_BATCHES, "N", 0, "Cut the batch into N equal parts", GROUP_PLAN},
    {"memory", OPTION_MEMORY, "BYTES", 0,
     "Memory of one device, such as 16GB or 512MiB (as the cluster says)", GROUP_PLAN},
    {"solve-time", OPTION_SOLVE_TIME, "SECONDS", 0,
     "Limit of the search for the best sharding, for all stages and all meshes that are "
     "tried together; counted as the work of so many seconds, so that plans do not depend on "
     "the machine (5)",
     GROUP_PLAN},
    {"save-problem", OPTION_SAVE_PROBLEM, "FILE", 0,
     "Write the sharding problem, for meshwright-solve, as JSON, gzipped if FILE ends in .gz; "
     "where "
     "there are several stages, that of each to a file such as p-stage0.json",
     GROUP_DEBUG},
    {"dump-ilp", OPTION_DUMP_ILP, "FILE", 0,
     "Write the same as an integer program: CPLEX LP, or MPS if FILE ends in .mps", GROUP_DEBUG},
    {0}};

/* ---- What a plan records ---- */

static bool is_recorded(const struct argp_option *row)
{
    return row->group == GROUP_MODEL || row->group == GROUP_PLAN;
}

static bool is_end(const struct argp_option *row)
{
    return !row->name && !row->key;
}

/* "--cluster", "-D" */
static const char *option_word(MwArena *arena, const struct argp_option *row)
{
    return row->name ? mw_arena_printf(arena, "--%s", row->name)
                     : mw_arena_printf(arena, "-%c", row->key);
}

/* Notes an option of `table` if plans record it; keeps the list in the order of names. */
static void record(MwToolOptions *options, const struct argp_option *table, int key,
                   const char *value)
{
    while (!is_end(table) && table->key != key)
        table++;
    if (is_end(table) || !is_recorded(table))
        return;
    MwPlanOption option = {option_word(options->arena, table), value};
    mw_vec_push(options->arena, &options->asked, option);
    MwPlanOption *at = &options->asked.at[options->asked.count - 1];
    for (; at > options->asked.at && strcmp(at[-1].name, option.name) > 0; at--)
        *at = at[-1];
    *at = option;
}

bool mw_tool_option_is_known(MwArena *arena, const char *name)
{
    const struct argp_option *const tables[] = {model_options, plan_options};
    for (int t = 0; t < MW_COUNT(tables); t++)
        for (const struct argp_option *row = tables[t]; !is_end(row); row++)
            if (is_recorded(row) && strcmp(option_word(arena, row), name) == 0)
                return true;
    return false;
}

/* ---- Values ---- */

/* Checks a list of compute capabilities as nvcc names them, 80 or 90a, between commas. */
static const char *parse_cuda_arch(struct argp_state *state, const char *text)
{
    for (const char *at = text;; at++) {
        const size_t digits = strspn(at, "0123456789");
        const long capability = strtol(at, NULL, 10);
        at += digits + (at[digits] >= 'a' && at[digits] <= 'z');
        if (digits < 2 || digits > 3 || (*at && *at != ','))
            argp_error(state, "--cuda-arch wants compute capabilities like 80,90, not '%s'", text);
        if (capability < MW_CUDA_LEAST_CAPABILITY)
            argp_error(state,
                       "kernels need GPUs of compute capability %d.%d or later, and --cuda-arch "
                       "has %ld.%ld",
                       MW_CUDA_LEAST_CAPABILITY / 10, MW_CUDA_LEAST_CAPABILITY % 10,
                       capability / 10, capability % 10);
        if (!*at)
            return text;
    }
}

/* "data,tensor" */
static MwAxisRolePins parse_roles(struct argp_state *state, const char *text)
{
    MwAxisRolePins roles = {.count = 0};
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        if (roles.count == MW_MAX_AXES || !mw_role_parse(at, length, &roles.at[roles.count]))
            argp_error(state,
                       "roles are data, tensor, expert or context, one for each of at most %d axes "
                       "and a comma between, not '%s'",
                       MW_MAX_AXES, text);
        roles.count++;
    }
    return roles;
}

static MwType parse_precision(struct argp_state *state, const char *text)
{
    MwType type;
    if (!mw_product_parse(text, &type))
        argp_error(state, "a precision is f32, tf32, bf16, f16 or fp8, not '%s'", text);
    return type;
}

/* Names of MwRemat from MW_REMAT_NONE on. */
static const char *const remat_names[] = {"none", "selective", "all", "stream"};

/* Names of MwObjective. */
static const char *const objective_names[] = {"time", "cost"};

static MwPass parse_pass(struct argp_state *state, const char *name)
{
    MwPass pass = MW_PASS_COUNT;
    if (mw_pass_parse(name, &pass))
        return pass;
    fprintf(stderr, "The passes, in order:\n");
    for (int i = 0; i < MW_PASS_COUNT; i++)
        fprintf(stderr, "  %-14s %s\n", mw_pass_name((MwPass)i), mw_pass_what((MwPass)i));
    argp_error(state, "there is no pass '%s'", name);
    return pass;
}

static error_t parse_model_option(int key, char *arg, struct argp_state *state)
{
    MwToolOptions *options = state->input;
    record(options, model_options, key, arg);
    switch (key) {
    case 'D':
        mw_vec_push(options->arena, &options->defines,
                    mw_argument_define(state, options->arena, arg));
        return 0;
    case OPTION_PRECISION:
        options->precision = parse_precision(state, arg);
        options->has_precision = true;
        return 0;
    case OPTION_DUMP_AFTER:
        options->pipeline.dump_after = parse_pass(state, arg);
        return 0;
    case OPTION_STOP_AFTER:
        options->pipeline.stop_after = parse_pass(state, arg);
        return 0;
    case OPTION_TIME_PASSES:
        options->pipeline.times = stderr;
        return 0;
    case ARGP_KEY_ARG:
        if (options->model)
            argp_error(state, "one model at a time: '%s' is a second", arg);
        options->model = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->model)
            argp_error(state, "which .graph file?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Parses the options that pin the pipeline: layers, stages, micro-batches, schedule,
 * recomputation. */
static error_t parse_pipeline_option(MwCompileOptions *compile, int key, char *arg,
                                     const struct argp_state *state)
{
    switch (key) {
    case OPTION_LAYERS:
        compile->layers = mw_argument_count(state, "the number of layers", arg);
        return 0;
    case OPTION_MICRO_BATCHES:
        compile->micro_batches = mw_argument_count(state, "the number of micro-batches", arg);
        return 0;
    case OPTION_STAGES:
        compile->stages = mw_argument_count(state, "the number of stages", arg);
        return 0;
    case OPTION_CHUNKS:
        compile->chunks = mw_argument_count(state, "the number of chunks", arg);
        return 0;
    case OPTION_SCHEDULE:
        compile->schedule = mw_argument_schedule(state, arg);
        compile->has_schedule = true;
        return 0;
    case OPTION_OFFLOAD:
        if (!mw_offload_parse(arg, &compile->offload))
            argp_error(state, "what is on the host is states, weights or none, not '%s'", arg);
        compile->has_offload = true;
        return 0;
    case OPTION_REMAT:
        compile->remat = MW_REMAT_NONE + mw_argument_choice(state, "recomputation", remat_names,
                                                            MW_COUNT(remat_names), arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_plan_option(int key, char *arg, struct argp_state *state)
{
    MwToolOptions *options = state->input;
    MwCompileOptions *compile = &options->compile;
    record(options, plan_options, key, arg);
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = options;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case OPTION_CLUSTER:
        options->cluster = arg;
        return 0;
    case OPTION_BACKEND:
        if (!mw_backend_named(arg))
            argp_error(state, "there is no backend '%s': choose %s", arg, mw_backend_choices());
        options->backend = arg;
        return 0;
    case OPTION_CUDA_ARCH:
        options->cuda_arch = parse_cuda_arch(state, arg);
        return 0;
    case OPTION_MESH:
        compile->mesh = mw_argument_mesh(state, arg);
        return 0;
    case OPTION_ROLES:
        compile->roles = parse_roles(state, arg);
        return 0;
    case OPTION_PIN:
        mw_vec_push(options->arena, &options->pins, arg);
        return 0;
    case OPTION_OBJECTIVE:
        options->objective = (MwObjective)mw_argument_choice(state, "objective", objective_names,
                                                             MW_COUNT(objective_names), arg);
        return 0;
    case OPTION_MEMORY:
        compile->memory_bytes = mw_argument_bytes(state, "amount of memory", arg);
        return 0;
    case OPTION_SOLVE_TIME:
        compile->solve_time_s = mw_argument_seconds(state, arg);
        return 0;
    case OPTION_SAVE_PROBLEM:
        compile->save_problem = arg;
        return 0;
    case OPTION_DUMP_ILP:
        compile->save_ilp = arg;
        return 0;
    case ARGP_KEY_END:
        if (compile->roles.count && compile->roles.count != compile->mesh.axis_count)
            argp_error(state, "--roles has one role for each axis of --mesh");
        return ARGP_ERR_UNKNOWN;
    default:
        return parse_pipeline_option(compile, key, arg, state);
    }
}

/* The names of the schedules with a backward; the caller frees them. */
static char *list_schedules(void)
{
    char *names = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&names, &bytes);
    MW_ASSERT(out);
    for (int kind = 0, count = 0; kind < MW_PIPELINE_COUNT; kind++)
        if (mw_pipeline_info((MwPipelineKind)kind)->trains)
            fprintf(out, "%s%s", count++ ? ", " : "", mw_pipeline_info((MwPipelineKind)kind)->name);
    fclose(out);
    return names;
}

/* Fills in SCHEDULES in a help text; argp calls it. */
static char *filter_help(int key, const char *text, void *input)
{
    (void)key, (void)input;
    const char *at = text ? strstr(text, SCHEDULES) : NULL;
    if (!at)
        return (char *)text; /* as argp has it */
    char *names = list_schedules(), *filtered = NULL;
    int length =
        asprintf(&filtered, "%.*s%s%s", (int)(at - text), text, names, at + strlen(SCHEDULES));
    MW_ASSERT(length >= 0);
    free(names);
    return filtered;
}

/* ---- Command lines ---- */

static const struct argp model_argp = {model_options, parse_model_option, NULL, NULL, NULL, NULL,
                                       NULL};
static const struct argp_child of_plan[] = {{&model_argp, 0, NULL, 0}, {0}};
static const struct argp plan_argp = {plan_options, parse_plan_option, NULL, NULL,
                                      of_plan,      filter_help,       NULL};

/* The parser of the command comes first, so that it can take arguments before the model. */
static error_t pass_inputs(int key, char *arg, struct argp_state *state)
{
    MwToolOptions *options = state->input;
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    int children = 0;
    if (options->command->own)
        state->child_inputs[children++] = options->command->own_input;
    state->child_inputs[children] = options;
    return 0;
}

/* Parses into options that may have been parsed before. */
static void parse(const struct argp *argp, MwToolOptions *options, int argc, char **argv)
{
    argp_parse(argp, argc, argv, 0, NULL, options);
    options->compile.pins = options->pins.at;
    options->compile.pin_count = options->pins.count;
}

void mw_tool_options_parse(MwToolOptions *options, const MwToolCommand *command, int argc,
                           char **argv)
{
    struct argp_child children[3] = {0};
    int child_count = 0;
    if (command->own)
        children[child_count++].argp = command->own;
    children[child_count].argp = command->plans ? &plan_argp : &model_argp;
    const struct argp whole = {
        NULL,          pass_inputs, command->arguments ? command->arguments : "MODEL.graph",
        command->what, children,    NULL,
        NULL};
    options->command = command;
    options->cluster = "local:1";
    options->compile.solve_time_s = 5;
    options->pipeline.stop_after = MW_PASS_COUNT;
    options->pipeline.dump_after = MW_PASS_COUNT;
    options->pipeline.dump = stdout;
    const int columns = mw_terminal_columns(STDERR_FILENO);
    options->pipeline.progress = (MwPassProgress){columns ? stderr : NULL, columns};
    parse(&whole, options, argc, argv);
}

bool mw_tool_options_take(MwToolOptions *options, const MwPlanCommand *command, MwDiags *diags)
{
    char **words = MW_NEW(options->arena, char *, 2 * command->option_count + 4);
    int count = 0;
    words[count++] = mw_arena_strdup(options->arena, "meshwright");
    for (int i = 0; i < command->option_count; i++) {
        const MwPlanOption *option = &command->options[i];
        if (!mw_tool_option_is_known(options->arena, option->name)) {
            mw_diag_error(diags, mw_span_none(),
                          "the plan was made with the option '%s', which this meshwright does not "
                          "have",
                          option->name);
            return false;
        }
        words[count++] = mw_arena_strdup(options->arena, option->name);
        words[count++] = mw_arena_strdup(options->arena, option->value);
    }
    words[count++] = mw_arena_strdup(options->arena, "--");
    words[count++] = mw_arena_strdup(options->arena, command->model);
    options->model = NULL;
    parse(&plan_argp, options, count, words);
    return true;
}

/* A list of its own with the elements of one that others may add to. */
#define COPY_LIST(arena, list)                                                                     \
    ((list)->at = mw_arena_dup((arena), (list)->at, sizeof *(list)->at * (size_t)(list)->count),   \
     (list)->capacity = (list)->count)

static void copy_lists(MwToolOptions *options)
{
    COPY_LIST(options->arena, &options->defines);
    COPY_LIST(options->arena, &options->pins);
    COPY_LIST(options->arena, &options->asked);
}

void mw_tool_options_set(MwToolOptions *options, const char *name, const char *value)
{
    char *words[] = {mw_arena_strdup(options->arena, "meshwright"),
                     mw_arena_strdup(options->arena, name), mw_arena_strdup(options->arena, value),
                     NULL};
    copy_lists(options);
    parse(&plan_argp, options, MW_COUNT(words) - 1, words);
}

void mw_tool_options_define(MwToolOptions *options, const char *size, const char *value)
{
    copy_lists(options);
    for (int i = 0; i < options->defines.count; i++) {
        if (strcmp(options->defines.at[i].name, size) == 0) {
            options->defines.at[i].value = value;
            return;
        }
    }
    mw_vec_push(options->arena, &options->defines, ((MwDefine){size, value}));
}
