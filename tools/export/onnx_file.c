/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/export/onnx_file.h"

#include "base/file.h"
#include "base/new_file.h"
#include "runtime/weights/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* TensorProto.DataLocation */
enum { LOCATION_EXTERNAL = 1 };
static const int64_t MOST_INSIDE_BYTES = 1000000000; /* of weights in the message */

typedef struct {
    MwArena *arena;
    const MwOnnxExport *export;
    const MwWeightFiles *files;
    MwStoredViews *views; /* [initials] */
    MwFault *fault;
} Writer;

/* ---- Reading weights ---- */

/* Finds what each weight is read from, before anything is written. */
static bool find_weights(Writer *w)
{
    MwSomeNames lacking = {.text = {.arena = w->arena}};
    w->views = MW_NEW(w->arena, MwStoredViews, w->export->initials.count);
    for (int i = 0; i < w->export->initials.count; i++) {
        const MwOnnxInitial *initial = &w->export->initials.at[i];
        if (!mw_weight_files_find(w->files, w->arena, initial->name, &initial->whole, &w->views[i],
                                  w->fault))
            return false;
        if (!w->views[i].count)
            mw_some_names_add(&lacking, initial->name);
    }
    return !lacking.count ||
           mw_fault_set(w->fault,
                        "the files of weights lack %s (--weights says which files to read, and "
                        "--map gives other names)",
                        mw_some_names_text(&lacking));
}

/* Copies elements with the dimensions of the file as `perm` says. */
static void permute(const MwOnnxInitial *initial, const char *from, char *to)
{
    const MwTensor *whole = &initial->whole;
    const size_t bytes = (size_t)mw_type_bytes(whole->type);
    int64_t stride[MW_MAX_RANK], at[MW_MAX_RANK] = {0}, next = 1;
    for (int d = whole->rank - 1; d >= 0; next *= whole->dim[d], d--)
        stride[d] = next;
    for (int64_t i = 0; i < mw_tensor_elements(whole); i++) {
        int64_t place = 0;
        for (int d = 0; d < whole->rank; d++)
            place += at[d] * stride[initial->perm[d]];
        memcpy(to + (size_t)i * bytes, from + (size_t)place * bytes, bytes);
        for (int d = whole->rank - 1; d >= 0 && ++at[d] == whole->dim[initial->perm[d]]; d--)
            at[d] = 0;
    }
}

static bool is_permuted(const MwOnnxInitial *initial)
{
    bool is = false;
    for (int d = 0; d < initial->whole.rank; d++)
        is |= initial->perm[d] != d;
    return is;
}

/* The elements of a weight, in `arena`; NULL after a fault. */
static char *read_weight(const Writer *w, MwArena *arena, int i)
{
    const MwOnnxInitial *initial = &w->export->initials.at[i];
    const size_t bytes = (size_t)mw_tensor_bytes(&initial->whole);
    MwBox box = {.global = initial->whole};
    memcpy(box.size, initial->whole.dim, sizeof box.size);
    char *data = mw_arena_alloc(arena, bytes);
    for (int k = 0; k < w->views[i].count; k++)
        if (!mw_stored_view_read(&w->views[i].at[k], w->files->store, &box, data, w->fault))
            return NULL;
    if (!is_permuted(initial))
        return data;
    char *permuted = mw_arena_alloc(arena, bytes);
    permute(initial, data, permuted);
    return permuted;
}

/* ---- Writing ---- */

static bool read_inside(Writer *w)
{
    for (int i = 0; i < w->export->initials.count; i++) {
        const MwOnnxInitial *initial = &w->export->initials.at[i];
        char *data = read_weight(w, w->arena, i);
        if (!data)
            return false;
        initial->tensor->has_raw_data = true;
        initial->tensor->raw_data =
            (ProtobufCBinaryData){(size_t)mw_tensor_bytes(&initial->whole), (uint8_t *)data};
    }
    return true;
}

static MwOnnx__StringEntry *entry(MwArena *arena, const char *key, const char *value)
{
    MwOnnx__StringEntry *made = MW_NEW(arena, MwOnnx__StringEntry, 1);
    mw_onnx__string_entry__init(made);
    made->key = (char *)key;
    made->value = (char *)value;
    return made;
}

