/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams the JSON of a problem, gzipped or plain, into its lists. The file is never in memory as a
 * whole, and equal rows of costs and usages are kept once, as models repeat their layers.
 *
 * The current position is a path of keys and indices (problem.edges.costs[12][7]). The path decides
 * what a number means, and messages show it. Unknown keys are skipped with all that they hold.
 *
 * Yajl parses the structure. The integers of a row are scanned separately (scan.h): yajl is given
 * the brackets of the row and nothing between them. If the scan stops before the end of the row,
 * yajl is given a text that puts it into the same state and parses the rest of the row itself. Yajl
 * alone thus decides what is legal JSON and reports what is not. */
#include "solver/file/problem_file.h"
#include "solver/file/scan.h"

#include "base/intern.h"
#include "base/text.h"
#include "solver/core/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>
#include <zlib.h>

enum {
    LIST_DEPTH = 3, /* nesting depth of a list of lists */
    DEPTH_LIMIT = 64,
    LENGTH_LIMIT = 1 << 28, /* entries of a list, at most */
    CHUNK_BYTES = 1 << 20,  /* more than twice zlib's own buffer: zlib then fills ours directly */
    ZLIB_BYTES = 1 << 18
};

typedef struct {
    const char *key; /* in an object: the key read last; NULL in an array */
    int64_t index;   /* in an array: the index of the next element */
} Level;

typedef struct {
    MwArena *arena, *scratch;
    MwTables *rows; /* interns the rows */
    MwInterner *keys;
    MwProblemLists *lists;
    const char *path;
    MwDiags *diags;
    Level level[DEPTH_LIMIT];
    int depth;
    MwProblemList list;   /* the list of lists that contains the current position */
    MwIntegers row;       /* the current row, as far as it is read */
    bool yajl_reads_row;  /* yajl parses the rest of the row */
    bool ignores_numbers; /* the text that yajl is given is not from the file */
    bool failed;
} Parser;

const char *mw_problem_list_name(MwProblemList list)
{
    static const char *const names[MW_LIST_COUNT] = {
        [MW_LIST_INTERVALS] = "problem.nodes.intervals",
        [MW_LIST_COSTS] = "problem.nodes.costs",
        [MW_LIST_USAGES] = "problem.nodes.usages",
        [MW_LIST_EDGE_NODES] = "problem.edges.nodes",
        [MW_LIST_EDGE_COSTS] = "problem.edges.costs",
    };
    return names[list];
}

/* Returns the path of the value being read. */
static const char *current_path(const Parser *parser)
{
    MwText text = {.arena = parser->scratch};
    mw_text_add(&text, "");
    for (int i = 0; i < parser->depth; i++) {
        const Level *level = &parser->level[i];
        if (level->key)
            mw_text_printf(&text, "%s%s", i ? "." : "", level->key);
        else
            mw_text_printf(&text, "[%lld]", (long long)level->index);
    }
    return text.bytes ? text.at : "the top";
}

/* Reports an error at the current path. Returns 0, which tells yajl to stop. */
static int fail(Parser *parser, const char *problem)
{
    mw_diag_error(parser->diags, mw_span_none(), "%s: %s: %s", parser->path, current_path(parser),
                  problem);
    parser->failed = true;
    return 0;
}

static bool at_scalar(const Parser *parser, const char *key)
{
    return parser->depth == 2 && parser->level[1].key && !strcmp(parser->level[1].key, key) &&
           parser->level[0].key && !strcmp(parser->level[0].key, "problem");
}

/* Says whether the current value is an element of problem.nodes.labels. */
static bool at_label(const Parser *parser)
{
    static const char *const keys[LIST_DEPTH] = {"problem", "nodes", "labels"};
    for (int i = 0; i < LIST_DEPTH; i++)
        if (parser->depth != LIST_DEPTH + 1 || !parser->level[i].key ||
            strcmp(parser->level[i].key, keys[i]) != 0)
            return false;
    return !parser->level[LIST_DEPTH].key;
}

