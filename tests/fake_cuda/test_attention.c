/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who does the attention of a plan, cuDNN or our own kernels. The numbers are right whoever does
 * it. */
#include "runtime/cuda/cudnn_sdpa.h"
#include "runtime/cuda/device.h"
#include "tests/unit/attention.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

static const MwRoutine routines[] = {MW_ROUTINE_SDPA, MW_ROUTINE_SDPA_GRAD};

/* A plan of attention of one shape, and a device that has prepared it. */
typedef struct {
    MwArena *arena;
    MwDevice *device;
    MwFault fault;
} Prepared;

/* `moves`: where the queries stand is not the same on all devices. */
static Prepared prepare(const Attention *z, MwType type, bool moves)
{
    Prepared p = {.arena = mw_arena_new()};
    Call calls[MW_COUNT(routines)];
    for (int i = 0; i < MW_COUNT(routines); i++)
        calls[i] = attention_call(routines[i], z, type);
    const MwPlan *plan = call_plan(p.arena, calls, MW_COUNT(routines));
    for (int i = 0; i < MW_COUNT(routines); i++) {
        if (moves)
            plan->meshes->programs->instrs[i].args[MW_SDPA_POSITION].kind = MW_ARG_POSITION;
        call_release(&calls[i]);
    }
    p.device = mw_device_cuda_new(p.arena, plan, NULL, 1, &p.fault);
    ck_assert_msg(p.device != NULL, "%s", p.fault.text);
    ck_assert_ptr_null(p.device->warning);
    return p;
}

static void release(Prepared *p)
{
    mw_device_free(&p->device);
    mw_arena_free(&p->arena);
}

static bool run_on(Prepared *p, Call *call)
{
    const MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = (int)call->routine};
    const MwDeviceCall on_device = {&instr, call->operands, call->bytes, call->args};
    return p->device->table->run(p->device, &on_device, &p->fault);
}

static Prepared *prepared; /* what `run` runs on */

static void run(Call *call)
{
    ck_assert_msg(run_on(prepared, call) &&
                      prepared->device->table->synchronize(prepared->device, &prepared->fault),
                  "%s", prepared->fault.text);
}

/* ---- Cases ---- */

typedef enum { OURS, FORWARD, BOTH } Who;

