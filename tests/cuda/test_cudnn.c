/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The real cuDNN, where it is installed, chooses algorithms for GPUs that are not there. It needs
 * the driver of driver/driver.c. Where cuDNN cannot be asked, the test is skipped. */
#include "runtime/cuda/cudnn_conv.h"
#include "runtime/cuda/cudnn_sdpa.h"
#include "tests/unit/support.h"
#include "tests/unit/windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 256 << 20, ALIGNMENT = 64 };

/* An H100 SXM5 and an A100 SXM4 of 80 GB as cuDNN describes GPUs
 * (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). The names are those that it asks for when one is
 * missing, the values NVIDIA's. */
#define GPU(name, version, processors, shared, sm_khz, memory_khz, l2)                             \
    "{\"deviceName\": \"" name "\", \"cudaDeviceId\": 0, \"deviceVer\": " #version                 \
    ", \"multiProcessorCount\": " #processors                                                      \
    ", \"driverVer\": 13000, \"maxSharedMemoryPerBlockOptin\": " #shared                           \
    ", \"totalGlobalMem\": 85899345920, \"maxGridSize\": [2147483647, 65535, 65535], "             \
    "\"maxBlockSize\": [1024, 1024, 64], \"regsPerBlock\": 65536, \"smCountOrigin\": 0, "          \
    "\"warpSize\": 32, \"maxSharedMemoryPerBlock\": 49152, "                                       \
    "\"oversizedSharedMemoryPerBlock\": " #shared ", \"reservedSharedMemoryPerBlock\": 1024, "     \
    "\"maxRegistersPerSM\": 65536, \"maxCtasPerSM\": 32, \"maxThreadsPerBlock\": 1024, "           \
    "\"maxThreadsPerSM\": 2048, \"pciDeviceId\": 0, \"isTccDriver\": 0, \"supportCoopLaunch\": "   \
    "1, "                                                                                          \
    "\"smClockRateKHz\": " #sm_khz ", \"memClockRateKHz\": " #memory_khz                           \
    ", \"memoryBusWidth\": 5120, \"l2CacheSize\": " #l2 "}"
enum { H100, A100, GPUS };
static const char *const gpus[GPUS] = {
    GPU("NVIDIA H100 80GB HBM3", 900, 132, 232448, 1980000, 2619000, 52428800),
    GPU("NVIDIA A100-SXM4-80GB", 800, 108, 166912, 1410000, 1593000, 41943040),
};

static MwCudnnTarget targets[GPUS];

/* Why there is no target; NULL: there is one. */
static const char *describe_gpu(const char *gpu, MwCudnnTarget *target)
{
    int status =
        mw_cudnn.cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &target->device);
    if (status == CUDNN_STATUS_SUCCESS)
        status = mw_cudnn.cudnnBackendSetAttribute(target->device,
                                                   CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                                   CUDNN_TYPE_CHAR, (int64_t)strlen(gpu) + 1, gpu);
    if (status == CUDNN_STATUS_SUCCESS)
        status = mw_cudnn.cudnnBackendFinalize(target->device);
    return status == CUDNN_STATUS_SUCCESS ? NULL : mw_cudnn.cudnnGetErrorString(status);
}

static const char *describe_gpus(MwFault *reason)
{
    const char *why_not = mw_cudnn_load(reason) ? NULL : reason->text;
    for (int i = 0; i < GPUS && !why_not; i++)
        why_not = describe_gpu(gpus[i], &targets[i]);
    return why_not;
}

/* ---- Convolutions ---- */

/* Shapes of models: of ResNet-50 (the stem, a bottleneck's three, the stride), ConvNeXt (the stem,
 * a depthwise one), a U-Net, one with padding at the end alone, a causal one of WaveNet, one of
 * volumes. */
static const Window models[] = {
    {32, 3, 64, 1, {1, 224, 224}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}},
    {32, 64, 64, 1, {1, 56, 56}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}, {0}},
    {32, 64, 64, 1, {1, 56, 56}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {32, 64, 256, 1, {1, 56, 56}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}, {0}},
    {32, 128, 128, 1, {1, 56, 56}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {32, 3, 96, 1, {1, 224, 224}, {1, 4, 4}, {1, 4, 4}, {1, 1, 1}, {0}, {0}},
    {32, 96, 96, 96, {1, 56, 56}, {1, 7, 7}, {1, 1, 1}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}},
    {8, 256, 128, 1, {1, 32, 32}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {32, 64, 64, 1, {1, 56, 56}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0}, {0, 1, 1}},
    {8, 64, 64, 1, {1, 1, 512}, {1, 1, 3}, {1, 1, 1}, {1, 1, 4}, {0, 0, 8}, {0}},
    {4, 32, 32, 1, {16, 16, 16}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
};

static const MwType types[] = {MW_F32, MW_TF32, MW_BF16, MW_F16};
static const MwRoutine routines[] = {MW_ROUTINE_CONV, MW_ROUTINE_CONV_TRANSPOSE,
                                     MW_ROUTINE_CONV_FILTER_GRAD};

/* All routines of a shape in all types. Prints what was found, where the environment asks for
 * it. */
