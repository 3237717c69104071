/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The components of a core (components.c), each a search of its own.
 *
 * A component is extracted with tables and numbers of its own, so that many small ones take no more
 * work than one that is as large as all of them; and of equal ones only one is solved. Each
 * component carries the constant of the whole core: so its cost is what the whole would cost if
 * nothing else did, and shares of the cost, of which it is asked whether a gap is small, are those
 * of the whole. As costs and bounds of components add,
 *     bound of the core  =  constant + sum over components of (bound - constant),
 * in exact integers; and a choice of each together is a choice of the core.
 *
 * The road is taken in stretches: as an early one finds first choices, there is a choice of the
 * whole before much work is done on any component, and what takes long begins last. Within each
 * stretch components come from the smallest to the largest, each with a share of the time left in
 * proportion to its size, and no less than a part of the average; what one does not use is left to
 * those that follow, and in the end to those whose share was too little. */
#include "solver/road/apart.h"

#include "solver/bound/ascent.h"
#include "solver/core/components.h"
#include "solver/tuning.h"

#include <stdlib.h>

/* Of the average size, which counts for a component in any case. */
static const double LEAST_SHARE = 0.25;

/* The whole is told of a better choice at once if that is so large a share of its gap, or of the
 * work at it; otherwise with others: to recompute the cost of the whole takes its time. */
enum { LARGE_SHARE = 64 };

typedef struct Apart Apart;

typedef struct {
    Apart *apart;
    int index; /* of the component */
    int copies;
    double size; /* entries and strategies */
    MwSearch search;
    MwSolution solution;
    MwSolveOptions options;
    MwCore *core;
    bool closed;        /* nothing is left of the search but the solution */
    MwCost bound, cost; /* as counted in those of the whole */
    const int *counted; /* the choice */
} Piece;

struct Apart {
    MwSearch *search; /* the whole */
    const MwCore *core;
    MwComponents components;
    MwArena *arena;
    Piece *pieces;  /* the smallest first */
    int count;      /* of pieces: components that differ */
    int *piece_of;  /* [component] */
    double average; /* size of a piece */
    int missing;    /* pieces without a choice */
    /* In the core's scale; the cost is one if none is missing. */
    MwCost bound, cost, told; /* the cost that the whole was told of */
};

static void offer_all(Apart *apart)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, apart->core->node_count);
    for (int c = 0; c < apart->components.count; c++) {
        const MwComponent *part = &apart->components.at[c];
        const int *of_part = apart->pieces[apart->piece_of[c]].solution.choice;
        for (int i = 0; i < part->node_count; i++)
            choice[part->nodes[i]] = of_part[i];
    }
    mw_search_offer_of_core(apart->search, apart->core, choice);
    apart->told = apart->cost;
    mw_arena_free(&scratch);
}

static bool has_better(const Apart *apart)
{
    return apart->missing == 0 && apart->cost < apart->told;
}

/* A cost of its search in the core's scale, less the constant. */
static MwCost scaled(const Piece *piece, MwCost cost)
{
    return cost * ((MwCost)1 << piece->search.root->scale) - piece->search.root->constant;
}

static void count_bound(Piece *piece)
{
    Apart *apart = piece->apart;
    const MwCost bound = scaled(piece, piece->solution.lower_bound);
    if (bound <= piece->bound)
        return;
    apart->bound += piece->copies * (bound - piece->bound);
    piece->bound = bound;
    mw_search_raise_bound(apart->search, apart->core, apart->bound);
}

static void count_choice(Piece *piece)
{
    Apart *apart = piece->apart;
    if (piece->solution.choice == piece->counted)
        return;
    const MwCost cost = scaled(piece, piece->solution.cost);
    apart->cost += piece->copies * (cost - piece->cost);
    piece->cost = cost;
    apart->missing -= !piece->counted;
    piece->counted = piece->solution.choice;
}