static const struct {
    Attention z;
    MwType type;
    Who who;                  /* what cuDNN does */
    const char *name, *value; /* of the environment */
    bool moves;
} cases[] = {
    {{2, 35, 35, 4, 2, 24, true, 0, 0}, MW_BF16, BOTH},
    {{2, 70, 70, 2, 2, 64, true, 0, 8}, MW_F16, BOTH},
    {{1, 60, 131, 2, 1, 128, true, 71, 16}, MW_BF16, BOTH}, /* to the last key */
    {{2, 33, 65, 6, 2, 24, false, 0, 16}, MW_BF16, BOTH},
    {{2, 33, 65, 6, 2, 24, false, 7, 0}, MW_BF16, BOTH}, /* all see all */
    {{1, 130, 20, 2, 2, 8, true, 0, 0}, MW_F16, BOTH},   /* more queries than keys */
    {{1, 40, 40, 2, 1, 16, true, 30, 0, .key_position = 30}, MW_BF16, BOTH},
    /* what cuDNN does not take, or not rightly */
    {{2, 35, 35, 4, 2, 24, true, 0, 0}, MW_F32, OURS},
    {{2, 20, 20, 1, 1, 8, true, 0, 0, .is_turned = true}, MW_BF16, OURS},
    {{1, 20, 20, 2, 1, 136, true, 0, 0}, MW_BF16, OURS},
    {{1, 20, 20, 2, 1, 12, true, 0, 0}, MW_BF16, OURS},
    {{1, 20, 20, 2, 1, 16, true, 0, 4}, MW_BF16, OURS}, /* rows at 8 bytes */
    {{1, 1, 20, 2, 1, 16, true, 19, 0}, MW_BF16, OURS},
    {{1, 20, 1, 2, 1, 16, false, 0, 0}, MW_BF16, OURS},
    {{1, 20, 60, 2, 1, 16, true, 20, 0}, MW_BF16, OURS},
    {{1, 60, 20, 2, 1, 16, true, 0, 0, .key_position = 40}, MW_BF16, OURS}, /* some see no key */
    {{1, 40, 40, 2, 1, 16, true, 0, 0, .key_position = 20}, MW_BF16, OURS},
    {{1, 40, 40, 2, 1, 16, true, 0, 0, .window = 9}, MW_BF16, OURS},
    {{1, 40, 40, 2, 1, 16, true, 0, 0, .soft_cap = 2}, MW_BF16, OURS},
    {{1, 40, 40, 2, 1, 16, true, 0, 0, .mask = "st"}, MW_BF16, OURS},
    {{1, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, OURS, .moves = true},
    {{1, 40, 40, 2, 1, 16, false, 0, 0}, MW_BF16, BOTH, .moves = true}, /* all see all */
    /* where cuDNN is not there, too old, or has no gradient that gives the same bits twice */
    {{1, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, OURS, "FAKE_CUDNN", "none"},
    {{1, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, OURS, "FAKE_CUDNN_VERSION", "91500"},
    {{1, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, BOTH, "FAKE_CUDNN_VERSION", "91501"},
    {{1, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, FORWARD, "FAKE_CUDA_MAJOR", "10"},
    {{1, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, BOTH, "FAKE_CUDA_MAJOR", "8"},
    {{1, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, OURS, "FAKE_CUDA_FAULT", "cudnnCreate:1:fail"},
    /* a part of the batch of two fits */
    {{2, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, BOTH, "FAKE_CUDNN_BYTES", "300000000"},
    {{2, 40, 70, 2, 1, 16, false, 0, 8}, MW_BF16, BOTH, "FAKE_CUDNN_BYTES", "300000000"},
    {{2, 40, 40, 2, 1, 16, true, 0, 0}, MW_BF16, FORWARD, "FAKE_CUDNN_BYTES", "600000000"},
};

static void set_environment(int i)
{
    if (cases[i].name)
        setenv(cases[i].name, cases[i].value, 1);
}

START_TEST(the_numbers_are_right)
{
    set_environment(_i);
    Prepared p = prepare(&cases[_i].z, cases[_i].type, cases[_i].moves);
    prepared = &p;
    attention_check(&cases[_i].z, cases[_i].type, run, cases[_i].type == MW_F32 ? 1e-5 : 1e-2);
    release(&p);
}
END_TEST

/* The first call that cuDNN does fails. */
static void check_who(int i, int routine, const char *fault)
{
    set_environment(i);
    if (!cases[i].name || strcmp(cases[i].name, "FAKE_CUDA_FAULT") != 0)
        setenv("FAKE_CUDA_FAULT", "cudnnBackendExecute:1:fail", 1);
    Prepared p = prepare(&cases[i].z, cases[i].type, cases[i].moves);
    Call call = attention_call(routines[routine], &cases[i].z, cases[i].type);
    const bool good = run_on(&p, &call);
    ck_assert_msg(good == (routine >= (int)cases[i].who), "it is not who it should be");
    if (!good)
        ck_assert_str_eq(p.fault.text, fault);
    release(&p); /* what was queued runs now */
    call_release(&call);
}

START_TEST(cudnn_does_what_it_can)
{
    check_who(_i, 0,
              "sdpa: cudnnBackendExecute failed: CUDNN_STATUS_EXECUTION_FAILED: the fake says no "
              "more");
}
END_TEST

START_TEST(cudnn_does_the_gradients_it_can)
{
    check_who(_i, 1,
              "sdpa_grad: cudnnBackendExecute failed: CUDNN_STATUS_EXECUTION_FAILED: the fake says "
              "no more");
}
END_TEST

/* What is not asked of cuDNN, whatever algorithms it has. */
START_TEST(cudnn_takes_usual_shapes)
{
    static const MwCudnnSdpa good = {
        .is_causal = true,
        .type = MW_BF16,
        .b = 1,
        .s = 40,
        .t = 60,
        .h = 2,
        .g = 1,
        .d = 128,
        .q_row = 256,
        .k_row = 128,
        .v_row = 128,
        .dq_row = 512,
        .dk_row = 512,
        .dv_row = 512,
        .shift = 20,
        .scale = 1,
    };
    MwCudnnSdpa bad[14];
    ck_assert(mw_cudnn_sdpa_takes(&good));
    for (int i = 0; i < MW_COUNT(bad); i++)
        bad[i] = good;
    bad[0].type = MW_F32;
    bad[1].d = 136;
    bad[2].d = 124;
    bad[3].q_row = 260;
    bad[4].k_row = 132;
    bad[5].v_row = 132;
    bad[6].shift = 19;
    bad[7].t = 20, bad[7].shift = -20;
    bad[8].s = 1, bad[8].shift = 59;
    bad[9].t = 1, bad[9].shift = 0;
    bad[10].scale = -1;
    bad[11].dq_row = 516;
    bad[12].dk_row = 516;
    bad[13].dv_row = 516;
    for (int i = 0; i < MW_COUNT(bad); i++)
        ck_assert_msg(!mw_cudnn_sdpa_takes(&bad[i]), "shape %d", i);
}
END_TEST

/* cuDNN knows what a plan has. */
START_TEST(what_is_not_in_the_plan_is_ours)
{
    setenv("FAKE_CUDA_FAULT", "cudnnBackendExecute:1:fail", 1);
    Prepared p = prepare(&cases[0].z, MW_BF16, false);
    Call call = attention_call(MW_ROUTINE_SDPA, &cases[6].z, MW_BF16);
    ck_assert_msg(run_on(&p, &call), "%s", p.fault.text);
    release(&p);
    call_release(&call);
}
END_TEST

/* A call that is like one of the plan but for what its shape does not say. */
START_TEST(a_window_is_ours)
{
    Attention z = cases[0].z;
    Prepared p = prepare(&z, MW_BF16, false);
    prepared = &p;
    z.window = 5;
    attention_check(&z, MW_BF16, run, 1e-2);
    z.window = 0;
    z.soft_cap = 3;
    attention_check(&z, MW_BF16, run, 1e-2);
    release(&p);
}
END_TEST

/* Operands that are not aligned as those of plans are. */
START_TEST(a_stray_operand_is_ours)
{
    setenv("FAKE_CUDA_FAULT", "cudnnBackendExecute:1:fail", 1);
    Prepared p = prepare(&cases[1].z, MW_F16, false);
    Call call = attention_call(MW_ROUTINE_SDPA, &cases[1].z, MW_F16);
    call.args[MW_SDPA_Q_OFFSET].i -= 1;
    ck_assert_msg(run_on(&p, &call), "%s", p.fault.text);
    release(&p);
    call_release(&call);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention");
    TCase *tests = tcase_create("attention");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, the_numbers_are_right, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, cudnn_does_what_it_can, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, cudnn_does_the_gradients_it_can, 0, MW_COUNT(cases));
    tcase_add_test(tests, cudnn_takes_usual_shapes);
    tcase_add_test(tests, what_is_not_in_the_plan_is_ours);
    tcase_add_test(tests, a_window_is_ours);
    tcase_add_test(tests, a_stray_operand_is_ours);
    return run_suite(suite);
}
