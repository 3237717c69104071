/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The real cuDNN, where it is installed, chooses algorithms for an H100 that is not there. Needs no
 * GPU. Newer versions (9.28) need some library by the name of libcuda.so.1, such as the toolkit's
 * stub under that name. Where cuDNN cannot be asked, the test is skipped. */
#include "runtime/cuda/cudnn_conv.h"
#include "tests/unit/support.h"
#include "tests/unit/windows.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 256 << 20, ALIGNMENT = 64 };

/* An H100 SXM5 of 80 GB as cuDNN describes GPUs (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). The
 * names are those that it asks for when one is missing, the values NVIDIA's. */
static const char h100[] =
    "{\"deviceName\": \"NVIDIA H100 80GB HBM3\", \"cudaDeviceId\": 0, \"deviceVer\": 900, "
    "\"multiProcessorCount\": 132, \"driverVer\": 13000, \"maxSharedMemoryPerBlockOptin\": 232448, "
    "\"totalGlobalMem\": 85899345920, \"maxGridSize\": [2147483647, 65535, 65535], "
    "\"maxBlockSize\": [1024, 1024, 64], \"regsPerBlock\": 65536, \"smCountOrigin\": 0, "
    "\"warpSize\": 32, \"maxSharedMemoryPerBlock\": 49152, "
    "\"oversizedSharedMemoryPerBlock\": 232448, \"reservedSharedMemoryPerBlock\": 1024, "
    "\"maxRegistersPerSM\": 65536, \"maxCtasPerSM\": 32, \"maxThreadsPerBlock\": 1024, "
    "\"maxThreadsPerSM\": 2048, \"pciDeviceId\": 0, \"isTccDriver\": 0, \"supportCoopLaunch\": 1, "
    "\"smClockRateKHz\": 1980000, \"memClockRateKHz\": 2619000, \"memoryBusWidth\": 5120, "
    "\"l2CacheSize\": 52428800}";

static MwCudnnTarget target;

/* Why there is no target; NULL: there is one. */
static const char *describe_gpu(MwFault *reason)
{
    if (!mw_cudnn_load(reason))
        return reason->text;
    int status =
        mw_cudnn.cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &target.device);
    if (status == CUDNN_STATUS_SUCCESS)
        status = mw_cudnn.cudnnBackendSetAttribute(target.device,
                                                   CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                                   CUDNN_TYPE_CHAR, sizeof h100, h100);
    if (status == CUDNN_STATUS_SUCCESS)
        status = mw_cudnn.cudnnBackendFinalize(target.device);
    return status == CUDNN_STATUS_SUCCESS ? NULL : mw_cudnn.cudnnGetErrorString(status);
}

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
            MwCudnnConv conv;
            window_args(routines[r], z, types[t], args);
            if (!mw_cudnn_conv_make(&conv, &target, routines[r], args, ALIGNMENT, MOST_BYTES,
                                    &reason)) /* an assertion writes to a file */
                ck_abort_msg("%s of %s: %s", mw_routine_info(routines[r])->name,
                             mw_type_name(types[t]), reason.text);
            ck_assert(conv.workspace_bytes >= 0 && conv.workspace_bytes <= MOST_BYTES);
            if (getenv("SHOW_CUDNN"))
                fprintf(stderr, "%s of %s: %lld bytes of workspace\n",
                        mw_routine_info(routines[r])->name, mw_type_name(types[t]),
                        (long long)conv.workspace_bytes);
            mw_cudnn_conv_free(&conv);
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

int main(void)
{
    MwFault reason = {{0}};
    const char *why_not = describe_gpu(&reason);
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
    return run_suite(suite);
}
