/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flat models to files that read as a person would have written them. */
#ifndef MW_FRONTEND_IMPORT_H
#define MW_FRONTEND_IMPORT_H

#include "base/diag.h"
#include "base/text.h"

/* Adds to `text` a .graph file with the structure of the flat model `source` (outline/outline.h),
 * formatted. It has a size for the batch where the model can have another, unless `keeps_batch`.
 * Its graph is compared with that of the flat model: if they differed, which is a fault
 * of this compiler, a warning says so and the text is the flat model. False after errors, of which
 * those of the model are some. */
bool mw_import_source(MwArena *arena, const MwSource *source, bool keeps_batch, MwText *text,
                      MwDiags *diags);

/* Adds the flat model `source` itself, formatted. False after errors. */
bool mw_import_flat(MwArena *arena, const MwSource *source, MwText *text, MwDiags *diags);

/* mw_import_source for the file `path`. */
bool mw_import_file(MwArena *arena, const char *path, MwText *text, MwDiags *diags);

#endif
