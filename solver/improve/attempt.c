/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A better choice of a part.
 *
 * With priced usage the part is solved by elimination, which keeps no row but tells how much the
 * best choice that does could gain at most (Lagrangian duality). From what it chooses those changes
 * are taken that fit together (selection.c). Then the prices follow the excess, as far as Polyak's
 * step to the cost that is known to be possible (Minimization of unsmooth functionals, 1969), and
 * the part is solved again; until the bound shows that there is nothing to gain. */
#include "solver/improve/attempt.h"

#include "solver/bound/dual.h"
#include "solver/tuning.h"

#include <math.h>

/* A gap that rounding of the bound may leave: share of the cost. */
static const double EXACT = 1e-9;

/* Rows between two cuts are alike for the part. */
typedef struct {
    int count;
    int *piece_of;  /* [row], where a term begins or after it ends */
    double *room;   /* [piece] least room with the part taken out */
    double *price;  /* [piece] */
    double *excess; /* [piece] usage less room of what is chosen */
    double *sum;    /* [piece + 1] of the prices before */
} Pieces;

MwAttemptRoom mw_attempt_room(MwArena *arena, const MwFlatCore *flat)
{
    MwAttemptRoom room = {.index_of = MW_NEW(arena, int, flat->node_count)};
    for (int i = 0; i < flat->node_count; i++)
        room.index_of[i] = -1;
    return room;
}

void mw_attempt_room_free(MwAttemptRoom *room)
{
    mw_arena_free(&room->arena);
}

static void ensure_tables(MwAttemptRoom *room, int64_t entries)
{
    if (entries <= room->entries)
        return;
    mw_arena_free(&room->arena);
    room->arena = mw_arena_new();
    room->entries = 2 * entries;
    room->tables = MW_NEW(room->arena, double, room->entries);
}

static void add_usage(const MwFlatNode *node, int strategy, double *change)
{
    for (int k = 0; k < node->term_count; k++) {
        double usage = (double)node->terms[k].usage->at[strategy];
        change[node->terms[k].first] += usage;
        change[node->terms[k].last + 1] -= usage;
    }
}

static Pieces find_pieces(MwArena *arena, const MwLocalProblem *local,
                          const MwAssignment *assignment, const double *price_sum)
{
    const MwFlatCore *flat = local->flat;
    int rows = flat->row_count;
    Pieces pieces = {.piece_of = MW_NEW(arena, int, rows + 1)};
    double *change = MW_NEW(arena, double, rows + 1), freed = 0;
    for (int i = 0; i < local->node_count; i++) {
        const MwFlatNode *node = &flat->nodes[local->nodes[i].origin];
        for (int k = 0; k < node->term_count; k++)
            pieces.piece_of[node->terms[k].first] = pieces.piece_of[node->terms[k].last + 1] = 1;
        add_usage(node, local->nodes[i].present, change);
    }
    int most = 1;
    for (int row = 0; row < rows; row++)
        most += pieces.piece_of[row];
    pieces.room = MW_NEW(arena, double, most);
    pieces.price = MW_NEW(arena, double, most);
    pieces.excess = MW_NEW(arena, double, most + 1);
    pieces.sum = MW_NEW(arena, double, most + 1);
    int piece = -1;
    for (int row = 0; row < rows; row++) {
        freed += change[row];
        double room = (double)assignment->room[row] + freed;
        if (row == 0 || pieces.piece_of[row])
            pieces.room[++piece] = room;
        pieces.room[piece] = fmin(pieces.room[piece], room);
        pieces.price[piece] += price_sum[row + 1] - price_sum[row];
        pieces.piece_of[row] = piece;
    }
    pieces.count = piece + 1;
    pieces.piece_of[rows] = pieces.count;
    return pieces;
}

