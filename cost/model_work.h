/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work that a model is, however it is planned: what model FLOP utilisation (Chowdhery et al.:
 * PaLM, 2022, appendix B) is measured by. */
#ifndef MW_COST_MODEL_WORK_H
#define MW_COST_MODEL_WORK_H

#include "ir/cluster.h"
#include "ir/ir.h"

typedef struct {
    double flops; /* of products, convolutions and attention, in a step */
    /* seconds that these take on one device at the rates of its datasheet; 0: it has none for one
     * of their types */
    double peak_s;
} MwModelWork;

/* The work of all nodes of a graph on global shapes, before anything is made again. */
MwModelWork mw_cost_model_work(const MwGraph *graph, const MwCluster *cluster);

#endif
