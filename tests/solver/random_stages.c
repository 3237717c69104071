/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/solver/random_stages.h"

#include "tests/solver/random_problem.h"

#include <string.h>

enum { MAX_STAGES = 16, INTERLEAVED_CHUNKS = 2 };

static int64_t keep_all(const void *context, int stages, int remaining)
{
    const MwStageSchedule *schedule = context;
    (void)stages, (void)remaining;
    return schedule->micro_batches;
}

static int64_t keep_remaining(const void *context, int stages, int remaining)
{
    (void)stages;
    return mw_min(keep_all(context, 0, 0), remaining + 1);
}

static int64_t keep_twice(const void *context, int stages, int remaining)
{
    (void)stages;
    return mw_min(keep_all(context, 0, 0), 2 * remaining + 1);
}

static int64_t keep_interleaved(const void *context, int stages, int remaining)
{
    int64_t most = INTERLEAVED_CHUNKS * keep_all(context, 0, 0);
    return mw_min(most, 2 * remaining + (INTERLEAVED_CHUNKS - 1) * stages + 1);
}

static int64_t keep_one(const void *context, int stages, int remaining)
{
    (void)context, (void)stages, (void)remaining;
    return 1;
}

static const MwStageSchedule schedules[] = {
    {.chunks = 1, .in_flight = keep_all},
    {.chunks = 1, .returns = true, .in_flight = keep_remaining},
    {.chunks = INTERLEAVED_CHUNKS, .by_stages = true, .in_flight = keep_interleaved},
    {.chunks = 1, .deferred = 2, .returns = true, .in_flight = keep_remaining},
    {.chunks = 1, .deferred = 3, .in_flight = keep_twice},
    {.chunks = 1, .in_flight = keep_one},
};

int stage_class(const MwStageProblem *problem, int begin, int end)
{
    int interval = begin * (problem->layer_count + 1) + end;
    return problem->interval_class ? problem->interval_class[interval] : interval;
}

static int cell(const RandomStages *stages, int begin, int end, int submesh)
{
    return stage_class(&stages->problem, begin, end) * stages->submesh_count + submesh;
}

static void answer(void *context, MwStageQuery *queries, int count)
{
    RandomStages *stages = context;
    for (int i = 0; i < count; i++) {
        int at = cell(stages, queries[i].begin, queries[i].end, queries[i].submesh);
        stages->questions[at]++;
        stages->asked++;
        queries[i].count = stages->count[at];
        queries[i].candidates = stages->candidate[at];
    }
}

static bool is_spent(void *context)
{
    const RandomStages *stages = context;
    return stages->asked >= stages->patience;
}

static bool is_known(void *context, int begin, int end, int submesh)
{
    return cell(context, begin, end, submesh) % 2 == 0;
}

void random_stages_tire(RandomStages *stages, int patience)
{
    stages->patience = patience;
    stages->problem.is_spent = is_spent;
    stages->problem.is_known = is_known;
}

/* The best of each part, sometimes less. */
static bool bound(void *context, int begin, int end, int submesh, MwStageCandidate *least)
{
    const RandomStages *stages = context;
    int at = cell(stages, begin, end, submesh);
    int64_t slack = (begin + end + submesh) % 3;
    if (stages->count[at] == 0 && slack > 0)
        return false;
    *least = stages->count[at] > 0 ? stages->candidate[at][0] : (MwStageCandidate){0};
    for (int i = 1; i < stages->count[at]; i++) {
        const MwStageCandidate *other = &stages->candidate[at][i];
        least->time = mw_min(least->time, other->time);
        least->weight_time = mw_max(least->weight_time, other->weight_time);
        least->step_time = mw_min(least->step_time, other->step_time);
        least->kept_bytes = mw_min(least->kept_bytes, other->kept_bytes);
        least->saved_bytes = mw_min(least->saved_bytes, other->saved_bytes);
        least->peak_bytes = mw_min(least->peak_bytes, other->peak_bytes);
    }
    least->time = mw_max(0, least->time - slack);
    least->kept_bytes = mw_max(0, least->kept_bytes - slack);
    return true;
}

static MwStageCandidate random_candidate(const StageKind *kind, uint64_t *state)
{
    MwStageCandidate candidate = {.time = draw(state, kind->greatest_time)};
    candidate.weight_time = draw(state, candidate.time / 2 + 1);
    candidate.step_time = draw(state, draw(state, 3) ? 8 * kind->greatest_time : 2);
    candidate.kept_bytes = draw(state, 20);
    candidate.saved_bytes = draw(state, 8);
    candidate.peak_bytes = draw(state, 5);
    return candidate;
}

static void random_answers(MwArena *arena, const StageKind *kind, RandomStages *stages,
                           uint64_t *state)
{
    int cells = stages->problem.class_count * stages->submesh_count;
    stages->count = MW_NEW(arena, int, cells);
    stages->candidate = MW_NEW(arena, MwStageCandidate *, cells);
    stages->questions = MW_NEW(arena, int, cells);
    for (int i = 0; i < cells; i++) {
        if (draw(state, 100) < kind->none_percent)
            continue;
        stages->count[i] = 1 + (int)draw(state, kind->candidates);
        stages->candidate[i] = MW_NEW(arena, MwStageCandidate, stages->count[i]);
        for (int c = 0; c < stages->count[i]; c++)
            stages->candidate[i][c] = random_candidate(kind, state);
    }
}

