/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/progress.h"

#include <stdarg.h>

enum { LINE_BYTES = 512 };

static void replace_line(const MwPassProgress *progress, const char *text)
{
    if (!progress->out)
        return;
    fprintf(progress->out, "\r\033[K%.*s", progress->columns - 1, text); /* ECMA-48: EL */
    fflush(progress->out);
}

void mw_pass_progress_show(const MwPassProgress *progress, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    replace_line(progress, text);
}

void mw_pass_progress_clear(const MwPassProgress *progress)
{
    replace_line(progress, "");
}
