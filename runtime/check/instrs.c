/* SPDX-License-Identifier: MIT */
/* Each instruction by itself: what it names exists, its signature is that of what it calls, its
 * buffers are as large as the call reaches, and it writes over nothing that it reads. */
#include "runtime/check/rules.h"

#include "runtime/plan/collective.h"
#include "runtime/plan/routine.h"

#include <stdio.h>
#include <string.h>

static const int most_runs = 1 << 24;

static const MwPlanBuffer *buffer_of(const MwCheck *check, const MwPlanInstr *instr, int operand)
{
    return &check->mesh->buffers[instr->operands[operand].buffer];
}

static bool overlap(const MwPlanBuffer *a, const MwPlanBuffer *b)
{
    return a->offset < b->offset + mw_plan_buffer_bytes(b) &&
           b->offset < a->offset + mw_plan_buffer_bytes(a);
}

/* Only collectives that work in place may have their source and destination in one buffer; a kernel
 * that works in place has one operand that it reads and writes. What a routine writes into one
 * buffer, row by row, is checked with its arguments. */
static void check_aliases(const MwCheck *check, const MwPlanInstr *instr)
{
    for (int i = 0; i < instr->operand_count; i++) {
        for (int k = 0; k < i; k++) {
            const MwPlanOperand *a = &instr->operands[i], *b = &instr->operands[k];
            bool reads_only = a->access == MW_ACCESS_READ && b->access == MW_ACCESS_READ;
            bool in_place = instr->kind == MW_INSTR_COLLECTIVE && a->buffer == b->buffer &&
                            i / 2 == k / 2 && /* operands of one part */
                            mw_collective_in_place((MwCollective)instr->target);
            bool by_rows = instr->kind == MW_INSTR_ROUTINE && a->buffer == b->buffer &&
                           mw_routine_shares_rows((MwRoutine)instr->target, i, k);
            if (!reads_only && !in_place && !by_rows &&
                overlap(buffer_of(check, instr, i), buffer_of(check, instr, k)))
                mw_check_error(check, "operands %d and %d lie over each other, and it writes", k,
                               i);
        }
    }
}

/* The processors of the host run kernels, zero and copy; only a copy reaches both memories. */
static void check_sides(const MwCheck *check, const MwPlanInstr *instr)
{
    int on_host = 0;
    const bool copies = instr->kind == MW_INSTR_ROUTINE && instr->target == MW_ROUTINE_COPY;
    const bool zeroes = instr->kind == MW_INSTR_ROUTINE && instr->target == MW_ROUTINE_ZERO;
    for (int i = 0; i < instr->operand_count; i++)
        on_host += mw_plan_is_on_host(check->mesh, buffer_of(check, instr, i));
    if (on_host && !copies && !zeroes && instr->kind != MW_INSTR_KERNEL)
        mw_check_error(check, "it has operands on the host, which only kernels and copies have");
    else if (on_host && on_host < instr->operand_count && !copies)
        mw_check_error(check, "it has operands on the device and on the host");
}

/* False after an error; what follows may use the operands then. */
static bool check_operands(const MwCheck *check, const MwPlanInstr *instr)
{
    for (int i = 0; i < instr->operand_count; i++) {
        const MwPlanOperand *operand = &instr->operands[i];
        if (operand->buffer < 0 || operand->buffer >= check->mesh->buffer_count ||
            (unsigned)operand->access > MW_ACCESS_READ_WRITE) {
            mw_check_error(check, "operand %d is buffer %d, which does not exist", i,
                           operand->buffer);
            return false;
        }
    }
    check_aliases(check, instr);
    check_sides(check, instr);
    return true;
}

