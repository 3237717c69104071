/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transfers between two meshes as the executor runs them, exactly: every pair of specs of a tensor,
 * there and, of every other one, back, on several micro-batches in 1F1B order, with collectives
 * among the messages. Inputs on the first mesh are known, and so are outputs on both. Run under
 * mpirun: test_transfers FROM_MESH TO_MESH WAY (ways.h). */
#include "runtime/check/check.h"
#include "runtime/exec/executor.h"
#include "tests/runtime/ways.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/plan_parts.h"
#include "tests/unit/specs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor is larger than what MPI sends at once. */
enum { MICROS = 4, STEPS = 3, ROWS = 72, COLUMNS = 60, REDUCED = 500 };

typedef struct {
    MwArena *arena;
    MwPlan *plan;
    int wrong; /* outputs of this rank */
} Test;

/* ---- The plan ---- */

/* What one mesh does. */
typedef struct {
    MwArena *arena;
    MwPlanMesh *mesh;
    MW_VEC(MwPlanBuffer) buffers;
    MW_VEC(MwPlanInput) inputs;
    MW_VEC(MwPlanOutput) outputs;
    MW_VEC(MwPlanInstr) forward, backward;
} Side;

static int add_buffer(Side *side, MwTensor tensor, int slots, bool persistent)
{
    MwPlanBuffer *buffer = mw_vec_add(side->arena, &side->buffers);
    *buffer = (MwPlanBuffer){.name = "b",
                             .tensor = tensor,
                             .offset = side->mesh->arena_bytes,
                             .bytes = mw_tensor_bytes(&tensor),
                             .slots = slots,
                             .persistent = persistent};
    side->mesh->arena_bytes += mw_round_up(mw_plan_buffer_bytes(buffer), MW_BUFFER_ALIGNMENT);
    return side->buffers.count - 1;
}

static MwPlanInstr message(Side *side, bool sends, int transfer, int buffer)
{
    const MwPlanOperand operand = {buffer, sends ? MW_ACCESS_READ : MW_ACCESS_WRITE};
    return plan_instr(side->arena, sends ? MW_INSTR_SEND : MW_INSTR_RECEIVE, transfer, &operand, 1);
}

static void add_output(Side *side, const MwTensor *global, int buffer, MwSpec spec, int program,
                       int pair)
{
    mw_vec_push(side->arena, &side->outputs,
                ((MwPlanOutput){mw_arena_printf(side->arena, "%d.%d", program, pair), buffer,
                                *global, spec, false, program}));
}

/* Pair number `pair` of specs: there, and back again where the number is even. */
static void add_pair(MwPlan *plan, Side sides[2], int pair, MwSpec from, MwSpec to)
{
    const MwTensor micro = matrix(ROWS, COLUMNS), global = matrix(ROWS * MICROS, COLUMNS);
    const MwTensor from_local = mw_spec_local(from, &micro, &sides[0].mesh->shape);
    const MwTensor to_local = mw_spec_local(to, &micro, &sides[1].mesh->shape);
    const int x = add_buffer(&sides[0], from_local, 1 + pair / 2 % 3, false);
    const int y = add_buffer(&sides[1], to_local, 1 + pair % 3, false);
    const int there = plan->transfer_count++, broadcast = pair / 3 % 2;
    plan->transfers[there] = (MwPlanTransfer){"there", micro, 0, x, from, 1, y, to, broadcast, 0};
    mw_vec_push(
        sides[0].arena, &sides[0].inputs,
        ((MwPlanInput){mw_arena_printf(sides[0].arena, "%d", pair), x, global, from, 0, 0}));
    mw_vec_push(sides[0].arena, &sides[0].forward, message(&sides[0], true, there, x));
    mw_vec_push(sides[1].arena, &sides[1].forward, message(&sides[1], false, there, y));
    add_output(&sides[1], &global, y, to, 0, pair);
    if (pair % 2)
        return;
    const int z = add_buffer(&sides[0], from_local, 1 + pair % 3, false);
    const int back = plan->transfer_count++;
    plan->transfers[back] = (MwPlanTransfer){"back", micro, 1, y, to, 0, z, from, broadcast, 0};
    mw_vec_push(sides[1].arena, &sides[1].backward, message(&sides[1], true, back, y));
    mw_vec_push(sides[0].arena, &sides[0].backward, message(&sides[0], false, back, z));
    add_output(&sides[0], &global, z, from, 1, pair);
}

