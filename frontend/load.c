/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a file and the files it imports. An import stands for the sizes and blocks of its file; a
 * file that is imported twice is taken once. */
#include "base/file.h"
#include "base/hash.h"
#include "frontend/expand/expand.h"
#include "frontend/frontend.h"
#include "frontend/syntax/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IMPORT_DEPTH = 64 };

typedef struct {
    const char *path; /* canonical, interned */
    bool active;      /* being read: an import of it is a cycle */
} File;

typedef struct {
    MwArena *arena;
    MwInterner *interner;
    MwDiags *diags;
    MW_VEC(File) files;
    MwItems items;
    uint64_t hash; /* of the texts of all files */
    int depth;
} Loader;

static bool load_source(Loader *loader, const MwSource *source, bool is_import);

/* The one name of a file, however it is reached. */
static const char *canonical(Loader *loader, const char *path)
{
    char real[PATH_MAX];
    return mw_intern(loader->interner, realpath(path, real) ? real : path);
}

static MwSource *read_source(Loader *loader, const char *path, MwSpan span)
{
    MwSource *source = MW_NEW(loader->arena, MwSource, 1);
    source->name = mw_arena_strdup(loader->arena, path);
    source->text = mw_file_read(loader->arena, path, &source->bytes);
    if (source->text)
        return source;
    mw_diag_error(loader->diags, span, "cannot read %s: %s", path, strerror(errno));
    return NULL;
}

/* Index among the files seen; -1 if the file is new. */
static int find_file(const Loader *loader, const char *path)
{
    for (int i = 0; i < loader->files.count; i++)
        if (loader->files.at[i].path == path)
            return i;
    return -1;
}

static bool import_file(Loader *loader, const MwItem *item)
{
    MwSpan span = item->name.span;
    if (!*item->name.text || strlen(item->name.text) >= PATH_MAX) {
        mw_diag_error(loader->diags, span, "an import names a file");
        return false;
    }
    const char *path = mw_path_beside(loader->arena, span.source->name, item->name.text);
    const char *name = canonical(loader, path);
    int seen = find_file(loader, name);
    if (seen >= 0) {
        if (loader->files.at[seen].active)
            mw_diag_error(loader->diags, span, "%s imports itself, directly or through others",
                          path);
        return !loader->files.at[seen].active;
    }
    if (loader->depth == MAX_IMPORT_DEPTH) {
        mw_diag_error(loader->diags, span, "imports are nested more than %d deep",
                      MAX_IMPORT_DEPTH);
        return false;
    }
    const MwSource *source = read_source(loader, path, span);
    if (!source)
        return false;
    int index = loader->files.count;
    mw_vec_push(loader->arena, &loader->files, ((File){name, true}));
    bool ok = load_source(loader, source, true);
    loader->files.at[index].active = false;
    return ok;
}

/* Appends the items of a file, with those of its imports where the imports stand. */
static bool load_source(Loader *loader, const MwSource *source, bool is_import)
{
    MwItems items = {0};
    bool ok = mw_source_parse(loader->arena, loader->interner, source, loader->diags, &items);
    loader->hash = mw_hash_mix(loader->hash, mw_hash_bytes(source->text, source->bytes));
    loader->depth++;
    for (int i = 0; i < items.count; i++) {
        const MwItem *item = &items.at[i];
        if (item->kind == MW_ITEM_IMPORT) {
            ok &= import_file(loader, item);
        } else if (item->kind == MW_ITEM_MODEL && is_import) {
            mw_diag_error(loader->diags, item->span, "an imported file brings blocks, not a model");
            ok = false;
        } else {
            mw_vec_push(loader->arena, &loader->items, *item);
        }
    }
    loader->depth--;
    return ok;
}

static MwGraph *load(Loader *loader, const MwSource *source, const MwDefine *defines, int count)
{
    mw_vec_push(loader->arena, &loader->files, ((File){canonical(loader, source->name), true}));
    if (!load_source(loader, source, false))
        return NULL;
    MwExpandQuery query = {
        .name = source->name, .items = &loader->items, .defines = defines, .define_count = count};
    MwGraph *graph = mw_expand(loader->arena, loader->interner, &query, loader->diags);
    if (graph)
        graph->source_hash = loader->hash;
    return graph;
}

MwGraph *mw_graph_load(MwArena *arena, MwInterner *interner, const char *path,
                       const MwDefine *defines, int define_count, MwDiags *diags)
{
    Loader loader = {.arena = arena, .interner = interner, .diags = diags};
    const MwSource *source = read_source(&loader, path, mw_span_none());
    return source ? load(&loader, source, defines, define_count) : NULL;
}

MwGraph *mw_graph_parse(MwArena *arena, MwInterner *interner, const MwSource *source,
                        const MwDefine *defines, int define_count, MwDiags *diags)
{
    Loader loader = {.arena = arena, .interner = interner, .diags = diags};
    return load(&loader, source, defines, define_count);
}

bool mw_graph_sizes(MwArena *arena, const char *path, MwSizeTexts *sizes, MwDiags *diags)
{
    Loader loader = {.arena = arena, .interner = mw_interner_new(arena), .diags = diags};
    const MwSource *source = read_source(&loader, path, mw_span_none());
    if (!source)
        return false;
    mw_vec_push(arena, &loader.files, ((File){canonical(&loader, path), true}));
    if (!load_source(&loader, source, false))
        return false;
    for (int i = 0; i < loader.items.count; i++) {
        const MwItem *item = &loader.items.at[i];
        if (item->kind != MW_ITEM_SIZE)
            continue;
        const MwSpan span = item->value->span;
        const char *value =
            mw_arena_strndup(arena, span.source->text + span.begin, span.end - span.begin);
        mw_vec_push(arena, sizes, ((MwSizeText){item->name.text, value}));
    }
    return true;
}
