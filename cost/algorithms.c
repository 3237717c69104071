/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formulas that cost/algorithms.def names. n is a number of devices, b the bytes of the larger
 * of operand and result. A row takes messages(n) * latency + volume(n) * b / bandwidth where all
 * devices are on one level; its route says what that is where they are on several nodes. */
#include "cost/algorithms.h"

#include "base/backend.h"

#include <math.h>

/* ---- Messages and volumes ---- */

static double log_2(double n)
{
    return ceil(log2(n));
}

static double ring_messages(double n)
{
    return n - 1;
}

static double ring_volume(double n)
{
    return (n - 1) / n;
}

static double two_rings_messages(double n)
{
    return 2 * (n - 1);
}

static double two_rings_volume(double n)
{
    return 2 * (n - 1) / n;
}

static double two_logs(double n)
{
    return 2 * log_2(n);
}

static double two_volumes(double n)
{
    (void)n;
    return 2;
}

static double six_fifths(double n)
{
    (void)n;
    return 6 / 5.0;
}

static double one(double n)
{
    (void)n;
    return 1;
}

static double half_log(double n)
{
    return log_2(n) / 2;
}

/* The greatest power of two that is at most n. */
static double power_below(double n)
{
    return exp2(floor(log2(n)));
}

/* The messages of the whole, before and after, by which the devices beyond a power of two take part
 * (Thakur et al., section 4.5). */
static double folding(double n)
{
    return power_below(n) < n ? 2 : 0;
}

static double doubling_messages(double n)
{
    return log_2(power_below(n)) + folding(n);
}

static double butterfly_messages(double n)
{
    return two_logs(power_below(n)) + folding(n);
}

static double butterfly_volume(double n)
{
    return two_rings_volume(power_below(n)) + folding(n);
}

/* ---- The table ---- */

enum { IN_MPI = 1, IN_NCCL = 2, POWERS_ONLY = 4 };

struct MwAlgorithmCost {
    MwCollective kind;
    MwAlgorithm algorithm;
    double (*messages)(double n);
    double (*volume)(double n);
    double (*route_s)(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes);
    int facts;
};

static bool is_power(int n)
{
    return (n & (n - 1)) == 0;
}

/* ---- Routes ---- */

/* Each node's boundary is crossed once by one flow, as by a ring through node after node: as fast
 * as the slower link. Its latency is that of the network once per node and of the node's link for
 * `near` messages. */
static double in_one_flow(const MwAlgorithmCost *row, const MwGroupLinks *route, double near,
                          double bytes)
{
    const double rate = fmin(route->near_bytes_per_s, route->group_bytes_per_s);
    return row->messages(route->outer) * route->far_latency_s + near * route->near_latency_s +
           row->volume((double)route->inner * route->outer) * bytes / rate;
}

/* The messages that do not cross the network (NCCL, src/graph/tuning.cc, of rings). */
static double near_messages(const MwAlgorithmCost *row, const MwGroupLinks *route)
{
    return row->messages((double)route->inner * route->outer) - row->messages(route->outer);
}

static double once(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    return in_one_flow(row, route, near_messages(row, route), bytes);
}

/* Trees of NCCL are chains within nodes, up along all devices, and down (the same file). */
static double along_trees(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    const double near = route->has_chains ? 2 * (route->inner - 1) : near_messages(row, route);
    return in_one_flow(row, route, near, bytes);
}

/* Within a node in one message, of which each device sends its part once and the switch the sum;
 * between nodes along two trees. */
static double by_switch(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    if (route->switch_bytes_per_s <= 0 || route->inner == 1)
        return INFINITY;
    double rate = route->switch_bytes_per_s;
    if (route->outer > 1)
        rate = fmin(rate, route->group_bytes_per_s / (route->outer > 2 ? 2 : 1));
    return route->near_latency_s + row->messages(route->outer) * route->far_latency_s +
           row->volume((double)route->inner * route->outer) * bytes / rate;
}

/* On each level what the row says of that level; `far_bytes` of each device between nodes. */
static double both_levels(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes,
                          double far_bytes)
{
    if (route->outer > 1 && row->facts & POWERS_ONLY && !is_power(route->inner * route->outer))
        return INFINITY; /* devices would fold across nodes */
    const double near = row->messages(route->inner) * route->near_latency_s +
                        row->volume(route->inner) * bytes / route->near_bytes_per_s;
    if (route->outer == 1)
        return near;
    return near + row->messages(route->outer) * route->far_latency_s +
           row->volume(route->outer) * far_bytes / route->each_bytes_per_s;
}

/* Every step exchanges everything, whatever it crosses. */
static double by_levels(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    return both_levels(row, route, bytes, bytes);
}

/* The nearest devices halve first and double last, so that each has its part of what crosses. */
static double nested(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    return both_levels(row, route, bytes, bytes / route->inner);
}

/* Every device exchanges as much with each other one; `far_rate` is that between nodes. */
static double to_all(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes,
                     double far_rate)
{
    const double ways = (double)route->inner * route->outer;
    const double near = (route->inner - 1) / (ways - 1);
    const double messages = row->messages(ways), sent = row->volume(ways) * bytes;
    const double near_s =
        messages * near * route->near_latency_s + sent * near / route->near_bytes_per_s;
    if (route->outer == 1)
        return near_s;
    return near_s + messages * (1 - near) * route->far_latency_s + sent * (1 - near) / far_rate;
}

/* All devices receive at once. */
static double to_each(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    return to_all(row, route, bytes, route->each_bytes_per_s);
}

/* One device receives. */
static double to_one(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    return to_all(row, route, bytes, route->one_bytes_per_s);
}

/* A group on several nodes does it level by level (collective.c). */
static double one_level(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    return route->outer > 1 ? INFINITY : both_levels(row, route, bytes, 0);
}

/* ---- Rows ---- */

static const MwAlgorithmCost rows[] = {
#define COST(kind, algorithm, messages, volume, route, facts)                                      \
    {MW_##kind, MW_ALGORITHM_##algorithm, messages, volume, route, facts},
#include "cost/algorithms.def"
#undef COST
};

const MwAlgorithmCost *mw_algorithm_next(MwCollective kind, const MwAlgorithmCost *row)
{
    for (row = row ? row + 1 : rows; row < rows + MW_COUNT(rows); row++)
        if (row->kind == kind)
            return row;
    return NULL;
}

const MwAlgorithmCost *mw_algorithm_row(MwCollective kind, MwAlgorithm algorithm)
{
    const MwAlgorithmCost *row = NULL;
    while ((row = mw_algorithm_next(kind, row)) && row->algorithm != algorithm)
        continue;
    return row;
}

MwAlgorithm mw_algorithm_of(const MwAlgorithmCost *row)
{
    return row->algorithm;
}

MwCollective mw_algorithm_collective(const MwAlgorithmCost *row)
{
    return row->kind;
}

bool mw_algorithm_is_choice(const MwAlgorithmCost *row, const MwCluster *cluster, int ways)
{
    const int library = mw_backend_named(cluster->backend)->uses_nccl ? IN_NCCL : IN_MPI;
    return row->facts & library && (is_power(ways) || !(row->facts & POWERS_ONLY));
}

double mw_algorithm_s(const MwAlgorithmCost *row, const MwGroupLinks *route, double bytes)
{
    return row->route_s(row, route, bytes);
}

double mw_collective_volume(MwCollective kind, int ways)
{
    const MwAlgorithmCost *first = mw_algorithm_next(kind, NULL);
    MW_ASSERT(first); /* else the collective has no row */
    return first->volume(ways);
}
