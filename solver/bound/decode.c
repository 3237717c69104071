/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A choice from the potentials, by a greedy algorithm. In order, each node takes the strategy with
 * the least sum of its own cost (with potentials and priced usage) and the least entries of its
 * cost functions given the nodes decided before, among the strategies for which the memory rows
 * have slack. Every node has a strategy without usage (solver/reduce/usage.c), so the rows can
 * always be kept. If only forbidden entries are left, the choice is not legal. */
#include "solver/bound/decode.h"

#include "solver/bound/row_slack.h"

#include <math.h>

typedef struct {
    const MwDual *dual;
    const MwCore *core;
    int *choice;
    bool *decided;     /* [node] */
    MwRowSlack *slack; /* slack that the decided nodes leave */
    double *score;     /* [strategy] */
} Decoder;

/* Adds, by class, the least entry that agrees with the decided nodes. */
static void add_function_score(Decoder *decoder, const MwDualLink *link)
{
    const MwDualFunction *function = &decoder->dual->functions[link->function];
    const MwCostFunction *of = &decoder->core->functions.at[function->index];
    int held[MW_TABLE_ARITY];
    for (int k = 0; k < of->cost->arity; k++) {
        const int node = of->scope[k];
        held[k] = decoder->decided[node] ? (int)of->classes[k]->at[decoder->choice[node]] : -1;
    }
    mw_marginals(function->table, function->potential, link->dim, held, link->marginal);
    for (int64_t s = 0; s < of->classes[link->dim]->count; s++)
        decoder->score[s] += link->marginal[link->classes[s]];
}

static void forbid_without_slack(Decoder *decoder, const MwCoreNode *node)
{
    for (int k = 0; k < node->terms.count; k++) {
        const MwCoreTerm *term = &node->terms.at[k];
        const __int128 slack = mw_row_slack_least(decoder->slack, term->first, term->last);
        for (int s = 0; s < term->usage->count; s++)
            if (term->usage->at[s] > slack)
                decoder->score[s] = INFINITY;
    }
}

static void decide(Decoder *decoder, const MwDualNode *node)
{
    const MwCoreNode *of = &decoder->core->nodes[node->node];
    int strategies = (int)of->cost->count, best = 0;
    for (int s = 0; s < strategies; s++)
        decoder->score[s] = node->cost[s];
    for (int i = 0; i < node->link_count; i++)
        add_function_score(decoder, &node->links[i]);
    forbid_without_slack(decoder, of);
    for (int s = 1; s < strategies; s++)
        if (decoder->score[s] < decoder->score[best])
            best = s;
    decoder->choice[node->node] = best;
    decoder->decided[node->node] = true;
    for (int k = 0; k < of->terms.count; k++) {
        const MwCoreTerm *term = &of->terms.at[k];
        mw_row_slack_subtract(decoder->slack, term->first, term->last, term->usage->at[best]);
    }
}

void mw_dual_decode(const MwDual *dual, int *choice)
{
    MwArena *scratch = mw_arena_new();
    const MwCore *core = dual->core;
    Decoder decoder = {.dual = dual, .core = core, .choice = choice};
    decoder.decided = MW_NEW(scratch, bool, core->node_count);
    decoder.slack = mw_row_slack_new(scratch, core);
    int64_t most = 1;
    for (int i = 0; i < dual->node_count; i++)
        most = mw_max(most, mw_core_strategies(core, dual->nodes[i].node));
    decoder.score = MW_NEW(scratch, double, most);
    for (int i = 0; i < dual->node_count; i++)
        decide(&decoder, &dual->nodes[i]);
    mw_arena_free(&scratch);
}
