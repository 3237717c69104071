/* SPDX-License-Identifier: MIT */
/* Text to plan: the same walk over format.c as the printer's.
 *
 * A plan is accepted only if printing it gives the text that was read, so that reading and printing
 * are inverse for every text, and a value written in another way is an error too. Every index that
 * a text may hold is checked later (check.c); names are resolved here. */
#include "base/hash.h"
#include "base/vec.h"
#include "runtime/plan/format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    const MwSource *source;
    const char *at;  /* the next line */
    const char *end; /* of the lines of records: the checksum line */
    MwPlanScope scope;
} Parser;

/* ---- Lines and words ---- */

static MwSpan span(const Parser *parser, const char *begin, const char *end)
{
    return (MwSpan){parser->source, (uint32_t)(begin - parser->source->text),
                    (uint32_t)(end - parser->source->text)};
}

static const char *line_end(const Parser *parser, const char *at)
{
    const char *end = memchr(at, '\n', (size_t)(parser->end - at));
    return end ? end : parser->end;
}

/* True if the next line stands at `depth`; `*keyword` is then its first word and `*length` the
 * length of that. */
static bool peek(const Parser *parser, int depth, const char **keyword, size_t *length)
{
    const char *at = parser->at;
    const char *end = line_end(parser, at);
    while (at < end && *at == ' ')
        at++;
    *keyword = at;
    while (at < end && *at != ' ')
        at++;
    *length = (size_t)(at - *keyword);
    return *keyword - parser->at == depth * MW_PLAN_INDENT && *length > 0;
}

static bool is_word(const char *word, size_t length, const char *keyword)
{
    return strlen(keyword) == length && memcmp(word, keyword, length) == 0;
}

/* The end of the word at `at`: the next space outside quotes and brackets that does not lead to the
 * partial axes of a spec, as in "[R] +P0". */
static const char *word_end(const char *at, const char *end)
{
    int depth = 0;
    bool quoted = false;
    for (; at < end && (quoted || depth > 0 || *at != ' ' || at[1] == '+'); at++) {
        if (quoted && *at == '\\' && at + 1 < end)
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
    }
    return at;
}

/* ---- Records ---- */

static bool parse_record(Parser *parser, const MwPlanRecord *record, int depth, int index,
                         void *to);

/* Reads " name=value" of `field` at `*at` and moves past it. */
static bool parse_field(Parser *parser, const MwPlanField *field, const char **at, const char *end,
                        void *to)
{
    const char *begin = *at + 1;
    size_t length = strlen(field->name);
    bool is_next = *at < end && **at == ' ' && (size_t)(end - begin) >= length &&
                   memcmp(begin, field->name, length) == 0;
    bool optional = field->kind->is_flag || field->present;
    const char *after = begin + length;
    if (is_next)
        is_next =
            field->kind->is_flag ? after == end || *after == ' ' : after < end && *after == '=';
    if (optional)
        *(bool *)mw_plan_at(to, field->present ? field->present : field->offset) = is_next;
    if (!is_next && !optional)
        mw_diag_error(parser->diags, span(parser, *at < end ? begin : *at, end),
                      "expected '%s=' here", field->name);
    if (!is_next)
        return optional;
    if (field->kind->is_flag) {
        *at = after;
        return true;
    }
    *at = word_end(after + 1, end);
    const char *word = mw_arena_strndup(parser->arena, after + 1, (size_t)(*at - after - 1));
    const char *expected = field->kind->parse(&parser->scope, word, mw_plan_at(to, field->offset),
                                              mw_plan_more(to, field));
    if (expected)
        mw_diag_error(parser->diags, span(parser, after + 1, *at), "'%s' should be %s", field->name,
                      expected);
    return !expected;
}

/* Reads " 12" after the keyword of a list's record. */
static bool parse_index(Parser *parser, const char **at, const char *end, int index)
{
    char expected[16];
    int length = snprintf(expected, sizeof expected, " %d", index);
    if (end - *at >= length && memcmp(*at, expected, (size_t)length) == 0 &&
        (*at + length == end || (*at)[length] == ' ')) {
        *at += length;
        return true;
    }
    mw_diag_error(parser->diags, span(parser, *at, word_end(*at < end ? *at + 1 : *at, end)),
                  "expected number%s here: a line is missing or out of place", expected);
    return false;
}

