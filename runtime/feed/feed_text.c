/* SPDX-License-Identifier: MIT */
#include "runtime/feed/feed_text.h"

#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Splits the text up to the next comma off `*rest`; "\\," is a comma of the text. NULL at the
 * end. */
static char *take_word(char **rest)
{
    char *word = *rest + strspn(*rest, ","), *to = word, *from = word;
    for (; *from && *from != ','; *to++ = *from++)
        from += from[0] == '\\' && from[1] == ',';
    *rest = from + (*from == ',');
    const bool is_end = from == word;
    *to = '\0';
    return is_end ? NULL : word;
}

/* Splits "NAME=" or "NAME+SHIFT=" off `*word`. False where it has no name. */
static bool take_name(char **word, MwFeedItem *item)
{
    char *at = *word;
    while (isalnum((unsigned char)*at) || *at == '_' || *at == '.')
        at++;
    char *end = at;
    const bool is_shifted = at[0] == '+' && (at[1] == '0' || at[1] == '1');
    at += is_shifted ? 2 : 0;
    if (end == *word || *at != '=')
        return false;
    item->name = *word;
    item->shift = is_shifted && end[1] == '1';
    *end = '\0';
    *word = at + 1;
    return true;
}

/* Splits "*WEIGHT" off the word. 0: there is none. */
static double take_weight(char *word)
{
    char *star = strrchr(word, '*'), *end;
    if (!star || star == word || !(isdigit((unsigned char)star[1]) || star[1] == '.'))
        return 0;
    const double weight = strtod(star + 1, &end);
    if (*end || !isfinite(weight) || weight <= 0)
        return 0;
    *star = '\0';
    return weight;
}

/* Whether a star and a number end the text. */
static bool has_number(const char *text)
{
    const char *star = strrchr(text, '*');
    char *end = NULL;
    if (star)
        strtod(star + 1, &end);
    return end && end > star + 1 && !*end;
}

static bool find_paths(MwArena *arena, const char *pattern, MwFeedPaths *paths, MwFault *fault)
{
    glob_t found = {0};
    paths->paths = MW_NEW(arena, const char *, 1);
    paths->paths[0] = pattern;
    paths->count = 1;
    if (!strpbrk(pattern, "*?[") || access(pattern, F_OK) == 0)
        return true;
    if (glob(pattern, 0, NULL, &found) != 0) {
        globfree(&found);
        return mw_fault_set(fault, "no file matches %s%s", pattern,
                            has_number(pattern) ? "; a weight (FILE*WEIGHT) is above 0" : "");
    }
    paths->count = (int)found.gl_pathc;
    paths->paths = MW_NEW(arena, const char *, paths->count);
    for (int i = 0; i < paths->count; i++)
        paths->paths[i] = mw_arena_strdup(arena, found.gl_pathv[i]);
    globfree(&found);
    return true;
}

static bool add_part(MwArena *arena, char *word, bool are_files, MwFeedItem *item, MwFault *fault)
{
    MwFeedPaths part = {0};
    if (are_files && access(word, F_OK) != 0)
        part.weight = take_weight(word);
    if (!*word)
        return mw_fault_set(fault, "a file has no name");
    if (!are_files) {
        part.paths = MW_NEW(arena, const char *, 1);
        part.paths[0] = word;
        part.count = 1;
    } else if (!find_paths(arena, word, &part, fault)) {
        return false;
    }
    if (item->parts.count && (item->parts.at[0].weight > 0) != (part.weight > 0))
        return mw_fault_set(fault,
                            "either all files of an input have a weight (FILE*WEIGHT) or "
                            "none has: compare %s and %s",
                            item->parts.at[0].paths[0], word);
    mw_vec_push(arena, &item->parts, part);
    return true;
}

bool mw_feed_text(MwArena *arena, const char *text, bool are_files, MwFeedItems *items,
                  MwFault *fault)
{
    char *rest = mw_arena_strdup(arena, text);
    *items = (MwFeedItems){0};
    for (char *word; (word = take_word(&rest));) {
        MwFeedItem item = {0};
        if (take_name(&word, &item) || items->count == 0)
            mw_vec_push(arena, items, item);
        if (!add_part(arena, word, are_files, &mw_vec_last(items), fault))
            return false;
    }
    return items->count > 0 || mw_fault_set(fault, "it names no file");
}
