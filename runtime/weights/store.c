/* SPDX-License-Identifier: MIT */
#include "runtime/weights/store.h"

#include "base/file.h"
#include "base/vec.h"
#include "runtime/data/json.h"
#include "runtime/data/npy.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_INDEX_DEPTH = 8 };

typedef struct {
    const char *path;
    bool is_npy;  /* of version 1 of checkpoints: one tensor; else a safetensors file */
    bool is_read; /* its header was read: its tensors are known */
} File;

typedef struct {
    const char *name;
    int file;     /* index */
    bool is_read; /* `tensor` is known */
    MwSafetensor tensor;
} Entry;

struct MwStore {
    MwArena *arena;
    MW_VEC(File) files;
    MW_VEC(Entry) entries;
    bool is_sorted; /* entries by name */
    MwFeedFile open;
    int open_index; /* of the file that is open; -1: none is */
};

MwStore *mw_store_new(MwArena *arena)
{
    MwStore *store = MW_NEW(arena, MwStore, 1);
    *store = (MwStore){.arena = arena, .open_index = -1};
    return store;
}

static void close_file(MwStore *store)
{
    if (store->open_index >= 0)
        mw_feed_file_close(&store->open);
    store->open_index = -1;
}

void mw_store_close(MwStore **store)
{
    if (*store)
        close_file(*store);
    *store = NULL;
}

/* ---- Files and their headers ---- */

