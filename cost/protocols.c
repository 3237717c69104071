/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cost/protocols.h"

#include "base/backend.h"

#define US(microseconds) (1e-6 * (microseconds))

static const MwProtocol nccl[] = {
#define PROTOCOL(algorithm, call_us, near_us, far_us, rate)                                        \
    {MW_ALGORITHM_##algorithm, US(call_us), US(near_us), US(far_us), rate},
#include "cost/protocols.def"
#undef PROTOCOL
};

static const MwProtocol plain = {.rate = 1};

const MwProtocol *mw_protocol_next(const MwCluster *cluster, MwAlgorithm algorithm,
                                   const MwProtocol *protocol)
{
    const MwAlgorithm as = algorithm == MW_ALGORITHM_TREE ? algorithm : MW_ALGORITHM_RING;
    if (!mw_backend_named(cluster->backend)->uses_nccl)
        return protocol ? NULL : &plain;
    for (protocol = protocol ? protocol + 1 : nccl; protocol < nccl + MW_COUNT(nccl); protocol++)
        if (protocol->algorithm == as)
            return protocol;
    return NULL;
}
