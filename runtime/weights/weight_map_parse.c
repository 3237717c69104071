/* SPDX-License-Identifier: MIT */
#include "runtime/weights/weight_map_parse.h"

#include "base/file.h"
#include "runtime/weights/map_texts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Words of a line ---- */

typedef struct {
    MwArena *arena;
    const char *file;
    const char *at; /* the rest of the line */
    int line;
    MwFault *fault;
} Reader;

static bool wrong(Reader *reader, const char *what)
{
    return mw_fault_set(reader->fault, "%s:%d: %s", reader->file, reader->line, what);
}

static void skip_spaces(Reader *reader)
{
    reader->at += strspn(reader->at, " \t");
}

/* Takes one character, if it comes next. */
static bool take(Reader *reader, char c)
{
    skip_spaces(reader);
    if (*reader->at != c)
        return false;
    reader->at++;
    return true;
}

static bool is_at_end(Reader *reader)
{
    skip_spaces(reader);
    return !*reader->at;
}

/* A name or pattern: everything up to a blank or a character with a meaning. NULL: none. */
static const char *take_name(Reader *reader)
{
    skip_spaces(reader);
    const size_t length = strcspn(reader->at, " \t=[](),");
    const char *name = length ? mw_arena_strndup(reader->arena, reader->at, length) : NULL;
    reader->at += length;
    return name;
}

static bool take_number(Reader *reader, int64_t *number)
{
    char *end;
    skip_spaces(reader);
    errno = 0;
    *number = strtoll(reader->at, &end, 10);
    if (!isdigit((unsigned char)*reader->at) || errno || *number > INT32_MAX)
        return false;
    reader->at = end;
    return true;
}

static const char *take_identifier(Reader *reader)
{
    skip_spaces(reader);
    size_t length = 0;
    while (isalnum((unsigned char)reader->at[length]) || reader->at[length] == '_')
        length++;
    if (length == 0 || isdigit((unsigned char)*reader->at))
        return NULL;
    reader->at += length;
    return mw_arena_strndup(reader->arena, reader->at - length, length);
}

/* ---- Axes ---- */

/* `w`, `p=16` or a number. */
static bool read_axis(Reader *reader, MwMapAxis *axis)
{
    if (take_number(reader, &axis->number))
        return true;
    axis->name = take_identifier(reader);
    if (!axis->name)
        return wrong(reader, "an axis is a name such as w, or a number");
    if (!take(reader, '='))
        return true;
    return (take_number(reader, &axis->size) && axis->size > 0) ||
           wrong(reader, "the size of an axis is a whole number, from 1 on");
}

/* Dimensions up to the end, "->" or "]": an axis, or several in parentheses. */
static bool read_dims(Reader *reader, MwMapAxis *axes, int *count, int *dims)
{
    for (bool is_joined = false;;) {
        skip_spaces(reader);
        if (!is_joined && (*reader->at == ']' || *reader->at == '-' || !*reader->at))
            return true;
        if (*dims == MW_MAX_RANK || *count == MW_STORED_VIEW_MOST_AXES)
            return wrong(reader, "there are too many axes");
        if (is_joined && take(reader, ')')) {
            is_joined = false;
            ++*dims;
        } else if (!is_joined && take(reader, '(')) {
            is_joined = true;
        } else {
            axes[*count].dim = *dims;
            if (!read_axis(reader, &axes[*count]))
                return false;
            ++*count;
            *dims += !is_joined;
        }
    }
}

static const MwMapAxis *find_axis(const MwMapAxis *axes, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (axes[i].name && strcmp(axes[i].name, name) == 0)
            return &axes[i];
    return NULL;
}

/* The axes of each side differ; those of the tensor are those of the weight, but for what the name
 * of the tensor says, and for numbers: an index of the weight, and the size 1 of the tensor. */
static bool check_axes(Reader *reader, const MwMapPart *part, const char *tensor)
{
    char text[200];
    int in_name = 0;
    for (int i = 0; i < part->from_count; i++) {
        const char *name = part->from[i].name;
        if (!name)
            continue;
        snprintf(text, sizeof text, "{%.100s}", name);
        if (find_axis(part->from, i, name))
            return wrong(reader, "an axis stands twice before ->");
        in_name += strstr(tensor, text) != NULL;
        if (!find_axis(part->to, part->to_count, name) == !strstr(tensor, text)) {
            snprintf(text, sizeof text,
                     "the axis %.60s must stand after -> or, as {%.60s}, in the name", name, name);
            return wrong(reader, text);
        }
    }
    if (in_name > 1)
        return wrong(reader, "one axis can stand in the name of a tensor");
    for (int i = 0; i < part->to_count; i++) {
        const char *name = part->to[i].name;
        if (!name && part->to[i].number != 1)
            return wrong(reader, "a number after -> can be 1 alone");
        if (name && find_axis(part->to, i, name))
            return wrong(reader, "an axis stands twice after ->");
        if (name && !find_axis(part->from, part->from_count, name))
            return wrong(reader, "an axis stands after -> and not before");
    }
    return true;
}

