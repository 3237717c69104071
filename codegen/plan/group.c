/* SPDX-License-Identifier: GPL-3.0-or-later */
/* List scheduling: an instruction can run when those before it that use the same memory, one of
 * them writing, have run. What memory is used is known to the byte, since buffers have their
 * places; so the arena stays as it is.
 *
 * Time and memory grow with the instructions and what they must wait for, which is linear but where
 * many read what one writes again. */
#include "codegen/plan/group.h"

#include "codegen/plan/accesses.h"
#include "codegen/plan/report.h"
#include "codegen/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef MwInstrList Ints;

/* A set of instructions. */
typedef struct {
    uint64_t *words; /* bit i % 64 of word i / 64: instruction i is in the set */
    int word_count;
    int from; /* no word before this one has a bit */
} InstrSet;

/* Calls of one kernel. */
typedef struct {
    Ints ready;    /* those that could run, in no order; some of them may have run */
    double held_s; /* at least what groups of those that are held can take beside their launches */
    bool is_large; /* among the large ones */
} Calls;

typedef struct {
    MwArena *arena;
    const MwGrouping *grouping;
    const MwPlanProgram *program;
    Ints *followers; /* [instrs] instructions that cannot run before it */
    int *waits;      /* [instrs] number of instructions that must run before it and have not run */
    int *collective; /* [instrs] the last collective that must run before it; -1: none */
    bool *done;      /* [instrs] */
    InstrSet ready;  /* those that could run and are not held */
    InstrSet held;   /* those that could run and wait for others of their kernel */
    int left;        /* number of instructions that have not run */
    Calls *calls;    /* [kernels of the plan] */
    Ints large;      /* kernels whose held_s is that of a large group */
    MwPlanProgram out;
} Grouper;

static const MwPlanInstr *instr_at(const Grouper *g, int i)
{
    return &g->program->instrs[i];
}

static InstrSet set_new(MwArena *arena, int instrs)
{
    const int words = instrs / 64 + 1;
    return (InstrSet){.words = MW_NEW(arena, uint64_t, words), .word_count = words};
}

static bool set_has(const InstrSet *set, int i)
{
    return set->words[i / 64] >> i % 64 & 1;
}

static void set_add(InstrSet *set, int i)
{
    set->words[i / 64] |= UINT64_C(1) << i % 64;
    set->from = (int)mw_min(set->from, i / 64);
}

static void set_remove(InstrSet *set, int i)
{
    set->words[i / 64] &= ~(UINT64_C(1) << i % 64);
}

/* The first instruction of the set; -1: it is empty. */
static int set_first(InstrSet *set)
{
    while (set->from < set->word_count && !set->words[set->from])
        set->from++;
    return set->from < set->word_count ? set->from * 64 + __builtin_ctzll(set->words[set->from])
                                       : -1;
}

static bool is_message(const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE;
}

static bool communicates(const MwPlanInstr *instr)
{
    return is_message(instr) || instr->kind == MW_INSTR_COLLECTIVE;
}

static bool may_be_grouped(const Grouper *g, int i)
{
    const MwPlanInstr *instr = instr_at(g, i);
    return instr->kind == MW_INSTR_KERNEL && g->grouping->kernels[instr->target].takes_sets;
}

/* ---- What cannot run before what ---- */

/* Context of add_follower. */
typedef struct {
    Grouper *g;
    int follower;
} Following;

/* The follower is added for the instruction once: it is the last of its followers then. */
static void add_follower(void *context, int i)
{
    const Following *following = context;
    Ints *followers = &following->g->followers[i];
    if (followers->count && mw_vec_last(followers) == following->follower)
        return;
    mw_vec_push(following->g->arena, followers, following->follower);
    if (instr_at(following->g, i)->kind == MW_INSTR_COLLECTIVE)
        following->g->collective[following->follower] =
            (int)mw_max(following->g->collective[following->follower], i);
    following->g->waits[following->follower]++;
}

