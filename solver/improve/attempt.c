/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt: the repair step of large-neighbourhood search, by Lagrangian relaxation.
 *
 * With priced usage the neighbourhood is solved by elimination. The solution need not keep the
 * rows, but its value bounds the gain of every choice that does (Lagrangian duality). Of the
 * changes that the solution proposes, those are taken that fit together (selection.c). Then the
 * prices follow the excess by Polyak's step, whose target is the best cost found (Minimization of
 * unsmooth functionals, 1969), and the neighbourhood is solved again, until the bound shows that
 * nothing can be gained. */
#include "solver/improve/attempt.h"

#include "solver/bound/dual.h"
#include "solver/tuning.h"

#include <math.h>

/* Gap that rounding of the bound may leave, as a fraction of the cost. */
static const double EXACT = 1e-9;

/* Rows grouped into segments within which no term of a free node begins or ends. */
typedef struct {
    int count;
    int *segment_of; /* [row] segment; during the search for segments: 1 at their starts */
    double *slack;   /* [segment] least slack with the free nodes removed */
    double *price;   /* [segment] sum of the rows' prices */
    double *excess;  /* [segment] usage of the solution less slack */
    double *sum;     /* [segment + 1] prefix sums of `price` */
} Segments;

MwAttemptWorkspace mw_attempt_workspace(MwArena *arena, const MwFlatCore *flat)
{
    MwAttemptWorkspace workspace = {.index_of = MW_NEW(arena, int, flat->node_count)};
    for (int i = 0; i < flat->node_count; i++)
        workspace.index_of[i] = -1;
    return workspace;
}

void mw_attempt_workspace_free(MwAttemptWorkspace *workspace)
{
    mw_arena_free(&workspace->arena);
}

static void ensure_tables(MwAttemptWorkspace *workspace, int64_t entries)
{
    if (entries <= workspace->entries)
        return;
    mw_arena_free(&workspace->arena);
    workspace->arena = mw_arena_new();
    workspace->entries = 2 * entries;
    workspace->tables = MW_NEW(workspace->arena, double, workspace->entries);
}

static void add_usage(const MwFlatNode *node, int strategy, double *change)
{
    for (int k = 0; k < node->term_count; k++) {
        double usage = (double)node->terms[k].usage->at[strategy];
        change[node->terms[k].first] += usage;
        change[node->terms[k].last + 1] -= usage;
    }
}

static Segments find_segments(MwArena *arena, const MwLocalProblem *local,
                              const MwAssignment *assignment, const double *price_sum)
{
    const MwFlatCore *flat = local->flat;
    int rows = flat->row_count;
    Segments segments = {.segment_of = MW_NEW(arena, int, rows + 1)};
    double *change = MW_NEW(arena, double, rows + 1), freed = 0;
    for (int i = 0; i < local->node_count; i++) {
        const MwFlatNode *node = &flat->nodes[local->nodes[i].origin];
        for (int k = 0; k < node->term_count; k++)
            segments.segment_of[node->terms[k].first] =
                segments.segment_of[node->terms[k].last + 1] = 1;
        add_usage(node, local->nodes[i].current, change);
    }
    int most = 1;
    for (int row = 0; row < rows; row++)
        most += segments.segment_of[row];
    segments.slack = MW_NEW(arena, double, most);
    segments.price = MW_NEW(arena, double, most);
    segments.excess = MW_NEW(arena, double, most + 1);
    segments.sum = MW_NEW(arena, double, most + 1);
    int segment = -1;
    for (int row = 0; row < rows; row++) {
        freed += change[row];
        double slack = (double)assignment->slack[row] + freed;
        if (row == 0 || segments.segment_of[row])
            segments.slack[++segment] = slack;
        segments.slack[segment] = fmin(segments.slack[segment], slack);
        segments.price[segment] += price_sum[row + 1] - price_sum[row];
        segments.segment_of[row] = segment;
    }
    segments.count = segment + 1;
    segments.segment_of[rows] = segments.count;
    return segments;
}

/* Sets the added costs of the free nodes to their priced usage. The first `discounted` nodes pay
 * only the fraction `discount` of each price. Returns the priced slack. */
static double price_usage(const MwLocalProblem *local, Segments *segments,
                          const MwAttemptOptions *options)
{
    double priced = 0;
    for (int i = 0; i < segments->count; i++) {
        segments->sum[i + 1] = segments->sum[i] + segments->price[i];
        priced += segments->price[i] * segments->slack[i];
    }
    for (int i = 0; i < local->node_count; i++) {
        const MwFlatNode *node = &local->flat->nodes[local->nodes[i].origin];
        double *added = local->nodes[i].added,
               factor = i < options->discounted ? options->discount : 1;
        for (int s = 0; s < node->strategies; s++)
            added[s] = 0;
        for (int k = 0; k < node->term_count; k++) {
            const MwCoreTerm *term = &node->terms[k];
            double price = factor * (segments->sum[segments->segment_of[term->last + 1]] -
                                     segments->sum[segments->segment_of[term->first]]);
            for (int s = 0; s < node->strategies && price > 0; s++)
                added[s] += price * (double)term->usage->at[s];
        }
    }
    return priced;
}

static int chosen(const MwLocalNode *node)
{
    return node->strategy[node->label];
}

