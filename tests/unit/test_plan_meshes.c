/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the checker proves of plans with several meshes: a good plan is broken in one place, and the
 * message must name it. */
#include "runtime/check/check.h"
#include "runtime/plan/traffic.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/pipeline_plan.h"
#include "tests/unit/support.h"

#include <string.h>

START_TEST(good_plans_pass)
{
    MwArena *arena = mw_arena_new();
    for (int meshes = 1; meshes <= 2; meshes++) {
        for (int micros = 1; micros <= 8; micros *= 2) {
            MwDiags *diags = mw_diags_new(arena);
            bool good = mw_plan_check(pipeline_plan(arena, meshes, meshes, micros), diags);
            ck_assert_msg(good, "%d meshes, %d micro-batches: %s", meshes, micros,
                          diags_text(arena, diags));
        }
    }
    mw_arena_free(&arena);
}
END_TEST

/* ---- Broken plans ---- */

/* Places in the plan, for 2 meshes of 2 and 4 micro-batches. */
typedef struct {
    MwPlan *plan;
    MwPlanMesh *mesh;      /* [2] */
    MwPlanTransfer *moves; /* [PIPELINE_TRANSFERS] */
} Good;

static MwPlanBuffer *buffer_at(const Good *good, int mesh, int buffer)
{
    return &good->mesh[mesh].buffers[buffer];
}

static MwPlanInstr *instr_at(const Good *good, int mesh, int program, int instr)
{
    return &good->mesh[mesh].programs[program].instrs[instr];
}

static void swap_tasks(const Good *good, int mesh, int a, int b)
{
    const MwPlanTask task = good->mesh[mesh].tasks[a];
    good->mesh[mesh].tasks[a] = good->mesh[mesh].tasks[b];
    good->mesh[mesh].tasks[b] = task;
}

/* Moves a buffer over another of the mesh. */
static void put_over(const Good *good, int mesh, int buffer, int other)
{
    buffer_at(good, mesh, buffer)->offset = buffer_at(good, mesh, other)->offset;
}

static void exchange_instrs(const Good *good, int mesh, int program, int a, int b)
{
    const MwPlanInstr instr = *instr_at(good, mesh, program, a);
    *instr_at(good, mesh, program, a) = *instr_at(good, mesh, program, b);
    *instr_at(good, mesh, program, b) = instr;
}

#define BREAK(name, ...)                                                                           \
    static void name(const Good *good)                                                             \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

BREAK(mesh_missing, good->moves[0].to_mesh = 2)
BREAK(to_itself, good->moves[0].to_mesh = 0)
BREAK(transfer_time, good->moves[0].time_s = -1)
BREAK(buffer_missing, good->moves[0].from_buffer = 99)
BREAK(wrong_shape, good->moves[0].tensor.dim[1] = 6)
BREAK(wrong_type, good->moves[0].tensor.type = MW_I32)
BREAK(wrong_spec, good->moves[0].from_spec = mw_spec_with_dim((MwSpec){0}, 1, 1))
BREAK(spec_axis, good->moves[0].from_spec = mw_spec_with_dim((MwSpec){0}, 0, 2))
BREAK(partial, good->moves[2].from_spec = mw_spec_with_partial((MwSpec){0}, 1, MW_COMBINE_SUM))
BREAK(other_buffer, good->moves[1].from_buffer = PIPELINE_H)
BREAK(other_mesh, instr_at(good, 0, PIPELINE_FORWARD, 2)->target = PIPELINE_SEND_H_GRAD)
BREAK(no_transfer, instr_at(good, 0, PIPELINE_FORWARD, 2)->target = PIPELINE_TRANSFERS)
BREAK(writes_sent, instr_at(good, 0, PIPELINE_FORWARD, 2)->operands[0].access = MW_ACCESS_WRITE)
BREAK(reads_received, instr_at(good, 1, PIPELINE_FORWARD, 0)->operands[0].access = MW_ACCESS_READ)
BREAK(not_sent, good->mesh[0].programs[PIPELINE_FORWARD].instr_count = 2)
BREAK(sent_twice, *instr_at(good, 0, PIPELINE_FORWARD, 1) = *instr_at(good, 0, PIPELINE_FORWARD, 2))
BREAK(other_order, swap_tasks(good, 0, 0, 1))
BREAK(other_weight, good->mesh[1].weights[0].init_value = 1)
BREAK(weight_shape, good->mesh[1].weights[0].name = "w1")
BREAK(output_twice, good->mesh[0].outputs[0].name = "loss")
BREAK(input_differs, good->mesh[1].inputs[0].name = "x")
static MwPlanBound below_5[] = {{0, 0, 1, 5}};
BREAK(bound_differs, good->mesh[1].inputs[1] = good->mesh[0].inputs[0];
      good->mesh[1].inputs[1].spec = (MwSpec){0}; good->mesh[1].inputs[1].bound_count = 1;
      good->mesh[1].inputs[1].bounds = below_5; good->mesh[1].input_count = 2)
