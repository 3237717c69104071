/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/cluster/keys.h"

const char *const mw_cluster_section_names[MW_SECTION_COUNT] = {
#define SECTION(id, name, parent) [MW_SECTION_##id] = name,
#include "frontend/cluster/keys.def"
};

const MwClusterSection mw_cluster_section_parents[MW_SECTION_COUNT] = {
#define SECTION(id, name, parent) [MW_SECTION_##id] = MW_SECTION_##parent,
#include "frontend/cluster/keys.def"
};

enum { OPTIONAL, REQUIRED };

const MwClusterKey mw_cluster_keys[MW_CLUSTER_KEY_COUNT] = {
#define KEY(section, name, kind, type, member, quantity, at, need)                                 \
    {MW_SECTION_##section,   name,                                                                 \
     MW_KEY_##kind,          offsetof(type, member),                                               \
     MW_QUANTITY_##quantity, MW_QUANTITY_##at,                                                     \
     need == REQUIRED},
#include "frontend/cluster/keys.def"
};

void *mw_cluster_section_struct(MwCluster *cluster, MwClusterSection section, MwType type)
{
    switch (section) {
    case MW_SECTION_CLUSTER:
        return cluster;
    case MW_SECTION_DEVICE:
        return &cluster->device;
    case MW_SECTION_GEMM:
        return &cluster->device.gemm[type];
    case MW_SECTION_HOST:
        return &cluster->host;
    case MW_SECTION_NODE:
        return &cluster->node_link;
    case MW_SECTION_NETWORK:
        return &cluster->network_link;
    case MW_SECTION_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

bool mw_cluster_key_is_given(const MwClusterKey *key, const void *member)
{
    switch (key->kind) {
    case MW_KEY_INT:
        return *(const int *)member != 0;
    case MW_KEY_MEMORY:
        return *(const int64_t *)member != 0;
    case MW_KEY_NUMBER:
        return *(const double *)member > 0;
    case MW_KEY_LIST:
        return ((const MwNumbers *)member)->count > 0;
    case MW_KEY_CURVE:
        return ((const MwCurve *)member)->count > 0;
    case MW_KEY_BACKEND:
        return *(const char *const *)member != NULL;
    }
    MW_UNREACHABLE();
}

bool mw_cluster_has_section(MwCluster *cluster, MwClusterSection section, MwType type)
{
    const char *base = mw_cluster_section_struct(cluster, section, type);
    for (int i = 0; i < MW_CLUSTER_KEY_COUNT; i++)
        if (mw_cluster_keys[i].section == section &&
            mw_cluster_key_is_given(&mw_cluster_keys[i], base + mw_cluster_keys[i].offset))
            return true;
    return false;
}
