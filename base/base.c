/* SPDX-License-Identifier: MIT */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void mw_internal_error(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "internal error: %s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