BREAK(two_losses, good->mesh[0].metric_count = 1)
BREAK(loss_index, good->mesh[1].metrics[0].index = 1)
BREAK(loss_last, good->mesh[0].metric_count = 1; good->mesh[0].metrics[0].minimised = false;
      good->mesh[1].metrics[0].index = 1)
BREAK(few_slots, buffer_at(good, 0, PIPELINE_X)->slots = 1)
BREAK(backward_early, swap_tasks(good, 1, 0, 1))
BREAK(over_slot, buffer_at(good, 0, PIPELINE_H_GRAD)->slots = 1;
      put_over(good, 0, PIPELINE_H_GRAD, PIPELINE_X);
      buffer_at(good, 0, PIPELINE_H_GRAD)->offset += 64)
BREAK(before_receive, exchange_instrs(good, 1, PIPELINE_FORWARD, 0, 1))
BREAK(receive_first, exchange_instrs(good, 0, PIPELINE_UPDATE, 2, 4);
      exchange_instrs(good, 1, PIPELINE_UPDATE, 0, 2))

/* All forward tasks of the first mesh come first, which the second cannot take: it does not go on
 * before the gradient that it has sent is received. */
static void stuck(const Good *good)
{
    MwPlanBuffer *x = buffer_at(good, 0, PIPELINE_X);
    for (int m = 0; m < 4; m++) {
        good->mesh[0].tasks[m] = (MwPlanTask){PIPELINE_FORWARD, m};
        good->mesh[0].tasks[4 + m] = (MwPlanTask){PIPELINE_BACKWARD, m};
    }
    x->slots = 4;
    x->offset = good->mesh[0].arena_bytes;
    good->mesh[0].arena_bytes += mw_plan_buffer_bytes(x);
    put_over(good, 0, PIPELINE_PRED, PIPELINE_H_GRAD); /* so that it is not posted ahead */
    buffer_at(good, 0, PIPELINE_H)->slots = 1;
    buffer_at(good, 1, PIPELINE_H)->slots = 1;
    buffer_at(good, 1, PIPELINE_H_GRAD)->slots = 1;
}

/* Here the second mesh fills its next input first, over the gradient. */
static void stuck_filling(const Good *good)
{
    stuck(good);
    put_over(good, 1, PIPELINE_Y, PIPELINE_H_GRAD);
}

static const struct {
    void (*apply)(const Good *good);
    const char *message;
} broken[] = {
    {mesh_missing, "transfer 0 'h': mesh 2 does not exist"},
    {to_itself, "transfer 0 'h': it goes from mesh 0 to itself"},
    {transfer_time, "transfer 0 'h': its predicted time is no number of seconds"},
    {buffer_missing, "transfer 0 'h': the end on mesh '0' is in buffer 99, which does not exist"},
    {wrong_shape, "transfer 0 'h': the end on mesh '0' is f32[2, 6] on a device"},
    {wrong_type, "transfer 0 'h': the end on mesh '0' is i32[2, 3] on a device"},
    {wrong_spec, "transfer 0 'h': the end on mesh '0': f32[4, 3] cannot be split as [R, S0]"},
    {spec_axis, "transfer 0 'h': the end on mesh '0': f32[4, 3] cannot be split as [S1, R]"},
    {partial, "transfer 2 't.grad': the end on mesh '0': f32[3] cannot be split as [R] +P0"},
    {other_buffer, "mesh 1, program backward, instruction 2 (send): transfer 1 'h.grad' is of "
                   "buffer 8 here, not 11"},
    {other_mesh, "mesh 0, program forward, instruction 2 (send): transfer 1 'h.grad' goes from "
                 "mesh 1 to mesh 0"},
    {no_transfer, "mesh 0, program forward, instruction 2 (unknown): there is no such"},
    {writes_sent, "instruction 2 (send): it must read its operand"},
    {reads_received, "mesh 1, program forward, instruction 0 (receive): it must write its operand"},
    {not_sent, "transfer 0 'h': 0 instructions of mesh 0 send it and 1 of mesh 1 receive it"},
    {sent_twice, "transfer 0 'h': 2 instructions of mesh 0 send it and 1 of mesh 1 receive it"},
    {other_order, "transfer 0 'h': program forward of mesh 0 and program forward of mesh 1 do not "
                  "run on the same micro-batches"},
    {other_weight, "weight 't' of mesh 0 and that of mesh 1 differ in what they are set to"},
    {weight_shape, "weight 'w1' of mesh 0 and that of mesh 1 differ in type or shape"},
    {output_twice, "output 'loss' of mesh 0 and that of mesh 1 are two outputs of one name"},
    {input_differs, "input 'x' of mesh 0 and that of mesh 1 differ in type or shape"},
    {bound_differs, "input 'x' of mesh 0 and that of mesh 1 differ in their bounds"},
    {two_losses, "metric 'loss' of mesh 1 has the index 0 of another"},
    {loss_index, "metric 'loss' of mesh 1 has the index 1 of 1 metrics"},
    {loss_last, "metric 'loss' of mesh 1 has the index 1: losses come first"},
    {few_slots, "mesh 0, program backward, instruction 1 (gemm): reads buffer 6 'x' of micro-batch "
                "0, where that of micro-batch 1 is: it has 1 slot"},
    {backward_early, "mesh 1, program backward, instruction 0 (gemm): reads buffer 8 'h' before"},
    {over_slot, "mesh 0, program backward, instruction 1 (gemm): reads buffer 6 'x', which program "
                "backward, instruction 0 (receive) has overwritten with buffer 11 'h.grad'"},
    {before_receive, "mesh 1, program forward, instruction 0 (gemm): reads buffer 8 'h' before"},
    {stuck, "mesh 0, program forward, instruction 0: it waits for ever on micro-batch 3: mesh 1 "
            "never receives transfer 0 'h', which it would overwrite"},
    {stuck, "mesh 1, program backward, instruction 1: it waits for ever on micro-batch 1: mesh 0 "
            "never receives transfer 1 'h.grad', which it would overwrite"},
    {stuck_filling, "mesh 1, program forward, filling the inputs: it waits for ever on micro-batch "
                    "1: mesh 0 never receives transfer 1 'h.grad', which it would overwrite"},
    {receive_first, "mesh 0, program update, instruction 2: it waits for ever on micro-batch "
                    "-1: mesh 1 never sends transfer 3 't.grad.2'"},
};

