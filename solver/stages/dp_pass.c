/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dynamic program of Alpa (Zheng et al., OSDI 2022, section 5.2). With F(q, l, u) the least
 * fill of the layers from l on, cut into q stages that use u devices:
 *
 *   F(q, l, u) = min over end e, sub-mesh k:
 *       base(l, e, k, q) + latency(e, q-1) + F(q-1, e, u - |k|)
 *
 * where base is the fill of the best option within the limits whose memory fits with q - 1 stages
 * after it. u is a pair: a packing state (submesh.h) and a number of devices. The latter is the
 * innermost index, so that a move is the addition of a shifted vector. The same with `max` in place
 * of `+` gives the least memory.
 *
 * The outside value of a state (q, l, u) is the least fill of all that precedes it in a whole cut;
 * the same moves compute it in the opposite direction. Outside + base + latency + F is the least
 * fill of a cut that contains a move (the inside-outside scheme). */
#include "solver/stages/dp_pass.h"

#include <string.h>

/* Whether an entry can run within the limits of a run, whatever comes after it. */
typedef enum { VIABLE_UNKNOWN, VIABLE, NOT_VIABLE } Viability;

typedef struct {
    int low, high; /* numbers of devices; low > high: no state */
} Range;

/* Viable moves of one begin and one end: [first, last). */
typedef struct {
    int end, first, last;
} MoveGroup;

struct MwStagePass {
    const MwStageTable *table;
    const MwStageLimits *limits;       /* limits of the current run */
    int layers, packing_states, width; /* width: devices + 1 */
    int64_t *value;                    /* [stages][layers + 1][packing states][width] */
    int64_t *outside;                  /* same shape as `value` */
    Range *range; /* [stages][layers + 1] devices for which value is not forbidden */
    /* The moves and entries that can be used in this run. */
    const MwStageMove **viable; /* ordered by begin, then by end */
    MoveGroup *groups;          /* of `viable`, in its order */
    int *first_group;           /* [layers + 1] the groups of each begin */
    unsigned char *viability;   /* [entry] Viability */
    bool *entry_viable;         /* [entry] whether a viable move has it */
    int *viable_entries, viable_entry_count;
    int *devices_before; /* [layers + 1] least devices that the layers before l can use */
    int *stages_before;  /* [layers + 1] least stages that the layers before l can form */
    int64_t *base;       /* [entry] for the current q */
    MwStageStep *steps;
};

MwStagePass *mw_stage_pass_new(MwArena *arena, const MwStageTable *table)
{
    int layers = table->problem->layer_count;
    int64_t stages = mw_min(layers, table->device_count) + 1;
    MwStagePass *pass = MW_NEW(arena, MwStagePass, 1);
    *pass = (MwStagePass){.table = table, .layers = layers};
    pass->packing_states = table->packing.state_count;
    pass->width = table->device_count + 1;
    pass->value =
        MW_NEW(arena, int64_t, stages * (layers + 1) * pass->packing_states * pass->width);
    pass->outside =
        MW_NEW(arena, int64_t, stages * (layers + 1) * pass->packing_states * pass->width);
    pass->range = MW_NEW(arena, Range, stages * (layers + 1));
    pass->viable = MW_NEW(arena, const MwStageMove *, table->first_move[layers]);
    pass->groups = MW_NEW(arena, MoveGroup, layers * (layers + 1) / 2);
    pass->first_group = MW_NEW(arena, int, layers + 1);
    pass->viability = MW_NEW(arena, unsigned char, table->entry_count);
    pass->entry_viable = MW_NEW(arena, bool, table->entry_count);
    pass->viable_entries = MW_NEW(arena, int, table->entry_count);
    pass->devices_before = MW_NEW(arena, int, layers + 1);
    pass->stages_before = MW_NEW(arena, int, layers + 1);
    pass->base = MW_NEW(arena, int64_t, table->entry_count);
    pass->steps = MW_NEW(arena, MwStageStep, stages);
    return pass;
}

static int64_t offset_of(const MwStagePass *pass, int stages, int layer, int packing_state)
{
    int64_t at = (int64_t)stages * (pass->layers + 1) + layer;
    return (at * pass->packing_states + packing_state) * pass->width;
}

static int64_t *values(const MwStagePass *pass, int stages, int layer, int packing_state)
{
    return pass->value + offset_of(pass, stages, layer, packing_state);
}

