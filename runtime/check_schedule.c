/* SPDX-License-Identifier: MIT */
/* Follows two steps of the schedule, event by event, without data: what is read must have been
 * written, and nothing that lies over it may have been written since. So no two buffers that hold
 * something needed overlap; no lifetime is taken from the plan.
 *
 * Every write of a buffer gets the next number, and each byte of the arena has the number of the
 * last write over it. A buffer is intact if none of its bytes has a number above that of its own
 * last write. The numbers stand in a tree over the pieces that the ends of buffers cut the arena
 * into, so that an event costs the logarithm of their count. */
#include "runtime/check.h"

#include "base/vec.h"

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
        writes.cuts[count++] = mesh->buffers[i].offset + mesh->buffers[i].bytes;
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

/* ---- Events ---- */

/* Where in a step something happens: an instruction of a task, or else what `name` says. */
typedef struct {
    const char *name;
    int task, instr;
} Place;

typedef struct {
    Place place;
    int buffer;
} Write;

typedef struct {
    const MwCheck *check;
    MwArena *arena;
    Writes writes;
    MW_VEC(Write) log; /* write n is log.at[n - 1] */
    int *last;         /* [buffers] number of the last write of each; 0: none in this step */
    bool *reported;    /* [buffers] one error is enough */
} Follow;

static const char *place_text(const Follow *follow, Place place, char *text, size_t bytes)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    if (place.name) {
        snprintf(text, bytes, "%s", place.name);
        return text;
    }
    const MwPlanProgram *program = &mesh->programs[mesh->tasks[place.task].program];
    snprintf(text, bytes, "program %s, instruction %d (%s)", program->name, place.instr,
             mw_plan_instr_name(follow->check->plan, &program->instrs[place.instr]));
    return text;
}

static void write_buffer(Follow *follow, Place place, int buffer)
{
    const MwPlanBuffer *to = &follow->check->mesh->buffers[buffer];
    mw_vec_push(follow->arena, &follow->log, ((Write){place, buffer}));
    follow->last[buffer] = follow->log.count;
    set_range(follow->writes.nodes, 0, 0, follow->writes.piece_count,
              piece_at(&follow->writes, to->offset),
              piece_at(&follow->writes, to->offset + to->bytes), follow->log.count);
}

static void report(Follow *follow, Place place, int buffer, int culprit)
{
    const MwPlanBuffer *buffers = follow->check->mesh->buffers;
    char here[200], there[200];
    MwCheck check = *follow->check;
    if (follow->reported[buffer])
        return;
    follow->reported[buffer] = true;
    snprintf(here, sizeof here, "%s, ", check.place);
    size_t length = strlen(here);
    place_text(follow, place, here + length, sizeof here - length);
    check.place = here;
    if (!culprit) {
        mw_check_error(&check, "reads buffer %d '%s' before anything has written it", buffer,
                       buffers[buffer].name);
        return;
    }
    const Write *write = &follow->log.at[culprit - 1];
    mw_check_error(&check,
                   "reads buffer %d '%s', which %s has overwritten with buffer %d '%s' that lies "
                   "over it",
                   buffer, buffers[buffer].name,
                   place_text(follow, write->place, there, sizeof there), write->buffer,
                   buffers[write->buffer].name);
}

static void read_buffer(Follow *follow, Place place, int buffer)
{
    const MwPlanBuffer *from = &follow->check->mesh->buffers[buffer];
    if (!follow->last[buffer]) {
        report(follow, place, buffer, 0);
        return;
    }
    int largest = largest_in(follow->writes.nodes, 0, 0, follow->writes.piece_count,
                             piece_at(&follow->writes, from->offset),
                             piece_at(&follow->writes, from->offset + from->bytes));
    if (largest > follow->last[buffer])
        report(follow, place, buffer, largest);
}

/* ---- The schedule ---- */

