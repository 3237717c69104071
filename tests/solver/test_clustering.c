/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clustering against all ways to cut, on small random rows. */
#include "base/philox.h"
#include "solver/stages/clustering.h"
#include "tests/unit/support.h"

enum { MOST_ITEMS = 9, ROWS = 4000 };

typedef struct {
    int64_t work[MOST_ITEMS], border_bytes[MOST_ITEMS];
    int group[MOST_ITEMS];
    MwClustering clustering;
} Row;

static int draw(int row, int what, int bound)
{
    return (int)(mw_uniform_at(7, (uint64_t)row, (uint64_t)what) * bound);
}

/* Some rows are of equal items, some have an item that outweighs the rest, some have groups. */
static void draw_row(Row *row, int number)
{
    int count = 1 + draw(number, 0, MOST_ITEMS), kind = draw(number, 1, 4);
    for (int i = 0; i < count; i++) {
        int at = 10 + 3 * i;
        row->work[i] = kind == 0 ? 8 : draw(number, at, kind == 1 ? 1000 : 20);
        row->border_bytes[i] = i == 0 ? 0 : draw(number, at + 1, 4);
        row->group[i] = kind == 2 ? draw(number, at + 2, 4) - 1 : -1;
    }
    row->clustering = (MwClustering){count, row->work, row->border_bytes, row->group};
}

typedef struct {
    bool valid; /* keeps groups apart, and every cluster within the limits */
    int64_t bytes, squares, heaviest, lightest;
} Measure;

/* Bit i of `cuts`: there is a cut before item i + 1. */
static Measure measure(const MwClustering *row, unsigned cuts, int64_t floor, int64_t limit)
{
    Measure m = {.valid = true, .lightest = INT64_MAX};
    int64_t work = 0;
    int group = -1;
    for (int i = 0; i < row->count; i++) {
        if (i > 0 && cuts >> (i - 1) & 1) {
            m.bytes += row->border_bytes[i];
            m.squares += work * work;
            m.lightest = mw_min(m.lightest, work);
            work = 0;
            group = -1;
        }
        m.valid &= group < 0 || row->group[i] < 0 || group == row->group[i];
        group = row->group[i] < 0 ? group : row->group[i];
        work += row->work[i];
        m.heaviest = mw_max(m.heaviest, work);
    }
    m.squares += work * work;
    m.lightest = mw_min(m.lightest, work);
    m.valid &= floor <= m.lightest && m.heaviest <= limit;
    return m;
}

static int count_clusters(unsigned cuts)
{
    return 1 + __builtin_popcount(cuts);
}

/* The best of all cuts into `clusters` within the limits; not valid if there is none. */
static Measure best_of_all(const MwClustering *row, int clusters, int64_t floor, int64_t limit)
{
    Measure best = {0};
    for (unsigned cuts = 0; cuts < 1u << (row->count - 1); cuts++) {
        Measure m = measure(row, cuts, floor, limit);
        if (count_clusters(cuts) != clusters || !m.valid)
            continue;
        if (!best.valid || m.bytes < best.bytes ||
            (m.bytes == best.bytes && m.squares < best.squares))
            best = m;
    }
    return best;
}

/* 0.4 times the mean, or as often a quarter of that as there is no cut which keeps to it. */
static int64_t floor_of_all(const MwClustering *row, int clusters, int64_t limit)
{
    int64_t floor = measure(row, 0, 0, INT64_MAX).heaviest * 4 / (10 * clusters);
    while (!best_of_all(row, clusters, floor, limit).valid) {
        ck_assert_int_gt(floor, 0);
        floor /= 4;
    }
    return floor;
}

static int fewest_of_all(const MwClustering *row)
{
    int fewest = row->count;
    for (unsigned cuts = 0; cuts < 1u << (row->count - 1); cuts++)
        if (measure(row, cuts, 0, INT64_MAX).valid)
            fewest = (int)mw_min(fewest, count_clusters(cuts));
    return fewest;
}

static unsigned solve(const MwClustering *row, int clusters)
{
    int begins[MOST_ITEMS];
    unsigned cuts = 0;
    mw_clustering_cut(row, clusters, begins);
    ck_assert_int_eq(begins[0], 0);
    for (int c = 1; c < clusters; c++) {
        ck_assert_int_gt(begins[c], begins[c - 1]);
        cuts |= 1u << (begins[c] - 1);
    }
    return cuts;
}

START_TEST(finds_the_best_of_all_cuts)
{
    for (int number = 0; number < ROWS; number++) {
        Row row;
        draw_row(&row, number);
        const MwClustering *clustering = &row.clustering;
        int least = mw_clustering_least(clustering);
        ck_assert_int_eq(least, fewest_of_all(clustering));
        for (int clusters = least; clusters <= clustering->count; clusters++) {
            int64_t limit = mw_clustering_limit(clustering, clusters);
            int64_t floor = floor_of_all(clustering, clusters, limit);
            Measure best = best_of_all(clustering, clusters, floor, limit);
            Measure own = measure(clustering, solve(clustering, clusters), floor, limit);
            ck_assert_msg(
                best.valid && own.valid && own.bytes == best.bytes && own.squares == best.squares,
                "row %d in %d clusters: %lld bytes, squares %lld; the best has %lld, %lld", number,
                clusters, (long long)own.bytes, (long long)own.squares, (long long)best.bytes,
                (long long)best.squares);
        }
    }
}
END_TEST

/* The limit is 1.6 times the mean, unless no cut keeps to it; then it is little above the least
 * that one does. */
START_TEST(widens_the_limit_no_further_than_it_must)
{
    int widened = 0;
    for (int number = 0; number < ROWS; number++) {
        Row row;
        draw_row(&row, number);
        const MwClustering *clustering = &row.clustering;
        int64_t total = measure(clustering, 0, 0, INT64_MAX).heaviest;
        for (int clusters = mw_clustering_least(clustering); clusters <= clustering->count;
             clusters++) {
            int64_t limit = mw_clustering_limit(clustering, clusters);
            int64_t wanted = mw_ceil_div(total * 16, 10 * clusters);
            ck_assert_int_ge(limit, wanted);
            if (limit == wanted)
                continue;
            ck_assert(!best_of_all(clustering, clusters, 0, wanted).valid);
            ck_assert(!best_of_all(clustering, clusters, 0, limit * 10 / 11 - 1).valid);
            widened++;
        }
    }
    ck_assert_int_gt(widened, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clustering");
    TCase *tests = tcase_create("clustering");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, finds_the_best_of_all_cuts);
    tcase_add_test(tests, widens_the_limit_no_further_than_it_must);
    return run_suite(suite);
}
