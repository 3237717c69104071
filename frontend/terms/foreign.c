/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/terms/foreign.h"

#include <ctype.h>
#include <string.h>

static const struct {
    MwForeignKind kind;
    const char *name, *text;
} names[] = {
#define FOREIGN(name, function, call) {MW_FOREIGN_CALL, #name, "here it is " call},
#define PHRASE(name, sentence) {MW_FOREIGN_CALL, #name, sentence},
#define INITIALISER(name, sentence)                                                                \
    {MW_FOREIGN_CALL, #name, sentence " where a weight is declared"},
#define VALUE(name, sentence) {MW_FOREIGN_VALUE, #name, sentence},
#include "frontend/terms/foreign.def"
};

static const struct {
    const char *name, *own;
} parameters[] = {
#define PARAMETER(name, own) {#name, #own},
#include "frontend/terms/foreign.def"
};

static const struct {
    const char *function, *name, *text;
} absent[] = {
#define ABSENT(function, name, phrase) {#function, #name, phrase},
#include "frontend/terms/foreign.def"
};

enum { SPELLING_BYTES = 64 };

/* What all spellings of a name have in common. "" for a name that is longer than any of a row. */
static void spell(const char *name, char *common)
{
    const char *dot = strrchr(name, '.');
    int count = 0;
    for (const char *c = dot ? dot + 1 : name; *c; c++) {
        if (*c == '_')
            continue;
        if (count == SPELLING_BYTES - 1) {
            count = 0;
            break;
        }
        common[count++] = (char)tolower((unsigned char)*c);
    }
    common[count] = 0;
}

/* Makes "conv2d" "convnd". False if the spelling does not end so. */
static bool drop_rank(char *common)
{
    const size_t length = strlen(common);
    if (length < 3 || common[length - 1] != 'd' || !strchr("123", common[length - 2]))
        return false;
    common[length - 2] = 'n';
    return true;
}

static const char *find_text(MwForeignKind kind, const char *common)
{
    char other[SPELLING_BYTES];
    for (int i = 0; i < MW_COUNT(names) && *common; i++) {
        spell(names[i].name, other);
        if (names[i].kind == kind && strcmp(common, other) == 0)
            return names[i].text;
    }
    return NULL;
}

const char *mw_foreign_text(MwForeignKind kind, const char *name)
{
    char common[SPELLING_BYTES];
    spell(name, common);
    const char *text = find_text(kind, common);
    return text || !drop_rank(common) ? text : find_text(kind, common);
}

static bool is_known(const MwKnown *known, const char *name)
{
    for (int i = 0; i < known->count; i++)
        if (strcmp(known->at[i], name) == 0)
            return true;
    return false;
}

const char *mw_foreign_parameter(const char *name, const MwKnown *known)
{
    for (int i = 0; i < MW_COUNT(parameters); i++)
        if (strcmp(parameters[i].name, name) == 0 && is_known(known, parameters[i].own))
            return parameters[i].own;
    return NULL;
}

const char *mw_foreign_absent(const char *function, const char *name)
{
    const size_t length = strlen(function);
    for (int i = 0; i < MW_COUNT(absent); i++) {
        const size_t end = strlen(absent[i].function);
        if (strcmp(absent[i].name, name) == 0 && end <= length &&
            strcmp(absent[i].function, function + length - end) == 0)
            return absent[i].text;
    }
    return NULL;
}

const char *mw_foreign_spelling(const char *name, const MwKnown *known)
{
    char common[SPELLING_BYTES], other[SPELLING_BYTES];
    spell(name, common);
    for (int i = 0; i < known->count && *common; i++) {
        spell(known->at[i], other);
        if (strcmp(common, other) == 0)
            return known->at[i];
    }
    return NULL;
}
