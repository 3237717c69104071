/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is special to GPUs as devices, on the fakes of CUDA's libraries: copies in pieces, waiting,
 * algorithms of products that are sought once, and what is said when a call fails. */
#include "runtime/cuda/device.h"
#include "runtime/exec/choices.h"
#include "runtime/plan/routine.h"
#include "tests/fake_cuda/fake.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

static MwArena *arena;
static MwDevice *device;
static MwFault fault;

/* A kernel whose launch is refused. */
static cudaError_t refusal = cudaErrorInvalidDevice;

static void bad(void *const *operands, const MwKernelArg *args, int sets, void *stream)
{
    (void)operands, (void)args, (void)sets, (void)stream;
    fake_refuse(refusal);
}

static const MwKernelEntry table[] = {{"bad", bad}, {NULL, NULL}};
static const MwPlanKernel kernel = {.name = "bad"};
static const MwPlan plan = {.kernels = (MwPlanKernel *)(uintptr_t)&kernel, .kernel_count = 1};

static bool make_device(void)
{
    device = mw_device_cuda_new(arena, &plan, table, 1, &fault);
    return device != NULL;
}

static void setup(void)
{
    arena = mw_arena_new();
    ck_assert(make_device());
}

static void setup_without(void)
{
    arena = mw_arena_new();
}

static void teardown(void)
{
    mw_device_free(&device);
    mw_arena_free(&arena);
}

static char *memory_of(int64_t bytes)
{
    char *memory = device->table->alloc(device, bytes, &fault);
    ck_assert_msg(memory != NULL, "%s", fault.text);
    return memory;
}

/* ---- Copies ---- */

static const int64_t lengths[] = {0,       1,           4095,          4 << 20,
                                  8 << 20, 8 << 20 | 1, (8 << 20) - 1, (20 << 20) + 12345};

/* Places that tell each other apart, over several pieces too. */
static char byte_at(int64_t index)
{
    return (char)(index * 7 + index / 251 + (index >> 20));
}

START_TEST(copies_are_whole)
{
    const int64_t bytes = lengths[_i];
    char *host = malloc((size_t)bytes + 1), *back = malloc((size_t)bytes + 1);
    char *memory = memory_of(bytes), *other = memory_of(bytes);
    for (int64_t i = 0; i < bytes; i++)
        host[i] = byte_at(i);
    host[bytes] = back[bytes] = 77;
    ck_assert(device->table->copy_in(device, memory, host, bytes, &fault));
    memset(host, 0, (size_t)bytes); /* it was taken */
    ck_assert(device->table->copy(device, other, memory, bytes, &fault) &&
              device->table->zero(device, memory, bytes, &fault) &&
              device->table->copy_out(device, back, other, bytes, &fault) &&
              device->table->copy_out(device, host, memory, bytes, &fault));
    int64_t good = 0;
    while (good < bytes && back[good] == byte_at(good) && host[good] == 0)
        good++;
    ck_assert_msg(good == bytes, "byte %lld is wrong", (long long)good);
    ck_assert(back[bytes] == 77 && host[bytes] == 77);
    device->table->release(device, memory, bytes);
    device->table->release(device, other, bytes);
    free(host);
    free(back);
}
END_TEST

/* ---- Waiting ---- */

static bool count_idle(void *context, MwFault *trouble)
{
    const int most = 100;
    return ++*(int *)context < most || mw_fault_set(trouble, "nobody comes");
}

START_TEST(others_go_on_while_it_waits)
{
    int calls = 0;
    char host[64];
    char *memory = memory_of(sizeof host);
    device->idle = count_idle;
    device->idle_context = &calls;
    ck_assert(device->table->zero(device, memory, sizeof host, &fault));
    ck_assert(device->table->copy_out(device, host, memory, sizeof host, &fault));
    ck_assert_int_gt(calls, 0);
    calls = 0;
    ck_assert(device->table->zero(device, memory, sizeof host, &fault) &&
              device->table->synchronize(device, &fault));
    ck_assert_int_gt(calls, 0);
    ck_assert(cudaGetLastError() == cudaSuccess);
    device->table->release(device, memory, sizeof host);
}
END_TEST

static bool count_quiescing(void *context, MwFault *trouble)
{
    (void)trouble;
    ++*(int *)context;
    return true;
}

