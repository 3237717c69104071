/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who does the convolutions of a plan, cuDNN or our own kernels, and what is said where it is not
 * cuDNN. */
#include "runtime/cuda/device.h"
#include "tests/unit/support.h"
#include "tests/unit/windows.h"

#include <stdlib.h>
#include <string.h>

enum { ROUTINES = 3 };

static const MwRoutine routines[ROUTINES] = {MW_ROUTINE_CONV, MW_ROUTINE_CONV_TRANSPOSE,
                                             MW_ROUTINE_CONV_FILTER_GRAD};

/* A plan of convolutions of one shape, and a device that has prepared them. */
typedef struct {
    MwArena *arena;
    MwDevice *device;
    MwFault fault;
} Prepared;

static Prepared prepare(const Window *z)
{
    Prepared p = {.arena = mw_arena_new()};
    Call calls[ROUTINES];
    for (int i = 0; i < ROUTINES; i++) {
        calls[i].routine = routines[i];
        window_args(routines[i], z, MW_F32, calls[i].args);
    }
    p.device = mw_device_cuda_new(p.arena, call_plan(p.arena, calls, ROUTINES), NULL, 1, &p.fault);
    return p;
}

static void release(Prepared *p)
{
    mw_device_free(&p->device);
    mw_arena_free(&p->arena);
}

static Prepared *prepared; /* what `run` runs on */

static void run(Call *call)
{
    const MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = (int)call->routine};
    const MwDeviceCall on_device = {&instr, call->operands, call->bytes, call->args};
    MwDevice *device = prepared->device;
    ck_assert_msg(device->table->run(device, &on_device, &prepared->fault) &&
                      device->table->synchronize(device, &prepared->fault),
                  "%s", prepared->fault.text);
}

static void check_warning(const Prepared *p, const char *warning)
{
    ck_assert_msg(p->device != NULL, "%s", p->fault.text);
    if (warning)
        ck_assert_str_eq(p->device->warning, warning);
    else
        ck_assert_msg(!p->device->warning, "%s", p->device->warning);
}

/* The numbers are right whoever computes them. */
static const struct {
    const char *cudnn, *fault, *warning;
    int window;
} cases[] = {
    {"", "", NULL, 3},
    {"none", "",
     "3 of 3 convolutions are done by meshwright's own kernels, which use no tensor cores: cuDNN: "
     "it is not there",
     3},
    {"", "cudnnCreate:1:fail",
     "3 of 3 convolutions are done by meshwright's own kernels, which use no tensor cores: cuDNN: "
     "CUDNN_STATUS_NOT_INITIALIZED",
     3},
    {"", "cudnnBackendFinalize:1:fail",
     "1 of 3 convolutions are done by meshwright's own kernels, which use no tensor cores: cuDNN: "
     "cudnnBackendFinalize failed: CUDNN_STATUS_NOT_SUPPORTED: the fake says no more",
     3},
    /* of the first convolution: an algorithm with too large a workspace; the one that is chosen */
    {"", "cudnnBackendFinalize:8:fail", NULL, 3},
    {"", "cudnnBackendFinalize:10:fail",
     "1 of 3 convolutions are done by meshwright's own kernels, which use no tensor cores: cuDNN: "
     "it has no algorithm for this",
     3},
};

START_TEST(cudnn_does_what_it_can)
{
    setenv("FAKE_CUDNN", cases[_i].cudnn, 1);
    setenv("FAKE_CUDA_FAULT", cases[_i].fault, 1);
    Prepared p = prepare(&windows[cases[_i].window]);
    check_warning(&p, cases[_i].warning);
    prepared = &p;
    windows_check(&windows[cases[_i].window], MW_F32, false, run);
    release(&p);
}
END_TEST

/* Algorithms that round f32 for tensor cores are for those who ask for that. */
START_TEST(f32_is_rounded_where_it_is_asked_for)
{
    static const MwType types[] = {MW_F32, MW_TF32};
    const float x = 1 + 0x1p-11f, found[] = {x, 1 + 0x1p-10f};
    for (int i = 0; i < MW_COUNT(types); i++) {
        Prepared p = prepare(&windows[0]);
        check_warning(&p, NULL);
        prepared = &p;
        Call call = window_call(MW_ROUTINE_CONV, &windows[0], types[i]);
        *(float *)call.operands[0] = x;
        *(float *)call.operands[1] = 1;
        run(&call);
        ck_assert_float_eq(*(float *)call.operands[2], found[i]);
        call_release(&call);
        release(&p);
    }
}
END_TEST

START_TEST(a_call_that_fails_is_a_fault)
{
    setenv("FAKE_CUDA_FAULT", "cudnnBackendExecute:1:fail", 1);
    Prepared p = prepare(&windows[3]);
    check_warning(&p, NULL);
    Call call = window_call(MW_ROUTINE_CONV, &windows[3], MW_F32);
    const MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = MW_ROUTINE_CONV};
    const MwDeviceCall on_device = {&instr, call.operands, call.bytes, call.args};
    ck_assert(!p.device->table->run(p.device, &on_device, &p.fault));
    ck_assert_str_eq(p.fault.text, "conv: cudnnBackendExecute failed: "
                                   "CUDNN_STATUS_EXECUTION_FAILED: the fake says no more");
    release(&p); /* what was queued before runs now */
    call_release(&call);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conv");
    TCase *tests = tcase_create("conv");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, cudnn_does_what_it_can, 0, MW_COUNT(cases));
    tcase_add_test(tests, f32_is_rounded_where_it_is_asked_for);
    tcase_add_test(tests, a_call_that_fails_is_a_fault);
    return run_suite(suite);
}
