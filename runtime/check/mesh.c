/* SPDX-License-Identifier: MIT */
/* Checks the contents of a mesh: its buffers, the data in them, and the operators of its report. */
#include "runtime/check/rules.h"

#include <stdlib.h>
#include <string.h>

/* Limit of every size in a plan; sums of two such sizes do not overflow. */
static const int64_t largest_bytes = (int64_t)1 << 60;

/* ---- Buffers ---- */

/* Returns the bytes of a tensor; -1 if the tensor is invalid or too large. */
static int64_t tensor_bytes(const MwTensor *tensor)
{
    if ((unsigned)tensor->type >= MW_TYPE_COUNT || mw_type_stored(tensor->type) != tensor->type ||
        tensor->rank < 0 || tensor->rank > MW_MAX_RANK)
        return -1;
    int64_t bytes = mw_type_bytes(tensor->type);
    for (int d = 0; d < tensor->rank; d++)
        if (tensor->dim[d] < 1 || __builtin_mul_overflow(bytes, tensor->dim[d], &bytes) ||
            bytes > largest_bytes)
            return -1;
    return bytes;
}

static void check_buffer(const MwCheck *check, int index)
{
    const MwPlanBuffer *buffer = &check->mesh->buffers[index];
    int64_t bytes = tensor_bytes(&buffer->tensor);
    char text[MW_TENSOR_TEXT_BYTES];
    if (bytes < 0)
        mw_check_error(check, "buffer %d '%s' has no valid type or shape", index, buffer->name);
    else if (buffer->bytes < bytes || buffer->bytes > largest_bytes)
        mw_check_error(check, "buffer %d '%s' has %lld bytes; %s takes %lld", index, buffer->name,
                       (long long)buffer->bytes, mw_tensor_text(&buffer->tensor, text),
                       (long long)bytes);
    else if (buffer->offset < 0 || buffer->offset % MW_BUFFER_ALIGNMENT != 0)
        mw_check_error(check, "buffer %d '%s' is at offset %lld, which is no multiple of %d", index,
                       buffer->name, (long long)buffer->offset, MW_BUFFER_ALIGNMENT);
    else if (buffer->slots < 1 || buffer->slots > largest_bytes / mw_slot_bytes(buffer->bytes))
        mw_check_error(check, "buffer %d '%s' has %d slots of %lld bytes", index, buffer->name,
                       buffer->slots, (long long)mw_slot_bytes(buffer->bytes));
    else if (!mw_plan_is_on_host(check->mesh, buffer) &&
             buffer->offset > check->mesh->arena_bytes - mw_plan_buffer_bytes(buffer))
        mw_check_error(check,
                       "buffer %d '%s' of %lld bytes at offset %lld is outside the arena of %lld",
                       index, buffer->name, (long long)mw_plan_buffer_bytes(buffer),
                       (long long)buffer->offset, (long long)check->mesh->arena_bytes);
    else if (buffer->offset > mw_plan_mesh_end(check->mesh) - mw_plan_buffer_bytes(buffer))
        mw_check_error(check,
                       "buffer %d '%s' of %lld bytes at offset %lld is outside the %lld bytes of "
                       "the host behind the arena",
                       index, buffer->name, (long long)mw_plan_buffer_bytes(buffer),
                       (long long)buffer->offset, (long long)check->mesh->host_bytes);
}

/* ---- Inputs, outputs, weights ---- */

