/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of a step: of gpt, split over the batch, gradients are summed over the devices while
 * the backward goes on, where the device does both at once, and after it where it does not; and the
 * keys of a ring travel while others are attended to. The gradient of a table that is looked up and
 * multiplied by is added up in one place; and the update stores weights in bf16 where products take
 * them so. */
#include "codegen/plan/predict.h"
#include "codegen/plan/storage.h"
#include "runtime/plan/routine.h"
#include "tests/unit/planned.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

static MwArena *arena;

static MwPlan *plan_gpt(int micro_batches, const char *backend)
{
    return planned_stages(arena, 1, micro_batches, backend);
}

static MwCommandList commands_of(const MwPlan *plan, MwQueue collectives)
{
    return planned_commands(arena, plan, 0, collectives, false);
}

START_TEST(gradients_are_summed_while_the_backward_goes_on)
{
    const int micro_batches = _i ? 4 : 1;
    const MwPlan *plan = plan_gpt(micro_batches, "cuda");
    const MwPlanMesh *mesh = &plan->meshes[0];
    const MwCommandList commands = commands_of(plan, MW_QUEUE_COMMUNICATION);
    const MwPlanProgram *backward = &mesh->programs[mesh->tasks[mesh->task_count - 2].program];
    int sums = 0, beside = 0, most = 0, calls = 0;
    ck_assert(strcmp(backward->name, "backward") == 0);
    for (int i = 0; i < commands.count; i++) {
        if (!planned_is_sum(mesh, &commands.at[i]))
            continue;
        const int between = planned_overlap(mesh, &commands, i);
        const int parts = mw_plan_part_total(planned_instr(mesh, &commands.at[i]));
        calls++;
        sums += parts;
        beside += between > 0 && between < backward->instr_count;
        most = (int)mw_max(most, between);
    }
    ck_assert_int_gt(sums, 4 * 10);
    ck_assert_int_lt(calls, sums / 4);
    /* the last call has gradients that are made last; with several micro-batches what adds up an
     * earlier sum runs beside it */
    ck_assert_int_eq(beside, micro_batches > 1 ? calls : calls - 1);
    ck_assert_int_ge(calls, 4);
    ck_assert_msg(most > backward->instr_count / 5, "%d of %d", most, backward->instr_count);
}
END_TEST

START_TEST(where_collectives_block_the_plans_order_holds)
{
    const MwPlan *plan = plan_gpt(1, _i ? "cpu" : "cuda");
    const MwCommandList commands = commands_of(plan, MW_QUEUE_COMPUTE);
    ck_assert_int_eq(commands.event_count, 0);
    for (int i = 1; i < commands.count; i++) {
        const MwCommand *command = &commands.at[i];
        ck_assert(command->queue == MW_QUEUE_COMPUTE && command->wait_events[0] < 0 &&
                  command->record_event < 0);
        ck_assert(command->kind != MW_COMMAND_INSTR || command->instr == 0 ||
                  (command[-1].task == command->task && command[-1].instr >= command->instr - 1));
    }
}
END_TEST

/* The buffer of a sum takes memory sooner; not where there is too little, nor where nothing comes
 * of it. */
START_TEST(results_of_sums_have_memory_early_if_there_is_enough)
{
    static const struct {
        bool overlaps, early_spans;
        int64_t limit_bytes, arena_bytes;
    } cases[] = {{true, false, 0, 192},   {true, false, 192, 192}, {true, false, 191, 128},
                 {false, false, 0, 128},  {true, true, 0, 192},    {true, true, 191, 128},
                 {false, true, 1000, 128}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwMeshStorage storage = {.arena = arena};
        const MwStorageBuffer buffers[] = {
            {.slots = 1, .begin = 0, .early = 0, .end = 2, .bytes = 128},
            {.slots = 1, .begin = 3, .early = 3, .end = 3, .bytes = 128},
            {.slots = 1, .begin = 4, .early = 1, .end = 5, .bytes = 64}};
        storage.buffers.at = mw_arena_dup(arena, buffers, sizeof buffers);
        storage.buffers.count = MW_COUNT(buffers);
        storage.buffers.at[2].early_spans = cases[i].early_spans;
        mw_storage_place(&storage, cases[i].overlaps, cases[i].limit_bytes);
        ck_assert_msg(storage.arena_bytes == cases[i].arena_bytes, "case %d: %lld", i,
                      (long long)storage.arena_bytes);
    }
}
END_TEST