START_TEST(a_broken_plan_is_found_out)
{
    MwArena *arena = mw_arena_new();
    MwPlan *plan = pipeline_plan(arena, 2, 2, 4);
    const Good good = {plan, plan->meshes, plan->transfers};
    MwDiags *diags = mw_diags_new(arena);
    broken[_i].apply(&good);
    ck_assert(!mw_plan_check(plan, diags));
    const char *shown = diags_text(arena, diags);
    ck_assert_msg(strstr(shown, broken[_i].message), "expected: %s\nshown: %s", broken[_i].message,
                  shown);
    mw_arena_free(&arena);
}
END_TEST

/* ---- Messages ---- */

static const MwTrafficEndpoint *endpoint_of(const MwTraffic *traffic, int transfer)
{
    for (int e = 0; e < traffic->endpoint_count; e++)
        if (traffic->endpoints[e].transfer == transfer)
            return &traffic->endpoints[e];
    return NULL;
}

START_TEST(receives_are_posted_ahead_where_nothing_else_lies)
{
    MwArena *arena = mw_arena_new();
    MwPlan *plan = pipeline_plan(arena, 2, 1, 4);
    const Good good = {plan, plan->meshes, plan->transfers};
    MwTraffic traffic = mw_traffic(arena, plan, &plan->meshes[1]);
    ck_assert_int_eq(traffic.endpoint_count, PIPELINE_TRANSFERS);
    ck_assert(endpoint_of(&traffic, PIPELINE_SEND_H)->is_ahead);
    ck_assert_int_eq(endpoint_of(&traffic, PIPELINE_SEND_H)->users, 2); /* forward and backward */
    ck_assert(!endpoint_of(&traffic, PIPELINE_SEND_H_GRAD)->is_ahead);
    ck_assert(endpoint_of(&traffic, PIPELINE_SEND_SHIFT_GRAD)->is_ahead);
    put_over(&good, 1, PIPELINE_X, PIPELINE_H);
    traffic = mw_traffic(arena, plan, &plan->meshes[1]);
    ck_assert(!endpoint_of(&traffic, PIPELINE_SEND_H)->is_ahead);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(what_overwrites_a_sent_buffer_waits)
{
    static const MwTrafficOp expected[][2] = {
        {{MW_TRAFFIC_WAIT, 0, PIPELINE_SEND_H}, {MW_TRAFFIC_SEND, 2, PIPELINE_SEND_H}},
        {{MW_TRAFFIC_WAIT_ALL, -1, PIPELINE_SEND_H}, {MW_TRAFFIC_SEND, 2, PIPELINE_SEND_H}},
    };
    MwArena *arena = mw_arena_new();
    MwPlan *plan = pipeline_plan(arena, 2, 1, 4);
    for (int over = 0; over < 2; over++) {
        const MwTraffic traffic = mw_traffic(arena, plan, &plan->meshes[0]);
        const MwTrafficProgram *program = &traffic.programs[PIPELINE_FORWARD];
        ck_assert_int_eq(program->op_count, 2);
        for (int e = 0; e < program->op_count; e++) {
            ck_assert_int_eq(program->ops[e].kind, expected[over][e].kind);
            ck_assert_int_eq(program->ops[e].instr, expected[over][e].instr);
            ck_assert_int_eq(program->ops[e].endpoint, expected[over][e].endpoint);
        }
        /* Filling x then is a write over h. */
        plan->meshes[0].buffers[PIPELINE_X].offset = plan->meshes[0].buffers[PIPELINE_H].offset;
    }
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_meshes");
    TCase *tests = tcase_create("plan_meshes");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, good_plans_pass);
    tcase_add_loop_test(tests, a_broken_plan_is_found_out, 0, MW_COUNT(broken));
    tcase_add_test(tests, receives_are_posted_ahead_where_nothing_else_lies);
    tcase_add_test(tests, what_overwrites_a_sent_buffer_waits);
    return run_suite(suite);
}