void mw_check_data(const MwCheck *check, const MwCheckData *data)
{
    const MwCheckLabel label = data->label;
    const MwTensor *global = data->global;
    char text[MW_TENSOR_TEXT_BYTES], spec_text[MW_SPEC_TEXT_BYTES], held_text[MW_TENSOR_TEXT_BYTES];
    if (data->buffer < 0 || data->buffer >= check->mesh->buffer_count) {
        mw_check_error(check, "%s '%s' is in buffer %d, which does not exist", label.kind,
                       label.name, data->buffer);
        return;
    }
    if (tensor_bytes(global) < 0) {
        mw_check_error(check, "%s '%s' has no valid type or shape", label.kind, label.name);
        return;
    }
    if (!mw_spec_is_valid(data->spec, global, &check->mesh->shape) ||
        (mw_spec_partial(data->spec) && !data->may_be_partial)) {
        mw_check_error(check, "%s '%s': %s cannot be split as %s", label.kind, label.name,
                       mw_tensor_text(global, text),
                       mw_spec_text(data->spec, global->rank, spec_text));
        return;
    }
    const MwTensor local = mw_spec_local(data->spec, global, &check->mesh->shape);
    const MwTensor *held = &check->mesh->buffers[data->buffer].tensor;
    const int64_t bytes = check->mesh->buffers[data->buffer].bytes;
    if (local.type != held->type || mw_tensor_elements(&local) != mw_tensor_elements(held))
        mw_check_error(check, "%s '%s' is %s on a device; its buffer %d holds %s", label.kind,
                       label.name, mw_tensor_text(&local, text), data->buffer,
                       mw_tensor_text(held, held_text));
    else if (mw_slot_bytes(bytes) != mw_slot_bytes(mw_tensor_bytes(held)))
        mw_check_error(check, "%s '%s' fills %lld of the %lld bytes of buffer %d", label.kind,
                       label.name, (long long)mw_tensor_bytes(held), (long long)bytes,
                       data->buffer);
}

/* Checks data of which each micro-batch has a part: micro-batch m has block m of dimension 0. */
static void check_micro_batch(const MwCheck *check, MwCheckData data)
{
    const int micros = check->plan->micro_batches;
    MwTensor block = *data.global;
    if (micros > 1 && (block.rank < 1 || block.dim[0] % micros != 0)) {
        mw_check_error(check, "%s '%s' does not divide into %d micro-batches", data.label.kind,
                       data.label.name, micros);
        return;
    }
    if (micros > 1)
        block.dim[0] /= micros;
    data.global = &block;
    mw_check_data(check, &data);
}

/* Checks that the devices hold `held` for `global`: it, and padding behind it. */
static void check_padding(const MwCheck *check, MwCheckLabel label, const MwTensor *global,
                          const MwTensor *held)
{
    char text[MW_TENSOR_TEXT_BYTES], held_text[MW_TENSOR_TEXT_BYTES];
    bool fits = global->type == held->type && global->rank == held->rank;
    for (int d = 0; fits && d < global->rank; d++)
        fits = global->dim[d] >= 1 && global->dim[d] <= held->dim[d];
    if (!fits)
        mw_check_error(check, "%s '%s' is %s, which cannot be padded to %s", label.kind, label.name,
                       mw_tensor_text(global, text), mw_tensor_text(held, held_text));
}

static void check_bound(const MwCheck *check, const MwPlanInput *input, int index)
{
    const MwPlanBound *bound = &input->bounds[index];
    const int rank = input->global.rank;
    if (bound->axis >= mw_max(rank, 1) || bound->begin >= bound->end ||
        bound->end > (rank ? input->global.dim[bound->axis] : 1) || bound->below < 1)
        mw_check_error(check,
                       "input '%s', bound %d: below %lld in [%lld, %lld) of axis %d is none of it",
                       input->name, index, (long long)bound->below, (long long)bound->begin,
                       (long long)bound->end, bound->axis);
}

/* What goes into a step and comes out of it does so on the device. */
static void check_on_device(const MwCheck *check, MwCheckLabel label, int buffer)
{
    if (buffer >= 0 && buffer < check->mesh->buffer_count &&
        mw_plan_is_on_host(check->mesh, &check->mesh->buffers[buffer]))
        mw_check_error(check, "%s '%s' is in buffer %d, which is on the host", label.kind,
                       label.name, buffer);
}

static void check_input(const MwCheck *check, const MwPlanInput *input)
{
    for (int i = 0; i < input->bound_count; i++)
        check_bound(check, input, i);
    const MwCheckData data = {.label = {"input", input->name},
                              .buffer = input->buffer,
                              .global = mw_plan_held(input),
                              .spec = input->spec};
    check_padding(check, data.label, &input->global, data.global);
    check_on_device(check, data.label, data.buffer);
    if (input->whole)
        mw_check_data(check, &data);
    else
        check_micro_batch(check, data);
}