/* Intervals of the same length and parity of begin. */
static void set_classes(MwArena *arena, const StageKind *kind, MwStageProblem *problem)
{
    int width = problem->layer_count + 1;
    problem->class_count = width * width;
    if (!kind->classes)
        return;
    problem->class_count = 2 * width;
    int *classes = MW_NEW(arena, int, width *width);
    for (int begin = 0; begin < width; begin++)
        for (int end = begin; end < width; end++)
            classes[begin * width + end] = 2 * (end - begin) + begin % 2;
    problem->interval_class = classes;
}

static void random_pins(MwArena *arena, MwStageProblem *problem, int submesh_count, uint64_t *state)
{
    if (draw(state, 2))
        problem->least_stages = (int)draw(state, problem->layer_count + 2);
    if (draw(state, 2))
        problem->most_stages = problem->least_stages + (int)draw(state, 3);
    if (draw(state, 4) == 0)
        problem->submesh = (int)draw(state, submesh_count);
    if (draw(state, 3) == 0)
        return;
    int *pins = MW_NEW(arena, int, problem->layer_count);
    for (int i = 0; i < problem->layer_count; i++)
        pins[i] = draw(state, 3) ? -1 : (int)draw(state, i + 1);
    problem->layer_stage = pins;
}

static const MwStageCut *random_cuts(MwArena *arena, const StageKind *kind, int layers,
                                     uint64_t *state)
{
    MwStageCut *cuts = MW_NEW(arena, MwStageCut, layers);
    for (int i = 0; i < layers; i++)
        cuts[i] =
            (MwStageCut){draw(state, kind->greatest_cut), draw(state, kind->greatest_cut / 2 + 1)};
    return cuts;
}

/* As solver/stages/problem.h lists them. */
static void list_submeshes(RandomStages *stages)
{
    MwStageCluster cluster = stages->problem.cluster;
    for (int part = 1; part < cluster.devices_per_node; part *= 2)
        stages->submeshes[stages->submesh_count++] = (MwStageSubmesh){0, part};
    for (int i = 1; i <= cluster.nodes; i++)
        stages->submeshes[stages->submesh_count++] =
            (MwStageSubmesh){i, i * cluster.devices_per_node};
}

RandomStages *random_stages(MwArena *arena, const StageKind *kind, uint64_t seed)
{
    uint64_t random = seed, *state = &random;
    RandomStages *stages = MW_NEW(arena, RandomStages, 1);
    MwStageProblem *problem = &stages->problem;
    problem->layer_count = 1 + (int)draw(state, kind->layers);
    problem->cluster.nodes = 1 + (int)draw(state, kind->nodes);
    problem->cluster.devices_per_node = 1 + (int)draw(state, kind->devices_per_node);
    problem->memory_bytes = kind->limited ? draw(state, 60) : INT64_MAX;
    problem->cuts = draw(state, 3) ? random_cuts(arena, kind, problem->layer_count, state) : NULL;
    if (problem->cuts && draw(state, 3) == 0) {
        problem->inner_cuts = random_cuts(arena, kind, problem->layer_count, state);
        problem->stages_of_node = 1 + (int)draw(state, 3);
    }
    problem->schedule = schedules[draw(state, MW_COUNT(schedules))];
    problem->schedule.micro_batches = 1 + draw(state, kind->micro_batches);
    problem->schedule.context = &problem->schedule;
    problem->submesh = -1;
    list_submeshes(stages);
    set_classes(arena, kind, problem);
    if (kind->pinned)
        random_pins(arena, problem, stages->submesh_count, state);
    random_answers(arena, kind, stages, state);
    if (!kind->classes)
        problem->class_count = 0;
    problem->answer = answer;
    problem->bound = kind->bounded ? bound : NULL;
    problem->context = stages;
    return stages;
}

static bool lies_in_nodes(int *free_devices, int nodes, const MwStageSubmesh *parts, int count)
{
    while (count > 0 && parts[0].nodes > 0)
        parts++, count--;
    if (count == 0)
        return true;
    for (int node = 0; node < nodes; node++) {
        if (free_devices[node] < parts[0].devices)
            continue;
        free_devices[node] -= parts[0].devices;
        bool good = lies_in_nodes(free_devices, nodes, parts + 1, count - 1);
        free_devices[node] += parts[0].devices;
        if (good)
            return true;
    }
    return false;
}

bool lies_in(MwStageCluster cluster, const MwStageSubmesh *submeshes, int count)
{
    int free_devices[64], nodes = cluster.nodes;
    for (int i = 0; i < count; i++)
        nodes -= submeshes[i].nodes;
    for (int i = 0; i < nodes; i++)
        free_devices[i] = cluster.devices_per_node;
    return nodes >= 0 && lies_in_nodes(free_devices, nodes, submeshes, count);
}

