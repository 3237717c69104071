/* SPDX-License-Identifier: MIT */
#include "runtime/outputs.h"

#include "runtime/gather.h"
#include "runtime/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One output; what it is written with stands on rank 0 alone. */
typedef struct {
    const char *path; /* NULL: nobody wants it */
    char *temporary;
    FILE *file;
    char *whole, *room; /* of one step; of one part */
    int last_micro;
} Output;

struct MwOutputs {
    const MwPlanMesh *mesh;
    MwTransport *transport;
    int micros;
    Output *outputs; /* [mesh->outputs] */
};

static bool cannot(const Output *output, MwFault *fault)
{
    return mw_fault_set(fault, "cannot write %s: %s", output->path, strerror(errno));
}

/* What the file holds in the end. */
static bool file_tensor(const MwPlanOutput *output, int64_t steps, MwTensor *tensor)
{
    *tensor = output->global;
    if (!output->whole && tensor->rank > 0) {
        tensor->dim[0] *= steps;
        return true;
    }
    if (tensor->rank == MW_MAX_RANK)
        return false;
    memmove(tensor->dim + 1, tensor->dim, sizeof *tensor->dim * (size_t)tensor->rank);
    tensor->dim[0] = steps;
    tensor->rank++;
    return true;
}

static bool open_file(MwArena *arena, const MwPlanOutput *info, Output *output, int64_t steps,
                      MwFault *fault)
{
    char header[MW_NPY_HEADER_BYTES];
    MwTensor tensor;
    if (!file_tensor(info, steps, &tensor))
        return mw_fault_set(fault, "output %s has too many dimensions", info->name);
    size_t bytes = (size_t)mw_npy_header(&tensor, header);
    output->temporary = mw_arena_printf(arena, "%s.tmpXXXXXX", output->path);
    int fd = mkstemp(output->temporary);
    output->file = fd < 0 ? NULL : fdopen(fd, "wb");
    output->whole = mw_arena_alloc(arena, (size_t)mw_tensor_bytes(&info->global));
    output->room = mw_arena_alloc(arena, (size_t)mw_tensor_bytes(&info->global));
    return (output->file && fwrite(header, 1, bytes, output->file) == bytes) ||
           cannot(output, fault);
}

/* The output called as `text` begins, up to '='. */
static Output *find_output(const MwOutputs *outputs, const char *text, size_t length, int *index)
{
    for (*index = 0; *index < outputs->mesh->output_count; ++*index) {
        const char *name = outputs->mesh->outputs[*index].name;
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return &outputs->outputs[*index];
    }
    return NULL;
}

static bool open_output(MwArena *arena, MwOutputs *outputs, const char *text, int64_t steps,
                        MwFault *fault)
{
    const char *path = strchr(text, '=');
    int index;
    if (!path || !path[1])
        return mw_fault_set(fault, "'%s' should be NAME=FILE", text);
    Output *output = find_output(outputs, text, (size_t)(path - text), &index);
    if (!output)
        return mw_fault_set(fault, "the model has no output '%.*s'", (int)(path - text), text);
    if (output->path)
        return mw_fault_set(fault, "this output goes to %s already", output->path);
    output->path = path + 1;
    return outputs->transport->rank != 0 ||
           open_file(arena, &outputs->mesh->outputs[index], output, steps, fault);
}

/* The micro-batch whose tasks stand last. */
static int last_micro(const MwPlanMesh *mesh)
{
    int last = 0;
    for (int t = 0; t < mesh->task_count; t++)
        if (mesh->tasks[t].micro_batch >= 0)
            last = mesh->tasks[t].micro_batch;
    return last;
}

MwOutputs *mw_outputs_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                           MwTransport *transport, const char *const *texts, int count,
                           int64_t steps, MwFault *fault)
{
    MwOutputs *outputs = MW_NEW(arena, MwOutputs, 1);
    *outputs = (MwOutputs){.mesh = mesh,
                           .transport = transport,
                           .micros = plan->micro_batches,
                           .outputs = MW_NEW(arena, Output, mesh->output_count)};
    for (int i = 0; i < mesh->output_count; i++)
        outputs->outputs[i].last_micro = mesh->outputs[i].whole ? 0 : last_micro(mesh);
    for (int i = 0; i < count; i++) {
        if (!open_output(arena, outputs, texts[i], steps, fault)) {
            MwFault ignored;
            mw_fault_prefix(fault, "--output %s", texts[i]);
            mw_outputs_close(&outputs, false, &ignored);
            return NULL;
        }
    }
    return outputs;
}

/* The micro-batch that a block of an output is of. */
static int micro_of(const MwBlock *block, int micros)
{
    return micros == 1 ? 0 : (int)(block->start[0] / (block->global.dim[0] / micros));
}

bool mw_outputs_take(MwOutputs *outputs, int index, const MwBlock *block, const void *from,
                     MwFault *fault)
{
    const MwPlanOutput *info = &outputs->mesh->outputs[index];
    const int micros = info->whole ? 1 : outputs->micros;
    const int micro = micro_of(block, micros);
    const MwSpread spread = {outputs->mesh, &info->global, info->spec, micro, micros};
    Output *output = &outputs->outputs[index];
    if (!output->path)
        return true;
    if (!mw_gather(&spread, outputs->transport, from, output->whole, output->room, fault))
        return false;
    if (!output->file || micro != output->last_micro)
        return true;
    size_t bytes = (size_t)mw_tensor_bytes(&info->global);
    return fwrite(output->whole, 1, bytes, output->file) == bytes || cannot(output, fault);
}

static bool close_output(Output *output, bool complete, MwFault *fault)
{
    bool good = true;
    if (!output->temporary)
        return true;
    if (output->file) {
        good = fflush(output->file) == 0 && fchmod(fileno(output->file), 0644) == 0 &&
               fsync(fileno(output->file)) == 0;
        good = fclose(output->file) == 0 && good;
    }
    if (good && complete)
        good = rename(output->temporary, output->path) == 0;
    if (!good)
        cannot(output, fault);
    if (!good || !complete)
        unlink(output->temporary);
    return good;
}

bool mw_outputs_close(MwOutputs **outputs, bool complete, MwFault *fault)
{
    bool good = true;
    for (int i = 0; *outputs && i < (*outputs)->mesh->output_count; i++)
        good = close_output(&(*outputs)->outputs[i], complete, fault) && good;
    *outputs = NULL;
    return good;
}
