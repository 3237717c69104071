/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Alpa enumerates the greatest stage time and runs a dynamic program for each. This search applies
 * branch and bound to the pairs of greatest stage time and greatest step time, and needs tens of
 * programs where there are thousands of times.
 *
 * A box is a range of `steady` and a range of `step`. The program at its upper corner gives the
 * least fill A of all cuts in the box, and a cut that attains it, at (p, x). Every better cut in
 * the box has steady < p or step < x, and total >= A + the lower corner of the box. Boxes are
 * visited in order of that bound; the first one whose bound does not improve on the incumbent ends
 * the search.
 *
 * Answers are asked lazily: programs use bounds for entries that were not asked. If the best cut of
 * a box uses bounds, promising entries are asked and the box is visited again. Answers can only
 * raise A, so what A excluded stays excluded.
 *
 * Once the caller's time for answers is spent, the least bound of a box is the lower bound of the
 * result, and the search goes on among the cuts of entries that were asked or whose answers are
 * known. If there is none, and the caller needs one, entries are asked until there is. */
#include "solver/stages/search.h"

#include "base/vec.h"
#include "solver/stages/work_bound.h"
#include "solver/tuning.h"

#include <stdlib.h>

typedef struct {
    int least_stages, most_stages;
    int64_t fill; /* lower bound on the fill of every cut in the box */
    int64_t least_steady, most_steady, least_step, most_step;
} Box;

typedef MW_VEC(Box) Boxes;

static int64_t bound_of(const Box *box)
{
    return box->fill + box->least_steady + box->least_step;
}

static bool needs_fixed_stages(const MwStageProblem *problem)
{
    return problem->layer_stage || problem->schedule.by_stages;
}

/* Raises the lower corner to what the work of all stages asks of one of them. */
static void raise_corner(MwStageSearch *search, Box *box)
{
    if (search->work_asked != search->table->asked || search->work_submesh != search->submesh ||
        search->work_spent != search->is_spent) {
        search->work_asked = search->table->asked;
        search->work_submesh = search->submesh;
        search->work_spent = search->is_spent;
        search->work_bound = mw_stage_work_bound(search->table, search->submesh, search->is_spent);
    }
    box->least_steady = mw_max(box->least_steady, search->work_bound);
}

static void add_box(MwStageSearch *search, Boxes *boxes, Box box)
{
    raise_corner(search, &box);
    if (box.least_steady > box.most_steady || box.least_step > box.most_step)
        return;
    if (bound_of(&box) < search->total)
        mw_vec_push(search->arena, boxes, box);
}

static void add_first_boxes(MwStageSearch *search, Boxes *boxes)
{
    Box box = {.most_steady = MW_FORBIDDEN - 1, .most_step = MW_FORBIDDEN - 1};
    int width = needs_fixed_stages(search->table->problem) ? 1 : search->most_stages;
    for (int stages = search->least_stages; stages <= search->most_stages; stages += width) {
        box.least_stages = stages;
        box.most_stages = (int)mw_min(stages + width - 1, search->most_stages);
        add_box(search, boxes, box);
    }
}

/* Removes and returns the box of least bound. */
static Box pop_box(Boxes *boxes)
{
    int best = 0;
    for (int i = 1; i < boxes->count; i++)
        if (bound_of(&boxes->at[i]) < bound_of(&boxes->at[best]))
            best = i;
    Box box = boxes->at[best];
    boxes->at[best] = mw_vec_last(boxes);
    boxes->count--;
    return box;
}

/* Shrinks the box to the cuts that can improve on the incumbent. */
static void shrink(MwStageSearch *search, Box *box)
{
    raise_corner(search, box);
    int64_t room = search->total - 1 - bound_of(box);
    box->most_steady = mw_min(box->most_steady, box->least_steady + room);
    box->most_step = mw_min(box->most_step, box->least_step + room);
}

static MwStageLimits limits_of(const MwStageSearch *search, const Box *box)
{
    MwStageLimits limits = {
        .least_stages = box->least_stages,
        .most_stages = box->most_stages,
        .submesh = search->submesh,
        .fill = search->total - 1 - box->least_steady - box->least_step,
        .steady = box->most_steady,
        .step = box->most_step,
        .asked_only = search->is_spent,
    };
    return limits;
}

static bool ask_path(MwStageSearch *search, const MwStagePath *path)
{
    MwArena *scratch = mw_arena_new();
    int *entries = MW_NEW(scratch, int, path->stage_count);
    for (int i = 0; i < path->stage_count; i++)
        entries[i] = path->stages[i].entry;
    bool asked = mw_stage_table_ask(search->table, entries, path->stage_count);
    mw_arena_free(&scratch);
    return asked;
}

typedef struct {
    int64_t value;
    int entry;
} EntryBound;

static int by_bound(const void *left, const void *right)
{
    const EntryBound *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->entry - b->entry;
}

