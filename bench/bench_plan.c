/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times the programs of a plan for one rank on its device:
 *
 *     bench_plan [options] PLAN
 *
 *     --reference PLAN   the same model for a device that is trusted: outputs and weights after a
 *                        step of both are compared
 *     --feed FEED        as of a run; else random
 *     --kernels FILE     where compiled kernels are, or are put
 *     --compile          only does that
 *     --round MS         how long one round of timing is to take
 *     --instructions     times the instructions too, those that are alike together
 *
 * Prints lines with fields divided by tabs: `error`, the greatest error of outputs and weights,
 * and the value that has it; `program`, its name, measured seconds and predicted seconds;
 * `instruction`, its program, measured seconds, predicted seconds, label, and how many instructions
 * are alike, whose seconds are added up. An error is the norm of the difference over the norm of
 * the reference.
 *
 * The executor runs a step unchanged; a device in front of the real one records the calls. These
 * run again and again afterwards, by turns on copies of the arena that together exceed all caches.
 * (A program may then find in the arena what another program left there.) */
#include "base/element.h"
#include "base/file.h"
#include "base/vec.h"
#include "bench/device_time.h"
#include "runtime/check/check.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/transport_solo.h"
#include "runtime/feed/feed.h"
#include "runtime/kernels_compile.h"
#include "runtime/plan/routine.h"
#include "tools/backends.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED = 1, MOST_COPIES = 64, MOST_FEEDS = 16 };

/* Several times the largest second-level cache of a GPU. */
static const int64_t beyond_caches = (int64_t)512 << 20;

typedef struct {
    const char *plan, *reference, *kernels;
    const char *feeds[MOST_FEEDS];
    int feed_count, round_ms;
    bool compile_only, instructions;
} Options;

/* A plan with all that runs it. */
typedef struct {
    MwArena *arena;
    const MwPlan *plan;
    const MwPlanMesh *mesh;
    const MwBackend *backend;
    MwTransport *transport;
    MwDevice *device;
    MwExecutor *executor;
    MwFeeds *feeds;
    void **outputs; /* [mesh.outputs] whole, on the host */
} Side;

/* ---- What a step runs ---- */

typedef struct {
    MwDeviceCall call; /* its operands on the executor's arena */
    int program;
} Recorded;

/* The device's functions know their device alone. */
static struct {
    MwArena *arena;
    const MwDeviceTable *inner;
    const Side *side;
    MW_VEC(Recorded) calls; /* of each program, when it ran first */
} recorder;

static int program_of(const MwPlanMesh *mesh, const MwPlanInstr *instr)
{
    for (int p = 0; p < mesh->program_count; p++) {
        const MwPlanProgram *program = &mesh->programs[p];
        if (instr >= program->instrs && instr < program->instrs + program->instr_count)
            return p;
    }
    MW_UNREACHABLE();
}

static bool is_recorded(const MwPlanInstr *instr)
{
    for (int i = 0; i < recorder.calls.count; i++)
        if (recorder.calls.at[i].call.instr == instr)
            return true;
    return false;
}

static bool record(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    const MwPlanInstr *instr = call->instr;
    if (!is_recorded(instr)) {
        const size_t operands = (size_t)instr->operand_count, args = (size_t)instr->arg_count;
        MwArena *arena = recorder.arena;
        Recorded *to = mw_vec_add(arena, &recorder.calls);
        to->program = program_of(recorder.side->mesh, instr);
        to->call = *call;
        to->call.operands = mw_arena_dup(arena, call->operands, sizeof *call->operands * operands);
        to->call.operand_bytes =
            mw_arena_dup(arena, call->operand_bytes, sizeof *call->operand_bytes * operands);
        to->call.args = mw_arena_dup(arena, call->args, sizeof *call->args * args);
    }
    return recorder.inner->run(device, call, fault);
}

static void begin_recording(const Side *side)
{
    MwDeviceTable *table =
        mw_arena_dup(side->arena, side->device->table, sizeof *side->device->table);
    recorder.arena = mw_arena_new();
    recorder.inner = side->device->table;
    recorder.side = side;
    table->run = record;
    side->device->table = table;
}

/* ---- A step ---- */