/* Appends every following line at `depth` that is one of the part's records. */
static bool parse_list(Parser *parser, const MwPlanPart *part, int depth, void *to)
{
    int capacity = 0, count = 0;
    char *elements = NULL;
    const size_t bytes = part->records[0].bytes;
    const char *keyword;
    size_t length;
    while (peek(parser, depth, &keyword, &length)) {
        int which = 0;
        while (which < part->record_count &&
               !is_word(keyword, length, part->records[which].keyword))
            which++;
        if (which == part->record_count)
            break;
        if (count == capacity)
            elements = mw_vec_grow(parser->arena, elements, &capacity, bytes);
        char *element = elements + bytes * (size_t)count;
        if (part->record_count > 1)
            *(int *)mw_plan_at(element, part->kind_offset) = which;
        if (!parse_record(parser, &part->records[which], depth, count++, element))
            return false;
    }
    *(char **)mw_plan_at(to, part->offset) = elements;
    *(int *)mw_plan_at(to, part->count_offset) = count;
    return true;
}

static bool expect(Parser *parser, const char *expected, int depth)
{
    const char *keyword;
    size_t length;
    if (peek(parser, depth, &keyword, &length) && is_word(keyword, length, expected))
        return true;
    mw_diag_error(parser->diags, span(parser, parser->at, line_end(parser, parser->at)),
                  "expected a line '%s' here", expected);
    return false;
}

static void next_line(Parser *parser)
{
    parser->at = line_end(parser, parser->at);
    parser->at += parser->at < parser->end;
}

/* Joins the lines that begin with a bar. */
static bool parse_lines(Parser *parser, const MwPlanPart *part, int depth, void *to)
{
    if (!expect(parser, part->keyword, depth))
        return false;
    next_line(parser);
    MwText text = {.arena = parser->arena};
    mw_text_add(&text, "");
    const int bar = (depth + 1) * MW_PLAN_INDENT;
    const char *keyword;
    size_t length;
    while (peek(parser, depth + 1, &keyword, &length) && *keyword == '|') {
        const char *end = line_end(parser, parser->at);
        mw_text_add_n(&text, parser->at + bar + 1, (size_t)(end - parser->at - bar - 1));
        mw_text_add_n(&text, "\n", 1);
        next_line(parser);
    }
    *(const char **)mw_plan_at(to, part->offset) = text.at;
    return true;
}

static bool parse_part(Parser *parser, const MwPlanPart *part, int depth, void *to)
{
    switch (part->shape) {
    case MW_PLAN_ONE:
        return expect(parser, part->records->keyword, depth) &&
               parse_record(parser, part->records, depth, -1, mw_plan_at(to, part->offset));
    case MW_PLAN_LIST:
        return parse_list(parser, part, depth, to);
    case MW_PLAN_TEXT:
        return parse_lines(parser, part, depth, to);
    }
    MW_UNREACHABLE();
}

/* The next line is known to be this record's. */
static bool parse_record(Parser *parser, const MwPlanRecord *record, int depth, int index, void *to)
{
    if (record == &mw_plan_mesh_record)
        parser->scope.mesh = to;
    const char *at = parser->at + depth * MW_PLAN_INDENT + strlen(record->keyword);
    const char *end = line_end(parser, parser->at);
    if (index >= 0 && !parse_index(parser, &at, end, index))
        return false;
    for (int i = 0; i < record->field_count; i++)
        if (!parse_field(parser, &record->fields[i], &at, end, to))
            return false;
    if (at != end) {
        mw_diag_error(parser->diags, span(parser, at, end), "unexpected text after a '%s'",
                      record->keyword);
        return false;
    }
    next_line(parser);
    for (int i = 0; i < record->part_count; i++)
        if (!parse_part(parser, &record->parts[i], depth + 1, to))
            return false;
    return true;
}

/* ---- The whole ---- */

static bool parse_magic(Parser *parser)
{
    const char *begin = parser->at;
    const char *end = line_end(parser, begin);
    const size_t length = strlen(MW_PLAN_MAGIC);
    if (strncmp(begin, MW_PLAN_MAGIC, length) != 0) {
        mw_diag_error(parser->diags, span(parser, begin, begin),
                      "this is no meshwright plan: its first line should be '" MW_PLAN_MAGIC "%d'",
                      MW_PLAN_VERSION);
        return false;
    }
    char version[16];
    int bytes = snprintf(version, sizeof version, "%d", MW_PLAN_VERSION);
    begin += length;
    if (end - begin == bytes && memcmp(begin, version, (size_t)bytes) == 0) {
        next_line(parser);
        return true;
    }
    mw_diag_error(parser->diags, span(parser, begin, end),
                  "this plan is of version %.*s; this meshwright reads version %d",
                  (int)mw_min(end - begin, 20), begin, MW_PLAN_VERSION);
    mw_diag_note(parser->diags, mw_span_none(), "make the plan again with 'meshwright plan'");
    return false;
}