static int64_t fill_of(const MwStageSchedule *schedule, const MwStageCandidate *cost)
{
    return mw_max(0, cost->time - schedule->deferred * cost->weight_time) / schedule->chunks;
}

/* The cut before stage `i`. */
static MwStageCut cut_before(const MwStageProblem *problem, const MwStageChoice *stages, int count,
                             int i)
{
    if (!problem->cuts)
        return (MwStageCut){0};
    const bool is_inner = problem->inner_cuts && (count - i) % problem->stages_of_node != 0;
    return (is_inner ? problem->inner_cuts : problem->cuts)[stages[i].begin];
}

int64_t stages_total(const MwStageProblem *problem, const MwStageChoice *stages, int count)
{
    const MwStageSchedule *schedule = &problem->schedule;
    int64_t fill = 0, steady = 0, step = 0, batches = schedule->micro_batches;
    for (int i = 0; i < count; i++) {
        const MwStageCandidate *cost = &stages[i].cost;
        fill += fill_of(schedule, cost);
        steady = mw_max(steady, batches * cost->time - fill_of(schedule, cost));
        step = mw_max(step, cost->step_time);
        if (i > 0) {
            fill += cut_before(problem, stages, count, i).latency;
            steady = mw_max(steady, (batches - 1) * cut_before(problem, stages, count, i).busy);
        }
        int64_t flying = schedule->in_flight(schedule->context, count, count - 1 - i);
        int64_t round = fill_of(schedule, cost);
        for (int k = i + 1; k < count; k++)
            round +=
                fill_of(schedule, &stages[k].cost) + cut_before(problem, stages, count, k).latency;
        if (schedule->returns && flying < batches)
            steady = mw_max(steady, mw_ceil_div((batches - 1) * round, flying));
    }
    return fill + steady + step;
}

typedef struct {
    const RandomStages *stages;
    StageFilter filter;
    MwStageChoice cut[MAX_STAGES];
    EnumeratedStages *best;
} Enumeration;

static bool allowed(const Enumeration *at, int count)
{
    const MwStageProblem *problem = &at->stages->problem;
    if (count < problem->least_stages || (problem->most_stages > 0 && count > problem->most_stages))
        return false;
    MwStageSubmesh submeshes[MAX_STAGES] = {0};
    for (int i = 0; i < count; i++) {
        submeshes[i] = at->stages->submeshes[at->cut[i].submesh];
        for (int layer = at->cut[i].begin; layer < at->cut[i].end; layer++)
            if (problem->layer_stage && !at->filter.ignore_pins &&
                problem->layer_stage[layer] >= 0 && problem->layer_stage[layer] != i)
                return false;
    }
    return lies_in(problem->cluster, submeshes, count);
}

static void try_cut(Enumeration *at, int count)
{
    const MwStageProblem *problem = &at->stages->problem;
    int64_t bytes = 0;
    if (!allowed(at, count))
        return;
    for (int i = 0; i < count; i++) {
        const MwStageCandidate *cost = &at->cut[i].cost;
        int64_t flying =
            problem->schedule.in_flight(problem->schedule.context, count, count - 1 - i);
        bytes = mw_max(bytes, cost->kept_bytes + flying * cost->saved_bytes + cost->peak_bytes);
    }
    EnumeratedStages *best = at->best;
    best->needed_bytes = best->fits_some ? mw_min(best->needed_bytes, bytes) : bytes;
    best->fits_some = true;
    int64_t total = stages_total(problem, at->cut, count);
    if (bytes > problem->memory_bytes || (best->possible && best->total <= total))
        return;
    best->possible = true;
    best->total = total;
}

static void extend(Enumeration *at, int count, int begin, int devices)
{
    const RandomStages *stages = at->stages;
    static const MwStageCandidate nothing;
    if (begin == stages->problem.layer_count && devices == 0)
        try_cut(at, count);
    for (int end = begin + 1; end <= stages->problem.layer_count; end++)
        for (int k = 0; k < stages->submesh_count && stages->submeshes[k].devices <= devices; k++) {
            if (stages->problem.submesh >= 0 && stages->problem.submesh != k)
                continue;
            int from = cell(stages, begin, end, k);
            int candidates = at->filter.ignore_answers ? 1 : stages->count[from];
            for (int c = 0; c < candidates; c++) {
                at->cut[count] = (MwStageChoice){.begin = begin, .end = end, .submesh = k};
                at->cut[count].cost =
                    at->filter.ignore_answers ? nothing : stages->candidate[from][c];
                extend(at, count + 1, end, devices - stages->submeshes[k].devices);
            }
        }
}

EnumeratedStages enumerate_stages(const RandomStages *stages, StageFilter filter)
{
    EnumeratedStages best = {0};
    Enumeration at = {.stages = stages, .filter = filter, .best = &best};
    MwStageCluster cluster = stages->problem.cluster;
    extend(&at, 0, 0, cluster.nodes * cluster.devices_per_node);
    return best;
}
