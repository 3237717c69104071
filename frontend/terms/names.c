/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/terms/names.h"

#include <math.h>
#include <string.h>

/* Names that always mean the same; no statement may define them. */
static const struct {
    const char *name;
    MwTerm term;
} predefined[] = {
#define TYPE(id, name, ...) {name, {.kind = MW_TERM_TYPE, .type = MW_##id}},
#include "base/types.def"
    {"pi", {.kind = MW_TERM_FLOAT, .f = 3.14159265358979323846}},
    {"inf", {.kind = MW_TERM_FLOAT, .f = INFINITY}},
    {"nan", {.kind = MW_TERM_FLOAT, .f = NAN}},
};

/* The term of a predefined name; NULL if it is none. */
static const MwTerm *find_predefined(const char *name)
{
    for (int i = 0; i < MW_COUNT(predefined); i++)
        if (strcmp(predefined[i].name, name) == 0)
            return &predefined[i].term;
    return NULL;
}

bool mw_name_is_predefined(const char *name)
{
    return find_predefined(name) != NULL;
}

void mw_names_predefined(MwExpander *ex, MwKnown *known)
{
    for (int i = 0; i < MW_COUNT(predefined); i++)
        mw_vec_push(ex->arena, known, predefined[i].name);
    mw_vec_push(ex->arena, known, "true");
    mw_vec_push(ex->arena, known, "false");
}

static const MwTerm *find_local(const MwExpander *ex, const char *name)
{
    const MwLocal *local = ex->local;
    while (local && local->name != name)
        local = local->outer;
    return local ? &local->term : NULL;
}

bool mw_name_find(const MwExpander *ex, const char *name, MwTerm *term)
{
    const MwTerm *found = find_local(ex, name);
    if (!found && ex->frame)
        found = mw_name_map_get(&ex->frame->names, name);
    const MwSize *size = found ? NULL : mw_name_map_get(&ex->sizes, name);
    if (size)
        found = &size->term;
    if (!found)
        found = find_predefined(name);
    if (found)
        *term = *found;
    return found != NULL;
}

bool mw_name_check(MwExpander *ex, MwName name)
{
    if (!find_predefined(name.text))
        return true;
    mw_expand_error(ex, name.span, "'%s' has a meaning of its own and cannot be defined",
                    name.text);
    return false;
}

void mw_name_bind(MwExpander *ex, MwName name, MwTerm term)
{
    if (!mw_name_check(ex, name))
        return;
    void **slot = mw_name_map_add(&ex->frame->names, name.text);
    if (!*slot)
        *slot = MW_NEW(ex->arena, MwTerm, 1);
    *(MwTerm *)*slot = term;
}

MwNameMap mw_names_save(const MwExpander *ex)
{
    MwNameMap saved = {.arena = ex->arena};
    const MwNameMap *names = &ex->frame->names;
    for (int i = 0; i < names->entries.count; i++)
        *mw_name_map_add(&saved, names->entries.at[i].name) =
            mw_arena_dup(ex->arena, names->entries.at[i].value, sizeof(MwTerm));
    return saved;
}

void mw_names_restore(MwExpander *ex, const MwNameMap *saved)
{
    ex->frame->names = *saved;
}

const char *mw_name_in_scope(MwExpander *ex, const char *name)
{
    const char *scope = ex->frame ? ex->frame->scope : "";
    return *scope ? mw_intern_printf(ex->interner, "%s.%s", scope, name)
                  : mw_intern(ex->interner, name);
}

/* `base`, or if `used` has it, `base` with `mark` and the least number from 1 that is new. */
static const char *unique(MwExpander *ex, MwNameMap *used, const char *base, char mark)
{
    if (!mw_name_map_find(used, base)) {
        mw_name_map_add(used, base);
        return base;
    }
    const char *name;
    intptr_t suffix = (intptr_t)mw_name_map_get(used, base);
    do
        name = mw_intern_printf(ex->interner, "%s%c%ld", base, mark, (long)++suffix);
    while (mw_name_map_find(used, name));
    *mw_name_map_add(used, base) = (void *)suffix;
    mw_name_map_add(used, name);
    return name;
}

const char *mw_name_make_unique(MwExpander *ex, const char *base)
{
    return unique(ex, &ex->values, base, '.');
}

const char *mw_scope_enter_block(MwExpander *ex, const char *name)
{
    return unique(ex, &ex->scopes, mw_name_in_scope(ex, name), '.');
}

/* The number of an iteration follows the scope of a repeat after a dot, so its suffix has another
 * mark. */
const char *mw_scope_enter_repeat(MwExpander *ex, const char *name)
{
    return unique(ex, &ex->scopes, mw_name_in_scope(ex, name), '_');
}

void mw_name_reserve(MwExpander *ex, const char *name)
{
    mw_name_map_add(&ex->values, mw_name_in_scope(ex, name));
}
