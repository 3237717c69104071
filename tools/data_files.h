/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models and clusters that come with meshwright, which commands find by name. */
#ifndef MW_TOOLS_DATA_FILES_H
#define MW_TOOLS_DATA_FILES_H

#include "base/diag.h"
#include "base/vec.h"

typedef struct {
    const char *folder; /* below share/meshwright */
    const char *suffix; /* of the names of its files */
} MwDataKind;

extern const MwDataKind mw_data_models, mw_data_clusters;

typedef MW_VEC(const char *) MwDataNames;

/* The file that a user means by `name`: that at this path, unless it is a plan or an executable
 * with one, such as the `gpt` that was made from the model `gpt`; if there is none and the name has
 * no '/', the one that comes with meshwright under the name, with or without its suffix. `name`
 * itself where there is neither, so that the error names what was asked for. */
const char *mw_data_file(MwArena *arena, const MwDataKind *kind, const char *name);

/* The names of all that come with meshwright, in order; none where its files are missing. */
MwDataNames mw_data_names(MwArena *arena, const MwDataKind *kind);

/* The paths of all files of the kind in a folder, in order. False after an error. */
bool mw_data_paths(MwArena *arena, const MwDataKind *kind, const char *folder, MwDataNames *paths,
                   MwDiags *diags);

#endif
