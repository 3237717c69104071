/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/pipeline_plan.h"

#include "runtime/plan/routine.h"
#include "tests/unit/plan_parts.h"

/* shift: every row of h += t. diff: diff = pred - y; loss += scale * sum of diff^2. sum_rows: t's
 * gradient += the rows of h's. descend: w -= rate * (the sum of the other operands). */
#define PIPELINE_KERNELS                                                                           \
    static void shift(void *const *operands, const MwKernelArg *args, int sets, void *stream)      \
    {                                                                                              \
        for (int64_t i = 0; i < 3 * args[0].i; i++)                                                \
            ((float *)operands[0])[i] += ((const float *)operands[1])[i % 3];                      \
        (void)sets, (void)stream;                                                                  \
    }                                                                                              \
    static void diff(void *const *operands, const MwKernelArg *args, int sets, void *stream)       \
    {                                                                                              \
        const float *pred = operands[0], *y = operands[1];                                         \
        float *to = operands[2], *loss = operands[3];                                              \
        for (int64_t i = 0; i < args[0].i; i++) {                                                  \
            to[i] = pred[i] - y[i];                                                                \
            *loss += (float)args[1].f * to[i] * to[i];                                             \
        }                                                                                          \
        (void)sets, (void)stream;                                                                  \
    }                                                                                              \
    static void sum_rows(void *const *operands, const MwKernelArg *args, int sets, void *stream)   \
    {                                                                                              \
        for (int64_t i = 0; i < 3 * args[0].i; i++)                                                \
            ((float *)operands[1])[i % 3] += ((const float *)operands[0])[i];                      \
        (void)sets, (void)stream;                                                                  \
    }                                                                                              \
    static void descend(void *const *operands, const MwKernelArg *args, int sets, void *stream)    \
    {                                                                                              \
        for (int64_t i = 0; i < args[0].i; i++)                                                    \
            ((float *)operands[0])[i] -= (float)args[1].f * ((const float *)operands[1])[i];       \
        (void)sets, (void)stream;                                                                  \
    }                                                                                              \
    static void descend_tied(void *const *operands, const MwKernelArg *args, int sets,             \
                             void *stream)                                                         \
    {                                                                                              \
        const float *a = operands[1], *b = operands[2];                                            \
        for (int64_t i = 0; i < args[0].i; i++)                                                    \
            ((float *)operands[0])[i] -= (float)args[1].f * (a[i] + b[i]);                         \
        (void)sets, (void)stream;                                                                  \
    }                                                                                              \
    const MwKernelEntry mw_kernel_table[] = {{"shift", shift},                                     \
                                             {"diff", diff},                                       \
                                             {"sum_rows", sum_rows},                               \
                                             {"descend", descend},                                 \
                                             {"descend_tied", descend_tied},                       \
                                             {0, 0}};

extern const MwKernelEntry mw_kernel_table[];
PIPELINE_KERNELS

enum { SHIFT, DIFF, SUM_ROWS, DESCEND, DESCEND_TIED, KERNELS };

typedef struct {
    MwArena *arena;
    MwPlanMesh *mesh;
    bool has_first, has_second; /* stages on the mesh */
    int64_t rows;               /* of one micro-batch */
    int64_t own_rows;           /* of those on one device of the first stage */
    int micro_batches;
    MwPlanInstr instrs[16]; /* of the program that is built */
    int count;
} Builder;

/* ---- Buffers and data ---- */

