/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said where the intra-op problem has no answer.
 *
 * Memory is judged by lower bounds: at every time, the least bytes of each node that is live then,
 * over its strategies. What more micro-batches make smaller depends on an input or on what another
 * stage sends in forward or backward, so that the bound of all else stands at any number of them. */
#include "passes/sharding/refuse.h"

#include "base/quantity.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

/* ---- Memory ---- */

typedef struct {
    MwArena *arena;
    const MwIntraProblem *intra;
    const MwGraph *graph;
    int64_t *least; /* [nodes] bytes that its results take at least */
    bool *shrinks;  /* [nodes] with more micro-batches */
    double memory, needed;
    const MwInfeasibility *why; /* the proof, if there is one */
    MwDiags *diags;
} Shortage;

static int64_t least_usage(const MwProblemNode *node)
{
    int64_t least = INT64_MAX;
    for (int s = 0; node->usage && s < node->strategy_count; s++)
        least = mw_min(least, node->usage[s]);
    return node->usage && node->begin < node->end ? least : 0;
}

static void survey(Shortage *shortage)
{
    const MwGraph *graph = shortage->graph;
    shortage->least = MW_NEW(shortage->arena, int64_t, graph->nodes.count);
    shortage->shrinks = MW_NEW(shortage->arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        shortage->least[n] = least_usage(&shortage->intra->problem.nodes[n]);
        shortage->shrinks[n] = node->op == MW_OP_INPUT ||
                               (node->op == MW_OP_RECEIVE && node->phase != MW_PHASE_UPDATE);
        for (int k = 0; k < node->operand_count; k++)
            shortage->shrinks[n] |=
                shortage->shrinks[mw_value(graph, node->operands[k])->node.index];
    }
}

/* The most of the least bytes at any time, of all nodes or of those that do not shrink. */
static int64_t least_peak(const Shortage *shortage, bool only_fixed, int64_t *time)
{
    const int count = shortage->graph->nodes.count;
    const MwProblemNode *nodes = shortage->intra->problem.nodes;
    int64_t *change = MW_NEW(shortage->arena, int64_t, count + 1), bytes = 0, peak = 0;
    for (int n = 0; n < count; n++) {
        if (!shortage->least[n] || (only_fixed && shortage->shrinks[n]))
            continue;
        change[mw_min(nodes[n].begin, count)] += shortage->least[n];
        change[mw_min(nodes[n].end, count)] -= shortage->least[n];
    }
    for (int n = 0; n < count; n++) {
        bytes += change[n];
        if (bytes > peak) {
            peak = bytes;
            *time = n;
        }
    }
    return peak;
}

/* The least bytes of what is there at the end of the last micro-batch. Gradients are states where
 * there are several micro-batches; where there is one, each weight has one all the same. */
static int64_t least_kept(const Shortage *shortage)
{
    bool has_gradients =
        mw_has_value(shortage->graph->train.loss) && shortage->intra->micro_batches == 1;
    int64_t bytes = 0;
    for (int n = 0; n < shortage->graph->nodes.count; n++) {
        MwOp op = shortage->graph->nodes.at[n].op;
        if (mw_op_info(op)->lowering == MW_LOWER_SOURCE && !shortage->shrinks[n])
            bytes += shortage->least[n] * (op == MW_OP_WEIGHT && has_gradients ? 2 : 1);
    }
    return bytes;
}

/* As many micro-batches as the batch can be cut into. */
static int64_t most_micro_batches(const Shortage *shortage)
{
    int64_t rows = INT32_MAX;
    for (int n = 0; n < shortage->graph->nodes.count; n++) {
        const MwNode *node = &shortage->graph->nodes.at[n];
        const MwTensor *tensor = &shortage->graph->values.at[node->first_result].tensor;
        if (node->op == MW_OP_INPUT)
            rows = mw_min(rows, tensor->rank ? tensor->dim[0] : 1);
    }
    return rows * shortage->intra->micro_batches;
}

/* When the most is there. Where it is proven that one time has too much, that, with the least bytes
 * that its proof gives each node. */
static int64_t fullest_time(Shortage *shortage)
{
    const MwInfeasibility *why = shortage->why;
    int64_t time = 0;
    if (!why || why->time_count != 1) {
        least_peak(shortage, false, &time);
        return time;
    }
    memset(shortage->least, 0, sizeof *shortage->least * (size_t)shortage->graph->nodes.count);
    for (int i = 0; i < why->node_count; i++)
        if (why->nodes[i].node < shortage->graph->nodes.count) /* else a copy */
            shortage->least[why->nodes[i].node] = (int64_t)why->nodes[i].least;
    return why->times[0].time;
}

