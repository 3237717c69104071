/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of reading one cluster file, and its tokens. */
#ifndef MW_FRONTEND_CLUSTER_READER_H
#define MW_FRONTEND_CLUSTER_READER_H

#include "frontend/cluster/keys.h"
#include "frontend/cluster/lexer.h"

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwClusterLexer lexer;
    MwClusterToken token; /* the next one */
    MwCluster *cluster;
    int depth;                       /* of files each like the next; 1: no file is like this one */
    MwSpan opened[MW_SECTION_COUNT]; /* where a section was opened; no source: not yet */
    MwSpan opened_gemm[MW_TYPE_COUNT]; /* where the section `gemm TYPE` of each type was opened */
} MwClusterReader;

void mw_cluster_advance(MwClusterReader *reader);
bool mw_cluster_at_sign(const MwClusterReader *reader, char sign);
/* Reads the sign if it comes next. */
bool mw_cluster_accept(MwClusterReader *reader, char sign);
/* Reads the sign, or adds an error if it does not come next; `where` names the place in the
 * message. */
bool mw_cluster_expect(MwClusterReader *reader, char sign, const char *where);

#endif
