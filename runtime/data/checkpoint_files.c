/* SPDX-License-Identifier: MIT */
#include "runtime/data/checkpoint_files.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "runtime/data/npy.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Number of checkpoints that are kept: the newest, and one in case that it turns out to be
 * damaged. */
enum { KEPT = 2 };
enum { PATH_BYTES = MW_CHECKPOINT_PATH_BYTES + MW_CHECKPOINT_FILE_BYTES };

/* Letters, digits, '_', '-' and '.' stay, except a '.' at the beginning; any other byte becomes
 * %XX. */
const char *mw_checkpoint_file_name(const char *name, char file[MW_CHECKPOINT_FILE_BYTES])
{
    int at = 0;
    for (const char *c = name; *c && at < MW_CHECKPOINT_FILE_BYTES - 8; c++) {
        bool plain =
            isalnum((unsigned char)*c) || *c == '_' || *c == '-' || (*c == '.' && c != name);
        at += snprintf(file + at, 4, plain ? "%c" : "%%%02X", (unsigned char)*c);
    }
    snprintf(file + at, (size_t)(MW_CHECKPOINT_FILE_BYTES - at), ".npy");
    return file;
}

static void file_path(const MwCheckpoint *checkpoint, const char *name, char path[PATH_BYTES])
{
    char file[MW_CHECKPOINT_FILE_BYTES];
    snprintf(path, PATH_BYTES, "%s/%s", checkpoint->folder, mw_checkpoint_file_name(name, file));
}

static bool cannot(MwFault *fault, const char *what, const char *path)
{
    return mw_fault_set(fault, "cannot %s %s: %s", what, path, strerror(errno));
}

/* ---- Folders ---- */

/* Prefixes of folders: of a checkpoint that is being written, and of one that is being replaced. */
static const char unfinished[] = ".new-", set_aside[] = ".old-";

/* Removes the manifest first: if the process is killed meanwhile, the rest is not taken for a
 * checkpoint. */
static void remove_folder(const char *path)
{
    char file[PATH_BYTES + 2 * (NAME_MAX + 1)];
    snprintf(file, sizeof file, "%s/manifest", path);
    unlink(file);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unlink(file);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

/* The step of a folder named "step-00000020"; -1: the name is another one. */
static int64_t step_of(const char *name)
{
    char *end;
    if (strncmp(name, "step-", 5) != 0 || !isdigit((unsigned char)name[5]))
        return -1;
    int64_t step = strtoll(name + 5, &end, 10);
    return *end ? -1 : step;
}

/* The greatest step below `below` that `dir` has a folder for; -1: none. */
static int64_t newest_step(const char *dir, int64_t below)
{
    int64_t newest = -1;
    DIR *folder = opendir(dir);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int64_t step = step_of(entry->d_name);
        if (step < below && step > newest)
            newest = step;
    }
    if (folder)
        closedir(folder);
    return newest;
}

int64_t mw_checkpoint_newest(const char *dir)
{
    return newest_step(dir, INT64_MAX);
}

static void folder_path(const char *dir, int64_t step, char path[MW_CHECKPOINT_PATH_BYTES])
{
    snprintf(path, MW_CHECKPOINT_PATH_BYTES, "%s/step-%08lld", dir, (long long)step);
}

bool mw_checkpoint_begin(const char *dir, int64_t step, uint64_t seed, MwCheckpoint *checkpoint,
                         MwFault *fault)
{
    *checkpoint = (MwCheckpoint){.step = step, .seed = seed};
    snprintf(checkpoint->folder, sizeof checkpoint->folder, "%s/%sXXXXXX", dir, unfinished);
    return mkdtemp(checkpoint->folder) != NULL || cannot(fault, "write to", dir);
}

void mw_checkpoint_drop(const MwCheckpoint *checkpoint)
{
    remove_folder(checkpoint->folder);
}

