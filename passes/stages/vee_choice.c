/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the costs of intervals of layers (cost.h).
 * Out: the layout whose meshes take the least time (solver/stages/vee.h), priced by its timeline.
 *
 * As stages of a mesh share a logical mesh, the problem is solved for each, on several threads.
 * Costs are asked of intervals whose lower bound is near to the time that the best cut by lower
 * bounds takes: first of those within NEAR_BOUND of it, of more while there is no cut. */
#include "passes/stages/vee_choice.h"

#include "base/threads.h"
#include "cost/units.h"
#include "passes/tuning.h"
#include "schedule/generate.h"
#include "solver/stages/vee.h"

#include <math.h>
#include <string.h>

/* The costs of an interval on one logical mesh. */
typedef struct {
    MwVeeCandidate *candidates; /* [costs.count] */
    MwStageCostList costs;
} VeeCosts;

typedef struct {
    MwArena *arena;
    const MwStageChoiceQuery *query;
    int devices; /* of a mesh */
    const MwPipelineSchedule *schedule;
    MwVeeSlots *slots;        /* [meshes] */
    bool *is_asked;           /* [interval classes] */
    MwStageChoiceAnswer best; /* so far */
} VeeSearch;

/* The problem for one logical mesh of all stages. */
typedef struct {
    const VeeSearch *search;
    MwArena *arena; /* its own, so that several are solved at once */
    MwMeshShape mesh;
    VeeCosts *costs; /* [interval classes] those that are asked */
    MwVeeCut cut, evenest;
} VeeMesh;

static int class_of(const VeeSearch *v, int begin, int end)
{
    return mw_stage_model_class(v->query->model, begin, end);
}

/* ---- Callbacks ---- */

/* The order of live_bytes is that of set_slots. */
static MwVeeCandidate candidate_of(const VeeSearch *v, const MwStageCost *cost)
{
    const double step_s = mw_stage_cost_step_s(cost, v->query->model->micro_batches);
    return (MwVeeCandidate){
        .time = mw_picoseconds(step_s),
        .kept_bytes = mw_whole_bytes(cost->kept_bytes),
        .live_bytes = {mw_whole_bytes(cost->saved_bytes), mw_whole_bytes(cost->late_bytes),
                       mw_whole_bytes(cost->weight_bytes)},
        .peak_bytes = mw_whole_bytes(mw_stage_cost_peak_bytes(cost, v->query->kind))};
}

/* The lower bound of an interval, whatever its memory. It assumes that smaller operands gain at
 * most MW_TUNED_ESTIMATE_MARGIN from caches. */
static int64_t bound_of(const VeeSearch *v, int begin, int end)
{
    const MwStageCost cost = mw_stage_costs_bound(v->query->costs, begin, end, v->devices);
    const double step_s = mw_stage_cost_step_s(&cost, v->query->model->micro_batches);
    return mw_picoseconds((1 - MW_TUNED_ESTIMATE_MARGIN) * step_s);
}

static MwVeeAnswer answer_bound(void *context, int begin, int end)
{
    const VeeSearch *v = context;
    MwVeeCandidate *candidate = MW_NEW(v->arena, MwVeeCandidate, 1);
    candidate->time = bound_of(v, begin, end);
    return (MwVeeAnswer){1, candidate};
}

/* Lists the costs of layers on the mesh. */
static void list_costs(VeeMesh *m, int begin, int end, VeeCosts *costs)
{
    const VeeSearch *v = m->search;
    const MwStageCostQuery cost_query = {begin, end, v->devices, false};
    MwStageCostList all;
    mw_stage_costs_query(v->query->costs, &cost_query, 1, &all);
    for (int i = 0; i < all.count; i++)
        if (mw_mesh_equal(&all.at[i].mesh, &m->mesh))
            mw_vec_push(m->arena, &costs->costs, all.at[i]);
    costs->candidates = MW_NEW(m->arena, MwVeeCandidate, costs->costs.count);
    for (int i = 0; i < costs->costs.count; i++)
        costs->candidates[i] = candidate_of(v, &costs->costs.at[i]);
}

