/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far messages between meshes go on while the meshes compute:
 *
 *     mpirun -n RANKS bench_overlap PLAN ROUNDS
 *
 * Runs steps of a plan in several ways in turn, so that other work on the machine disturbs all ways
 * alike. Rank 0 prints the loss of the first step, which leaves out nothing, and the median seconds
 * of each way, a line each. The executor is unchanged: device and transport leave out what a way
 * leaves out. */
#include "base/clock.h"
#include "runtime/check/check.h"
#include "runtime/cpu/device.h"
#include "runtime/exec/executor.h"
#include "runtime/feed/feed.h"
#include "runtime/kernels_compile.h"
#include "runtime/mpi/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    WHOLE,     /* as it is */
    WAITING,   /* messages go on only while one is waited for */
    COMPUTE,   /* messages of one element: what needs them still waits for them */
    TRANSFERS, /* nothing is computed */
    WAYS
} Way;

static const char *const way_names[WAYS] = {"whole", "waiting", "compute", "transfers"};

enum { MOST_ROUNDS = 1000, WARM_UP = 2 };

struct MwRequest {
    MwRequest *whole, *least;
};

/* What the tables below stand in front of. */
static struct {
    MwArena *arena;
    MwTransportTable transport;
    MwDeviceTable device;
    Way way;
} inner;

/* ---- The transport and the device ---- */

static MwRequest *init_request(MwTransport *transport, MwDevice *device, const MwMessageSet *set,
                               MwFault *fault)
{
    MwRequest *request = MW_NEW(inner.arena, MwRequest, 1);
    MwPeerBox *least = mw_arena_dup(inner.arena, set->boxes, sizeof *least * (size_t)set->count);
    MwMessageSet least_set = *set;
    least_set.boxes = least;
    for (int i = 0; i < set->count; i++)
        for (int d = 0; d < least[i].box.global.rank; d++)
            least[i].box.size[d] = 1;
    request->whole = inner.transport.init_request(transport, device, set, fault);
    request->least = inner.transport.init_request(transport, device, &least_set, fault);
    return request->whole && request->least ? request : NULL;
}

static MwRequest *of_way(const MwRequest *request)
{
    return inner.way == COMPUTE ? request->least : request->whole;
}

static bool start(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    return inner.transport.start(transport, device, of_way(request), fault);
}

static bool test(MwTransport *transport, MwDevice *device, MwRequest *request, bool *done,
                 MwFault *fault)
{
    *done = false;
    return inner.way == WAITING ||
           inner.transport.test(transport, device, of_way(request), done, fault);
}

static bool wait(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    return inner.transport.wait(transport, device, of_way(request), fault);
}

static bool exchange(MwTransport *transport, MwDevice *device, const MwExchange *what, int count,
                     MwFault *fault)
{
    return inner.way == TRANSFERS ||
           inner.transport.exchange(transport, device, what, count, fault);
}

static bool run(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    return inner.way == TRANSFERS || inner.device.run(device, call, fault);
}

static const MwTransportTable *transport_table(const MwTransportTable *table)
{
    static MwTransportTable own;
    inner.transport = own = *table;
    own.init_request = init_request;
    own.start = start;
    own.test = test;
    own.wait = wait;
    own.exchange = exchange;
    return &own;
}

static const MwDeviceTable *device_table(const MwDeviceTable *table)
{
    static MwDeviceTable own;
    inner.device = own = *table;
    own.run = run;
    return &own;
}

/* ---- Steps ---- */

typedef struct {
    MwTransport *transport;
    const MwPlan *plan;
    MwDevice *device;
    MwExecutor *executor;
    MwFeeds *feeds;
    int64_t step;
} Bench;

static bool fill(void *context, int input, int64_t step, const MwBox *box, void *to, MwFault *fault)
{
    return inner.way == TRANSFERS || mw_feeds_input(context, input, step, box, to, fault);
}

