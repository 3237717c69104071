/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated steps beside timelines of schedules, the predictions of plans, and sums by hand. */
#include "codegen/simulate/simulate.h"

#include "base/backend.h"
#include "codegen/plan/predict.h"
#include "schedule/generate.h"
#include "tests/unit/clusters.h"
#include "tests/unit/plan_parts.h"
#include "tests/unit/planned.h"
#include "tests/unit/scheduled_plan.h"
#include "tests/unit/support.h"

#include <math.h>

static MwArena *arena;
static MwDiags *diags;

static void setup(void)
{
    arena = mw_arena_new();
    diags = mw_diags_new(arena);
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

/* The longest path is as long as the step. */
static void check_path(const MwSimulation *simulation)
{
    const MwSimulatedPath *path = &simulation->path;
    ck_assert(path->compute_s >= 0 && path->collective_s >= 0 && path->transfer_s >= 0);
    ck_assert_double_eq_tol(path->compute_s + path->collective_s + path->transfer_s,
                            simulation->step_s, 1e-12 + 1e-9 * simulation->step_s);
}

static const MwSimulation *simulate(const MwPlan *plan, MwSimulateOptions options)
{
    options.steps = (int)mw_max(options.steps, 1);
    const MwSimulation *simulation = mw_simulate(arena, plan, &options, diags);
    mw_diags_print(diags, stderr);
    ck_assert_ptr_nonnull(simulation);
    check_path(simulation);
    return simulation;
}

/* Stages that differ, so that no two tasks end at once. */
static MwStageTimes *uneven_times(const MwPipelineSchedule *schedule)
{
    const int stages = mw_pipeline_stage_count(schedule);
    MwStageTimes *times = MW_NEW(arena, MwStageTimes, stages);
    for (int s = 0; s < stages; s++) {
        times[s] = (MwStageTimes){.to_next = 0.01 + 0.003 * s, .to_previous = 0.02 + 0.005 * s};
        for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
            times[s].task[kind] = 1 + 0.1 * ((7 * s + 3 * kind) % 5);
    }
    return times;
}

static MwPlan *plan_of(MwPipelineKind kind, int meshes, int micro_batches, int chunks,
                       MwStageTimes *(*times_of)(const MwPipelineSchedule *), double *timeline_s)
{
    const MwPipelineSchedule *schedule =
        mw_pipeline_schedule_new(arena, kind, meshes, micro_batches, chunks);
    const MwStageTimes *times = times_of(schedule);
    *timeline_s = mw_timeline_new(arena, schedule, times)->total;
    return scheduled_plan(arena, &(ScheduledPlan){schedule, times, 1, 0.5, 0});
}

/* ---- Against predictions ---- */

/* The same without the times of messages. */
static MwStageTimes *times_of_tasks(const MwPipelineSchedule *schedule)
{
    MwStageTimes *times = uneven_times(schedule);
    for (int s = 0; s < mw_pipeline_stage_count(schedule); s++)
        times[s].to_next = times[s].to_previous = 0;
    return times;
}

/* The times of a mesh are those of the step. */
static void check_meshes(const MwPlan *plan, const MwSimulation *simulation)
{
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwSimulatedMesh *mesh = &simulation->meshes[m];
        ck_assert_double_eq_tol(mesh->compute_s + mesh->collective_s + mesh->transfer_s +
                                    mesh->bubble_s + mesh->idle_s,
                                simulation->step_s, 1e-9 * simulation->step_s);
        ck_assert(mesh->compute_s >= 0 && mesh->collective_s >= 0 && mesh->transfer_s >= 0);
        ck_assert(mesh->bubble_s >= 0 && mesh->idle_s >= 0);
    }
}

/* Where stages go up the meshes again, activations of one chunk and gradients of the other share
 * the link from a mesh to the next; in the timeline each stage has its own. */
