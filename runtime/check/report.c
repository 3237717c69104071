/* SPDX-License-Identifier: MIT */
#include "runtime/check/report.h"

#include <stdarg.h>
#include <stdio.h>

void mw_check_error(const MwCheck *check, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mw_diag_error(check->diags, mw_span_none(), "%s: %s", check->place, text);
}
