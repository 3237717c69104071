/* SPDX-License-Identifier: MIT */
#include "runtime/data/outputs.h"

#include "base/new_file.h"
#include "runtime/data/gather.h"
#include "runtime/data/npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An output that is wanted. */
typedef struct {
    const MwPlanMesh *mesh; /* the mesh that has it */
    const MwPlanOutput *info;
    const char *target; /* as --output gives it */
    char *path;         /* of the file that is written: the target, or that of a step */
    MwNewFile new_file; /* valid while `file` is open */
    FILE *file;         /* writes to new_file, on rank 0 */
    char *whole;        /* one step of the output, on rank 0 and the first rank of the mesh */
    char *part;         /* one rank's part of it, on the same ranks */
} Output;

struct MwOutputs {
    const MwPlanMesh *mesh; /* the mesh of this rank */
    MwTransport *transport;
    int micros;
    int64_t done, last, every, rows; /* those of MwOutputsWanted */
    Output *outputs;                 /* [count], the same list on all ranks */
    int count;
};

static bool cannot(const Output *output, MwFault *fault)
{
    return mw_fault_set(fault, "cannot write %s: %s", output->path, strerror(errno));
}

/* The type and shape of a complete file. False if it has too many dimensions. */
static bool file_tensor(const MwOutputs *outputs, const MwPlanOutput *output, MwTensor *tensor)
{
    const int64_t steps = mw_max(0, outputs->last - outputs->done);
    *tensor = output->global;
    if (outputs->every)
        return true;
    if (!output->whole && tensor->rank > 0) {
        tensor->dim[0] = outputs->rows ? outputs->rows : tensor->dim[0] * steps;
        return true;
    }
    if (tensor->rank == MW_MAX_RANK)
        return false;
    memmove(tensor->dim + 1, tensor->dim, sizeof *tensor->dim * (size_t)tensor->rank);
    tensor->dim[0] = steps;
    tensor->rank++;
    return true;
}

/* Characters that the number of a step adds to a path. */
enum { STEP_BYTES = 24 };

/* Sets the path to that of the file of a step, which has the number before its extension. */
static void set_step_path(Output *output, int64_t step)
{
    const char *slash = strrchr(output->target, '/'), *dot = strrchr(output->target, '.');
    const char *base = slash ? slash + 1 : output->target;
    const size_t stem = dot && dot > base ? (size_t)(dot - output->target) : strlen(output->target);
    sprintf(output->path, "%.*s-%08lld%s", (int)stem, output->target, (long long)step,
            output->target + stem);
}

/* Opens the file of the next step that is due after `done`, or the one file of all steps. */
static bool open_file(const MwOutputs *outputs, Output *output, int64_t done, MwFault *fault)
{
    char header[MW_NPY_HEADER_BYTES];
    MwTensor tensor;
    if (outputs->every)
        set_step_path(output, mw_min(outputs->last, (done / outputs->every + 1) * outputs->every));
    if (!file_tensor(outputs, output->info, &tensor))
        return mw_fault_set(fault, "output %s has too many dimensions", output->info->name);
    size_t bytes = (size_t)mw_npy_header(&tensor, header);
    if (!mw_new_file_open(&output->new_file, output->path))
        return cannot(output, fault);
    int fd = dup(output->new_file.fd);
    output->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!output->file)
        mw_new_file_drop(&output->new_file);
    return (output->file && fwrite(header, 1, bytes, output->file) == bytes) ||
           cannot(output, fault);
}

/* Finds the output whose name is the first `length` characters of `text`. */
static bool find_output(const MwPlan *plan, const char *text, size_t length, Output *output)
{
    for (int m = 0; m < plan->mesh_count; m++) {
        output->mesh = &plan->meshes[m];
        for (int i = 0; i < output->mesh->output_count; i++) {
            output->info = &output->mesh->outputs[i];
            if (strlen(output->info->name) == length &&
                memcmp(output->info->name, text, length) == 0)
                return true;
        }
    }
    return false;
}

/* Opens the output of one --output. */
static bool open_output(MwArena *arena, MwOutputs *outputs, const MwPlan *plan, const char *text,
                        MwFault *fault)
{
    const int rank = outputs->transport->rank;
    const char *path = strchr(text, '=');
    Output *output = &outputs->outputs[outputs->count];
    if (!path || !path[1])
        return mw_fault_set(fault, "'%s' should be NAME=FILE", text);
    if (!find_output(plan, text, (size_t)(path - text), output))
        return mw_fault_set(fault, "the model has no output '%.*s'", (int)(path - text), text);
    for (int i = 0; i < outputs->count; i++)
        if (outputs->outputs[i].info == output->info)
            return mw_fault_set(fault, "this output is already written to %s",
                                outputs->outputs[i].target);
    output->target = path + 1;
    output->path = mw_arena_alloc(arena, strlen(output->target) + STEP_BYTES);
    strcpy(output->path, output->target);
    outputs->count++;
    if (rank == 0 || rank == output->mesh->first_rank) {
        output->whole = mw_arena_alloc(arena, (size_t)mw_tensor_bytes(&output->info->global));
        output->part = mw_arena_alloc(arena, (size_t)mw_tensor_bytes(mw_plan_held(output->info)));
    }
    if (rank != 0 || (outputs->every && outputs->done >= outputs->last))
        return true;
    return open_file(outputs, output, outputs->done, fault);
}