/* Number of questions asked at a time at the beginning. */
enum { FEWEST_QUESTIONS = 16 };

/* Asks the entries with the best bounds: a fraction of the number asked so far, so that many
 * questions need few dynamic programs, and few questions are wasted. */
static void ask_promising(MwStageSearch *search, const MwStageLimits *limits)
{
    MwArena *scratch = mw_arena_new();
    MwStageTable *table = search->table;
    int64_t *value = MW_NEW(scratch, int64_t, table->entry_count);
    EntryBound *bounds = MW_NEW(scratch, EntryBound, table->entry_count);
    int count = 0,
        most = (int)mw_max(FEWEST_QUESTIONS, (int64_t)(MW_TUNED_STAGE_QUESTIONS * table->asked));
    mw_stage_pass_least_with(search->pass, value);
    for (int i = 0; i < table->entry_count; i++)
        if (value[i] <= limits->fill && !table->entries[i].asked)
            bounds[count++] = (EntryBound){value[i], i};
    qsort(bounds, (size_t)count, sizeof *bounds, by_bound);
    int *entries = MW_NEW(scratch, int, count);
    for (int i = 0; i < count; i++)
        entries[i] = bounds[i].entry;
    bool asked = mw_stage_table_ask(table, entries, (int)mw_min(count, most));
    MW_ASSERT(asked); /* the entries of the best cut are among them */
    mw_arena_free(&scratch);
}

static bool uses_bounds(const MwStageTable *table, const MwStagePath *path)
{
    for (int i = 0; i < path->stage_count; i++)
        if (!table->entries[path->stages[i].entry].asked)
            return true;
    return false;
}

static void update_incumbent(MwStageSearch *search, const MwStagePath *path)
{
    int64_t total = path->fill + path->steady + path->step;
    if (total >= search->total)
        return;
    search->found = true;
    search->total = total;
    search->incumbent = *path;
    search->incumbent.stages =
        mw_arena_dup(search->arena, path->stages, sizeof *path->stages * (size_t)path->stage_count);
}

/* Splits `box`, whose least fill is that of `path`, into boxes of possibly better cuts. */
static void split(MwStageSearch *search, Boxes *boxes, Box box, const MwStagePath *path)
{
    box.fill = path->fill;
    Box faster = box, lighter = box;
    if (path->steady > box.least_steady) {
        int64_t middle = box.least_steady + (path->steady - 1 - box.least_steady) / 2;
        faster.most_steady = middle;
        add_box(search, boxes, faster);
        faster.least_steady = middle + 1;
        faster.most_steady = path->steady - 1;
        add_box(search, boxes, faster);
    }
    lighter.least_steady = mw_max(box.least_steady, path->steady);
    lighter.most_step = path->step - 1;
    add_box(search, boxes, lighter);
}

static void log_box(const MwStageSearch *search, const Box *box, const char *result)
{
    if (search->log)
        fprintf(search->log,
                "stages %d..%d  steady %lld..%lld  step %lld..%lld  fill >= %lld: %s; best %lld\n",
                box->least_stages, box->most_stages, (long long)box->least_steady,
                (long long)box->most_steady, (long long)box->least_step, (long long)box->most_step,
                (long long)box->fill, result, (long long)(search->found ? search->total : -1));
}

static void explore(MwStageSearch *search, Boxes *boxes, Box box)
{
    shrink(search, &box);
    MwStageLimits limits = limits_of(search, &box);
    MwStagePath path;
    bool found = mw_stage_pass_run(search->pass, &limits, &path);
    search->passes++;
    if (!found) {
        log_box(search, &box, "nothing");
    } else if (uses_bounds(search->table, &path)) {
        ask_promising(search, &limits);
        box.fill = mw_max(box.fill, path.fill);
        add_box(search, boxes, box);
        log_box(search, &box, "asked");
    } else {
        /* Otherwise the boxes would not shrink. */
        MW_ASSERT(path.steady <= limits.steady && path.step <= limits.step);
        update_incumbent(search, &path);
        split(search, boxes, box, &path);
        log_box(search, &box, "a cut");
    }
}

static bool good_enough(const MwStageSearch *search, int64_t bound)
{
    return search->total < MW_FORBIDDEN &&
           (double)(search->total - bound) <= search->gap * (double)search->total;
}

static bool is_spent(const MwStageSearch *search)
{
    const MwStageProblem *problem = search->table->problem;
    return problem->is_spent && problem->is_spent(problem->context);
}

/* Returns a lower bound of all cuts in the boxes. */
static int64_t bound_boxes(MwStageSearch *search, Boxes *boxes)
{
    int64_t least = MW_FORBIDDEN;
    for (int i = 0; i < boxes->count; i++) {
        raise_corner(search, &boxes->at[i]);
        least = mw_min(least, bound_of(&boxes->at[i]));
    }
    return least;
}

