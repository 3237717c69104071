/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every collective on every axis of a mesh, in every type, exactly: sources are small integers, so
 * that the results are known to the bit; each alone, and several done together. Run under mpirun:
 * test_exchange MESH WAY (ways.h). */
#include "base/element.h"
#include "base/vec.h"
#include "tests/reference/combine.h"
#include "tests/runtime/ways.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    MwTransport *transport;
    MwDevice *device;
    MwMeshShape mesh;
    int coordinate[MW_MAX_AXES];
    char *arena;           /* on the device */
    char *source, *result; /* [HALF_BYTES], on the host */
    int part;              /* that is looked at: sources of parts begin with different elements */
    MwArena *memory;
    MW_VEC(MwExchange) exchanges; /* of all cases, to connect for */
    bool is_connected;
    int tests;
    bool failed;
} Test;

enum { HALF_BYTES = 16 << 20, PARTS = 3 };

/* Sources, and what they combine to, repeat after so many elements. */
enum { PERIOD = 39 };

/* Rank of the member at coordinate `member` of this rank's group on `axis`. */
static int member_rank(const Test *test, int axis, int member)
{
    int rank = 0;
    for (int a = 0; a < test->mesh.axis_count; a++)
        rank = rank * test->mesh.size[a] + (a == axis ? member : test->coordinate[a]);
    return rank;
}

/* Element `index` of the source of `rank`: sums over ranks are exact in bf16. Some ranks have NaN
 * where others have a number or an infinity. */
static double source_value(MwType type, int rank, int64_t index)
{
    const int64_t place = index % PERIOD;
    if (type == MW_BOOL)
        return (rank + index) % 3 == 0;
    if (mw_type_is_float(type) && place < 6 && rank % 2 == place % 2)
        return NAN;
    if (mw_type_is_float(type) && !mw_type_is_fp8(type) && place < 4) /* e4m3 has no infinity */
        return place < 2 ? INFINITY : -INFINITY;
    const int64_t number = (index * 7 + rank * 5) % 13;
    return (double)(mw_type_kind(type) == MW_TYPE_UNSIGNED ? number : number - 6);
}

static double combined(const Test *test, const MwExchange *exchange, int64_t index)
{
    const int ways = test->mesh.size[exchange->axis];
    double result = 0;
    for (int m = 0; m < ways; m++) {
        double value = source_value(exchange->type, member_rank(test, exchange->axis, m), index);
        if (exchange->type == MW_BOOL)
            result = result != 0 || value != 0;
        else
            result = m == 0 ? value : combine_two(exchange->combine, result, value);
    }
    return result;
}

/* A period of the elements of the result on this rank from member `member` (of ALL_GATHER,
 * ALL_TO_ALL and exchanges with one) or from all, from the first one of its block on. */
static void expected_period(const Test *test, const MwExchange *exchange, int member,
                            double expected[PERIOD])
{
    const bool has_own_block =
        exchange->kind == MW_REDUCE_SCATTER || exchange->kind == MW_ALL_TO_ALL;
    const int64_t block = has_own_block ? exchange->count / test->mesh.size[exchange->axis] : 0;
    const int64_t first = test->part + test->coordinate[exchange->axis] * block;
    for (int i = 0; i < PERIOD; i++)
        expected[i] = mw_collective_info(exchange->kind)->combines
                          ? combined(test, exchange, first + i)
                          : source_value(exchange->type, member_rank(test, exchange->axis, member),
                                         first + i);
}

static double tolerance_of(const MwExchange *exchange)
{
    return exchange->combine != MW_COMBINE_LOGSUMEXP ? 0
           : exchange->type == MW_BF16               ? 1.0 / 128
           : exchange->type == MW_F16                ? 1.0 / 1024
                                                     : 1e-6;
}

static bool is_near(double found, double expected, double tolerance)
{
    return found == expected || (isnan(found) && isnan(expected)) ||
           fabs(found - expected) <= tolerance * fmax(1, fabs(expected));
}

/* The first of `count` elements at `from` that is not near what is expected; `count` if all are. A
 * period with the bits of one that was found right is right. */
static int64_t first_wrong(const MwExchange *exchange, const char *from, int64_t count,
                           const double expected[PERIOD])
{
    const int64_t bytes = mw_type_bytes(exchange->type);
    const double tolerance = tolerance_of(exchange);
    const char *right = NULL;
    for (int64_t first = 0; first < count; first += PERIOD) {
        const char *period = from + first * bytes;
        const int64_t length = mw_min(PERIOD, count - first);
        if (right && memcmp(period, right, (size_t)(length * bytes)) == 0)
            continue;
        for (int64_t i = 0; i < length; i++)
            if (!is_near(mw_element_get(exchange->type, period, i), expected[i], tolerance))
                return first + i;
        right = length == PERIOD ? period : right;
    }
    return count;
}

