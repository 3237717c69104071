/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/printer.h"

#include <string.h>

const MwKernelPrinter *mw_kernel_printer(MwBackendId backend)
{
    static const MwKernelPrinter *const printers[MW_BACKEND_COUNT] = {
#define BACKEND(id, name, suffix, compiler, variable, printer, ...)                                \
    [MW_BACKEND_##id] = &mw_##printer##_printer,
#include "base/backends.def"
#undef BACKEND
    };
    MW_ASSERT(backend < MW_BACKEND_COUNT);
    return printers[backend];
}

void mw_kernel_print(MwText *text, const char *name, const char *comment, const char *body)
{
    mw_text_printf(text, "\n/* %s */\n", comment);
    for (const char *rest = body; *rest;) {
        size_t bytes = strcspn(rest, "@");
        mw_text_add_n(text, rest, bytes);
        rest += bytes;
        if (*rest == '@') {
            mw_text_add(text, name);
            rest++;
        }
    }
}