static bool sync_folder(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = folder >= 0 && fsync(folder) == 0;
    if (folder >= 0)
        close(folder);
    return good;
}

/* Replaces folder `to` by folder `from`: atomically if the file system can exchange two names.
 * Otherwise there is a moment in which neither has its name; recover() restores it if the process
 * is killed then. */
static bool replace_folder(const char *dir, const char *from, const char *to)
{
    char aside[MW_CHECKPOINT_PATH_BYTES];
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) {
        bool good = sync_folder(dir);
        remove_folder(from);
        return good;
    }
    snprintf(aside, sizeof aside, "%s/%sXXXXXX", dir, set_aside);
    if (!mkdtemp(aside))
        return false;
    if (rename(to, aside) != 0 || rename(from, to) != 0) {
        int saved = errno;
        if (rename(aside, to) != 0)
            rmdir(aside);
        errno = saved;
        return false;
    }
    bool good = sync_folder(dir);
    remove_folder(aside);
    return good;
}

/* Gives the checkpoint its name; replaces an older one of the same step. */
static bool put_in_place(const char *dir, MwCheckpoint *checkpoint)
{
    char path[MW_CHECKPOINT_PATH_BYTES];
    folder_path(dir, checkpoint->step, path);
    bool good = rename(checkpoint->folder, path) == 0 ? sync_folder(dir)
                : errno == ENOTEMPTY || errno == EEXIST
                    ? replace_folder(dir, checkpoint->folder, path)
                    : false;
    if (good)
        strcpy(checkpoint->folder, path);
    return good;
}

static void remove_old(const char *dir, int64_t newest)
{
    int64_t step = newest;
    for (int kept = 1; step >= 0; kept++) {
        char path[MW_CHECKPOINT_PATH_BYTES];
        folder_path(dir, step, path);
        if (kept > KEPT)
            remove_folder(path);
        step = newest_step(dir, step);
    }
}

/* ---- The manifest ---- */

static const char manifest_format[] = "meshwright checkpoint 1\nmodel %s\nstep %lld\nseed %llu\n";
static const char file_format[] = "file %016llx %s\n"; /* hash of all its bytes, name */

/* Lists the files in a folder, sorted by name; returns their number, or -1 after an error. */
static int list_files(const char *path, struct dirent ***entries)
{
    int count = scandir(path, entries, NULL, alphasort), kept = 0;
    for (int i = 0; i < count; i++) {
        if ((*entries)[i]->d_name[0] == '.')
            free((*entries)[i]);
        else
            (*entries)[kept++] = (*entries)[i];
    }
    return count < 0 ? -1 : kept;
}

/* Adds the line of a file. */
static bool add_file(MwText *manifest, const MwCheckpoint *checkpoint, const char *name)
{
    char path[PATH_BYTES + NAME_MAX];
    MwArena *arena = mw_arena_new();
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s", checkpoint->folder, name);
    const char *data = mw_file_read(arena, path, &bytes);
    if (data)
        mw_text_printf(manifest, file_format, (unsigned long long)mw_hash_bytes(data, bytes), name);
    mw_arena_free(&arena);
    return data != NULL;
}