static bool launch(void)
{
    const MwPlanInstr instr = {.kind = MW_INSTR_KERNEL};
    const MwDeviceCall call = {&instr, NULL, NULL, NULL};
    return device->table->run(device, &call, &fault);
}

START_TEST(nothing_needs_others_while_code_is_loaded)
{
    int calls = 0;
    device->quiesce = count_quiescing;
    device->idle_context = &calls;
    refusal = cudaSuccess;
    ck_assert(device->table->set_step(device, 0, 1, &fault) && launch() && launch());
    ck_assert_int_eq(calls, 2);
    ck_assert(device->table->set_step(device, 1, 2, &fault) && launch());
    ck_assert_int_eq(calls, 2);
}
END_TEST

static bool comes;

static bool until_it_comes(void *state)
{
    (void)state;
    return comes;
}

START_TEST(what_goes_on_can_end_the_wait)
{
    int calls = 0;
    device->idle = count_idle;
    device->idle_context = &calls;
    fake_queue(mw_device_cuda_stream(device, MW_QUEUE_COMPUTE), until_it_comes, NULL, 0);
    ck_assert(!device->table->synchronize(device, &fault));
    ck_assert_str_eq(fault.text, "nobody comes");
    comes = true;
}
END_TEST

static bool let_it_come(void *context, MwFault *trouble)
{
    (void)context, (void)trouble;
    return comes = true;
}

START_TEST(others_go_on_where_the_queue_would_be_full)
{
    char *memory = memory_of(16);
    void *operands[] = {memory};
    const MwKernelArg bytes = {.i = 16};
    const MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = MW_ROUTINE_ZERO};
    const MwDeviceCall call = {&instr, operands, NULL, &bytes};
    device->idle = let_it_come;
    fake_queue(mw_device_cuda_stream(device, MW_QUEUE_COMPUTE), until_it_comes, NULL, 0);
    for (int i = 0; i < 2000; i++)
        ck_assert(device->table->run(device, &call, &fault));
    ck_assert(comes);
    device->table->release(device, memory, 16);
}
END_TEST

/* ---- What is kept ---- */

typedef struct {
    int64_t given, step;
} Both;

/* Kept as the last of three graphs: what comes from the host, beside the number of the step. */
static bool keep_both(Both *host, Both *memory)
{
    device->table->make_graphs(device, arena, 3);
    return device->table->begin_capture(device, 2, &fault) &&
           device->table->copy_in_async(device, &memory->given, &host->given, sizeof host->given,
                                        &fault) &&
           device->table->copy(device, &memory->step, device->step, sizeof memory->step, &fault) &&
           device->table->end_capture(device, &fault);
}

static bool repeat(void)
{
    Both *host = device->table->alloc_host(device, sizeof *host, &fault);
    Both *memory = (Both *)memory_of(sizeof *memory), found;
    const Both nothing = {-1, -1};
    bool good = host && device->table->copy_in(device, memory, &nothing, sizeof nothing, &fault) &&
                keep_both(host, memory) &&
                device->table->copy_out(device, &found, memory, sizeof found, &fault);
    ck_assert(!good || (found.given == -1 && found.step == -1));
    for (int64_t step = 3; good && step < 6; step++) {
        host->given = 7 * step;
        good = device->table->set_step(device, 0, step, &fault) &&
               device->table->replay(device, 2, &fault) &&
               device->table->copy_out(device, &found, memory, sizeof found, &fault);
        ck_assert(!good || (found.given == 7 * step && found.step == step));
    }
    device->table->drop_capture(device);
    device->table->release(device, memory, sizeof *memory);
    return good;
}

START_TEST(what_is_kept_is_done_again_with_what_is_there_then)
{
    ck_assert_msg(repeat(), "%s", fault.text);
}
END_TEST

/* ---- Products ---- */

typedef bool Do(MwDevice *device, const MwDeviceCall *call, MwFault *fault);

/* Runs or tunes the product of two matrices of ones, `offset` elements from the start, with a bias
 * of ones if the routine has one; checks its elements where it is run. */