/* The largest of what is there when the most is. */
static void note_largest(Shortage *shortage)
{
    enum { SHOWN = 3 };
    const int64_t time = fullest_time(shortage);
    MwText text = {.arena = shortage->arena};
    for (int shown = 0; shown < SHOWN; shown++) {
        int largest = -1;
        for (int n = 0; n < shortage->graph->nodes.count; n++) {
            const MwProblemNode *node = &shortage->intra->problem.nodes[n];
            if (shortage->least[n] && node->begin <= time && time < node->end &&
                (largest < 0 || shortage->least[n] > shortage->least[largest]))
                largest = n;
        }
        if (largest < 0)
            break;
        mw_text_printf(&text, "%s%s %s", shown ? ", " : "",
                       shortage->intra->problem.nodes[largest].label,
                       mw_bytes_text(shortage->arena, (double)shortage->least[largest]));
        shortage->least[largest] = 0; /* named */
    }
    if (text.at)
        mw_diag_note(shortage->diags, mw_span_none(),
                     "the largest while %s is computed, split as far as they can be: %s",
                     shortage->intra->problem.nodes[time].label, text.at);
}

/* What is kept over micro-batches, and what does not depend on them, shrinks with more devices only;
 * the rest with more micro-batches too, in proportion at best. */
static void note_what_would_fit(const Shortage *shortage)
{
    int64_t time;
    double kept = (double)least_kept(shortage);
    double fixed = fmax(kept, (double)least_peak(shortage, true, &time));
    double micros = ceil((shortage->needed - fixed) / (shortage->memory - fixed) *
                         shortage->intra->micro_batches);
    double devices = ceil(fixed / shortage->memory * mw_mesh_devices(&shortage->intra->model.mesh));
    if (fixed >= shortage->memory)
        mw_diag_note(shortage->diags, mw_span_none(),
                     "%s need %s, split as far as they can be; it takes at least %.0f such devices",
                     kept == fixed ? "weights, gradients and optimizer states alone"
                                   : "values that do not depend on the batch",
                     mw_bytes_text(shortage->arena, fixed), devices);
    else if (micros > (double)most_micro_batches(shortage))
        mw_diag_note(shortage->diags, mw_span_none(),
                     "it takes more devices; micro-batches would not do, even of one row each");
    else
        mw_diag_note(shortage->diags, mw_span_none(),
                     "it takes more devices, or at least %.0f micro-batches (--micro-batches)",
                     micros);
}

void mw_refuse_memory(const MwIntraProblem *problem, int64_t memory_bytes, int64_t needed_bytes,
                      const MwInfeasibility *why, MwDiags *diags)
{
    Shortage shortage = {.arena = problem->arena,
                         .intra = problem,
                         .graph = problem->graph,
                         .memory = (double)memory_bytes,
                         .needed = (double)needed_bytes,
                         .why = why,
                         .diags = diags};
    char mesh[MW_MESH_TEXT_BYTES];
    mw_diag_error(diags, mw_span_none(),
                  "on a mesh of %s a device needs %s of memory: %s more than the %s it has",
                  mw_mesh_text(&problem->model.mesh, mesh),
                  mw_bytes_text(shortage.arena, shortage.needed),
                  mw_bytes_text(shortage.arena, shortage.needed - shortage.memory),
                  mw_bytes_text(shortage.arena, shortage.memory));
    survey(&shortage);
    note_what_would_fit(&shortage);
    note_largest(&shortage);
}

/* ---- Pins ---- */

/* What the user wrote once, which may pin several values: an annotation in a block, an option. */
typedef struct {
    const MwPin *first;
    int count;
} Demand;

typedef MW_VEC(Demand) Demands;

static bool is_same_demand(const MwPin *a, const MwPin *b)
{
    return a->text == b->text && a->span.source == b->span.source &&
           a->span.begin == b->span.begin && (a->text || a->span.source);
}

/* named[node]: those that have no shardings that go together. */
static bool *name_nodes(const MwIntraProblem *problem, const MwInfeasibility *why)
{
    bool *named = MW_NEW(problem->arena, bool, problem->graph->nodes.count);
    for (int i = 0; i < why->node_count; i++)
        named[why->nodes[i].node] = true;
    return named;
}