/* Lists the costs of all that was asked. */
static void list_asked(VeeMesh *m)
{
    const VeeSearch *v = m->search;
    const int layers = v->query->model->layer_count;
    m->costs = MW_NEW(m->arena, VeeCosts, v->query->model->class_count);
    for (int begin = 0; begin < layers; begin++)
        for (int end = begin + 1; end <= layers; end++) {
            const int class = class_of(v, begin, end);
            if (v->is_asked[class] && !m->costs[class].candidates)
                list_costs(m, begin, end, &m->costs[class]);
        }
}

static MwVeeAnswer answer_costs(void *context, int begin, int end)
{
    const VeeMesh *m = context;
    const VeeCosts *costs = &m->costs[class_of(m->search, begin, end)];
    return (MwVeeAnswer){costs->costs.count, costs->candidates};
}

/* ---- What is asked ---- */

static bool is_spent(const VeeSearch *v)
{
    return mw_stage_costs_effort(v->query->costs) >= v->query->most_effort;
}

/* Asks the costs of all intervals whose lower bound is at most `most_time`. Once the effort is
 * spent, of those alone that are known, unless some layout must be found. */
static void ask(VeeSearch *v, int64_t most_time)
{
    const int layers = v->query->model->layer_count;
    const bool may_solve =
        !is_spent(v) || (!v->query->is_optional && v->best.layout.stage_count == 0);
    MW_VEC(MwStageCostQuery) wanted = {0};
    for (int begin = 0; begin < layers; begin++)
        for (int end = begin + 1; end <= layers && bound_of(v, begin, end) <= most_time; end++) {
            const MwStageCostQuery cost_query = {begin, end, v->devices, false};
            bool *is_asked = &v->is_asked[class_of(v, begin, end)];
            if (*is_asked || (!may_solve && !mw_stage_costs_is_known(v->query->costs, &cost_query)))
                continue;
            *is_asked = true;
            mw_vec_push(v->arena, &wanted, cost_query);
        }
    MwStageCostList *lists = MW_NEW(v->arena, MwStageCostList, wanted.count);
    mw_stage_costs_query(v->query->costs, wanted.at, wanted.count, lists);
}

/* ---- The layout ---- */

/* Sets the slots of each chunk of each mesh, by what lives in them. */
static void set_slots(VeeSearch *v)
{
    static const MwTaskKind lives[MW_VEE_LIVES][2] = {{MW_TASK_FORWARD, MW_TASK_BACKWARD_INPUT},
                                                      {MW_TASK_FORWARD, MW_TASK_WEIGHT},
                                                      {MW_TASK_BACKWARD_INPUT, MW_TASK_WEIGHT}};
    v->slots = MW_NEW(v->arena, MwVeeSlots, v->schedule->mesh_count);
    for (int mesh = 0; mesh < v->schedule->mesh_count; mesh++)
        for (int chunk = 0; chunk < mw_pipeline_mesh_chunks(v->schedule, mesh); chunk++)
            for (int k = 0; k < MW_VEE_LIVES; k++)
                v->slots[mesh].of[chunk][k] =
                    mw_pipeline_slots(v->schedule, mesh, chunk, lives[k][0], lives[k][1]);
}

/* Seconds of the longest mesh of a cut and of the longest update of a stage. */
static double ideal_s(const VeeMesh *m, const MwVeeCut *cut)
{
    const VeeSearch *v = m->search;
    const MwStageChoiceQuery *query = v->query;
    const int stages = mw_pipeline_stage_count(v->schedule);
    double *mesh_s = MW_NEW(m->arena, double, query->meshes), most_s = 0, update_s = 0;
    for (int s = 0; s < stages; s++) {
        const VeeCosts *costs = &m->costs[class_of(v, cut->begin[s], cut->begin[s + 1])];
        const MwStageCost *cost = &costs->costs.at[cut->candidate[s]];
        double *time_s = &mesh_s[mw_pipeline_mesh_of(query->kind, query->meshes, s)];
        *time_s += query->model->micro_batches * mw_stage_cost_time_s(cost);
        most_s = fmax(most_s, *time_s);
        update_s = fmax(update_s, cost->step_s);
    }
    return most_s + update_s;
}