static void add_buffers(Builder *b)
{
    MwPlanMesh *mesh = b->mesh;
    const int64_t h_rows = b->has_first ? b->own_rows : b->rows;
    const struct {
        const char *name;
        MwTensor tensor;
        int slots;
        bool persistent;
    } all[PIPELINE_BUFFERS] = {
        [PIPELINE_W1] = {"w1", matrix(PIPELINE_IN, PIPELINE_WIDTH), 1, true},
        [PIPELINE_T] = {"t", vector(PIPELINE_WIDTH), 1, true},
        [PIPELINE_W1_GRAD] = {"w1.grad", matrix(PIPELINE_IN, PIPELINE_WIDTH), 1, true},
        [PIPELINE_SHIFT_GRAD] = {"t.grad", vector(PIPELINE_WIDTH), 1, b->has_first},
        [PIPELINE_HEAD_GRAD] = {"t.grad.2", vector(PIPELINE_WIDTH), 1, b->has_second},
        [PIPELINE_LOSS_PART] = {"loss.part", mw_tensor_scalar(MW_F32), 1, true},
        [PIPELINE_X] = {"x", matrix(h_rows, PIPELINE_IN), 2, false},
        [PIPELINE_Y] = {"y", vector(b->rows), 1, false},
        [PIPELINE_H] = {"h", matrix(h_rows, PIPELINE_WIDTH), 2, false},
        [PIPELINE_PRED] = {"pred", vector(b->rows), 1, false},
        [PIPELINE_DIFF] = {"diff", vector(b->rows), 1, false},
        [PIPELINE_H_GRAD] = {"h.grad", matrix(h_rows, PIPELINE_WIDTH), 2, false},
        [PIPELINE_LOSS] = {"loss", mw_tensor_scalar(MW_F32), 1, false},
    };
    mesh->buffers = MW_NEW(b->arena, MwPlanBuffer, PIPELINE_BUFFERS);
    mesh->buffer_count = PIPELINE_BUFFERS;
    for (int i = 0; i < PIPELINE_BUFFERS; i++) {
        MwPlanBuffer *buffer = &mesh->buffers[i];
        *buffer = (MwPlanBuffer){.name = all[i].name,
                                 .tensor = all[i].tensor,
                                 .offset = mesh->arena_bytes,
                                 .bytes = mw_tensor_bytes(&all[i].tensor),
                                 .slots = all[i].slots,
                                 .persistent = all[i].persistent};
        mesh->arena_bytes += mw_round_up(mw_plan_buffer_bytes(buffer), MW_BUFFER_ALIGNMENT);
    }
}

static void add_weight(Builder *b, const char *name, int buffer, MwInit init, bool is_gradient)
{
    b->mesh->weights[b->mesh->weight_count++] =
        (MwPlanWeight){.name = name,
                       .buffer = buffer,
                       .global = b->mesh->buffers[buffer].tensor,
                       .init = init,
                       .init_value = 0.5,
                       .is_state = is_gradient,
                       .reset_each_step = is_gradient};
}

static void add_weights(Builder *b)
{
    b->mesh->weights = MW_NEW(b->arena, MwPlanWeight, PIPELINE_BUFFERS);
    add_weight(b, "t", PIPELINE_T, MW_INIT_NORMAL, false);
    if (b->has_first) {
        add_weight(b, "w1", PIPELINE_W1, MW_INIT_NORMAL, false);
        add_weight(b, "w1.grad", PIPELINE_W1_GRAD, MW_INIT_ZEROS, true);
        add_weight(b, "t.grad", PIPELINE_SHIFT_GRAD, MW_INIT_ZEROS, true);
    }
    if (b->has_second) {
        add_weight(b, "t.grad.2", PIPELINE_HEAD_GRAD, MW_INIT_ZEROS, true);
        add_weight(b, "loss.part", PIPELINE_LOSS_PART, MW_INIT_ZEROS, true);
    }
}

static void add_data(Builder *b)
{
    MwPlanMesh *mesh = b->mesh;
    mesh->inputs = MW_NEW(b->arena, MwPlanInput, 2);
    mesh->outputs = MW_NEW(b->arena, MwPlanOutput, 3);
    mesh->metrics = MW_NEW(b->arena, MwPlanMetric, 1);
    mesh->metrics[0] = (MwPlanMetric){"loss", 0, PIPELINE_LOSS, true};
    mesh->metric_count = b->has_second;
    if (b->has_first) {
        mesh->inputs[mesh->input_count++] = (MwPlanInput){
            "x", PIPELINE_X, matrix(PIPELINE_BATCH, PIPELINE_IN), split_first(), 0, 0};
        mesh->outputs[mesh->output_count++] =
            (MwPlanOutput){"w1", PIPELINE_W1, matrix(PIPELINE_IN, PIPELINE_WIDTH), {0}, true, -1};
    }
    if (b->has_second) {
        mesh->inputs[mesh->input_count++] =
            (MwPlanInput){"y", PIPELINE_Y, vector(PIPELINE_BATCH), {0}, 0, PIPELINE_FORWARD};
        mesh->outputs[mesh->output_count++] = (MwPlanOutput){
            "pred", PIPELINE_PRED, vector(PIPELINE_BATCH), {0}, false, PIPELINE_FORWARD};
        mesh->outputs[mesh->output_count++] =
            (MwPlanOutput){"loss", PIPELINE_LOSS, mw_tensor_scalar(MW_F32), {0}, true, -1};
    }
}