static void check_output(const MwCheck *check, const MwPlanOutput *output)
{
    const MwCheckData data = {.label = {"output", output->name},
                              .buffer = output->buffer,
                              .global = mw_plan_held(output),
                              .spec = output->spec};
    check_padding(check, data.label, &output->global, data.global);
    check_on_device(check, data.label, data.buffer);
    if (output->whole)
        mw_check_data(check, &data);
    else
        check_micro_batch(check, data);
}

static bool is_on_host(const MwCheck *check, const MwPlanWeight *weight)
{
    return weight->buffer >= 0 && weight->buffer < check->mesh->buffer_count &&
           mw_plan_is_on_host(check->mesh, &check->mesh->buffers[weight->buffer]);
}

/* A copy is a state that is like a weight of the mesh but for its type; of a weight on the host it
 * may be split otherwise. */
static void check_copy(const MwCheck *check, const MwPlanWeight *copy)
{
    for (int i = 0; i < check->mesh->weight_count; i++) {
        const MwPlanWeight *weight = &check->mesh->weights[i];
        if (!weight->is_state && strcmp(weight->name, copy->copy_of) == 0 &&
            mw_tensor_same_shape(&weight->global, &copy->global) &&
            (mw_spec_equal(weight->spec, copy->spec) || is_on_host(check, weight)) &&
            weight->init == copy->init && weight->init_value == copy->init_value &&
            copy->is_state && !copy->reset_each_step)
            return;
    }
    mw_check_error(check, "weight '%s' is a copy of '%s', but there is no such weight, split so",
                   copy->name, copy->copy_of);
}

static void check_weight(const MwCheck *check, const MwPlanWeight *weight)
{
    const MwCheckData data = {.label = {"weight", weight->name},
                              .buffer = weight->buffer,
                              .global = mw_plan_held(weight),
                              .spec = weight->spec,
                              .may_be_partial =
                                  weight->reset_each_step && weight->init == MW_INIT_ZEROS};
    check_padding(check, data.label, &weight->global, data.global);
    mw_check_data(check, &data);
    if (weight->is_copy)
        check_copy(check, weight);
    if (weight->reset_each_step)
        check_on_device(check, data.label, data.buffer);
    if ((unsigned)weight->init > MW_INIT_CONSTANT)
        mw_check_error(check, "weight '%s' has no known initial value", weight->name);
    if (weight->buffer >= 0 && weight->buffer < check->mesh->buffer_count &&
        !check->mesh->buffers[weight->buffer].persistent)
        mw_check_error(check, "weight '%s' is in buffer %d, which is not persistent", weight->name,
                       weight->buffer);
}

static int stages_of(const MwCheck *check)
{
    int count = 0;
    for (int s = 0; s < check->plan->stage_count; s++)
        count += check->plan->stages[s].mesh == (int)(check->mesh - check->plan->meshes);
    return count;
}

/* A name, and its position among those of its kind. */
typedef struct {
    const char *name;
    int index;
} Name;

static int compare_names(const void *a, const void *b)
{
    const Name *x = a, *y = b;
    const int names = strcmp(x->name, y->name);
    return names ? names : x->index - y->index;
}

/* Names within one kind differ, so that files and --feed can tell them apart; but `most` may share
 * one. */
static void check_kind(const MwCheck *check, const char *kind, Name *names, int count, int most)
{
    if (count > 1)
        qsort(names, (size_t)count, sizeof *names, compare_names);
    for (int i = 0, same = 0; i < count; i++) {
        same = i > 0 && strcmp(names[i].name, names[i - 1].name) == 0 ? same + 1 : 1;
        if (same == most + 1)
            mw_check_error(check, "%d %s are called '%s'", same, kind, names[i].name);
    }
}