static void follow_task(Follow *follow, int task)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    const MwPlanProgram *program = &mesh->programs[mesh->tasks[task].program];
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        const Place place = {NULL, task, i};
        for (int k = 0; k < instr->operand_count; k++)
            if (instr->operands[k].access != MW_ACCESS_WRITE)
                read_buffer(follow, place, instr->operands[k].buffer);
        for (int k = 0; k < instr->operand_count; k++)
            if (instr->operands[k].access != MW_ACCESS_READ)
                write_buffer(follow, place, instr->operands[k].buffer);
    }
}

static void follow_inputs(Follow *follow)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    for (int i = 0; i < mesh->input_count; i++)
        write_buffer(follow, (Place){.name = "filling the inputs"}, mesh->inputs[i].buffer);
}

static void follow_outputs(Follow *follow, bool whole)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    for (int i = 0; i < mesh->output_count; i++)
        if (mesh->outputs[i].whole == whole)
            read_buffer(follow, (Place){.name = "taking the outputs"}, mesh->outputs[i].buffer);
}

/* The first task after `task` of another micro-batch. */
static int group_end(const MwPlanMesh *mesh, int task)
{
    int end = task + 1;
    while (end < mesh->task_count && mesh->tasks[end].micro_batch == mesh->tasks[task].micro_batch)
        end++;
    return end;
}

/* True if the micro-batch at `task` runs the same programs as the `repeats` groups before it. What
 * is intact after a sequence of events was followed twice does not change when it is followed
 * again, so further repeats prove nothing. */
static bool is_repeat(const MwPlanMesh *mesh, int task, int repeats)
{
    int count = group_end(mesh, task) - task;
    if (mesh->tasks[task].micro_batch < 0 || task < repeats * count)
        return false;
    for (int r = 1; r <= repeats; r++) {
        int before = task - r * count;
        if (mesh->tasks[before].micro_batch < 0 || group_end(mesh, before) - before != count ||
            (before > 0 && mesh->tasks[before - 1].micro_batch == mesh->tasks[before].micro_batch))
            return false;
        for (int i = 0; i < count; i++)
            if (mesh->tasks[before + i].program != mesh->tasks[task + i].program)
                return false;
    }
    return true;
}

static void follow_group(Follow *follow, int begin, int end)
{
    bool has_data = follow->check->mesh->tasks[begin].micro_batch >= 0;
    if (has_data)
        follow_inputs(follow);
    for (int task = begin; task < end; task++)
        follow_task(follow, task);
    if (has_data)
        follow_outputs(follow, false);
}

/* Sets the weights, or those alone that every step sets again. */
static void follow_weights(Follow *follow, bool each_step)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    for (int i = 0; i < mesh->weight_count; i++)
        if (mesh->weights[i].reset_each_step || !each_step)
            write_buffer(follow, (Place){.name = "setting the weights"}, mesh->weights[i].buffer);
}

/* Nothing but what is persistent lives on. */
static void forget_values(Follow *follow)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    for (int i = 0; i < mesh->buffer_count; i++)
        if (!mesh->buffers[i].persistent)
            follow->last[i] = 0;
}

static void follow_step(Follow *follow)
{
    const MwPlanMesh *mesh = follow->check->mesh;
    const Place end = {.name = "the end of the step"};
    forget_values(follow);
    follow_weights(follow, true);
    for (int task = 0; task < mesh->task_count; task = group_end(mesh, task))
        if (!is_repeat(mesh, task, 2))
            follow_group(follow, task, group_end(mesh, task));
    follow_outputs(follow, true);
    if (mesh->loss_buffer >= 0)
        read_buffer(follow, end, mesh->loss_buffer);
    for (int i = 0; i < mesh->weight_count; i++)
        if (!mesh->weights[i].reset_each_step)
            read_buffer(follow, end, mesh->weights[i].buffer);
}

void mw_check_schedule(const MwCheck *check, MwArena *arena)
{
    Follow follow = {.check = check,
                     .arena = arena,
                     .writes = writes_new(arena, check->mesh),
                     .last = MW_NEW(arena, int, check->mesh->buffer_count),
                     .reported = MW_NEW(arena, bool, check->mesh->buffer_count)};
    follow_weights(&follow, false);
    follow_step(&follow);
    follow_step(&follow);
}
