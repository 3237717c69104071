/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sgemm peak of one rank: prints the best GFLOP/s of large products, made as a plan makes them
 * (the CPU device's routine on one thread). Results are checked before they are timed. */
#include "base/clock.h"
#include "runtime/cpu/device.h"
#include "runtime/exec/device.h"
#include "runtime/plan/routine.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 2048, REPEATS = 5 };

static void multiply(MwDevice *device, float *const *matrices, int64_t size)
{
    MwKernelArg args[MW_GEMM_ARGS] = {0};
    args[MW_GEMM_M].i = args[MW_GEMM_N].i = args[MW_GEMM_K].i = size;
    args[MW_GEMM_LDA].i = args[MW_GEMM_LDB].i = args[MW_GEMM_LDC].i = size;
    args[MW_GEMM_BATCH0].i = args[MW_GEMM_BATCH1].i = 1;
    args[MW_GEMM_ALPHA].f = 1;
    const MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = MW_ROUTINE_GEMM};
    const int64_t bytes[3] = {size * size * 4, size * size * 4, size * size * 4};
    const MwDeviceCall call = {&instr, (void *const *)matrices, bytes, args};
    MwFault fault;
    if (!device->table->run(device, &call, &fault)) {
        fprintf(stderr, "sgemm: %s\n", fault.text);
        exit(1);
    }
}

/* The best of several in GFLOP/s. */
static double rate(MwDevice *device, float *const *matrices, int64_t size)
{
    double best_s = 1e30;
    for (int i = 0; i < REPEATS; i++) {
        double begin = mw_clock_s();
        multiply(device, matrices, size);
        double time_s = mw_clock_s() - begin;
        if (time_s < best_s)
            best_s = time_s;
    }
    return 2e-9 * (double)size * (double)size * (double)size / best_s;
}

int main(void)
{
    static const int64_t sizes[] = {512, 1024, LARGEST};
    MwArena *arena = mw_arena_new();
    MwFault fault;
    const MwPlan plan = {.backend = "cpu"};
    MwDevice *device = mw_device_cpu_new(arena, &plan, NULL, 1, &fault);
    float *matrices[3];
    for (int i = 0; i < 3; i++) {
        matrices[i] = mw_arena_alloc(arena, sizeof(float) * LARGEST * LARGEST);
        for (int j = 0; j < LARGEST * LARGEST; j++)
            matrices[i][j] = i == 0 ? 1 : 2;
    }
    double best = 0;
    for (int i = 0; i < MW_COUNT(sizes); i++) {
        multiply(device, matrices, sizes[i]);
        if (matrices[2][0] != 2.0f * (float)sizes[i]) {
            fprintf(stderr, "sgemm: wrong product\n");
            return 1;
        }
        double found = rate(device, matrices, sizes[i]);
        best = found > best ? found : best;
    }
    printf("%.1f\n", best);
    mw_device_free(&device);
    mw_arena_free(&arena);
    return 0;
}
