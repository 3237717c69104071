/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error messages for an intra-operator problem without a solution.
 *
 * Memory is judged by a lower bound: at every time, the least bytes of each live node over its
 * strategies. A node shrinks with more micro-batches if it depends on an input, or on a value
 * that another stage sends in forward or backward; the bound of all other nodes holds for any
 * number of micro-batches. */
#include "passes/sharding/refuse.h"

#include "base/quantity.h"
#include "base/text.h"
#include "passes/sharding/pins.h"

#include <math.h>
#include <string.h>

/* ---- Memory ---- */

typedef struct {
    MwArena *arena;
    const MwIntraProblem *intra;
    const MwGraph *graph;
    int64_t *least; /* [nodes] fewest bytes of its results over all strategies */
    bool *shrinks;  /* [nodes] smaller with more micro-batches */
    double memory, needed;
    const MwInfeasibility *why; /* the proof of infeasibility; NULL: none */
    MwDiags *diags;
} Shortage;

static int64_t least_usage(const MwProblemNode *node)
{
    int64_t least = INT64_MAX;
    for (int s = 0; node->usage && s < node->strategy_count; s++)
        least = mw_min(least, node->usage[s]);
    return node->usage && node->begin < node->end ? least : 0;
}

static void find_least_usages(Shortage *shortage)
{
    const MwGraph *graph = shortage->graph;
    shortage->least = MW_NEW(shortage->arena, int64_t, graph->nodes.count);
    shortage->shrinks = MW_NEW(shortage->arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        shortage->least[n] = least_usage(&shortage->intra->problem.nodes[n]);
        shortage->shrinks[n] = (node->op == MW_OP_INPUT && !mw_input_is_whole(graph, node)) ||
                               (node->op == MW_OP_RECEIVE && node->phase != MW_PHASE_UPDATE);
        for (int k = 0; k < node->operand_count; k++)
            shortage->shrinks[n] |=
                shortage->shrinks[mw_value(graph, node->operands[k])->node.index];
    }
}

/* The largest sum of least bytes at any time, of all nodes or of those that do not shrink. */
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

/* The least bytes that are live at the end of the last micro-batch. With several micro-batches
 * gradients are states; with one, each weight has a gradient too. */
static int64_t least_kept(const Shortage *shortage)
{
    bool has_gradients = mw_graph_has_phase(shortage->graph, MW_PHASE_BACKWARD) &&
                         shortage->intra->micro_batches == 1;
    int64_t bytes = 0;
    for (int n = 0; n < shortage->graph->nodes.count; n++) {
        MwOp op = shortage->graph->nodes.at[n].op;
        if (mw_op_info(op)->lowering == MW_LOWER_SOURCE && !shortage->shrinks[n])
            bytes += shortage->least[n] * (op == MW_OP_WEIGHT && has_gradients ? 2 : 1);
    }
    return bytes;
}

/* The most micro-batches that the batch can be cut into. */
static int64_t most_micro_batches(const Shortage *shortage)
{
    int64_t rows = INT32_MAX;
    for (int n = 0; n < shortage->graph->nodes.count; n++) {
        const MwNode *node = &shortage->graph->nodes.at[n];
        const MwTensor *tensor = &shortage->graph->values.at[node->first_result].tensor;
        if (node->op == MW_OP_INPUT && !mw_input_is_whole(shortage->graph, node))
            rows = mw_min(rows, tensor->dim[0]);
    }
    return rows * shortage->intra->micro_batches;
}

/* The time with the largest sum. If the proof names one time, that one, with the least bytes of
 * each node in the proof. */
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
        if (why->nodes[i].node < shortage->graph->nodes.count) /* otherwise a copy */
            shortage->least[why->nodes[i].node] = (int64_t)why->nodes[i].least;
    return why->times[0].time;
}

/* Names the largest values at the time with the largest sum. */
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
        shortage->least[largest] = 0; /* do not name it again */
    }
    if (text.at)
        mw_diag_note(shortage->diags, mw_span_none(),
                     "the largest while %s is computed, split as far as they can be: %s",
                     shortage->intra->problem.nodes[time].label, text.at);
}

