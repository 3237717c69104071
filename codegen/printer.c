/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/printer.h"

#include <string.h>

const MwKernelPrinter *mw_kernel_printer(const char *backend)
{
    return strcmp(backend, "cuda") == 0 ? &mw_cuda_printer : &mw_c_printer;
}
