/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/import/files.h"

#include "base/new_file.h"
#include "tools/argument.h"
#include "tools/import/weights_file.h"

#include <errno.h>
#include <string.h>

/* A file that is written; it has no path where it is not asked for. */
typedef struct {
    const char *path;
    MwNewFile file;
    bool open;
} Writing;

static void fail(const Writing *writing, MwDiags *diags)
{
    mw_diag_error(diags, mw_span_none(), "cannot write %s: %s", writing->path, strerror(errno));
}

static void begin(Writing *writing, MwDiags *diags)
{
    if (!writing->path)
        return;
    writing->open = mw_new_file_open(&writing->file, writing->path);
    if (!writing->open)
        fail(writing, diags);
}

/* Keeps the file if nothing has failed so far. */
static void end(Writing *writing, MwDiags *diags)
{
    if (!writing->open)
        return;
    if (mw_diags_error_count(diags))
        mw_new_file_drop(&writing->file);
    else if (!mw_new_file_keep(&writing->file, 0644))
        fail(writing, diags);
}

void mw_import_write(const MwImportFiles *paths, const MwText *text, const MwOnnxModel *model,
                     MwDiags *diags)
{
    Writing graph = {.path = paths->model}, weights = {.path = paths->weights},
            map = {.path = paths->map};
    begin(&graph, diags);
    begin(&weights, diags);
    begin(&map, diags);
    if (graph.open && !mw_file_write_bytes(graph.file.fd, text->at, text->bytes))
        fail(&graph, diags);
    if (weights.open && !mw_weights_file_write(weights.file.fd, model))
        fail(&weights, diags);
    if (map.open && !mw_file_write_bytes(map.file.fd, model->map, model->map_bytes))
        fail(&map, diags);
    if (!graph.path && !mw_diags_error_count(diags))
        mw_result_write(NULL, text, diags);
    end(&weights, diags);
    end(&map, diags);
    end(&graph, diags);
}
