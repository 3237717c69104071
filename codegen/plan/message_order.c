/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/message_order.h"

#include "codegen/plan/unit_times.h"

#include <stdlib.h>

int mw_most_read(const MwLegal *legal, const MwUnits *units, const int *counts, int unit)
{
    const MwUnit *at = &units->units.at[unit];
    int most = 0;
    for (int i = 0; i < at->nodes.count; i++) {
        const MwNode *node = mw_legal_at(legal, at->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            const int maker = mw_operand_maker(legal, units, node, k);
            if (maker >= 0 && maker != unit)
                most = (int)mw_max(most, counts[maker]);
        }
    }
    return most;
}

typedef struct {
    int waits;
    bool sends;
    int steps; /* units, one after another, that a send waits for */
    int at;    /* position */
} Place;

static int compare_places(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    if (x->waits != y->waits)
        return x->waits - y->waits;
    if (x->sends != y->sends)
        return y->sends - x->sends;
    if (x->steps != y->steps)
        return x->steps - y->steps;
    return x->at - y->at;
}

MwMessageOrder mw_message_order(MwArena *arena, const MwLegal *legal, const MwUnits *units,
                                const MwOrder *order, MwPhase phase)
{
    const int begin = order->begin[phase], count = order->begin[phase + 1] - begin;
    MwMessageOrder messages = {MW_NEW(arena, int, units->units.count),
                               MW_NEW(arena, bool, units->units.count),
                               MW_NEW(arena, int32_t, count)};
    int *steps = MW_NEW(arena, int, units->units.count);
    Place *places = MW_NEW(arena, Place, count);
    for (int p = 0; p < count; p++) {
        const int unit = order->unit[begin + p];
        const MwNode *node = mw_unit_first_node(legal, units, unit);
        const bool sends = node->op == MW_OP_SEND;
        const int maker = sends ? mw_operand_maker(legal, units, node, 0) : -1;
        steps[unit] = mw_most_read(legal, units, steps, unit) + 1;
        messages.waits[unit] =
            mw_most_read(legal, units, messages.waits, unit) + (node->op == MW_OP_RECEIVE);
        if (maker >= 0)
            messages.is_sent[maker] = true;
        places[p] = (Place){messages.waits[unit], sends, sends ? steps[unit] : 0, begin + p};
    }
    if (count > 1)
        qsort(places, (size_t)count, sizeof *places, compare_places);
    for (int p = 0; p < count; p++)
        messages.unit[p] = order->unit[places[p].at];
    return messages;
}
