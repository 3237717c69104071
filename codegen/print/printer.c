/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/printer.h"

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