/* True if a position stays below 2^60 on every device in every micro-batch and run of a loop. */
static bool is_bounded(const MwCheck *check, const MwPlanArg *arg, int runs)
{
    const int64_t most = (int64_t)1 << 60;
    int64_t blocks, micros, steps;
    return arg->block_stride >= 0 && arg->micro_stride >= 0 &&
           !__builtin_mul_overflow(
               arg->block_stride, (int64_t)mw_mesh_ways(&check->mesh->shape, arg->axes), &blocks) &&
           !__builtin_mul_overflow(arg->micro_stride, (int64_t)check->plan->micro_batches,
                                   &micros) &&
           !__builtin_mul_overflow(arg->loop_stride, (int64_t)runs, &steps) && blocks < most &&
           micros < most && steps < most && steps > -most;
}

/* Whether the argument counts blocks of what is split over axes. */
static bool is_position(const MwPlanArg *arg)
{
    return arg->kind == MW_ARG_POSITION || arg->kind == MW_ARG_SHIFTED ||
           arg->kind == MW_ARG_MIRRORED;
}

/* Whether the argument is of another device along an axis that splits what it counts. */
static bool is_shift(const MwMeshShape *shape, const MwPlanArg *arg)
{
    return arg->axis >= 0 && arg->axis < shape->axis_count && (arg->axes >> arg->axis & 1) &&
           arg->places > 0 && arg->places < shape->size[arg->axis];
}

/* `runs`: those of the loop that the instruction is in; 0: it is in none. */
static bool check_args(const MwCheck *check, const MwPlanInstr *instr, int runs)
{
    for (int i = 0; i < instr->arg_count; i++) {
        const MwPlanArg *arg = &instr->args[i];
        if ((unsigned)arg->kind > MW_ARG_SEED) {
            mw_check_error(check, "argument %d has no known kind", i);
            return false;
        }
        if (!is_position(arg))
            continue;
        if (arg->axes >> check->mesh->shape.axis_count) {
            mw_check_error(check, "argument %d is a position on axes that do not exist", i);
            return false;
        }
        if (arg->kind == MW_ARG_SHIFTED && !is_shift(&check->mesh->shape, arg)) {
            mw_check_error(check, "argument %d is of a device %d places along axis %d", i,
                           arg->places, arg->axis);
            return false;
        }
        if (!is_bounded(check, arg, (int)mw_max(runs, 1))) {
            mw_check_error(check, "argument %d is a position with strides of %lld, %lld and %lld",
                           i, (long long)arg->block_stride, (long long)arg->micro_stride,
                           (long long)arg->loop_stride);
            return false;
        }
        if (arg->loop_stride && (!runs || instr->kind != MW_INSTR_KERNEL)) {
            mw_check_error(check, "argument %d moves on with the runs of a loop, %s", i,
                           runs ? "which only kernels do" : "and it is in none");
            return false;
        }
    }
    return true;
}

static bool check_counts(const MwCheck *check, const MwPlanInstr *instr, int operands, int args)
{
    if (instr->operand_count == operands && instr->arg_count == args)
        return true;
    mw_check_error(check, "it has %d operands and %d arguments; it takes %d and %d",
                   instr->operand_count, instr->arg_count, operands, args);
    return false;
}

/* Whether the processors of the host run the call, where devices are others. */
static bool is_of_host(const MwCheck *check, const MwPlanInstr *instr)
{
    return strcmp(check->plan->backend, mw_backend_info(MW_BACKEND_cpu)->name) != 0 &&
           instr->operand_count > 0 && mw_plan_is_on_host(check->mesh, buffer_of(check, instr, 0));
}

static void check_kernel(const MwCheck *check, const MwPlanInstr *instr)
{
    const MwPlanKernel *kernel = &check->plan->kernels[instr->target];
    if (kernel->on_host != is_of_host(check, instr))
        mw_check_error(check, "its operands are on the %s, and the kernel is not",
                       kernel->on_host ? "device" : "host");
    const int sets = (int)mw_max(mw_plan_instr_sets(check->plan, instr), 1);
    check_counts(check, instr, sets * kernel->operand_count, sets * kernel->arg_count);
}

/* ---- Routines ---- */

static bool is_allowed(char letter, MwAccess access)
{
    switch (letter) {
    case 'r':
        return access == MW_ACCESS_READ;
    case 'w':
    case 's':
        return access == MW_ACCESS_WRITE;
    case 'a':
        return access != MW_ACCESS_READ;
    }
    MW_UNREACHABLE();
}

