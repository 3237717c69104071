/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a plan that evaluates: what it leaves out, that it computes what the plan does, and
 * that weights which it must change are as they were afterwards. */
#include "runtime/check/check.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/transport_solo.h"
#include "runtime/plan/evaluation.h"
#include "tests/unit/sample_plan.h"
#include "tests/unit/support.h"
#include "tests/unit/tested_device.h"

#include <string.h>

static MwArena *arena;

static void setup(void)
{
    arena = mw_arena_new();
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

static const MwPlan *checked_evaluation(const MwPlan *plan)
{
    MwDiags *diags = mw_diags_new(arena);
    ck_assert(mw_plan_check(plan, diags));
    const MwPlan *evaluation = mw_plan_evaluation(arena, plan);
    const bool good = mw_plan_check(evaluation, diags);
    mw_diags_print(diags, stderr);
    ck_assert(good);
    return evaluation;
}

static int count_instrs(const MwPlanMesh *mesh)
{
    int count = 0;
    for (int p = 0; p < mesh->program_count; p++)
        count += mesh->programs[p].instr_count;
    return count;
}

/* The sample has predict, diff and gradient in its forward, and three instructions in its update,
 * of which the loss takes one. */
START_TEST(what_only_trains_is_left_out)
{
    const MwPlan *plan = sample_plan(arena, 2, 2), *evaluation = checked_evaluation(plan);
    const MwPlanMesh *mesh = &evaluation->meshes[0];
    ck_assert_int_eq(count_instrs(&plan->meshes[0]), 6);
    ck_assert_int_eq(count_instrs(mesh), 3);
    ck_assert_int_eq(mesh->programs[0].instr_count, 2);
    ck_assert_int_eq(mesh->programs[0].loop_count, 1);
    ck_assert_int_eq(mesh->programs[0].loops[0].first, 1);
    ck_assert_int_eq(mesh->input_count, 2);
    ck_assert_int_eq(mesh->output_count, 0);
    for (int i = 0; i < mesh->weight_count; i++)
        ck_assert(!mw_plan_changes(mesh, i));
    ck_assert(mw_plan_changes(&plan->meshes[0], SAMPLE_W));
}
END_TEST

/* ---- Steps ---- */

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *fault)
{
    (void)context, (void)fault;
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        for (int64_t i = 0; i < segment.count; i++)
            ((float *)to)[segment.local + i] =
                (float)(((segment.global + i) * 7 + step + input) % 11) / 11;
    return true;
}

/* Puts a descent before what the forward does: from the second micro-batch on, it moves the
 * weights by the gradients so far, and the loss depends on that. */
static void descend_first(MwPlan *plan)
{
    MwPlanProgram *forward = &plan->meshes[0].programs[0], *update = &plan->meshes[0].programs[1];
    MwPlanInstr *instrs = MW_NEW(arena, MwPlanInstr, forward->instr_count + 1);
    for (int i = 0; i < update->instr_count; i++)
        if (update->instrs[i].kind == MW_INSTR_KERNEL)
            instrs[0] = update->instrs[i];
    memcpy(instrs + 1, forward->instrs, sizeof *instrs * (size_t)forward->instr_count++);
    forward->instrs = instrs;
    forward->loops[0].first++;
}

/* `_i`: the loss depends on a change of the weights. */
START_TEST(evaluations_change_nothing)
{
    static const MwExecutorData data = {.input = give_input};
    MwFault fault = {0};
    MwPlan *plan = sample_plan(arena, 1, 4);
    if (_i)
        descend_first(plan);
    const MwPlan *part = checked_evaluation(plan);
    ck_assert_int_eq(mw_plan_changes(&part->meshes[0], 0), _i);
    MwDevice *device = tested_device_new(arena, plan, mw_kernel_table, &fault);
    MwTransport *transport = mw_transport_solo_new(arena, 0, 1);
    MwExecutor *trains = mw_executor_new(arena, plan, device, transport, NULL, &fault);
    MwExecutor *evaluates = mw_executor_beside(arena, trains, part, &fault);
    ck_assert(evaluates && mw_executor_start(trains, 9, &fault));
    for (int64_t step = 1; step <= 3; step++) {
        double evaluated, again, trained;
        float before[SAMPLE_WIDTH], after[SAMPLE_WIDTH];
        const void *w = mw_executor_buffer(trains, SAMPLE_W);
        ck_assert(device->table->copy_out(device, before, w, sizeof before, &fault));
        ck_assert(mw_executor_step(evaluates, step, &data, &evaluated, &fault));
        ck_assert(mw_executor_step(evaluates, step, &data, &again, &fault));
        ck_assert(device->table->copy_out(device, after, w, sizeof after, &fault));
        ck_assert_mem_eq(after, before, sizeof after);
        ck_assert(mw_executor_step(trains, step, &data, &trained, &fault));
        ck_assert(evaluated == trained && again == trained);
        ck_assert(device->table->copy_out(device, after, w, sizeof after, &fault));
        ck_assert_mem_ne(after, before, sizeof after);
    }
    mw_transport_free(&transport, device);
    mw_device_free(&device);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evaluation");
    TCase *tests = tcase_create("evaluation");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_only_trains_is_left_out);
    tcase_add_loop_test(tests, evaluations_change_nothing, 0, 2);
    return run_suite(suite);
}