static bool open_file(MwStore *store, int index, MwFault *fault)
{
    if (store->open_index == index)
        return true;
    close_file(store);
    if (!mw_feed_file_open(&store->open, store->files.at[index].path, fault))
        return false;
    store->open_index = index;
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

static void sort_entries(MwStore *store)
{
    if (!store->is_sorted && store->entries.count)
        qsort(store->entries.at, (size_t)store->entries.count, sizeof *store->entries.at,
              compare_entries);
    store->is_sorted = true;
}

static Entry *find_entry(MwStore *store, const char *name)
{
    const Entry wanted = {.name = name};
    sort_entries(store);
    return store->entries.count ? bsearch(&wanted, store->entries.at, (size_t)store->entries.count,
                                          sizeof *store->entries.at, compare_entries)
                                : NULL;
}

static Entry *add_entry(MwStore *store, const char *name, int file)
{
    Entry *entry = mw_vec_add(store->arena, &store->entries);
    *entry = (Entry){.name = name, .file = file};
    store->is_sorted = false;
    return entry;
}

static int add_file(MwStore *store, const char *path, bool is_npy)
{
    mw_vec_push(store->arena, &store->files,
                ((File){.path = mw_arena_strdup(store->arena, path), .is_npy = is_npy}));
    return store->files.count - 1;
}

/* Reads the header of a safetensors file whose tensors are not known yet, and adds them. */
static bool read_new_file(MwStore *store, int file, MwFault *fault)
{
    MwSafetensor *tensors;
    if (!open_file(store, file, fault))
        return false;
    const int count = mw_safetensors_read(store->arena, &store->open, &tensors, fault);
    for (int i = 0; i < count; i++) {
        Entry *entry = add_entry(store, tensors[i].name, file);
        entry->tensor = tensors[i];
        entry->is_read = true;
    }
    store->files.at[file].is_read = count >= 0;
    return count >= 0 || mw_fault_prefix(fault, "%s", store->files.at[file].path);
}

/* Reads the header of a safetensors file that an index has told of. */
static bool read_indexed_file(MwStore *store, int file, MwFault *fault)
{
    MwArena *arena = mw_arena_new_within(store->arena);
    MwSafetensor *tensors;
    const int count = mw_safetensors_read(arena, &store->open, &tensors, fault);
    for (int i = 0; i < count; i++) {
        Entry *entry = find_entry(store, tensors[i].name);
        if (!entry || entry->file != file)
            continue;
        entry->tensor = tensors[i];
        entry->tensor.name = entry->name;
        entry->is_read = true;
    }
    mw_arena_free(&arena);
    return count >= 0;
}

/* The tensor of an array. A checkpoint has bf16 as the unsigned integers of its bits, and no other
 * integers of that type. */
static bool read_npy(MwStore *store, Entry *entry, MwFault *fault)
{
    char begin[MW_NPY_MOST_HEADER_BYTES] = "";
    MwNpy npy;
    if (!mw_feed_file_read(&store->open, 0, mw_min(store->open.bytes, (int64_t)sizeof begin), begin,
                           fault) ||
        !mw_npy_read(begin, store->open.bytes, &npy, fault))
        return false;
    const bool is_bf16 = mw_file_type_equal(npy.type, (MwFileType){'u', 2});
    entry->tensor = (MwSafetensor){.name = entry->name,
                                   .type = {is_bf16 ? 'B' : npy.type.kind, npy.type.bytes},
                                   .rank = npy.rank,
                                   .offset = npy.offset};
    memcpy(entry->tensor.dim, npy.dim, sizeof npy.dim);
    entry->is_read = true;
    return true;
}

const MwSafetensor *mw_store_tensor(MwStore *store, int index, MwFault *fault)
{
    Entry *entry = &store->entries.at[index];
    File *file = &store->files.at[entry->file];
    if (entry->is_read)
        return &entry->tensor;
    if (!open_file(store, entry->file, fault))
        return NULL;
    const bool good =
        file->is_read || (file->is_npy ? read_npy(store, entry, fault)
                                       : read_indexed_file(store, entry->file, fault));
    if (!good) {
        mw_fault_prefix(fault, "%s", file->path);
        return NULL;
    }
    file->is_read = true;
    if (!entry->is_read)
        mw_fault_set(fault, "%s has no tensor %.100s, which its index says it has", file->path,
                     entry->name);
    return entry->is_read ? &entry->tensor : NULL;
}

/* ---- What a path stands for ---- */

static bool cannot(MwFault *fault, const char *path)
{
    return mw_fault_set(fault, "cannot read %s: %s", path, strerror(errno));
}

static const char safetensors_end[] = ".safetensors", index_end[] = ".safetensors.index.json";

/* The file of an index that is named `name`, among those from `first` on; added if it is new. */
static int indexed_file(MwStore *store, int first, const char *folder, const char *name)
{
    const char *path = mw_path_beside(store->arena, folder, name);
    for (int i = store->files.count - 1; i >= first; i--)
        if (strcmp(store->files.at[i].path, path) == 0)
            return i;
    return add_file(store, path, false);
}

/* Adds what the "weight_map" of an index says: from names of tensors to names of files. */
static bool add_map(MwStore *store, const char *path, const MwTreeNode *map, MwFault *fault)
{
    const int first = store->files.count;
    if (!map || map->kind != MW_NODE_OBJECT)
        return mw_fault_set(fault, "%s: it has no object \"weight_map\"", path);
    for (const MwTreeNode *file = map->first; file; file = file->next) {
        if (file->kind != MW_NODE_STRING || strchr(file->text, '/'))
            return mw_fault_set(fault, "%s: the file of %.100s is no name of a file beside it",
                                path, file->key);
        add_entry(store, mw_arena_strdup(store->arena, file->key),
                  indexed_file(store, first, path, file->text));
    }
    return true;
}

static bool add_index(MwStore *store, const char *path, MwFault *fault)
{
    MwArena *arena = mw_arena_new_within(store->arena);
    size_t bytes;
    const char *text = mw_file_read(arena, path, &bytes);
    const MwTreeNode *index =
        text ? mw_json_tree(arena, path, text, bytes, MOST_INDEX_DEPTH, fault) : NULL;
    const bool good = index && add_map(store, path, mw_tree_get(index, "weight_map"), fault);
    if (!text)
        cannot(fault, path);
    mw_arena_free(&arena);
    return good;
}

static bool add_file_or_index(MwStore *store, const char *path, MwFault *fault)
{
    if (mw_text_ends_in(path, index_end))
        return add_index(store, path, fault);
    if (!mw_text_ends_in(path, safetensors_end))
        return mw_fault_set(fault,
                            "%s: weights are in .safetensors files, indices of them "
                            "(.safetensors.index.json), and folders with these or with checkpoints",
                            path);
    return read_new_file(store, add_file(store, path, false), fault);
}

bool mw_store_add_checkpoint(MwStore *store, const MwCheckpoint *checkpoint, MwFault *fault)
{
    MwCheckpoint again = *checkpoint;
    MwCheckpointFile *files;
    const int count = mw_checkpoint_read_manifest(store->arena, &again, &files, fault);
    bool good = count >= 0;
    for (int i = 0; good && i < count; i++) {
        const char *path =
            mw_arena_printf(store->arena, "%s/%s", checkpoint->folder, files[i].name);
        const char *tensor = mw_checkpoint_tensor_name(store->arena, files[i].name);
        if (tensor)
            add_entry(store, tensor, add_file(store, path, true));
        else if (mw_text_ends_in(path, index_end) || !strstr(files[i].name, "-of-"))
            good = add_file_or_index(store, path, fault);
    }
    return good;
}

static int is_safetensors(const struct dirent *entry)
{
    return mw_text_ends_in(entry->d_name, safetensors_end);
}

/* Adds all .safetensors files of a folder. */
static bool add_all_files(MwStore *store, const char *folder, MwFault *fault)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_safetensors, alphasort);
    bool good = count > 0;
    if (count <= 0)
        mw_fault_set(fault, "%s holds no checkpoint and no .safetensors file", folder);
    for (int i = 0; i < count; i++) {
        good = good &&
               add_file_or_index(store,
                                 mw_arena_printf(store->arena, "%s/%s", folder, entries[i]->d_name),
                                 fault);
        free(entries[i]);
    }
    free(entries);
    return good;
}