/* Loads the kernels of a file, which is made if it is not there; NULL as path: keeps no file. */
static const MwKernelEntry *load_kernels(const Side *side, const char *path, MwFault *fault)
{
    static const MwKernelEntry none[] = {{NULL, NULL}};
    if (side->plan->kernel_count == 0)
        return none;
    if (!path)
        return mw_kernels_compile(side->arena, side->plan, side->backend, side->transport, fault);
    const char *source =
        mw_arena_printf(side->arena, "%s%s", path, mw_backend_info(side->backend->id)->suffix);
    const char *text = side->plan->kernel_source;
    if (access(path, R_OK) != 0) {
        if (!mw_file_write(source, text, strlen(text), 0644)) {
            mw_fault_set(fault, "cannot write %s: %s", source, strerror(errno));
            return NULL;
        }
        if (!side->backend->compile(source, path, fault))
            return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const MwKernelEntry *table = library ? dlsym(library, MW_KERNEL_TABLE_SYMBOL) : NULL;
    if (!table)
        mw_fault_set(fault, "cannot load the kernels: %s", dlerror());
    return table;
}

static bool read_plan(Side *side, const char *path, MwFault *fault)
{
    MwDiags *diags = mw_diags_new(side->arena);
    side->plan = mw_plan_read(side->arena, path, diags);
    if (!side->plan || !mw_plan_check(side->plan, diags)) {
        mw_diags_print(diags, stderr);
        return mw_fault_set(fault, "%s cannot be run", path);
    }
    if (side->plan->rank_count != 1)
        return mw_fault_set(fault, "%s is for %d ranks", path, side->plan->rank_count);
    side->mesh = &side->plan->meshes[0];
    side->backend = mw_backend_find(mw_backends, side->plan->backend, fault);
    return side->backend != NULL;
}

static bool open_device(Side *side, const char *kernels, MwFault *fault)
{
    const int threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const MwKernelEntry *table = load_kernels(side, kernels, fault);
    side->device =
        table ? side->backend->device_new(side->arena, side->plan, table, threads, fault) : NULL;
    return side->device != NULL;
}

static bool make_ready(Side *side, const Options *options, MwFault *fault)
{
    side->executor =
        mw_executor_new(side->arena, side->plan, side->device, side->transport, NULL, fault);
    side->outputs = MW_NEW(side->arena, void *, side->mesh->output_count);
    for (int i = 0; i < side->mesh->output_count; i++)
        side->outputs[i] =
            mw_arena_alloc(side->arena, (size_t)mw_tensor_bytes(&side->mesh->outputs[i].global));
    if (!side->executor || !mw_executor_tune(side->executor, fault) ||
        !mw_executor_start(side->executor, SEED, fault))
        return false;
    const MwFeedsWanted wanted = {
        .texts = options->feeds, .count = options->feed_count, .seed = SEED, .option = "--feed"};
    side->feeds = mw_feeds_open(side->arena, side->plan, side->mesh, &wanted, fault);
    return side->feeds != NULL;
}

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *fault)
{
    return mw_feeds_input(((Side *)context)->feeds, input, step, box, to, fault);
}

static bool take_output(void *context, int output, int64_t step, const MwBox *box, bool is_first,
                        const void *from, MwFault *fault)
{
    const Side *side = context;
    const int64_t bytes = mw_type_bytes(box->global.type);
    (void)step, (void)is_first, (void)fault;
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        memcpy((char *)side->outputs[output] + segment.global * bytes,
               (const char *)from + segment.local * bytes, (size_t)(segment.count * bytes));
    return true;
}

static bool run_step(Side *side, MwFault *fault)
{
    const MwExecutorData data = {side, give_input, take_output};
    double *losses = MW_NEW(side->arena, double, mw_plan_loss_count(side->plan));
    return mw_executor_step(side->executor, 1, &data, losses, fault);
}

static bool open_side(Side *side, const char *path, MwFault *fault)
{
    *side = (Side){.arena = mw_arena_new()};
    side->transport = mw_transport_solo_new(side->arena, 0, 1);
    return read_plan(side, path, fault);
}

static void close_side(Side *side)
{
    if (side->feeds)
        mw_feeds_close(&side->feeds);
    if (side->device) {
        mw_transport_free(&side->transport, side->device);
        mw_device_free(&side->device);
    }
    mw_arena_free(&side->arena);
}

/* ---- Both compared ---- */

typedef struct {
    double error;
    const char *name;
} Worst;

/* Takes the error of a tensor where it is worse; NaN is worse than all. */
static void compare(Worst *worst, const char *name, const MwTensor *tensor, const void *found,
                    const void *expected)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++) {
        const double x = mw_element_get(tensor->type, found, i);
        const double y = mw_element_get(tensor->type, expected, i);
        difference += (x - y) * (x - y);
        size += y * y;
    }
    const double error = sqrt(difference / (size > 0 ? size : 1));
    if (!(error <= worst->error))
        *worst = (Worst){isnan(error) ? INFINITY : error, name};
}

