/* SPDX-License-Identifier: MIT */
#include "runtime/weights/checkpoint_files.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "runtime/data/feed_file.h"

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
enum { PATH_BYTES = MW_CHECKPOINT_PATH_BYTES + NAME_MAX + 1 };

/* A byte that is no letter, digit, '_', '-' or '.' stands as %XX in the name of a file. */
const char *mw_checkpoint_tensor_name(MwArena *arena, const char *file)
{
    const char *end = ".npy";
    if (!mw_text_ends_in(file, end))
        return NULL;
    char *name = mw_arena_strndup(arena, file, strlen(file) - strlen(end)), *to = name;
    for (const char *from = name; *from; to++) {
        unsigned byte;
        int used = 0;
        if (sscanf(from, "%%%2X%n", &byte, &used) == 1 && used == 3) {
            *to = (char)byte;
            from += used;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
    return name;
}

static bool cannot(MwFault *fault, const char *what, const char *path)
{
    return mw_fault_set(fault, "cannot %s %s: %s", what, path, strerror(errno));
}

/* ---- Folders ---- */

/* Prefixes of folders: of a checkpoint that is being written, and of one that is being replaced or
 * removed. */
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

bool mw_checkpoint_begin(const char *dir, const char *model, int64_t step, uint64_t seed,
                         MwCheckpoint *checkpoint, MwFault *fault)
{
    *checkpoint = (MwCheckpoint){.step = step, .seed = seed};
    snprintf(checkpoint->model, sizeof checkpoint->model, "%s", model);
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

/* Gives a folder another name, under which it is no checkpoint, so that a process that is killed
 * while it removes the folder leaves no part of one. */
static bool put_aside(const char *dir, const char *path, char aside[MW_CHECKPOINT_PATH_BYTES])
{
    snprintf(aside, MW_CHECKPOINT_PATH_BYTES, "%s/%sXXXXXX", dir, set_aside);
    if (!mkdtemp(aside))
        return false;
    if (rename(path, aside) == 0)
        return true;
    const int saved = errno;
    rmdir(aside);
    errno = saved;
    return false;
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
    if (!put_aside(dir, to, aside))
        return false;
    if (rename(from, to) != 0) {
        int saved = errno;
        rename(aside, to);
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
        char path[MW_CHECKPOINT_PATH_BYTES], aside[MW_CHECKPOINT_PATH_BYTES];
        folder_path(dir, step, path);
        if (kept > KEPT && put_aside(dir, path, aside))
            remove_folder(aside);
        step = newest_step(dir, step);
    }
}

/* ---- The manifest ---- */

/* The version that is written; version 1 differs in what files there are. */
enum { VERSION = 2 };
static const char manifest_format[] = "meshwright checkpoint %d\nmodel %s\nstep %lld\nseed %llu\n";
static const char file_format[] = "file %016llx %s\n"; /* hash of all its bytes, name */

static bool write_manifest(const MwCheckpoint *checkpoint, const MwCheckpointFile *files, int count)
{
    MwArena *arena = mw_arena_new();
    MwText text = {.arena = arena};
    char path[PATH_BYTES];
    mw_text_printf(&text, manifest_format, VERSION, checkpoint->model, (long long)checkpoint->step,
                   (unsigned long long)checkpoint->seed);
    for (int i = 0; i < count; i++)
        mw_text_printf(&text, file_format, (unsigned long long)files[i].hash, files[i].name);
    mw_text_add(&text, "checksum ");
    mw_text_printf(&text, "%016llx\n", (unsigned long long)mw_hash_bytes(text.at, text.bytes));
    snprintf(path, sizeof path, "%s/manifest", checkpoint->folder);
    const bool good =
        mw_file_write(path, text.at, text.bytes, 0644) && sync_folder(checkpoint->folder);
    mw_arena_free(&arena);
    return good;
}

bool mw_checkpoint_commit(const char *dir, MwCheckpoint *checkpoint, const MwCheckpointFile *files,
                          int file_count, MwFault *fault)
{
    if (chmod(checkpoint->folder, 0755) != 0 || !write_manifest(checkpoint, files, file_count) ||
        !put_in_place(dir, checkpoint))
        return cannot(fault, "complete", checkpoint->folder);
    remove_old(dir, checkpoint->step);
    return true;
}

static bool parse_head(const char *text, size_t bytes, MwCheckpoint *checkpoint, MwFault *fault)
{
    const char *sum = strstr(text, "\nchecksum ");
    unsigned long long seed;
    long long step;
    int version;
    if (!sum ||
        sscanf(text, "meshwright checkpoint %d\nmodel %255s\nstep %lld\nseed %llu\n", &version,
               checkpoint->model, &step, &seed) != 4 ||
        version < 1 || version > VERSION)
        return mw_fault_set(fault, "it is no manifest of version 1 or %d", VERSION);
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

/* Lists the lines of files; a name that is no name of a file in the folder is left out. */
static int parse_files(MwArena *arena, const char *text, MwCheckpointFile **files)
{
    static const char begin[] = "\nfile ";
    MW_VEC(MwCheckpointFile) list = {0};
    for (const char *line = strstr(text, begin); line; line = strstr(line + 1, begin)) {
        char *end;
        const uint64_t hash = strtoull(line + strlen(begin), &end, 16);
        const size_t length = *end == ' ' ? strcspn(end + 1, "\n") : 0;
        const char *name = mw_arena_strndup(arena, end + (length > 0), length);
        if (length > 0 && !strchr(name, '/'))
            mw_vec_push(arena, &list, ((MwCheckpointFile){hash, name}));
    }
    *files = list.at;
    return list.count;
}

int mw_checkpoint_read_manifest(MwArena *arena, MwCheckpoint *checkpoint, MwCheckpointFile **files,
                                MwFault *fault)
{
    char path[PATH_BYTES];
    size_t bytes;
    snprintf(path, sizeof path, "%s/manifest", checkpoint->folder);
    const char *text = mw_file_read(arena, path, &bytes);
    const bool good =
        text ? parse_head(text, bytes, checkpoint, fault) || mw_fault_prefix(fault, "%s", path)
             : cannot(fault, "read", path);
    return good ? parse_files(arena, text, files) : -1;
}

static bool read_manifest(MwCheckpoint *checkpoint, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    MwCheckpointFile *files;
    const bool good = mw_checkpoint_read_manifest(arena, checkpoint, &files, fault) >= 0;
    mw_arena_free(&arena);
    return good;
}

/* ---- Checksums ---- */

enum { CHUNK_BYTES = 1 << 22 }; /* read at once */

static bool hash_file(MwArena *arena, const char *path, uint64_t *hash, MwFault *fault)
{
    MwFeedFile file;
    if (!mw_feed_file_open(&file, path, fault))
        return false;
    MwHashStream *stream = mw_hash_stream_new(arena);
    char *chunk = mw_arena_alloc(arena, CHUNK_BYTES);
    bool good = true;
    for (int64_t at = 0; good && at < file.bytes; at += CHUNK_BYTES) {
        const int64_t bytes = mw_min(CHUNK_BYTES, file.bytes - at);
        good = mw_feed_file_read(&file, at, bytes, chunk, fault);
        mw_hash_stream_add(stream, chunk, (size_t)bytes);
    }
    *hash = mw_hash_stream_end(stream);
    mw_feed_file_close(&file);
    return good;
}

static bool verify_file(const MwCheckpoint *checkpoint, const MwCheckpointFile *file,
                        MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    const char *path = mw_arena_printf(arena, "%s/%s", checkpoint->folder, file->name);
    uint64_t hash;
    const bool good =
        hash_file(arena, path, &hash, fault) &&
        (hash == file->hash ||
         mw_fault_set(fault, "%s: it is damaged: its checksum is not that in the manifest", path));
    mw_arena_free(&arena);
    return good;
}

bool mw_checkpoint_verify(const MwCheckpoint *checkpoint, int part, int parts, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    MwCheckpoint again = *checkpoint;
    MwCheckpointFile *files;
    const int count = mw_checkpoint_read_manifest(arena, &again, &files, fault);
    bool good = count >= 0;
    for (int i = part; good && i < count; i += parts)
        good = verify_file(checkpoint, &files[i], fault);
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