/* Says whether all elements are right, and which one is not. */
static bool is_right(const Test *test, const MwExchange *exchange, int64_t result)
{
    const int ways = test->mesh.size[exchange->axis];
    const int members = mw_collective_info(exchange->kind)->joins ? ways : 1;
    const int self = test->coordinate[exchange->axis];
    const bool has_peer = mw_collective_info(exchange->kind)->peer != MW_PEER_ALL;
    const int first = has_peer ? mw_collective_giver(exchange->kind, ways, self) : 0;
    const int64_t block = result / members;
    for (int m = 0; m < members; m++) {
        const char *found = test->result + m * block * mw_type_bytes(exchange->type);
        double period[PERIOD];
        expected_period(test, exchange, first + m, period);
        const int64_t wrong = first_wrong(exchange, found, block, period);
        if (wrong < block) {
            fprintf(stderr, "rank %d: element %lld is %g, not %g\n", test->transport->rank,
                    (long long)(m * block + wrong), mw_element_get(exchange->type, found, wrong),
                    period[wrong % PERIOD]);
            return false;
        }
    }
    return true;
}

/* Rank 0 prints whether it was good on all ranks. */
static void report(Test *test, bool good, const MwExchange *exchange, int parts, bool in_place)
{
    MwFault fault;
    char own = good, all[64];
    test->transport->table->allgather(test->transport, &own, 1, all, &fault);
    good = !memchr(all, 0, (size_t)test->transport->size);
    test->failed |= !good;
    test->tests++;
    if (test->transport->rank == 0)
        printf("%sok %d - %s of %lld %s over axis %d, %s%s%s\n", good ? "" : "not ", test->tests,
               mw_collective_name(exchange->kind), (long long)exchange->count,
               mw_type_name(exchange->type), exchange->axis, mw_combine_name(exchange->combine),
               in_place ? ", in place" : "", parts > 1 ? ", and others" : "");
}

/* One queue of the device comes after another, where it has two. */
static bool follow(Test *test, MwQueue after, MwQueue before, MwFault *fault)
{
    const MwDeviceTable *device = test->device->table;
    return after == before || (device->record_event(test->device, before, 0, fault) &&
                               device->wait_event(test->device, after, 0, fault));
}

/* Sets the source of the part; what was in its result is seen where nothing comes. */
static bool set_part(Test *test, const MwExchange *exchange, int64_t result, MwFault *fault)
{
    const MwDeviceTable *device = test->device->table;
    const int64_t bytes = mw_type_bytes(exchange->type);
    for (int64_t i = 0; i < mw_min(PERIOD, exchange->count); i++)
        mw_element_put(exchange->type, test->source, i,
                       source_value(exchange->type, test->transport->rank, test->part + i));
    for (int64_t i = PERIOD; i < exchange->count; i += PERIOD)
        memcpy(test->source + i * bytes, test->source,
               (size_t)(mw_min(PERIOD, exchange->count - i) * bytes));
    memset(test->result, 0x55, (size_t)(result * bytes));
    return device->copy_in(test->device, exchange->destination, test->result, result * bytes,
                           fault) &&
           device->copy_in(test->device, (void *)(uintptr_t)exchange->source, test->source,
                           exchange->count * bytes, fault);
}

static bool is_part_right(Test *test, const MwExchange *exchange, int64_t result, MwFault *fault)
{
    return test->device->table->copy_out(test->device, test->result, exchange->destination,
                                         result * mw_type_bytes(exchange->type), fault) &&
           is_right(test, exchange, result);
}

static bool do_exchanges(Test *test, const MwExchange *exchanges, int count, MwFault *fault)
{
    return follow(test, test->transport->queue, MW_QUEUE_COMPUTE, fault) &&
           test->transport->table->exchange(test->transport, test->device, exchanges, count,
                                            fault) &&
           follow(test, MW_QUEUE_COMPUTE, test->transport->queue, fault);
}

/* Runs `parts` collectives together, each of which has as many elements less than the one before as
 * the group has members. */
