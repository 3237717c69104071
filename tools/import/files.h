/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of an import, which replace those at their paths together: when all are written. */
#ifndef MW_TOOLS_IMPORT_FILES_H
#define MW_TOOLS_IMPORT_FILES_H

#include "base/text.h"
#include "frontend/onnx/import.h"

typedef struct {
    const char *model;   /* path; NULL: standard output */
    const char *weights; /* path; NULL: none */
    const char *map;     /* path; NULL: none */
} MwImportFiles;

/* Writes the text of the model, its weights and the map of their names. Adds an error where one of
 * them cannot be written; the files that were there before are then unchanged, unless the last step
 * fails, which gives a written file its name. */
void mw_import_write(const MwImportFiles *paths, const MwText *text, const MwOnnxModel *model,
                     MwDiags *diags);

#endif