/* A sum over every axis, among the messages of a program. */
static void add_reductions(Side *side)
{
    const int buffer = add_buffer(side, vector(REDUCED), 1, true);
    const MwPlanOperand operands[] = {{buffer, MW_ACCESS_READ}, {buffer, MW_ACCESS_WRITE}};
    side->mesh->weights = MW_NEW(side->arena, MwPlanWeight, 1);
    side->mesh->weights[side->mesh->weight_count++] =
        (MwPlanWeight){.name = mw_arena_printf(side->arena, "w%d", side->mesh->first_rank),
                       .buffer = buffer,
                       .global = vector(REDUCED),
                       .init = MW_INIT_ZEROS};
    for (int a = 0; a < side->mesh->shape.axis_count; a++) {
        MwPlanInstr reduce = plan_all_reduce(side->arena, operands, REDUCED);
        reduce.axis = a;
        mw_vec_push(side->arena, &side->forward, reduce);
        mw_vec_push(side->arena, &side->backward, reduce);
    }
}

static void finish_side(Side *side, int ahead)
{
    MwPlanMesh *mesh = side->mesh;
    const MwPlanProgram programs[] = {
        plan_program(side->arena, "forward", side->forward.at, side->forward.count),
        plan_program(side->arena, "backward", side->backward.at, side->backward.count)};
    mesh->buffers = side->buffers.at;
    mesh->buffer_count = side->buffers.count;
    mesh->inputs = side->inputs.at;
    mesh->input_count = side->inputs.count;
    mesh->outputs = side->outputs.at;
    mesh->output_count = side->outputs.count;
    mesh->programs = mw_arena_dup(side->arena, programs, sizeof programs);
    mesh->program_count = MW_COUNT(programs);
    mesh->tasks = MW_NEW(side->arena, MwPlanTask, 2 * MICROS);
    for (int m = 0; m < MICROS + ahead - 1; m++) {
        if (m < MICROS)
            mesh->tasks[mesh->task_count++] = (MwPlanTask){0, m};
        if (m - ahead + 1 >= 0)
            mesh->tasks[mesh->task_count++] = (MwPlanTask){1, m - ahead + 1};
    }
}

static MwPlan *make_plan(MwArena *arena, const MwMeshShape shapes[2])
{
    const MwTensor micro = matrix(ROWS, COLUMNS);
    const Specs from = complete_specs(arena, &micro, &shapes[0]);
    const Specs to = complete_specs(arena, &micro, &shapes[1]);
    MwPlan *plan = MW_NEW(arena, MwPlan, 1);
    *plan = (MwPlan){.model = "transfers",
                     .backend = "cpu",
                     .rank_count = mw_mesh_devices(&shapes[0]) + mw_mesh_devices(&shapes[1]),
                     .micro_batches = MICROS,
                     .schedule = "1f1b",
                     .meshes = MW_NEW(arena, MwPlanMesh, 2),
                     .mesh_count = 2,
                     .transfers = MW_NEW(arena, MwPlanTransfer, 2 * from.count * to.count)};
    Side sides[2] = {{.arena = arena, .mesh = &plan->meshes[0]},
                     {.arena = arena, .mesh = &plan->meshes[1]}};
    plan->meshes[0].shape = shapes[0];
    plan->meshes[1].shape = shapes[1];
    plan->meshes[1].first_rank = mw_mesh_devices(&shapes[0]);
    for (int i = 0; i < from.count * to.count; i++) {
        if (i == from.count * to.count / 2) {
            add_reductions(&sides[0]);
            add_reductions(&sides[1]);
        }
        add_pair(plan, sides, i, from.at[i / to.count], to.at[i % to.count]);
    }
    finish_side(&sides[0], 3);
    finish_side(&sides[1], 1);
    return plan;
}

