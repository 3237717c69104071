/* SPDX-License-Identifier: MIT */
/* Checks that meshes agree: every transfer has two ends that fit, and data with one name on several
 * meshes is the same there. */
#include "base/vec.h"
#include "runtime/check/rules.h"
#include "runtime/check/transfer.h"

#include <stdlib.h>
#include <string.h>

/* ---- Ends of transfers ---- */

/* The instructions of one end of a transfer. */
typedef struct {
    int count;   /* number of instructions */
    int program; /* program of the last one */
} End;

static void check_end_data(const MwCheck *check, const MwPlanTransfer *transfer, bool sends)
{
    const int mesh = sends ? transfer->from_mesh : transfer->to_mesh;
    MwCheck at = *check;
    if (mesh < 0 || mesh >= check->plan->mesh_count) {
        mw_check_error(check, "mesh %d does not exist", mesh);
        return;
    }
    at.mesh = &check->plan->meshes[mesh];
    const MwCheckData data = {
        .label = {"the end on mesh", mw_arena_printf(check->arena, "%d", mesh)},
        .buffer = sends ? transfer->from_buffer : transfer->to_buffer,
        .global = &transfer->tensor,
        .spec = sends ? transfer->from_spec : transfer->to_spec};
    mw_check_data(&at, &data);
}

static MwCheck at_transfer(const MwCheck *check, int index)
{
    MwCheck at = *check;
    at.place = mw_arena_printf(check->arena, "transfer %d '%s'", index,
                               check->plan->transfers[index].name);
    return at;
}

static void check_transfers(const MwCheck *check)
{
    for (int t = 0; t < check->plan->transfer_count; t++) {
        const MwPlanTransfer *transfer = &check->plan->transfers[t];
        const MwCheck at = at_transfer(check, t);
        check_end_data(&at, transfer, true);
        check_end_data(&at, transfer, false);
        if (transfer->from_mesh == transfer->to_mesh)
            mw_check_error(&at, "it goes from mesh %d to itself", transfer->from_mesh);
    }
}

/* Notes every send and receive of a mesh. */
static void find_ends(const MwPlanMesh *mesh, End *sends, End *receives)
{
    for (int p = 0; p < mesh->program_count; p++) {
        for (int i = 0; i < mesh->programs[p].instr_count; i++) {
            const MwPlanInstr *instr = &mesh->programs[p].instrs[i];
            if (instr->kind != MW_INSTR_SEND && instr->kind != MW_INSTR_RECEIVE)
                continue;
            End *end =
                instr->kind == MW_INSTR_SEND ? &sends[instr->target] : &receives[instr->target];
            end->count++;
            end->program = p;
        }
    }
}

/* Returns the micro-batch of the next task of `program`, from `*task` on, and moves `*task` past
 * it; -2 if there is none. */
static int next_micro(const MwPlanMesh *mesh, int program, int *task)
{
    while (*task < mesh->task_count)
        if (mesh->tasks[(*task)++].program == program)
            return mesh->tasks[*task - 1].micro_batch;
    return -2;
}

static void check_order(const MwCheck *check, const MwPlanTransfer *transfer, const End *send,
                        const End *receive)
{
    const MwPlanMesh *from = &check->plan->meshes[transfer->from_mesh];
    const MwPlanMesh *to = &check->plan->meshes[transfer->to_mesh];
    int from_task = 0, to_task = 0, sent, received;
    do {
        sent = next_micro(from, send->program, &from_task);
        received = next_micro(to, receive->program, &to_task);
        if (sent == received)
            continue;
        mw_check_error(check,
                       "program %s of mesh %d and program %s of mesh %d do not run on the same "
                       "micro-batches in the same order",
                       from->programs[send->program].name, transfer->from_mesh,
                       to->programs[receive->program].name, transfer->to_mesh);
        return;
    } while (sent != -2);
}

void mw_check_ends(const MwCheck *check)
{
    const int count = check->plan->transfer_count;
    End *sends = MW_NEW(check->arena, End, count), *receives = MW_NEW(check->arena, End, count);
    for (int m = 0; m < check->plan->mesh_count; m++)
        find_ends(&check->plan->meshes[m], sends, receives);
    for (int t = 0; t < count; t++) {
        const MwPlanTransfer *transfer = &check->plan->transfers[t];
        const MwCheck at = at_transfer(check, t);
        if (sends[t].count != 1 || receives[t].count != 1)
            mw_check_error(&at,
                           "%d instructions of mesh %d send it and %d of mesh %d receive it; it "
                           "takes one and one",
                           sends[t].count, transfer->from_mesh, receives[t].count,
                           transfer->to_mesh);
        else
            check_order(&at, transfer, &sends[t], &receives[t]);
        if (!mw_check_is_amount(transfer->time_s))
            mw_check_error(&at, "its predicted time is no number of seconds");
    }
}

/* Checks the messages of all transfers. They follow from the plan, but by a computation that is
 * long enough to be wrong. */
