/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/flows.h"

#include <math.h>

MwFlows mw_flows(MwArena *arena, const MwRoutes *routes, MwEvents *events)
{
    return (MwFlows){.arena = arena,
                     .routes = routes,
                     .events = events,
                     .links = MW_NEW(arena, MwFlowLink, routes->link_count)};
}

static const MwRoute *route_of(const MwFlows *flows, int flow)
{
    return &flows->routes->routes[flows->flows.at[flow].transfer];
}

/* How many links a route has that differ. */
static int count_links(const MwRoute *route)
{
    return route->links[0] == route->links[1] ? 1 : MW_FLOW_LINKS;
}

static void add_event(MwFlows *flows, int flow, double time_s)
{
    const int turn = ++flows->flows.at[flow].turn;
    mw_events_add(flows->events, (MwEvent){time_s, 0, MW_EVENT_FLOW, flow, turn});
}

/* ---- Rates ---- */

static void set_rate(MwFlows *flows, int index, double now_s)
{
    const MwRoute *route = route_of(flows, index);
    MwFlow *flow = &flows->flows.at[index];
    double rate = 1;
    for (int l = 0; l < count_links(route); l++)
        rate = fmin(rate, 1 / flows->links[route->links[l]].load);
    if (rate == flow->rate)
        return;
    flow->left_s = fmax(flow->left_s - (now_s - flow->then_s) * flow->rate, 0);
    flow->then_s = now_s;
    flow->rate = rate;
    add_event(flows, index, now_s + flow->left_s / rate);
}

/* A flow came onto the links or left them. */
static void set_rates(MwFlows *flows, const MwRoute *route, double now_s)
{
    for (int l = 0; l < count_links(route); l++) {
        const MwFlowLink *link = &flows->links[route->links[l]];
        for (int i = 0; i < link->flows.count; i++)
            set_rate(flows, link->flows.at[i], now_s);
    }
}

/* The load is summed anew, so that it does not drift. */
static void sum_load(const MwFlows *flows, MwFlowLink *link)
{
    link->load = 0;
    for (int i = 0; i < link->flows.count; i++)
        link->load += route_of(flows, link->flows.at[i])->load;
}

static void move(MwFlows *flows, int index, double now_s)
{
    const MwRoute *route = route_of(flows, index);
    MwFlow *flow = &flows->flows.at[index];
    flow->moves = true;
    flow->left_s = route->share_s;
    flow->then_s = now_s;
    flow->rate = 0;
    for (int l = 0; l < count_links(route); l++) {
        MwFlowLink *link = &flows->links[route->links[l]];
        mw_vec_push(flows->arena, &link->flows, index);
        sum_load(flows, link);
    }
    set_rates(flows, route, now_s);
}

static void leave(MwFlows *flows, int index, double now_s)
{
    const MwRoute *route = route_of(flows, index);
    for (int l = 0; l < count_links(route); l++) {
        MwFlowLink *link = &flows->links[route->links[l]];
        int kept = 0;
        for (int i = 0; i < link->flows.count; i++)
            if (link->flows.at[i] != index)
                link->flows.at[kept++] = link->flows.at[i];
        link->flows.count = kept;
        sum_load(flows, link);
    }
    set_rates(flows, route, now_s);
    flows->flows.at[index].turn++;
    mw_vec_push(flows->arena, &flows->free, index);
}

/* ---- Flows ---- */

void mw_flows_begin(MwFlows *flows, int transfer, int message, double now_s)
{
    const MwRoute *route = &flows->routes->routes[transfer];
    int index = flows->flows.count;
    if (flows->free.count)
        index = flows->free.at[--flows->free.count];
    else
        (void)mw_vec_add(flows->arena, &flows->flows);
    MwFlow *flow = &flows->flows.at[index];
    *flow =
        (MwFlow){.transfer = transfer, .message = message, .begin_s = now_s, .turn = flow->turn};
    if (route->start_s > 0)
        add_event(flows, index, now_s + route->start_s);
    else
        move(flows, index, now_s);
}

bool mw_flows_take(MwFlows *flows, const MwEvent *event, MwFlow *ended)
{
    const MwFlow *flow = &flows->flows.at[event->index];
    if (event->turn != flow->turn)
        return false;
    if (!flow->moves) {
        move(flows, event->index, event->time_s);
        return false;
    }
    *ended = *flow;
    leave(flows, event->index, event->time_s);
    return true;
}
