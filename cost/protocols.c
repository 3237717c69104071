/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cost/protocols.h"

#include "base/backend.h"

#include <math.h>

#define US(microseconds) (1e-6 * (microseconds))

/* Parts of the bandwidth by size: of 64 bytes << i. */
enum { SIZES = 23, LEAST_BYTES = 64 };

typedef enum {
    SIZE_RATES_NONE,
#define PROTOCOL(...)
#define SIZE_RATES(name, ...) SIZE_RATES_##name,
#include "cost/protocols.def"
#undef SIZE_RATES
} SizeRates;

static const double size_rates[][SIZES] = {
#define SIZE_RATES(name, ...) [SIZE_RATES_##name] = {__VA_ARGS__},
#include "cost/protocols.def"
#undef SIZE_RATES
#undef PROTOCOL
};

typedef struct {
    MwAlgorithm algorithm;
    /* seconds beyond those of the cluster file: of a call, of a message within a node, of one
     * between nodes; and the least of one within a node of several */
    double call_s, near_s, far_s, least_s;
    double rate, alone; /* part of the bandwidth; where a group has one device in each node */
    SizeRates size_rates;
    bool has_plateau;
} Protocol;

static const Protocol nccl[] = {
#define SIZE_RATES(...)
#define PROTOCOL(algorithm, call_us, near_us, far_us, least_us, rate, alone, sizes, plateau)       \
    {MW_ALGORITHM_##algorithm, US(call_us), US(near_us), US(far_us), US(least_us), rate, alone,    \
     SIZE_RATES_##sizes,       plateau},
#include "cost/protocols.def"
#undef PROTOCOL
#undef SIZE_RATES
};

static const Protocol plain = {.rate = 1, .alone = 1};

/* A collective. */
typedef struct {
    const MwCluster *cluster;
    const MwLink *link;
    const MwAlgorithmCost *row;
    const MwGroupLinks *route;
    double bytes;
    bool is_far; /* the group has one device in each node, and the route one level */
} Call;

/* Between two sizes the part is a straight line in their logarithms. */
static double size_rate(SizeRates which, double bytes)
{
    const double at = log2(fmax(bytes / LEAST_BYTES, 1));
    if (which == SIZE_RATES_NONE || at >= SIZES)
        return 1;
    const int low = (int)at;
    const double after = low + 1 < SIZES ? size_rates[which][low + 1] : 1;
    return size_rates[which][low] + (at - low) * (after - size_rates[which][low]);
}

/* By what factor the call and its messages take longer: not where each channel of NCCL, of which
 * every device has a part, has fewer than FEW bytes. */
static double plateau(const Protocol *protocol, const Call *call)
{
    enum { FEW = 64 };
    const MwDeviceModel *device = &call->cluster->device;
    const double ways = (double)call->route->inner * call->route->outer;
    const double parts = fmax(device->collective_units, 1) * ways;
    if (!protocol->has_plateau || !(call->is_far || call->route->outer > 1) ||
        mw_algorithm_collective(call->row) != MW_ALL_REDUCE || call->bytes < FEW * parts)
        return 1;
    return device->capability > 0 && device->capability < 8 ? 1.9 : 1.4;
}

/* The links of a call as they are by a protocol. */
static MwGroupLinks links_by(const Protocol *protocol, const Call *call)
{
    MwGroupLinks by = *call->route;
    const double rate = call->is_far ? protocol->alone : protocol->rate;
    by.near_latency_s += call->is_far ? protocol->far_s : protocol->near_s;
    if (by.outer > 1)
        by.near_latency_s = fmax(by.near_latency_s, protocol->least_s);
    by.far_latency_s += protocol->far_s;
    by.near_bytes_per_s *= rate;
    by.group_bytes_per_s *= rate;
    by.one_bytes_per_s *= rate;
    by.each_bytes_per_s *= rate;
    by.switch_bytes_per_s *= rate;
    return by;
}

static double protocol_s(const Protocol *protocol, const Call *call)
{
    const MwGroupLinks by = links_by(protocol, call);
    const double messages_s = mw_algorithm_s(call->row, &by, 0);
    if (isinf(messages_s))
        return INFINITY;
    const double bytes_s = mw_algorithm_s(call->row, &by, call->bytes) - messages_s;
    return (fmax(call->link->call_s + protocol->call_s, 0) + messages_s) * plateau(protocol, call) +
           bytes_s / size_rate(protocol->size_rates, call->bytes);
}

static MwAlgorithm rows_of(MwAlgorithm algorithm)
{
    const bool has_rows = algorithm == MW_ALGORITHM_TREE || algorithm == MW_ALGORITHM_SWITCH;
    return has_rows ? algorithm : MW_ALGORITHM_RING;
}

double mw_protocols_s(const MwCluster *cluster, const MwLink *link, const MwAlgorithmCost *row,
                      const MwGroupLinks *route, double bytes)
{
    const Call call = {cluster, link,  row,
                       route,   bytes, route->outer == 1 && link == &cluster->network_link};
    if (!mw_backend_named(cluster->backend)->uses_nccl)
        return protocol_s(&plain, &call);
    double best_s = INFINITY;
    for (int i = 0; i < MW_COUNT(nccl); i++)
        if (nccl[i].algorithm == rows_of(mw_algorithm_of(row)))
            best_s = fmin(best_s, protocol_s(&nccl[i], &call));
    return best_s;
}