/* ---- Programs ---- */

#define READS(buffer)                                                                              \
    {                                                                                              \
        buffer, MW_ACCESS_READ                                                                     \
    }
#define WRITES(buffer)                                                                             \
    {                                                                                              \
        buffer, MW_ACCESS_WRITE                                                                    \
    }
#define CHANGES(buffer)                                                                            \
    {                                                                                              \
        buffer, MW_ACCESS_READ_WRITE                                                               \
    }

static void add_instr(Builder *b, MwPlanInstr instr)
{
    MW_ASSERT(b->count < MW_COUNT(b->instrs));
    b->instrs[b->count++] = instr;
}

/* A kernel with a count, and a factor where it takes two arguments. */
static void add_kernel(Builder *b, int kernel, const MwPlanOperand *operands, int operand_count,
                       int64_t count, double factor)
{
    static const int arg_counts[KERNELS] = {1, 2, 1, 2, 2};
    const MwPlanArg args[] = {{.i = count}, {.kind = MW_ARG_FLOAT, .f = factor}};
    MwPlanInstr instr = plan_instr(b->arena, MW_INSTR_KERNEL, kernel, operands, operand_count);
    plan_set_args(b->arena, &instr, args, arg_counts[kernel]);
    add_instr(b, instr);
}

/* Sends or receives, where the stages are apart. */
static void add_message(Builder *b, bool sends, int transfer, int buffer)
{
    const MwPlanOperand operand = {buffer, sends ? MW_ACCESS_READ : MW_ACCESS_WRITE};
    if (!b->has_first || !b->has_second)
        add_instr(b, plan_instr(b->arena, sends ? MW_INSTR_SEND : MW_INSTR_RECEIVE, transfer,
                                &operand, 1));
}

static void add_program(Builder *b, const char *name)
{
    b->mesh->programs[b->mesh->program_count++] = plan_program(b->arena, name, b->instrs, b->count);
    b->count = 0;
}

static void add_forward(Builder *b)
{
    const MwPlanOperand multiply[] = {READS(PIPELINE_X), READS(PIPELINE_W1), WRITES(PIPELINE_H)};
    const MwPlanOperand shift[] = {CHANGES(PIPELINE_H), READS(PIPELINE_T)};
    const MwPlanOperand predict[] = {READS(PIPELINE_H), READS(PIPELINE_T), WRITES(PIPELINE_PRED)};
    const MwPlanOperand diff[] = {READS(PIPELINE_PRED), READS(PIPELINE_Y), WRITES(PIPELINE_DIFF),
                                  CHANGES(PIPELINE_LOSS_PART)};
    if (b->has_first) {
        add_instr(b, plan_gemm(b->arena, multiply,
                               &(Gemm){false, b->own_rows, PIPELINE_WIDTH, PIPELINE_IN, 1, 0}));
        add_kernel(b, SHIFT, shift, MW_COUNT(shift), b->own_rows, 0);
        add_message(b, true, PIPELINE_SEND_H, PIPELINE_H);
    }
    if (b->has_second) {
        add_message(b, false, PIPELINE_SEND_H, PIPELINE_H);
        add_instr(b,
                  plan_gemm(b->arena, predict, &(Gemm){false, b->rows, 1, PIPELINE_WIDTH, 1, 0}));
        add_kernel(b, DIFF, diff, MW_COUNT(diff), b->rows, 1.0 / PIPELINE_BATCH);
    }
    add_program(b, "forward");
}

