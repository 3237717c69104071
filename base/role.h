/* SPDX-License-Identifier: MIT */
/* What a mesh axis is for, in the words of the literature. Specs alone are known; the words follow
 * from how products and attention are split. */
#ifndef MW_BASE_ROLE_H
#define MW_BASE_ROLE_H

#include "base/spec.h"

typedef enum {
    MW_ROLE_DATA,    /* the batch: dimension 0 of what is no weight */
    MW_ROLE_TENSOR,  /* a weight, by rows or columns, or the heads of attention */
    MW_ROLE_EXPERT,  /* a dimension that a weight and the result both begin with */
    MW_ROLE_CONTEXT, /* the sequence, or space: another dimension of what is no weight */
    MW_ROLE_NONE,    /* every device computes the same */
    MW_ROLE_COUNT
} MwRole;

const char *mw_role_name(MwRole role); /* "data", "replicated" */
/* The role of a name of `length` bytes, but NONE; false if there is none. */
bool mw_role_parse(const char *name, size_t length, MwRole *role);

/* An operand of a product or of attention, as the devices have it. */
typedef struct {
    MwSpec spec;
    int rank;
    bool is_weight; /* maybe cast or reshaped */
} MwRoleOperand;

/* How a product, or attention on q [batch, sequence, heads, head size], k and v, is split. */
enum { MW_ROLE_MOST_OPERANDS = 3 }; /* that tell; attention has more */
typedef struct {
    bool is_attention;
    MwSpec spec; /* of its result */
    int rank, operand_count;
    MwRoleOperand operands[MW_ROLE_MOST_OPERANDS];
} MwRoleUse;

/* The role that the axis has in it. */
MwRole mw_role_of_axis(const MwRoleUse *use, int axis);
/* The first dimension that is split over the axis; -1: none is. */
int mw_spec_split_dim(MwSpec spec, int rank, int axis);

/* The roles that the axes of a mesh are to have; count 0: any. */
typedef struct {
    MwRole at[MW_MAX_AXES];
    int count;
} MwAxisRolePins;

#endif