static bool read_axes(Reader *reader, MwMapPart *part, const char *tensor)
{
    part->has_axes = true;
    if (!read_dims(reader, part->from, &part->from_count, &part->from_dims))
        return false;
    if (!take(reader, '-') || !take(reader, '>'))
        return wrong(reader, "axes are [those of the weight -> those of the tensor]");
    return read_dims(reader, part->to, &part->to_count, &part->to_dims) &&
           (take(reader, ']') || wrong(reader, "there is no ] after the axes")) &&
           check_axes(reader, part, tensor);
}

/* ---- Lines ---- */

static int count_stars(const char *pattern)
{
    int stars = 0;
    for (const char *c = pattern; *c; c++)
        stars += *c == '*';
    return stars;
}

static bool read_part(Reader *reader, MwMapPart *part, const char *tensor)
{
    *part = (MwMapPart){.weight = take_name(reader)};
    if (!part->weight)
        return wrong(reader, "the name of a weight is missing");
    if (count_stars(tensor) > MW_MAP_MOST_STARS)
        return wrong(reader, "there are too many * in a name");
    if (count_stars(part->weight) != count_stars(tensor))
        return wrong(reader, "there must be as many * in the name of the weight as in that of "
                             "the tensor");
    return !take(reader, '[') || read_axes(reader, part, tensor);
}

/* "concat(0, PART, PART)" after its name, or one part. */
static bool read_parts(Reader *reader, MwMapRule *rule)
{
    static const char concat[] = "concat(";
    MW_VEC(MwMapPart) parts = {0};
    int64_t along = 0;
    skip_spaces(reader);
    const bool is_concat = strncmp(reader->at, concat, strlen(concat)) == 0;
    if (is_concat) {
        reader->at += strlen(concat);
        if (!take_number(reader, &along) || along >= MW_MAX_RANK || !take(reader, ','))
            return wrong(reader, "concat(DIMENSION, WEIGHT, ...) begins with a dimension");
    }
    do {
        if (!read_part(reader, mw_vec_add(reader->arena, &parts), rule->tensor))
            return false;
    } while (is_concat && take(reader, ','));
    if (is_concat && !take(reader, ')'))
        return wrong(reader, "there is no ) after the parts of concat");
    rule->along = (int)along;
    rule->parts = parts.at;
    rule->part_count = parts.count;
    return true;
}

static bool read_line(Reader *reader, MwWeightMap *map)
{
    const char *first = take_name(reader);
    if (!first)
        return is_at_end(reader) || wrong(reader, "a line is TENSOR = WEIGHT");
    if (take(reader, '=')) {
        MwMapRule *rule = mw_vec_add(reader->arena, &map->rules);
        *rule = (MwMapRule){.line = reader->line, .tensor = first};
        if (!read_parts(reader, rule))
            return false;
    } else if (strcmp(first, "prefix") == 0) {
        map->prefix = take_name(reader);
        if (!map->prefix)
            return wrong(reader, "the prefix is missing");
    } else if (strcmp(first, "skip") == 0) {
        const char *pattern = take_name(reader);
        if (!pattern || count_stars(pattern) > MW_MAP_MOST_STARS)
            return wrong(reader, pattern ? "there are too many * in a name"
                                         : "the name to skip is missing");
        mw_vec_push(reader->arena, &map->skipped, pattern);
    } else {
        return wrong(reader, "a line is TENSOR = WEIGHT, prefix TEXT or skip TENSOR");
    }
    return is_at_end(reader) || wrong(reader, "there is more on the line than one thing");
}

MwWeightMap *mw_weight_map_parse(MwArena *arena, const char *name, const char *text, MwFault *fault)
{
    MwWeightMap *map = MW_NEW(arena, MwWeightMap, 1);
    Reader reader = {.arena = arena, .file = name, .fault = fault};
    *map = (MwWeightMap){.name = name, .prefix = ""};
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        reader.at = mw_arena_strndup(arena, line, strcspn(line, "#\r\n"));
        reader.line++;
        if (!read_line(&reader, map))
            return NULL;
    }
    return map;
}

/* ---- Where maps come from ---- */

static const struct {
    const char *name, *text;
} built_in[] = {
#define MAP(name, text) {name, text},
    MW_MAP_TEXTS(MAP)
#undef MAP
};

const char *mw_weight_map_names(void)
{
#define MAP(name, text) ", " name
    return MW_MAP_TEXTS(MAP) + strlen(", ");
#undef MAP
}

MwWeightMap *mw_weight_map_open(MwArena *arena, const char *name, MwFault *fault)
{
    size_t bytes;
    for (int i = 0; i < MW_COUNT(built_in); i++)
        if (strcmp(built_in[i].name, name) == 0)
            return mw_weight_map_parse(arena, name, built_in[i].text, fault);
    const char *text = mw_file_read(arena, name, &bytes);
    if (text)
        return mw_weight_map_parse(arena, mw_arena_strdup(arena, name), text, fault);
    mw_fault_set(fault, "cannot read the map %s: %s; built in are %s", name, strerror(errno),
                 mw_weight_map_names());
    return NULL;
}
