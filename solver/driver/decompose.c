/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The components of a core (components.c), each with a search of its own.
 *
 * A component is extracted with separate tables and indices, so that many small ones take no more
 * work than one that is as large as all of them. Of equal components only one is solved. Each
 * component carries the constant of the whole core: its cost is what the whole would cost if all
 * else were free, so that a relative gap of a component is relative to the cost of the whole. Costs
 * and bounds of components add:
 *   bound of the core  =  constant + sum over components of (bound - constant),
 * in exact integers. A choice of each component together is a choice of the core.
 *
 * The driver works in steps. An early step finds first choices, so that the whole has a choice
 * before much work is done on any component; the most expensive step comes last. Within each step,
 * components run in order of rising size. Each gets a share of the remaining time in proportion to
 * its size, but at least a fraction of the average share. Time that one does not use is left to
 * those that follow, and finally to those whose time was too short. */
#include "solver/driver/decompose.h"

#include "solver/bound/ascent.h"
#include "solver/core/components.h"
#include "solver/tuning.h"

#include <stdlib.h>

/* Fraction of the average size that is added to each size when time is shared */
static const double LEAST_SHARE = 0.25;

/* The whole learns of a better choice at once if the improvement is at least 1 / LARGE_SHARE of its
 * gap, or the component that fraction of its size; otherwise together with others, because
 * recomputing the cost of the whole takes time. */
enum { LARGE_SHARE = 64 };

typedef struct Decomposition Decomposition;

typedef struct {
    Decomposition *decomposition;
    int index; /* index of the component */
    int copies;
    double size; /* entries and strategies */
    MwSearch search;
    MwSolution solution;
    MwSolveOptions options;
    MwCore *core;
    bool closed;               /* the search is freed; only the solution is left */
    MwCost bound, cost;        /* as included in those of the whole */
    const int *counted_choice; /* the choice included in the cost of the whole */
} ComponentSearch;

struct Decomposition {
    MwSearch *search; /* the search of the whole */
    const MwCore *core;
    MwComponents components;
    MwArena *arena;
    ComponentSearch *searches; /* in order of rising size */
    int count;                 /* number of searches: components that differ */
    int *search_of;            /* [component] */
    double average;            /* average size */
    int without_choice;        /* number of searches without a choice */
    /* In the core's scale. The cost is meaningful if every search has a choice. */
    MwCost bound, cost;
    MwCost offered_cost; /* the cost that was last offered to the whole */
};

static void offer_all(Decomposition *decomposition)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, decomposition->core->node_count);
    for (int c = 0; c < decomposition->components.count; c++) {
        const MwComponent *component = &decomposition->components.at[c];
        const int *component_choice =
            decomposition->searches[decomposition->search_of[c]].solution.choice;
        for (int i = 0; i < component->node_count; i++)
            choice[component->nodes[i]] = component_choice[i];
    }
    mw_search_offer_core_choice(decomposition->search, decomposition->core, choice);
    decomposition->offered_cost = decomposition->cost;
    mw_arena_free(&scratch);
}

static bool has_better(const Decomposition *decomposition)
{
    return decomposition->without_choice == 0 && decomposition->cost < decomposition->offered_cost;
}

/* Returns a cost of the component's search in the core's scale, less the constant. */
static MwCost scaled(const ComponentSearch *component, MwCost cost)
{
    return cost * ((MwCost)1 << component->search.root->scale) - component->search.root->constant;
}

static void add_bound(ComponentSearch *component)
{
    Decomposition *decomposition = component->decomposition;
    const MwCost bound = scaled(component, component->solution.lower_bound);
    if (bound <= component->bound)
        return;
    decomposition->bound += component->copies * (bound - component->bound);
    component->bound = bound;
    mw_search_raise_bound(decomposition->search, decomposition->core, decomposition->bound);
}

static void add_choice(ComponentSearch *component)
{
    Decomposition *decomposition = component->decomposition;
    if (component->solution.choice == component->counted_choice)
        return;
    const MwCost cost = scaled(component, component->solution.cost);
    decomposition->cost += component->copies * (cost - component->cost);
    component->cost = cost;
    decomposition->without_choice -= !component->counted_choice;
    component->counted_choice = component->solution.choice;
}

/* Adds what is known of a component to the whole. */
static void report_to_whole(ComponentSearch *component)
{
    Decomposition *decomposition = component->decomposition;
    add_bound(component);
    add_choice(component);
    if (has_better(decomposition) &&
        (LARGE_SHARE * (decomposition->offered_cost - decomposition->cost) >=
             decomposition->offered_cost - decomposition->bound ||
         LARGE_SHARE * component->size >= decomposition->average * decomposition->count))
        offer_all(decomposition);
}