static bool make_ready(Bench *bench, MwFault *fault)
{
    const MwPlan *plan = bench->plan;
    const char *const feed = "random";
    const MwKernelEntry *kernels =
        mw_kernels_compile(inner.arena, plan, &mw_backend_cpu, bench->transport, fault);
    if (!kernels || !(bench->device = mw_device_cpu_new(inner.arena, plan, kernels, 1, fault)))
        return false;
    bench->transport->table = transport_table(bench->transport->table);
    bench->device->table = device_table(bench->device->table);
    bench->executor =
        mw_executor_new(inner.arena, plan, bench->device, bench->transport, NULL, fault);
    if (!bench->executor || !mw_executor_start(bench->executor, 1, fault))
        return false;
    const MwFeedsWanted wanted = {.texts = &feed, .count = 1, .seed = 1, .option = "--feed"};
    bench->feeds =
        mw_feeds_open(inner.arena, plan, mw_executor_mesh(bench->executor), &wanted, fault);
    return bench->feeds != NULL;
}

/* Runs a step on all ranks. */
static bool run_step(Bench *bench, Way way, double *seconds, double *losses, MwFault *fault)
{
    const MwExecutorData data = {.context = bench->feeds, .input = fill};
    const MwTransportTable *table = bench->transport->table;
    inner.way = way;
    if (!table->barrier(bench->transport, fault))
        return false;
    const double begun = mw_clock_s();
    if (!mw_executor_step(bench->executor, ++bench->step, &data, losses, fault) ||
        !table->barrier(bench->transport, fault))
        return false;
    *seconds = mw_clock_s() - begun;
    return true;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first loss is on the ranks of one mesh. */
static bool print_loss(const Bench *bench, double own, MwFault *fault)
{
    const bool has = mw_executor_mesh(bench->executor)->metric_count > 0;
    double *all = MW_NEW(inner.arena, double, bench->transport->size);
    const double mine = has ? own : 0;
    if (!bench->transport->table->allgather(bench->transport, &mine, sizeof mine, all, fault))
        return false;
    for (int r = 0; r < bench->transport->size; r++) {
        if (all[r] == 0)
            continue;
        if (bench->transport->rank == 0)
            printf("loss %.9g\n", all[r]);
        return true;
    }
    return mw_fault_set(fault, "the plan has no loss");
}

static bool time_ways(Bench *bench, int rounds, MwFault *fault)
{
    static double seconds[WAYS][MOST_ROUNDS];
    double *losses = MW_NEW(inner.arena, double, mw_plan_loss_count(bench->plan));
    for (int r = -WARM_UP; r < rounds; r++)
        for (int way = 0; way < WAYS; way++) {
            double *to = &seconds[way][mw_max(r, 0)];
            if (!run_step(bench, (Way)way, to, losses, fault) ||
                (bench->step == 1 && !print_loss(bench, losses[0], fault)))
                return false;
        }
    for (int way = 0; way < WAYS && bench->transport->rank == 0; way++) {
        qsort(seconds[way], (size_t)rounds, sizeof(double), compare);
        printf("%s %.9g\n", way_names[way], seconds[way][rounds / 2]);
    }
    return true;
}

int main(int argc, char **argv)
{
    const int rounds = argc == 3 ? atoi(argv[2]) : 0;
    MwFault fault = {0};
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: bench_overlap PLAN ROUNDS, of 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    inner.arena = mw_arena_new();
    Bench bench = {.transport = mw_transport_mpi_new(inner.arena, true, &fault)};
    MwDiags *diags = mw_diags_new(inner.arena);
    bench.plan = mw_plan_read(inner.arena, argv[1], diags);
    if (!bench.plan || !mw_plan_check(bench.plan, diags)) {
        mw_diags_print(diags, stderr);
        return 1;
    }
    if (!bench.transport || !make_ready(&bench, &fault) || !time_ways(&bench, rounds, &fault)) {
        fprintf(stderr, "bench_overlap: %s\n", fault.text);
        return 1;
    }
    mw_feeds_close(&bench.feeds);
    mw_transport_free(&bench.transport, bench.device);
    mw_device_free(&bench.device);
    mw_arena_free(&inner.arena);
    return 0;
}