static bool check_signature(const MwCheck *check, const MwPlanInstr *instr,
                            const MwRoutineInfo *info)
{
    for (int i = 0; i < instr->operand_count; i++) {
        if (!is_allowed(info->accesses[i], instr->operands[i].access)) {
            mw_check_error(check, "operand %d is read or written as it must not be", i);
            return false;
        }
    }
    for (int i = 0; i < instr->arg_count; i++) {
        if ((instr->args[i].kind == MW_ARG_FLOAT) != (i >= info->int_count)) {
            mw_check_error(check, "argument %d is %s", i,
                           i >= info->int_count ? "no float" : "a float");
            return false;
        }
    }
    return true;
}

/* The largest value that an argument has on any device in any micro-batch. */
static MwKernelArg largest_value(const MwCheck *check, const MwPlanArg *arg)
{
    if (arg->kind == MW_ARG_FLOAT)
        return (MwKernelArg){.f = arg->f};
    if (!is_position(arg))
        return (MwKernelArg){.i = arg->i};
    int64_t blocks = mw_mesh_ways(&check->mesh->shape, arg->axes);
    return (MwKernelArg){.i = (blocks - 1) * arg->block_stride +
                              (check->plan->micro_batches - 1) * arg->micro_stride};
}

/* Checks that results which a routine writes row by row are whole. */
static void check_rows(const MwCheck *check, const MwPlanInstr *instr, const MwKernelArg *args)
{
    int buffer[MW_ROUTINE_MAX_OPERANDS];
    for (int i = 0; i < instr->operand_count; i++)
        buffer[i] = instr->operands[i].buffer;
    if (!mw_routine_fills_rows((MwRoutine)instr->target, args, buffer))
        mw_check_error(check, "the rows of its results overlap, or have gaps");
}

/* Checks that a routine stays within its buffers. Its extents grow with every argument, so the
 * largest values decide. */
static void check_extents(const MwCheck *check, const MwPlanInstr *instr)
{
    enum { MOST_ARGS = 32 };
    MwKernelArg args[MOST_ARGS];
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    MW_ASSERT(instr->arg_count <= MOST_ARGS);
    for (int i = 0; i < instr->arg_count; i++)
        args[i] = largest_value(check, &instr->args[i]);
    if (!mw_routine_extents((MwRoutine)instr->target, args, bytes)) {
        mw_check_error(check, "its arguments are not valid");
        return;
    }
    const MwBackendInfo *backend = mw_backend_named(check->plan->backend);
    const char *why =
        backend ? mw_routine_off((MwRoutine)instr->target, args, backend->id) : "is of no backend";
    if (why)
        mw_check_error(check, "it %s", why);
    for (int i = 0; i < instr->operand_count; i++)
        if (bytes[i] > buffer_of(check, instr, i)->bytes)
            mw_check_error(check, "it reaches %lld bytes of operand %d, whose buffer has %lld",
                           (long long)bytes[i], i, (long long)buffer_of(check, instr, i)->bytes);
    check_rows(check, instr, args);
}

/* A product that adds to what is there reads it. */
static void check_gemm(const MwCheck *check, const MwPlanInstr *instr)
{
    if (instr->args[MW_GEMM_BETA].f != 0 && instr->operands[2].access == MW_ACCESS_WRITE)
        mw_check_error(check, "it adds to operand 2 without reading it");
}

static void check_routine(const MwCheck *check, const MwPlanInstr *instr)
{
    const MwRoutineInfo *info = mw_routine_info((MwRoutine)instr->target);
    if (!check_counts(check, instr, info->operand_count, info->int_count + info->float_count) ||
        !check_signature(check, instr, info))
        return;
    check_extents(check, instr);
    if (mw_gemm_extras((MwRoutine)instr->target))
        check_gemm(check, instr);
}

/* ---- Collectives ---- */