static void add_backward(Builder *b)
{
    const double scale = 2.0 / PIPELINE_BATCH;
    const MwPlanOperand head[] = {READS(PIPELINE_H), READS(PIPELINE_DIFF),
                                  CHANGES(PIPELINE_HEAD_GRAD)};
    const MwPlanOperand spread[] = {READS(PIPELINE_DIFF), READS(PIPELINE_T),
                                    WRITES(PIPELINE_H_GRAD)};
    const MwPlanOperand weight[] = {READS(PIPELINE_X), READS(PIPELINE_H_GRAD),
                                    CHANGES(PIPELINE_W1_GRAD)};
    const MwPlanOperand sum[] = {READS(PIPELINE_H_GRAD), CHANGES(PIPELINE_SHIFT_GRAD)};
    if (b->has_second) {
        add_instr(b,
                  plan_gemm(b->arena, head, &(Gemm){true, PIPELINE_WIDTH, 1, b->rows, scale, 1}));
        add_instr(
            b, plan_gemm(b->arena, spread, &(Gemm){false, b->rows, PIPELINE_WIDTH, 1, scale, 0}));
        add_message(b, true, PIPELINE_SEND_H_GRAD, PIPELINE_H_GRAD);
    }
    if (b->has_first) {
        add_message(b, false, PIPELINE_SEND_H_GRAD, PIPELINE_H_GRAD);
        add_instr(b, plan_gemm(b->arena, weight,
                               &(Gemm){true, PIPELINE_IN, PIPELINE_WIDTH, b->own_rows, 1, 1}));
        add_kernel(b, SUM_ROWS, sum, MW_COUNT(sum), b->own_rows, 0);
    }
    add_program(b, "backward");
}

static void add_reduce(Builder *b, int buffer)
{
    const MwPlanOperand operands[] = {READS(buffer), WRITES(buffer)};
    add_instr(b, plan_all_reduce(b->arena, operands,
                                 mw_tensor_elements(&b->mesh->buffers[buffer].tensor)));
}

static void add_update(Builder *b)
{
    const MwPlanOperand loss[] = {READS(PIPELINE_LOSS_PART), WRITES(PIPELINE_LOSS)};
    const MwPlanOperand first[] = {CHANGES(PIPELINE_W1), READS(PIPELINE_W1_GRAD)};
    const MwPlanOperand tied[] = {CHANGES(PIPELINE_T), READS(PIPELINE_SHIFT_GRAD),
                                  READS(PIPELINE_HEAD_GRAD)};
    const MwPlanArg bytes = {.i = sizeof(float)};
    if (b->has_first) {
        add_reduce(b, PIPELINE_W1_GRAD);
        add_reduce(b, PIPELINE_SHIFT_GRAD);
        add_message(b, true, PIPELINE_SEND_SHIFT_GRAD, PIPELINE_SHIFT_GRAD);
        add_kernel(b, DESCEND, first, MW_COUNT(first), PIPELINE_IN * PIPELINE_WIDTH, 0.1);
        add_message(b, false, PIPELINE_SEND_HEAD_GRAD, PIPELINE_HEAD_GRAD);
    }
    if (b->has_second) {
        MwPlanInstr copy =
            plan_instr(b->arena, MW_INSTR_ROUTINE, MW_ROUTINE_COPY, loss, MW_COUNT(loss));
        plan_set_args(b->arena, &copy, &bytes, 1);
        add_message(b, true, PIPELINE_SEND_HEAD_GRAD, PIPELINE_HEAD_GRAD);
        add_instr(b, copy);
        add_message(b, false, PIPELINE_SEND_SHIFT_GRAD, PIPELINE_SHIFT_GRAD);
    }
    add_kernel(b, DESCEND_TIED, tied, MW_COUNT(tied), PIPELINE_WIDTH, 0.1);
    add_program(b, "update");
}

/* ---- Tasks ---- */

static void add_task(MwPlanMesh *mesh, int program, int micro_batch)
{
    mesh->tasks[mesh->task_count++] = (MwPlanTask){program, micro_batch};
}