static void find_excess(const MwLocalProblem *local, Segments *segments)
{
    for (int i = 0; i <= segments->count; i++)
        segments->excess[i] = 0;
    for (int i = 0; i < local->node_count; i++) {
        const MwFlatNode *node = &local->flat->nodes[local->nodes[i].origin];
        for (int k = 0; k < node->term_count; k++) {
            double usage = (double)node->terms[k].usage->at[chosen(&local->nodes[i])];
            segments->excess[segments->segment_of[node->terms[k].first]] += usage;
            segments->excess[segments->segment_of[node->terms[k].last + 1]] -= usage;
        }
    }
    double usage = 0;
    for (int i = 0; i < segments->count; i++) {
        usage += segments->excess[i];
        segments->excess[i] = usage - segments->slack[i];
    }
}

/* Moves the prices along the excess, by the step for which the bound would rise by `gap` if the
 * excess stayed the same. */
static void raise_prices(Segments *segments, double gap)
{
    double norm = 0;
    for (int i = 0; i < segments->count; i++)
        if (segments->price[i] > 0 || segments->excess[i] > 0)
            norm += segments->excess[i] * segments->excess[i];
    for (int i = 0; i < segments->count && norm > 0; i++)
        segments->price[i] = fmax(0, segments->price[i] + gap / norm * segments->excess[i]);
}

static MwProposal proposal_of(MwArena *arena, const MwLocalProblem *local)
{
    MwChange *changes = MW_NEW(arena, MwChange, local->node_count);
    int count = 0;
    for (int i = 0; i < local->node_count; i++)
        if (chosen(&local->nodes[i]) != local->nodes[i].current)
            changes[count++] = (MwChange){local->nodes[i].origin, chosen(&local->nodes[i])};
    return (MwProposal){count, changes};
}

/* Selects among the solution's changes, and keeps the move if it is better. With `price_sum` the
 * objective is cost plus priced usage (mw_assignment_select), and the last move is kept. */
static void keep_better(MwArena *arena, MwAttempt *attempt, const MwLocalProblem *local,
                        const MwAssignment *assignment, const double *price_sum)
{
    MwArena *scratch = mw_arena_new();
    MwProposal proposal = proposal_of(scratch, local);
    MwMove move =
        mw_assignment_select(scratch, assignment, price_sum, proposal.count, proposal.changes);
    if (move.gain > attempt->move.gain || price_sum) {
        attempt->move = move;
        attempt->move.changes =
            mw_arena_dup(arena, move.changes, sizeof(MwChange) * (size_t)move.count);
    }
    mw_arena_free(&scratch);
}

static MwLocalProblem *plan(MwArena *scratch, MwAttemptWorkspace *workspace,
                            const MwAttemptRequest *request)
{
    const MwLocalRequest local = {.flat = request->assignment->flat,
                                  .choice = request->assignment->choice,
                                  .count = request->count,
                                  .nodes = request->nodes,
                                  .index_of = workspace->index_of,
                                  .draws = request->draws,
                                  .limits = request->limits};
    return mw_local_problem_new(scratch, &local);
}

MwAttempt mw_attempt(MwArena *arena, MwAttemptWorkspace *workspace, const MwAttemptRequest *request,
                     const MwAttemptOptions *options)
{
    MwArena *scratch = mw_arena_new();
    const MwAssignment *assignment = request->assignment;
    MwLocalProblem *local = plan(scratch, workspace, request);
    Segments segments = find_segments(scratch, local, assignment, request->price_sum);
    ensure_tables(workspace, local->entries + MW_LANES);
    MwAttempt attempt = {.held = local->held_count};
    mw_local_problem_fill(local, workspace->tables);
    double current = mw_local_problem_current_cost(local, workspace->tables);
    while (attempt.rounds < options->rounds) {
        double priced_slack = price_usage(local, &segments, options);
        double bound = mw_local_problem_solve(local, workspace->tables) - priced_slack;
        attempt.rounds++;
        attempt.work += local->work + local->node_count;
        find_excess(local, &segments);
        keep_better(arena, &attempt, local, assignment,
                    options->prices_usage ? request->price_sum : NULL);
        double gap = current - (double)attempt.move.gain - bound;
        if (gap <= EXACT * fabs(current)) {
            attempt.exact = true;
            break;
        }
        raise_prices(&segments, fmin(gap, mw_dual_step_gap(bound)));
    }
    mw_arena_free(&scratch);
    return attempt;
}

int64_t mw_attempt_propose(MwArena *arena, MwAttemptWorkspace *workspace,
                           const MwAttemptRequest *request, int multiple_count,
                           const double *multiple, MwProposal *proposals)
{
    MwArena *scratch = mw_arena_new();
    MwLocalProblem *local = plan(scratch, workspace, request);
    Segments segments = find_segments(scratch, local, request->assignment, request->price_sum);
    const double *price =
        mw_arena_dup(scratch, segments.price, sizeof *price * (size_t)segments.count);
    ensure_tables(workspace, local->entries + MW_LANES);
    mw_local_problem_fill(local, workspace->tables);
    for (int i = 0; i < multiple_count; i++) {
        for (int k = 0; k < segments.count; k++)
            segments.price[k] = multiple[i] * price[k];
        price_usage(local, &segments, &(MwAttemptOptions){0});
        mw_local_problem_solve(local, workspace->tables);
        proposals[i] = proposal_of(arena, local);
    }
    const int64_t work = multiple_count * (local->work + local->node_count);
    mw_arena_free(&scratch);
    return work;
}