static void *weight_of(const Side *side, int index, MwFault *fault)
{
    const MwPlanWeight *weight = &side->mesh->weights[index];
    const int64_t bytes = mw_tensor_bytes(&weight->global);
    void *host = mw_arena_alloc(side->arena, (size_t)bytes);
    return side->device->table->copy_out(
               side->device, host, mw_executor_buffer(side->executor, weight->buffer), bytes, fault)
               ? host
               : NULL;
}

static bool compare_sides(const Side *side, const Side *reference, MwFault *fault)
{
    const MwPlanMesh *mesh = side->mesh, *other = reference->mesh;
    Worst worst = {0, ""};
    if (mesh->output_count != other->output_count || mesh->weight_count != other->weight_count)
        return mw_fault_set(fault, "the plans are not of one model");
    for (int i = 0; i < mesh->output_count; i++)
        compare(&worst, mesh->outputs[i].name, &mesh->outputs[i].global, side->outputs[i],
                reference->outputs[i]);
    for (int i = 0; i < mesh->weight_count; i++) {
        const void *found = weight_of(side, i, fault), *expected = weight_of(reference, i, fault);
        if (!found || !expected)
            return false;
        compare(&worst, mesh->weights[i].name, &mesh->weights[i].global, found, expected);
    }
    printf("error\t%.3g\t%s\n", worst.error, worst.name);
    return true;
}

static bool check_against(const Side *side, const Options *options, MwFault *fault)
{
    Side reference;
    const bool good = open_side(&reference, options->reference, fault) &&
                      open_device(&reference, NULL, fault) &&
                      make_ready(&reference, options, fault) && run_step(&reference, fault) &&
                      compare_sides(side, &reference, fault);
    close_side(&reference);
    return good;
}

/* ---- Timing ---- */

/* What is timed: some of the recorded calls, on one copy of the arena after another. */
typedef struct {
    const Recorded *calls;
    int call_count;
    ptrdiff_t shifts[MOST_COPIES]; /* of each copy from the executor's arena */
    int copy_count;
    void **operands; /* room for those of a call */
} Timed;

static bool run_calls(MwDevice *device, void *context, int64_t turn, MwFault *fault)
{
    const Timed *timed = context;
    const ptrdiff_t shift = timed->shifts[turn % timed->copy_count];
    for (int i = 0; i < timed->call_count; i++) {
        MwDeviceCall call = timed->calls[i].call;
        for (int k = 0; k < call.instr->operand_count; k++)
            timed->operands[k] = (char *)call.operands[k] + shift;
        call.operands = timed->operands;
        if (!recorder.inner->run(device, &call, fault))
            return false;
    }
    return true;
}

/* Copies of the arena, until all are beyond the caches or the device has no room. */
static void make_copies(const Side *side, Timed *timed)
{
    const MwPlanMesh *mesh = side->mesh;
    MwDevice *device = side->device;
    MwFault none;
    char *first = (char *)mw_executor_buffer(side->executor, 0) - mesh->buffers[0].offset;
    timed->copy_count = 1;
    for (int64_t bytes = mesh->arena_bytes; bytes < beyond_caches; bytes += mesh->arena_bytes) {
        char *copy = timed->copy_count < MOST_COPIES
                         ? device->table->alloc(device, mesh->arena_bytes, &none)
                         : NULL;
        if (!copy || !device->table->copy(device, copy, first, mesh->arena_bytes, &none))
            return;
        timed->shifts[timed->copy_count++] = copy - first;
    }
}

/* Whether two calls do the same on other buffers: kernels have their sizes in their text. */
static bool are_alike(const MwDeviceCall *a, const MwDeviceCall *b)
{
    const MwPlanInstr *x = a->instr, *y = b->instr;
    return x->kind == y->kind && x->target == y->target && x->operand_count == y->operand_count &&
           (x->kind == MW_INSTR_KERNEL ||
            (x->arg_count == y->arg_count &&
             memcmp(a->args, b->args, sizeof *a->args * (size_t)x->arg_count) == 0));
}

/* "gemm 8192 x 768 x 3072" */
static void label_of(const MwPlan *plan, const MwDeviceCall *call, char *label, size_t bytes)
{
    mw_plan_instr_label(plan, call->instr, label, bytes);
    if (call->instr->kind != MW_INSTR_ROUTINE || call->instr->target != MW_ROUTINE_GEMM)
        return;
    const size_t length = strlen(label);
    const int64_t batches = call->args[MW_GEMM_BATCH0].i * call->args[MW_GEMM_BATCH1].i;
    snprintf(label + length, bytes - length, " %lld x %lld x %lld",
             (long long)call->args[MW_GEMM_M].i, (long long)call->args[MW_GEMM_N].i,
             (long long)call->args[MW_GEMM_K].i);
    if (batches > 1)
        snprintf(label + strlen(label), bytes - strlen(label), ", %lld of them",
                 (long long)batches);
}