static int64_t *outsides(const MwStagePass *pass, int stages, int layer, int packing_state)
{
    return pass->outside + offset_of(pass, stages, layer, packing_state);
}

static Range *range_of(const MwStagePass *pass, int stages, int layer)
{
    return &pass->range[stages * (pass->layers + 1) + layer];
}

static int64_t in_flight_of(const MwStagePass *pass, int stages)
{
    const MwStageSchedule *schedule = &pass->table->problem->schedule;
    int64_t count = schedule->in_flight(schedule->context, pass->limits->most_stages, stages - 1);
    MW_ASSERT(count > 0);
    return count;
}

/* Returns what `option` adds to the value; MW_FORBIDDEN if it may not be taken. */
static int64_t option_value(const MwStageLimits *limits, const MwStageOption *option,
                            int64_t in_flight)
{
    if (limits->least_bytes)
        return mw_min(mw_stage_option_bytes(option, in_flight), MW_FORBIDDEN);
    if (option->steady > limits->steady || option->step > limits->step ||
        in_flight > option->most_in_flight)
        return MW_FORBIDDEN;
    return option->fill;
}

/* Returns the least value of an entry; `best` gets the first option that has it. */
static int64_t entry_value(const MwStagePass *pass, int entry, int64_t in_flight,
                           const MwStageOption **best)
{
    static const MwStageOption nothing = {.candidate = -1};
    const MwStageEntry *from = &pass->table->entries[entry];
    int64_t least = MW_FORBIDDEN;
    *best = &nothing;
    if (pass->limits->ignore_answers)
        return 0;
    if (pass->limits->asked_only && !from->asked)
        return MW_FORBIDDEN;
    for (int i = 0; i < from->option_count; i++) {
        int64_t value = option_value(pass->limits, &from->options[i], in_flight);
        if (value < least) {
            least = value;
            *best = &from->options[i];
        }
        if (least < MW_FORBIDDEN && !pass->limits->least_bytes)
            break; /* options are in order of rising fill */
    }
    return least;
}

/* What the cut before `layer` costs with `after` stages after it. */
static MwStageCut cut_of(const MwStageProblem *problem, int layer, int after)
{
    if (!problem->cuts || layer == 0 || layer == problem->layer_count)
        return (MwStageCut){0};
    return problem->inner_cuts && after % problem->stages_of_node != 0 ? problem->inner_cuts[layer]
                                                                       : problem->cuts[layer];
}

static bool are_cuts_free(const MwStagePass *pass)
{
    return pass->limits->least_bytes || pass->limits->ignore_answers;
}

static int64_t latency(const MwStagePass *pass, int layer, int after)
{
    return are_cuts_free(pass) ? 0 : cut_of(pass->table->problem, layer, after).latency;
}

/* Returns the time for which the cut before `layer` delays the micro-batches. */
static int64_t cut_steady(const MwStageProblem *problem, int layer, int after)
{
    const MwStageCut cut = cut_of(problem, layer, after);
    __int128 busy = (__int128)(problem->schedule.micro_batches - 1) * cut.busy;
    return busy < MW_FORBIDDEN ? (int64_t)busy : MW_FORBIDDEN;
}

static bool cut_allowed(const MwStagePass *pass, int layer, int after)
{
    return are_cuts_free(pass) ||
           cut_steady(pass->table->problem, layer, after) <= pass->limits->steady;
}

/* Whether a cut before `layer` is allowed with some number of stages after it. */
static bool is_some_cut_allowed(const MwStagePass *pass, int layer)
{
    const MwStageProblem *problem = pass->table->problem;
    return cut_allowed(pass, layer, 0) ||
           (problem->inner_cuts && problem->stages_of_node > 1 && cut_allowed(pass, layer, 1));
}

/* Whether the entry can run with one micro-batch in flight. Many moves have the same one. */
static bool is_entry_viable(MwStagePass *pass, int entry)
{
    const MwStageOption *option;
    if (pass->viability[entry] == VIABLE_UNKNOWN)
        pass->viability[entry] =
            entry_value(pass, entry, 1, &option) < MW_FORBIDDEN ? VIABLE : NOT_VIABLE;
    return pass->viability[entry] == VIABLE;
}

/* Says whether `move` may be taken for some number of stages after it, as far as a quick test
 * shows. */
