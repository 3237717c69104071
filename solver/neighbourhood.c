/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/neighbourhood.h"

#include "base/philox.h"

static uint32_t draw(MwDraws *draws)
{
    uint32_t words[4];
    mw_philox(draws->seed, draws->stream, draws->counter++, words);
    return words[0];
}

int mw_draw_below(MwDraws *draws, int count)
{
    return (int)((uint64_t)draw(draws) * (uint64_t)count >> 32);
}

double mw_draw_uniform(MwDraws *draws)
{
    return mw_random_uniform(draw(draws));
}

/* Appends the nodes that share a factor with `node` and are not there yet; returns the count. */
static int append_neighbours(const MwLayout *layout, int node, int size, bool *seen, int *nodes,
                             int count)
{
    const MwLayoutNode *of = &layout->nodes[node];
    for (int i = 0; i < of->link_count; i++) {
        const MwLayoutFactor *factor = &layout->factors[of->links[i].factor];
        for (int k = 0; k < factor->arity && count < size; k++)
            if (!seen[factor->node[k]]) {
                seen[factor->node[k]] = true;
                nodes[count++] = factor->node[k];
            }
    }
    return count;
}

/* Breadth first; on straying, any node that was met and not gone to may be the next. */
static int draw_near(const MwLayout *layout, int size, bool strayed, MwDraws *draws, bool *seen,
                     int *nodes)
{
    int count = 0;
    nodes[count++] = mw_draw_below(draws, layout->node_count);
    seen[nodes[0]] = true;
    for (int next = 0; next < count && count < size; next++) {
        if (strayed) {
            int other = next + mw_draw_below(draws, count - next), node = nodes[other];
            nodes[other] = nodes[next];
            nodes[next] = node;
        }
        count = append_neighbours(layout, nodes[next], size, seen, nodes, count);
    }
    for (int i = 0; i < count; i++)
        seen[nodes[i]] = false;
    return count;
}

static int draw_row(const MwLayout *layout, int size, MwDraws *draws, int *nodes)
{
    int first = mw_draw_below(draws, layout->node_count), count = 0;
    for (int i = first; i < layout->node_count && count < size; i++)
        nodes[count++] = i;
    return count;
}

int mw_neighbourhood_draw(const MwLayout *layout, MwNeighbourhoodKind kind, int size,
                          MwDraws *draws, bool *seen, int *nodes)
{
    if (kind == MW_NEIGHBOURHOOD_ROW)
        return draw_row(layout, size, draws, nodes);
    return draw_near(layout, size, kind == MW_NEIGHBOURHOOD_STRAYED, draws, seen, nodes);
}
