/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sample_plan.h"

#include "tests/unit/plan_parts.h"

#include <string.h>

/* The kernels, as code of this program and as the source that the plan holds.
 * diff: diff = pred - y; loss += scale * sum of diff^2. descend: w -= rate * g */
#define SAMPLE_KERNELS                                                                             \
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
    static void descend(void *const *operands, const MwKernelArg *args, int sets, void *stream)    \
    {                                                                                              \
        float *w = operands[0];                                                                    \
        const float *g = operands[1];                                                              \
        for (int i = 0; i < 4; i++)                                                                \
            w[i] -= (float)args[0].f * g[i];                                                       \
        (void)sets, (void)stream;                                                                  \
    }                                                                                              \
    const MwKernelEntry mw_kernel_table[] = {{"diff", diff}, {"descend", descend}, {0, 0}};

extern const MwKernelEntry mw_kernel_table[];
SAMPLE_KERNELS

typedef struct {
    MwArena *arena;
    int64_t rows; /* of one micro-batch on one device */
    int ranks, micro_batches;
} Sample;

static void add_buffers(const Sample *sample, MwPlanMesh *mesh)
{
    const struct {
        const char *name;
        MwTensor tensor;
        bool persistent;
    } all[SAMPLE_BUFFERS] = {
        [SAMPLE_W] = {"w", vector(SAMPLE_WIDTH), true},
        [SAMPLE_G] = {"w.grad", vector(SAMPLE_WIDTH), true},
        [SAMPLE_LOSS_PART] = {"loss.part", mw_tensor_scalar(MW_F32), true},
        [SAMPLE_X] = {"x", matrix(sample->rows, SAMPLE_WIDTH), false},
        [SAMPLE_Y] = {"y", vector(sample->rows), false},
        [SAMPLE_PRED] = {"pred", vector(sample->rows), false},
        [SAMPLE_DIFF] = {"a \"name\"\n", vector(sample->rows), false},
        [SAMPLE_LOSS] = {"loss", mw_tensor_scalar(MW_F32), false},
    };
    mesh->buffers = MW_NEW(sample->arena, MwPlanBuffer, SAMPLE_BUFFERS);
    mesh->buffer_count = SAMPLE_BUFFERS;
    for (int i = 0; i < SAMPLE_BUFFERS; i++) {
        MwPlanBuffer *buffer = &mesh->buffers[i];
        buffer->name = all[i].name;
        buffer->tensor = all[i].tensor;
        buffer->persistent = all[i].persistent;
        buffer->slots = 1;
        buffer->bytes = mw_round_up(mw_tensor_bytes(&all[i].tensor), MW_BUFFER_ALIGNMENT);
        buffer->offset = i == SAMPLE_LOSS ? mesh->buffers[SAMPLE_X].offset : mesh->arena_bytes;
        if (i != SAMPLE_LOSS)
            mesh->arena_bytes += buffer->bytes;
    }
}

static void add_data(const Sample *sample, MwPlanMesh *mesh)
{
    const MwPlanInput inputs[] = {
        {"x", SAMPLE_X, matrix(SAMPLE_BATCH, SAMPLE_WIDTH), split_first()},
        {"y", SAMPLE_Y, vector(SAMPLE_BATCH), split_first()},
    };
    const MwPlanOutput outputs[] = {
        {"pred", SAMPLE_PRED, vector(SAMPLE_BATCH), split_first(), false},
        {"loss", SAMPLE_LOSS, mw_tensor_scalar(MW_F32), mw_spec_replicated(), true, -1},
    };
    const MwPlanWeight weights[] = {
        {"w", SAMPLE_W, vector(SAMPLE_WIDTH), mw_spec_replicated(), MW_INIT_NORMAL, 0.5},
        {"w.grad", SAMPLE_G, vector(SAMPLE_WIDTH), mw_spec_replicated(), MW_INIT_ZEROS,
         .is_state = true, .reset_each_step = true},
        {"loss.part", SAMPLE_LOSS_PART, mw_tensor_scalar(MW_F32), mw_spec_replicated(),
         MW_INIT_ZEROS, .is_state = true, .reset_each_step = true},
    };
    mesh->inputs = mw_arena_dup(sample->arena, inputs, sizeof inputs);
    mesh->input_count = MW_COUNT(inputs);
    mesh->outputs = mw_arena_dup(sample->arena, outputs, sizeof outputs);
    mesh->output_count = MW_COUNT(outputs);
    mesh->weights = mw_arena_dup(sample->arena, weights, sizeof weights);
    mesh->weight_count = MW_COUNT(weights);
    static const MwPlanMetric metrics[] = {{"loss", 0, SAMPLE_LOSS, true}};
    mesh->metrics = mw_arena_dup(sample->arena, metrics, sizeof metrics);
    mesh->metric_count = MW_COUNT(metrics);
}

