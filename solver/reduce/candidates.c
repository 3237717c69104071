/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/reduce/candidates.h"

static bool least_first(MwCandidate a, MwCandidate b)
{
    return a.entries != b.entries ? a.entries < b.entries : a.node < b.node;
}

void mw_candidates_push(MwArena *arena, MwCandidates *candidates, MwCandidate candidate)
{
    (void)mw_vec_add(arena, candidates);
    MwCandidate *heap = candidates->at;
    int at = candidates->count - 1;
    for (; at > 0 && least_first(candidate, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = candidate;
}

MwCandidate mw_candidates_pop(MwCandidates *candidates)
{
    MwCandidate *heap = candidates->at, least = heap[0];
    int count = --candidates->count, at = 0;
    MwCandidate moved = heap[count];
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && least_first(heap[child + 1], heap[child]))
            child++;
        if (!least_first(heap[child], moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
    return least;
}