static MwProblemList list_here(const Parser *parser)
{
    if (parser->depth != LIST_DEPTH)
        return MW_LIST_NONE;
    const char *path = current_path(parser);
    for (MwProblemList list = MW_LIST_NONE + 1; list < MW_LIST_COUNT; list++)
        if (!strcmp(path, mw_problem_list_name(list)))
            return list;
    return MW_LIST_NONE;
}

/* Returns what must stand at the current position: a number, a list or a label; NULL if any value
 * may stand there. */
static const char *expected_here(const Parser *parser)
{
    if (parser->list && parser->depth == LIST_DEPTH + 2)
        return "expected an integer";
    if (parser->list && parser->depth == LIST_DEPTH + 1)
        return "expected a list of integers";
    if (list_here(parser))
        return "expected a list of lists";
    if (at_scalar(parser, "usage_limit"))
        return "expected an integer";
    if (at_label(parser))
        return "expected a string";
    return NULL;
}

static int end_value(Parser *parser)
{
    if (parser->depth > 0 && !parser->level[parser->depth - 1].key)
        parser->level[parser->depth - 1].index++;
    return 1;
}

static int open_level(Parser *parser, const char *key)
{
    if (parser->depth == DEPTH_LIMIT)
        return fail(parser, "nested too deeply");
    parser->level[parser->depth++] = (Level){.key = key};
    return 1;
}

static int on_scalar(Parser *parser)
{
    const char *expected = expected_here(parser);
    return expected ? fail(parser, expected) : end_value(parser);
}

static int on_null(void *context)
{
    return on_scalar(context);
}

static int on_boolean(void *context, int value)
{
    (void)value;
    return on_scalar(context);
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
    Parser *parser = context;
    if (at_label(parser)) {
        const char *label = mw_arena_strndup(parser->arena, (const char *)text, length);
        mw_vec_push(parser->scratch, &parser->lists->labels, label);
        return end_value(parser);
    }
    if (at_scalar(parser, "name") && parser->lists->name)
        return fail(parser, "given twice");
    if (at_scalar(parser, "name"))
        parser->lists->name = mw_arena_strndup(parser->arena, (const char *)text, length);
    return on_scalar(parser);
}

/* Returns false after an error. */
static bool read_integer(Parser *parser, const char *text, size_t length, int64_t *value)
{
    char digits[32];
    if (length >= sizeof digits)
        return fail(parser, "a number beyond 64 bits");
    memcpy(digits, text, length);
    digits[length] = 0;
    char *end;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    if (*end)
        return fail(parser, "expected an integer");
    if (errno == ERANGE)
        return fail(parser, "a number beyond 64 bits");
    if (*value < 0 && parser->list != MW_LIST_INTERVALS)
        return fail(parser, "a negative number");
    return true;
}

static int on_entry(Parser *parser, const char *text, size_t length)
{
    int64_t value;
    if (parser->row.count == LENGTH_LIMIT)
        return fail(parser, "too long a list");
    if (!read_integer(parser, text, length, &value))
        return 0;
    mw_vec_push(parser->scratch, &parser->row, value);
    return end_value(parser);
}

static int on_number(void *context, const char *text, size_t length)
{
    Parser *parser = context;
    if (parser->ignores_numbers)
        return 1;
    if (parser->list && parser->depth == LIST_DEPTH + 2)
        return on_entry(parser, text, length);
    if (!at_scalar(parser, "usage_limit"))
        return on_scalar(parser);
    if (parser->lists->limited)
        return fail(parser, "given twice");
    parser->lists->limited = true;
    return read_integer(parser, text, length, &parser->lists->usage_limit);
}

static int on_start_map(void *context)
{
    Parser *parser = context;
    const char *expected = expected_here(parser);
    return expected ? fail(parser, expected) : open_level(parser, "");
}

static int on_map_key(void *context, const unsigned char *text, size_t length)
{
    Parser *parser = context;
    parser->level[parser->depth - 1].key = mw_intern_n(parser->keys, (const char *)text, length);
    return 1;
}

static int on_end(Parser *parser)
{
    parser->depth--;
    return end_value(parser);
}

static int on_end_map(void *context)
{
    return on_end(context);
}

