/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/collectives/measure.h"

#include "base/clock.h"
#include "runtime/mpi/all_reduce.h"
#include "runtime/mpi/error.h"
#include "runtime/mpi/transport.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mw_collective_times_new(MwArena *arena, MwCollectiveTable *table)
{
    for (int r = 0; r < table->row_count; r++)
        table->rows[r].measured_s = MW_NEW(arena, double, table->algorithm_count + 1);
    table->is_measured = true;
}

/* ---- The ranks ---- */

/* Memory of this process, as the device of the transport: it allocates, and does nothing else. */
static void *host_alloc(MwDevice *device, int64_t bytes, MwFault *fault)
{
    (void)device;
    void *memory = malloc((size_t)bytes);
    if (!memory)
        mw_fault_set(fault, "cannot allocate %lld bytes", (long long)bytes);
    return memory;
}

static void host_release(MwDevice *device, void *memory, int64_t bytes)
{
    (void)device, (void)bytes;
    free(memory);
}

static const MwDeviceTable host_table = {.alloc = host_alloc, .release = host_release};

typedef struct {
    MwTransport *transport;
    MwDevice device;
    MwReduceGroup group;
    char *source, *destination;
} Rank;

#define CALL(name, ...) MW_MPI_CALL(fault, name, __VA_ARGS__)

static int64_t elements_of(const MwCollectiveRow *row)
{
    return mw_max(1, (int64_t)row->bytes / (int64_t)sizeof(float));
}

static bool connect(Rank *rank, MwArena *arena, const MwCollectiveTable *table, MwFault *fault)
{
    const MwAxisPath *path = &table->model->path[table->axis];
    const MwMeshShape mesh = {1, {path->ways}};
    const int64_t bytes =
        mw_round_up(elements_of(&table->rows[table->row_count - 1]) * (int64_t)sizeof(float), 64);
    *rank = (Rank){.transport = mw_transport_mpi_new(arena, true, fault),
                   .device = {.table = &host_table, .is_host = true}};
    if (!rank->transport)
        return false;
    if (rank->transport->size != path->ways)
        return mw_fault_set(fault, "%d ranks were started, not %d", rank->transport->size,
                            path->ways);
    const MwTransportTable *calls = rank->transport->table;
    if (!calls->make_groups(rank->transport, &mesh, 0, fault))
        return false;
    rank->source = calls->alloc_arena(rank->transport, &rank->device, 2 * bytes, fault);
    if (!rank->source)
        return false;
    rank->destination = rank->source + bytes;
    rank->group = (MwReduceGroup){
        .comm = MPI_COMM_WORLD,
        .members = path->ways,
        .self = rank->transport->rank,
        .per_node = path->inner,
        .scratch = mw_arena_alloc(arena, (size_t)mw_mpi_all_reduce_scratch(path->ways, bytes)),
    };
    return true;
}

/* Small integers, whose sums are exact. */
static float source_value(int member, int64_t index)
{
    return (float)((index * 7 + member * 5) % 13 - 6);
}

static bool has_sums(const Rank *rank, const MwExchange *exchange)
{
    const float *found = exchange->destination;
    for (int64_t i = 0; i < exchange->count; i++) {
        float sum = 0;
        for (int m = 0; m < rank->group.members; m++)
            sum += source_value(m, i);
        if (found[i] != sum)
            return false;
    }
    return true;
}

/* `algorithm` MW_ALGORITHM_COUNT: what the executor does. */
static bool reduce(Rank *rank, MwAlgorithm algorithm, const MwExchange *exchange, MwFault *fault)
{
    if (algorithm == MW_ALGORITHM_COUNT)
        return rank->transport->table->exchange(rank->transport, &rank->device, exchange, 1, fault);
    return mw_mpi_all_reduce(&rank->group, algorithm, exchange, fault);
}

