/* SPDX-License-Identifier: GPL-3.0-or-later */
/* List scheduling: an instruction can run when those before it that use the same memory, one of
 * them writing, have run. What memory is used is known to the byte, since buffers have their
 * places; so the arena stays as it is. */
#include "codegen/plan/group.h"

#include "base/vec.h"
#include "codegen/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef MW_VEC(int) Ints;

typedef struct {
    MwArena *arena;
    const MwGrouping *grouping;
    const MwPlanProgram *program;
    Ints
        *overlaps; /* [buffers] buffers of the program that share memory with it, itself included */
    Ints *followers; /* [instrs] instructions that cannot run before it */
    int *waits;      /* [instrs] number of instructions that must run before it and have not run */
    bool *done;      /* [instrs] */
    bool *held;      /* [instrs] it could run, and waits for others of its kernel */
    int first;       /* all instructions before this one have run */
    int messages;    /* messages and collectives that have not run */
    MwPlanProgram out;
} Grouper;

static const MwPlanInstr *instr_at(const Grouper *g, int i)
{
    return &g->program->instrs[i];
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

/* ---- Which buffers share memory ---- */

typedef struct {
    int64_t begin, end;
    int buffer;
} Place;

static int compare_places(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static void find_overlaps(Grouper *g)
{
    const int buffers = g->grouping->buffer_count;
    bool *used = MW_NEW(g->arena, bool, buffers);
    Place *places = MW_NEW(g->arena, Place, buffers);
    int count = 0;
    g->overlaps = MW_NEW(g->arena, Ints, buffers);
    for (int i = 0; i < g->program->instr_count; i++)
        for (int k = 0; k < instr_at(g, i)->operand_count; k++)
            used[instr_at(g, i)->operands[k].buffer] = true;
    for (int b = 0; b < buffers; b++) {
        const MwPlanBuffer *buffer = &g->grouping->buffers[b];
        if (used[b])
            places[count++] =
                (Place){buffer->offset, buffer->offset + mw_plan_buffer_bytes(buffer), b};
    }
    qsort(places, (size_t)count, sizeof *places, compare_places);
    for (int i = 0; i < count; i++) {
        mw_vec_push(g->arena, &g->overlaps[places[i].buffer], places[i].buffer);
        for (int k = i + 1; k < count && places[k].begin < places[i].end; k++) {
            mw_vec_push(g->arena, &g->overlaps[places[i].buffer], places[k].buffer);
            mw_vec_push(g->arena, &g->overlaps[places[k].buffer], places[i].buffer);
        }
    }
}

/* ---- What cannot run before what ---- */

typedef struct {
    int *writer;   /* [buffers] the last instruction that wrote it so far; -1: none */
    Ints *readers; /* [buffers] since then */
} Accesses;

/* `follower` is added for the instruction once: it is the last of its followers then. */
static void add_follower(Grouper *g, int i, int follower)
{
    Ints *followers = &g->followers[i];
    if (followers->count && mw_vec_last(followers) == follower)
        return;
    mw_vec_push(g->arena, followers, follower);
    g->waits[follower]++;
}

static void follow_access(Grouper *g, const Accesses *accesses, int i, const MwPlanOperand *operand)
{
    const Ints *over = &g->overlaps[operand->buffer];
    for (int o = 0; o < over->count; o++) {
        const int writer = accesses->writer[over->at[o]];
        const Ints *readers = &accesses->readers[over->at[o]];
        if (writer >= 0)
            add_follower(g, writer, i);
        for (int r = 0; r < readers->count && operand->access != MW_ACCESS_READ; r++)
            add_follower(g, readers->at[r], i);
    }
}

static void note_access(const Grouper *g, Accesses *accesses, int i, const MwPlanOperand *operand)
{
    if (operand->access == MW_ACCESS_READ) {
        mw_vec_push(g->arena, &accesses->readers[operand->buffer], i);
    } else {
        accesses->writer[operand->buffer] = i;
        accesses->readers[operand->buffer].count = 0;
    }
}

static void find_followers(Grouper *g)
{
    const int instrs = g->program->instr_count, buffers = g->grouping->buffer_count;
    Accesses accesses = {.writer = MW_NEW(g->arena, int, buffers),
                         .readers = MW_NEW(g->arena, Ints, buffers)};
    int last_message = -1;
    memset(accesses.writer, -1, sizeof(int) * (size_t)buffers);
    g->followers = MW_NEW(g->arena, Ints, instrs);
    g->waits = MW_NEW(g->arena, int, instrs);
    for (int i = 0; i < instrs; i++) {
        const MwPlanInstr *instr = instr_at(g, i);
        for (int k = 0; k < instr->operand_count; k++)
            follow_access(g, &accesses, i, &instr->operands[k]);
        for (int k = 0; k < instr->operand_count; k++)
            note_access(g, &accesses, i, &instr->operands[k]);
        g->messages += communicates(instr);
        if (!is_message(instr))
            continue;
        if (last_message >= 0)
            add_follower(g, last_message, i);
        last_message = i;
    }
}

/* ---- The new order ---- */

static bool is_ready(const Grouper *g, int i)
{
    return !g->done[i] && g->waits[i] == 0;
}

static void finish(Grouper *g, int i)
{
    g->done[i] = true;
    g->held[i] = false;
    g->messages -= communicates(instr_at(g, i));
    for (int f = 0; f < g->followers[i].count; f++)
        g->waits[g->followers[i].at[f]]--;
    while (g->first < g->program->instr_count && g->done[g->first])
        g->first++;
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
    for (int i = 0; i < calls->count; i++) {
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
        if (call->operator_index != group.operator_index)
            group.operator_index = -1;
    }
    return group;
}

/* Runs `i` and all that can run with it. */
static void run_group(Grouper *g, int i)
{
    Ints calls = {0};
    for (int k = i; k < g->program->instr_count; k++)
        if (is_ready(g, k) && instr_at(g, k)->kind == MW_INSTR_KERNEL &&
            instr_at(g, k)->target == instr_at(g, i)->target)
            mw_vec_push(g->arena, &calls, k);
    g->out.instrs[g->out.instr_count++] = join_calls(g, &calls);
    for (int c = 0; c < calls.count; c++)
        finish(g, calls.at[c]);
}

/* Runs what is held of a kernel where that is work enough. */
static void run_large_groups(Grouper *g)
{
    for (int i = g->first; i < g->program->instr_count; i++) {
        double time_s = 0;
        for (int k = i; k < g->program->instr_count && g->held[i]; k++)
            if (g->held[k] && instr_at(g, k)->target == instr_at(g, i)->target)
                time_s += instr_at(g, k)->time_s - g->grouping->launch_s;
        if (time_s >= MW_TUNED_GROUP_US * 1e-6)
            run_group(g, i);
    }
}

/* The first instruction that is ready, or (`held`) that is held; -1: none. */
static int find_first(const Grouper *g, bool held)
{
    for (int i = g->first; i < g->program->instr_count; i++)
        if (held ? g->held[i] : is_ready(g, i) && !g->held[i])
            return i;
    return -1;
}

static void take_next(Grouper *g)
{
    const int next = find_first(g, false);
    if (next < 0) {
        run_group(g, find_first(g, true));
    } else if (!may_be_grouped(g, next)) {
        if (communicates(instr_at(g, next)) && g->grouping->waits)
            run_large_groups(g);
        g->out.instrs[g->out.instr_count++] = *instr_at(g, next);
        finish(g, next);
    } else if (g->grouping->waits) {
        g->held[next] = true;
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
    Grouper g = {
        .arena = arena,
        .grouping = grouping,
        .program = program,
        .done = MW_NEW(arena, bool, program->instr_count),
        .held = MW_NEW(arena, bool, program->instr_count),
        .out = {.name = program->name, .instrs = MW_NEW(arena, MwPlanInstr, program->instr_count)}};
    if (count_groupable(&g) < 2)
        return *program;
    find_overlaps(&g);
    find_followers(&g);
    while (g.first < program->instr_count)
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