/* Those that are alike together, one after the other, so that they do not find their data in
 * caches. */
static bool time_instructions(const Side *side, Timed timed, int round_ms, MwFault *fault)
{
    const Recorded *calls = timed.calls;
    const int count = timed.call_count;
    bool *done = MW_NEW(recorder.arena, bool, count);
    Recorded *alike = MW_NEW(recorder.arena, Recorded, count);
    timed.calls = alike;
    for (int i = 0; i < count; i++) {
        double seconds, predicted = 0;
        char label[200];
        timed.call_count = 0;
        for (int j = i; j < count; j++) {
            if (done[j] || !are_alike(&calls[i].call, &calls[j].call))
                continue;
            done[j] = true;
            predicted += calls[j].call.instr->time_s;
            alike[timed.call_count++] = calls[j];
        }
        if (timed.call_count == 0)
            continue;
        label_of(side->plan, &calls[i].call, label, sizeof label);
        if (!device_time(side->device, run_calls, &timed, round_ms, &seconds, fault))
            return mw_fault_prefix(fault, "%s", label);
        printf("instruction\t%s\t%.6g\t%.6g\t%s\t%d\n", side->mesh->programs[calls[i].program].name,
               seconds, predicted, label, timed.call_count);
    }
    return true;
}

/* The calls of a program stand together: it ran before another did. */
static bool time_programs(const Side *side, const Options *options, MwFault *fault)
{
    static void *operands[1 << 16];
    Timed timed = {.operands = operands};
    make_copies(side, &timed);
    for (int first = 0, next; first < recorder.calls.count; first = next) {
        const int program = recorder.calls.at[first].program;
        double predicted = 0, seconds;
        for (next = first;
             next < recorder.calls.count && recorder.calls.at[next].program == program; next++)
            predicted += recorder.calls.at[next].call.instr->time_s;
        timed.calls = &recorder.calls.at[first];
        timed.call_count = next - first;
        if (!device_time(side->device, run_calls, &timed, options->round_ms, &seconds, fault))
            return mw_fault_prefix(fault, "program %s", side->mesh->programs[program].name);
        printf("program\t%s\t%.6g\t%.6g\n", side->mesh->programs[program].name, seconds, predicted);
        if (options->instructions && !time_instructions(side, timed, options->round_ms, fault))
            return false;
    }
    return true;
}

/* ---- The program ---- */

static bool run(Side *side, const Options *options, MwFault *fault)
{
    if (options->compile_only)
        return load_kernels(side, options->kernels, fault) != NULL;
    if (!open_device(side, options->kernels, fault))
        return false;
    begin_recording(side);
    return make_ready(side, options, fault) && run_step(side, fault) &&
           (!options->reference || check_against(side, options, fault)) &&
           time_programs(side, options, fault);
}

static bool read_options(int argc, char **argv, Options *options)
{
    static const struct option names[] = {{"reference", required_argument, NULL, 'r'},
                                          {"feed", required_argument, NULL, 'f'},
                                          {"kernels", required_argument, NULL, 'k'},
                                          {"round", required_argument, NULL, 't'},
                                          {"compile", no_argument, NULL, 'c'},
                                          {"instructions", no_argument, NULL, 'i'},
                                          {NULL, 0, NULL, 0}};
    *options = (Options){.round_ms = ROUND_MS};
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) >= 0;) {
        if (option == 'r')
            options->reference = optarg;
        else if (option == 'f' && options->feed_count < MOST_FEEDS - 1)
            options->feeds[options->feed_count++] = optarg;
        else if (option == 'k')
            options->kernels = optarg;
        else if (option == 't')
            options->round_ms = atoi(optarg);
        else if (option == 'c')
            options->compile_only = true;
        else if (option == 'i')
            options->instructions = true;
        else
            return false;
    }
    options->feeds[options->feed_count++] = "random";
    options->plan = optind < argc ? argv[optind] : NULL;
    return optind == argc - 1 && (options->kernels || !options->compile_only);
}

int main(int argc, char **argv)
{
    Options options;
    Side side;
    MwFault fault = {0};
    if (!read_options(argc, argv, &options)) {
        fputs("usage: bench_plan [--reference PLAN] [--feed FEED]... [--kernels FILE [--compile]] "
              "[--round MS] [--instructions] PLAN\n",
              stderr);
        return 2;
    }
    const bool good = open_side(&side, options.plan, &fault) && run(&side, &options, &fault);
    if (!good)
        fprintf(stderr, "bench_plan: %s\n", fault.text);
    close_side(&side);
    if (recorder.arena)
        mw_arena_free(&recorder.arena);
    return !good;
}