START_TEST(every_schedule_takes_its_timeline)
{
    const MwPipelineKind kind = (MwPipelineKind)_i;
    const bool is_vee = mw_pipeline_info(kind)->placement == MW_PLACE_VEE;
    for (int meshes = 1; meshes <= 5; meshes++)
        for (int micro_batches = 1; micro_batches <= 9; micro_batches += 4)
            for (int chunks = 1; chunks <= mw_min(3, mw_pipeline_most_chunks(kind)); chunks++) {
                double timeline_s;
                const MwPlan *plan =
                    plan_of(kind, meshes, micro_batches, chunks, uneven_times, &timeline_s);
                const MwSimulation *alone = simulate(plan, (MwSimulateOptions){0});
                ck_assert_double_ge(alone->step_s, (timeline_s + 0.5) * (1 - 1e-9));
                ck_assert_double_le(alone->step_s,
                                    (timeline_s + 0.5) * (1 + (is_vee ? 0.01 : 1e-9)));
                const MwSimulation *sharing =
                    simulate(plan, (MwSimulateOptions){.contention = true});
                ck_assert_double_ge(sharing->step_s, alone->step_s - 1e-9);
                ck_assert_double_le(sharing->step_s, 1.1 * alone->step_s);
                const MwSimulation *in_line = simulate(
                    plan, (MwSimulateOptions){.contention = true, .messages_in_line = true});
                ck_assert_double_ge(in_line->step_s, sharing->step_s - 1e-9);
                check_meshes(plan, in_line);
                plan = plan_of(kind, meshes, micro_batches, chunks, times_of_tasks, &timeline_s);
                ck_assert_double_eq_tol(simulate(plan, (MwSimulateOptions){0})->step_s,
                                        timeline_s + 0.5, 1e-9 * timeline_s);
            }
}
END_TEST

/* The predicted times of each stage are those of its own programs, also where stages go up the
 * meshes again. */
START_TEST(the_times_of_a_stage_are_those_of_its_programs)
{
    const MwPipelineKind kind = (MwPipelineKind)_i;
    const MwDefine defines[] = {{"layers", "8"}, {"batch", "16"},  {"seq", "16"},
                                {"width", "16"}, {"vocab", "128"}, {"heads", "2"}};
    if (!mw_pipeline_info(kind)->trains)
        return;
    const MwPlan *plan = planned(
        arena,
        &(PlannedModel){
            .path = SOURCE_ROOT "/models/gpt.graph",
            .mesh = "1",
            .backend = "cpu",
            .defines = defines,
            .define_count = MW_COUNT(defines),
            .options = {.stages = 3, .micro_batches = 8, .has_schedule = true, .schedule = kind}});
    const MwBackendInfo *backend = mw_backend_named(plan->backend);
    for (int s = 0; s < plan->stage_count; s++) {
        const MwPlanStage *stage = &plan->stages[s];
        double sum_s = 0;
        for (int p = stage->first_program; p < stage->first_program + stage->program_count; p++)
            sum_s += mw_predict_program_s(backend->overlaps, &plan->meshes[stage->mesh], p);
        ck_assert_double_gt(sum_s, 0);
        ck_assert_double_eq_tol(stage->forward_s + stage->backward_s + stage->weight_s, sum_s,
                                1e-12 * sum_s);
    }
}
END_TEST

/* Each instruction that takes time is in its task, none begins before the one before has ended. */
static void check_instrs(const MwPlan *plan, const MwSimulation *simulation)
{
    double sum_s = 0;
    for (int i = 0; i < simulation->instr_count; i++) {
        const MwSimulatedInstr *instr = &simulation->instrs[i], *before = instr - 1;
        const MwSimulatedTask *task = &simulation->tasks[instr->task];
        const MwPlanMesh *mesh = &plan->meshes[task->mesh];
        ck_assert_double_ge(instr->begin_s, task->begin_s - 1e-12);
        ck_assert_double_le(instr->end_s, task->end_s + 1e-12);
        ck_assert_int_lt(instr->instr, mesh->programs[mesh->tasks[task->task].program].instr_count);
        if (i > 0 && before->task == instr->task)
            ck_assert_double_ge(instr->begin_s, before->end_s - 1e-12);
        sum_s += instr->end_s - instr->begin_s;
    }
    for (int m = 0; m < plan->mesh_count; m++)
        sum_s -= simulation->meshes[m].compute_s + simulation->meshes[m].collective_s;
    ck_assert_double_eq_tol(sum_s, 0, 1e-9);
}