/* `ahead`: forward tasks before the first backward one. */
static void add_tasks(Builder *b, int ahead)
{
    b->mesh->tasks = MW_NEW(b->arena, MwPlanTask, 2 * b->micro_batches + 1);
    for (int m = 0; m < b->micro_batches + ahead; m++) {
        if (m < b->micro_batches)
            add_task(b->mesh, PIPELINE_FORWARD, m);
        if (m - ahead + 1 >= 0 && m - ahead + 1 < b->micro_batches)
            add_task(b->mesh, PIPELINE_BACKWARD, m - ahead + 1);
    }
    add_task(b->mesh, PIPELINE_UPDATE, -1);
}

/* ---- The plan ---- */

static void add_transfers(MwArena *arena, MwPlan *plan, int64_t rows)
{
    const MwTensor h = matrix(rows, PIPELINE_WIDTH), t = vector(PIPELINE_WIDTH);
    const MwSpec split = split_first(), whole = {0};
    const MwPlanTransfer all[PIPELINE_TRANSFERS] = {
        [PIPELINE_SEND_H] = {"h", h, 0, PIPELINE_H, split, 1, PIPELINE_H, whole, false, 1e-6},
        [PIPELINE_SEND_H_GRAD] = {"h.grad", h, 1, PIPELINE_H_GRAD, whole, 0, PIPELINE_H_GRAD, split,
                                  false, 1e-6},
        [PIPELINE_SEND_SHIFT_GRAD] = {"t.grad", t, 0, PIPELINE_SHIFT_GRAD, whole, 1,
                                      PIPELINE_SHIFT_GRAD, whole, true, 1e-6},
        [PIPELINE_SEND_HEAD_GRAD] = {"t.grad.2", t, 1, PIPELINE_HEAD_GRAD, whole, 0,
                                     PIPELINE_HEAD_GRAD, whole, false, 1e-6},
    };
    plan->transfers = mw_arena_dup(arena, all, sizeof all);
    plan->transfer_count = MW_COUNT(all);
}

static void add_mesh(MwArena *arena, MwPlan *plan, int index, int devices)
{
    const bool alone = plan->mesh_count == 1;
    const int64_t rows = PIPELINE_BATCH / plan->micro_batches;
    Builder b = {.arena = arena,
                 .mesh = &plan->meshes[index],
                 .has_first = alone || index == 0,
                 .has_second = alone || index == 1,
                 .rows = rows,
                 .own_rows = rows / devices,
                 .micro_batches = plan->micro_batches};
    b.mesh->shape = (MwMeshShape){.axis_count = 1, .size = {devices}};
    b.mesh->first_rank = index * devices;
    b.mesh->programs = MW_NEW(arena, MwPlanProgram, PIPELINE_PROGRAMS);
    add_buffers(&b);
    add_weights(&b);
    add_data(&b);
    add_forward(&b);
    add_backward(&b);
    add_update(&b);
    add_tasks(&b, index < plan->mesh_count - 1 ? 2 : 1);
}

MwPlan *pipeline_plan(MwArena *arena, int meshes, int devices, int micro_batches)
{
    static const MwPlanKernel kernels[] = {{"shift", 2, 1},
                                           {"diff", 4, 2},
                                           {"sum_rows", 2, 1},
                                           {"descend", 2, 2},
                                           {"descend_tied", 3, 2}};
    MwPlan *plan = MW_NEW(arena, MwPlan, 1);
    MW_ASSERT(meshes == 2 || (meshes == 1 && devices == 1));
    *plan = (MwPlan){.model = "pipeline",
                     .source = "pipeline.graph",
                     .cluster = "local",
                     .backend = "cpu",
                     .rank_count = meshes * devices,
                     .micro_batches = micro_batches,
                     .schedule = meshes == 1 ? "none" : "1f1b",
                     .kernels = mw_arena_dup(arena, kernels, sizeof kernels),
                     .kernel_count = MW_COUNT(kernels),
                     .kernel_source =
                         mw_arena_printf(arena, "%s%s\n", plan_prelude, TEXT_OF(PIPELINE_KERNELS)),
                     .meshes = MW_NEW(arena, MwPlanMesh, meshes),
                     .mesh_count = meshes};
    for (int m = 0; m < meshes; m++)
        add_mesh(arena, plan, m, devices);
    if (meshes == 2)
        add_transfers(arena, plan, PIPELINE_BATCH / micro_batches);
    return plan;
}
