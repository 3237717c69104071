/* SPDX-License-Identifier: MIT */
#include "runtime/run_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef enum { TEXT, TEXTS, CHOICE, NUMBER, COUNT, THREADS, FLAG } Kind;

typedef struct {
    const char *name, *value; /* of the value as --help shows it; NULL for a flag */
    Kind kind;
    size_t offset;
    const char *help;
} Option;

#define AT(member) offsetof(MwRunOptions, member)

static const Option options_list[] = {
    {"feed", "FEED", TEXTS, AT(feeds),
     "where inputs come from; may be given several times:\n"
     "lm:FILE            text, a byte a token, into tokens and targets\n"
     "lm16:FILE          the same with 16 bits a token\n"
     "tokens:FILE,...    files of tokens (llm.c, .npy, raw .bin), row after row\n"
     "npy:NAME=FILE,...  rows of .npy files, batch after batch; \\, is a comma of a name\n"
     "npz:FILE,...       rows of .npz files, each array into the input of its name\n"
     "random             random numbers for every other input\n"
     "random:NAME=BOUND  random integers from 0 to BOUND - 1"},
    {"shuffle", NULL, FLAG, AT(shuffle), "take the rows of files in another order in each epoch"},
    {"output", "NAME=FILE", TEXTS, AT(outputs),
     "write an output of every step as .npy, batch after batch; may be given\nseveral times"},
    {"output-every", "N", COUNT, AT(output_every),
     "write a file for every N-th step and the last, with the number of the step\nin its name"},
    {"steps", "N", NUMBER, AT(steps),
     "how many steps to run (default 100; without training, once through the data)"},
    {"epochs", "N", COUNT, AT(epochs), "run until each row of the data was taken N times"},
    {"eval-every", "N", COUNT, AT(eval_every),
     "after every N steps and the last, compute the losses on other data, without\ntraining"},
    {"eval-feed", "FEED", TEXTS, AT(eval_feeds), "where that data comes from, as by --feed"},
    {"eval-steps", "N", COUNT, AT(eval_steps),
     "batches of each evaluation (default as many as the data has)"},
    {"stop-after-evals", "N", COUNT, AT(stop_after_evals),
     "end when N evaluations in a row have brought no lower loss"},
    {"seed", "N", NUMBER, AT(seed), "of weights, data and random numbers (default 1)"},
    {"threads", "N", THREADS, AT(threads), "threads of each rank (default 1)"},
    {"log", "FILE", TEXT, AT(log), "write step, metrics and seconds of every step as CSV"},
    {"tensorboard", "DIR", TEXT, AT(tensorboard),
     "write metrics, seconds and speed of every step as event files of TensorBoard"},
    {"checkpoint", "DIR", TEXT, AT(checkpoint),
     "save weights and states there after the last step"},
    {"checkpoint-every", "N", COUNT, AT(checkpoint_every), "and after every N steps"},
    {"resume", "DIR", TEXT, AT(resume), "go on from the newest checkpoint there"},
    {"weights", "FILE", TEXTS, AT(weights),
     "begin with weights of a .safetensors file, an index or folder of such, or\na checkpoint; "
     "may be given several times"},
    {"map", "MAP", TEXT, AT(map),
     "which weights those of other names are: a .map file, or a built-in map"},
    {"missing", "init|error", CHOICE, AT(missing),
     "what to do about weights that the files lack (default error)"},
    {"host-folder", "DIR", TEXT, AT(host_folder),
     "where ranks on CPUs keep what the plan has on the host, in files without names\n"
     "(default that of TMPDIR, or /tmp)"},
    {"trace", "FILE", TEXT, AT(trace),
     "write the times of all instructions of all ranks, for Perfetto and\n`meshwright trace`"},
    {"transport", "nccl|mpi", CHOICE, AT(transport),
     "how GPUs are connected: by NCCL (default where each rank has one of its own)\n"
     "or by MPI through the memory of the hosts"},
    {"timeout", "SECONDS", COUNT, AT(timeout_s),
     "end the run when GPUs have waited so long for each other (default 600)"},
    {"rounded-sums", NULL, FLAG, AT(rounded_sums),
     "let NCCL add bf16 and f16 of more than two GPUs, which rounds at every GPU"},
    {"no-graphs", NULL, FLAG, AT(no_graphs),
     "queue all that a GPU does anew in every step, rather than as a CUDA graph"},
    {"no-tuning", NULL, FLAG, AT(no_tuning),
     "do not time which way of a matrix product is the fastest on this GPU"},
    {"no-shared-memory", NULL, FLAG, AT(no_shared_memory),
     "send messages among ranks of one machine too"},
    {"print-plan", NULL, FLAG, AT(print_plan), "print the plan and end"},
    {"check", NULL, FLAG, AT(check), "verify the plan for every rank, without data, and end"},
    {"version", NULL, FLAG, AT(version), "print the version of meshwright and end"},
    {"help", NULL, FLAG, AT(help), "print this and end"},
};