/* Says what would fit. Values that are kept over micro-batches or do not depend on them shrink
 * with more devices only; the others shrink with more micro-batches too, at best in proportion. */
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
    find_least_usages(&shortage);
    note_what_would_fit(&shortage);
    note_largest(&shortage);
}

/* ---- Pins ---- */

/* A pin that the user wrote once and that may hold for several values: an annotation in a block,
 * an option. */
typedef struct {
    const MwPin *first;
    int count;
} UserPin;

typedef MW_VEC(UserPin) UserPins;

static bool is_same_user_pin(const MwPin *a, const MwPin *b)
{
    return a->text == b->text && a->span.source == b->span.source &&
           a->span.begin == b->span.begin && (a->text || a->span.source);
}

/* [nodes] whether the proof names the node. */
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

/* The pins on values of the nodes in `named` (NULL: all nodes). */
static UserPins list_user_pins(MwArena *arena, const MwGraph *graph, const bool *named)
{
    UserPins user_pins = {0};
    for (int i = 0; i < graph->pins.count; i++) {
        const MwPin *pin = &graph->pins.at[i];
        if (named && !named[mw_value(graph, pin->value)->node.index])
            continue;
        int k = 0;
        while (k < user_pins.count && !is_same_user_pin(user_pins.at[k].first, pin))
            k++;
        if (mw_pin_is_of_sharding(pin) && k == user_pins.count)
            mw_vec_push(arena, &user_pins, ((UserPin){pin, 0}));
        if (mw_pin_is_of_sharding(pin))
            user_pins.at[k].count++;
    }
    return user_pins;
}

static const char *user_pin_name(MwArena *arena, const MwGraph *graph, const UserPin *user_pin)
{
    const char *name = mw_value(graph, user_pin->first->value)->name;
    return user_pin->count == 1
               ? mw_arena_printf(arena, "'%s'", name)
               : mw_arena_printf(arena, "'%s' and %d more", name, user_pin->count - 1);
}

static void note_user_pin(MwArena *arena, const MwGraph *graph, const UserPin *user_pin,
                          MwDiags *diags)
{
    const MwPin *pin = user_pin->first;
    const char *name = user_pin_name(arena, graph, user_pin);
    const char *verb = user_pin->count == 1 ? "is" : "are";
    char spec[MW_SPEC_TEXT_BYTES];
    if (pin->text)
        mw_diag_note(diags, mw_span_none(), "%s %s pinned by --pin %s", name, verb, pin->text);
    else
        mw_diag_note(diags, pin->span, "%s %s pinned to %s", name, verb,
                     pin->has_spec
                         ? mw_spec_text(pin->spec, mw_value_tensor(graph, pin->value)->rank, spec)
                         : mw_ring_word(pin));
}

/* Whether there is a sharding, with any memory, if `user_pin` is dropped. */
static bool is_possible_without(const MwIntraProblem *problem, const MwCluster *cluster,
                                const UserPin *user_pin)
{
    MwArena *arena = mw_arena_new();
    MwGraph graph = *problem->graph;
    memset(&graph.pins, 0, sizeof graph.pins);
    for (int i = 0; i < problem->graph->pins.count; i++)
        if (!is_same_user_pin(&problem->graph->pins.at[i], user_pin->first))
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
    const UserPins user_pins = list_user_pins(arena, problem->graph, name_nodes(problem, why));
    const int shown = (int)mw_min(user_pins.count, SHOWN);
    char mesh[MW_MESH_TEXT_BYTES];
    mw_diag_error(diags, mw_span_none(), "on a mesh of %s no sharding meets all the pins",
                  mw_mesh_text(&problem->model.mesh, mesh));
    for (int i = 0; i < shown; i++)
        note_user_pin(arena, problem->graph, &user_pins.at[i], diags);
    if (user_pins.count > shown)
        mw_diag_note(diags, mw_span_none(), "and %d more pins", user_pins.count - shown);
    note_nodes(problem, why, diags);
    const int all = list_user_pins(arena, problem->graph, NULL).count;
    for (int i = 0; all > 1 && i < shown; i++) {
        if (!is_possible_without(problem, cluster, &user_pins.at[i]))
            continue;
        mw_diag_note(diags, mw_span_none(), "without the pin of %s there would be one",
                     user_pin_name(arena, problem->graph, &user_pins.at[i]));
        return;
    }
}
