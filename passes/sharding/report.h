/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the intra-op pass decided about each node, and what it reckoned: the plan's report takes it
 * from here. Seconds are of one step: work done once per micro-batch counts that many times. */
#ifndef MW_PASSES_SHARDING_REPORT_H
#define MW_PASSES_SHARDING_REPORT_H

#include "passes/sharding/result.h"

typedef struct {
    MwCollective kind;
    int axis;
    int64_t bytes; /* of the larger side, per device, of one run */
    double time_s; /* of all runs in a step */
} MwReportCollective;

typedef struct {
    MwNodeId giver; /* the node that gives it; never an identity */
    int rank;
    MwSpec spec; /* as the node takes it */
} MwReportOperand;

/* One node of the global graph that partition was given. Identities do not appear by themselves:
 * what they reshard is listed with the first node that takes it. */
typedef struct {
    MwNodeId node; /* of the global graph */
    int rank;
    MwSpec spec; /* of its first result */
    MwReportOperand *operands;
    int operand_count;
    double compute_s;
    double communication_s;          /* slices included, which are no collectives */
    MwReportCollective *collectives; /* that bring its operands into their specs, or its results
                                        into those of the weights they are assigned to */
    int collective_count;
    bool has_runner_up; /* another strategy is possible and fits, the others held */
    MwSpec runner_up;   /* its spec of the first result */
    double runner_up_extra_s;
    bool pinned;
} MwReportNode;

struct MwReport {
    int count;
    MwReportNode *nodes; /* in the order of the graph */
    int *index;          /* [global nodes] index into `nodes`; -1: an identity */
    double objective_s, lower_bound_s;
    double compute_s, communication_s; /* their sum is the objective */
};
typedef struct MwReport MwReport;

MwReport *mw_report(MwArena *arena, const MwSharding *sharding);

#endif