static const Option *find_option(const char *name, size_t length)
{
    for (int i = 0; i < MW_COUNT(options_list); i++)
        if (strlen(options_list[i].name) == length &&
            memcmp(options_list[i].name, name, length) == 0)
            return &options_list[i];
    return NULL;
}

/* A whole number in [least, most]; false if `text` is none. */
static bool read_number(const char *text, int64_t least, int64_t most, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return *text && !*end && !errno && *number >= least && *number <= most;
}

/* `choices` are separated by bars. */
static bool is_among(const char *text, const char *choices)
{
    const size_t length = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, text, length) == 0 && (at[length] == '|' || !at[length]))
            return true;
    return false;
}

static bool set_value(MwArena *arena, const Option *option, const char *value, MwRunOptions *to)
{
    void *at = (char *)to + option->offset;
    int64_t number;
    switch (option->kind) {
    case TEXT:
        *(const char **)at = value;
        return *value != '\0';
    case TEXTS:
        mw_vec_push(arena, (MwRunTexts *)at, value);
        return true;
    case CHOICE:
        *(const char **)at = value;
        return is_among(value, option->value);
    case NUMBER:
        return read_number(value, 0, INT64_MAX, at);
    case COUNT:
        return read_number(value, 1, INT64_MAX, at);
    case THREADS:
        if (!read_number(value, 1, 1024, &number))
            return false;
        *(int *)at = (int)number;
        return true;
    case FLAG:
        *(bool *)at = true;
        return true;
    }
    MW_UNREACHABLE();
}

/* Whether the options on how long a run is and when it evaluates go together. */
static const char *check_lengths(const MwRunOptions *options)
{
    if (options->steps >= 0 && options->epochs)
        return "--steps and --epochs do not go together";
    if (options->eval_every && options->eval_feeds.count == 0)
        return "--eval-every needs --eval-feed FEED";
    if (!options->eval_every &&
        (options->eval_feeds.count || options->eval_steps || options->stop_after_evals))
        return "--eval-feed, --eval-steps and --stop-after-evals need --eval-every N";
    if (options->stop_after_evals && options->outputs.count && !options->output_every)
        return "--stop-after-evals needs --output-every N where there is --output";
    return NULL;
}

const char *mw_run_options(MwArena *arena, int argc, char **argv, MwRunOptions *options)
{
    *options = (MwRunOptions){.steps = -1, .seed = -1, .threads = 1, .timeout_s = 600};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strncmp(word, "--", 2) != 0)
            return mw_arena_printf(arena, "unexpected argument '%s'", word);
        const char *value = strchr(word, '=');
        size_t length = value ? (size_t)(value - word) : strlen(word);
        const Option *option = find_option(word + 2, length - 2);
        if (!option)
            return mw_arena_printf(arena, "unknown option '%.*s'", (int)length, word);
        if (value && option->kind == FLAG)
            return mw_arena_printf(arena, "--%s takes no value", option->name);
        if (value)
            value++;
        else if (option->kind != FLAG)
            value = ++i < argc ? argv[i] : NULL;
        if (!value && option->kind != FLAG)
            return mw_arena_printf(arena, "--%s needs a value: %s", option->name, option->value);
        if (!set_value(arena, option, value, options))
            return mw_arena_printf(arena, "--%s %s: this is no value for it", option->name, value);
    }
    if (options->resume && options->seed >= 0)
        return "--seed does not go with --resume: the seed is that of the checkpoint";
    if (options->resume && options->weights.count)
        return "--weights does not go with --resume, which sets all weights";
    if ((options->map || options->missing) && !options->weights.count)
        return "--map and --missing need --weights FILE";
    if (options->output_every && options->outputs.count == 0)
        return "--output-every needs --output NAME=FILE";
    if (options->checkpoint_every && !options->checkpoint)
        return "--checkpoint-every needs --checkpoint DIR";
    return check_lengths(options);
}

enum { HELP_COLUMN = 24 };

void mw_run_help(FILE *out, const char *program)
{
    fprintf(out,
            "usage: mpirun -n RANKS %s [options]\n\nRuns the plan it holds, step after step.\n\n",
            program);
    for (int i = 0; i < MW_COUNT(options_list); i++) {
        const Option *option = &options_list[i];
        int column = fprintf(out, "  --%s%s%s", option->name, option->value ? " " : "",
                             option->value ? option->value : "");
        for (const char *c = option->help; *c; c++) {
            if (c == option->help || c[-1] == '\n')
                fprintf(out, "%*s", c == option->help ? HELP_COLUMN - column : HELP_COLUMN, "");
            fputc(*c, out);
        }
        fputc('\n', out);
    }
}
