/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators and attributes: the tables ir/ops.def and ir/attrs.def. */
#ifndef MW_IR_OP_H
#define MW_IR_OP_H

#include "base/spec.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define OP(id, ...) MW_OP_##id,
#include "ir/ops.def"
    MW_OP_COUNT
} MwOp;

typedef enum {
#define ATTR(id, name, kind) MW_ATTR_##id,
#include "ir/attrs.def"
#undef ATTR
    MW_ATTR_COUNT
} MwAttrKey;

typedef enum {
    MW_KIND_INT,
    MW_KIND_BOOL,
    MW_KIND_FLOAT,
    MW_KIND_TEXT,
    MW_KIND_INTS,
    MW_KIND_TYPE,
    MW_KIND_SPEC
} MwAttrKind;

/* Values of attributes that were not given: the type of kind TYPE, the rank of kind SPEC. */
enum { MW_TYPE_NOT_GIVEN = -1, MW_SPEC_NOT_GIVEN = -1 };

typedef struct {
    MwAttrKey key;
    union {
        int64_t i; /* INT, BOOL, TYPE (or MW_TYPE_NOT_GIVEN) */
        double f;
        const char *text; /* interned */
        struct {
            const int64_t *at;
            int count;
        } ints;
        struct {
            MwSpec spec;
            int spec_rank; /* rank of the tensor of the spec, or MW_SPEC_NOT_GIVEN */
        };
    };
} MwAttr;

/* The columns `linear`, `lowering` and `precision` of ir/ops.def. */
typedef enum {
    MW_LINEAR_NONE,
    MW_LINEAR_JOINT,
    MW_LINEAR_EACH,
    MW_LINEAR_FIRST,
    MW_LINEAR_LAST
} MwLinear;
typedef enum {
    MW_LOWER_SOURCE,
    MW_LOWER_VIEW,
    MW_LOWER_MAP,
    MW_LOWER_REDUCE,
    MW_LOWER_ROWS,
    MW_LOWER_MOVE,
    MW_LOWER_CONTRACT,
    MW_LOWER_GATHER,
    MW_LOWER_LIBRARY,
    MW_LOWER_COLLECTIVE,
    MW_LOWER_TRANSFER,
    MW_LOWER_DERIVED
} MwLowering;
typedef enum { MW_PRECISION_HALF, MW_PRECISION_FOLLOWS, MW_PRECISION_F32 } MwOpPrecision;

/* The column `padding` of ir/ops.def. */
typedef struct {
    enum {
        MW_PADDING_NONE,
        MW_PADDING_ZERO,
        MW_PADDING_REST, /* ALL too: with operand 0 as the first */
        MW_PADDING_ANY,
        MW_PADDING_AT,
        MW_PADDING_SCATTER,
        MW_PADDING_QUOTIENT,
        MW_PADDING_KEPT
    } kind;
    int operand; /* the one that counts, or of REST the first that does */
    bool is_wild;
} MwOpPadding;

enum { MW_ANY = -1 /* one or more */, MW_SOME = -2 /* any number */ };

/* A row of ir/ops.def. */
typedef struct {
    const char *name;
    int operands, results; /* numbers; MW_ANY or MW_SOME if they vary */
    uint64_t attrs;        /* set of keys: bit k is attribute key k */
    MwCombine combine;
    MwLinear linear;
    MwOpPadding padding;
    MwLowering lowering;
    MwOpPrecision precision;
    int flops_per_point;
    const char *expression; /* NULL: none */
} MwOpInfo;

const MwOpInfo *mw_op_info(MwOp op);
/* False if no operator has that name. */
bool mw_op_parse(const char *name, MwOp *op);

/* Whether the operator moves values between devices, keeps the part of one or orders what one does:
 * split and partition write it, and a model cannot have it. */
bool mw_op_is_distributed(MwOp op);

/* Whether the operator declares what a step is given: an input, a weight or a state. */
static inline bool mw_op_is_data(MwOp op)
{
    return op == MW_OP_INPUT || op == MW_OP_WEIGHT || op == MW_OP_STATE;
}

/* Constants, iotas and the step number are generators: they are never stored, and a kernel that
 * needs one computes it. */
