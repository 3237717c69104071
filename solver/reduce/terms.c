/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Normal form of the usage terms of a node.
 *
 * A node that stands for several nodes has several terms, whose rows may overlap. The terms are
 * split at each row where one begins or ends, added up between these rows, and merged again where
 * two adjacent pieces are equal. The usage of every strategy in every row stays the same. In this
 * form equal usage has equal terms, and each term is the node's whole usage in its rows. */
#include "solver/reduce/rules.h"

#include <stdlib.h>

static int compare_ints(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Lists the rows at which a term begins, and the rows that follow the last row of one; ascending
 * and distinct. */
static int find_cuts(const MwCoreNode *node, int *cuts)
{
    int count = 0, distinct = 0;
    for (int i = 0; i < node->terms.count; i++) {
        cuts[count++] = node->terms.at[i].first;
        cuts[count++] = node->terms.at[i].last + 1;
    }
    qsort(cuts, (size_t)count, sizeof *cuts, compare_ints);
    for (int i = 0; i < count; i++)
        if (distinct == 0 || cuts[distinct - 1] != cuts[i])
            cuts[distinct++] = cuts[i];
    return distinct;
}

static int cut_index(const int *cuts, int count, int row)
{
    const int *found = bsearch(&row, cuts, (size_t)count, sizeof *cuts, compare_ints);
    return (int)(found - cuts);
}

/* Sums the terms: usage[i] is that of the rows from cuts[i] to cuts[i + 1] - 1; NULL: none. */
static void add_up(MwCore *core, const MwCoreNode *node, const int *cuts, int count,
                   const MwTable **usage)
{
    for (int i = 0; i < node->terms.count; i++) {
        const MwCoreTerm *term = &node->terms.at[i];
        int end = cut_index(cuts, count, term->last + 1);
        for (int k = cut_index(cuts, count, term->first); k < end; k++)
            usage[k] = usage[k] ? mw_table_sum(core->tables, usage[k], term->usage) : term->usage;
    }
}

void mw_reduce_terms(MwCore *core, int index)
{
    MwCoreNode *node = &core->nodes[index];
    if (node->terms.count < 2)
        return;
    MwArena *scratch = mw_arena_new();
    int *cuts = MW_NEW(scratch, int, 2 * node->terms.count);
    int count = find_cuts(node, cuts);
    const MwTable **usage = MW_NEW(scratch, const MwTable *, count);
    add_up(core, node, cuts, count, usage);
    node->terms.count = 0;
    for (int i = 0; i < count - 1; i++) {
        if (!usage[i])
            continue;
        MwCoreTerm *last = node->terms.count ? &mw_vec_last(&node->terms) : NULL;
        if (last && last->last == cuts[i] - 1 && last->usage == usage[i])
            last->last = cuts[i + 1] - 1;
        else
            mw_vec_push(core->arena, &node->terms,
                        ((MwCoreTerm){cuts[i], cuts[i + 1] - 1, usage[i]}));
    }
    mw_arena_free(&scratch);
}