static int on_start_array(void *context)
{
    Parser *parser = context;
    MwProblemList list = list_here(parser);
    if (list && parser->lists->present[list])
        return fail(parser, "given twice");
    if (list) {
        parser->list = list;
        parser->lists->present[list] = true;
    } else if (!parser->list || parser->depth != LIST_DEPTH + 1) {
        const char *expected = expected_here(parser);
        if (expected)
            return fail(parser, expected);
    } else if (parser->lists->lists[parser->list].count == LENGTH_LIMIT) {
        return fail(parser, "too long a list");
    }
    parser->row.count = 0;
    parser->yajl_reads_row = false;
    return open_level(parser, NULL);
}

/* Stores the row that has ended. Intervals and nodes of edges go to `scratch`: they are only needed
 * to build the problem, and are hardly ever equal. */
static void keep_row(Parser *parser)
{
    MwProblemRow row = {.count = parser->row.count};
    if (parser->list == MW_LIST_INTERVALS || parser->list == MW_LIST_EDGE_NODES)
        row.at = mw_arena_dup(parser->scratch, parser->row.at, sizeof *row.at * (size_t)row.count);
    else if (row.count > 0)
        row.at = mw_table_intern(parser->rows, 1, &parser->row.count, parser->row.at)->at;
    mw_vec_push(parser->scratch, &parser->lists->lists[parser->list], row);
}

static int on_end_array(void *context)
{
    Parser *parser = context;
    if (parser->list && parser->depth == LIST_DEPTH + 2)
        keep_row(parser);
    if (parser->depth == LIST_DEPTH + 1)
        parser->list = MW_LIST_NONE;
    return on_end(parser);
}

static const yajl_callbacks CALLBACKS = {.yajl_null = on_null,
                                         .yajl_boolean = on_boolean,
                                         .yajl_number = on_number,
                                         .yajl_string = on_string,
                                         .yajl_start_map = on_start_map,
                                         .yajl_map_key = on_map_key,
                                         .yajl_end_map = on_end_map,
                                         .yajl_start_array = on_start_array,
                                         .yajl_end_array = on_end_array};

/* Reports Yajl's message without its newlines, and the byte of the unzipped JSON, counted from
 * 1. */
static void report_syntax(Parser *parser, yajl_handle handle, uint64_t byte)
{
    if (parser->failed)
        return;
    unsigned char *message = yajl_get_error(handle, 0, NULL, 0);
    int length = (int)strcspn((const char *)message, "\n");
    mw_diag_error(parser->diags, mw_span_none(), "%s: byte %llu, in %s: %.*s", parser->path,
                  (unsigned long long)byte, current_path(parser), length, (const char *)message);
    yajl_free_error(handle, message);
}

/* Gives yajl the text from `at` to `end`; `before` bytes of the file precede it. Returns false
 * after an error. */
static bool give_yajl(Parser *parser, yajl_handle handle, const char *at, const char *end,
                      uint64_t before)
{
    if (yajl_parse(handle, (const unsigned char *)at, (size_t)(end - at)) == yajl_status_ok)
        return true;
    report_syntax(parser, handle, before + yajl_get_bytes_consumed(handle));
    return false;
}

/* Puts yajl into the state that the scan has reached within the row. */
static void resume_in_yajl(Parser *parser, yajl_handle handle, bool value_next)
{
    parser->yajl_reads_row = parser->ignores_numbers = true;
    if (!value_next)
        yajl_parse(handle, (const unsigned char *)"0 ", 2);
    else if (parser->row.count > 0)
        yajl_parse(handle, (const unsigned char *)"0,", 2);
    parser->ignores_numbers = false;
}

static bool scans_row(const Parser *parser)
{
    return parser->list && parser->depth == LIST_DEPTH + 2 && !parser->yajl_reads_row;
}

/* The file being read. */
typedef struct {
    gzFile file;
    yajl_handle handle;
    char *chunk;     /* [CHUNK_BYTES] */
    char *at, *end;  /* the part of the chunk that is not yet read */
    uint64_t before; /* bytes of the file before `at` */
    bool at_end;     /* the file has nothing after `end` */
    bool value_next; /* in a scanned row: a value is expected next */
} Stream;

