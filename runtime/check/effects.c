/* SPDX-License-Identifier: MIT */
/* Every write of a buffer gets the next number, and each byte of the arena has the number of the
 * last write over it. A buffer is intact if none of its bytes has a number above that of its own
 * last write. The numbers stand in a tree over the pieces that the ends of buffers cut the arena
 * into, so that an access costs the logarithm of their count. */
#include "runtime/check/effects.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The last write over each byte ---- */

/* A node covers a range of pieces. Numbers only grow, so the last range assignment is also the
 * largest number. */
typedef struct {
    int whole;   /* the last write over all of it at once */
    int largest; /* in any part of it */
} Node;

typedef struct {
    int64_t *cuts; /* piece i is the bytes [cuts[i], cuts[i + 1]) */
    int piece_count;
    Node *nodes;
} Writes;

static int compare_cuts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static Writes writes_new(MwArena *arena, const MwPlanMesh *mesh)
{
    Writes writes = {.cuts = MW_NEW(arena, int64_t, 2 * mesh->buffer_count + 1)};
    int count = 0, kept = 0;
    for (int i = 0; i < mesh->buffer_count; i++) {
        writes.cuts[count++] = mesh->buffers[i].offset;
        writes.cuts[count++] = mesh->buffers[i].offset + mw_plan_buffer_bytes(&mesh->buffers[i]);
    }
    qsort(writes.cuts, (size_t)count, sizeof *writes.cuts, compare_cuts);
    for (int i = 0; i < count; i++)
        if (kept == 0 || writes.cuts[i] != writes.cuts[kept - 1])
            writes.cuts[kept++] = writes.cuts[i];
    writes.piece_count = (int)mw_max(kept - 1, 1);
    writes.nodes = MW_NEW(arena, Node, 4 * (size_t)writes.piece_count);
    return writes;
}

static int piece_at(const Writes *writes, int64_t offset)
{
    const int64_t *cut = bsearch(&offset, writes->cuts, (size_t)writes->piece_count + 1,
                                 sizeof offset, compare_cuts);
    MW_ASSERT(cut);
    return (int)(cut - writes->cuts);
}

/* Pieces [begin, end) of the node's [low, high) get `number`. */
static void set_range(Node *nodes, int node, int low, int high, int begin, int end, int number)
{
    if (begin >= high || end <= low)
        return;
    nodes[node].largest = number;
    if (begin <= low && high <= end) {
        nodes[node].whole = number;
        return;
    }
    int middle = low + (high - low) / 2;
    set_range(nodes, 2 * node + 1, low, middle, begin, end, number);
    set_range(nodes, 2 * node + 2, middle, high, begin, end, number);
}

static int largest_in(const Node *nodes, int node, int low, int high, int begin, int end)
{
    if (begin >= high || end <= low)
        return 0;
    if (begin <= low && high <= end)
        return nodes[node].largest;
    int middle = low + (high - low) / 2;
    int left = largest_in(nodes, 2 * node + 1, low, middle, begin, end);
    int right = largest_in(nodes, 2 * node + 2, middle, high, begin, end);
    return (int)mw_max(nodes[node].whole, mw_max(left, right));
}

/* ---- Messages ---- */

static const char *place_text(const MwCheck *check, const MwAccessPlace *place)
{
    if (place->name)
        return place->name;
    const MwPlanProgram *program = &check->mesh->programs[place->program];
    return mw_arena_printf(check->arena, "program %s, instruction %d (%s)", program->name,
                           place->instr,
                           mw_plan_instr_name(check->plan, &program->instrs[place->instr]));
}

void mw_check_place_error(const MwCheck *check, const MwAccessPlace *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = mw_arena_vprintf(check->arena, format, args);
    va_end(args);
    MwCheck at = *check;
    at.place = mw_arena_printf(check->arena, "%s, %s", check->place, place_text(check, place));
    mw_check_error(&at, "%s", text);
}

