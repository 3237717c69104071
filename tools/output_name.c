/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/output_name.h"

#include "base/text.h"
#include "runtime/plan/plan.h"
#include "tools/data_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The name of a file without its folder and the suffix of models. */
static const char *stem_of(MwArena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const bool has_suffix = mw_text_ends_in(name, mw_data_models.suffix);
    return mw_arena_strndup(arena, name,
                            strlen(name) - (has_suffix ? strlen(mw_data_models.suffix) : 0));
}

const char *mw_output_name(MwArena *arena, const char *model, const char *suffix, MwDiags *diags)
{
    const char *stem = stem_of(arena, model), *name = mw_arena_printf(arena, "%s%s", stem, suffix);
    struct stat info;
    if (!*stem) {
        mw_diag_error(diags, mw_span_none(), "where should the result go? Say -o FILE");
        return NULL;
    }
    if (lstat(name, &info) != 0 && errno == ENOENT)
        return name;
    if (S_ISREG(info.st_mode) && mw_plan_is_at(arena, name))
        return name;
    mw_diag_error(diags, mw_span_none(),
                  "there already is a '%s', which holds no plan: say -o FILE to write elsewhere",
                  name);
    return NULL;
}