static bool is_viable(MwStagePass *pass, const MwStageMove *move)
{
    const MwStageLimits *limits = pass->limits;
    int devices = pass->table->packing.submeshes[move->submesh].devices;
    return (limits->submesh < 0 || limits->submesh == move->submesh) &&
           (limits->ignore_pins || move->stage != MW_CONFLICT) &&
           devices <= pass->table->device_count - (limits->least_stages - 1) &&
           is_some_cut_allowed(pass, move->end) && is_entry_viable(pass, move->entry);
}

static void add_viable(MwStagePass *pass, int begin, const MwStageMove *move, int *count)
{
    int devices =
        pass->devices_before[begin] + pass->table->packing.submeshes[move->submesh].devices;
    pass->viable[(*count)++] = move;
    if (!pass->entry_viable[move->entry]) {
        pass->entry_viable[move->entry] = true;
        pass->viable_entries[pass->viable_entry_count++] = move->entry;
    }
    pass->devices_before[move->end] = (int)mw_min(pass->devices_before[move->end], devices);
    pass->stages_before[move->end] =
        (int)mw_min(pass->stages_before[move->end], pass->stages_before[begin] + 1);
}

/* Lists the viable moves from layer `begin` on; `count` and `group_count` are what is listed. */
static void list_viable_from(MwStagePass *pass, int begin, int *count, int *group_count)
{
    const MwStageTable *table = pass->table;
    MoveGroup *group = NULL;
    for (int i = table->first_move[begin]; i < table->first_move[begin + 1]; i++) {
        const MwStageMove *move = &table->moves[i];
        if (!is_viable(pass, move))
            continue;
        if (!group || group->end != move->end) {
            group = &pass->groups[(*group_count)++];
            *group = (MoveGroup){.end = move->end, .first = *count};
        }
        add_viable(pass, begin, move, count);
        group->last = *count;
    }
}

/* Lists the moves that may be part of a cut within the limits, as seen from the first layer. */
static void list_viable(MwStagePass *pass)
{
    const MwStageTable *table = pass->table;
    int count = 0, group_count = 0;
    for (int i = 0; i < pass->viable_entry_count; i++)
        pass->entry_viable[pass->viable_entries[i]] = false;
    pass->viable_entry_count = 0;
    memset(pass->viability, VIABLE_UNKNOWN, (size_t)table->entry_count);
    for (int layer = 0; layer <= pass->layers; layer++)
        pass->devices_before[layer] = pass->stages_before[layer] = layer ? pass->width : 0;
    for (int begin = 0; begin < pass->layers; begin++) {
        pass->first_group[begin] = group_count;
        if (pass->devices_before[begin] < table->device_count &&
            pass->stages_before[begin] < pass->limits->most_stages)
            list_viable_from(pass, begin, &count, &group_count);
    }
    pass->first_group[pass->layers] = group_count;
}

MW_VECTORISED
static void relax_sum(int64_t *to, const int64_t *from, int count, int64_t add)
{
    for (int i = 0; i < count; i++) {
        int64_t value = from[i] + add;
        to[i] = value < to[i] ? value : to[i];
    }
}

MW_VECTORISED
static void relax_most(int64_t *to, const int64_t *from, int count, int64_t least)
{
    for (int i = 0; i < count; i++) {
        int64_t value = from[i] > least ? from[i] : least;
        to[i] = value < to[i] ? value : to[i];
    }
}

/* Says whether `move` may begin a suffix of `stages` stages. */
static bool pin_allows(const MwStageLimits *limits, const MwStageMove *move, int stages)
{
    return move->stage < 0 || limits->ignore_pins || limits->most_stages - stages == move->stage;
}

/* Updates the states before `move` with the states after it, for devices in `within`, and extends
 * `range` to the states updated. */
static void relax(MwStagePass *pass, int stages, int begin, const MwStageMove *move, Range within,
                  Range *range)
{
    const MwSubmeshPacking *packing = &pass->table->packing;
    Range after = *range_of(pass, stages - 1, move->end);
    int devices = packing->submeshes[move->submesh].devices;
    int low = (int)mw_max(after.low + devices, within.low);
    int high = (int)mw_min(after.high + devices, within.high);
    if (low > high || !cut_allowed(pass, move->end, stages - 1))
        return;
    int64_t add = pass->base[move->entry] + latency(pass, move->end, stages - 1);
    for (int packing_state = 0; packing_state < pass->packing_states; packing_state++) {
        int to = packing->next[move->submesh * pass->packing_states + packing_state];
        if (to >= 0)
            (pass->limits->least_bytes ? relax_most : relax_sum)(
                values(pass, stages, begin, to) + low,
                values(pass, stages - 1, move->end, packing_state) + low - devices, high - low + 1,
                add);
    }
    range->low = (int)mw_min(range->low, low);
    range->high = (int)mw_max(range->high, high);
}

