/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of a cluster by their paths, as "network.bandwidth" or "device.gemm.bf16.rate", for
 * whoever asks what another cluster would change. */
#ifndef MW_FRONTEND_CLUSTER_FIGURE_H
#define MW_FRONTEND_CLUSTER_FIGURE_H

#include "base/diag.h"
#include "base/vec.h"
#include "frontend/cluster/keys.h"

typedef struct {
    const char *path; /* the sections around the figure and its key, with dots between */
    const MwClusterKey *key;
    MwType type; /* of the products, where the section is `gemm TYPE` */
} MwClusterFigure;

typedef MW_VEC(MwClusterFigure) MwClusterFigures;

/* Every figure of a cluster file that is a number, a list or a curve, in `arena`. */
MwClusterFigures mw_cluster_figures(MwArena *arena);

/* The figure at `path`, in `arena`; "links." may stand before node and network. NULL: none is. */
const MwClusterFigure *mw_cluster_figure(MwArena *arena, const char *path);

/* Sets a figure to a value as files have it, "50 GB/s", or to a multiple of what it is, "0.5x", by
 * which all values of a list or curve are multiplied. What was measured on a link is left out of
 * the cluster where a figure of the link is set, since it would take the place of the formulas that
 * use the figure. `value` must outlive `diags`. False after an error. */
bool mw_cluster_figure_set(MwArena *arena, MwCluster *cluster, const MwClusterFigure *figure,
                           const MwSource *value, MwDiags *diags);

/* Whether a cluster with other figures is one that a file could describe: errors say what does not
 * go together. */
bool mw_cluster_figures_agree(MwArena *arena, const MwCluster *cluster, MwDiags *diags);

#endif
