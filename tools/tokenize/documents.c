/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/documents.h"

#include "runtime/data/json.h"
#include "tools/tokenize/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* READ_BYTES: of one read, chosen, not measured. A line of JSON is held as a whole. */
enum { READ_BYTES = 1 << 20, MOST_LINE_BYTES = 1 << 28, MOST_DEPTH = 64 };

typedef struct {
    const char *path;
    int descriptor;
    MwDocumentKind kind;
    const char *field;
    MwDocumentSink *sink;
    void *context;
    MwBuffer line;  /* the beginning of a line of JSON */
    int64_t number; /* of the line, from 1 on */
    bool has_text;  /* the document has begun */
} Reader;

/* Reads up to READ_BYTES; 0 at the end, -1 after a fault. */
static ssize_t read_some(const Reader *reader, char *to, MwFault *fault)
{
    for (;;) {
        const ssize_t count = read(reader->descriptor, to, READ_BYTES);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            mw_fault_set(fault, "cannot read %s: %s", reader->path, strerror(errno));
        return count;
    }
}

static bool give(Reader *reader, const char *text, size_t bytes, bool is_end, MwFault *fault)
{
    const bool is_empty = bytes == 0 && !reader->has_text && reader->kind != MW_DOCUMENT_FILE;
    reader->has_text = !is_end && (reader->has_text || bytes);
    if (is_empty || reader->sink(reader->context, text, bytes, is_end, fault))
        return true;
    return reader->kind == MW_DOCUMENT_FILE
               ? mw_fault_prefix(fault, "%s", reader->path)
               : mw_fault_prefix(fault, "%s:%lld", reader->path, (long long)reader->number);
}

static bool give_field(Reader *reader, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    const char *text = mw_buffer_text(&reader->line);
    const size_t bytes = mw_buffer_bytes(&reader->line);
    bool good = true;
    if (bytes && strspn(text, " \t\r") < bytes) {
        MwFault why;
        const MwTreeNode *object = mw_json_tree(arena, "line", text, bytes, MOST_DEPTH, &why);
        const MwTreeNode *value = mw_tree_get(object, reader->field);
        good = value && value->kind == MW_NODE_STRING;
        if (!object)
            mw_fault_set(fault, "%s:%lld: %s", reader->path, (long long)reader->number, why.text);
        else if (!good)
            mw_fault_set(fault, "%s:%lld: there is no text '%s' in it", reader->path,
                         (long long)reader->number, reader->field);
        good = good && give(reader, value->text, value->bytes, true, fault);
    }
    mw_buffer_take(&reader->line, bytes);
    mw_arena_free(&arena);
    return good;
}

/* Takes a part of a line, `is_end`: its last. */
static bool take_line(Reader *reader, const char *text, size_t bytes, bool is_end, MwFault *fault)
{
    if (reader->kind == MW_DOCUMENT_JSON) {
        if (mw_buffer_bytes(&reader->line) + bytes > MOST_LINE_BYTES)
            return mw_fault_set(fault, "%s:%lld: the line has more than %d MiB", reader->path,
                                (long long)reader->number, MOST_LINE_BYTES >> 20);
        mw_buffer_add(&reader->line, text, bytes);
        *mw_buffer_room(&reader->line, 1) = '\0';
        if (is_end && !give_field(reader, fault))
            return false;
    } else if (!give(reader, text, bytes, is_end, fault)) {
        return false;
    }
    reader->number += is_end;
    return true;
}

static bool take(Reader *reader, const char *text, size_t bytes, MwFault *fault)
{
    if (reader->kind == MW_DOCUMENT_FILE)
        return give(reader, text, bytes, false, fault);
    for (size_t at = 0; at < bytes;) {
        const char *feed = memchr(text + at, '\n', bytes - at);
        const size_t end = feed ? (size_t)(feed - text) : bytes;
        if (!take_line(reader, text + at, end - at, feed != NULL, fault))
            return false;
        at = end + 1;
    }
    return true;
}

static bool read_all(Reader *reader, MwFault *fault)
{
    MwBuffer chunk = {0};
    char *text = mw_buffer_room(&chunk, READ_BYTES);
    bool good = true;
    ssize_t count = 1;
    while (good && count > 0) {
        count = read_some(reader, text, fault);
        good = count >= 0 && (count == 0 || take(reader, text, (size_t)count, fault));
    }
    good = good && (reader->kind == MW_DOCUMENT_FILE ? give(reader, "", 0, true, fault)
                                                     : take_line(reader, "", 0, true, fault));
    mw_buffer_free(&chunk);
    mw_buffer_free(&reader->line);
    return good;
}

bool mw_documents(const char *path, MwDocumentKind kind, const char *field, MwDocumentSink *sink,
                  void *context, MwFault *fault)
{
    const bool is_input = strcmp(path, "-") == 0;
    Reader reader = {.path = path,
                     .descriptor = is_input ? 0 : open(path, O_RDONLY | O_CLOEXEC),
                     .kind = kind,
                     .field = field,
                     .sink = sink,
                     .context = context,
                     .number = 1};
    if (reader.descriptor < 0)
        return mw_fault_set(fault, "cannot read %s: %s", path, strerror(errno));
    const bool good = read_all(&reader, fault);
    if (!is_input)
        close(reader.descriptor);
    return good;
}