/* Does so for all moves of a group, unless nothing can come after them. */
static void relax_group(MwStagePass *pass, int stages, int begin, const MoveGroup *group,
                        Range within, Range *range)
{
    const Range after = *range_of(pass, stages - 1, group->end);
    if (after.low > after.high)
        return;
    for (int i = group->first; i < group->last; i++) {
        const MwStageMove *move = pass->viable[i];
        if (pass->base[move->entry] < MW_FORBIDDEN && pin_allows(pass->limits, move, stages))
            relax(pass, stages, begin, move, within, range);
    }
}

/* Returns the greatest value of F(stages, ., .) that is of interest: the fill limit, and what
 * Little's law allows. */
static int64_t most_value(const MwStagePass *pass, int64_t in_flight)
{
    const MwStageSchedule *schedule = &pass->table->problem->schedule;
    if (pass->limits->least_bytes || pass->limits->ignore_answers)
        return MW_FORBIDDEN - 1;
    if (!schedule->returns || in_flight >= schedule->micro_batches)
        return pass->limits->fill;
    __int128 most = (__int128)pass->limits->steady * in_flight / (schedule->micro_batches - 1);
    return most < pass->limits->fill ? (int64_t)most : pass->limits->fill;
}

/* Forbids values above `most`, and narrows the range to what is left. */
static void cut_off(MwStagePass *pass, int stages, int layer, Range *range, int64_t most)
{
    Range left = {pass->width, -1};
    for (int packing_state = 0; packing_state < pass->packing_states; packing_state++) {
        int64_t *value = values(pass, stages, layer, packing_state);
        for (int i = range->low; i <= range->high; i++) {
            if (value[i] > most) {
                value[i] = MW_FORBIDDEN;
            } else {
                left.low = (int)mw_min(left.low, i);
                left.high = (int)mw_max(left.high, i);
            }
        }
    }
    *range = left;
}

/* Returns the numbers of devices that a suffix from `layer` on in `stages` stages can use if a
 * whole cut contains it. */
static Range useful_devices(const MwStagePass *pass, int stages, int layer)
{
    const MwStageLimits *limits = pass->limits;
    int devices = pass->table->device_count, before = pass->stages_before[layer];
    Range none = {pass->width, -1};
    if (layer + stages > pass->layers || before + stages > limits->most_stages ||
        layer + stages < limits->least_stages)
        return none;
    if (layer == 0)
        return (Range){devices, devices};
    int after_least = (int)mw_max(limits->least_stages - stages, 1);
    int before_least = (int)mw_max(pass->devices_before[layer], after_least);
    return (Range){stages, devices - before_least};
}

static void fill_state(MwStagePass *pass, int stages, int layer, int64_t most)
{
    Range within = useful_devices(pass, stages, layer), range = {pass->width, -1};
    if (within.low <= within.high) {
        for (int64_t i = 0; i < (int64_t)pass->packing_states * pass->width; i++)
            values(pass, stages, layer, 0)[i] = MW_FORBIDDEN;
        for (int g = pass->first_group[layer]; g < pass->first_group[layer + 1]; g++)
            relax_group(pass, stages, layer, &pass->groups[g], within, &range);
        cut_off(pass, stages, layer, &range, most);
    }
    *range_of(pass, stages, layer) = range;
}

/* Fills the states of suffixes without a stage: only the suffix without layers exists, and it uses
 * nothing. */
static void fill_empty(MwStagePass *pass)
{
    for (int layer = 0; layer < pass->layers; layer++)
        *range_of(pass, 0, layer) = (Range){pass->width, -1};
    *range_of(pass, 0, pass->layers) = (Range){0, 0};
    for (int packing_state = 0; packing_state < pass->packing_states; packing_state++)
        values(pass, 0, pass->layers, packing_state)[0] = packing_state == 0 ? 0 : MW_FORBIDDEN;
}

static void set_base(MwStagePass *pass, int64_t in_flight)
{
    const MwStageOption *option;
    for (int i = 0; i < pass->viable_entry_count; i++)
        pass->base[pass->viable_entries[i]] =
            entry_value(pass, pass->viable_entries[i], in_flight, &option);
}

