/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ir/ops.def and ir/attrs.def as tables. */
#include "ir/op.h"

#include <string.h>

/* The column `padding`. */
#define PADDING_NONE                                                                               \
    {                                                                                              \
        MW_PADDING_NONE, 0, false                                                                  \
    }
#define PADDING_ZERO                                                                               \
    {                                                                                              \
        MW_PADDING_ZERO, 0, false                                                                  \
    }
#define PADDING_ALL                                                                                \
    {                                                                                              \
        MW_PADDING_REST, 0, false                                                                  \
    }
#define PADDING_REST                                                                               \
    {                                                                                              \
        MW_PADDING_REST, 1, false                                                                  \
    }
#define PADDING_ANY                                                                                \
    {                                                                                              \
        MW_PADDING_ANY, 0, false                                                                   \
    }
#define PADDING_AT(k)                                                                              \
    {                                                                                              \
        MW_PADDING_AT, k, false                                                                    \
    }
#define PADDING_SCATTER(k)                                                                         \
    {                                                                                              \
        MW_PADDING_SCATTER, k, false                                                               \
    }
#define PADDING_QUOTIENT                                                                           \
    {                                                                                              \
        MW_PADDING_QUOTIENT, 0, true                                                               \
    }
#define PADDING_KEPT                                                                               \
    {                                                                                              \
        MW_PADDING_KEPT, 0, false                                                                  \
    }
#define PADDING_WILD                                                                               \
    {                                                                                              \
        MW_PADDING_NONE, 0, true                                                                   \
    }
#define PADDING_WILD_ALL                                                                           \
    {                                                                                              \
        MW_PADDING_REST, 0, true                                                                   \
    }
#define PADDING_WILD_AT(k)                                                                         \
    {                                                                                              \
        MW_PADDING_AT, k, true                                                                     \
    }

#define ANY MW_ANY
#define SOME MW_SOME
static const MwOpInfo ops[MW_OP_COUNT] = {
#define OP(id, name, operands, results, attrs, shape, sharding, combine, linear, padding,          \
           gradient, lowering, precision, flops, expression)                                       \
    [MW_OP_##id] = {name,                                                                          \
                    operands,                                                                      \
                    results,                                                                       \
                    attrs,                                                                         \
                    MW_COMBINE_##combine,                                                          \
                    MW_LINEAR_##linear,                                                            \
                    PADDING_##padding,                                                             \
                    MW_LOWER_##lowering,                                                           \
                    MW_PRECISION_##precision,                                                      \
                    flops,                                                                         \
                    expression},
#include "ir/ops.def"
};
#undef ANY
#undef SOME

/* Compiles only if exactly the operators whose lowering is LIBRARY have a LIBRARY row. */
enum {
#define OP(id, name, operands, results, attrs, shape, sharding, combine, linear, padding,          \
           gradient, lowering, ...)                                                                \
    LOWERING_##id = MW_LOWER_##lowering,
#include "ir/ops.def"
    LIBRARY_OPS = 0
#define OP(id, ...) +(LOWERING_##id == MW_LOWER_LIBRARY)
#include "ir/ops.def"
    ,
    LIBRARY_LINES = 0
