/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a step can be captured as graphs: all of it, or parts of it between messages; and that
 * what is in them and outside is in order. */
#include "runtime/order/graphs.h"
#include "tests/unit/planned.h"
#include "tests/unit/support.h"

static MwArena *arena;

static bool is_in(const MwCommandGraph *graph, int command)
{
    return graph && command > graph->begin && command < graph->end;
}

static const MwCommandGraph *graph_at(const MwCommandList *list, int command)
{
    for (int i = 0; i < list->graph_count; i++)
        if (is_in(&list->graphs[i], command))
            return &list->graphs[i];
    return NULL;
}

/* The commands at which an event was recorded last; -1: nowhere. */
static int *records_before(const MwCommandList *list, int end)
{
    int *at = MW_NEW(arena, int, list->event_count);
    for (int i = 0; i < list->event_count; i++)
        at[i] = -1;
    for (int i = 0; i < end; i++)
        if (list->at[i].record_event >= 0)
            at[list->at[i].record_event] = i;
    return at;
}

/* What begins a graph records for it, and what ends it waits for it: both are in it, but not the
 * wait of the one and the record of the other. */
static const MwCommandGraph *graph_of_record(const MwCommandList *list, int command)
{
    return graph_at(list, list->at[command].kind == MW_COMMAND_BEGIN_GRAPH ? command + 1 : command);
}

static const MwCommandGraph *graph_of_wait(const MwCommandList *list, int command)
{
    return graph_at(list, list->at[command].kind == MW_COMMAND_END_GRAPH ? command - 1 : command);
}

/* An event is recorded and waited for in one graph, or outside of all. */
static void check_events(const MwCommandList *list)
{
    for (int i = 0; i < list->count; i++) {
        for (int k = 0; k < MW_COMMAND_WAITS; k++) {
            if (list->at[i].wait_events[k] < 0)
                continue;
            const int record = records_before(list, i)[list->at[i].wait_events[k]];
            ck_assert_int_ge(record, 0);
            ck_assert_ptr_eq(graph_of_record(list, record), graph_of_wait(list, i));
        }
    }
}

/* Collectives are one after another: each of those outside of graphs, and each graph that has some,
 * waits for the last one before it that is on the other queue. */
static void check_turns(const MwCommandList *list)
{
    int *recorded = MW_NEW(arena, int, list->event_count); /* at which command */
    int last[2] = {-1, -1};                                /* with collectives, on each queue */
    int known[2] = {-1, -1}; /* up to where each queue waited for the other */
    for (int i = 0, graph = 0; i < list->count; i++) {
        const MwCommand *command = &list->at[i];
        const bool begins = command->kind == MW_COMMAND_BEGIN_GRAPH;
        const int queue = command->queue, end = begins ? list->graphs[graph].end : i;
        for (int k = 0; k < MW_COMMAND_WAITS; k++)
            if (command->wait_events[k] >= 0)
                known[queue] = (int)mw_max(known[queue], recorded[command->wait_events[k]]);
        if (queue == MW_QUEUE_COMMUNICATION || (begins && list->graphs[graph].has_collectives)) {
            ck_assert_int_ge(known[queue], last[!queue]);
            last[queue] = end;
        }
        if (list->at[end].record_event >= 0)
            recorded[list->at[end].record_event] = end;
        graph += begins;
        i = end;
    }
}

static void check_graph(const MwPlanMesh *mesh, const MwCommandList *list,
                        const MwCommandGraph *graph)
{
    const MwCommand *first = &list->at[graph->begin + 1], *last = &list->at[graph->end - 1];
    bool has_collectives = false;
    ck_assert_int_gt(graph->end - graph->begin, 2);
    ck_assert(first->queue == MW_QUEUE_COMPUTE && last->queue == MW_QUEUE_COMPUTE);
    for (const MwCommand *command = first; command <= last; command++) {
        ck_assert(command->kind == MW_COMMAND_INSTR || command->kind == MW_COMMAND_LOOP);
        ck_assert_int_eq(command->task, first->task);
        has_collectives |= planned_instr(mesh, command)->kind == MW_INSTR_COLLECTIVE;
    }
    ck_assert(graph->has_collectives == has_collectives);
}

