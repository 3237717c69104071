/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/solve/reason.h"

#include "tools/solve/text.h"

#include <string.h>

enum { SHOWN = 10 /* greatest number of nodes, or times, that are printed */ };

static void add_more(MwText *text, int count)
{
    if (count > SHOWN)
        mw_text_printf(text, "           and %d more\n", count - SHOWN);
}

/* Returns the label of a node; NULL if it has none. */
static const char *label_of(const MwProblem *problem, int node)
{
    const char *label = problem->nodes[node].label;
    return label && *label ? label : NULL;
}

static void add_nodes(MwText *text, const MwProblem *problem, const MwInfeasibility *why)
{
    char least[MW_COST_TEXT_BYTES];
    int width = why->node_count > 0 ? (int)strlen(mw_cost_text(why->nodes[0].least, least)) : 0;
    for (int i = 0; i < mw_min(why->node_count, SHOWN); i++) {
        const char *label = label_of(problem, why->nodes[i].node);
        mw_text_printf(text, "%-11s%*s by node %d%s%s\n", i == 0 ? "  least" : "", width,
                       mw_cost_text(why->nodes[i].least, least), why->nodes[i].node,
                       label ? ", " : "", label ? label : "");
    }
    add_more(text, why->node_count);
}

static void add_times(MwText *text, const MwProblem *problem, const MwInfeasibility *why)
{
    char needed[MW_COST_TEXT_BYTES], available[MW_COST_TEXT_BYTES];
    mw_cost_text(why->needed, needed);
    if (why->time_count == 1) {
        mw_text_printf(text, "at time %lld any choice uses at least %s, the limit is %lld\n",
                       (long long)why->times[0].time, needed, (long long)problem->usage_limit);
        return;
    }
    mw_text_printf(text, "at %d times together any choice uses at least %s, the limit allows %s\n",
                   why->time_count, needed, mw_cost_text(why->available, available));
    for (int i = 0; i < mw_min(why->time_count, SHOWN); i++)
        mw_text_printf(text, "%-11s%lld x the usage at time %lld\n", i == 0 ? "  sum" : "",
                       (long long)why->times[i].weight, (long long)why->times[i].time);
    add_more(text, why->time_count);
}

static void add_excluding(MwText *text, const MwProblem *problem, const MwInfeasibility *why)
{
    mw_text_printf(text, "any choice takes a forbidden strategy or pair, within node%s",
                   why->node_count == 1 ? "" : "s");
    for (int i = 0; i < mw_min(why->node_count, SHOWN); i++) {
        const char *label = label_of(problem, why->nodes[i].node);
        mw_text_printf(text, "%s%d", i ? ", " : " ", why->nodes[i].node);
        if (label)
            mw_text_printf(text, " (%s)", label);
    }
    mw_text_add(text, "\n");
    add_more(text, why->node_count);
}

void mw_solve_reason(MwText *text, const MwProblem *problem, const MwInfeasibility *why)
{
    mw_text_add(text, "reason     ");
    if (why->reason == MW_INFEASIBLE_NODES) {
        add_excluding(text, problem, why);
        return;
    }
    if (why->reason == MW_INFEASIBLE_SEARCH)
        mw_text_add(text, "a search through all that was left found none\n"
                          "closest    ");
    add_times(text, problem, why);
    add_nodes(text, problem, why);
}

static void open_entry(MwJson *json, const char *key, int64_t value)
{
    yajl_gen_map_open(json->gen);
    mw_json_field_int(json, key, value);
}

static void write_usages(MwJson *json, const MwInfeasibility *why)
{
    mw_json_field_cost(json, "needed", why->needed);
    mw_json_field_cost(json, "available", why->available);
    mw_json_field_array(json, "times");
    for (int i = 0; i < why->time_count; i++) {
        open_entry(json, "time", why->times[i].time);
        mw_json_field_int(json, "share", why->times[i].weight);
        yajl_gen_map_close(json->gen);
    }
    yajl_gen_array_close(json->gen);
}

static void write_nodes(MwJson *json, const MwProblem *problem, const MwInfeasibility *why)
{
    mw_json_field_array(json, "nodes");
    for (int i = 0; i < why->node_count; i++) {
        const char *label = label_of(problem, why->nodes[i].node);
        open_entry(json, "node", why->nodes[i].node);
        if (label)
            mw_json_field_string(json, "label", label);
        if (why->reason != MW_INFEASIBLE_NODES)
            mw_json_field_cost(json, "least", why->nodes[i].least);
        yajl_gen_map_close(json->gen);
    }
    yajl_gen_array_close(json->gen);
}

void mw_solve_reason_json(MwJson *json, const MwProblem *problem, const MwInfeasibility *why)
{
    static const char *const names[] = {
        [MW_INFEASIBLE_NODES] = "nodes",
        [MW_INFEASIBLE_TIME] = "time",
        [MW_INFEASIBLE_TIMES] = "times",
        [MW_INFEASIBLE_SEARCH] = "search",
    };
    mw_json_string(json, "infeasible");
    yajl_gen_map_open(json->gen);
    mw_json_field_string(json, "reason", names[why->reason]);
    if (why->reason != MW_INFEASIBLE_NODES)
        write_usages(json, why);
    write_nodes(json, problem, why);
    yajl_gen_map_close(json->gen);
}
