/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modules of a flat model as units, each of which can be a block: its operations can run one
 * after another, with nothing else between them.
 *
 * A module whose operations cannot, because what another module computes from some of them is what
 * others of them take, is no unit; its operations and the modules below it belong to the unit
 * around it. */
#ifndef MW_FRONTEND_OUTLINE_UNITS_H
#define MW_FRONTEND_OUTLINE_UNITS_H

#include "frontend/outline/flat.h"

typedef struct MwModuleUnit MwModuleUnit;

/* What a unit does: one operation, or all of a unit below it. */
typedef struct {
    int op; /* -1: the item is a unit */
    MwModuleUnit *unit;
} MwModuleItem;

struct MwModuleUnit {
    MwModuleUnit *parent; /* NULL: the model */
    int module;
    const char *name;    /* the path of its module from that of the parent on */
    MwInts declarations; /* operations */
    MW_VEC(MwModuleItem) items;
    int begin, end;         /* positions: that of its declarations, and the first behind it */
    MwInts inputs, outputs; /* values from outside, in the order of use; values used outside */
    int size;               /* operations in it that are no declarations, at any depth */
    bool is_random;
    bool has_scope;       /* a call can say its scope: no word of the language in the model */
    int class;            /* classes.h */
    MwFlatConstants args; /* the constants that it gives the parameters of its class */
};

/* The model as a tree of units. Sets the position of every operation, and last_use of every
 * value. Takes time n log n in operations, times the depth of modules. */
MwModuleUnit *mw_units_build(MwFlat *flat);

/* `path` without the leading `module` and its dot. */
const char *mw_path_below(const MwFlat *flat, const char *path, int module);

#endif