/* ---- Times ---- */

typedef double TimeOf(const MwPlanMesh *mesh, const MwCommand *command);

/* When all commands are done, with each queue in order and its waits. */
static double end_of(const MwPlanMesh *mesh, const MwCommandList *commands, TimeOf *time_of)
{
    double *events = MW_NEW(arena, double, commands->event_count), queues[MW_QUEUE_COUNT] = {0};
    for (int i = 0; i < commands->count; i++) {
        const MwCommand *command = &commands->at[i];
        double *queue = &queues[command->queue];
        for (int k = 0; k < MW_COMMAND_WAITS; k++)
            if (command->wait_events[k] >= 0)
                *queue = fmax(*queue, events[command->wait_events[k]]);
        *queue += time_of(mesh, command);
        if (command->record_event >= 0)
            events[command->record_event] = *queue;
    }
    return fmax(queues[0], queues[1]);
}

static double predicted(const MwPlanMesh *mesh, const MwCommand *command)
{
    return command->kind == MW_COMMAND_INSTR ? planned_instr(mesh, command)->time_s : 0;
}

/* The predicted step is that of the commands, which are the executor's: sums of gradients take time
 * where nothing hides them. */
START_TEST(predictions_know_what_overlaps)
{
    const bool overlaps = _i < 2;
    const MwPlan *plan = plan_gpt(_i % 2 ? 4 : 1, overlaps ? "cuda" : "cpu");
    const MwPlanMesh *mesh = &plan->meshes[0];
    const MwCommandList commands =
        commands_of(plan, overlaps ? MW_QUEUE_COMMUNICATION : MW_QUEUE_COMPUTE);
    double all_s = 0;
    for (int i = 0; i < commands.count; i++)
        all_s += predicted(mesh, &commands.at[i]);
    const double end_s = end_of(mesh, &commands, predicted);
    ck_assert_double_eq_tol(plan->step_s, end_s, 0.01 * end_s);
    ck_assert_double_eq_tol(mesh->costs.step_s, plan->step_s, 1e-9);
    if (overlaps)
        ck_assert_double_lt(plan->step_s, 0.97 * all_s);
    else
        ck_assert_double_eq_tol(plan->step_s, all_s, 1e-9);
}
END_TEST

/* By the definition: each queue in order and with its waits, of which events are used again. */
START_TEST(predictions_of_programs_are_those_of_their_commands)
{
    MwPlan *plan = _i ? planned_ring(arena, 4, 4, 1, "cuda") : plan_gpt(1, "cuda");
    const MwPlanMesh *mesh = &plan->meshes[0];
    for (int p = 0; p < mesh->program_count; p++) {
        MwPlanTask task = {.program = p};
        plan->meshes[0].tasks = &task;
        plan->meshes[0].task_count = 1;
        for (int i = 0; i < mesh->programs[p].instr_count; i++) /* so that no two end at once */
            mesh->programs[p].instrs[i].time_s = 1 + (i * 7919) % 1000 / 1000.0;
        const MwCommandList commands = commands_of(plan, MW_QUEUE_COMMUNICATION);
        const double end_s = end_of(mesh, &commands, predicted);
        ck_assert_double_eq_tol(mw_predict_program_s(true, mesh, p), end_s, 1e-9 * end_s);
    }
}
END_TEST

/* ---- Rings ---- */

/* Pretended times: shifts of all that travels in a step of a ring take less than its attention. */
enum { ATTENTION = 1000, SHIFT = 200, OTHER = 1 };

static double pretended(const MwPlanMesh *mesh, const MwCommand *command)
{
    if (command->kind != MW_COMMAND_INSTR)
        return OTHER;
    const MwPlanInstr *instr = planned_instr(mesh, command);
    if (instr->kind == MW_INSTR_COLLECTIVE)
        return instr->target == MW_RING_SHIFT ? SHIFT : OTHER;
    return instr->kind == MW_INSTR_ROUTINE &&
                   (instr->target == MW_ROUTINE_SDPA || instr->target == MW_ROUTINE_SDPA_GRAD)
               ? ATTENTION
               : OTHER;
}