#define CHECK_NAMES(check, kind, array, count, most)                                               \
    do {                                                                                           \
        Name *names_ = MW_NEW((check)->arena, Name, count);                                        \
        for (int i_ = 0; i_ < (count); i_++)                                                       \
            names_[i_] = (Name){(array)[i_].name, i_};                                             \
        check_kind(check, kind, names_, count, most);                                              \
    } while (0)

/* Stages that share a mesh may each have an input, or a weight, of one name. */
static void check_names(const MwCheck *check)
{
    const MwPlanMesh *mesh = check->mesh;
    const int stages = (int)mw_max(stages_of(check), 1);
    CHECK_NAMES(check, "inputs", mesh->inputs, mesh->input_count, stages);
    CHECK_NAMES(check, "outputs", mesh->outputs, mesh->output_count, 1);
    CHECK_NAMES(check, "weights", mesh->weights, mesh->weight_count, stages);
    CHECK_NAMES(check, "programs", mesh->programs, mesh->program_count, 1);
}

static void check_metric(const MwCheck *check, const MwPlanMetric *metric)
{
    const MwPlanMesh *mesh = check->mesh;
    check_on_device(check, (MwCheckLabel){"metric", metric->name}, metric->buffer);
    if (metric->buffer >= mesh->buffer_count)
        mw_check_error(check, "metric '%s' is in buffer %d, which does not exist", metric->name,
                       metric->buffer);
    else if (mesh->buffers[metric->buffer].tensor.type != MW_F32 ||
             mw_tensor_elements(&mesh->buffers[metric->buffer].tensor) != 1)
        mw_check_error(check, "metric '%s' is in buffer %d, which is no single f32", metric->name,
                       metric->buffer);
}

/* ---- The report ---- */

static void check_operator(const MwCheck *check, const MwPlanOperator *op)
{
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i].operator_index < -1 ||
            op->operands[i].operator_index >= check->mesh->operator_count)
            mw_check_error(check,
                           "operator '%s' takes the result of operator %d, which does not "
                           "exist",
                           op->name, op->operands[i].operator_index);
    for (int i = 0; i < op->collective_count; i++)
        if (op->collectives[i].axis < 0 || op->collectives[i].axis >= check->mesh->shape.axis_count)
            mw_check_error(check, "operator '%s' communicates over axis %d, which does not exist",
                           op->name, op->collectives[i].axis);
}

static bool is_rate(double per_s)
{
    return per_s >= 1 && per_s <= 1e30;
}

void mw_check_mesh(const MwCheck *check)
{
    const MwPlanMesh *mesh = check->mesh;
    if (mesh->arena_bytes < 0 || mesh->arena_bytes > largest_bytes)
        mw_check_error(check, "its arena has %lld bytes", (long long)mesh->arena_bytes);
    if (mesh->has_host && (mesh->host_bytes < 1 || mesh->host_bytes > largest_bytes))
        mw_check_error(check, "its devices have %lld bytes on the host",
                       (long long)mesh->host_bytes);
    if (mesh->has_ceilings && (!is_rate(mesh->flops_per_s) || !is_rate(mesh->bytes_per_s)))
        mw_check_error(check, "its devices have no possible rates");
    if (mesh->has_collective_share && !(mesh->collective_share > 0 && mesh->collective_share < 1))
        mw_check_error(check, "collectives take %g of its devices", mesh->collective_share);
    for (int i = 0; i < mesh->buffer_count; i++)
        check_buffer(check, i);
    for (int i = 0; i < mesh->input_count; i++)
        check_input(check, &mesh->inputs[i]);
    for (int i = 0; i < mesh->output_count; i++)
        check_output(check, &mesh->outputs[i]);
    for (int i = 0; i < mesh->weight_count; i++)
        check_weight(check, &mesh->weights[i]);
    check_names(check);
    for (int i = 0; i < check->mesh->metric_count; i++)
        check_metric(check, &check->mesh->metrics[i]);
    for (int i = 0; i < mesh->operator_count; i++)
        check_operator(check, &mesh->operators[i]);
}