/* Returns the priced room. */
static double price_usage(const MwLocalProblem *local, Pieces *pieces,
                          const MwAttemptLimits *limits)
{
    double priced = 0;
    for (int i = 0; i < pieces->count; i++) {
        pieces->sum[i + 1] = pieces->sum[i] + pieces->price[i];
        priced += pieces->price[i] * pieces->room[i];
    }
    for (int i = 0; i < local->node_count; i++) {
        const MwFlatNode *node = &local->flat->nodes[local->nodes[i].origin];
        double *added = local->nodes[i].added, share = i < limits->favoured ? limits->share : 1;
        for (int s = 0; s < node->strategies; s++)
            added[s] = 0;
        for (int k = 0; k < node->term_count; k++) {
            const MwCoreTerm *term = &node->terms[k];
            double price = share * (pieces->sum[pieces->piece_of[term->last + 1]] -
                                    pieces->sum[pieces->piece_of[term->first]]);
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

static void find_excess(const MwLocalProblem *local, Pieces *pieces)
{
    for (int i = 0; i <= pieces->count; i++)
        pieces->excess[i] = 0;
    for (int i = 0; i < local->node_count; i++) {
        const MwFlatNode *node = &local->flat->nodes[local->nodes[i].origin];
        for (int k = 0; k < node->term_count; k++) {
            double usage = (double)node->terms[k].usage->at[chosen(&local->nodes[i])];
            pieces->excess[pieces->piece_of[node->terms[k].first]] += usage;
            pieces->excess[pieces->piece_of[node->terms[k].last + 1]] -= usage;
        }
    }
    double usage = 0;
    for (int i = 0; i < pieces->count; i++) {
        usage += pieces->excess[i];
        pieces->excess[i] = usage - pieces->room[i];
    }
}

/* By so much that the bound would rise by `gap` if the excess stayed as it is. */
static void raise_prices(Pieces *pieces, double gap)
{
    double norm = 0;
    for (int i = 0; i < pieces->count; i++)
        if (pieces->price[i] > 0 || pieces->excess[i] > 0)
            norm += pieces->excess[i] * pieces->excess[i];
    for (int i = 0; i < pieces->count && norm > 0; i++)
        pieces->price[i] = fmax(0, pieces->price[i] + gap / norm * pieces->excess[i]);
}

static MwProposal find_proposal(MwArena *arena, const MwLocalProblem *local)
{
    MwChange *changes = MW_NEW(arena, MwChange, local->node_count);
    int count = 0;
    for (int i = 0; i < local->node_count; i++)
        if (chosen(&local->nodes[i]) != local->nodes[i].present)
            changes[count++] = (MwChange){local->nodes[i].origin, chosen(&local->nodes[i])};
    return (MwProposal){count, changes};
}

/* With `price_sum`, by cost and priced usage; see mw_assignment_select. */
static void take_better(MwArena *arena, MwAttempt *attempt, const MwLocalProblem *local,
                        const MwAssignment *assignment, const double *price_sum)
{
    MwArena *scratch = mw_arena_new();
    MwProposal proposal = find_proposal(scratch, local);
    MwMove move =
        mw_assignment_select(scratch, assignment, price_sum, proposal.count, proposal.changes);
    if (move.gain > attempt->move.gain || price_sum) {
        attempt->move = move;
        attempt->move.changes =
            mw_arena_dup(arena, move.changes, sizeof(MwChange) * (size_t)move.count);
    }
    mw_arena_free(&scratch);
}

MwAttempt mw_attempt(MwArena *arena, MwAttemptRoom *room, const MwAssignment *assignment,
                     const double *price_sum, int count, const int *nodes, MwDraws *draws,
                     const MwAttemptLimits *limits)
{
    MwArena *scratch = mw_arena_new();
    MwLocalProblem *local =
        mw_local_problem_new(scratch, assignment->flat, assignment->choice, count, nodes,
                             room->index_of, draws, &limits->local);
    Pieces pieces = find_pieces(scratch, local, assignment, price_sum);
    ensure_tables(room, local->entries + MW_LANES);
    MwAttempt attempt = {.held = local->held_count};
    mw_local_problem_fill(local, room->tables);
    double present = mw_local_problem_present_cost(local, room->tables);
    while (attempt.rounds < limits->rounds) {
        double priced_room = price_usage(local, &pieces, limits);
        double bound = mw_local_problem_solve(local, room->tables) - priced_room;
        attempt.rounds++;
        attempt.work += local->work + local->node_count;
        find_excess(local, &pieces);
        take_better(arena, &attempt, local, assignment, limits->priced ? price_sum : NULL);
        double gap = present - (double)attempt.move.gain - bound;
        if (gap <= EXACT * fabs(present)) {
            attempt.exact = true;
            break;
        }
        raise_prices(&pieces, fmin(gap, mw_dual_step_gap(bound)));
    }
    mw_arena_free(&scratch);
    return attempt;
}

int64_t mw_attempt_propose(MwArena *arena, MwAttemptRoom *room, const MwAssignment *assignment,
                           const double *price_sum, int count, const int *nodes, MwDraws *draws,
                           const MwLocalLimits *limits, int multiple_count, const double *multiple,
                           MwProposal *proposals)
{
    MwArena *scratch = mw_arena_new();
    MwLocalProblem *local = mw_local_problem_new(scratch, assignment->flat, assignment->choice,
                                                 count, nodes, room->index_of, draws, limits);
    Pieces pieces = find_pieces(scratch, local, assignment, price_sum);
    const double *price = mw_arena_dup(scratch, pieces.price, sizeof *price * (size_t)pieces.count);
    ensure_tables(room, local->entries + MW_LANES);
    mw_local_problem_fill(local, room->tables);
    for (int i = 0; i < multiple_count; i++) {
        for (int k = 0; k < pieces.count; k++)
            pieces.price[k] = multiple[i] * price[k];
        price_usage(local, &pieces, &(MwAttemptLimits){0});
        mw_local_problem_solve(local, room->tables);
        proposals[i] = find_proposal(arena, local);
    }
    const int64_t work = multiple_count * (local->work + local->node_count);
    mw_arena_free(&scratch);
    return work;
}