/* Finds the last line and ends the parser's text before it. False, after an error, if it is no
 * checksum. */
static bool find_checksum(Parser *parser)
{
    const char *text = parser->source->text;
    const size_t length = strlen(MW_PLAN_CHECKSUM) + 17;
    const char *last = parser->end - length;
    if (parser->source->bytes > length && last[-1] == '\n' && parser->end[-1] == '\n' &&
        memcmp(last, MW_PLAN_CHECKSUM, strlen(MW_PLAN_CHECKSUM)) == 0) {
        parser->end = last;
        return true;
    }
    last = parser->end;
    while (last > text && last[-1] != '\n')
        last--;
    mw_diag_error(parser->diags, span(parser, last, parser->end),
                  "the plan is cut off here: its last line should be its checksum");
    return false;
}

static bool check_hash(Parser *parser)
{
    const char *begin = parser->end + strlen(MW_PLAN_CHECKSUM);
    char expected[17];
    snprintf(expected, sizeof expected, "%016llx",
             (unsigned long long)mw_hash_bytes(parser->source->text,
                                               (size_t)(parser->end - parser->source->text)));
    if (memcmp(begin, expected, 16) == 0)
        return true;
    mw_diag_error(parser->diags, span(parser, begin, begin + 16),
                  "the plan is damaged or was edited: its text has checksum %s", expected);
    return false;
}

/* Checks that printing the plan gives the text that was read. */
static bool check_identity(Parser *parser, const MwPlan *plan)
{
    MwText text = {.arena = parser->arena};
    mw_plan_print(&text, plan);
    const char *read = parser->source->text;
    size_t same = 0;
    while (same < text.bytes && same < parser->source->bytes && text.at[same] == read[same])
        same++;
    if (same == text.bytes && same == parser->source->bytes)
        return true;
    const char *at = read + mw_min((int64_t)same, (int64_t)parser->source->bytes);
    mw_diag_error(parser->diags, span(parser, at, at), "a plan is not written like this");
    return false;
}

static bool parse_body(Parser *parser, MwPlan *plan)
{
    if (!expect(parser, mw_plan_record.keyword, 0) ||
        !parse_record(parser, &mw_plan_record, 0, -1, plan))
        return false;
    if (parser->at == parser->end)
        return true;
    mw_diag_error(parser->diags, span(parser, parser->at, line_end(parser, parser->at)),
                  "unexpected line");
    return false;
}

/* Whether the first line ends in CR LF, as no plan is written. */
static bool has_dos_lines(const MwSource *source)
{
    const char *end = memchr(source->text, '\n', source->bytes);
    const size_t length = strlen(MW_PLAN_MAGIC);
    return strncmp(source->text, MW_PLAN_MAGIC, length) == 0 && end && end[-1] == '\r';
}

MwPlan *mw_plan_parse(MwArena *arena, const MwSource *source, MwDiags *diags)
{
    Parser parser = {.arena = arena,
                     .diags = diags,
                     .source = source,
                     .at = source->text,
                     .end = source->text + source->bytes};
    MwPlan *plan = MW_NEW(arena, MwPlan, 1);
    parser.scope = (MwPlanScope){.plan = plan, .arena = arena};
    if (has_dos_lines(source)) {
        mw_diag_error(
            diags, mw_span_none(),
            "%s: the lines of this plan end in CR LF, which a copy made of them; a plan is "
            "read as it was written",
            source->name);
        return NULL;
    }
    if (source->bytes >= UINT32_MAX || memchr(source->text, '\0', source->bytes)) {
        mw_diag_error(diags, mw_span_none(), "%s: this is no meshwright plan", source->name);
        return NULL;
    }
    if (!parse_magic(&parser) || !find_checksum(&parser))
        return NULL;
    bool good = check_hash(&parser) && parse_body(&parser, plan);
    return good && check_identity(&parser, plan) ? plan : NULL;
}