static MwPlanProgram forward(const Sample *sample)
{
    const double scale = 1.0 / SAMPLE_BATCH;
    const MwPlanOperand predict[] = {
        {SAMPLE_X, MW_ACCESS_READ}, {SAMPLE_W, MW_ACCESS_READ}, {SAMPLE_PRED, MW_ACCESS_WRITE}};
    const MwPlanOperand diff[] = {{SAMPLE_PRED, MW_ACCESS_READ},
                                  {SAMPLE_Y, MW_ACCESS_READ},
                                  {SAMPLE_DIFF, MW_ACCESS_WRITE},
                                  {SAMPLE_LOSS_PART, MW_ACCESS_READ_WRITE}};
    const MwPlanOperand gradient[] = {{SAMPLE_X, MW_ACCESS_READ},
                                      {SAMPLE_DIFF, MW_ACCESS_READ},
                                      {SAMPLE_G, MW_ACCESS_READ_WRITE}};
    const MwPlanArg diff_args[] = {
        {.i = sample->rows},
        {.kind = MW_ARG_FLOAT, .f = scale},
        {.kind = MW_ARG_POSITION,
         .axes = 1,
         .block_stride = sample->rows,
         .micro_stride = sample->rows * sample->ranks,
         .loop_stride = -7},
        {.kind = MW_ARG_STEP},
        {.kind = MW_ARG_SEED},
    };
    MwPlanInstr instrs[] = {
        plan_gemm(sample->arena, predict, &(Gemm){false, sample->rows, 1, SAMPLE_WIDTH, 1, 0}),
        plan_instr(sample->arena, MW_INSTR_KERNEL, 0, diff, MW_COUNT(diff)),
        plan_gemm(sample->arena, gradient,
                  &(Gemm){true, SAMPLE_WIDTH, 1, sample->rows, 2 * scale, 1}),
    };
    static int operators[] = {0, 1};
    instrs[0].operator_index = 0;
    instrs[1].has_operators = true;
    instrs[1].operators = operators;
    instrs[1].operator_count = MW_COUNT(operators);
    plan_set_args(sample->arena, &instrs[1], diff_args, MW_COUNT(diff_args));
    MwPlanProgram program = plan_program(sample->arena, "forward", instrs, MW_COUNT(instrs));
    static const MwPlanLoop once = {.first = 1, .count = 1, .runs = 1};
    program.loops = mw_arena_dup(sample->arena, &once, sizeof once);
    program.loop_count = 1;
    return program;
}

static MwPlanProgram update(const Sample *sample)
{
    const MwPlanOperand loss[] = {{SAMPLE_LOSS_PART, MW_ACCESS_READ},
                                  {SAMPLE_LOSS, MW_ACCESS_WRITE}};
    const MwPlanOperand gradient[] = {{SAMPLE_G, MW_ACCESS_READ}, {SAMPLE_G, MW_ACCESS_WRITE}};
    const MwPlanOperand descend[] = {{SAMPLE_W, MW_ACCESS_READ_WRITE}, {SAMPLE_G, MW_ACCESS_READ}};
    const MwPlanArg rate = {.kind = MW_ARG_FLOAT, .f = 0.1};
    MwPlanInstr instrs[] = {
        plan_all_reduce(sample->arena, loss, 1),
        plan_all_reduce(sample->arena, gradient, SAMPLE_WIDTH),
        plan_instr(sample->arena, MW_INSTR_KERNEL, 1, descend, MW_COUNT(descend)),
    };
    plan_set_args(sample->arena, &instrs[2], &rate, 1);
    return plan_program(sample->arena, "update", instrs, MW_COUNT(instrs));
}

