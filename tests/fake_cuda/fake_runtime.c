/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/fake_cuda/fake_streams.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Memory of the GPU, or of the host that the GPU reaches. */
typedef struct Block Block;
struct Block {
    const char *memory;
    size_t bytes;
    FakeOwner owner;
    Block *next;
};

/* Like the library's, of the process. */
static struct {
    int device;
    cudaError_t last;
    bool is_broken;
    Block *pinned, *blocks;
} fake;

void *fake_allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        abort();
    return memory;
}

/* ---- Faults ---- */

enum { MOST_CALLS = 64 };

static int count_call(const char *call)
{
    static struct {
        const char *name;
        int count;
    } calls[MOST_CALLS];
    int i = 0;
    while (i < MOST_CALLS - 1 && calls[i].name && strcmp(calls[i].name, call) != 0)
        i++;
    calls[i].name = call;
    return ++calls[i].count;
}

static void log_call(const char *call)
{
    const char *path = getenv("FAKE_CUDA_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s\n", call);
    fclose(file);
}

FakeFault fake_fault(const char *call)
{
    static const char *const kinds[] = {
        [FAKE_FAIL] = "fail", [FAKE_HANG] = "hang", [FAKE_ASYNC] = "async"};
    const char *faults = getenv("FAKE_CUDA_FAULT");
    const int number = count_call(call);
    const size_t length = strlen(call);
    log_call(call);
    for (const char *at = faults; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char kind[16];
        int wanted;
        if (strncmp(at, call, length) != 0 ||
            sscanf(at + length, ":%d:%15[^,]", &wanted, kind) != 2 || wanted != number)
            continue;
        for (int k = FAKE_FAIL; k <= FAKE_ASYNC; k++)
            if (strcmp(kind, kinds[k]) == 0)
                return (FakeFault)k;
    }
    return FAKE_GOOD;
}

cudaError_t fake_result(cudaError_t error)
{
    if (error != cudaSuccess)
        fake.last = error;
    return error;
}

bool fake_is_broken(void)
{
    return fake.is_broken;
}

bool fake_break(void *state)
{
    (void)state;
    return fake.is_broken = true;
}

void fake_refuse(cudaError_t error)
{
    fake_result(error);
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaSuccess ? "cudaSuccess" : "cudaErrorOfTheFake";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorNoKernelImageForDevice:
        return "no kernel image is available for execution on the device";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorIllegalAddress:
        return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    default:
        return "an error of the fake";
    }
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t last = fake.is_broken ? cudaErrorIllegalAddress : fake.last;
    fake.last = cudaSuccess;
    return last;
}

/* ---- Devices ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
    const char *devices = getenv("FAKE_CUDA_DEVICES");
    MAY_FAIL(cudaErrorInsufficientDriver);
    *count = devices ? atoi(devices) : 8;
    return fake_result(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

/* FAKE_CUDA_DRIVER: the version of CUDA that the driver is of; 0: there is none. */
cudaError_t cudaDriverGetVersion(int *version)
{
    const char *driver = getenv("FAKE_CUDA_DRIVER");
    *version = driver ? atoi(driver) : 0;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    int count;
    MAY_FAIL(cudaErrorInvalidDevice);
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
        return error;
    if (device < 0 || device >= count)
        return fake_result(cudaErrorInvalidDevice);
    fake.device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = fake.device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    const char *major = getenv("FAKE_CUDA_MAJOR");
    *value = attribute == cudaDevAttrComputeCapabilityMajor   ? (major ? atoi(major) : 9)
             : attribute == cudaDevAttrComputeCapabilityMinor ? 0
                                                              : 132;
    return cudaSuccess;
}

/* FAKE_CUDA_PARTS: each process has parts of GPUs of its own. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    MAY_FAIL(cudaErrorInvalidDevice);
    const pid_t part = getenv("FAKE_CUDA_PARTS") ? getpid() : 0;
    *properties = (struct cudaDeviceProp){.name = "a fake GPU"};
    memcpy(properties->uuid.bytes, &device, sizeof device);
    memcpy(properties->uuid.bytes + sizeof device, &part, sizeof part);
    return cudaSuccess;
}

/* ---- Memory ---- */

/* What new memory holds is no number that a test expects. Only this much is written, here and by
 * MALLOC_PERTURB_, because pages that nothing touches, as most of the workspace of products, cost
 * no time. */
enum { FILLED_BYTES = 1 << 20 };

static void *new_memory(size_t bytes)
{
    const char *perturbed = getenv("MALLOC_PERTURB_");
    mallopt(M_PERTURB, 0);
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    mallopt(M_PERTURB, perturbed ? atoi(perturbed) : 0);
    return memory;
}