static void follow_accesses(Grouper *g, const MwAccesses *accesses, int i)
{
    Following following = {g, i};
    for (int k = 0; k < instr_at(g, i)->operand_count; k++) {
        const MwPlanOperand *operand = &instr_at(g, i)->operands[k];
        mw_accesses_before(accesses, operand->buffer, operand->access != MW_ACCESS_READ,
                           add_follower, &following);
    }
}

static void note_accesses(const Grouper *g, MwAccesses *accesses, int i)
{
    for (int k = 0; k < instr_at(g, i)->operand_count; k++) {
        const MwPlanOperand *operand = &instr_at(g, i)->operands[k];
        if (operand->access == MW_ACCESS_READ)
            mw_accesses_read(accesses, operand->buffer, i);
        else
            mw_accesses_write(accesses, operand->buffer, i);
    }
}

/* Keeps what stands before a receive before it, and what stands behind it behind. `last_receive` is
 * the one before `i`; -1: there is none. */
static void keep_side(Grouper *g, int i, int *last_receive)
{
    Following following = {g, i};
    const bool is_receive = instr_at(g, i)->kind == MW_INSTR_RECEIVE;
    for (int k = *last_receive + 1; k < i && is_receive; k++)
        add_follower(&following, k);
    if (*last_receive >= 0)
        add_follower(&following, *last_receive);
    *last_receive = is_receive ? i : *last_receive;
}

static void find_followers(Grouper *g)
{
    const int instrs = g->program->instr_count;
    int last_receive = -1;
    MwAccesses *accesses =
        mw_accesses_new(g->arena, g->grouping->buffers, g->grouping->buffer_count);
    int last_message = -1;
    g->followers = MW_NEW(g->arena, Ints, instrs);
    g->waits = MW_NEW(g->arena, int, instrs);
    g->collective = MW_NEW(g->arena, int, instrs);
    memset(g->collective, -1, sizeof *g->collective * (size_t)instrs);
    for (int i = 0; i < instrs; i++) {
        follow_accesses(g, accesses, i);
        note_accesses(g, accesses, i);
        if (g->grouping->receives_part)
            keep_side(g, i, &last_receive);
        if (!is_message(instr_at(g, i)))
            continue;
        if (last_message >= 0)
            add_follower(&(Following){g, i}, last_message);
        last_message = i;
    }
}

/* ---- The new order ---- */

/* Notes that nothing must run before `i` any more. */
static void make_ready(Grouper *g, int i)
{
    set_add(&g->ready, i);
    if (instr_at(g, i)->kind == MW_INSTR_KERNEL)
        mw_vec_push(g->arena, &g->calls[instr_at(g, i)->target].ready, i);
}

static void finish(Grouper *g, int i)
{
    g->done[i] = true;
    g->left--;
    set_remove(&g->ready, i);
    set_remove(&g->held, i);
    for (int f = 0; f < g->followers[i].count; f++)
        if (--g->waits[g->followers[i].at[f]] == 0)
            make_ready(g, g->followers[i].at[f]);
}

static void append_sets(MwPlanInstr *to, const MwPlanInstr *from)
{
    memcpy(to->operands + to->operand_count, from->operands,
           sizeof *from->operands * (size_t)from->operand_count);
    memcpy(to->args + to->arg_count, from->args, sizeof *from->args * (size_t)from->arg_count);
    to->operand_count += from->operand_count;
    to->arg_count += from->arg_count;
}