/* Tells the whole what is known of a component. */
static void tell(Piece *piece)
{
    Apart *apart = piece->apart;
    count_bound(piece);
    count_choice(piece);
    if (has_better(apart) &&
        (LARGE_SHARE * (apart->told - apart->cost) >= apart->told - apart->bound ||
         LARGE_SHARE * piece->size >= apart->average * apart->count))
        offer_all(apart);
}

static void hear(void *context, const MwSolution *so_far, double time_s)
{
    (void)so_far, (void)time_s;
    tell(context);
}

/* ---- Making the pieces ---- */

/* The greatest power of two, up to the core's scale, that divides all costs: what a choice costs is
 * then a whole number of it. */
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

/* No choice of it costs less. */
static MwCost plain_bound(const MwCore *core)
{
    MwCost bound = core->constant;
    for (int i = 0; i < core->node_count; i++)
        bound += core->nodes[i].cost->least;
    for (int i = 0; i < core->functions.count; i++)
        bound += core->functions.at[i].cost->least;
    return bound;
}

static double size_of(const MwCore *core, const MwComponent *part)
{
    double size = 0;
    for (int i = 0; i < part->node_count; i++)
        size += (double)core->nodes[part->nodes[i]].cost->count;
    for (int i = 0; i < part->function_count; i++)
        size += (double)core->functions.at[part->functions[i]].cost->count;
    return size;
}

