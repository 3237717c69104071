/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the lists of a problem file against each other and builds the problem. */
#include "solver/file/problem_file.h"

#include <limits.h>
#include <stdarg.h>

typedef struct {
    const MwProblemLists *lists;
    const char *path;
    MwDiags *diags;
} Check;

/* Reports "PATH: problem.nodes.costs[3]: ...". Always returns false. */
static bool MW_PRINTF(4, 5)
    report(const Check *check, MwProblemList list, int index, const char *format, ...)
{
    MwArena *scratch = mw_arena_new();
    va_list args;
    va_start(args, format);
    const char *problem = mw_arena_vprintf(scratch, format, args);
    va_end(args);
    mw_diag_error(check->diags, mw_span_none(), "%s: %s[%d]: %s", check->path,
                  mw_problem_list_name(list), index, problem);
    mw_arena_free(&scratch);
    return false;
}

static bool check_present(const Check *check)
{
    for (MwProblemList list = MW_LIST_NONE + 1; list < MW_LIST_COUNT; list++)
        if (!check->lists->present[list]) {
            mw_diag_error(check->diags, mw_span_none(), "%s: %s is missing", check->path,
                          mw_problem_list_name(list));
            return false;
        }
    return true;
}

static bool check_same_length(const Check *check, MwProblemList list, MwProblemList as)
{
    int count = check->lists->lists[list].count, expected = check->lists->lists[as].count;
    if (count == expected)
        return true;
    mw_diag_error(check->diags, mw_span_none(), "%s: %s has %d entries, %s has %d", check->path,
                  mw_problem_list_name(list), count, mw_problem_list_name(as), expected);
    return false;
}

static bool load_node(const Check *check, int i, MwProblemNode *node)
{
    MwProblemRow interval = check->lists->lists[MW_LIST_INTERVALS].at[i];
    MwProblemRow costs = check->lists->lists[MW_LIST_COSTS].at[i];
    MwProblemRow usages = check->lists->lists[MW_LIST_USAGES].at[i];
    if (interval.count != 2)
        return report(check, MW_LIST_INTERVALS, i, "expected [begin, end)");
    if (interval.at[0] > interval.at[1])
        return report(check, MW_LIST_INTERVALS, i, "ends at %lld, before it begins at %lld",
                      (long long)interval.at[1], (long long)interval.at[0]);
    if (costs.count < 1)
        return report(check, MW_LIST_COSTS, i, "a node needs at least one strategy");
    if (usages.count != costs.count)
        return report(check, MW_LIST_USAGES, i, "%lld usages, but the node has %lld costs",
                      (long long)usages.count, (long long)costs.count);
    *node = (MwProblemNode){.strategy_count = (int)costs.count,
                            .cost = costs.at,
                            .usage = usages.at,
                            .begin = interval.at[0],
                            .end = interval.at[1]};
    return true;
}

static bool load_edge(const Check *check, int i, const MwProblem *problem, MwProblemEdge *edge)
{
    MwProblemRow nodes = check->lists->lists[MW_LIST_EDGE_NODES].at[i];
    MwProblemRow costs = check->lists->lists[MW_LIST_EDGE_COSTS].at[i];
    if (nodes.count != 2)
        return report(check, MW_LIST_EDGE_NODES, i, "expected two nodes");
    for (int k = 0; k < 2; k++)
        if (nodes.at[k] >= problem->node_count)
            return report(check, MW_LIST_EDGE_NODES, i, "node %lld of %d", (long long)nodes.at[k],
                          problem->node_count);
    if (nodes.at[0] == nodes.at[1])
        return report(check, MW_LIST_EDGE_NODES, i, "joins node %lld to itself",
                      (long long)nodes.at[0]);
    *edge = (MwProblemEdge){(int)nodes.at[0], (int)nodes.at[1], costs.at};
    int64_t rows = problem->nodes[edge->a].strategy_count;
    int64_t columns = problem->nodes[edge->b].strategy_count;
    if (costs.count != rows * columns)
        return report(check, MW_LIST_EDGE_COSTS, i,
                      "%lld costs, but nodes %d and %d have %lld and %lld strategies",
                      (long long)costs.count, edge->a, edge->b, (long long)rows,
                      (long long)columns);
    return true;
}

static bool load_labels(const Check *check, const MwProblem *problem)
{
    int count = check->lists->labels.count;
    if (count > 0 && count != problem->node_count) {
        mw_diag_error(check->diags, mw_span_none(),
                      "%s: problem.nodes.labels has %d entries, %s has %d", check->path, count,
                      mw_problem_list_name(MW_LIST_COSTS), problem->node_count);
        return false;
    }
    for (int i = 0; i < count; i++)
        problem->nodes[i].label = check->lists->labels.at[i];
    return true;
}

static bool load_all(const Check *check, MwArena *arena, MwProblem *problem)
{
    if (!check_present(check) || !check_same_length(check, MW_LIST_INTERVALS, MW_LIST_COSTS) ||
        !check_same_length(check, MW_LIST_USAGES, MW_LIST_COSTS) ||
        !check_same_length(check, MW_LIST_EDGE_NODES, MW_LIST_EDGE_COSTS))
        return false;
    problem->name = check->lists->name ? check->lists->name : "";
    problem->usage_limit = check->lists->usage_limit;
    problem->node_count = check->lists->lists[MW_LIST_COSTS].count;
    problem->edge_count = check->lists->lists[MW_LIST_EDGE_NODES].count;
    problem->nodes = MW_NEW(arena, MwProblemNode, problem->node_count);
    problem->edges = MW_NEW(arena, MwProblemEdge, problem->edge_count);
    for (int i = 0; i < problem->node_count; i++)
        if (!load_node(check, i, &problem->nodes[i]))
            return false;
    for (int i = 0; i < problem->edge_count; i++)
        if (!load_edge(check, i, problem, &problem->edges[i]))
            return false;
    return load_labels(check, problem);
}

MwProblem *mw_problem_load(MwArena *arena, const char *path, MwDiags *diags)
{
    MwArena *scratch = mw_arena_new();
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    Check check = {mw_problem_parse(arena, scratch, path, diags), path, diags};
    bool good = check.lists && load_all(&check, arena, problem);
    mw_arena_free(&scratch);
    return good ? problem : NULL;
}
