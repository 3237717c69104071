/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduces by every algorithm of runtime/mpi/all_reduce.h, among the ranks that mpirun starts,
 * in nodes of every size that divides them. Sums of small integers are those of mw_combine to the
 * bit, and so the same by all algorithms, the naive one too. Sums of other floats are the same on
 * all ranks, and so are maxima of zeros of either sign, of which the first counts. */
#include "base/arena.h"
#include "base/element.h"
#include "runtime/mpi/all_reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 60013, LARGEST_ELEMENT = 8 };

typedef struct {
    MwReduceGroup group;
    char *sources;                   /* [members][MOST] elements, of all ranks */
    char *buffer, *first, *expected; /* [MOST] elements */
    const void **pieces;             /* [members] */
    bool is_exact;                   /* sources are small integers */
    int tests;
    bool failed;
} Test;

static char *source_of(const Test *test, int member, int64_t bytes)
{
    return test->sources + member * MOST * bytes;
}

/* Every rank makes the sources of all. */
static void make_sources(Test *test, MwType type)
{
    for (int m = 0; m < test->group.members; m++)
        for (int64_t i = 0; i < MOST; i++) {
            const int64_t number = (i * 7 + m * 5) % 13 - 6;
            const double zero = (m + i) % 2 ? -0.0 : 0.0;
            const double other = i % 3 == 0 ? zero : sin((double)(i * 31 + m));
            mw_element_put(type, source_of(test, m, mw_type_bytes(type)), i,
                           test->is_exact ? (double)number : other);
        }
}

/* Rank 0 prints whether it was good on all ranks. */
static void report(Test *test, bool good, const MwExchange *exchange, MwAlgorithm algorithm)
{
    int own = good, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LAND, test->group.comm);
    test->failed |= !all;
    test->tests++;
    if (test->group.self == 0)
        printf("%sok %d - %s of %lld %s %s, %s, nodes of %d%s\n", all ? "" : "not ", test->tests,
               mw_algorithm_name(algorithm), (long long)exchange->count,
               test->is_exact ? "small" : "any", mw_type_name(exchange->type),
               mw_combine_name(exchange->combine), test->group.per_node,
               exchange->source == exchange->destination ? ", in place" : "");
}

/* Whether rank 0 has the same bits. */
static bool is_same_everywhere(const Test *test, const char *found, int64_t bytes)
{
    memcpy(test->first, found, (size_t)bytes);
    MPI_Bcast(test->first, (int)bytes, MPI_BYTE, 0, test->group.comm);
    return memcmp(test->first, found, (size_t)bytes) == 0;
}

static bool reduce(Test *test, MwExchange exchange, MwAlgorithm algorithm, bool in_place,
                   char *result)
{
    MwFault fault = {0};
    const int64_t bytes = exchange.count * mw_type_bytes(exchange.type);
    const char *source = source_of(test, test->group.self, mw_type_bytes(exchange.type));
    memset(result, 0x55, (size_t)bytes + 1); /* a byte beyond is not written */
    if (in_place)
        memcpy(result, source, (size_t)bytes);
    exchange.source = in_place ? result : source;
    exchange.destination = result;
    if (!mw_mpi_all_reduce(&test->group, algorithm, &exchange, &fault)) {
        fprintf(stderr, "rank %d: %s\n", test->group.self, fault.text);
        return false;
    }
    return result[bytes] == 0x55;
}

static void run_case(Test *test, MwExchange exchange, MwAlgorithm algorithm, bool in_place)
{
    const int64_t bytes = exchange.count * mw_type_bytes(exchange.type);
    bool good = reduce(test, exchange, algorithm, in_place, test->buffer);
    const bool in_order = algorithm == mw_mpi_all_reduce_in_order(test->group.members, bytes);
    if (test->is_exact || in_order) {
        for (int m = 0; m < test->group.members; m++)
            test->pieces[m] = source_of(test, m, mw_type_bytes(exchange.type));
        mw_combine(exchange.type, exchange.combine, test->pieces, test->group.members,
                   exchange.count, test->expected);
        good = good && memcmp(test->buffer, test->expected, (size_t)bytes) == 0;
    }
    good = is_same_everywhere(test, test->buffer, bytes) && good;
    exchange.source = in_place ? exchange.destination : test->sources;
    report(test, good, &exchange, algorithm);
}

static void run_counts(Test *test, MwExchange exchange, MwAlgorithm algorithm)
{
    static const int64_t counts[] = {0, 1, 7, 1000, MOST};
    for (int i = 0; i < MW_COUNT(counts); i++) {
        exchange.count = counts[i];
        run_case(test, exchange, algorithm, i % 2 == 0);
    }
}

static void run_algorithms(Test *test, MwExchange exchange)
{
    const int members = test->group.members;
    for (int a = 0; a < MW_ALGORITHM_COUNT; a++)
        for (int per_node = 1; per_node <= members; per_node++) {
            const bool looks = a == MW_ALGORITHM_HIERARCHICAL; /* at nodes */
            test->group.per_node = per_node;
            if (members % per_node == 0 && (looks || per_node == 1) &&
                mw_mpi_has_all_reduce((MwAlgorithm)a, members, per_node))
                run_counts(test, exchange, (MwAlgorithm)a);
        }
}

static void run_all(Test *test)
{
    static const MwType types[] = {MW_F32, MW_BF16, MW_I32};
    for (int t = 0; t < MW_COUNT(types); t++)
        for (int exact = 0; exact <= mw_type_is_float(types[t]); exact++) {
            test->is_exact = exact || !mw_type_is_float(types[t]);
            make_sources(test, types[t]);
            run_algorithms(test, (MwExchange){.kind = MW_ALL_REDUCE, .type = types[t]});
        }
    for (int exact = 0; exact <= 1; exact++) {
        const MwType type = exact ? MW_I32 : MW_F32;
        test->is_exact = exact;
        make_sources(test, type);
        run_algorithms(
            test, (MwExchange){.kind = MW_ALL_REDUCE, .type = type, .combine = MW_COMBINE_MAX});
    }
}

int main(int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    Test test = {.group = {.comm = MPI_COMM_WORLD}};
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &test.group.members);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.group.self);
    const int64_t bytes = MOST * LARGEST_ELEMENT;
    test.group.scratch = mw_arena_alloc(
        arena, (size_t)mw_mpi_all_reduce_scratch(test.group.members, MOST * LARGEST_ELEMENT));
    test.sources = mw_arena_alloc(arena, (size_t)(test.group.members * bytes));
    test.buffer = mw_arena_alloc(arena, (size_t)bytes + 1);
    test.first = mw_arena_alloc(arena, (size_t)bytes + 1);
    test.expected = mw_arena_alloc(arena, (size_t)bytes);
    test.pieces = MW_NEW(arena, const void *, test.group.members);
    run_all(&test);
    if (test.group.self == 0)
        printf("1..%d\n", test.tests);
    MPI_Finalize();
    mw_arena_free(&arena);
    return test.failed;
}