static void check_shape(const Window *z)
{
    for (int t = 0; t < MW_COUNT(types); t++)
        for (int r = 0; r < MW_COUNT(routines); r++) {
            MwKernelArg args[MW_CONV_ARGS];
            MwFault reason = {{0}};
            MwCudnnPlan conv;
            window_args(routines[r], z, types[t], args);
            if (!mw_cudnn_conv_make(&conv, &targets[H100], routines[r], args, ALIGNMENT, MOST_BYTES,
                                    &reason)) /* an assertion writes to a file */
                ck_abort_msg("%s of %s: %s", mw_routine_info(routines[r])->name,
                             mw_type_name(types[t]), reason.text);
            ck_assert(conv.workspace_bytes >= 0 && conv.workspace_bytes <= MOST_BYTES);
            if (getenv("SHOW_CUDNN"))
                fprintf(stderr, "%s of %s: %lld bytes of workspace\n",
                        mw_routine_info(routines[r])->name, mw_type_name(types[t]),
                        (long long)conv.workspace_bytes);
            mw_cudnn_plan_free(&conv);
        }
}

START_TEST(shapes_of_tests_have_algorithms)
{
    if (windows[_i].groups)
        check_shape(&windows[_i]);
}
END_TEST

START_TEST(shapes_of_models_have_algorithms)
{
    check_shape(&models[_i]);
}
END_TEST

/* ---- Attention ---- */

/* The sizes of a shape, which is causal to the last key or not. */
typedef struct {
    int64_t b, s, t, h, g, d;
    bool is_causal;
} Sizes;

/* GPT-2 124M and 1.5B, Llama 3 8B, ViT-B/16, a decoder that looks at an encoder; a small one, and
 * heads between the widths that kernels have. */
static const Sizes sizes[] = {
    {16, 1024, 1024, 12, 12, 64, true}, {8, 1024, 1024, 25, 25, 64, true},
    {1, 2048, 2048, 32, 8, 128, true},  {64, 197, 197, 12, 12, 64, false},
    {16, 77, 512, 8, 8, 64, false},     {2, 70, 70, 4, 2, 64, true},
    {1, 20, 130, 6, 2, 24, true},
};

static int64_t rounded(int64_t rows)
{
    const int64_t tile = 128;
    return (rows + tile - 1) / tile * tile;
}

/* What the gradient works in: those of the scores and, where keys serve several heads, the
 * gradients of keys and values for each, in 16 bits. */
static int64_t most_workspace(const MwCudnnSdpa *z)
{
    const int64_t little = 64 << 10;
    const int64_t scores = z->b * z->h * rounded(z->s) * rounded(z->t) * 2;
    const int64_t keys = z->h == z->g ? 0 : 2 * z->b * z->h * rounded(z->t) * rounded(z->d) * 2;
    return little + (z->is_gradient ? scores + keys : 0);
}

static void check_attention(int gpu, const MwCudnnSdpa *shape)
{
    MwFault reason = {{0}};
    MwCudnnPlan plan;
    ck_assert(mw_cudnn_sdpa_takes(shape));
    if (!mw_cudnn_sdpa_make(&plan, &targets[gpu], shape, INT64_MAX, &reason))
        ck_abort_msg("%s", reason.text);
    if (getenv("SHOW_CUDNN"))
        fprintf(stderr, "attention%s: %lld bytes of workspace\n",
                shape->is_gradient ? "'s gradient" : "", (long long)plan.workspace_bytes);
    ck_assert_int_le(plan.workspace_bytes, most_workspace(shape));
    mw_cudnn_plan_free(&plan);
}

/* With rows as they are where q, k and v are parts of one tensor, their gradients of another. */
static void check_sizes(int gpu, const Sizes *z, MwType type)
{
    const int64_t row = (z->h + 2 * z->g) * z->d;
    for (int gradient = 0; gradient < 2; gradient++) {
        const MwCudnnSdpa shape = {
            .is_gradient = gradient,
            .is_causal = z->is_causal,
            .type = type,
            .b = z->b,
            .s = z->s,
            .t = z->t,
            .h = z->h,
            .g = z->g,
            .d = z->d,
            .q_row = row,
            .k_row = row,
            .v_row = row,
            .dq_row = gradient ? row : 0,
            .dk_row = gradient ? row : 0,
            .dv_row = gradient ? row : 0,
            .shift = z->is_causal ? z->t - z->s : 0,
            .scale = 0.125F,
        };
        check_attention(gpu, &shape);
    }
}

START_TEST(attention_has_algorithms)
{
    check_sizes(H100, &sizes[_i], MW_BF16);
}
END_TEST

/* A plan takes a second: cuDNN compiles its kernels. */
START_TEST(other_types_and_gpus_have_them_too)
{
    check_sizes(H100, &sizes[0], MW_F16);
    check_sizes(A100, &sizes[0], MW_BF16);
    check_sizes(A100, &sizes[MW_COUNT(sizes) - 1], MW_F16);
}
END_TEST

int main(void)
{
    MwFault reason = {{0}};
    const char *why_not = describe_gpus(&reason);
    if (why_not) {
        printf("1..0 # SKIP %s\n", why_not);
        return 0;
    }
    Suite *suite = suite_create("cudnn");
    TCase *tests = tcase_create("cudnn");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, shapes_of_tests_have_algorithms, 0, WINDOWS);
    tcase_add_loop_test(tests, shapes_of_models_have_algorithms, 0, MW_COUNT(models));
    tcase_add_loop_test(tests, attention_has_algorithms, 0, MW_COUNT(sizes));
    tcase_add_test(tests, other_types_and_gpus_have_them_too);
    return run_suite(suite);
}
