/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of transfers on their way over links that they share.
 *
 * A flow first takes the time of calls and latency, then moves its bytes at a rate: 1 where its
 * links are not full, otherwise the least of its fair shares of them, by which flows on a full link
 * are slowed alike. What one flow leaves of its share since another of its links is slower goes to
 * nobody, so that the times are no less than those of max-min fairness.
 *
 * Time of a beginning or an end grows with the flows that share a link with it. Memory grows with
 * the flows that are on their way at once. */
#ifndef MW_CODEGEN_SIMULATE_FLOWS_H
#define MW_CODEGEN_SIMULATE_FLOWS_H

#include "codegen/simulate/events.h"
#include "codegen/simulate/links.h"

typedef struct {
    int transfer, message; /* the message is that of micro-batch number `message` */
    double begin_s;
    bool moves;    /* its bytes are on their way: */
    double left_s; /* at rate 1, as of `then_s` */
    double then_s, rate;
    int turn; /* changes whenever an event of it is no longer true */
} MwFlow;

typedef struct {
    double load; /* of the flows on it */
    MW_VEC(int) flows;
} MwFlowLink;

typedef struct {
    MwArena *arena;
    const MwRoutes *routes;
    MwEvents *events;
    MW_VEC(MwFlow) flows;
    MW_VEC(int) free; /* flows that ended */
    MwFlowLink *links;
} MwFlows;

MwFlows mw_flows(MwArena *arena, const MwRoutes *routes, MwEvents *events);

/* A message begins to be transferred. */
void mw_flows_begin(MwFlows *flows, int transfer, int message, double now_s);
/* Takes an event of a flow; true if the flow has ended: it is in `*ended`. */
bool mw_flows_take(MwFlows *flows, const MwEvent *event, MwFlow *ended);

#endif
