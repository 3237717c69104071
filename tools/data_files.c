/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/data_files.h"

#include "base/beside.h"
#include "base/text.h"
#include "runtime/plan/plan.h"
#include "tools/data_config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const MwDataKind mw_data_models = {"models", ".graph"}, mw_data_clusters = {"clusters", ".cluster"};

static const char *const folders[] = MW_DATA_FOLDERS;

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

static const char *folder_of(MwArena *arena, const MwDataKind *kind, int i)
{
    return mw_beside_program(arena, mw_arena_printf(arena, "%s/%s", folders[i], kind->folder));
}

const char *mw_data_file(MwArena *arena, const MwDataKind *kind, const char *name)
{
    const char *const suffixes[] = {"", kind->suffix};
    if (!*name || strchr(name, '/') || (is_file(name) && !mw_plan_is_at(arena, name)))
        return name;
    for (int i = 0; i < MW_COUNT(folders); i++) {
        for (int s = 0; s < MW_COUNT(suffixes); s++) {
            const char *folder = folder_of(arena, kind, i);
            const char *path = mw_arena_printf(arena, "%s/%s%s", folder, name, suffixes[s]);
            char real[PATH_MAX];
            if (is_file(path))
                return realpath(path, real) ? mw_arena_strdup(arena, real) : path;
        }
    }
    return name;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Appends the names of files that end so, in order, to none. */
static void read_names(MwArena *arena, DIR *dir, const char *suffix, MwDataNames *names)
{
    for (const struct dirent *file; (file = readdir(dir));)
        if (mw_text_ends_in(file->d_name, suffix))
            mw_vec_push(arena, names, mw_arena_strdup(arena, file->d_name));
    if (names->count)
        qsort(names->at, (size_t)names->count, sizeof *names->at, by_text);
}

MwDataNames mw_data_names(MwArena *arena, const MwDataKind *kind)
{
    MwDataNames names = {0};
    DIR *dir = NULL;
    for (int i = 0; i < MW_COUNT(folders) && !dir; i++)
        dir = opendir(folder_of(arena, kind, i));
    if (!dir)
        return names;
    read_names(arena, dir, kind->suffix, &names);
    closedir(dir);
    return names;
}

bool mw_data_paths(MwArena *arena, const MwDataKind *kind, const char *folder, MwDataNames *paths,
                   MwDiags *diags)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        mw_diag_error(diags, mw_span_none(), "cannot read the folder '%s': %s", folder,
                      strerror(errno));
        return false;
    }
    read_names(arena, dir, kind->suffix, paths);
    closedir(dir);
    for (int i = 0; i < paths->count; i++)
        paths->at[i] = mw_arena_printf(arena, "%s/%s", folder, paths->at[i]);
    if (paths->count == 0)
        mw_diag_error(diags, mw_span_none(), "the folder '%s' has no %s files", folder,
                      kind->suffix);
    return paths->count > 0;
}