static bool do_routine(Do *action, MwRoutine routine, int64_t size, int64_t offset)
{
    const MwPlanInstr instr = {
        .kind = MW_INSTR_ROUTINE, .target = (int)routine, .operand_count = 4};
    const float expected = (float)(size + mw_gemm_has_extras(routine));
    const int64_t count = size * size + offset, bytes = count * (int64_t)sizeof(float);
    MwKernelArg args[MW_GEMM_ARGS] = {0};
    void *operands[4];
    float *host = malloc((size_t)bytes);
    args[MW_GEMM_M].i = args[MW_GEMM_N].i = args[MW_GEMM_K].i = size;
    args[MW_GEMM_LDA].i = args[MW_GEMM_LDB].i = args[MW_GEMM_LDC].i = size;
    args[MW_GEMM_BATCH0].i = args[MW_GEMM_BATCH1].i = 1;
    args[MW_GEMM_A_OFFSET].i = args[MW_GEMM_B_OFFSET].i = args[MW_GEMM_C_OFFSET].i = offset;
    args[MW_GEMM_ALPHA].f = 1;
    for (int64_t i = 0; i < count; i++)
        host[i] = 1;
    for (int i = 0; i < MW_COUNT(operands); i++) {
        operands[i] = memory_of(bytes);
        ck_assert(device->table->copy_in(device, operands[i], host, bytes, &fault));
    }
    const MwDeviceCall call = {&instr, operands, (int64_t[]){bytes, bytes, bytes, bytes}, args};
    const bool good = action(device, &call, &fault) &&
                      device->table->copy_out(device, host, operands[2], bytes, &fault);
    int64_t right = offset;
    while (right < count && (host[right] == expected || action == device->table->tune))
        right++;
    ck_assert_msg(!good || right == count, "element %lld is wrong", (long long)right);
    for (int i = 0; i < MW_COUNT(operands); i++)
        device->table->release(device, operands[i], bytes);
    free(host);
    return good;
}

static bool do_product(Do *action, int64_t size, int64_t offset)
{
    return do_routine(action, MW_ROUTINE_GEMM, size, offset);
}

static bool multiply(int64_t size, int64_t offset)
{
    return do_product(device->table->run, size, offset);
}

START_TEST(an_algorithm_is_sought_once_a_shape)
{
    setenv("FAKE_CUDA_FAULT", "cublasLtMatmulAlgoGetHeuristic:3:fail", 1);
    ck_assert(multiply(5, 0) && multiply(6, 0) && multiply(5, 0) && multiply(6, 0));
    ck_assert(!multiply(7, 0));
    ck_assert(multiply(7, 0));
}
END_TEST

START_TEST(other_alignment_is_another_shape)
{
    setenv("FAKE_CUDA_FAULT", "cublasLtMatmulAlgoGetHeuristic:3:fail", 1);
    ck_assert(multiply(5, 64) && multiply(5, 0) && multiply(5, 1) && multiply(5, 3));
    ck_assert(!multiply(5, 2));
}
END_TEST

/* Calls of one shape with a bias each, which are in different places. */
START_TEST(every_call_has_its_own_bias)
{
    enum { SIZE = 8, CALLS = 3, BYTES = SIZE * SIZE * 4 };
    const MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = MW_ROUTINE_GEMM_BIAS};
    MwKernelArg args[MW_GEMM_ARGS] = {0};
    float host[SIZE * SIZE];
    void *operands[CALLS][4];
    args[MW_GEMM_M].i = args[MW_GEMM_N].i = args[MW_GEMM_K].i = SIZE;
    args[MW_GEMM_LDA].i = args[MW_GEMM_LDB].i = args[MW_GEMM_LDC].i = SIZE;
    args[MW_GEMM_BATCH0].i = args[MW_GEMM_BATCH1].i = 1;
    args[MW_GEMM_ALPHA].f = 1;
    setenv("FAKE_CUDA_FAULT", "cublasLtMatmulAlgoGetHeuristic:2:fail", 1);
    for (int c = 0; c < CALLS; c++) {
        for (int i = 0; i < 4; i++) {
            for (int k = 0; k < SIZE * SIZE; k++)
                host[k] = i == 3 ? (float)c : 1;
            operands[c][i] = memory_of(BYTES);
            ck_assert(device->table->copy_in(device, operands[c][i], host, BYTES, &fault));
        }
    }
    for (int c = 0; c < CALLS; c++) {
        const MwDeviceCall call = {&instr, operands[c], NULL, args};
        ck_assert_msg(device->table->run(device, &call, &fault), "%s", fault.text);
    }
    for (int c = 0; c < CALLS; c++) {
        ck_assert(device->table->copy_out(device, host, operands[c][2], BYTES, &fault));
        ck_assert(host[0] == (float)(SIZE + c) && host[SIZE * SIZE - 1] == (float)(SIZE + c));
        for (int i = 0; i < 4; i++)
            device->table->release(device, operands[c][i], BYTES);
    }
}
END_TEST