/* Programs of compiled plans send before they end: what they do by then is hidden. */
START_TEST(compiled_plans_take_about_what_they_predict)
{
    static const char *const backends[] = {"cpu", "cuda"};
    for (int b = 0; b < MW_COUNT(backends); b++)
        for (int stages = 1; stages <= 4; stages *= 2) {
            const MwPlan *plan = planned_stages(arena, stages, 8, backends[b]);
            const MwSimulation *simulation = simulate(plan, (MwSimulateOptions){.records = true});
            const double tolerance = stages == 1 ? 1e-9 : 0.03;
            ck_assert_double_eq_tol(simulation->step_s, plan->step_s, tolerance * plan->step_s);
            check_meshes(plan, simulation);
            if (b == 0) /* nothing runs beside anything else */
                check_instrs(plan, simulation);
            ck_assert_int_gt(simulation->instr_count, simulation->task_count);
        }
}
END_TEST

START_TEST(the_links_of_the_plan_give_the_times_of_the_plan)
{
    for (int stages = 1; stages <= 2; stages++) {
        const MwPlan *plan = planned_stages(arena, stages, 8, "cpu");
        MwCluster cluster = test_cluster(plan->rank_count);
        const double own_s = simulate(plan, (MwSimulateOptions){0})->step_s;
        const double same_s = simulate(plan, (MwSimulateOptions){.cluster = &cluster})->step_s;
        ck_assert_double_eq_tol(same_s, own_s, 1e-12);
        cluster.node_link.latency_s *= 1000;
        const double slow_s = simulate(plan, (MwSimulateOptions){.cluster = &cluster})->step_s;
        ck_assert_double_gt(slow_s, 1.5 * own_s);
    }
}
END_TEST

/* ---- Links ---- */

static MwStageTimes *no_times(const MwPipelineSchedule *schedule)
{
    return MW_NEW(arena, MwStageTimes, mw_pipeline_stage_count(schedule));
}

/* Two meshes send to a third at once, for 1 s each. */
static MwPlan *converging_plan(void)
{
    double total_s;
    MwPlan *plan = plan_of(MW_PIPELINE_INFERENCE, 3, 1, 1, no_times, &total_s);
    for (int m = 0; m < plan->mesh_count; m++) /* no update */
        plan->meshes[m].task_count--;
    /* the first mesh sends to the third, too, and the second does not wait for the first */
    MwPlanMesh *second = &plan->meshes[1], *third = &plan->meshes[2];
    MwPlanProgram *forward = &third->programs[0];
    MwPlanInstr *instrs = MW_NEW(arena, MwPlanInstr, forward->instr_count + 1);
    for (int i = 0; i < forward->instr_count; i++)
        instrs[i + 1] = forward->instrs[i];
    instrs[0] = second->programs[0].instrs[0];
    instrs[0].operands = MW_NEW(arena, MwPlanOperand, 1);
    instrs[0].operands[0] = (MwPlanOperand){2, MW_ACCESS_WRITE};
    forward->instrs = instrs;
    forward->instr_count++;
    second->programs[0].instrs++;
    second->programs[0].instr_count--;
    plan->transfers[0].to_mesh = 2;
    plan->transfers[0].to_buffer = 2;
    for (int t = 0; t < 2; t++)
        plan->transfers[t].time_s = 1;
    return plan;
}

START_TEST(two_transfers_on_one_link_take_twice)
{
    const MwPlan *plan = converging_plan();
    const double apart_s = simulate(plan, (MwSimulateOptions){0})->step_s;
    const double shared_s = simulate(plan, (MwSimulateOptions){.contention = true})->step_s;
    ck_assert_double_eq_tol(apart_s, 1, 1e-12);
    ck_assert_double_eq_tol(shared_s, 2, 1e-12);
}
END_TEST

START_TEST(a_later_transfer_shares_what_is_left_of_the_first)
{
    MwPlan *plan = converging_plan();
    plan->meshes[1].programs[0].instrs[0].time_s = 0.5; /* of a kernel, before its send */
    const MwSimulation *simulation =
        simulate(plan, (MwSimulateOptions){.contention = true, .records = true});
    /* half of the first is done by then; its other half takes 1 s, as does half of the second */
    ck_assert_int_eq(simulation->message_count, 2);
    ck_assert_double_eq_tol(simulation->messages[0].end_s, 1.5, 1e-12);
    ck_assert_double_eq_tol(simulation->messages[1].end_s, 2, 1e-12);
}
END_TEST