/* ---- Data ---- */

/* Element `index` of the whole batch of a pair. */
static float element(int pair, int64_t step, int64_t index)
{
    return (float)((pair * 131 + step * 17 + index * 7) % 65521);
}

static int pair_of(const char *name)
{
    const char *dot = strchr(name, '.');
    return atoi(dot ? dot + 1 : name);
}

static const MwPlanMesh *own_mesh(const Test *test, int rank)
{
    return &test->plan->meshes[rank >= test->plan->meshes[1].first_rank];
}

typedef struct {
    Test *test;
    int rank;
} Context;

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *fault)
{
    (void)fault;
    const Context *own = context;
    const int pair = pair_of(own_mesh(own->test, own->rank)->inputs[input].name);
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        for (int64_t i = 0; i < segment.count; i++)
            ((float *)to)[segment.local + i] = element(pair, step, segment.global + i);
    return true;
}

static bool take_output(void *context, int output, int64_t step, const MwBox *box, bool is_first,
                        const void *from, MwFault *fault)
{
    (void)is_first, (void)fault;
    const Context *own = context;
    const MwPlanOutput *info = &own_mesh(own->test, own->rank)->outputs[output];
    const int pair = pair_of(info->name);
    int64_t wrong = 0;
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        for (int64_t i = 0; i < segment.count; i++)
            wrong +=
                ((const float *)from)[segment.local + i] != element(pair, step, segment.global + i);
    if (wrong)
        fprintf(stderr, "rank %d, step %lld: %lld elements of %s %d are wrong\n", own->rank,
                (long long)step, (long long)wrong, info->program ? "back" : "there", pair);
    own->test->wrong += wrong > 0;
    return true;
}

static bool run(Test *test, const char *way, MwFault *fault)
{
    MwTransport *transport;
    MwDevice *device;
    if (!way_open(test->arena, way, test->plan, &transport, &device, fault))
        return false;
    MwExecutor *executor = mw_executor_new(test->arena, test->plan, device, transport, NULL, fault);
    Context context = {test, transport->rank};
    const MwExecutorData data = {&context, give_input, take_output};
    double loss;
    bool good = executor && mw_executor_start(executor, 1, fault);
    for (int64_t step = 1; good && step <= STEPS; step++)
        good = mw_executor_step(executor, step, &data, &loss, fault);
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", transport->rank, fault->text);
        transport->table->abort(transport, 1);
    }
    int *all = MW_NEW(test->arena, int, transport->size), wrong = 0;
    good = transport->table->allgather(transport, &test->wrong, sizeof test->wrong, all, fault);
    for (int r = 0; r < transport->size; r++)
        wrong += all[r];
    if (transport->rank == 0)
        printf("%sok 1 - %d transfers of %d micro-batches arrive\n1..1\n", wrong ? "not " : "",
               test->plan->transfer_count, MICROS);
    mw_transport_free(&transport, device);
    mw_device_free(&device);
    return good && !wrong;
}

int main(int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    MwMeshShape shapes[2];
    if (argc != 4 || !mw_mesh_parse(argv[1], &shapes[0]) || !mw_mesh_parse(argv[2], &shapes[1])) {
        fprintf(stderr, "usage: test_transfers FROM_MESH TO_MESH WAY\n");
        return 2;
    }
    Test test = {.arena = arena, .plan = make_plan(arena, shapes)};
    MwDiags *diags = mw_diags_new(arena);
    bool good = mw_plan_check(test.plan, diags);
    if (!good)
        fputs(diags_text(arena, diags), stderr);
    else
        good = run(&test, argv[3], &fault);
    if (*fault.text)
        fprintf(stderr, "%s\n", fault.text);
    mw_arena_free(&arena);
    return !good;
}