/* Whether the timeline of a cut may be better than what there is. */
static bool may_be_better(const VeeMesh *m, const MwVeeCut *cut)
{
    const VeeSearch *v = m->search;
    const double time_s = ideal_s(m, cut);
    const double ideal_below_s = v->query->ideal_below_s, below_s = v->query->below_s;
    return (below_s <= 0 || time_s < below_s) && (ideal_below_s <= 0 || time_s < ideal_below_s) &&
           (v->best.reason != MW_STAGES_POSSIBLE || time_s < v->best.layout.step_s);
}

static MwStageLayout layout_of(const VeeMesh *m, const MwVeeCut *cut)
{
    const VeeSearch *v = m->search;
    const MwStageChoiceQuery *query = v->query;
    MwStageLayout layout = {.kind = query->kind,
                            .micro_batches = query->model->micro_batches,
                            .chunks = query->chunks,
                            .stage_count = mw_pipeline_stage_count(v->schedule)};
    layout.stages = MW_NEW(v->arena, MwLayoutStage, layout.stage_count);
    for (int s = 0; s < layout.stage_count; s++) {
        const int begin = cut->begin[s], end = cut->begin[s + 1];
        const int mesh = mw_pipeline_mesh_of(query->kind, query->meshes, s);
        const VeeCosts *costs = &m->costs[class_of(v, begin, end)];
        layout.stages[s] =
            (MwLayoutStage){begin, end, mesh * v->devices, costs->costs.at[cut->candidate[s]], 0};
    }
    mw_stage_layout_price(query->model, &layout);
    return layout;
}

static MwVeeProblem problem_of(const VeeSearch *v)
{
    const MwStageChoiceQuery *query = v->query;
    return (MwVeeProblem){.layer_count = query->model->layer_count,
                          .meshes = query->meshes,
                          .memory_bytes = mw_whole_bytes(query->memory_bytes),
                          .time_below =
                              isfinite(query->below_s) ? mw_picoseconds(query->below_s) : 0,
                          .needs_no_reason = query->needs_no_reason,
                          .uneven = MW_TUNED_UNEVEN_STAGES,
                          .gap = MW_TUNED_STAGE_GAP / 2,
                          .layer_stage = query->layer_stage,
                          .slots = v->slots};
}

/* The least time of a cut by lower bounds; what is in the way if there is none below what is asked
 * for. */
static MwVeeCut bound_cut(const VeeSearch *v)
{
    MwVeeProblem problem = problem_of(v);
    problem.memory_bytes = INT64_MAX;
    problem.answer = answer_bound;
    problem.context = (void *)v;
    return mw_vee_cut(v->arena, &problem);
}

/* Whether two cuts have the same stages, which run in the same ways. */
static bool are_equal(const VeeSearch *v, const MwVeeCut *a, const MwVeeCut *b)
{
    const size_t stages = (size_t)mw_pipeline_stage_count(v->schedule);
    return a->reason == MW_STAGES_POSSIBLE && b->reason == MW_STAGES_POSSIBLE &&
           memcmp(a->begin, b->begin, sizeof *a->begin * stages) == 0 &&
           memcmp(a->candidate, b->candidate, sizeof *a->candidate * stages) == 0;
}

/* Keeps the layout of a cut, or why there is none, if that is better than what there is. */
static void keep_better(VeeSearch *v, const VeeMesh *m, const MwVeeCut *cut)
{
    MwStageChoiceAnswer answer = {.reason = cut->reason, .needed_bytes = (double)cut->needed_bytes};
    if (cut->reason == MW_STAGES_POSSIBLE && !may_be_better(m, cut))
        answer.reason = MW_STAGES_TOTAL;
    else if (cut->reason == MW_STAGES_POSSIBLE)
        answer.layout = layout_of(m, cut);
    answer.left_out_s = v->best.left_out_s;
    if (mw_stage_choice_is_better(v->query, &answer, &v->best))
        v->best = answer;
}

