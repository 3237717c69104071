/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/link/object_cache.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "codegen/tuning.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".object"

/* What stands before the key and the object. */
typedef struct {
    char magic[8];
    uint64_t key_bytes, object_bytes, object_hash;
} Head;

static Head head_of(const MwText *key, const char *object, size_t bytes)
{
    return (Head){"mwobj 1", key->bytes, bytes, mw_hash_bytes(object, bytes)};
}

static const char *find_entry(MwArena *arena, const char *folder, const MwText *key)
{
    return mw_arena_printf(arena, "%s/%016llx" SUFFIX, folder,
                           (unsigned long long)mw_hash_bytes(key->at, key->bytes));
}

const char *mw_object_cache_find(MwArena *arena, const MwText *key, size_t *bytes)
{
    const char *folder = mw_cache_folder(arena);
    const char *path = folder ? find_entry(arena, folder, key) : "";
    size_t size;
    const char *entry = *path ? mw_file_read(arena, path, &size) : NULL;
    if (!entry || size < sizeof(Head) + key->bytes)
        return NULL;
    const char *object = entry + sizeof(Head) + key->bytes;
    *bytes = size - sizeof(Head) - key->bytes;
    const Head head = head_of(key, object, *bytes);
    if (memcmp(entry, &head, sizeof head) != 0 ||
        memcmp(entry + sizeof head, key->at, key->bytes) != 0)
        return NULL;
    utimensat(AT_FDCWD, path, NULL, 0); /* it was used now */
    return object;
}

/* Removes the entry that was used longest ago, if there are more than there may be. */
static void drop_oldest(MwArena *arena, const char *folder)
{
    const char *oldest = NULL;
    struct timespec oldest_time = {0};
    int count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *file; dir && (file = readdir(dir));) {
        struct stat status;
        const char *path = mw_arena_printf(arena, "%s/%s", folder, file->d_name);
        if (!strstr(file->d_name, SUFFIX) || stat(path, &status) != 0)
            continue;
        const struct timespec time = status.st_mtim;
        count++;
        if (!oldest || time.tv_sec < oldest_time.tv_sec ||
            (time.tv_sec == oldest_time.tv_sec && time.tv_nsec < oldest_time.tv_nsec)) {
            oldest = path;
            oldest_time = time;
        }
    }
    if (dir)
        closedir(dir);
    if (count > MW_TUNED_KEPT_OBJECTS)
        unlink(oldest);
}

void mw_object_cache_keep(MwArena *arena, const MwText *key, const char *object, size_t bytes)
{
    const char *folder = mw_cache_folder(arena);
    const Head head = head_of(key, object, bytes);
    MwText entry = {.arena = arena};
    if (!folder)
        return;
    mw_text_add_n(&entry, (const char *)&head, sizeof head);
    mw_text_add_n(&entry, key->at, key->bytes);
    mw_text_add_n(&entry, object, bytes);
    mw_cache_make_folder(arena, folder);
    if (mw_file_write(find_entry(arena, folder, key), entry.at, entry.bytes, 0600))
        drop_oldest(arena, folder);
}