static bool is_message(const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE;
}

/* The commands of a list without those that begin and end graphs. */
static int count_others(const MwCommandList *list)
{
    return list->count - 2 * list->graph_count;
}

/* The sums of gradients of a list that are done while there is other work, and those in graphs. */
typedef struct {
    int overlapped, in_graphs;
} Sums;

static Sums count_sums(const MwPlanMesh *mesh, const MwCommandList *list)
{
    Sums sums = {0};
    for (int i = 0; i < list->count; i++)
        if (planned_is_sum(mesh, &list->at[i])) {
            sums.overlapped += planned_overlap(mesh, list, i) > 0;
            sums.in_graphs += graph_at(list, i) != NULL;
        }
    return sums;
}

START_TEST(between_messages_work_is_graphs)
{
    const MwPlan *plan = planned_stages(arena, 2, 8, "cuda");
    const MwPlanMesh *mesh = &plan->meshes[_i];
    ck_assert_int_eq(plan->mesh_count, 2);
    const MwCommandList plain = planned_commands(arena, plan, _i, MW_QUEUE_COMMUNICATION, false);
    const MwCommandList list = planned_commands(arena, plan, _i, MW_QUEUE_COMMUNICATION, true);
    ck_assert(!list.is_one_graph && plain.graph_count == 0);
    ck_assert_int_eq(count_others(&list), plain.count);
    for (int i = 0; i < list.graph_count; i++)
        check_graph(mesh, &list, &list.graphs[i]);
    check_events(&list);
    check_turns(&list);
    int works = 0, captured = 0;
    for (int i = 0; i < list.count; i++)
        if (list.at[i].kind == MW_COMMAND_INSTR && !is_message(planned_instr(mesh, &list.at[i]))) {
            works++;
            captured += graph_at(&list, i) != NULL;
        }
    ck_assert_msg(captured > works * 8 / 10, "%d of %d", captured, works);
    const Sums before = count_sums(mesh, &plain), now = count_sums(mesh, &list);
    ck_assert_int_ge(before.overlapped, 1);
    ck_assert_int_eq(now.overlapped, before.overlapped);
    ck_assert_int_lt(now.in_graphs, 2); /* that of the loss */
}
END_TEST

/* Gives a kernel of the program the place of the micro-batch, as dropout has it. */
static void place_kernel(const MwPlanProgram *program)
{
    for (int i = 0; i < program->instr_count; i++) {
        MwPlanInstr *instr = &program->instrs[i];
        if (instr->kind != MW_INSTR_KERNEL || instr->arg_count == 0)
            continue;
        instr->args[0] = (MwPlanArg){.kind = MW_ARG_POSITION, .micro_stride = 7};
        return;
    }
    ck_abort_msg("no kernel has an argument");
}

/* What is captured for the tasks of a program. */
static int count_captured(const MwPlanMesh *mesh, const MwCommandList *list, int program)
{
    bool *seen = MW_NEW(arena, bool, list->captured_count);
    int count = 0;
    for (int i = 0; i < list->graph_count; i++) {
        const MwCommandGraph *graph = &list->graphs[i];
        if (mesh->tasks[list->at[graph->begin + 1].task].program != program)
            continue;
        count += !seen[graph->captured];
        seen[graph->captured] = true;
    }
    return count;
}

/* A graph for each slot, or where the place of the micro-batch is part of it for each of these. */
START_TEST(micro_batches_share_graphs)
{
    enum { MICRO_BATCHES = 16 };
    const MwPlan *plan = planned_stages(arena, 2, MICRO_BATCHES, "cuda");
    MwPlanMesh *mesh = &plan->meshes[0];
    const MwCommandList shared = planned_commands(arena, plan, 0, MW_QUEUE_COMMUNICATION, true);
    ck_assert_int_ge(shared.graph_count, 2 * MICRO_BATCHES);
    ck_assert_int_lt(shared.captured_count, shared.graph_count / 2);
    ck_assert_int_lt(count_captured(mesh, &shared, 0), MICRO_BATCHES / 2);
    place_kernel(&mesh->programs[0]);
    const MwCommandList placed = planned_commands(arena, plan, 0, MW_QUEUE_COMMUNICATION, true);
    ck_assert_int_eq(placed.graph_count, shared.graph_count);
    ck_assert_int_ge(count_captured(mesh, &placed, 0), MICRO_BATCHES);
    ck_assert_int_eq(count_captured(mesh, &placed, 1), count_captured(mesh, &shared, 1));
}
END_TEST