static void add_programs(const Sample *sample, MwPlanMesh *mesh)
{
    const MwPlanProgram programs[] = {forward(sample), update(sample)};
    mesh->programs = mw_arena_dup(sample->arena, programs, sizeof programs);
    mesh->program_count = MW_COUNT(programs);
    mesh->task_count = sample->micro_batches + 1;
    mesh->tasks = MW_NEW(sample->arena, MwPlanTask, mesh->task_count);
    for (int m = 0; m < sample->micro_batches; m++)
        mesh->tasks[m] = (MwPlanTask){.program = 0, .micro_batch = m};
    mesh->tasks[sample->micro_batches] = (MwPlanTask){.program = 1, .micro_batch = -1};
}

static void add_report(const Sample *sample, MwPlanMesh *mesh)
{
    static const MwPlanCollective reshard = {MW_ALL_REDUCE, 0, 16, 0.25};
    const MwPlanOperatorOperand operands[] = {{-1, 2, split_first()}, {-1, 1, {0}}};
    const MwPlanOperator all[] = {
        {.name = "pred",
         .op = "einsum",
         .source = "line.graph:3:5",
         .phase = "forward",
         .type = MW_F32,
         .rank = 1,
         .spec = split_first(),
         .operands = mw_arena_dup(sample->arena, operands, sizeof operands),
         .operand_count = MW_COUNT(operands),
         .compute_s = 1.0 / 3,
         .has_runner_up = true,
         .runner_up = mw_spec_with_partial(mw_spec_replicated(), 1, MW_COMBINE_SUM),
         .runner_up_extra_s = 1e-9,
         .pinned = true},
        {.name = "w.grad",
         .op = "einsum",
         .source = "",
         .phase = "backward",
         .rank = 1,
         .collectives = mw_arena_dup(sample->arena, &reshard, sizeof reshard),
         .collective_count = 1},
    };
    mesh->operators = mw_arena_dup(sample->arena, all, sizeof all);
    mesh->operator_count = MW_COUNT(all);
    mesh->costs = (MwPlanCosts){1, 0.5, 0.75, 0.25, 1.5, mesh->arena_bytes};
}

MwPlan *sample_plan(MwArena *arena, int ranks, int micro_batches)
{
    const Sample sample = {arena, SAMPLE_BATCH / (ranks * micro_batches), ranks, micro_batches};
    static const MwPlanKernel kernels[] = {{"diff", 4, 5}, {"descend", 2, 1}};
    static const MwPlanStage stages[] = {{0, 0, 2, 1, 0, true, 1, 0.25, 0.5, 0, 0.125, 0, 2, 0, 2}};
    static const MwPlanOption options[] = {{"--pin", "w=[S0]"}, {"-D", "rows=16"}};
    static const MwPlanAlternative alternatives[] = {{"2 stages, gpipe", "memory", 0, 1 << 20}};
    MwPlan *plan = MW_NEW(arena, MwPlan, 1);
    MwPlanMesh *mesh = MW_NEW(arena, MwPlanMesh, 1);
    *plan = (MwPlan){.model = "line",
                     .source = "line.graph",
                     .cluster = "local",
                     .backend = "cpu",
                     .rank_count = ranks,
                     .micro_batches = micro_batches,
                     .schedule = "none",
                     .step_s = 1.5,
                     .command = {.model = "line.graph",
                                 .model_hash = "0123456789abcdef",
                                 .cluster_hash = "fedcba9876543210",
                                 .options = mw_arena_dup(arena, options, sizeof options),
                                 .option_count = MW_COUNT(options)},
                     .kernels = mw_arena_dup(arena, kernels, sizeof kernels),
                     .kernel_count = MW_COUNT(kernels),
                     .kernel_source =
                         mw_arena_printf(arena, "%s%s\n", plan_prelude, TEXT_OF(SAMPLE_KERNELS)),
                     .meshes = mesh,
                     .mesh_count = 1,
                     .stages = mw_arena_dup(arena, stages, sizeof stages),
                     .stage_count = MW_COUNT(stages),
                     .alternatives = mw_arena_dup(arena, alternatives, sizeof alternatives),
                     .alternative_count = MW_COUNT(alternatives)};
    mesh->shape = (MwMeshShape){.axis_count = 1, .size = {ranks}};
    add_buffers(&sample, mesh);
    add_data(&sample, mesh);
    add_programs(&sample, mesh);
    add_report(&sample, mesh);
    return plan;
}