/* What a product of this size takes on the clock of the fake. */
static double time_of(int64_t size)
{
    const double before_ms = fake_clock_ms();
    ck_assert_msg(multiply(size, 0), "%s", fault.text);
    return fake_clock_ms() - before_ms;
}

static void tune(int64_t size)
{
    ck_assert_msg(do_product(device->table->tune, size, 0), "%s", fault.text);
}

START_TEST(the_fastest_algorithm_is_chosen)
{
    ck_assert(fake_algorithm_ms(0) > fake_algorithm_ms(2));
    ck_assert(time_of(6) == fake_algorithm_ms(0));
    tune(12);
    ck_assert(time_of(12) == fake_algorithm_ms(2));
    tune(5); /* of which the first is refused */
    ck_assert(time_of(5) == fake_algorithm_ms(2));
    setenv("FAKE_CUDA_FASTEST", "1", 1);
    tune(9);
    ck_assert(time_of(9) == 1 && time_of(12) == fake_algorithm_ms(2));
    ck_assert_int_eq(device->choices->list.count, 3);
}
END_TEST

/* Whether cuBLASLt adds the bias, after tuning, where that takes so much longer. */
static bool has_epilogue(int64_t size, const char *longer_ms)
{
    setenv("FAKE_CUDA_EPILOGUE_MS", longer_ms, 1);
    ck_assert_msg(do_routine(device->table->tune, MW_ROUTINE_GEMM_BIAS, size, 0), "%s", fault.text);
    const double before_ms = fake_clock_ms();
    ck_assert_msg(do_routine(device->table->run, MW_ROUTINE_GEMM_BIAS, size, 0), "%s", fault.text);
    const double time_ms = fake_clock_ms() - before_ms - fake_algorithm_ms(2);
    ck_assert(time_ms == 0 || time_ms == atoi(longer_ms));
    return time_ms != 0;
}

START_TEST(epilogues_are_by_kernels_where_that_is_faster)
{
    ck_assert(!has_epilogue(8, "4"));
    ck_assert(has_epilogue(16, "-4"));
}
END_TEST

START_TEST(what_is_chosen_is_not_timed_again)
{
    tune(12);
    MwChoice *choice = &device->choices->list.at[0];
    const double before_ms = fake_clock_ms();
    choice->value += 1 - choice->value % 8; /* of another run */
    tune(12);
    ck_assert(fake_clock_ms() == before_ms);
    ck_assert(time_of(12) == fake_algorithm_ms(1));
}
END_TEST

static const int64_t strange[] = {-1, 3, 7, 15, 16, INT64_MAX, INT64_MIN};

/* As in a file that was made by another library of the same version. */
START_TEST(choices_that_do_not_fit_are_ignored)
{
    tune(12);
    device->choices->list.at[0].value = strange[_i];
    ck_assert(time_of(12) == fake_algorithm_ms(0));
}
END_TEST

START_TEST(there_may_be_any_number_of_shapes)
{
    for (int round = 0; round < 2; round++)
        for (int64_t size = 1; size <= 100; size++)
            ck_assert_msg(multiply(size, 0), "%s", fault.text);
}
END_TEST

/* ---- Faults ---- */

static bool fill(void)
{
    char host[16] = {0};
    char *memory = device ? device->table->alloc(device, sizeof host, &fault) : NULL;
    const bool good = memory && device->table->copy_in(device, memory, host, sizeof host, &fault) &&
                      device->table->zero(device, memory, sizeof host, &fault) &&
                      device->table->copy(device, memory, memory, sizeof host, &fault) &&
                      device->table->copy_out(device, host, memory, sizeof host, &fault) &&
                      device->table->synchronize(device, &fault);
    if (memory)
        device->table->release(device, memory, sizeof host);
    return good;
}

/* Calls of one function count from the first: those of cudaMalloc are for the number of the step,
 * for cuBLASLt, then for the test. */
