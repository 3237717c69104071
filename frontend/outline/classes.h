/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of equal structure, and what differs among them.
 *
 * Two units are of one class if they do the same with the same names of weights, but for constants
 * and for the names of values. The constants in which units of a class differ are parameters of the
 * class; constants that are equal to each other in every unit are one parameter. */
#ifndef MW_FRONTEND_OUTLINE_CLASSES_H
#define MW_FRONTEND_OUTLINE_CLASSES_H

#include "frontend/outline/units.h"

/* Units that follow one another as the iterations of a repeat: `h.0`, `h.1`, ... */
typedef struct {
    int count;   /* 1: the item is no repeat */
    int *output; /* [inputs of the class] the output of the iteration before that it is; -1: the
                  * input is the same in all iterations */
} MwRun;

typedef struct {
    MW_VEC(MwModuleUnit *) units;
    int constant_count; /* of its own operations, and parameters of the classes in it, in order */
    int *parameter_of;  /* [constants] -1: it is the same in all units */
    int parameter_count;
    MwRun *runs; /* [items of a unit] that begin at each; count 0: inside of one */
    int places;  /* in units that stand for their class, besides iterations of repeats */
    bool is_block;
    bool is_trunk;    /* it is no block, and holds nearly all of the model */
    const char *name; /* of its block */
} MwClass;

typedef struct {
    MwFlat *flat;
    MwModuleUnit *model;
    MW_VEC(MwClass) classes; /* those in a class come before it; the last is the model */
} MwClasses;

MwClasses *mw_classes_build(MwFlat *flat, MwModuleUnit *model);

/* The unit that stands for its class. */
static inline const MwModuleUnit *mw_class_unit(const MwClass *class)
{
    return class->units.at[0];
}

bool mw_constant_equal(const MwExpr *a, const MwExpr *b);

#endif