#define LIBRARY(id, ...) +1
#include "ir/ops.def"
};
#define LIBRARY(id, ...)                                                                           \
    enum { LIBRARY_##id };                                                                         \
    _Static_assert((int)LOWERING_##id == (int)MW_LOWER_LIBRARY, #id " is no library operator");
#include "ir/ops.def"
_Static_assert(LIBRARY_OPS == LIBRARY_LINES, "a library operator has no LIBRARY line");

static const struct {
    const char *name;
    MwAttrKind kind;
} attributes[MW_ATTR_COUNT] = {
#define ATTR(id, name, kind) [MW_ATTR_##id] = {name, MW_KIND_##kind},
#include "ir/attrs.def"
#undef ATTR
};

_Static_assert(MW_ATTR_COUNT <= 64, "attribute sets are 64 bits");

const MwOpInfo *mw_op_info(MwOp op)
{
    MW_ASSERT(op < MW_OP_COUNT);
    return &ops[op];
}

bool mw_op_parse(const char *name, MwOp *op)
{
    for (int i = 0; i < MW_OP_COUNT; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            *op = (MwOp)i;
            return true;
        }
    }
    return false;
}

bool mw_op_is_distributed(MwOp op)
{
    MwLowering lowering = mw_op_info(op)->lowering;
    return lowering == MW_LOWER_COLLECTIVE || lowering == MW_LOWER_TRANSFER || op == MW_OP_SHARD ||
           op == MW_OP_RUN_AFTER;
}

static const MwOp collective_ops[MW_COLLECTIVE_COUNT] = {
#define COLLECTIVE(id, ...) [MW_##id] = MW_OP_##id,
#include "base/collectives.def"
#undef COLLECTIVE
};

MwCollective mw_op_collective(MwOp op)
{
    int i = 0;
    while (i < MW_COLLECTIVE_COUNT && collective_ops[i] != op)
        i++;
    MW_ASSERT(i < MW_COLLECTIVE_COUNT);
    return (MwCollective)i;
}

int mw_op_counted_operand(MwOp op, MwAttrKey origin)
{
    MW_ASSERT(mw_attr_is_origin(origin) && ops[op].attrs >> origin & 1);
    if (origin == MW_ATTR_KEY_ORIGIN)
        return 1;
    switch (op) {
    case MW_OP_EMBEDDING:
        return 1;
    case MW_OP_PUT_ROWS:
    case MW_OP_ADD_ROWS:
    case MW_OP_PICK:
    case MW_OP_TAKE_ALONG:
    case MW_OP_SDPA:
    case MW_OP_SDPA_GRAD:
    case MW_OP_SDPA_MASKED:
    case MW_OP_SDPA_MASKED_GRAD:
    case MW_OP_SDPA_MASK_GRAD:
        return 0;
    default:
        return -1;
    }
}

int mw_op_lse_operand(MwOp op)
{
    switch (op) {
    case MW_OP_SDPA_GRAD:
    case MW_OP_SDPA_MASKED_GRAD:
    case MW_OP_SDPA_MASK_GRAD:
        return 4;
    default:
        return -1;
    }
}

const MwLookup *mw_op_lookup(MwOp op)
{
    static const MwLookup embedding = {.table = 1, .index = 0},
                          pick = {.table = 0, .index = 1, .along_last = true};
    switch (op) {
    case MW_OP_EMBEDDING:
        return &embedding;
    case MW_OP_PICK:
    case MW_OP_TAKE_ALONG:
        return &pick;
    default:
        return NULL;
    }
}

const MwLookup *mw_op_entries(MwOp op)
{
    static const MwLookup embedding_grad = {.table = -1, .index = 0},
                          pick_grad = {.table = -1, .index = 0, .along_last = true};
    switch (op) {
    case MW_OP_EMBEDDING_GRAD:
        return &embedding_grad;
    case MW_OP_PICK_GRAD:
    case MW_OP_TAKE_ALONG_GRAD:
        return &pick_grad;
    default:
        return mw_op_lookup(op);
    }
}

int mw_op_changed_operand(MwOp op)
{
    return op == MW_OP_PUT_ROWS || op == MW_OP_ADD_ROWS ? 0 : -1;
}

const char *mw_attr_name(MwAttrKey key)
{
    return attributes[key].name;
}

MwAttrKind mw_attr_kind(MwAttrKey key)
{
    return attributes[key].kind;
}

bool mw_attr_equal(const MwAttr *a, const MwAttr *b)
{
    if (a->key != b->key)
        return false;
    switch (mw_attr_kind(a->key)) {
    case MW_KIND_INT:
    case MW_KIND_BOOL:
    case MW_KIND_TYPE:
        return a->i == b->i;
    case MW_KIND_FLOAT:
        return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case MW_KIND_TEXT:
        return a->text == b->text;
    case MW_KIND_INTS:
        for (int i = 0; i < a->ints.count && i < b->ints.count; i++)
            if (a->ints.at[i] != b->ints.at[i])
                return false;
        return a->ints.count == b->ints.count;
    case MW_KIND_SPEC:
        return a->spec_rank == b->spec_rank && mw_spec_equal(a->spec, b->spec);
    }
    MW_UNREACHABLE();
}

bool mw_attr_parse(const char *name, MwAttrKey *key)
{
    for (int i = 0; i < MW_ATTR_COUNT; i++) {
        if (strcmp(attributes[i].name, name) == 0) {
            *key = (MwAttrKey)i;
            return true;
        }
    }
    return false;
}

const MwAttr *mw_attrs_find(const MwAttr *attrs, int count, MwAttrKey key)
{
    for (int i = 0; i < count; i++)
        if (attrs[i].key == key)
            return &attrs[i];
    return NULL;
}