static int compare_pieces(const void *a, const void *b)
{
    const Piece *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void make_pieces(Apart *apart)
{
    const MwComponents *components = &apart->components;
    apart->pieces = MW_NEW(apart->arena, Piece, components->count);
    apart->piece_of = MW_NEW(apart->arena, int, components->count);
    for (int c = 0; c < components->count; c++)
        if (components->equal[c] == c)
            apart->pieces[apart->count++] =
                (Piece){.index = c, .size = size_of(apart->core, &components->at[c])};
    qsort(apart->pieces, (size_t)apart->count, sizeof *apart->pieces, compare_pieces);
    for (int i = 0; i < apart->count; i++)
        apart->piece_of[apart->pieces[i].index] = i;
    for (int c = 0; c < components->count; c++) {
        apart->piece_of[c] = apart->piece_of[components->equal[c]];
        apart->pieces[apart->piece_of[c]].copies++;
    }
}

static void begin_search(Piece *piece, Apart *apart)
{
    const MwSearch *whole = apart->search;
    MwArena *scratch = mw_arena_new();
    MwCore *root =
        mw_core_extract_component(scratch, apart->core, &apart->components.at[piece->index]);
    root->scale = common_scale(root);
    piece->apart = apart;
    piece->solution.lower_bound = mw_core_unscaled_bound(root, plain_bound(root));
    piece->options = *whole->options;
    piece->options.report = hear;
    piece->options.context = piece;
    piece->options.cutoff = 0; /* that is one of the whole */
    piece->search = *whole;
    piece->search.root = root;
    piece->search.whole = whole;
    piece->search.arena = apart->arena;
    piece->search.scratch = scratch;
    piece->search.tables = root->tables;
    piece->search.options = &piece->options;
    piece->search.solution = &piece->solution;
    piece->core = mw_core_copy(scratch, root);
    piece->bound = scaled(piece, piece->solution.lower_bound);
}

/* Together, gaps that are small enough for the pieces are small enough for the whole. */
static void begin_searches(Apart *apart)
{
    double total = 0, sizes = 0;
    for (int i = 0; i < apart->count; i++) {
        sizes += apart->pieces[i].size;
        total += apart->pieces[i].copies * apart->pieces[i].size;
    }
    apart->average = sizes / apart->count;
    apart->missing = apart->count;
    apart->bound = apart->cost = apart->core->constant;
    apart->told = MW_ABOVE_ANY_COST;
    for (int i = 0; i < apart->count; i++) {
        Piece *piece = &apart->pieces[i];
        begin_search(piece, apart);
        piece->options.gap *= piece->size / total;
        apart->bound += piece->copies * piece->bound;
    }
    mw_search_raise_bound(apart->search, apart->core, apart->bound);
}

/* ---- The road ---- */

/* How much it weighs when time is shared. */
static double weight(const Piece *piece)
{
    return piece->size + LEAST_SHARE * piece->apart->average;
}

/* Frees all that searching for it took. */
static void close_piece(Piece *piece)
{
    if (piece->search.improver)
        mw_improver_free(piece->search.improver);
    mw_arena_free(&piece->search.scratch);
    piece->closed = true;
}

static bool is_open(const Piece *piece)
{
    return !piece->closed && !mw_search_done(&piece->search);
}

static void log_piece(const Piece *piece)
{
    const Apart *apart = piece->apart;
    FILE *log = apart->search->options->log;
    if (log)
        fprintf(log, "%8.3f s  component %d of %d\n", mw_clock_s() - apart->search->start_s,
                piece->index + 1, apart->components.count);
}

/* With `share` of the time left. */
static void go(Piece *piece, const MwStretch *stretch, double share)
{
    MwSearch *whole = piece->apart->search;
    piece->search.stop = mw_stop_within(&whole->stop, share);
    log_piece(piece);
    stretch->go(&piece->search, piece->core);
    tell(piece);
    if (piece->search.impossible)
        mw_search_exhaust(whole);
    if (!is_open(piece))
        close_piece(piece);
}

/* How many are open, and what they weigh together. */
static int count_open(const Apart *apart, double *weights)
{
    int open = 0;
    *weights = 0;
    for (int i = 0; i < apart->count; i++)
        if (is_open(&apart->pieces[i])) {
            *weights += weight(&apart->pieces[i]);
            open++;
        }
    return open;
}

/* Time for what weighs 1. */
static double time_to_share(const Apart *apart)
{
    double weights;
    return count_open(apart, &weights) ? mw_stop_left_s(&apart->search->stop) / weights : 0;
}

static void go_round(Apart *apart, const MwStretch *stretch)
{
    double left;
    if (count_open(apart, &left) == 1 && stretch->early)
        return;
    for (int i = 0; i < apart->count && !mw_stopped(&apart->search->stop); i++) {
        Piece *piece = &apart->pieces[i];
        if (!is_open(piece))
            continue;
        go(piece, stretch, weight(piece) / left);
        left -= weight(piece);
    }
}

/* Where a stretch is to be taken again, those still open take it as long as they then have more
 * than the time that they had over MW_TUNED_TIME_SHARE: what was cut short may then be finished.
 * Without a limit none was. */
static void go_all(Apart *apart, const MwStretch *stretch)
{
    double given, next = time_to_share(apart);
    do {
        given = next;
        go_round(apart, stretch);
        next = time_to_share(apart);
    } while (stretch->again && MW_TUNED_TIME_SHARE * next > given);
    if (has_better(apart))
        offer_all(apart);
}

static void end_searches(Apart *apart)
{
    int nodes = 0;
    for (int i = 0; i < apart->count; i++) {
        Piece *piece = &apart->pieces[i];
        nodes += piece->copies * piece->solution.reduced_nodes;
        if (!piece->closed)
            close_piece(piece);
    }
    apart->search->solution->reduced_nodes = nodes;
}

bool mw_solve_apart(MwSearch *search, const MwCore *core, int stretch_count,
                    const MwStretch *stretches)
{
    Apart apart = {.search = search, .core = core, .arena = mw_arena_new()};
    apart.components = mw_components(apart.arena, core);
    const bool divides = apart.components.count > 1;
    if (divides) {
        make_pieces(&apart);
        begin_searches(&apart);
        for (int i = 0; i < stretch_count && !mw_search_done(search); i++)
            go_all(&apart, &stretches[i]);
        end_searches(&apart);
    }
    mw_arena_free(&apart.arena);
    return divides;
}
