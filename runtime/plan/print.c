/* SPDX-License-Identifier: MIT */
/* The plan as text: a walk over the description in format.c. */
#include "base/hash.h"
#include "runtime/plan/format.h"

#include <string.h>

static void print_record(MwText *text, MwPlanScope scope, const MwPlanRecord *record, int depth,
                         int index, const void *at);

static void indent(MwText *text, int depth)
{
    for (int i = 0; i < depth * MW_PLAN_INDENT; i++)
        mw_text_add_n(text, " ", 1);
}

static void print_fields(MwText *text, const MwPlanScope *scope, const MwPlanRecord *record,
                         const void *at)
{
    for (int i = 0; i < record->field_count; i++) {
        const MwPlanField *field = &record->fields[i];
        const void *value = mw_plan_at(at, field->offset);
        if (field->present && !*(const bool *)mw_plan_at(at, field->present))
            continue;
        if (field->kind->is_flag) {
            if (*(const bool *)value)
                mw_text_printf(text, " %s", field->name);
            continue;
        }
        mw_text_printf(text, " %s=", field->name);
        field->kind->print(text, scope, value, mw_plan_more(at, field));
    }
}

static void print_list(MwText *text, const MwPlanScope *scope, const MwPlanPart *part, int depth,
                       const void *at)
{
    const char *elements = *(const char *const *)mw_plan_at(at, part->offset);
    int count = *(const int *)mw_plan_at(at, part->count_offset);
    for (int i = 0; i < count; i++) {
        const char *element = elements + part->records[0].bytes * (size_t)i;
        int which =
            part->record_count > 1 ? *(const int *)mw_plan_at(element, part->kind_offset) : 0;
        print_record(text, *scope, &part->records[which], depth, i, element);
    }
}

/* The keyword, then each line after a bar. */
static void print_lines(MwText *text, const MwPlanPart *part, int depth, const void *at)
{
    const char *line = *(const char *const *)mw_plan_at(at, part->offset);
    indent(text, depth);
    mw_text_printf(text, "%s\n", part->keyword);
    while (line && *line) {
        size_t length = strcspn(line, "\n");
        indent(text, depth + 1);
        mw_text_add_n(text, "|", 1);
        mw_text_add_n(text, line, length);
        mw_text_add_n(text, "\n", 1);
        line += length + (line[length] == '\n');
    }
}

static void print_part(MwText *text, const MwPlanScope *scope, const MwPlanPart *part, int depth,
                       const void *at)
{
    switch (part->shape) {
    case MW_PLAN_ONE:
        print_record(text, *scope, part->records, depth, -1, mw_plan_at(at, part->offset));
        break;
    case MW_PLAN_LIST:
        print_list(text, scope, part, depth, at);
        break;
    case MW_PLAN_TEXT:
        print_lines(text, part, depth, at);
        break;
    }
}

/* `index` is the number of the record in its list; -1 outside lists. */
static void print_record(MwText *text, MwPlanScope scope, const MwPlanRecord *record, int depth,
                         int index, const void *at)
{
    if (record == &mw_plan_mesh_record)
        scope.mesh = at;
    indent(text, depth);
    mw_text_add(text, record->keyword);
    if (index >= 0)
        mw_text_printf(text, " %d", index);
    print_fields(text, &scope, record, at);
    mw_text_add_n(text, "\n", 1);
    for (int i = 0; i < record->part_count; i++)
        print_part(text, &scope, &record->parts[i], depth + 1, at);
}

void mw_plan_print(MwText *text, const MwPlan *plan)
{
    size_t begin = text->bytes;
    mw_text_printf(text, MW_PLAN_MAGIC "%d\n", MW_PLAN_VERSION);
    print_record(text, (MwPlanScope){.plan = plan, .arena = text->arena}, &mw_plan_record, 0, -1,
                 plan);
    uint64_t hash = mw_hash_bytes(text->at + begin, text->bytes - begin);
    mw_text_printf(text, MW_PLAN_CHECKSUM "%016llx\n", (unsigned long long)hash);
}
