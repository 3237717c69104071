/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of keys.def, and where the sections of a cluster lie in memory. */
#ifndef MW_FRONTEND_CLUSTER_KEYS_H
#define MW_FRONTEND_CLUSTER_KEYS_H

#include "frontend/cluster/units.h"
#include "ir/cluster.h"

typedef enum {
#define SECTION(id, ...) MW_SECTION_##id,
#include "frontend/cluster/keys.def"
    MW_SECTION_COUNT
} MwClusterSection;

typedef enum {
    MW_KEY_INT,
    MW_KEY_MEMORY,
    MW_KEY_NUMBER,
    MW_KEY_LIST,
    MW_KEY_CURVE,
    MW_KEY_BACKEND
} MwClusterKeyKind;

typedef struct {
    MwClusterSection section;
    const char *name;
    MwClusterKeyKind kind;
    size_t offset;       /* in the struct of the section, bytes */
    MwQuantity quantity; /* what the value measures */
    MwQuantity at;       /* what the sizes of a curve measure */
    bool is_required;
} MwClusterKey;

enum {
    MW_CLUSTER_KEY_COUNT = 0
#define KEY(...) +1
#include "frontend/cluster/keys.def"
};

extern const char *const mw_cluster_section_names[MW_SECTION_COUNT];
extern const MwClusterSection mw_cluster_section_parents[MW_SECTION_COUNT];
extern const MwClusterKey mw_cluster_keys[MW_CLUSTER_KEY_COUNT];

/* The struct of a section; `type` tells apart the gemm sections. */
void *mw_cluster_section_struct(MwCluster *cluster, MwClusterSection section, MwType type);

/* False if the figure at `member` is zero or empty. */
bool mw_cluster_key_is_given(const MwClusterKey *key, const void *member);
/* True if any figure of the section is given. */
bool mw_cluster_has_section(MwCluster *cluster, MwClusterSection section, MwType type);

/* Whether the section describes a link: it may list measured collectives beside its keys. */
static inline bool mw_cluster_section_is_link(MwClusterSection section)
{
    return section == MW_SECTION_NODE || section == MW_SECTION_NETWORK;
}

#endif