/* Explores boxes until none can improve on the incumbent. Returns the lower bound if it ends before
 * that, because the time for answers is spent; MW_FORBIDDEN if not. */
static int64_t explore_boxes(MwStageSearch *search)
{
    Boxes boxes = {0};
    add_first_boxes(search, &boxes);
    while (boxes.count > 0) {
        if (!search->is_spent && is_spent(search))
            return bound_boxes(search, &boxes);
        Box box = pop_box(&boxes);
        if (good_enough(search, bound_of(&box)))
            return bound_of(&box);
        explore(search, &boxes, box);
    }
    return MW_FORBIDDEN;
}

/* Asks all entries whose answers are known. */
static void ask_known(MwStageSearch *search)
{
    MwStageTable *table = search->table;
    const MwStageProblem *problem = table->problem;
    MwArena *scratch = mw_arena_new();
    int *entries = MW_NEW(scratch, int, table->entry_count), count = 0;
    for (int i = 0; i < table->entry_count; i++) {
        const MwStageEntry *entry = &table->entries[i];
        if (entry->used && !entry->asked && entry->option_count > 0 &&
            problem->is_known(problem->context, entry->begin, entry->end, entry->submesh))
            entries[count++] = i;
    }
    mw_stage_table_ask(table, entries, count);
    mw_arena_free(&scratch);
}

/* Asks the entries of the best cut by bounds, until a cut has no others. Returns false if there is
 * no cut. */
static bool ask_some_cut(MwStageSearch *search)
{
    int width = needs_fixed_stages(search->table->problem) ? 1 : search->most_stages;
    for (int stages = search->least_stages; stages <= search->most_stages; stages += width) {
        Box box = {.least_stages = stages,
                   .most_stages = (int)mw_min(stages + width - 1, search->most_stages),
                   .most_steady = MW_FORBIDDEN - 1,
                   .most_step = MW_FORBIDDEN - 1};
        MwStageLimits limits = limits_of(search, &box);
        limits.asked_only = false;
        MwStagePath path;
        while (mw_stage_pass_run(search->pass, &limits, &path)) {
            search->passes++;
            if (!ask_path(search, &path))
                return true;
        }
    }
    return false;
}

void mw_stage_search_run(MwStageSearch *search)
{
    search->found = search->is_spent = false;
    search->work_asked = -1;
    int64_t bound = explore_boxes(search);
    if (!good_enough(search, bound) && is_spent(search)) {
        search->is_spent = true;
        ask_known(search);
        explore_boxes(search);
        if (!search->found && !search->table->problem->is_optional && ask_some_cut(search))
            explore_boxes(search);
    }
    search->lower_bound = mw_min(search->total, bound);
}

/* Returns the least memory with which a cut exists; asks until the cut has no entry with a bound,
 * unless the time for answers is spent. MW_FORBIDDEN or more: no memory suffices. */
static int64_t least_bytes(MwStageSearch *search, MwStageLimits limits)
{
    MwStagePath path;
    do {
        search->passes++;
        if (!mw_stage_pass_run(search->pass, &limits, &path))
            return MW_FORBIDDEN;
    } while (!limits.ignore_answers && !search->is_spent && ask_path(search, &path));
    return path.value;
}

/* Returns the same minimum over the whole range of stages. */
static int64_t least_bytes_of_all(MwStageSearch *search, bool ignore_pins, bool ignore_answers)
{
    int64_t least = MW_FORBIDDEN;
    int width = needs_fixed_stages(search->table->problem) ? 1 : search->most_stages;
    for (int stages = search->least_stages; stages <= search->most_stages; stages += width) {
        MwStageLimits limits = {
            .least_stages = stages,
            .most_stages = (int)mw_min(stages + width - 1, search->most_stages),
            .submesh = search->submesh,
            .ignore_pins = ignore_pins,
            .ignore_answers = ignore_answers,
            .least_bytes = true,
        };
        least = mw_min(least, least_bytes(search, limits));
    }
    return least;
}

MwStageReason mw_stage_search_explain(MwStageSearch *search, int64_t *needed_bytes)
{
    int64_t bytes = least_bytes_of_all(search, false, false);
    *needed_bytes = bytes < MW_FORBIDDEN ? bytes : 0;
    if (search->is_spent && bytes < MW_FORBIDDEN) /* perhaps by bounds, which no cut attained */
        *needed_bytes = mw_max(bytes, search->table->problem->memory_bytes + 1);
    if (bytes < MW_FORBIDDEN)
        return MW_STAGES_MEMORY;
    if (search->table->problem->layer_stage &&
        least_bytes_of_all(search, true, false) < MW_FORBIDDEN)
        return MW_STAGES_PINS;
    if (least_bytes_of_all(search, true, true) < MW_FORBIDDEN)
        return MW_STAGES_UNANSWERED;
    return MW_STAGES_DEVICES;
}