static bool add_folder(MwStore *store, const char *folder, MwFault *fault)
{
    const char *index = mw_arena_printf(store->arena, "%s/model%s", folder, index_end);
    const char *manifest = mw_arena_printf(store->arena, "%s/manifest", folder);
    MwCheckpoint checkpoint = {0};
    if (strlen(folder) >= sizeof checkpoint.folder)
        return mw_fault_set(fault, "the path %.60s... is too long", folder);
    strcpy(checkpoint.folder, folder);
    if (access(manifest, F_OK) == 0)
        return mw_store_add_checkpoint(store, &checkpoint, fault);
    if (mw_checkpoint_newest(folder) >= 0)
        return mw_checkpoint_find(folder, &checkpoint, fault) &&
               mw_store_add_checkpoint(store, &checkpoint, fault);
    return access(index, F_OK) == 0 ? add_index(store, index, fault)
                                    : add_all_files(store, folder, fault);
}

bool mw_store_add(MwStore *store, const char *path, MwFault *fault)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return cannot(fault, path);
    if (S_ISDIR(info.st_mode) ? !add_folder(store, path, fault)
                              : !add_file_or_index(store, path, fault))
        return false;
    sort_entries(store);
    for (int i = 1; i < store->entries.count; i++) {
        const Entry *one = &store->entries.at[i - 1], *other = &store->entries.at[i];
        if (strcmp(one->name, other->name) == 0)
            return mw_fault_set(fault, "the tensor %.100s is in %s and in %s", one->name,
                                store->files.at[one->file].path, store->files.at[other->file].path);
    }
    return true;
}

/* ---- Names and elements ---- */

int mw_store_count(MwStore *store)
{
    sort_entries(store);
    return store->entries.count;
}

const char *mw_store_name(MwStore *store, int index)
{
    return store->entries.at[index].name;
}

int mw_store_find(MwStore *store, const char *name)
{
    const Entry *entry = find_entry(store, name);
    return entry ? (int)(entry - store->entries.at) : -1;
}

bool mw_store_read(MwStore *store, int index, int64_t first, int64_t count, MwType type, void *to,
                   MwFault *fault)
{
    enum { CHUNK_BYTES = 1 << 16 };
    char chunk[CHUNK_BYTES];
    const MwSafetensor *tensor = mw_store_tensor(store, index, fault);
    if (!tensor || !open_file(store, store->entries.at[index].file, fault))
        return false;
    const int64_t bytes = tensor->type.bytes, offset = tensor->offset + first * bytes;
    if (mw_file_type_equal(tensor->type, mw_file_type_of(type)) && type != MW_BOOL)
        return mw_feed_file_read(&store->open, offset, count * bytes, to, fault);
    for (int64_t at = 0; at < count; at += CHUNK_BYTES / bytes) {
        const int64_t part = mw_min(count - at, CHUNK_BYTES / bytes);
        if (!mw_feed_file_read(&store->open, offset + at * bytes, part * bytes, chunk, fault))
            return false;
        if (!mw_file_type_convert(tensor->type, chunk, part, type,
                                  (char *)to + at * mw_type_bytes(type), fault))
            return mw_fault_prefix(fault, "%s: tensor %.100s", store->open.path, tensor->name);
    }
    return true;
}