static inline bool mw_op_is_generator(MwOp op)
{
    return op == MW_OP_CONSTANT || op == MW_OP_IOTA || op == MW_OP_STEP;
}

/* Whether the result has the elements of the operand, as they are or in another type, shape or
 * order of dimensions: a weight remains one behind it. */
static inline bool mw_op_keeps_elements(MwOp op)
{
    return op == MW_OP_IDENTITY || op == MW_OP_CAST || op == MW_OP_RESHAPE || op == MW_OP_TRANSPOSE;
}

/* The collective that the operator is; its lowering must be MW_LOWER_COLLECTIVE. */
MwCollective mw_op_collective(MwOp op);

/* The operand whose positions the operator counts by the attribute `origin` (ORIGIN or KEY_ORIGIN,
 * which the operator has) and the split after it; -1 for its first result. */
int mw_op_counted_operand(MwOp op, MwAttrKey origin);

/* The operand that is the log-sum-exp of attention, which is f32 whatever the type of the others;
 * -1: there is none. */
int mw_op_lse_operand(MwOp op);

/* Whether the operator gives what a state that is one of its operands becomes after each
 * micro-batch. */
static inline bool mw_op_accumulates(MwOp op)
{
    return op == MW_OP_ACCUMULATE || op == MW_OP_ACCUMULATE_MAX;
}

/* An operator that reads or writes entries of a table; the elements of `index` are the numbers of
 * the entries. */
typedef struct {
    int table, index; /* operands; a table of -1 is the result */
    bool along_last;  /* entries are along the last dimension of the table, else the first */
} MwLookup;

/* NULL: the operator reads no entries. */
const MwLookup *mw_op_lookup(MwOp op);
/* The same of an operator that reads entries or adds to them. */
const MwLookup *mw_op_entries(MwOp op);

/* The dimension of `table` that the index counts along. */
static inline int mw_lookup_axis(const MwLookup *lookup, const MwTensor *table)
{
    return lookup->along_last ? table->rank - 1 : 0;
}

/* The operand of which the result is a copy with some rows changed, so that in its place only those
 * are written; -1: there is none. */
int mw_op_changed_operand(MwOp op);

const char *mw_attr_name(MwAttrKey key);
MwAttrKind mw_attr_kind(MwAttrKey key);
/* Whether keys and values are the same; both are of one interner. */
bool mw_attr_equal(const MwAttr *a, const MwAttr *b);
bool mw_attr_parse(const char *name, MwAttrKey *key);
/* Whether the attribute says where the positions lie that a node counts, in a part of a tensor:
 * micro_batch and partition write it, and a model cannot have it. */
static inline bool mw_attr_is_position(MwAttrKey key)
{
    return key >= MW_ATTR_ORIGIN && key <= MW_ATTR_KEY_SHIFT;
}
/* Whether the attribute is the shape of a tensor in which positions are counted; the next one is
 * its split. */
static inline bool mw_attr_is_origin(MwAttrKey key)
{
    return key == MW_ATTR_ORIGIN || key == MW_ATTR_KEY_ORIGIN;
}
/* The set of one attribute key. */
#define MW_ATTR_BIT(id) (UINT64_C(1) << MW_ATTR_##id)

/* Attribute `key` among `attrs`; NULL if absent. */
const MwAttr *mw_attrs_find(const MwAttr *attrs, int count, MwAttrKey key);

/* Constructors of attributes. */
static inline MwAttr mw_attr_int(MwAttrKey key, int64_t value)
{
    return (MwAttr){.key = key, .i = value};
}
static inline MwAttr mw_attr_float(MwAttrKey key, double value)
{
    return (MwAttr){.key = key, .f = value};
}
static inline MwAttr mw_attr_text(MwAttrKey key, const char *interned)
{
    return (MwAttr){.key = key, .text = interned};
}
static inline MwAttr mw_attr_spec(MwAttrKey key, MwSpec spec, int rank)
{
    return (MwAttr){.key = key, .spec = spec, .spec_rank = rank};
}
static inline MwAttr mw_attr_ints(MwAttrKey key, const int64_t *at, int count)
{
    return (MwAttr){.key = key, .ints = {at, count}};
}

#endif