/* Scans the row as far as its integers are plain. Returns false if more of the file is needed
 * first. */
static bool scan_row(Parser *parser, Stream *stream)
{
    MwScanStop why;
    const char *at = mw_scan_integers(parser->scratch, &parser->row, LENGTH_LIMIT,
                                      &stream->value_next, stream->at, stream->end, &why);
    stream->before += (uint64_t)(at - stream->at);
    stream->at += at - stream->at;
    parser->level[parser->depth - 1].index = parser->row.count;
    if (why == MW_SCAN_MORE && !stream->at_end)
        return false;
    if (why != MW_SCAN_END)
        resume_in_yajl(parser, stream->handle, stream->value_next);
    return true;
}

/* Reads the chunk as far as possible. Returns false after an error. */
static bool read_chunk(Parser *parser, Stream *stream)
{
    while (stream->at < stream->end) {
        if (scans_row(parser) && !scan_row(parser, stream))
            return true;
        /* A row may begin after any bracket. */
        char *bracket = memchr(stream->at, '[', (size_t)(stream->end - stream->at));
        char *next = bracket ? bracket + 1 : stream->end;
        if (!give_yajl(parser, stream->handle, stream->at, next, stream->before))
            return false;
        stream->before += (uint64_t)(next - stream->at);
        stream->at = next;
        stream->value_next = true;
    }
    return true;
}

/* Reports a read error. Zlib puts the path before its messages. Always returns false. */
static bool cannot_read(const Parser *parser, const Stream *stream)
{
    int code;
    const char *message = gzerror(stream->file, &code);
    size_t length = strlen(parser->path);
    if (!strncmp(message, parser->path, length) && !strncmp(message + length, ": ", 2))
        message += length + 2;
    mw_diag_error(parser->diags, mw_span_none(), "%s: cannot read after byte %llu: %s",
                  parser->path, (unsigned long long)stream->before + (stream->end - stream->at),
                  code == Z_ERRNO ? strerror(errno) : message);
    return false;
}

/* Moves what is left to the front of the chunk and fills the chunk up. Returns false after an
 * error. */
static bool fill_chunk(Parser *parser, Stream *stream)
{
    size_t left = (size_t)(stream->end - stream->at);
    memmove(stream->chunk, stream->at, left);
    stream->at = stream->chunk;
    int got = gzread(stream->file, stream->chunk + left, (unsigned)(CHUNK_BYTES - left)), code;
    stream->end = stream->chunk + left + mw_max(got, 0);
    stream->at_end = got == 0;
    gzerror(stream->file, &code);
    return (got >= 0 && code != Z_BUF_ERROR) || cannot_read(parser, stream);
}

/* Returns false after an error. */
static bool read_all(Parser *parser, Stream *stream)
{
    stream->at = stream->end = stream->chunk = mw_arena_alloc(parser->scratch, CHUNK_BYTES);
    while (!stream->at_end)
        if (!fill_chunk(parser, stream) || !read_chunk(parser, stream))
            return false;
    if (yajl_complete_parse(stream->handle) == yajl_status_ok)
        return true;
    report_syntax(parser, stream->handle, stream->before);
    return false;
}

MwProblemLists *mw_problem_parse(MwArena *arena, MwArena *scratch, const char *path, MwDiags *diags)
{
    gzFile file = gzopen(path, "rb");
    if (!file) {
        mw_diag_error(diags, mw_span_none(), "%s: cannot open: %s", path, strerror(errno));
        return NULL;
    }
    gzbuffer(file, ZLIB_BYTES);
    Parser parser = {.arena = arena,
                     .scratch = scratch,
                     .rows = mw_tables_new_with_contents(scratch, arena),
                     .keys = mw_interner_new(scratch),
                     .lists = MW_NEW(scratch, MwProblemLists, 1),
                     .path = path,
                     .diags = diags};
    parser.lists->usage_limit = MW_USAGE_UNLIMITED;
    Stream stream = {.file = file, .handle = yajl_alloc(&CALLBACKS, NULL, &parser)};
    bool good = read_all(&parser, &stream);
    yajl_free(stream.handle);
    gzclose(file);
    return good ? parser.lists : NULL;
}
