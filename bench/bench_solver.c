/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times mw_solve: bench_solver [-v] [-g GAP] [-t SECONDS] [-m USAGE_LIMIT] [-j THREADS] [-s SEED]
 * LAYERS|FILE.json[.gz] ... */
#include "bench/solver_layers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *status_name(MwSolveStatus status)
{
    static const char *const names[] = {"optimal", "feasible", "infeasible", "unknown", "relaxed"};
    return names[status];
}

static bool bench(const char *what, const MwSolveOptions *options, int64_t usage_limit)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwProblem *problem = strspn(what, "0123456789") == strlen(what)
                             ? layered_problem(arena, atoi(what), usage_limit)
                             : mw_problem_load(arena, what, diags);
    if (problem) {
        if (usage_limit != MW_USAGE_UNLIMITED)
            problem->usage_limit = usage_limit;
        double cpu_s = -clock() / (double)CLOCKS_PER_SEC;
        MwSolution found = mw_solve(arena, problem, options);
        cpu_s += clock() / (double)CLOCKS_PER_SEC;
        printf("%-20s %7d nodes %7d edges  %-10s cost %lld  bound %lld  gap %.4f%%  peak %lld of "
               "%lld  left %d  %.3f s (cpu %.3f)\n",
               problem->name, problem->node_count, problem->edge_count, status_name(found.status),
               (long long)found.cost, (long long)found.lower_bound,
               found.cost ? 100.0 * (double)(found.cost - found.lower_bound) / (double)found.cost
                          : 0.0,
               (long long)found.peak_usage, (long long)problem->usage_limit, found.reduced_nodes,
               found.time_s, cpu_s);
    }
    mw_diags_print(diags, stderr);
    mw_arena_free(&arena);
    return problem != NULL;
}

int main(int argc, char **argv)
{
    MwSolveOptions options = {0};
    int64_t usage_limit = MW_USAGE_UNLIMITED;
    for (int option; (option = getopt(argc, argv, "vg:t:m:j:s:")) != -1;) {
        if (option == 't')
            options.time_limit_s = atof(optarg);
        else if (option == 'g')
            options.gap = atof(optarg);
        else if (option == 'j')
            options.threads = atoi(optarg);
        else if (option == 's')
            options.seed = strtoull(optarg, NULL, 10);
        else if (option == 'v')
            options.log = stdout;
        else if (option == 'm')
            usage_limit = atoll(optarg);
        else
            return 2;
    }
    bool good = true;
    for (int i = optind; i < argc; i++)
        good &= bench(argv[i], &options, usage_limit);
    return good ? 0 : 1;
}