void mw_check_overwritten(const MwCheck *check, const MwEffects *effects, int reader, int culprit)
{
    const MwPlanBuffer *buffers = check->mesh->buffers;
    const MwAccessPlace *read = &effects->places.at[reader], *write = &effects->places.at[culprit];
    mw_check_place_error(check, read,
                         "reads buffer %d '%s', which %s has overwritten with buffer %d '%s' that "
                         "lies over it",
                         read->buffer, buffers[read->buffer].name, place_text(check, write),
                         write->buffer, buffers[write->buffer].name);
}

/* ---- Accesses ---- */

typedef struct {
    const MwCheck *check;
    MwEffects effects;
    Writes writes;
    int *last;         /* [buffers] number of the last write of each, which is that of its place */
    bool *reported;    /* [buffers] one error is enough */
    MwEffect *current; /* [buffers] of the activity that is followed */
    int begin;         /* the last number before that */
} Follow;

static int add_place(Follow *follow, const char *name, int program, int instr, int buffer)
{
    mw_vec_push(follow->check->arena, &follow->effects.places,
                ((MwAccessPlace){name, program, instr, buffer}));
    return follow->effects.places.count - 1;
}

static int largest_over(const Follow *follow, int buffer)
{
    const MwPlanBuffer *at = &follow->check->mesh->buffers[buffer];
    return largest_in(follow->writes.nodes, 0, 0, follow->writes.piece_count,
                      piece_at(&follow->writes, at->offset),
                      piece_at(&follow->writes, at->offset + mw_plan_buffer_bytes(at)));
}

static void write_buffer(Follow *follow, int place)
{
    const int buffer = follow->effects.places.at[place].buffer;
    const MwPlanBuffer *to = &follow->check->mesh->buffers[buffer];
    follow->last[buffer] = place;
    set_range(follow->writes.nodes, 0, 0, follow->writes.piece_count,
              piece_at(&follow->writes, to->offset),
              piece_at(&follow->writes, to->offset + mw_plan_buffer_bytes(to)), place);
}

/* Notes a read of a buffer. If the activity has not written the buffer before, the effect on the
 * buffer keeps the first such read, or the first one after its bytes were overwritten, if there is
 * one. Otherwise reports the read if the bytes were overwritten since. */
static void read_buffer(Follow *follow, int place)
{
    const int buffer = follow->effects.places.at[place].buffer;
    const int largest = largest_over(follow, buffer);
    if (follow->last[buffer] <= follow->begin) {
        MwEffect *effect = &follow->current[buffer];
        if (!effect->reader || (!effect->lost && largest > follow->begin)) {
            effect->reader = place;
            effect->lost = largest > follow->begin ? largest : 0;
        }
    } else if (largest > follow->last[buffer] && !follow->reported[buffer]) {
        follow->reported[buffer] = true;
        mw_check_overwritten(follow->check, &follow->effects, place, largest);
    }
}

/* ---- Activities ---- */

/* `kept`: [buffers] writes of these go on with what is there; NULL: none do. */
static void follow_instr(Follow *follow, int program, int i, const bool *kept)
{
    const MwPlanInstr *instr = &follow->check->mesh->programs[program].instrs[i];
    for (int k = 0; k < instr->operand_count; k++)
        if (instr->operands[k].access != MW_ACCESS_WRITE ||
            (kept && kept[instr->operands[k].buffer]))
            read_buffer(follow, add_place(follow, NULL, program, i, instr->operands[k].buffer));
    for (int k = 0; k < instr->operand_count; k++)
        if (instr->operands[k].access != MW_ACCESS_READ)
            write_buffer(follow, add_place(follow, NULL, program, i, instr->operands[k].buffer));
}

/* The second run of a loop stands for all that follow: what one run leaves to the next, and what
 * kernels of the loop write and it never reads, of which each run may write a part, must outlast a
 * run. What else runs writes all of a buffer, such as the memory that a routine works in. */
static void follow_loop_again(Follow *follow, int program, const MwPlanLoop *loop)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    bool *kept = MW_NEW(follow->check->arena, bool, mesh->buffer_count);
    memset(kept, true, sizeof *kept * (size_t)mesh->buffer_count);
    for (int i = loop->first; i < loop->first + loop->count; i++) {
        const MwPlanInstr *instr = &mesh->programs[program].instrs[i];
        for (int k = 0; k < instr->operand_count; k++)
            if (instr->operands[k].access != MW_ACCESS_WRITE || instr->kind != MW_INSTR_KERNEL)
                kept[instr->operands[k].buffer] = false;
    }
    for (int i = loop->first; i < loop->first + loop->count && loop->runs > 1; i++)
        follow_instr(follow, program, i, kept);
}