static const struct {
    const char *fails, *says;
} faults[] = {
    {"cudaGetDeviceCount:1:fail",
     "this machine has no GPU that CUDA can use: an error of the fake (there is no driver; the "
     "program, of CUDA 13.0, needs driver 580 or later)"},
    {"cudaSetDevice:1:fail", "device 0: cudaSetDevice failed: invalid device ordinal"},
    {"cudaStreamCreateWithPriority:2:fail",
     "device 0: cudaStreamCreateWithPriority failed: out of memory"},
    {"cudaMallocHost:2:fail", "device 0: cudaMallocHost failed: out of memory"},
    {"cudaMallocHost:3:fail", "device 0: cudaMallocHost failed: out of memory"},
    {"cudaEventCreateWithFlags:1:fail", "device 0: cudaEventCreateWithFlags failed: out of memory"},
    {"cudaEventCreateWithFlags:3:fail", "device 0: cudaEventCreateWithFlags failed: out of memory"},
    {"cublasLtCreate:1:fail", "device 0: cublasLtCreate failed: CUBLAS_STATUS_NOT_INITIALIZED"},
    {"cudaMalloc:1:fail", "device 0: cudaMalloc failed: out of memory"},
    {"cudaMalloc:2:fail", "device 0: cudaMalloc failed: out of memory"},
    {"cudaMalloc:3:fail", "cannot allocate 16 bytes where 12 of the GPU's 1000 are free: device 0: "
                          "cudaMalloc failed: out of memory"},
    {"cudaMalloc:3:fail,cudaMemGetInfo:1:fail",
     "cannot allocate 16 bytes: device 0: cudaMalloc failed: out of memory"},
    {"cudaEventSynchronize:1:fail",
     "device 0: cudaEventSynchronize failed: unspecified launch failure"},
    {"cudaMemcpyAsync:1:fail", "device 0: cudaMemcpyAsync failed: unspecified launch failure"},
    {"cudaEventRecord:1:fail", "device 0: cudaEventRecord failed: unspecified launch failure"},
    {"cudaMemsetAsync:1:fail", "device 0: cudaMemsetAsync failed: unspecified launch failure"},
    {"cudaMemcpyAsync:2:fail", "device 0: cudaMemcpyAsync failed: unspecified launch failure"},
    {"cudaMemcpyAsync:3:fail", "device 0: cudaMemcpyAsync failed: unspecified launch failure"},
    {"cudaEventRecord:2:fail", "device 0: cudaEventRecord failed: unspecified launch failure"},
    {"cudaEventSynchronize:2:fail",
     "device 0: cudaEventSynchronize failed: unspecified launch failure"},
    {"cudaEventSynchronize:3:fail",
     "device 0: cudaEventSynchronize failed: unspecified launch failure"},
    {"cublasLtMatmulDescCreate:1:fail",
     "5 x 5 by 5 x 5: device 0: cublasLtMatmulDescCreate failed: CUBLAS_STATUS_ALLOC_FAILED"},
    {"cublasLtMatmulDescSetAttribute:2:fail", "5 x 5 by 5 x 5: device 0: "
                                              "cublasLtMatmulDescSetAttribute failed: "
                                              "CUBLAS_STATUS_INVALID_VALUE"},
    {"cublasLtMatrixLayoutCreate:3:fail",
     "5 x 5 by 5 x 5: device 0: cublasLtMatrixLayoutCreate failed: CUBLAS_STATUS_ALLOC_FAILED"},
    {"cublasLtMatmulPreferenceCreate:1:fail",
     "5 x 5 by 5 x 5: device 0: cublasLtMatmulPreferenceCreate failed: CUBLAS_STATUS_ALLOC_FAILED"},
    {"cublasLtMatmulPreferenceSetAttribute:5:fail", "5 x 5 by 5 x 5: device 0: "
                                                    "cublasLtMatmulPreferenceSetAttribute failed: "
                                                    "CUBLAS_STATUS_INVALID_VALUE"},
    {"cublasLtMatmulAlgoGetHeuristic:1:hang", "5 x 5 by 5 x 5: device 0: "
                                              "cublasLtMatmulAlgoGetHeuristic failed: "
                                              "CUBLAS_STATUS_NOT_SUPPORTED"},
    {"cublasLtMatmul:1:fail",
     "5 x 5 by 5 x 5: device 0: cublasLtMatmul failed: CUBLAS_STATUS_EXECUTION_FAILED"},
    {"cudaStreamBeginCapture:1:fail",
     "device 0: cudaStreamBeginCapture failed: an error of the fake"},
    {"cudaStreamEndCapture:1:fail", "device 0: cudaStreamEndCapture failed: an error of the fake"},
    {"cudaGraphInstantiateWithFlags:1:fail",
     "device 0: cudaGraphInstantiateWithFlags failed: out of memory"},
    {"cudaGraphLaunch:2:fail", "device 0: cudaGraphLaunch failed: unspecified launch failure"},
    {"", "device 0: bad failed: invalid device ordinal"},
};