/* Two meshes of one device each send to two others. */
static MwPlan *crossing_plan(void)
{
    double total_s;
    MwPlan *plan = plan_of(MW_PIPELINE_INFERENCE, 4, 1, 1, no_times, &total_s);
    MwPlanTransfer *first = &plan->transfers[0], *second = &plan->transfers[1];
    for (int m = 0; m < plan->mesh_count; m++) /* no update */
        plan->meshes[m].task_count--;
    /* from 0 to 2 by the buffers of 1 to 2, from 1 to 3 by those of 2 to 3; no others */
    MwPlanProgram *forwards[4];
    for (int m = 0; m < 4; m++)
        forwards[m] = &plan->meshes[m].programs[0];
    forwards[1]->instrs++;
    forwards[1]->instr_count--;
    forwards[2]->instrs[0].target = 0;
    forwards[2]->instr_count--; /* it sends nothing */
    forwards[3]->instrs[0].target = 1;
    first->to_mesh = 2;
    second->to_mesh = 3;
    first->tensor = second->tensor = vector(1 << 24);
    plan->transfer_count = 2;
    return plan;
}

/* First two meshes in one node send to two nodes, then two in two nodes to one; last, devices fill
 * half of a link each. */
START_TEST(meshes_of_a_node_share_its_network_link)
{
    static const int ranks[][4] = {{0, 1, 2, 4}, {0, 2, 4, 5}};
    MwPlan *plan = crossing_plan();
    MwCluster cluster = test_cluster_of_nodes(3, 2);
    MwSimulateOptions apart = {.cluster = &cluster}, shared = apart;
    shared.contention = true;
    for (int i = 0; i < MW_COUNT(ranks); i++) {
        for (int m = 0; m < plan->mesh_count; m++)
            plan->meshes[m].first_rank = ranks[i][m];
        const double apart_s = simulate(plan, apart)->step_s;
        ck_assert_double_eq_tol(simulate(plan, shared)->step_s, 2 * apart_s, 0.01 * apart_s);
    }
    cluster.network_link.device_bytes_per_s = 2.5e9;
    ck_assert_double_eq_tol(simulate(plan, shared)->step_s, simulate(plan, apart)->step_s, 1e-9);
    /* without nodes, each has its own */
    ck_assert_double_eq_tol(simulate(plan, (MwSimulateOptions){.contention = true})->step_s, 0,
                            1e-12);
}
END_TEST

/* ---- Overlap ---- */

/* Seconds of all that the mesh computes and communicates by itself, one after another. */
static double instrs_s(const MwPlanMesh *mesh)
{
    double sum_s = 0;
    for (int t = 0; t < mesh->task_count; t++) {
        const MwPlanProgram *program = &mesh->programs[mesh->tasks[t].program];
        for (int i = 0; i < program->instr_count; i++)
            sum_s += mw_plan_instr_runs(program, i) * program->instrs[i].time_s;
    }
    return sum_s;
}

START_TEST(without_overlap_instructions_are_one_after_another)
{
    const MwPlan *plan = planned_stages(arena, 1, 8, _i ? "cuda" : "cpu");
    const double all_s = instrs_s(&plan->meshes[0]);
    const MwSimulation *beside = simulate(plan, (MwSimulateOptions){0});
    const MwSimulation *in_line =
        simulate(plan, (MwSimulateOptions){.collectives_in_line = true, .records = true});
    ck_assert_double_eq_tol(in_line->step_s, all_s, 1e-9 * all_s);
    check_instrs(plan, in_line);
    ck_assert(!in_line->overlaps && beside->overlaps == (_i == 1));
    ck_assert_double_le(beside->step_s, (_i ? 0.99 : 1 + 1e-9) * all_s);
}
END_TEST

/* ---- Slots ---- */

static MwPlan *relay_plan(const MwStageTimes *times)
{
    const MwPipelineSchedule *schedule =
        mw_pipeline_schedule_new(arena, MW_PIPELINE_INFERENCE, 2, 3, 1);
    return scheduled_plan(arena, &(ScheduledPlan){schedule, times, 1, 0, 0});
}

/* The last kernel of the backward takes 10 s, one sum of gradients 1 s, and all else no time. */
static double step_with_sum_s(const MwPlan *plan, int sum, double share)
{
    MwPlanMesh *mesh = &plan->meshes[0];
    const int update = mesh->task_count - 1;
    MwPlanInstr *kernel = NULL;
    for (int p = 0; p < mesh->program_count; p++)
        for (int i = 0; i < mesh->programs[p].instr_count; i++) {
            MwPlanInstr *instr = &mesh->programs[p].instrs[i];
            instr->time_s = 0;
            if (instr->kind == MW_INSTR_KERNEL && p == mesh->tasks[update - 1].program)
                kernel = instr;
        }
    kernel->time_s = 10;
    mesh->programs[mesh->tasks[update].program].instrs[sum].time_s = 1;
    mesh->collective_share = share;
    return simulate(plan, (MwSimulateOptions){0})->step_s;
}