/* One call of what `calls` call. */
static MwPlanInstr join_calls(const Grouper *g, const Ints *calls)
{
    MwPlanInstr group = *instr_at(g, calls->at[0]);
    int operands = 0, args = 0;
    if (calls->count == 1)
        return group;
    const MwPlanInstr **parts = MW_NEW(g->arena, const MwPlanInstr *, calls->count);
    for (int i = 0; i < calls->count; i++) {
        parts[i] = instr_at(g, calls->at[i]);
        operands += instr_at(g, calls->at[i])->operand_count;
        args += instr_at(g, calls->at[i])->arg_count;
    }
    group.operands = MW_NEW(g->arena, MwPlanOperand, operands);
    group.args = MW_NEW(g->arena, MwPlanArg, args);
    group.operand_count = group.arg_count = 0;
    group.time_s = g->grouping->launch_s;
    for (int i = 0; i < calls->count; i++) {
        const MwPlanInstr *call = instr_at(g, calls->at[i]);
        append_sets(&group, call);
        group.time_s += fmax(call->time_s - g->grouping->launch_s, 0);
        group.flops += i ? call->flops : 0;
        group.work_bytes += i ? call->work_bytes : 0;
    }
    mw_plan_join_operators(g->arena, parts, calls->count, &group);
    return group;
}