START_TEST(graphs_are_as_many_as_have_room)
{
    MwPlan *plan = planned_stages(arena, 2, 2048, "cuda");
    MwPlanMesh *mesh = &plan->meshes[0];
    for (int i = 0; i < mesh->program_count - 1; i++)
        place_kernel(&mesh->programs[i]);
    const MwCommandList plain = planned_commands(arena, plan, 0, MW_QUEUE_COMMUNICATION, false);
    const MwCommandList list = planned_commands(arena, plan, 0, MW_QUEUE_COMMUNICATION, true);
    int commands = 0;
    for (int i = 0; i < list.graph_count; i++)
        commands += list.graphs[i].end - list.graphs[i].begin - 1;
    ck_assert_int_eq(count_others(&list), plain.count);
    ck_assert_msg(commands <= MW_GRAPH_COMMANDS && commands > MW_GRAPH_COMMANDS / 2, "%d of %d",
                  commands, plain.count);
}
END_TEST

/* Accumulators begin with ones, which the host sets in every step: no graph does. */
static void set_by_host(MwPlanMesh *mesh)
{
    for (int i = 0; i < mesh->weight_count; i++)
        if (mesh->weights[i].reset_each_step)
            mesh->weights[i].init = MW_INIT_ONES;
}

START_TEST(a_step_without_messages_is_a_graph)
{
    MwPlan *plan = planned_stages(arena, 1, 4, "cuda");
    const MwCommandList plain = planned_commands(arena, plan, 0, MW_QUEUE_COMMUNICATION, false);
    const MwCommandList list = planned_commands(arena, plan, 0, MW_QUEUE_COMMUNICATION, true);
    ck_assert(list.is_one_graph && list.graph_count == 1 && list.captured_count == 1);
    ck_assert_int_eq(list.graphs[0].begin, 0);
    ck_assert_int_eq(list.graphs[0].end, list.count - 1);
    ck_assert_int_eq(count_others(&list), plain.count);
    check_events(&list);
    set_by_host(&plan->meshes[0]);
    const MwCommandList parts = planned_commands(arena, plan, 0, MW_QUEUE_COMMUNICATION, true);
    ck_assert(!parts.is_one_graph && parts.graph_count > 1);
    check_events(&parts);
    check_turns(&parts);
}
END_TEST

/* A ring, whose collectives are in graphs, with sums of gradients between them. */
START_TEST(collectives_take_turns)
{
    MwPlan *plan = planned_ring(arena, 4, 2, 2, "cuda");
    MwPlanMesh *mesh = &plan->meshes[0];
    set_by_host(mesh);
    const MwCommandList list = planned_commands(arena, plan, 0, MW_QUEUE_COMMUNICATION, true);
    int graphs = 0, sums = 0;
    for (int i = 0; i < list.graph_count; i++)
        graphs += list.graphs[i].has_collectives;
    for (int i = list.graphs[0].begin; i < list.graphs[list.graph_count - 1].begin; i++)
        sums += planned_is_sum(mesh, &list.at[i]) && !graph_at(&list, i);
    ck_assert_int_gt(graphs, 4);
    ck_assert_int_gt(sums, 0);
    check_events(&list);
    check_turns(&list);
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
    Suite *suite = suite_create("graphs");
    TCase *tests = tcase_create("graphs");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, between_messages_work_is_graphs, 0, 2);
    tcase_add_test(tests, micro_batches_share_graphs);
    tcase_add_test(tests, graphs_are_as_many_as_have_room);
    tcase_add_test(tests, a_step_without_messages_is_a_graph);
    tcase_add_test(tests, collectives_take_turns);
    return run_suite(suite);
}
