/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/neighbourhood.h"

#include "solver/tuning.h"

#include <stdlib.h>

int mw_neighbourhood_group_size(MwDraws *draws)
{
    return MW_TUNED_LEAST_GROUP << mw_draw_below(draws, MW_TUNED_SIZES / 2);
}

/* Appends the unseen nodes that share a cost function with `node`; returns the count. */
static int append_neighbours(const MwFlatCore *flat, int node, int size, bool *seen, int *nodes,
                             int count)
{
    const MwFlatNode *of = &flat->nodes[node];
    for (int i = 0; i < of->link_count; i++) {
        const MwFlatFunction *function = &flat->functions[of->links[i].function];
        for (int k = 0; k < function->arity && count < size; k++)
            if (!seen[function->node[k]]) {
                seen[function->node[k]] = true;
                nodes[count++] = function->node[k];
            }
    }
    return count;
}

/* Appends nodes from a random one on until there are `size`: breadth first, or, if `random`,
 * continuing from any node seen so far. */
static int grow(const MwFlatCore *flat, int size, bool random, MwDraws *draws, bool *seen,
                int *nodes, int count)
{
    int next = count, first = mw_draw_below(draws, flat->node_count);
    if (seen[first])
        return count;
    seen[first] = true;
    nodes[count++] = first;
    for (; next < count && count < size; next++) {
        if (random) {
            int other = next + mw_draw_below(draws, count - next), node = nodes[other];
            nodes[other] = nodes[next];
            nodes[next] = node;
        }
        count = append_neighbours(flat, nodes[next], size, seen, nodes, count);
    }
    return count;
}

static int draw_scattered(const MwFlatCore *flat, int size, MwDraws *draws, bool *seen, int *nodes)
{
    int count = 0, group = mw_neighbourhood_group_size(draws);
    for (int i = 0; i * group < size; i++)
        count = grow(flat, (int)mw_min(count + group, size), false, draws, seen, nodes, count);
    return count;
}

static int draw_consecutive(const MwFlatCore *flat, int size, MwDraws *draws, int *nodes)
{
    int first = mw_draw_below(draws, flat->node_count), count = 0;
    for (int i = first; i < flat->node_count && count < size; i++)
        nodes[count++] = i;
    return count;
}

int mw_neighbourhood_draw(const MwFlatCore *flat, MwNeighbourhoodKind kind, int size,
                          MwDraws *draws, bool *seen, int *nodes)
{
    if (kind == MW_NEIGHBOURHOOD_CONSECUTIVE)
        return draw_consecutive(flat, size, draws, nodes);
    int count;
    if (kind == MW_NEIGHBOURHOOD_SCATTERED)
        count = draw_scattered(flat, size, draws, seen, nodes);
    else
        count = grow(flat, size, kind == MW_NEIGHBOURHOOD_RANDOM_GROWTH, draws, seen, nodes, 0);
    for (int i = 0; i < count; i++)
        seen[nodes[i]] = false;
    return count;
}

typedef struct {
    int node, rows;
} RowUser;

static int compare_users(const void *a, const void *b)
{
    const RowUser *x = a, *y = b;
    return x->rows != y->rows ? x->rows - y->rows : x->node - y->node;
}

int mw_neighbourhood_of_row(const MwFlatCore *flat, int row, int size, int *nodes)
{
    MwArena *scratch = mw_arena_new();
    RowUser *users = MW_NEW(scratch, RowUser, flat->node_count);
    int count = 0;
    for (int i = 0; i < flat->node_count; i++)
        for (int k = 0; k < flat->nodes[i].term_count; k++) {
            const MwCoreTerm *term = &flat->nodes[i].terms[k];
            if (term->first <= row && row <= term->last) {
                users[count++] = (RowUser){i, term->last - term->first};
                break;
            }
        }
    if (count > 1)
        qsort(users, (size_t)count, sizeof *users, compare_users);
    count = (int)mw_min(count, size);
    for (int i = 0; i < count; i++)
        nodes[i] = users[i].node;
    mw_arena_free(&scratch);
    return count;
}