/* Says in the message where in the file `name` the elements are. */
static void place_outside(Writer *w, const char *name)
{
    int64_t offset = 0;
    for (int i = 0; i < w->export->initials.count; i++) {
        const MwOnnxInitial *initial = &w->export->initials.at[i];
        const int64_t bytes = mw_tensor_bytes(&initial->whole);
        MwOnnx__StringEntry *const entries[] = {
            entry(w->arena, "location", name),
            entry(w->arena, "offset", mw_arena_printf(w->arena, "%" PRId64, offset)),
            entry(w->arena, "length", mw_arena_printf(w->arena, "%" PRId64, bytes))};
        initial->tensor->has_data_location = true;
        initial->tensor->data_location = LOCATION_EXTERNAL;
        initial->tensor->n_external_data = MW_COUNT(entries);
        initial->tensor->external_data = mw_arena_dup(w->arena, entries, sizeof entries);
        offset += bytes;
    }
}

/* Writes the elements of all weights, one at a time in memory. */
static bool write_outside(const Writer *w, int fd, const char *path)
{
    for (int i = 0; i < w->export->initials.count; i++) {
        MwArena *arena = mw_arena_new();
        const char *data = read_weight(w, arena, i);
        const size_t bytes = (size_t)mw_tensor_bytes(&w->export->initials.at[i].whole);
        const bool written = data && mw_file_write_bytes(fd, data, bytes);
        const int error = errno;
        mw_arena_free(&arena);
        if (!written)
            return data && mw_fault_set(w->fault, "cannot write %s: %s", path, strerror(error));
    }
    return true;
}

/* The bytes of a message go to its file as they are packed. */
typedef struct {
    ProtobufCBuffer base;
    FILE *file;
} FileBuffer;

static void append(ProtobufCBuffer *base, size_t bytes, const uint8_t *data)
{
    fwrite(data, 1, bytes, ((FileBuffer *)base)->file);
}

static bool write_message(const Writer *w, int fd, const char *path)
{
    FileBuffer buffer = {.base = {append}, .file = fdopen(dup(fd), "wb")};
    if (!buffer.file)
        return mw_fault_set(w->fault, "cannot write %s: %s", path, strerror(errno));
    mw_onnx__model_proto__pack_to_buffer(w->export->model, &buffer.base);
    const bool failed = ferror(buffer.file);
    return (fclose(buffer.file) == 0 && !failed) ||
           mw_fault_set(w->fault, "cannot write %s: %s", path, strerror(errno));
}

/* A file that is written by `fill`. */
typedef struct {
    const char *path;
    bool (*fill)(const Writer *w, int fd, const char *path);
    MwNewFile file;
} Part;

static bool cannot_write(const Writer *w, const Part *part)
{
    return mw_fault_set(w->fault, "cannot write %s: %s", part->path, strerror(errno));
}

static bool begin_part(const Writer *w, Part *part)
{
    if (!mw_new_file_open(&part->file, part->path))
        return cannot_write(w, part);
    if (part->fill(w, part->file.fd, part->path))
        return true;
    mw_new_file_drop(&part->file);
    return false;
}

/* Writes all files before it keeps one, so that those that were there stay if one fails. */
static bool write_parts(const Writer *w, Part *parts, int count)
{
    int begun = 0, kept = 0;
    while (begun < count && begin_part(w, &parts[begun]))
        begun++;
    bool good = begun == count;
    for (; good && kept < count; kept++)
        if (!mw_new_file_keep(&parts[kept].file, 0644))
            good = cannot_write(w, &parts[kept]);
    for (int i = kept; i < begun; i++)
        mw_new_file_drop(&parts[i].file);
    return good;
}

const char *mw_onnx_file_outside(MwArena *arena, const char *path)
{
    return mw_arena_printf(arena, "%s.data", path);
}

bool mw_onnx_file_write(MwArena *arena, const char *path, const MwOnnxExport *export,
                        const MwWeightFiles *files, MwFault *fault)
{
    Writer w = {.arena = arena, .export = export, .files = files, .fault = fault};
    int64_t bytes = 0;
    if (!find_weights(&w))
        return false;
    for (int i = 0; i < export->initials.count; i++)
        bytes += mw_tensor_bytes(&export->initials.at[i].whole);
    if (bytes <= MOST_INSIDE_BYTES)
        return read_inside(&w) && write_parts(&w, &(Part){path, write_message}, 1);
    const char *outside = mw_onnx_file_outside(arena, path), *slash = strrchr(outside, '/');
    place_outside(&w, slash ? slash + 1 : outside);
    return write_parts(&w, (Part[]){{outside, write_outside}, {path, write_message}}, 2);
}