static void check_extent(const MwCheck *check, const MwPlanInstr *instr, int operand,
                         int64_t elements)
{
    int64_t bytes, held = buffer_of(check, instr, operand)->bytes;
    if (__builtin_mul_overflow(elements, (int64_t)mw_type_bytes(instr->type), &bytes) ||
        bytes > held)
        mw_check_error(check, "its %s needs %lld elements of %s; buffer %d has %lld bytes",
                       operand % 2 ? "destination" : "source", (long long)elements,
                       mw_type_name(instr->type), instr->operands[operand].buffer, (long long)held);
}

static void check_part(const MwCheck *check, const MwPlanInstr *instr, int part)
{
    const int ways = check->mesh->shape.size[instr->axis];
    const int64_t count = mw_plan_part_count(instr, part);
    int64_t result;
    if (instr->operands[2 * part].access != MW_ACCESS_READ ||
        instr->operands[2 * part + 1].access != MW_ACCESS_WRITE)
        mw_check_error(check, "it must read its first operand and write its second, in part %d",
                       part);
    else if (count < 1 || !mw_exchange_result((MwCollective)instr->target, ways, count, &result))
        mw_check_error(check, "%lld elements do not divide among %d devices", (long long)count,
                       ways);
    else {
        check_extent(check, instr, 2 * part, count);
        check_extent(check, instr, 2 * part + 1, result);
    }
}

/* Whether the args say how many elements each part has, which are `count` together. */
static bool has_part_counts(const MwPlanInstr *instr)
{
    int64_t sum = 0;
    for (int i = 0; i < instr->arg_count; i++)
        if (instr->args[i].kind != MW_ARG_INT || instr->args[i].i < 1 ||
            __builtin_add_overflow(sum, instr->args[i].i, &sum))
            return false;
    return sum == instr->count;
}

static void check_collective(const MwCheck *check, const MwPlanInstr *instr)
{
    const MwMeshShape *shape = &check->mesh->shape;
    const int parts = (int)mw_max(1, mw_plan_part_total(instr));
    if (!check_counts(check, instr, 2 * parts, parts > 1 ? parts : 0))
        return;
    if (parts > 1 && !has_part_counts(instr))
        mw_check_error(check, "its parts have not %lld elements together", (long long)instr->count);
    else if (instr->axis < 0 || instr->axis >= shape->axis_count)
        mw_check_error(check, "axis %d does not exist", instr->axis);
    else if ((unsigned)instr->type >= MW_TYPE_COUNT || mw_type_stored(instr->type) != instr->type ||
             (unsigned)instr->combine >= MW_COMBINE_COUNT ||
             (mw_collective_info((MwCollective)instr->target)->combines &&
              !mw_combine_is_valid(instr->type, instr->combine)))
        mw_check_error(check, "its elements cannot be combined so");
    else
        for (int i = 0; i < parts; i++)
            check_part(check, instr, i);
}

/* ---- Transfers ---- */

static void check_transfer(const MwCheck *check, const MwPlanInstr *instr)
{
    const MwPlanTransfer *transfer = &check->plan->transfers[instr->target];
    const bool sends = instr->kind == MW_INSTR_SEND;
    const int mesh = (int)(check->mesh - check->plan->meshes);
    const int expected = sends ? transfer->from_buffer : transfer->to_buffer;
    if (!check_counts(check, instr, 1, 0))
        return;
    if (instr->operands[0].access != (sends ? MW_ACCESS_READ : MW_ACCESS_WRITE))
        mw_check_error(check, "it must %s its operand", sends ? "read" : "write");
    else if (mesh != (sends ? transfer->from_mesh : transfer->to_mesh))
        mw_check_error(check, "transfer %d '%s' goes from mesh %d to mesh %d", instr->target,
                       transfer->name, transfer->from_mesh, transfer->to_mesh);
    else if (instr->operands[0].buffer != expected)
        mw_check_error(check, "transfer %d '%s' is of buffer %d here, not %d", instr->target,
                       transfer->name, expected, instr->operands[0].buffer);
}