START_TEST(faults_name_device_call_and_cause)
{
    setenv("FAKE_CUDA_FAULT", faults[_i].fails, 1);
    ck_assert(!(make_device() && fill() && multiply(5, 0) && repeat() && launch()));
    ck_assert_str_eq(fault.text, faults[_i].says);
}
END_TEST

START_TEST(what_another_gpu_needs_is_said)
{
    refusal = cudaErrorNoKernelImageForDevice;
    ck_assert(make_device() && !launch());
    ck_assert_str_eq(fault.text,
                     "device 0: bad failed: no kernel image is available for execution on the "
                     "device (this GPU is of compute capability 9.0: `meshwright compile "
                     "--cuda-arch 90` and the build option gpu_arch compile for it)");
}
END_TEST

START_TEST(a_gpu_that_is_too_old_is_said)
{
    refusal = cudaErrorNoKernelImageForDevice;
    setenv("FAKE_CUDA_MAJOR", "7", 1);
    ck_assert(make_device() && !launch());
    unsetenv("FAKE_CUDA_MAJOR");
    ck_assert_msg(strstr(fault.text, "(this GPU is of compute capability 7.0, and kernels need 8.0 "
                                     "or later)"),
                  "%s", fault.text);
}
END_TEST

START_TEST(no_gpu_is_said)
{
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    ck_assert(!make_device());
    ck_assert_str_eq(fault.text,
                     "this machine has no GPU that CUDA can use: no CUDA-capable device "
                     "is detected");
}
END_TEST

START_TEST(a_driver_that_is_too_old_is_said)
{
    setenv("FAKE_CUDA_FAULT", "cudaGetDeviceCount:1:fail", 1);
    setenv("FAKE_CUDA_DRIVER", "12040", 1);
    ck_assert(!make_device());
    ck_assert_msg(strstr(fault.text,
                         "(the driver is of CUDA 12.4; the program, of CUDA 13.0, needs "
                         "driver 580 or later)"),
                  "%s", fault.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device");
    TCase *tests = tcase_create("device"), *failing = tcase_create("faults");
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, failing);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_checked_fixture(failing, setup_without, teardown);
    tcase_add_loop_test(tests, copies_are_whole, 0, MW_COUNT(lengths));
    tcase_add_test(tests, others_go_on_while_it_waits);
    tcase_add_test(tests, nothing_needs_others_while_code_is_loaded);
    tcase_add_test(tests, what_goes_on_can_end_the_wait);
    tcase_add_test(tests, others_go_on_where_the_queue_would_be_full);
    tcase_add_test(tests, what_is_kept_is_done_again_with_what_is_there_then);
    tcase_add_test(tests, an_algorithm_is_sought_once_a_shape);
    tcase_add_test(tests, the_fastest_algorithm_is_chosen);
    tcase_add_test(tests, epilogues_are_by_kernels_where_that_is_faster);
    tcase_add_test(tests, what_is_chosen_is_not_timed_again);
    tcase_add_loop_test(tests, choices_that_do_not_fit_are_ignored, 0, MW_COUNT(strange));
    tcase_add_test(tests, other_alignment_is_another_shape);
    tcase_add_test(tests, every_call_has_its_own_bias);
    tcase_add_test(tests, there_may_be_any_number_of_shapes);
    tcase_add_loop_test(failing, faults_name_device_call_and_cause, 0, MW_COUNT(faults));
    tcase_add_test(failing, what_another_gpu_needs_is_said);
    tcase_add_test(failing, a_gpu_that_is_too_old_is_said);
    tcase_add_test(failing, no_gpu_is_said);
    tcase_add_test(failing, a_driver_that_is_too_old_is_said);
    return run_suite(suite);
}
