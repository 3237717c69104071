/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/export/files.h"

#include "base/file.h"
#include "base/new_file.h"
#include "runtime/data/json.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

static const char index_name[] = "model.safetensors.index.json";

/* Tensors [first, first + count) of the list, which one file has. */
typedef struct {
    int first, count;
    const char *name;
} File;

typedef MW_VEC(File) Files;

typedef struct {
    const char *folder;
    MwArena *arena;
    MwStore *weights;
    MwExportTensors *tensors;
    Files files;
    MwFault *fault;
} Writer;

static bool cannot(const Writer *writer, const char *path)
{
    return mw_fault_set(writer->fault, "cannot write %s: %s", path, strerror(errno));
}

static void divide(Writer *writer, int64_t most_bytes)
{
    int64_t bytes = 0;
    for (int i = 0; i < writer->tensors->count; i++) {
        const int64_t more = mw_safetensor_bytes(&writer->tensors->at[i].tensor);
        if (i == 0 || bytes + more > most_bytes) {
            mw_vec_push(writer->arena, &writer->files, ((File){.first = i}));
            bytes = 0;
        }
        mw_vec_last(&writer->files).count++;
        bytes += more;
    }
    const int files = writer->files.count;
    for (int i = 0; i < files; i++)
        writer->files.at[i].name =
            files == 1
                ? "model.safetensors"
                : mw_arena_printf(writer->arena, "model-%05d-of-%05d.safetensors", i + 1, files);
}

/* Whether writing leaves or replaces a file of the folder without harm: files of other weights
 * would be read instead of those that are written, and a checkpoint's no longer fit its manifest.
 */
static bool is_harmless(const Writer *writer, const char *name)
{
    if (strcmp(name, index_name) == 0)
        return writer->files.count > 1;
    for (int i = 0; i < writer->files.count; i++)
        if (strcmp(writer->files.at[i].name, name) == 0)
            return true;
    return !mw_text_ends_in(name, ".safetensors") && strcmp(name, "manifest") != 0;
}

static bool check_folder(const Writer *writer)
{
    DIR *folder = opendir(writer->folder);
    if (!folder)
        return cannot(writer, writer->folder);
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(folder));)
        if (!is_harmless(writer, entry->d_name))
            good = mw_fault_set(writer->fault, "%s has %.100s, of other weights", writer->folder,
                                entry->d_name);
    closedir(folder);
    return good;
}

/* ---- Elements ---- */

/* The element type in memory whose elements a file of the type has; false: there is none. */
static bool memory_type(MwFileType file, MwType *type)
{
    for (int t = 0; t < MW_TYPE_COUNT; t++) {
        *type = (MwType)t;
        if (mw_file_type_equal(mw_file_type_of(*type), file))
            return true;
    }
    return false;
}

/* Puts the weight's elements to their places in the tensor. Of the weight those from the first to
 * the last that the view covers are read. */
static bool copy_part(Writer *writer, const MwExportPart *part, MwType type, char *tensor)
{
    const MwStoredView *view = &part->view;
    const int64_t bytes = mw_type_bytes(type);
    int64_t first = 0, last = 0;
    for (int a = 0; a < view->axes; a++) {
        first = first * view->size[a] + view->begin[a];
        last = last * view->size[a] + view->end[a] - 1;
    }
    MwArena *arena = mw_arena_new();
    char *weight = mw_arena_alloc(arena, (size_t)((last - first + 1) * bytes));
    const bool good = mw_store_read(writer->weights, part->weight, first, last - first + 1, type,
                                    weight, writer->fault);
    for (int64_t at = first; good && at <= last;) {
        const MwStoredRun run = mw_stored_view_run(view, at, last - at + 1);
        for (int64_t i = 0; run.is_covered && i < run.run; i++)
            memcpy(tensor + (run.at + i * run.step) * bytes, weight + (at - first + i) * bytes,
                   (size_t)bytes);
        at += run.run;
    }
    mw_arena_free(&arena);
    return good;
}

static bool write_tensor(Writer *writer, const MwExportTensor *tensor, int fd, const char *path)
{
    MwType type;
    if (!memory_type(tensor->tensor.type, &type))
        return mw_fault_set(writer->fault, "%s has a type that is not written",
                            tensor->tensor.name);
    MwArena *arena = mw_arena_new();
    const int64_t bytes = mw_safetensor_bytes(&tensor->tensor);
    char *data = mw_arena_alloc(arena, (size_t)bytes);
    bool good = true;
    for (int i = 0; good && i < tensor->parts.count; i++)
        good = copy_part(writer, &tensor->parts.at[i], type, data);
    if (good && !mw_file_write_bytes(fd, data, (size_t)bytes))
        good = cannot(writer, path);
    mw_arena_free(&arena);
    return good;
}

/* ---- Files ---- */

static bool write_file(Writer *writer, const File *file)
{
    const char *path = mw_arena_printf(writer->arena, "%s/%s", writer->folder, file->name);
    MwSafetensor *list = MW_NEW(writer->arena, MwSafetensor, file->count);
    MwNewFile new_file;
    for (int i = 0; i < file->count; i++)
        list[i] = writer->tensors->at[file->first + i].tensor;
    const MwSafetensorsHeader header = mw_safetensors_header(writer->arena, list, file->count);
    if (!mw_new_file_open(&new_file, path))
        return cannot(writer, path);
    bool good = mw_file_write_bytes(new_file.fd, header.text, header.bytes) || cannot(writer, path);
    for (int i = 0; good && i < file->count; i++)
        good = write_tensor(writer, &writer->tensors->at[file->first + i], new_file.fd, path);
    if (!good)
        mw_new_file_drop(&new_file);
    return good && (mw_new_file_keep(&new_file, 0644) || cannot(writer, path));
}

static bool write_index(Writer *writer)
{
    const char *path = mw_arena_printf(writer->arena, "%s/%s", writer->folder, index_name);
    MwText text = {.arena = writer->arena};
    int64_t bytes = 0;
    for (int i = 0; i < writer->tensors->count; i++)
        bytes += mw_safetensor_bytes(&writer->tensors->at[i].tensor);
    mw_safetensors_index_begin(&text, bytes);
    for (int f = 0; f < writer->files.count; f++) {
        const File *file = &writer->files.at[f];
        for (int i = file->first; i < file->first + file->count; i++)
            mw_safetensors_index_add(&text, writer->tensors->at[i].tensor.name, file->name);
    }
    mw_safetensors_index_end(&text);
    return mw_file_write(path, text.at, text.bytes, 0644) || cannot(writer, path);
}

bool mw_export_write(const char *folder, MwStore *weights, MwExportTensors *tensors,
                     int64_t most_bytes, MwFault *fault)
{
    Writer writer = {.folder = folder,
                     .arena = mw_arena_new(),
                     .weights = weights,
                     .tensors = tensors,
                     .fault = fault};
    divide(&writer, most_bytes);
    bool good = check_folder(&writer);
    for (int i = 0; good && i < writer.files.count; i++)
        good = write_file(&writer, &writer.files.at[i]);
    good = good && (writer.files.count < 2 || write_index(&writer));
    mw_arena_free(&writer.arena);
    return good;
}
