/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bandwidth of a device's memory, as a large copy within it has it:
 *
 *     bench_copy BACKEND BYTES
 *
 * Prints bytes a second, where both the bytes read and the bytes written count. It checks the copy
 * first. */
#include "bench/device_time.h"
#include "tools/backends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void *from, *to;
    int64_t bytes;
} Copy;

static bool do_copy(MwDevice *device, void *context, int64_t turn, MwFault *fault)
{
    const Copy *copy = context;
    (void)turn;
    return device->table->copy(device, copy->to, copy->from, copy->bytes, fault);
}

/* Every byte differs from those near it. */
static void fill(uint8_t *host, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i++)
        host[i] = (uint8_t)(i * 7 + i / 251);
}

static bool is_right(MwDevice *device, const Copy *copy, const uint8_t *host, uint8_t *back,
                     MwFault *fault)
{
    memset(back, 0, (size_t)copy->bytes);
    if (!device->table->copy_in(device, copy->from, host, copy->bytes, fault) ||
        !device->table->copy_in(device, copy->to, back, copy->bytes, fault) ||
        !do_copy(device, (void *)(uintptr_t)copy, 0, fault) ||
        !device->table->copy_out(device, back, copy->to, copy->bytes, fault))
        return false;
    return memcmp(host, back, (size_t)copy->bytes) == 0 ||
           mw_fault_set(fault, "what was copied is not what was there");
}

static bool time_copy(MwArena *arena, const MwBackend *backend, int64_t bytes, double *seconds,
                      MwFault *fault)
{
    static const MwPlan no_kernels;
    MwDevice *device = backend->device_new(arena, &no_kernels, NULL, 1, fault);
    if (!device)
        return false;
    Copy copy = {device->table->alloc(device, bytes, fault), NULL, bytes};
    copy.to = copy.from ? device->table->alloc(device, bytes, fault) : NULL;
    uint8_t *host = malloc((size_t)bytes), *back = malloc((size_t)bytes);
    bool good = copy.to && host && back;
    if (good) {
        fill(host, bytes);
        good = is_right(device, &copy, host, back, fault) &&
               device_time(device, do_copy, &copy, ROUND_MS, seconds, fault);
    }
    free(host);
    free(back);
    mw_device_free(&device);
    return good;
}

int main(int argc, char **argv)
{
    const int64_t bytes = argc == 3 ? atoll(argv[2]) : 0;
    MwFault fault = {0};
    double seconds;
    if (bytes < 1) {
        fprintf(stderr, "usage: bench_copy BACKEND BYTES\n");
        return 2;
    }
    MwArena *arena = mw_arena_new();
    const MwBackend *backend = mw_backend_find(mw_backends, argv[1], &fault);
    if (!backend || !time_copy(arena, backend, bytes, &seconds, &fault)) {
        fprintf(stderr, "bench_copy: %s\n", fault.text);
        return 1;
    }
    printf("%.9g\n", 2 * (double)bytes / seconds);
    mw_arena_free(&arena);
    return 0;
}