/* Of a layer all shifts are hidden but those that bring the gradients of keys and values home. */
START_TEST(keys_travel_while_others_are_attended_to)
{
    enum { WAYS = 4, LAYERS = 2 };
    const MwPlan *plan = planned_ring(arena, WAYS, LAYERS, 1, _i ? "cpu" : "cuda");
    const MwPlanMesh *mesh = &plan->meshes[0];
    const MwCommandList commands =
        commands_of(plan, _i ? MW_QUEUE_COMPUTE : MW_QUEUE_COMMUNICATION);
    int shifts = 0, others = 0;
    double all_s = 0;
    for (int i = 0; i < commands.count; i++) {
        shifts += pretended(mesh, &commands.at[i]) == SHIFT;
        others += pretended(mesh, &commands.at[i]) == OTHER;
        if (commands.at[i].kind == MW_COMMAND_INSTR)
            all_s += planned_instr(mesh, &commands.at[i])->time_s;
    }
    const int attention = LAYERS * 2 * WAYS * ATTENTION;
    const int seen = _i ? shifts : LAYERS * 2;
    ck_assert_int_eq(shifts, LAYERS * (2 * 2 * (WAYS - 1) + 2 * WAYS));
    ck_assert_double_ge(end_of(mesh, &commands, pretended), attention + seen * SHIFT);
    ck_assert_double_le(end_of(mesh, &commands, pretended), attention + seen * SHIFT + others);
    /* the prediction knows it */
    if (_i)
        ck_assert_double_eq_tol(mesh->costs.step_s, all_s, 1e-9);
    else
        ck_assert_double_lt(mesh->costs.step_s, all_s);
}
END_TEST

/* The writers of `buffer` in the program, before the end: fills `at` with their places. */
static int writers_of(const MwPlanProgram *program, int buffer, int *at, int most)
{
    int count = 0;
    for (int i = 0; i < program->instr_count; i++)
        for (int k = 0; k < program->instrs[i].operand_count; k++)
            if (program->instrs[i].operands[k].buffer == buffer &&
                program->instrs[i].operands[k].access != MW_ACCESS_READ && count < most)
                at[count++] = i;
    return count;
}

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), bytes = strlen(end);
    return length >= bytes && strcmp(name + length - bytes, end) == 0;
}

START_TEST(rows_are_added_to_the_gradient_of_a_product)
{
    const int micro_batches = _i & 1 ? 4 : 1;
    const MwPlan *plan = plan_gpt(micro_batches, _i & 2 ? "cpu" : "cuda");
    const MwPlanMesh *mesh = &plan->meshes[0];
    const MwPlanProgram *backward = &mesh->programs[mesh->tasks[mesh->task_count - 2].program];
    const MwPlanInstr *rows = NULL;
    for (int i = 0; i < backward->instr_count; i++) {
        const char *name = mw_plan_instr_name(plan, &backward->instrs[i]);
        ck_assert_msg(!ends_in(name, "_embedding_grad") && !ends_in(name, "_accumulate_add"), "%s",
                      name);
        rows = ends_in(name, "_add_rows") ? &backward->instrs[i] : rows;
    }
    ck_assert(rows != NULL);
    const MwPlanOperand *to = &rows->operands[rows->operand_count - 1];
    int at[3];
    ck_assert_int_eq(to->access, MW_ACCESS_READ_WRITE);
    ck_assert_int_eq(writers_of(backward, to->buffer, at, 3), 2);
    const MwPlanInstr *product = &backward->instrs[at[0]];
    ck_assert_str_eq(mw_plan_instr_name(plan, product), "gemm");
    ck_assert(product->args[MW_GEMM_BETA].f == (micro_batches > 1));
    ck_assert(mesh->buffers[to->buffer].persistent == (micro_batches > 1));
    ck_assert_int_lt(at[0], 4); /* before the logits' gradient would have to be kept */
    ck_assert(&backward->instrs[at[1]] == rows);
}
END_TEST

/* Says whether a step casts weights before the update. */
static bool casts_weights(const MwPlan *plan)
{
    const MwPlanMesh *mesh = &plan->meshes[0];
    const MwPlanProgram *forward = &mesh->programs[mesh->tasks[0].program];
    for (int i = 0; i < forward->instr_count; i++)
        for (int k = 0; k < forward->instrs[i].operand_count; k++)
            if (ends_in(mw_plan_instr_name(plan, &forward->instrs[i]), "_cast") &&
                mesh->buffers[forward->instrs[i].operands[k].buffer].persistent)
                return true;
    return false;
}

