/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/clusters.h"

static MwCurvePoint bandwidth[] = {{1, 100e9}}, link[] = {{1, 10e9}};
static MwCurvePoint fast[] = {{1, 200e9}}, slow[] = {{1, 5e9}};

MwCluster test_cluster(int devices)
{
    MwCluster cluster = {.name = "test", .backend = "cpu", .nodes = 1, .devices_per_node = devices};
    cluster.device = (MwDeviceModel){.memory_bytes = 1 << 30,
                                     .bandwidth = {bandwidth, 1},
                                     .vector_flops = 100e9,
                                     .launch_s = 1e-6};
    for (int type = 0; type < MW_TYPE_COUNT; type++)
        cluster.device.gemm[type] = (MwGemm){.peak_flops = 1e12, .rate_flops = 1e12};
    cluster.host = (MwHostModel){.memory_bytes = (int64_t)devices << 30,
                                 .latency_s = 1e-6,
                                 .bytes_per_s = 1e10,
                                 .update_bytes_per_s = 1e10};
    cluster.node_link = (MwLink){.call_s = 1e-6, .latency_s = 1e-6, .bandwidth = {link, 1}};
    return cluster;
}

MwCluster test_cluster_of_nodes(int nodes, int devices)
{
    MwCluster cluster = test_cluster(devices);
    cluster.nodes = nodes;
    cluster.network_link = cluster.node_link;
    cluster.node_link.bandwidth.points = fast;
    cluster.network_link.bandwidth.points = slow;
    return cluster;
}
