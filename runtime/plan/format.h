/* SPDX-License-Identifier: MIT */
/* The plan's text, described once: which records there are, the fields of each in order, and which
 * records stand under which. The printer and the parser both walk this description. */
#ifndef MW_RUNTIME_PLAN_FORMAT_H
#define MW_RUNTIME_PLAN_FORMAT_H

#include "runtime/plan/value.h"

typedef struct {
    const char *name;
    const MwPlanKind *kind;
    int offset;
    int more;    /* offset of the second place; 0: none */
    int present; /* offset of the bool that says whether the field is there; 0: always is */
} MwPlanField;

typedef struct MwPlanRecord MwPlanRecord;

typedef enum {
    MW_PLAN_ONE,  /* one record, in place */
    MW_PLAN_LIST, /* an array of records, numbered from 0 */
    MW_PLAN_TEXT, /* a text, line by line, each after a bar */
} MwPlanPartShape;

/* A part of a record: the lines under its own, one step further in. */
typedef struct {
    MwPlanPartShape shape;
    const char *keyword;         /* of a text */
    const MwPlanRecord *records; /* of a list, alternatives of one C type */
    int record_count;
    int kind_offset; /* of the int that says which alternative an element is */
    int offset;
    int count_offset;
} MwPlanPart;

struct MwPlanRecord {
    const char *keyword;
    size_t bytes; /* of the C type */
    const MwPlanField *fields;
    int field_count;
    const MwPlanPart *parts;
    int part_count;
};

extern const MwPlanRecord mw_plan_record;      /* MwPlan: the whole */
extern const MwPlanRecord mw_plan_mesh_record; /* MwPlanMesh */

static inline void *mw_plan_at(const void *record, int offset)
{
    return (char *)(uintptr_t)record + offset;
}

/* The second place of a field; NULL if it has none. */
static inline void *mw_plan_more(const void *record, const MwPlanField *field)
{
    return field->more ? mw_plan_at(record, field->more) : NULL;
}

enum { MW_PLAN_INDENT = 2 };
/* The first line is this and the version; the last is this and 16 hex digits of the hash of all
 * before it. */
#define MW_PLAN_MAGIC "meshwright plan "
#define MW_PLAN_CHECKSUM "checksum "

#endif