/* Times one all-reduce that all ranks begin together. */
static bool time_once(Rank *rank, MwAlgorithm algorithm, const MwExchange *exchange, double *time_s,
                      MwFault *fault)
{
    if (!CALL(MPI_Barrier, rank->group.comm))
        return false;
    const double start_s = mw_clock_s();
    const bool good = reduce(rank, algorithm, exchange, fault);
    *time_s = mw_clock_s() - start_s;
    return good;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Repetitions: as many as take some hundredths of a second, so that a table takes some seconds, but
 * enough for a median. Chosen, not measured. */
enum { LEAST_TIMES = 5, MOST_TIMES = 100 };
static const double REPEATED_S = 0.03;

/* The median of repetitions, of which each lasts as long as on the slowest rank. The first, whose
 * sums are checked, does not count. */
static bool measure(Rank *rank, MwAlgorithm algorithm, const MwExchange *exchange, double *time_s,
                    MwFault *fault)
{
    double times_s[MOST_TIMES], first_s;
    memset(exchange->destination, 0xff, (size_t)exchange->count * sizeof(float));
    if (!time_once(rank, algorithm, exchange, &first_s, fault) ||
        !CALL(MPI_Allreduce, MPI_IN_PLACE, &first_s, 1, MPI_DOUBLE, MPI_MAX, rank->group.comm))
        return false;
    if (!has_sums(rank, exchange))
        return mw_fault_set(fault, "%s gives wrong sums of %lld elements",
                            algorithm == MW_ALGORITHM_COUNT ? "the executor"
                                                            : mw_algorithm_name(algorithm),
                            (long long)exchange->count);
    const int count = (int)fmax(LEAST_TIMES, fmin(MOST_TIMES, REPEATED_S / first_s));
    for (int i = 0; i < count; i++)
        if (!time_once(rank, algorithm, exchange, &times_s[i], fault))
            return false;
    if (!CALL(MPI_Allreduce, MPI_IN_PLACE, times_s, count, MPI_DOUBLE, MPI_MAX, rank->group.comm))
        return false;
    qsort(times_s, (size_t)count, sizeof *times_s, by_value);
    *time_s = times_s[count / 2];
    return true;
}

static bool measure_row(Rank *rank, const MwCollectiveTable *table, MwCollectiveRow *row,
                        MwFault *fault)
{
    const MwExchange exchange = {.kind = MW_ALL_REDUCE,
                                 .type = MW_F32,
                                 .combine = MW_COMBINE_SUM,
                                 .count = elements_of(row),
                                 .source = rank->source,
                                 .destination = rank->destination};
    for (int c = 0; c < table->algorithm_count; c++)
        if (!measure(rank, table->algorithms[c], &exchange, &row->measured_s[c], fault))
            return false;
    return measure(rank, MW_ALGORITHM_COUNT, &exchange, &row->measured_s[table->algorithm_count],
                   fault);
}

/* A line for each row. */
static bool print_times(const MwCollectiveTable *table, MwFault *fault)
{
    for (int r = 0; r < table->row_count; r++)
        for (int c = 0; c <= table->algorithm_count; c++)
            printf("%.9g%c", table->rows[r].measured_s[c],
                   c == table->algorithm_count ? '\n' : ' ');
    return fflush(stdout) == 0 ||
           mw_fault_set(fault, "cannot write the output: %s", strerror(errno));
}

static bool measure_all(Rank *rank, MwArena *arena, MwCollectiveTable *table, MwFault *fault)
{
    if (!connect(rank, arena, table, fault))
        return false;
    const MwCollectiveRow *largest = &table->rows[table->row_count - 1];
    for (int64_t i = 0; i < elements_of(largest); i++)
        ((float *)rank->source)[i] = source_value(rank->group.self, i);
    for (int r = 0; r < table->row_count; r++)
        if (!measure_row(rank, table, &table->rows[r], fault))
            return false;
    return rank->group.self != 0 || print_times(table, fault);
}

void mw_collective_measure(MwArena *arena, MwCollectiveTable *table)
{
    Rank rank;
    MwFault fault;
    if (measure_all(&rank, arena, table, &fault)) {
        mw_transport_free(&rank.transport, &rank.device);
        return;
    }
    if (!rank.transport) {
        fprintf(stderr, "meshwright: %s\n", fault.text);
        exit(1);
    }
    fprintf(stderr, "meshwright: rank %d: %s\n", rank.transport->rank, fault.text);
    rank.transport->table->abort(rank.transport, 1);
}

/* ---- What they printed ---- */

bool mw_collective_times_read(MwCollectiveTable *table, FILE *printed, MwDiags *diags)
{
    for (int r = 0; r < table->row_count; r++)
        for (int c = 0; c <= table->algorithm_count; c++) {
            double *time_s = &table->rows[r].measured_s[c];
            if (fscanf(printed, "%lf", time_s) == 1 && *time_s > 0)
                continue;
            mw_diag_error(diags, mw_span_none(), "the ranks did not measure all times");
            return false;
        }
    return true;
}