static void add_block(Block **list, const void *memory, size_t bytes, FakeOwner owner)
{
    Block *block = fake_allocate(1, sizeof *block);
    *block = (Block){memory, bytes, owner, *list};
    *list = block;
}

/* Where the block is that has all the bytes; NULL: there is none. */
static Block **find_block(Block **list, const void *memory, size_t bytes)
{
    const char *begin = memory;
    while (*list && (begin < (*list)->memory || begin + bytes > (*list)->memory + (*list)->bytes))
        list = &(*list)->next;
    return *list ? list : NULL;
}

static void drop_block(Block **at)
{
    Block *old = *at;
    *at = old->next;
    free((void *)(uintptr_t)old->memory);
    free(old);
}

static void *filled_memory(size_t bytes)
{
    void *memory = new_memory(bytes);
    if (memory)
        memset(memory, 0x5a, bytes < FILLED_BYTES ? bytes : FILLED_BYTES);
    return memory;
}

void *fake_memory_new(size_t bytes, FakeOwner owner)
{
    void *memory = filled_memory(bytes);
    if (memory)
        add_block(&fake.blocks, memory, bytes, owner);
    return memory;
}

void fake_memory_free(void *memory, FakeOwner owner)
{
    Block **at = find_block(&fake.blocks, memory, 0);
    if (!at || (*at)->memory != memory || (*at)->owner != owner) {
        fprintf(stderr, "fake CUDA: memory is freed that is not there, or not of %s\n",
                owner == FAKE_OF_CUDA ? "cudaMalloc" : "ncclMemAlloc");
        abort();
    }
    drop_block(at);
}

bool fake_is_memory(const void *memory, size_t bytes)
{
    return find_block(&fake.blocks, memory, bytes);
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    MAY_FAIL(cudaErrorMemoryAllocation);
    *memory = bytes ? fake_memory_new(bytes, FAKE_OF_CUDA) : NULL;
    return fake_result(*memory || !bytes ? cudaSuccess : cudaErrorMemoryAllocation);
}

/* Waits for the device, as the library's does. */
cudaError_t cudaFree(void *memory)
{
    fake_drain_all();
    if (memory)
        fake_memory_free(memory, FAKE_OF_CUDA);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *whole)
{
    MAY_FAIL(cudaErrorInvalidValue);
    *left = 12;
    *whole = 1000;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    MAY_FAIL(cudaErrorMemoryAllocation);
    *memory = filled_memory(bytes);
    if (*memory)
        add_block(&fake.pinned, *memory, bytes, FAKE_OF_CUDA);
    return fake_result(*memory || !bytes ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *memory)
{
    fake_drain_all();
    drop_block(find_block(&fake.pinned, memory, 0));
    return cudaSuccess;
}

bool fake_is_pinned(const void *host)
{
    return find_block(&fake.pinned, host, 1);
}

/* ---- Copies ---- */

typedef struct {
    char *to;
    const char *from; /* NULL: the value is set */
    size_t to_pitch, from_pitch, width, height;
    int value;
} Copy;

/* Bytes [begin, end) of every row. */
static void copy_part(const Copy *c, size_t begin, size_t end)
{
    for (size_t row = 0; row < c->height; row++) {
        char *to = c->to + row * c->to_pitch + begin;
        if (c->from)
            memmove(to, c->from + row * c->from_pitch + begin, end - begin);
        else
            memset(to, c->value, end - begin);
    }
}

static bool copy(void *state)
{
    const Copy *c = state;
    copy_part(c, 0, c->width / 2);
    fake_interleave();
    copy_part(c, c->width / 2, c->width);
    return true;
}

static void queue_copy(cudaStream_t stream, Copy what)
{
    fake_queue(stream, copy, &what, sizeof what);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    MAY_BREAK(cudaErrorLaunchFailure, stream);
    if ((kind == cudaMemcpyHostToDevice && !fake_may_reach(stream, from)) ||
        (kind == cudaMemcpyDeviceToHost && !fake_may_reach(stream, to)))
        return fake_result(cudaErrorStreamCaptureUnsupported);
    queue_copy(stream, (Copy){.to = to, .from = from, .width = bytes, .height = 1});
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    (void)kind;
    MAY_BREAK(cudaErrorLaunchFailure, stream);
    if (width > to_pitch || width > from_pitch)
        return fake_result(cudaErrorInvalidValue);
    queue_copy(stream, (Copy){to, from, to_pitch, from_pitch, width, height, 0});
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    MAY_BREAK(cudaErrorLaunchFailure, stream);
    queue_copy(stream, (Copy){.to = to, .width = bytes, .height = 1, .value = value});
    return cudaSuccess;
}