/* ---- All of them ---- */

/* The number of targets of a kind of instructions, and the check of such instructions. */
typedef struct {
    int targets;
    void (*check)(const MwCheck *check, const MwPlanInstr *instr);
} Kind;

static void check_operators(MwCheck *check, const MwPlanInstr *instr)
{
    const int count = check->mesh->operator_count;
    if (instr->operator_index < -1 || instr->operator_index >= count)
        mw_check_error(check, "it is of operator %d, which does not exist", instr->operator_index);
    if (instr->has_operators && instr->operator_count < 2)
        mw_check_error(check, "it is of several operators, of which it names %d",
                       instr->operator_count);
    for (int i = 0; instr->has_operators && i < instr->operator_count; i++)
        if (instr->operators[i] >= count || (i && instr->operators[i] <= instr->operators[i - 1]))
            mw_check_error(check, "its operators do not ascend from 0 to %d", count - 1);
}

static void check_work(MwCheck *check, const MwPlanInstr *instr)
{
    if (!mw_check_is_amount(instr->time_s))
        mw_check_error(check, "its predicted time is no number of seconds");
    if (instr->has_work &&
        (!mw_check_is_amount(instr->flops) || !mw_check_is_amount(instr->work_bytes)))
        mw_check_error(check, "its work is no number of FLOPs and bytes");
}

static void check_instr(MwCheck check, const MwPlanProgram *program, int index)
{
    const MwPlanInstr *instr = &program->instrs[index];
    const Kind kinds[] = {
        [MW_INSTR_KERNEL] = {check.plan->kernel_count, check_kernel},
        [MW_INSTR_ROUTINE] = {MW_ROUTINE_COUNT, check_routine},
        [MW_INSTR_COLLECTIVE] = {MW_COLLECTIVE_COUNT, check_collective},
        [MW_INSTR_SEND] = {check.plan->transfer_count, check_transfer},
        [MW_INSTR_RECEIVE] = {check.plan->transfer_count, check_transfer},
    };
    char place[200];
    bool known = (unsigned)instr->kind < (unsigned)MW_COUNT(kinds) && instr->target >= 0 &&
                 instr->target < kinds[instr->kind].targets;
    snprintf(place, sizeof place, "%s, program %s, instruction %d (%s)", check.place, program->name,
             index, known ? mw_plan_instr_name(check.plan, instr) : "unknown");
    check.place = place;
    if (!known) {
        mw_check_error(&check, "there is no such instruction");
        return;
    }
    check_operators(&check, instr);
    check_work(&check, instr);
    const MwPlanLoop *loop = mw_plan_loop_at(program, index);
    if (loop && (instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE))
        mw_check_error(&check, "it is in a loop, which has no messages");
    if (check_operands(&check, instr) && check_args(&check, instr, loop ? loop->runs : 0))
        kinds[instr->kind].check(&check, instr);
}

/* The loops of a program stand apart, in order. */
static void check_loops(const MwCheck *check, const MwPlanProgram *program)
{
    int end = 0;
    for (int l = 0; l < program->loop_count; l++) {
        const MwPlanLoop *loop = &program->loops[l];
        if (loop->first < end || loop->count < 1 ||
            loop->count > program->instr_count - loop->first)
            mw_check_error(check, "program %s, loop %d has instructions %d to %lld of %d, after %d",
                           program->name, l, loop->first, (long long)loop->first + loop->count - 1,
                           program->instr_count, end);
        else if (loop->runs < 1 || loop->runs > most_runs)
            mw_check_error(check, "program %s, loop %d runs %d times", program->name, l,
                           loop->runs);
        else
            end = loop->first + loop->count;
    }
}

void mw_check_instrs(const MwCheck *check)
{
    for (int p = 0; p < check->mesh->program_count; p++) {
        check_loops(check, &check->mesh->programs[p]);
        for (int i = 0; i < check->mesh->programs[p].instr_count; i++)
            check_instr(*check, &check->mesh->programs[p], i);
    }
}