/* With copies that fill `memory_bytes`, or without a limit. */
static const MwPlan *plan_in(MwType precision, const char *backend, int64_t memory_bytes)
{
    static const MwDefine defines[] = {{"layers", "2"}, {"batch", "4"},   {"seq", "16"},
                                       {"width", "64"}, {"vocab", "128"}, {"heads", "2"}};
    return planned(arena,
                   &(PlannedModel){
                       .path = SOURCE_ROOT "/models/gpt.graph",
                       .mesh = "1",
                       .backend = backend,
                       .defines = defines,
                       .define_count = MW_COUNT(defines),
                       .precision = precision,
                       .options = {.stages = 1, .micro_batches = 1, .memory_bytes = memory_bytes}});
}

START_TEST(the_update_stores_weights_in_bf16_too)
{
    const char *backend = _i ? "cpu" : "cuda";
    const MwPlan *plan = plan_in(MW_BF16, backend, 0);
    const MwPlanMesh *mesh = &plan->meshes[0];
    const MwPlanProgram *update = &mesh->programs[mesh->tasks[mesh->task_count - 1].program];
    int copies = 0, stored = 0;
    ck_assert(!casts_weights(plan));
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *weight = &mesh->weights[i];
        int at[2];
        if (!weight->is_copy)
            continue;
        copies++;
        ck_assert(weight->is_state && weight->global.type == MW_BF16);
        ck_assert(mesh->buffers[weight->buffer].persistent);
        ck_assert_int_eq(writers_of(update, weight->buffer, at, 2), 1);
        stored += ends_in(mw_plan_instr_name(plan, &update->instrs[at[0]]), "_cast_adamw");
    }
    ck_assert_int_eq(copies, 2 * 8 + 1); /* of products and biases, and wte */
    ck_assert_int_eq(stored, copies);
    const MwPlan *less = plan_in(MW_BF16, backend, mesh->arena_bytes - 1);
    ck_assert(casts_weights(less));
    for (int i = 0; i < less->meshes[0].weight_count; i++)
        ck_assert(!less->meshes[0].weights[i].is_copy);
}
END_TEST

/* Weights that products of 8 bits take have no copy in bf16: one would be stored and read once for
 * each time that f32 is. */
START_TEST(weights_of_8_bits_have_no_copies)
{
    const MwPlan *plan = plan_in(MW_FP8, _i ? "cpu" : "cuda", 0);
    const MwPlanMesh *mesh = &plan->meshes[0];
    int copies = 0, scales = 0;
    for (int i = 0; i < mesh->weight_count; i++) {
        copies += mesh->weights[i].is_copy;
        scales += ends_in(mesh->weights[i].name, ".fp8.scale");
    }
    ck_assert_int_eq(copies, 2 * 4 + 1); /* of biases, and wte */
    ck_assert_int_eq(scales, 2 * 4 * 3); /* of the weights, and of what they multiply both ways */
}
END_TEST

static void setup(void)
{
    arena = mw_arena_new();
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

int main(void)
{
    Suite *suite = suite_create("commands");
    TCase *tests = tcase_create("commands");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, gradients_are_summed_while_the_backward_goes_on, 0, 2);
    tcase_add_loop_test(tests, where_collectives_block_the_plans_order_holds, 0, 2);
    tcase_add_loop_test(tests, predictions_know_what_overlaps, 0, 4);
    tcase_add_loop_test(tests, predictions_of_programs_are_those_of_their_commands, 0, 2);
    tcase_add_loop_test(tests, keys_travel_while_others_are_attended_to, 0, 2);
    tcase_add_loop_test(tests, rows_are_added_to_the_gradient_of_a_product, 0, 4);
    tcase_add_loop_test(tests, the_update_stores_weights_in_bf16_too, 0, 2);
    tcase_add_loop_test(tests, weights_of_8_bits_have_no_copies, 0, 2);
    tcase_add_test(tests, results_of_sums_have_memory_early_if_there_is_enough);
    return run_suite(suite);
}