static void note_nodes(const MwIntraProblem *problem, const MwInfeasibility *why, MwDiags *diags)
{
    enum { SHOWN = 8 };
    MwText text = {.arena = problem->arena};
    for (int i = 0; i < mw_min(why->node_count, SHOWN); i++)
        mw_text_printf(&text, "%s'%s'", i ? ", " : "",
                       problem->problem.nodes[why->nodes[i].node].label);
    if (why->node_count > SHOWN)
        mw_text_printf(&text, " and %d more", why->node_count - SHOWN);
    if (why->node_count > 1)
        mw_diag_note(diags, mw_span_none(), "the shardings of %s exclude one another", text.at);
}

/* What pins a value of the nodes named (NULL: of any). */
static Demands list_demands(MwArena *arena, const MwGraph *graph, const bool *named)
{
    Demands demands = {0};
    for (int i = 0; i < graph->pins.count; i++) {
        const MwPin *pin = &graph->pins.at[i];
        if (named && !named[mw_value(graph, pin->value)->node.index])
            continue;
        int k = 0;
        while (k < demands.count && !is_same_demand(demands.at[k].first, pin))
            k++;
        if (pin->has_spec && k == demands.count)
            mw_vec_push(arena, &demands, ((Demand){pin, 0}));
        if (pin->has_spec)
            demands.at[k].count++;
    }
    return demands;
}

static const char *demand_name(MwArena *arena, const MwGraph *graph, const Demand *demand)
{
    const char *name = mw_value(graph, demand->first->value)->name;
    return demand->count == 1 ? mw_arena_printf(arena, "'%s'", name)
                              : mw_arena_printf(arena, "'%s' and %d more", name, demand->count - 1);
}

static void note_demand(MwArena *arena, const MwGraph *graph, const Demand *demand, MwDiags *diags)
{
    const MwPin *pin = demand->first;
    const char *name = demand_name(arena, graph, demand);
    const char *verb = demand->count == 1 ? "is" : "are";
    char spec[MW_SPEC_TEXT_BYTES];
    if (pin->text)
        mw_diag_note(diags, mw_span_none(), "%s %s pinned by --pin %s", name, verb, pin->text);
    else
        mw_diag_note(diags, pin->span, "%s %s pinned to %s", name, verb,
                     mw_spec_text(pin->spec, mw_value_tensor(graph, pin->value)->rank, spec));
}

/* Whether there is a sharding, of whatever memory, if `demand` is dropped. */
static bool is_possible_without(const MwIntraProblem *problem, const MwCluster *cluster,
                                const Demand *demand)
{
    MwArena *arena = mw_arena_new();
    MwGraph graph = *problem->graph;
    memset(&graph.pins, 0, sizeof graph.pins);
    for (int i = 0; i < problem->graph->pins.count; i++)
        if (!is_same_demand(&problem->graph->pins.at[i], demand->first))
            mw_vec_push(arena, &graph.pins, problem->graph->pins.at[i]);
    const MwIntraQuery query = {.graph = &graph,
                                .cluster = cluster,
                                .mesh = problem->model.mesh,
                                .micro_batches = problem->micro_batches,
                                .flight = problem->flight,
                                .memory_bytes = MW_USAGE_UNLIMITED};
    const MwIntraProblem *other = mw_intra_problem(arena, &query, mw_diags_new(arena));
    bool possible =
        other && mw_solve(arena, &other->problem, &(MwSolveOptions){.quick = true}).choice;
    mw_arena_free(&arena);
    return possible;
}

void mw_refuse_pins(const MwIntraProblem *problem, const MwCluster *cluster,
                    const MwInfeasibility *why, MwDiags *diags)
{
    enum { SHOWN = 8 };
    MwArena *arena = problem->arena;
    const Demands demands = list_demands(arena, problem->graph, name_nodes(problem, why));
    const int shown = (int)mw_min(demands.count, SHOWN);
    char mesh[MW_MESH_TEXT_BYTES];
    mw_diag_error(diags, mw_span_none(), "on a mesh of %s no sharding meets all the pins",
                  mw_mesh_text(&problem->model.mesh, mesh));
    for (int i = 0; i < shown; i++)
        note_demand(arena, problem->graph, &demands.at[i], diags);
    if (demands.count > shown)
        mw_diag_note(diags, mw_span_none(), "and %d more pins", demands.count - shown);
    note_nodes(problem, why, diags);
    const int all = list_demands(arena, problem->graph, NULL).count;
    for (int i = 0; all > 1 && i < shown; i++) {
        if (!is_possible_without(problem, cluster, &demands.at[i]))
            continue;
        mw_diag_note(diags, mw_span_none(), "without the pin of %s there would be one",
                     demand_name(arena, problem->graph, &demands.at[i]));
        return;
    }
}
