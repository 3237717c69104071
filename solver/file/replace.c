/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/file/replace.h"

#include "base/new_file.h"

#include <errno.h>
#include <string.h>

bool mw_file_replace(const char *path, bool (*write)(int fd, const void *context),
                     const void *context, MwDiags *diags)
{
    MwNewFile file;
    bool good = mw_new_file_open(&file, path);
    if (good && write(file.fd, context)) {
        good = mw_new_file_keep(&file, 0644);
    } else if (good) {
        mw_new_file_drop(&file);
        good = false;
    }
    if (!good)
        mw_diag_error(diags, mw_span_none(), "%s: cannot write: %s", path, strerror(errno));
    return good;
}