START_TEST(kernels_beside_a_collective_are_slower)
{
    const MwPlan *plan = planned_stages(arena, 1, 1, "cuda");
    const MwPlanMesh *mesh = &plan->meshes[0];
    const MwPlanProgram *update = &mesh->programs[mesh->tasks[mesh->task_count - 1].program];
    int hidden = 0;
    for (int i = 0; i < update->instr_count; i++) {
        if (update->instrs[i].kind != MW_INSTR_COLLECTIVE)
            continue;
        const double alone_s = step_with_sum_s(plan, i, 0);
        /* the kernel does three quarters of a second's work in the second of the sum, or none */
        ck_assert(alone_s == 10 || alone_s == 11);
        ck_assert_double_eq_tol(step_with_sum_s(plan, i, 0.25), alone_s == 10 ? 10.25 : 11, 1e-9);
        hidden += alone_s == 10;
    }
    ck_assert_int_gt(hidden, 0);
}
END_TEST

START_TEST(without_overlap_neither_end_of_a_message_computes)
{
    const MwStageTimes slow_link[] = {{{1}, 3, 0}, {{1}, 0, 0}};
    const MwStageTimes slow_end[] = {{{1}, 1, 0}, {{4}, 0, 0}};
    const MwSimulateOptions options = {.messages_in_line = true, .records = true};
    MwPlan *plan = relay_plan(slow_link);
    const MwSimulation *simulation = simulate(plan, options);
    ck_assert_double_eq_tol(simulation->step_s, 3 * (1 + 3) + 1, 1e-9);
    ck_assert_double_eq_tol(simulation->meshes[0].transfer_s, 2 * 3, 1e-9);
    check_meshes(plan, simulation);
    /* two messages interrupt the second mesh in its first task */
    plan = relay_plan(slow_end);
    simulation = simulate(plan, options);
    ck_assert_double_eq_tol(simulation->step_s, 1 + 3 * (1 + 4), 1e-9);
    ck_assert_double_eq_tol(simulation->messages[1].begin_s, 3, 1e-9);
    ck_assert_double_eq_tol(simulation->tasks[4].end_s, 8, 1e-9);
    ck_assert_double_eq_tol(simulation->meshes[0].transfer_s, 2 * 1, 1e-9);
    ck_assert_double_eq_tol(simulation->meshes[1].transfer_s, 3 * 1, 1e-9);
    ck_assert_double_eq_tol(simulation->meshes[1].bubble_s, 1, 1e-9);
    check_meshes(plan, simulation);
}
END_TEST

START_TEST(a_slot_holds_one_message)
{
    const MwStageTimes slow_link[] = {{{1}, 3, 0}, {{1}, 0, 0}};
    const MwStageTimes slow_end[] = {{{1}, 1, 0}, {{4}, 0, 0}};
    MwPlan *plan = relay_plan(slow_link);
    MwPlanInstr *kernel = &plan->meshes[0].programs[0].instrs[0];
    ck_assert_double_eq_tol(simulate(plan, (MwSimulateOptions){0})->step_s, 1 + 3 * 3 + 1, 1e-9);
    /* what is sent from one slot is written again when it has arrived */
    plan->meshes[0].buffers[kernel->operands[0].buffer].slots = 1;
    ck_assert_double_eq_tol(simulate(plan, (MwSimulateOptions){0})->step_s, 3 * (1 + 3) + 1, 1e-9);
    /* what is sent from one slot, but not written, is sent one after another */
    kernel->operands[0].access = MW_ACCESS_READ;
    const MwSimulation *simulation = simulate(plan, (MwSimulateOptions){.records = true});
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq_tol(simulation->messages[i].end_s, 1 + 3 * (i + 1), 1e-9);
    ck_assert_double_eq_tol(simulation->meshes[0].idle_s, 3 + 1, 1e-9);
    ck_assert_double_eq_tol(simulation->path.transfer_s, 3 * 3, 1e-9);
    plan = relay_plan(slow_end);
    ck_assert_double_eq_tol(simulate(plan, (MwSimulateOptions){0})->step_s, 1 + 1 + 3 * 4, 1e-9);
    /* what comes into one slot comes when the task before is done with it */
    plan->meshes[1].buffers[plan->transfers[0].to_buffer].slots = 1;
    ck_assert_double_eq_tol(simulate(plan, (MwSimulateOptions){0})->step_s, 1 + 3 * (1 + 4), 1e-9);
}
END_TEST