void mw_check_messages(const MwCheck *check)
{
    for (int t = 0; t < check->plan->transfer_count; t++) {
        MwArena *arena = mw_arena_new();
        const MwTransfer transfer = mw_transfer_of_plan(check->plan, t);
        const MwMessages messages = mw_transfer_messages(arena, &transfer);
        const char *fault = mw_transfer_check(arena, &transfer, &messages);
        const MwCheck at = at_transfer(check, t);
        if (fault)
            mw_check_error(&at, "%s", fault);
        mw_arena_free(&arena);
    }
}

/* ---- Data with one name on several meshes ---- */

/* An input, output or weight, with its name and its mesh. */
typedef struct {
    const char *name;
    int mesh;
    const void *what;
} Named;

static int compare_names(const void *a, const void *b)
{
    const Named *x = a, *y = b;
    const int names = strcmp(x->name, y->name);
    return names ? names : x->mesh - y->mesh;
}

typedef MW_VEC(Named) NamedList;

/* Compares data of one name by `differ`, which returns the difference or NULL. */
static void check_alike(const MwCheck *check, NamedList *list, const char *kind,
                        const char *(*differ)(const void *a, const void *b))
{
    if (list->count)
        qsort(list->at, (size_t)list->count, sizeof *list->at, compare_names);
    for (int i = 1; i < list->count; i++) {
        const Named *a = &list->at[i - 1], *b = &list->at[i];
        const char *what = strcmp(a->name, b->name) == 0 ? differ(a->what, b->what) : NULL;
        if (what)
            mw_check_error(check, "%s '%s' of mesh %d and that of mesh %d %s", kind, a->name,
                           a->mesh, b->mesh, what);
    }
}

static bool is_same_bound(const MwPlanBound *a, const MwPlanBound *b)
{
    return a->axis == b->axis && a->begin == b->begin && a->end == b->end && a->below == b->below;
}

static const char *inputs_differ(const void *a, const void *b)
{
    const MwPlanInput *x = a, *y = b;
    if (!mw_tensor_equal(&x->global, &y->global))
        return "differ in type or shape";
    bool are_equal = x->bound_count == y->bound_count;
    for (int i = 0; are_equal && i < x->bound_count; i++)
        are_equal = is_same_bound(&x->bounds[i], &y->bounds[i]);
    return are_equal ? NULL : "differ in their bounds";
}

static const char *outputs_differ(const void *a, const void *b)
{
    (void)a, (void)b;
    return "are two outputs of one name";
}

/* Accumulators with one name may differ, because each belongs to its mesh alone. */
static const char *weights_differ(const void *a, const void *b)
{
    const MwPlanWeight *x = a, *y = b;
    if (x->reset_each_step && y->reset_each_step)
        return NULL;
    if (!mw_tensor_equal(&x->global, &y->global))
        return "differ in type or shape";
    return x->init == y->init && x->init_value == y->init_value && x->is_state == y->is_state &&
                   x->reset_each_step == y->reset_each_step && x->is_copy == y->is_copy &&
                   strcmp(mw_plan_stored_name(x), mw_plan_stored_name(y)) == 0
               ? NULL
               : "differ in what they are set to";
}

static void check_names(const MwCheck *check)
{
    NamedList inputs = {0}, outputs = {0}, weights = {0};
    for (int m = 0; m < check->plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &check->plan->meshes[m];
        for (int i = 0; i < mesh->input_count; i++)
            mw_vec_push(check->arena, &inputs,
                        ((Named){mesh->inputs[i].name, m, &mesh->inputs[i]}));
        for (int i = 0; i < mesh->output_count; i++)
            mw_vec_push(check->arena, &outputs,
                        ((Named){mesh->outputs[i].name, m, &mesh->outputs[i]}));
        for (int i = 0; i < mesh->weight_count; i++)
            mw_vec_push(check->arena, &weights,
                        ((Named){mesh->weights[i].name, m, &mesh->weights[i]}));
    }
    check_alike(check, &inputs, "input", inputs_differ);
    check_alike(check, &outputs, "output", outputs_differ);
    check_alike(check, &weights, "weight", weights_differ);
}

/* The metrics of all meshes are numbered from 0, each once, losses first. */
static void check_metrics(const MwCheck *check)
{
    const int count = mw_plan_metric_count(check->plan);
    const int losses = mw_plan_loss_count(check->plan);
    bool *found = MW_NEW(check->arena, bool, count);
    for (int m = 0; m < check->plan->mesh_count; m++) {
        for (int i = 0; i < check->plan->meshes[m].metric_count; i++) {
            const MwPlanMetric *metric = &check->plan->meshes[m].metrics[i];
            if (metric->index >= count)
                mw_check_error(check, "metric '%s' of mesh %d has the index %d of %d metrics",
                               metric->name, m, metric->index, count);
            else if (found[metric->index])
                mw_check_error(check, "metric '%s' of mesh %d has the index %d of another",
                               metric->name, m, metric->index);
            else
                found[metric->index] = true;
            if (metric->minimised != (metric->index < losses))
                mw_check_error(check, "metric '%s' of mesh %d has the index %d: losses come first",
                               metric->name, m, metric->index);
        }
    }
}

void mw_check_meshes(const MwCheck *check)
{
    check_transfers(check);
    check_names(check);
    check_metrics(check);
}