static void run_case(Test *test, MwExchange exchange, int parts, bool in_place)
{
    MwExchange exchanges[PARTS];
    int64_t results[PARTS];
    char *source = test->arena, *destination = test->arena + HALF_BYTES;
    const int ways = test->mesh.size[exchange.axis];
    MwFault fault = {0};
    bool good = true;
    for (int p = 0; p < parts; p++) {
        exchanges[p] = exchange;
        exchanges[p].count -= p * ways;
        exchanges[p].source = source;
        exchanges[p].destination = in_place ? source : destination;
        good = good && mw_exchange_result(exchange.kind, ways, exchanges[p].count, &results[p]);
        source += exchanges[p].count * mw_type_bytes(exchange.type);
        destination += results[p] * mw_type_bytes(exchange.type);
    }
    if (!test->is_connected) {
        for (int p = 0; p < parts; p++)
            mw_vec_push(test->memory, &test->exchanges, exchanges[p]);
        return;
    }
    for (test->part = 0; test->part < parts; test->part++)
        good = good && set_part(test, &exchanges[test->part], results[test->part], &fault);
    good = good && do_exchanges(test, exchanges, parts, &fault);
    for (test->part = 0; test->part < parts; test->part++)
        good = good && is_part_right(test, &exchanges[test->part], results[test->part], &fault);
    if (!good)
        fprintf(stderr, "rank %d: %s\n", test->transport->rank, fault.text);
    report(test, good, &exchange, parts, in_place);
}

static void run_counts(Test *test, MwExchange exchange)
{
    static const int64_t counts[] = {1, 7, 1000, 100003};
    for (int i = 0; i < MW_COUNT(counts); i++) {
        exchange.count = counts[i] * test->mesh.size[exchange.axis];
        const int parts = counts[i] > PARTS && counts[i] < 100000 ? PARTS : 1;
        run_case(test, exchange, 1, false);
        if (parts > 1)
            run_case(test, exchange, parts, false);
        if (!mw_collective_in_place(exchange.kind))
            continue;
        run_case(test, exchange, parts, true);
        exchange.count = counts[i]; /* need not divide */
        run_case(test, exchange, 1, false);
    }
}

static void run_all(Test *test)
{
    for (int axis = 0; axis < test->mesh.axis_count; axis++)
        for (int kind = 0; kind < MW_COLLECTIVE_COUNT; kind++)
            for (int type = 0; type < MW_TYPE_COUNT; type++)
                for (int combine = 0; combine < MW_COMBINE_COUNT; combine++)
                    if (mw_type_stored((MwType)type) == (MwType)type &&
                        (mw_collective_info((MwCollective)kind)->combines
                             ? mw_combine_is_valid((MwType)type, (MwCombine)combine)
                             : combine == 0))
                        run_counts(test, (MwExchange){.kind = (MwCollective)kind,
                                                      .axis = axis,
                                                      .type = (MwType)type,
                                                      .combine = (MwCombine)combine});
}

/* More than a transport moves at a time: STAGING_BYTES of runtime/mpi/transport.c are 4 MiB. */
static void run_large(Test *test)
{
    static const MwCollective kinds[] = {MW_ALL_REDUCE, MW_REDUCE_SCATTER};
    for (int axis = 0; axis < test->mesh.axis_count; axis++)
        for (int k = 0; k < MW_COUNT(kinds); k++)
            run_case(test,
                     (MwExchange){.kind = kinds[k],
                                  .axis = axis,
                                  .type = MW_F32,
                                  .count = (int64_t)700001 * test->mesh.size[axis]},
                     1, mw_collective_in_place(kinds[k]));
}

/* As an executor does for the collectives of its plan. */
static bool connect_all(Test *test, MwFault *fault)
{
    run_all(test);
    run_large(test);
    test->is_connected = true;
    return test->transport->table->connect(test->transport, test->device, test->exchanges.at,
                                           test->exchanges.count, fault);
}

int main(int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    Test test = {0};
    const MwPlan no_kernels = {.backend = "cpu"};
    if (argc != 3 || !mw_mesh_parse(argv[1], &test.mesh)) {
        fprintf(stderr, "usage: test_exchange MESH WAY\n");
        return 2;
    }
    test.memory = arena;
    test.source = mw_arena_alloc(arena, HALF_BYTES);
    test.result = mw_arena_alloc(arena, HALF_BYTES);
    if (way_open(arena, argv[2], &no_kernels, &test.transport, &test.device, &fault) &&
        mw_mesh_devices(&test.mesh) == test.transport->size &&
        test.transport->table->make_groups(test.transport, &test.mesh, 0, &fault) &&
        (test.transport->queue == MW_QUEUE_COMPUTE ||
         test.device->table->make_events(test.device, arena, 1, &fault)))
        test.arena =
            test.transport->table->alloc_arena(test.transport, test.device, 2 * HALF_BYTES, &fault);
    if (!test.arena || !connect_all(&test, &fault)) {
        fprintf(stderr, "cannot start: %s\n", fault.text);
        return 1;
    }
    mw_mesh_coordinates(&test.mesh, test.transport->rank, test.coordinate);
    run_all(&test);
    run_large(&test);
    if (test.transport->rank == 0)
        printf("1..%d\n", test.tests);
    mw_transport_free(&test.transport, test.device);
    mw_device_free(&test.device);
    mw_arena_free(&arena);
    return test.failed;
}