/* ---- Devices ---- */

static MwStageTimes *even_times(const MwPipelineSchedule *schedule)
{
    const int stages = mw_pipeline_stage_count(schedule);
    MwStageTimes *times = MW_NEW(arena, MwStageTimes, stages);
    for (int s = 0; s < stages; s++)
        times[s] = (MwStageTimes){{1, 2, 1, 1}, 0, 0};
    return times;
}

static MwPlan *even_plan(int meshes, int micro_batches, int devices, double sum_s)
{
    const MwPipelineSchedule *schedule =
        mw_pipeline_schedule_new(arena, MW_PIPELINE_1F1B, meshes, micro_batches, 1);
    return scheduled_plan(arena,
                          &(ScheduledPlan){schedule, even_times(schedule), devices, 1, sum_s});
}

START_TEST(all_wait_for_a_straggler)
{
    const MwStraggler straggler = {5, 1.5};
    const MwSimulateOptions options = {.stragglers = &straggler, .straggler_count = 1};
    /* 4 micro-batches of 3 s, an update of 1 s, 0.25 s for a sum that is no device's */
    MwPlan *plan = even_plan(1, 4, 8, 0.25);
    ck_assert_double_eq_tol(simulate(plan, (MwSimulateOptions){0})->step_s, 13.25, 1e-9);
    ck_assert_double_eq_tol(simulate(plan, options)->step_s, 13 * 1.5 + 0.25, 1e-9);
    const MwStraggler faster = {5, 0.5};
    const MwSimulateOptions other = {.stragglers = &faster, .straggler_count = 1};
    ck_assert_double_eq_tol(simulate(plan, other)->step_s, 13.25, 1e-9);
    /* two meshes of 4, the second of which is slow: it goes through 4 micro-batches of 4.5 s after
     * the first forward, and the first does the last backward and the update at its own pace */
    plan = even_plan(2, 4, 4, 0);
    ck_assert_double_eq_tol(simulate(plan, options)->step_s, 1 + 4 * 4.5 + 2 + 1, 1e-9);
}
END_TEST

START_TEST(jitter_is_that_of_its_seed)
{
    const MwPlan *plan = even_plan(4, 8, 64, 0.25);
    const MwSimulateOptions options = {.jitter = 0.05, .seed = 1, .steps = 8};
    const MwSimulation *first = simulate(plan, options), *again = simulate(plan, options);
    ck_assert_double_eq(first->step_s, again->step_s);
    ck_assert_double_eq(first->most_s, again->most_s);
    ck_assert_double_lt(first->least_s, first->most_s);
    MwSimulateOptions other = options;
    other.seed = 2;
    ck_assert_double_ne(simulate(plan, other)->step_s, first->step_s);
}
END_TEST

START_TEST(jitter_leaves_the_mean_of_a_device)
{
    const MwSimulation *simulation =
        simulate(even_plan(1, 8, 1, 0), (MwSimulateOptions){.jitter = 0.3, .steps = 400});
    /* 4 standard deviations of the mean of 400 steps of 8 (1 + 4) + 1 s^2 */
    ck_assert_double_eq_tol(simulation->step_s, 25, 4 * 0.3 * sqrt(41.0 / 400));
}
END_TEST

START_TEST(more_devices_wait_longer)
{
    /* of the greatest of so many normal draws (Tippett 1925 and expansions of it) */
    static const struct {
        int devices;
        double greatest;
    } cases[] = {{8, 1.4236}, {128, 2.6216}, {32768, 4.1264}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        const MwPlan *plan = even_plan(1, 8, cases[i].devices, 0.25);
        const MwSimulateOptions options = {.jitter = 0.05, .steps = 100};
        /* the sum couples the devices: by then the slowest is late, and the slowest updates last */
        const double late_s = cases[i].greatest * 0.05 * (sqrt(8 * 5) + 1.25);
        ck_assert_double_eq_tol(simulate(plan, options)->step_s, 25.25 + late_s,
                                0.03 * cases[i].greatest + 4 * 0.05 * sqrt(41.0 / 100));
    }
}
END_TEST

