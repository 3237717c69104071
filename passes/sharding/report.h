/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the intra-operator pass decided for each node, with its predicted costs; the source of
 * the plan's report. Seconds are of one step: work of every micro-batch counts micro_batches
 * times. */
#ifndef MW_PASSES_SHARDING_REPORT_H
#define MW_PASSES_SHARDING_REPORT_H

#include "passes/sharding/result.h"

typedef struct {
    MwCollective kind;
    int axis;
    int64_t bytes; /* per device, of the larger of operand and result, in one run */
    double time_s; /* all runs in a step */
} MwReportCollective;

typedef struct {
    MwNodeId producer; /* the node that makes it; identities are passed over */
    int rank;
    MwSpec spec; /* the spec in which the node uses it */
} MwReportOperand;

/* One node of the global graph, before partition. Identities have no entry: their resharding is
 * listed with the first node that uses the copy. */
typedef struct {
    MwNodeId node; /* of the global graph */
    int rank;
    MwSpec spec; /* of its first result */
    MwReportOperand *operands;
    int operand_count;
    double compute_s;
    double communication_s;          /* collectives and the slices of resharding */
    MwReportCollective *collectives; /* those that reshard its operands, or its results to the specs
                                        of the weights they are assigned to */
    int collective_count;
    bool has_runner_up; /* another strategy is possible and fits, with all other nodes as chosen */
    MwSpec runner_up;   /* spec of the first result in that strategy */
    double runner_up_extra_s; /* seconds that the step takes longer with it */
    bool pinned;
} MwReportNode;

struct MwReport {
    int count;
    MwReportNode *nodes;  /* in the order of the graph */
    int *index;           /* [global nodes] index into `nodes`; -1: an identity */
    double objective_s;   /* compute_s + communication_s */
    double lower_bound_s; /* of the objective, proven */
    double compute_s, communication_s;
};
typedef struct MwReport MwReport;

/* The report lies in `arena`. */
MwReport *mw_report(MwArena *arena, const MwSharding *sharding);

#endif