static void fill_stages(MwStagePass *pass, int stages)
{
    int64_t in_flight = in_flight_of(pass, stages);
    if (stages == 1 || in_flight != in_flight_of(pass, stages - 1))
        set_base(pass, in_flight);
    for (int layer = 0; layer < pass->layers; layer++)
        fill_state(pass, stages, layer, most_value(pass, in_flight));
    *range_of(pass, stages, pass->layers) = (Range){pass->width, -1};
}

/* An index into the table of values. */
typedef struct {
    int stages, layer, packing_state, devices;
} State;

static int64_t value_at(const MwStagePass *pass, State state)
{
    Range range = *range_of(pass, state.stages, state.layer);
    if (state.devices < range.low || state.devices > range.high)
        return MW_FORBIDDEN;
    return values(pass, state.stages, state.layer, state.packing_state)[state.devices];
}

/* Returns the best state of a whole cut; its value is MW_FORBIDDEN if there is none. */
static State best_whole(const MwStagePass *pass)
{
    State best = {pass->limits->least_stages, 0, 0, pass->table->device_count};
    for (int stages = pass->limits->least_stages; stages <= pass->limits->most_stages; stages++)
        for (int packing_state = 0; packing_state < pass->packing_states; packing_state++) {
            State state = {stages, 0, packing_state, pass->table->device_count};
            if (value_at(pass, state) < value_at(pass, best))
                best = state;
        }
    return best;
}

/* Stores the first move that attains the value of `state` in `step`, and returns the state after
 * it. */
static State step_from(const MwStagePass *pass, State state, MwStageStep *step)
{
    int64_t value = value_at(pass, state);
    int64_t in_flight = in_flight_of(pass, state.stages);
    const int first = pass->groups[pass->first_group[state.layer]].first;
    const int last = pass->groups[pass->first_group[state.layer + 1] - 1].last;
    for (int i = first; i < last; i++) {
        const MwStageMove *move = pass->viable[i];
        const MwStageOption *option;
        int64_t base = entry_value(pass, move->entry, in_flight, &option);
        int packing_state =
            pass->table->packing
                .previous[move->submesh * pass->packing_states + state.packing_state];
        int devices = state.devices - pass->table->packing.submeshes[move->submesh].devices;
        if (base == MW_FORBIDDEN || packing_state < 0 || devices < 0 ||
            !pin_allows(pass->limits, move, state.stages) ||
            !cut_allowed(pass, move->end, state.stages - 1))
            continue;
        State after = {state.stages - 1, move->end, packing_state, devices};
        int64_t rest = value_at(pass, after);
        int64_t sum = pass->limits->least_bytes
                          ? mw_max(base, rest)
                          : base + latency(pass, move->end, state.stages - 1) + rest;
        if (rest == MW_FORBIDDEN || sum != value)
            continue;
        *step =
            (MwStageStep){state.layer, move->end, move->submesh, move->entry, option, in_flight};
        return after;
    }
    MW_UNREACHABLE();
}

/* Recomputes the terms of the objective from the stages. */
static void measure(const MwStageProblem *problem, MwStagePath *path)
{
    path->fill = path->steady = path->step = 0;
    for (int i = path->stage_count - 1; i >= 0; i--) {
        const MwStageStep *step = &path->stages[i];
        const int after = path->stage_count - 1 - i;
        int64_t most = mw_max(step->option->steady, cut_steady(problem, step->begin, after + 1));
        path->fill = mw_cost_add(path->fill, cut_of(problem, step->end, after).latency);
        path->fill = mw_cost_add(path->fill, step->option->fill);
        if (problem->schedule.returns && step->in_flight < problem->schedule.micro_batches) {
            __int128 rounds = (__int128)(problem->schedule.micro_batches - 1) * path->fill;
            rounds = (rounds + step->in_flight - 1) / step->in_flight;
            most = mw_max(most, rounds < MW_FORBIDDEN ? (int64_t)rounds : MW_FORBIDDEN);
        }
        path->steady = mw_max(path->steady, most);
        path->step = mw_max(path->step, step->option->step);
    }
}