/* ---- Size ---- */

START_TEST(a_hundred_thousand_ranks_are_64_meshes)
{
    double timeline_s;
    MwPlan *plan = plan_of(MW_PIPELINE_INTERLEAVED, 64, CASE_STRIDE > 1 ? 64 : 512, 2, uneven_times,
                           &timeline_s);
    for (int m = 0; m < plan->mesh_count; m++) {
        plan->meshes[m].shape.size[0] = 1600;
        plan->meshes[m].first_rank = 1600 * m;
    }
    plan->rank_count = 64 * 1600;
    const size_t before = mw_arena_bytes(arena);
    const MwSimulation *simulation = simulate(plan, (MwSimulateOptions){0});
    ck_assert_double_eq_tol(simulation->step_s, timeline_s + 0.5, 1e-9 * timeline_s);
    /* for a forward and a backward of each stage and micro-batch: its end, that of its message */
    ck_assert_int_le(simulation->events, (int64_t)2 * 128 * 2 * plan->micro_batches * 2);
    ck_assert(mw_arena_bytes(arena) - before < 64 << 20);
    const MwSimulation *recorded = simulate(plan, (MwSimulateOptions){.records = true});
    ck_assert_int_eq(recorded->task_count, 64 * (2 * 2 * plan->micro_batches + 1));
    ck_assert_int_eq(recorded->instr_count > 0, recorded->task_count < 1 << 16);
}
END_TEST

/* ---- What is refused ---- */

static void refused(const MwPlan *plan, MwSimulateOptions options)
{
    options.steps = 1;
    const int before = mw_diags_error_count(diags);
    ck_assert_ptr_null(mw_simulate(arena, plan, &options, diags));
    ck_assert_int_eq(mw_diags_error_count(diags), before + 1);
}

START_TEST(what_cannot_be_simulated_is_refused)
{
    MwPlan *plan = even_plan(2, 4, 4, 0);
    MwCluster small = test_cluster(4), other = test_cluster(8);
    const MwStraggler beyond = {8, 2}, twice[] = {{1, 2}, {1, 3}};
    other.backend = "cuda";
    refused(plan, (MwSimulateOptions){.cluster = &small});
    refused(plan, (MwSimulateOptions){.cluster = &other});
    refused(plan, (MwSimulateOptions){.stragglers = &beyond, .straggler_count = 1});
    refused(plan, (MwSimulateOptions){.stragglers = twice, .straggler_count = 2});
    const double wrong[] = {NAN, -1, 1e300};
    for (int i = 0; i < MW_COUNT(wrong); i++) {
        plan->meshes[1].programs[0].instrs[0].time_s = wrong[i];
        refused(plan, (MwSimulateOptions){0});
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simulate");
    TCase *tests = tcase_create("simulate");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, every_schedule_takes_its_timeline, 0, MW_PIPELINE_COUNT);
    tcase_add_loop_test(tests, the_times_of_a_stage_are_those_of_its_programs, 0,
                        MW_PIPELINE_COUNT);
    tcase_add_test(tests, compiled_plans_take_about_what_they_predict);
    tcase_add_test(tests, the_links_of_the_plan_give_the_times_of_the_plan);
    tcase_add_test(tests, two_transfers_on_one_link_take_twice);
    tcase_add_test(tests, a_later_transfer_shares_what_is_left_of_the_first);
    tcase_add_test(tests, meshes_of_a_node_share_its_network_link);
    tcase_add_loop_test(tests, without_overlap_instructions_are_one_after_another, 0, 2);
    tcase_add_test(tests, kernels_beside_a_collective_are_slower);
    tcase_add_test(tests, without_overlap_neither_end_of_a_message_computes);
    tcase_add_test(tests, a_slot_holds_one_message);
    tcase_add_test(tests, all_wait_for_a_straggler);
    tcase_add_test(tests, jitter_is_that_of_its_seed);
    tcase_add_test(tests, jitter_leaves_the_mean_of_a_device);
    tcase_add_test(tests, more_devices_wait_longer);
    tcase_add_test(tests, a_hundred_thousand_ranks_are_64_meshes);
    tcase_add_test(tests, what_cannot_be_simulated_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
