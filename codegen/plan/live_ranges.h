/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the stored values of a stage are live: from the position of the unit that makes a value to
 * that of the last unit that reads it. Positions count the units of the stage in the order in which
 * they run. */
#ifndef MW_CODEGEN_PLAN_LIVE_RANGES_H
#define MW_CODEGEN_PLAN_LIVE_RANGES_H

#include "codegen/fuse/order.h"
#include "passes/staging.h"

typedef struct {
    const MwLegal *legal;
    const MwUnits *units;
    const MwOrder *order;
    const MwFlight *flight;
    int32_t *last_use; /* [values] position of the last unit that reads a root; -1: none */
    bool *outlives;    /* [values] a root is needed after that unit, too */
    bool *is_moving;   /* [values] a root that is sent or received */
    /* [values] a root that is the same for all micro-batches, and what its unit makes beside it */
    bool *is_invariant;
} MwLiveRanges;

/* Finds the live ranges of all stored values; the result is in the arena of the graph. */
MwLiveRanges mw_live_ranges(const MwLegal *legal, const MwUnits *units, const MwOrder *order,
                            const MwFlight *flight);
/* Notes that `value` is also read after the unit at `position`, before the next. */
void mw_live_note_use_after(MwLiveRanges *live, MwValueId value, int position);

/* Weights and states. */
bool mw_live_is_persistent(const MwLiveRanges *live, MwValueId root);
/* Position of the unit that makes a root; -1: it is a source. */
int mw_live_made_at(const MwLiveRanges *live, MwValueId root);
/* The first position at which a root has its value. */
int mw_live_begin(const MwLiveRanges *live, MwValueId root);
/* Whether a root is made outside of the loop whose unit runs at `position`, so that each step of
 * the loop finds it there. */
bool mw_live_is_outside_loop(const MwLiveRanges *live, MwValueId root, int position);
/* Whether a unit other than that of `value` reads `target` after it, in the same program. */
bool mw_live_is_read_later(const MwLiveRanges *live, MwValueId value, MwValueId target);

/* The phase whose program `position` is in; the update for what comes after all. */
MwPhase mw_live_phase_at(const MwLiveRanges *live, int position);
/* The last position of that program. */
int mw_live_program_end(const MwLiveRanges *live, int position);

/* The phase in which an input is wanted first; forward where it is not wanted. */
MwPhase mw_live_input_phase(const MwLegal *legal, const MwUnits *units, MwValueId root);

#endif