static bool add_files(MwText *manifest, const MwCheckpoint *checkpoint)
{
    struct dirent **entries = NULL;
    int count = list_files(checkpoint->folder, &entries);
    bool good = count >= 0;
    for (int i = 0; i < count; i++) {
        good = good && add_file(manifest, checkpoint, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return good;
}

static bool write_manifest(const MwCheckpoint *checkpoint, const char *model)
{
    MwArena *arena = mw_arena_new();
    MwText text = {.arena = arena};
    char path[PATH_BYTES];
    mw_text_printf(&text, manifest_format, model, (long long)checkpoint->step,
                   (unsigned long long)checkpoint->seed);
    bool good = add_files(&text, checkpoint);
    mw_text_add(&text, "checksum ");
    mw_text_printf(&text, "%016llx\n", (unsigned long long)mw_hash_bytes(text.at, text.bytes));
    snprintf(path, sizeof path, "%s/manifest", checkpoint->folder);
    good =
        good && mw_file_write(path, text.at, text.bytes, 0644) && sync_folder(checkpoint->folder);
    mw_arena_free(&arena);
    return good;
}

bool mw_checkpoint_commit(const char *dir, const char *model, MwCheckpoint *checkpoint,
                          MwFault *fault)
{
    if (chmod(checkpoint->folder, 0755) != 0 || !write_manifest(checkpoint, model) ||
        !put_in_place(dir, checkpoint))
        return cannot(fault, "complete", checkpoint->folder);
    remove_old(dir, checkpoint->step);
    return true;
}

static bool parse_manifest(const char *text, size_t bytes, MwCheckpoint *checkpoint, MwFault *fault)
{
    const char *sum = strstr(text, "\nchecksum ");
    unsigned long long seed;
    long long step;
    if (!sum || sscanf(text, "meshwright checkpoint 1\nmodel %255s\nstep %lld\nseed %llu\n",
                       checkpoint->model, &step, &seed) != 3)
        return mw_fault_set(fault, "it is no manifest of version 1");
    sum += strlen("\nchecksum ");
    char expected[32];
    snprintf(expected, sizeof expected, "%016llx\n",
             (unsigned long long)mw_hash_bytes(text, (size_t)(sum - text)));
    if (strcmp(sum, expected) != 0 || strlen(text) != bytes)
        return mw_fault_set(fault, "it is damaged: its checksum does not match");
    checkpoint->step = step;
    checkpoint->seed = seed;
    return true;
}

const char *mw_checkpoint_manifest(MwArena *arena, MwCheckpoint *checkpoint, MwFault *fault)
{
    char path[PATH_BYTES];
    size_t bytes;
    snprintf(path, sizeof path, "%s/manifest", checkpoint->folder);
    const char *text = mw_file_read(arena, path, &bytes);
    bool good =
        text ? parse_manifest(text, bytes, checkpoint, fault) || mw_fault_prefix(fault, "%s", path)
             : cannot(fault, "read", path);
    return good ? text : NULL;
}

static bool read_manifest(MwCheckpoint *checkpoint, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    bool good = mw_checkpoint_manifest(arena, checkpoint, fault) != NULL;
    mw_arena_free(&arena);
    return good;
}

/* ---- What killed runs left ---- */

/* Gives a complete checkpoint its name, unless there is one of the same step. */
static void recover_folder(const char *dir, const char *path)
{
    MwCheckpoint checkpoint = {0};
    char place[MW_CHECKPOINT_PATH_BYTES];
    MwFault ignored;
    if (strlen(path) >= sizeof checkpoint.folder)
        return;
    strcpy(checkpoint.folder, path);
    if (!read_manifest(&checkpoint, &ignored))
        return;
    folder_path(dir, checkpoint.step, place);
    rename(path, place); /* fails if there is one */
}

static void remove_leftover(const char *dir, const char *path)
{
    (void)dir;
    remove_folder(path);
}

/* Calls `each` with every folder in `dir` whose name begins with `prefix`. */
static void each_folder(const char *dir, const char *prefix,
                        void (*each)(const char *dir, const char *path))
{
    char path[MW_CHECKPOINT_PATH_BYTES + NAME_MAX];
    DIR *folder = opendir(dir);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        each(dir, path);
    }
    if (folder)
        closedir(folder);
}

/* Gives their names to checkpoints that a run had completed or was replacing when it was killed. Of
 * an old and a new one of the same step, the new one is taken. */
static void recover(const char *dir)
{
    each_folder(dir, unfinished, recover_folder);
    each_folder(dir, set_aside, recover_folder);
}

/* ---- The folder of all checkpoints ---- */

bool mw_checkpoint_prepare(const char *dir, MwFault *fault)
{
    char path[PATH_BYTES];
    if (strlen(dir) + 64 > MW_CHECKPOINT_PATH_BYTES)
        return mw_fault_set(fault, "the path %.60s... is too long", dir);
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return cannot(fault, "make", dir);
    snprintf(path, sizeof path, "%s/%sXXXXXX", dir, unfinished);
    if (!mkdtemp(path))
        return cannot(fault, "write to", dir);
    rmdir(path);
    recover(dir);
    each_folder(dir, unfinished, remove_leftover);
    each_folder(dir, set_aside, remove_leftover);
    return true;
}

bool mw_checkpoint_find(const char *dir, MwCheckpoint *checkpoint, MwFault *fault)
{
    *checkpoint = (MwCheckpoint){0};
    if (access(dir, R_OK) != 0)
        return cannot(fault, "read", dir);
    bool is_short = strlen(dir) + 64 <= MW_CHECKPOINT_PATH_BYTES;
    if (is_short)
        recover(dir);
    int64_t step = is_short ? mw_checkpoint_newest(dir) : -1;
    if (step < 0)
        return mw_fault_set(fault, "%s holds no checkpoint", dir);
    folder_path(dir, step, checkpoint->folder);
    return read_manifest(checkpoint, fault);
}

/* ---- Tensors ---- */

bool mw_checkpoint_write_tensor(const MwCheckpoint *checkpoint, const char *name,
                                const MwTensor *tensor, char *data, MwFault *fault)
{
    char path[PATH_BYTES], header[MW_NPY_HEADER_BYTES];
    int header_bytes = mw_npy_header(tensor, header);
    char *begin = data + MW_NPY_HEADER_BYTES - header_bytes;
    memcpy(begin, header, (size_t)header_bytes);
    file_path(checkpoint, name, path);
    return mw_file_write(path, begin, (size_t)(header_bytes + mw_tensor_bytes(tensor)), 0644) ||
           cannot(fault, "write", path);
}

/* True if the manifest has the hash of the file's contents. */
static bool is_in_manifest(const MwCheckpoint *checkpoint, const char *path, const char *data,
                           size_t bytes)
{
    char manifest[PATH_BYTES], line[PATH_BYTES + 32];
    MwArena *arena = mw_arena_new();
    snprintf(manifest, sizeof manifest, "%s/manifest", checkpoint->folder);
    snprintf(line, sizeof line, file_format, (unsigned long long)mw_hash_bytes(data, bytes),
             strrchr(path, '/') + 1);
    size_t length;
    const char *text = mw_file_read(arena, manifest, &length);
    bool found = text && strstr(text, line);
    mw_arena_free(&arena);
    return found;
}

const char *mw_checkpoint_read_tensor(MwArena *arena, const MwCheckpoint *checkpoint,
                                      const char *name, const MwTensor *tensor, MwFault *fault)
{
    char path[PATH_BYTES], found[MW_NPY_TEXT_BYTES], needed[MW_TENSOR_TEXT_BYTES];
    MwNpy npy;
    size_t bytes;
    file_path(checkpoint, name, path);
    const char *data = mw_file_read(arena, path, &bytes);
    if (!data) {
        cannot(fault, "read", path);
        return NULL;
    }
    if (!mw_npy_read(data, (int64_t)bytes, &npy, fault)) {
        mw_fault_prefix(fault, "%s", path);
        return NULL;
    }
    if (!mw_npy_holds(&npy, tensor)) {
        mw_fault_set(fault, "%s holds %s; this plan needs %s", path, mw_npy_text(&npy, found),
                     mw_tensor_text(tensor, needed));
        return NULL;
    }
    if (!is_in_manifest(checkpoint, path, data, bytes)) {
        mw_fault_set(fault, "%s: it is damaged: its checksum is not that in the manifest", path);
        return NULL;
    }
    return data + npy.offset;
}