static void on_report(void *context, const MwSolution *so_far, double time_s)
{
    (void)so_far, (void)time_s;
    report_to_whole(context);
}

/* ---- Setting up the searches ---- */

/* Returns the greatest exponent, up to the core's scale, of a power of two that divides all costs:
 * the cost of a choice is an integer in that unit. */
static int common_scale(const MwCore *core)
{
    uint64_t bits = (uint64_t)core->constant | (uint64_t)1 << mw_max(core->scale, 0);
    for (int i = 0; i < core->node_count; i++)
        for (int64_t s = 0; s < core->nodes[i].cost->count; s++)
            if (core->nodes[i].cost->at[s] < MW_FORBIDDEN)
                bits |= (uint64_t)core->nodes[i].cost->at[s];
    for (int i = 0; i < core->functions.count; i++)
        for (int64_t k = 0; k < core->functions.at[i].cost->count; k++)
            if (core->functions.at[i].cost->at[k] < MW_FORBIDDEN)
                bits |= (uint64_t)core->functions.at[i].cost->at[k];
    int scale = 0;
    while (!(bits >> scale & 1))
        scale++;
    return scale;
}

/* Returns a lower bound of the cost: the sum of the least costs. */
static MwCost plain_bound(const MwCore *core)
{
    MwCost bound = core->constant;
    for (int i = 0; i < core->node_count; i++)
        bound += core->nodes[i].cost->least;
    for (int i = 0; i < core->functions.count; i++)
        bound += core->functions.at[i].cost->least;
    return bound;
}

static double size_of(const MwCore *core, const MwComponent *component)
{
    double size = 0;
    for (int i = 0; i < component->node_count; i++)
        size += (double)core->nodes[component->nodes[i]].cost->count;
    for (int i = 0; i < component->function_count; i++)
        size += (double)core->functions.at[component->functions[i]].cost->count;
    return size;
}