static void follow_instrs(Follow *follow, int program)
{
    const MwPlanProgram *followed = &follow->check->mesh->programs[program];
    for (int i = 0; i < followed->instr_count; i++) {
        const MwPlanLoop *loop = mw_plan_loop_at(followed, i);
        follow_instr(follow, program, i, NULL);
        if (loop && i == loop->first + loop->count - 1)
            follow_loop_again(follow, program, loop);
    }
}

/* The outputs of a program; -1: those of the whole step. */
static void follow_outputs(Follow *follow, int program)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    for (int i = 0; i < mesh->output_count; i++)
        if (mesh->outputs[i].program == program)
            read_buffer(follow, add_place(follow, "taking the outputs", program, 0,
                                          mesh->outputs[i].buffer));
}

static void follow_program(Follow *follow, int program)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    for (int i = 0; i < mesh->input_count; i++)
        if (mesh->inputs[i].program == program)
            write_buffer(follow, add_place(follow, "filling the inputs", program, 0,
                                           mesh->inputs[i].buffer));
    follow_instrs(follow, program);
    follow_outputs(follow, program);
}

/* Sets the weights, or those alone that every step sets again. */
static void follow_weights(Follow *follow, bool each_step)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    for (int i = 0; i < mesh->weight_count; i++)
        if (mesh->weights[i].reset_each_step || !each_step)
            write_buffer(follow,
                         add_place(follow, "setting the weights", -1, 0, mesh->weights[i].buffer));
}

static void follow_end(Follow *follow)
{
    static const char name[] = "the end of the step";
    const MwPlanMesh *mesh = follow->check->mesh;
    follow_outputs(follow, -1);
    for (int i = 0; i < mesh->metric_count; i++)
        read_buffer(follow, add_place(follow, name, -1, 0, mesh->metrics[i].buffer));
    for (int i = 0; i < mesh->weight_count; i++)
        if (!mesh->weights[i].reset_each_step)
            read_buffer(follow, add_place(follow, name, -1, 0, mesh->weights[i].buffer));
}

static void follow_activity(Follow *follow, int activity)
{
    const int programs = follow->check->mesh->program_count;
    if (activity < programs)
        follow_program(follow, activity);
    else if (activity == programs + MW_ACTIVITY_END)
        follow_end(follow);
    else
        follow_weights(follow, activity == programs + MW_ACTIVITY_RESET);
}

/* What the activity has done to each buffer in the end. */
static void conclude(Follow *follow)
{
    for (int b = 0; b < follow->check->mesh->buffer_count; b++) {
        const int largest = largest_over(follow, b);
        const int own = follow->last[b];
        follow->current[b].culprit = largest > mw_max(own, follow->begin) ? largest : 0;
        follow->current[b].writes = own > follow->begin;
    }
}

MwEffects mw_check_effects(const MwCheck *check)
{
    const MwPlanMesh *mesh = check->mesh;
    Follow follow = {.check = check,
                     .writes = writes_new(check->arena, mesh),
                     .last = MW_NEW(check->arena, int, mesh->buffer_count),
                     .reported = MW_NEW(check->arena, bool, mesh->buffer_count)};
    MwEffects *effects = &follow.effects;
    effects->activity_count = mesh->program_count + MW_EXTRA_ACTIVITIES;
    effects->effects = MW_NEW(check->arena, MwEffect *, effects->activity_count);
    add_place(&follow, "nothing", -1, 0, -1);
    for (int a = 0; a < effects->activity_count; a++) {
        follow.current = effects->effects[a] = MW_NEW(check->arena, MwEffect, mesh->buffer_count);
        follow.begin = effects->places.count - 1;
        follow_activity(&follow, a);
        conclude(&follow);
    }
    return follow.effects;
}
