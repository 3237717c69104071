/* SPDX-License-Identifier: MIT */
#include "runtime/exec/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool mw_fault_set(MwFault *fault, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return false;
}

bool mw_fault_prefix(MwFault *fault, const char *format, ...)
{
    char old[sizeof fault->text];
    strcpy(old, fault->text);
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    size_t length = strlen(fault->text);
    snprintf(fault->text + length, sizeof fault->text - length, ": ");
    length = strlen(fault->text);
    size_t kept = strnlen(old, sizeof fault->text - 1 - length);
    memcpy(fault->text + length, old, kept);
    fault->text[length + kept] = '\0';
    return false;
}
