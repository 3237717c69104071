/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of reading one cluster file, between what reads sections and what reads values.
 * Functions give false after an error. */
#ifndef MW_FRONTEND_CLUSTER_READER_H
#define MW_FRONTEND_CLUSTER_READER_H

#include "frontend/cluster/keys.h"
#include "frontend/cluster/lexer.h"

enum { MW_CLUSTER_MAX_COUNT = 1 << 20 /* of devices, and of any whole number */ };

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwClusterLexer lexer;
    MwClusterToken token; /* the next one */
    MwCluster *cluster;
    int depth;                       /* of files each like the next */
    MwSpan opened[MW_SECTION_COUNT]; /* where a section was opened; no source: not yet */
    MwSpan opened_gemm[MW_TYPE_COUNT];
} MwClusterReader;

void mw_cluster_advance(MwClusterReader *reader);
bool mw_cluster_at_sign(const MwClusterReader *reader, char sign);
/* Reads the sign if it comes next. */
bool mw_cluster_accept(MwClusterReader *reader, char sign);
/* It must come next; `where` says where that is. */
bool mw_cluster_expect(MwClusterReader *reader, char sign, const char *where);

bool mw_cluster_read_int(MwClusterReader *reader, int *value);
/* [SIZE: VALUE, ...], or one VALUE that holds for every size. */
bool mw_cluster_read_curve(MwClusterReader *reader, MwQuantity quantity, MwQuantity at,
                           MwCurve *curve);
/* The value of `key` into the struct of its section at `base`. */
bool mw_cluster_read_value(MwClusterReader *reader, const MwClusterKey *key, void *base);

#endif