static MwVeeProblem problem_on(VeeMesh *m)
{
    MwVeeProblem problem = problem_of(m->search);
    problem.answer = answer_costs;
    problem.context = m;
    return problem;
}

static void cut(void *context, int i)
{
    VeeMesh *m = &((VeeMesh *)context)[i];
    const MwVeeProblem problem = problem_on(m);
    m->cut = mw_vee_cut(m->arena, &problem);
}

static void cut_evenly(void *context, int i)
{
    VeeMesh *m = &((VeeMesh *)context)[i];
    MwVeeProblem problem = problem_on(m);
    problem.is_evenest = true;
    if (m->cut.reason == MW_STAGES_POSSIBLE)
        m->evenest = mw_vee_cut(m->arena, &problem);
}

/* Solves the problem for all logical meshes. Of cuts that take as long, the one with the evenest
 * stages is usually the best, but not always: the timeline decides between it and another. False if
 * there is no cut. */
static bool solve(VeeSearch *v, const MwMeshList *meshes)
{
    VeeMesh *each = MW_NEW(v->arena, VeeMesh, meshes->count);
    bool has_cut = false;
    for (int i = 0; i < meshes->count; i++) {
        each[i] = (VeeMesh){.search = v, .arena = mw_arena_new(), .mesh = meshes->at[i]};
        list_asked(&each[i]);
    }
    mw_parallel(v->query->threads, meshes->count, cut, each);
    for (int i = 0; i < meshes->count; i++) {
        has_cut |= each[i].cut.reason == MW_STAGES_POSSIBLE;
        keep_better(v, &each[i], &each[i].cut);
    }
    if (v->best.reason == MW_STAGES_POSSIBLE) {
        mw_parallel(v->query->threads, meshes->count, cut_evenly, each);
        for (int i = 0; i < meshes->count; i++)
            if (each[i].cut.reason == MW_STAGES_POSSIBLE &&
                !are_equal(v, &each[i].cut, &each[i].evenest))
                keep_better(v, &each[i], &each[i].evenest);
    }
    for (int i = 0; i < meshes->count; i++)
        mw_arena_free(&each[i].arena);
    return has_cut;
}

MwStageChoiceAnswer mw_stage_choice_vee(MwArena *arena, const MwStageChoiceQuery *query,
                                        int devices)
{
    VeeSearch v = {.arena = arena,
                   .query = query,
                   .devices = devices,
                   .is_asked = MW_NEW(arena, bool, query->model->class_count),
                   .schedule = mw_pipeline_schedule_new(arena, query->kind, query->meshes,
                                                        query->model->micro_batches, query->chunks),
                   .best = {.reason = MW_STAGES_TOTAL, .left_out_s = INFINITY}};
    set_slots(&v);
    const MwVeeCut bound = bound_cut(&v);
    if (bound.reason != MW_STAGES_POSSIBLE) {
        v.best.reason = bound.reason;
        return v.best;
    }
    const MwMeshList meshes = mw_stage_costs_meshes(query->costs, arena, devices);
    const double most = fmin((double)problem_of(&v).time_below, 9e18);
    for (double near = MW_TUNED_NEAR_BOUND;; near *= 2) {
        const double time = near * (double)bound.time;
        const bool is_last = near > MW_TUNED_NEAR_BOUND * 8 || (most > 0 && time >= most);
        ask(&v, is_last ? (most > 0 ? (int64_t)most : INT64_MAX) : (int64_t)time);
        const bool has_cut = solve(&v, &meshes);
        if (is_last || has_cut)
            break;
    }
    if (is_spent(&v))
        v.best.left_out_s = mw_seconds(bound.time);
    return v.best;
}