MwOutputs *mw_outputs_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                           MwTransport *transport, const MwOutputsWanted *wanted, MwFault *fault)
{
    MwOutputs *outputs = MW_NEW(arena, MwOutputs, 1);
    *outputs = (MwOutputs){.mesh = mesh,
                           .transport = transport,
                           .micros = plan->micro_batches,
                           .done = wanted->done,
                           .last = wanted->last,
                           .every = wanted->every,
                           .rows = wanted->rows,
                           .outputs = MW_NEW(arena, Output, wanted->count)};
    for (int i = 0; i < wanted->count; i++) {
        if (!open_output(arena, outputs, plan, wanted->texts[i], fault)) {
            MwFault ignored;
            mw_fault_prefix(fault, "--output %s", wanted->texts[i]);
            mw_outputs_close(&outputs, false, &ignored);
            return NULL;
        }
    }
    return outputs;
}

static bool close_output(Output *output, bool complete, MwFault *fault)
{
    if (!output->file)
        return true;
    bool good = fclose(output->file) == 0;
    output->file = NULL;
    if (!good || !complete)
        mw_new_file_drop(&output->new_file);
    else
        good = mw_new_file_keep(&output->new_file, 0644);
    return good || cannot(output, fault);
}

bool mw_outputs_close(MwOutputs **outputs, bool complete, MwFault *fault)
{
    bool good = true;
    for (int i = 0; *outputs && i < (*outputs)->count; i++)
        good = close_output(&(*outputs)->outputs[i], complete, fault) && good;
    *outputs = NULL;
    return good;
}

/* ---- Steps ---- */

bool mw_outputs_due(const MwOutputs *outputs, int64_t step)
{
    return outputs->count > 0 &&
           (!outputs->every || step % outputs->every == 0 || step == outputs->last);
}

/* The micro-batch that a box of an output, of which devices hold `held`, belongs to. */
static int micro_of(const MwBox *box, const MwTensor *held, int micros)
{
    return micros == 1 ? 0 : (int)(box->start[0] / (held->dim[0] / micros));
}

bool mw_outputs_take(MwOutputs *outputs, int index, const MwBox *box, const void *from,
                     MwFault *fault)
{
    const MwPlanOutput *info = &outputs->mesh->outputs[index];
    const int micros = info->whole ? 1 : outputs->micros;
    const MwTensor *held = mw_plan_held(info);
    const MwShardedTensor tensor = {
        outputs->mesh, &info->global, held, info->spec, micro_of(box, held, micros), micros};
    for (int i = 0; i < outputs->count; i++) {
        const Output *output = &outputs->outputs[i];
        if (output->info == info)
            return mw_gather(&tensor, outputs->transport, outputs->mesh->first_rank, from,
                             output->whole, output->part, fault);
    }
    return true;
}

/* Bytes of the output of a step that its file takes: of the last step perhaps not all. */
static int64_t bytes_in_file(const MwOutputs *outputs, const MwPlanOutput *info, int64_t step)
{
    const int64_t bytes = mw_tensor_bytes(&info->global);
    if (!outputs->rows || outputs->every || info->whole || info->global.rank == 0)
        return bytes;
    const int64_t batch = info->global.dim[0], before = (step - 1 - outputs->done) * batch;
    return bytes / batch * mw_max(0, mw_min(batch, outputs->rows - before));
}

static bool write_step(const MwOutputs *outputs, const Output *output, int64_t step, MwFault *fault)
{
    MwTransport *transport = outputs->transport;
    const int root = output->mesh->first_rank;
    const int64_t bytes = mw_tensor_bytes(&output->info->global);
    const size_t kept = (size_t)bytes_in_file(outputs, output->info, step);
    if (root != 0 && transport->rank == root)
        return transport->table->send(transport, 0, output->whole, bytes, fault);
    if (transport->rank != 0)
        return true;
    if (root != 0 && !transport->table->receive(transport, root, output->whole, bytes, fault))
        return false;
    return fwrite(output->whole, 1, kept, output->file) == kept || cannot(output, fault);
}

/* Completes the file of a step, and opens the next. */
static bool change_file(const MwOutputs *outputs, Output *output, int64_t step, MwFault *fault)
{
    if (!outputs->every || outputs->transport->rank != 0)
        return true;
    return close_output(output, true, fault) &&
           (step == outputs->last || open_file(outputs, output, step, fault));
}

bool mw_outputs_end_step(const MwOutputs *outputs, int64_t step, MwFault *fault)
{
    for (int i = 0; mw_outputs_due(outputs, step) && i < outputs->count; i++)
        if (!write_step(outputs, &outputs->outputs[i], step, fault) ||
            !change_file(outputs, &outputs->outputs[i], step, fault))
            return mw_fault_prefix(fault, "output %s", outputs->outputs[i].info->name);
    return true;
}