static int compare_instrs(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Takes from the calls of a kernel those that have run, and orders the others. */
static void tidy_calls(Grouper *g, Calls *calls)
{
    int count = 0;
    for (int c = 0; c < calls->ready.count; c++)
        if (!g->done[calls->ready.at[c]])
            calls->ready.at[count++] = calls->ready.at[c];
    calls->ready.count = count;
    if (count > 1)
        qsort(calls->ready.at, (size_t)count, sizeof *calls->ready.at, compare_instrs);
}

/* Whether a call is one of what lies on the host, which is no part of one on the device. */
static bool is_on_host(const Grouper *g, int i)
{
    const MwPlanInstr *instr = instr_at(g, i);
    return instr->operand_count > 0 &&
           g->grouping->buffers[instr->operands[0].buffer].offset >= g->grouping->host_begin;
}

/* Whether a call can run with `i`, and stands behind it. A collective runs beside what stands
 * between it and what waits for it, so no call waits for a later one than `i` does because of the
 * group, unless it would run now by itself. */
static bool joins(const Grouper *g, int i, int call)
{
    return call >= i && is_on_host(g, call) == is_on_host(g, i) &&
           (g->collective[call] <= g->collective[i] || set_has(&g->held, call));
}

/* Runs `i` and all that joins it. */
static void run_group(Grouper *g, int i)
{
    Calls *calls = &g->calls[instr_at(g, i)->target];
    Ints group = {0};
    tidy_calls(g, calls);
    for (int c = 0; c < calls->ready.count; c++)
        if (joins(g, i, calls->ready.at[c]))
            mw_vec_push(g->arena, &group, calls->ready.at[c]);
    g->out.instrs[g->out.instr_count++] = join_calls(g, &group);
    for (int c = 0; c < group.count; c++)
        finish(g, group.at[c]);
}

/* Seconds that a call takes beside its launch. */
static double work_s(const Grouper *g, int i)
{
    return instr_at(g, i)->time_s - g->grouping->launch_s;
}

static void hold(Grouper *g, int i)
{
    const int kernel = instr_at(g, i)->target;
    Calls *calls = &g->calls[kernel];
    set_remove(&g->ready, i);
    set_add(&g->held, i);
    calls->held_s += fmax(work_s(g, i), 0);
    if (calls->held_s < MW_TUNED_GROUP_US * 1e-6 || calls->is_large)
        return;
    calls->is_large = true;
    mw_vec_push(g->arena, &g->large, kernel);
}

/* The instructions that are held of kernels of which that may be work enough, in order. */
static Ints list_large(Grouper *g)
{
    Ints list = {0};
    for (int k = 0; k < g->large.count; k++) {
        Calls *calls = &g->calls[g->large.at[k]];
        tidy_calls(g, calls);
        for (int c = 0; c < calls->ready.count; c++)
            if (set_has(&g->held, calls->ready.at[c]))
                mw_vec_push(g->arena, &list, calls->ready.at[c]);
        calls->is_large = false;
        calls->held_s = 0;
    }
    g->large.count = 0;
    if (list.count > 1)
        qsort(list.at, (size_t)list.count, sizeof *list.at, compare_instrs);
    return list;
}

/* Runs what is held of a kernel where that is work enough. */
static void run_large_groups(Grouper *g)
{
    const Ints list = list_large(g);
    for (int i = 0; i < list.count; i++) {
        const int target = instr_at(g, list.at[i])->target;
        double time_s = 0;
        for (int k = i; k < list.count && set_has(&g->held, list.at[i]); k++)
            if (set_has(&g->held, list.at[k]) && instr_at(g, list.at[k])->target == target)
                time_s += work_s(g, list.at[k]);
        if (time_s >= MW_TUNED_GROUP_US * 1e-6)
            run_group(g, list.at[i]);
    }
    for (int i = 0; i < list.count; i++)
        if (set_has(&g->held, list.at[i]))
            hold(g, list.at[i]);
}

static void take_next(Grouper *g)
{
    const int next = set_first(&g->ready);
    if (next < 0) {
        run_group(g, set_first(&g->held));
    } else if (!may_be_grouped(g, next)) {
        if (communicates(instr_at(g, next)) && g->grouping->waits)
            run_large_groups(g);
        g->out.instrs[g->out.instr_count++] = *instr_at(g, next);
        finish(g, next);
    } else if (g->grouping->waits) {
        hold(g, next);
    } else {
        run_group(g, next);
    }
}

static int count_groupable(const Grouper *g)
{
    int count = 0;
    for (int i = 0; i < g->program->instr_count; i++)
        count += may_be_grouped(g, i);
    return count;
}

/* Groups the calls of a program without loops. */
static MwPlanProgram group_straight(MwArena *arena, const MwGrouping *grouping,
                                    const MwPlanProgram *program)
{
    const int instrs = program->instr_count;
    Grouper g = {.arena = arena,
                 .grouping = grouping,
                 .program = program,
                 .done = MW_NEW(arena, bool, instrs),
                 .ready = set_new(arena, instrs),
                 .held = set_new(arena, instrs),
                 .left = instrs,
                 .out = {.name = program->name, .instrs = MW_NEW(arena, MwPlanInstr, instrs)}};
    if (count_groupable(&g) < 2)
        return *program;
    g.calls = MW_NEW(arena, Calls, grouping->kernel_count);
    find_followers(&g);
    for (int i = 0; i < instrs; i++)
        if (g.waits[i] == 0)
            make_ready(&g, i);
    while (g.left > 0)
        take_next(&g);
    return g.out;
}

static void append_instrs(MwPlanProgram *to, const MwPlanProgram *from)
{
    memcpy(to->instrs + to->instr_count, from->instrs,
           sizeof *from->instrs * (size_t)from->instr_count);
    to->instr_count += from->instr_count;
}

/* Instructions [begin, end) of a program. */
static MwPlanProgram part_of(const MwPlanProgram *program, int begin, int end)
{
    return (MwPlanProgram){
        .name = program->name, .instrs = program->instrs + begin, .instr_count = end - begin};
}

/* The steps of a loop stay as they are; what stands before and behind it is grouped. */
MwPlanProgram mw_program_group(MwArena *arena, const MwGrouping *grouping,
                               const MwPlanProgram *program)
{
    MwPlanProgram out = {.name = program->name,
                         .instrs = MW_NEW(arena, MwPlanInstr, program->instr_count),
                         .loops = MW_NEW(arena, MwPlanLoop, program->loop_count),
                         .loop_count = program->loop_count};
    int begin = 0;
    for (int l = 0; l <= program->loop_count; l++) {
        const MwPlanLoop *loop = l < program->loop_count ? &program->loops[l] : NULL;
        const int end = loop ? loop->first : program->instr_count;
        const MwPlanProgram straight = part_of(program, begin, end);
        const MwPlanProgram grouped = group_straight(arena, grouping, &straight);
        append_instrs(&out, &grouped);
        if (!loop)
            break;
        const MwPlanProgram steps = part_of(program, end, end + loop->count);
        out.loops[l] = (MwPlanLoop){out.instr_count, loop->count, loop->runs};
        append_instrs(&out, &steps);
        begin = end + loop->count;
    }
    return out;
}
