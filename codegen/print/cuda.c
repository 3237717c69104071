/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels as CUDA C. In: the kernel IR. Out: for each nest a `__global__` function, or up to three
 * where sums over rows or over all points end in functions of their own; and for each kernel a
 * function of the host that launches them, whose name stands as "@" until it is known. The text is
 * in the language that CUDA C++ and C11 share.
 *
 * Threads add up in an order that depends on the shape alone. */
#include "codegen/print/cuda_flat.h"
#include "codegen/print/cuda_functions.h"
#include "codegen/print/cuda_signature.h"
#include "codegen/print/cuda_spread.h"
#include "codegen/print/prelude_text.h"
#include "codegen/print/printer.h"
#include "runtime/plan/kernel.h"

/* ---- The unit ---- */

/* The functions of expressions run on the device: `inline` says so, and stands for itself in the
 * headers of the system, which come before. nvcc is not to warn of functions and variables that no
 * kernel uses. */
static void print_prelude(MwText *text)
{
    mw_text_add(text, "#ifdef __NVCC__\n"
                      "#pragma nv_diag_suppress 177, 550\n"
                      "#endif\n"
                      "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
                      "#include <string.h>\n" MW_DEVICE_PRELUDE_TEXT
                      "#define inline __inline__ __device__\n" MW_C_PRELUDE_TEXT
                      "#undef inline\n" MW_CUDA_PRELUDE_TEXT);
}

/* Nests run one after another, so all work in the same memory. */
static int64_t scratch_bytes(MwArena *arena, const MwKernelDef *kernel)
{
    MwText text = {.arena = arena};
    int64_t floats = 0;
    for (int i = 0; i < kernel->nests.count; i++)
        floats = mw_max(floats, mw_cuda_nest(&text, kernel, &kernel->nests.at[i], i).scratch);
    return floats * (int64_t)sizeof(float);
}

static void print_body(MwText *text, const MwKernelDef *kernel)
{
    MwCudaNest *nests = MW_NEW(text->arena, MwCudaNest, kernel->nests.count);
    if (kernel->is_flat) {
        nests[0] = mw_cuda_nest(text, kernel, &kernel->nests.at[0], 0);
        mw_cuda_print_flat(&nests[0]);
        return;
    }
    for (int i = 0; i < kernel->nests.count; i++) {
        nests[i] = mw_cuda_nest(text, kernel, &kernel->nests.at[i], i);
        mw_cuda_print_nest(&nests[i]);
    }
    mw_text_add(text, MW_KERNEL_HEAD "{\n");
    mw_cuda_print_host_values(text, kernel);
    for (int i = 0; i < kernel->nests.count; i++)
        mw_cuda_print_launches(&nests[i]);
    mw_text_add(text, "}\n");
}

static void print_table(MwText *text, const MwKernelName *names, int count)
{
    mw_text_printf(
        text,
        "\nMW_C_BEGIN\nextern const MwKernelEntry %s[];\nMW_C_END\nconst MwKernelEntry %s[] = {\n",
        MW_KERNEL_TABLE_SYMBOL, MW_KERNEL_TABLE_SYMBOL);
    for (int i = 0; i < count; i++)
        mw_text_printf(text, "    {\"%s\", %s},\n", names[i].name, names[i].function);
    mw_text_add(text, "    {0, 0},\n};\n");
}

const MwKernelPrinter mw_cuda_printer = {.prelude = print_prelude,
                                         .scratch_bytes = scratch_bytes,
                                         .body = print_body,
                                         .table = print_table};