static int compare_searches(const void *a, const void *b)
{
    const ComponentSearch *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void list_searches(Decomposition *decomposition)
{
    const MwComponents *components = &decomposition->components;
    decomposition->searches = MW_NEW(decomposition->arena, ComponentSearch, components->count);
    decomposition->search_of = MW_NEW(decomposition->arena, int, components->count);
    for (int c = 0; c < components->count; c++)
        if (components->equal[c] == c)
            decomposition->searches[decomposition->count++] = (ComponentSearch){
                .index = c, .size = size_of(decomposition->core, &components->at[c])};
    qsort(decomposition->searches, (size_t)decomposition->count, sizeof *decomposition->searches,
          compare_searches);
    for (int i = 0; i < decomposition->count; i++)
        decomposition->search_of[decomposition->searches[i].index] = i;
    for (int c = 0; c < components->count; c++) {
        decomposition->search_of[c] = decomposition->search_of[components->equal[c]];
        decomposition->searches[decomposition->search_of[c]].copies++;
    }
}

static void begin_search(ComponentSearch *component, Decomposition *decomposition)
{
    const MwSearch *whole = decomposition->search;
    MwArena *scratch = mw_arena_new();
    MwCore *root = mw_core_extract_component(scratch, decomposition->core,
                                             &decomposition->components.at[component->index]);
    root->scale = common_scale(root);
    component->decomposition = decomposition;
    component->solution.lower_bound = mw_core_unscaled_bound(root, plain_bound(root));
    component->options = *whole->options;
    component->options.report = on_report;
    component->options.context = component;
    component->options.cutoff = 0; /* it refers to the whole */
    component->search = *whole;
    component->search.root = root;
    component->search.parent = whole;
    component->search.arena = decomposition->arena;
    component->search.scratch = scratch;
    component->search.tables = root->tables;
    component->search.options = &component->options;
    component->search.solution = &component->solution;
    component->core = mw_core_copy(scratch, root);
    component->bound = scaled(component, component->solution.lower_bound);
}

/* If the gap of each component is small enough, so is the gap of the whole. */
static void begin_searches(Decomposition *decomposition)
{
    double total = 0, sizes = 0;
    for (int i = 0; i < decomposition->count; i++) {
        sizes += decomposition->searches[i].size;
        total += decomposition->searches[i].copies * decomposition->searches[i].size;
    }
    decomposition->average = sizes / decomposition->count;
    decomposition->without_choice = decomposition->count;
    decomposition->bound = decomposition->cost = decomposition->core->constant;
    decomposition->offered_cost = MW_ABOVE_ANY_COST;
    for (int i = 0; i < decomposition->count; i++) {
        ComponentSearch *component = &decomposition->searches[i];
        begin_search(component, decomposition);
        component->options.gap *= component->size / total;
        decomposition->bound += component->copies * component->bound;
    }
    mw_search_raise_bound(decomposition->search, decomposition->core, decomposition->bound);
}

/* ---- Running the steps ---- */

/* Returns the weight of the component when time is shared. */
static double weight(const ComponentSearch *component)
{
    return component->size + LEAST_SHARE * component->decomposition->average;
}

/* Frees the memory of the search. */
static void close_search(ComponentSearch *component)
{
    if (component->search.improver)
        mw_improver_free(component->search.improver);
    mw_arena_free(&component->search.scratch);
    component->closed = true;
}

static bool is_open(const ComponentSearch *component)
{
    return !component->closed && !mw_search_done(&component->search);
}

static void log_component(const ComponentSearch *component)
{
    const Decomposition *decomposition = component->decomposition;
    FILE *log = decomposition->search->options->log;
    if (log)
        fprintf(log, "%8.3f s  component %d of %d\n", mw_clock_s() - decomposition->search->start_s,
                component->index + 1, decomposition->components.count);
}

/* Runs the step within the fraction `share` of the time left. */
static void run(ComponentSearch *component, const MwDriverStep *step, double share)
{
    MwSearch *whole = component->decomposition->search;
    component->search.stop = mw_stop_within(&whole->stop, share);
    log_component(component);
    step->run(&component->search, component->core);
    report_to_whole(component);
    if (component->search.impossible)
        mw_search_exhaust(whole);
    if (!is_open(component))
        close_search(component);
}

/* Returns the number of open searches, and the sum of their weights. */
static int count_open(const Decomposition *decomposition, double *weights)
{
    int open = 0;
    *weights = 0;
    for (int i = 0; i < decomposition->count; i++)
        if (is_open(&decomposition->searches[i])) {
            *weights += weight(&decomposition->searches[i]);
            open++;
        }
    return open;
}

/* Returns the time left per unit of weight. */
static double time_per_weight(const Decomposition *decomposition)
{
    double weights;
    return count_open(decomposition, &weights)
               ? mw_stop_left_s(&decomposition->search->stop) / weights
               : 0;
}

static void run_once(Decomposition *decomposition, const MwDriverStep *step)
{
    double left;
    if (count_open(decomposition, &left) == 1 && step->skip_if_single)
        return;
    for (int i = 0; i < decomposition->count && !mw_stopped(&decomposition->search->stop); i++) {
        ComponentSearch *component = &decomposition->searches[i];
        if (!is_open(component))
            continue;
        run(component, step, weight(component) / left);
        left -= weight(component);
    }
}

/* Runs a step on all components. A step to be repeated runs again on open components as long as
 * each then has more than its last time divided by MW_TUNED_TIME_SHARE: what was cut short may then
 * finish. Without a time limit nothing was cut short. */
static void run_step(Decomposition *decomposition, const MwDriverStep *step)
{
    double given, next = time_per_weight(decomposition);
    do {
        given = next;
        run_once(decomposition, step);
        next = time_per_weight(decomposition);
    } while (step->repeat && MW_TUNED_TIME_SHARE * next > given);
    if (has_better(decomposition))
        offer_all(decomposition);
}

static void end_searches(Decomposition *decomposition)
{
    int nodes = 0;
    for (int i = 0; i < decomposition->count; i++) {
        ComponentSearch *component = &decomposition->searches[i];
        nodes += component->copies * component->solution.reduced_nodes;
        if (!component->closed)
            close_search(component);
    }
    decomposition->search->solution->reduced_nodes = nodes;
}

bool mw_solve_components(MwSearch *search, const MwCore *core, int step_count,
                         const MwDriverStep *steps)
{
    Decomposition decomposition = {.search = search, .core = core, .arena = mw_arena_new()};
    decomposition.components = mw_components(decomposition.arena, core);
    const bool divides = decomposition.components.count > 1;
    if (divides) {
        list_searches(&decomposition);
        begin_searches(&decomposition);
        for (int i = 0; i < step_count && !mw_search_done(search); i++)
            run_step(&decomposition, &steps[i]);
        end_searches(&decomposition);
    }
    mw_arena_free(&decomposition.arena);
    return divides;
}