bool mw_stage_pass_run(MwStagePass *pass, const MwStageLimits *limits, MwStagePath *path)
{
    pass->limits = limits;
    list_viable(pass);
    fill_empty(pass);
    for (int stages = 1; stages <= limits->most_stages; stages++)
        fill_stages(pass, stages);
    State state = best_whole(pass);
    int64_t value = value_at(pass, state);
    if (value == MW_FORBIDDEN)
        return false;
    *path = (MwStagePath){.stage_count = state.stages, .stages = pass->steps, .value = value};
    for (int i = 0; i < path->stage_count; i++)
        state = step_from(pass, state, &pass->steps[i]);
    measure(pass->table->problem, path);
    return true;
}

MW_VECTORISED
static int64_t least_sum(const int64_t *a, const int64_t *b, int count)
{
    int64_t least = MW_FORBIDDEN;
    for (int i = 0; i < count; i++) {
        int64_t sum = a[i] + b[i];
        least = sum < least ? sum : least;
    }
    return least;
}

/* Sets the outside value of whole cuts to zero and all others to MW_FORBIDDEN. */
static void clear_outside(MwStagePass *pass)
{
    for (int stages = 0; stages <= pass->limits->most_stages; stages++)
        for (int layer = 0; layer <= pass->layers; layer++) {
            Range range = *range_of(pass, stages, layer);
            bool whole = layer == 0 && stages >= pass->limits->least_stages;
            for (int packing_state = 0; packing_state < pass->packing_states; packing_state++)
                for (int i = range.low; i <= range.high; i++)
                    outsides(pass, stages, layer, packing_state)[i] = whole ? 0 : MW_FORBIDDEN;
        }
}

/* Updates the outside values after `move`, and the least value of a cut that contains it, from the
 * states of `stages` stages that begin at layer `begin`. */
static void update_outside(MwStagePass *pass, int stages, int begin, const MwStageMove *move,
                           int64_t *least)
{
    const MwSubmeshPacking *packing = &pass->table->packing;
    int devices = packing->submeshes[move->submesh].devices;
    Range range = *range_of(pass, stages, begin), after = *range_of(pass, stages - 1, move->end);
    int low = (int)mw_max(range.low, after.low + devices);
    int count = (int)mw_min(range.high, after.high + devices) - low + 1;
    if (!cut_allowed(pass, move->end, stages - 1))
        return;
    int64_t add = pass->base[move->entry] + latency(pass, move->end, stages - 1);
    for (int packing_state = 0; packing_state < pass->packing_states && count > 0;
         packing_state++) {
        int to = packing->next[move->submesh * pass->packing_states + packing_state];
        if (to < 0)
            continue;
        const int64_t *from = outsides(pass, stages, begin, to) + low;
        int at = low - devices;
        relax_sum(outsides(pass, stages - 1, move->end, packing_state) + at, from, count, add);
        if (!pass->table->entries[move->entry].asked) {
            const int64_t *inside = values(pass, stages - 1, move->end, packing_state) + at;
            least[move->entry] =
                mw_min(least[move->entry], mw_cost_add(add, least_sum(from, inside, count)));
        }
    }
}

/* Does so for all moves of a group, unless no cut contains them. */
static void update_group(MwStagePass *pass, int stages, int begin, const MoveGroup *group,
                         int64_t *least)
{
    const Range range = *range_of(pass, stages, begin);
    const Range after = *range_of(pass, stages - 1, group->end);
    if (range.low > range.high || after.low > after.high)
        return;
    for (int i = group->first; i < group->last; i++) {
        const MwStageMove *move = pass->viable[i];
        if (pass->base[move->entry] < MW_FORBIDDEN && pin_allows(pass->limits, move, stages))
            update_outside(pass, stages, begin, move, least);
    }
}

void mw_stage_pass_least_with(MwStagePass *pass, int64_t *least)
{
    MW_ASSERT(!pass->limits->least_bytes);
    for (int i = 0; i < pass->table->entry_count; i++)
        least[i] = MW_FORBIDDEN;
    clear_outside(pass);
    for (int stages = pass->limits->most_stages; stages > 0; stages--) {
        const int64_t in_flight = in_flight_of(pass, stages);
        if (stages == pass->limits->most_stages || in_flight != in_flight_of(pass, stages + 1))
            set_base(pass, in_flight);
        for (int layer = 0; layer < pass->layers; layer++)
            for (int g = pass->first_group[layer]; g < pass->first_group[layer + 1]; g++)
                update_group(pass, stages, layer, &pass->groups[g], least);
    }
}
