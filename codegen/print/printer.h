/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels as text for a compiler: what a printer is, and the ones there are. */
#ifndef MW_CODEGEN_PRINT_PRINTER_H
#define MW_CODEGEN_PRINT_PRINTER_H

#include "base/backend.h"
#include "base/text.h"
#include "base/vec.h"
#include "codegen/kernel/kernel.h"

/* A kernel in the table, and the function that runs it. */
typedef struct {
    const char *name, *function;
} MwKernelName;

typedef MW_VEC(MwKernelName) MwKernelNames;

typedef struct {
    /* The text that every unit begins with: types, the functions of the expression language. */
    void (*prelude)(MwText *text);
    /* Bytes of memory that a kernel needs as its last operand, and gets before its body is printed;
     * 0: none. */
    int64_t (*scratch_bytes)(MwArena *arena, const MwKernelDef *kernel);
    /* The functions of a kernel, the last of which the executor calls (runtime/plan/kernel.h). "@"
     * stands for the name of the kernel. They name nothing outside the prelude and themselves, so
     * equal bodies are equal kernels. */
    void (*body)(MwText *text, const MwKernelDef *kernel);
    /* The table that the executor finds kernels in (runtime/plan/kernel.h). */
    void (*table)(MwText *text, const MwKernelName *names, int count);
} MwKernelPrinter;

extern const MwKernelPrinter mw_c_printer;    /* C, for the system's compiler on the CPU */
extern const MwKernelPrinter mw_cuda_printer; /* CUDA C */

/* The printer of a backend (base/backends.def). */
const MwKernelPrinter *mw_kernel_printer(MwBackendId backend);

/* The head of the function of a kernel that the executor calls, in a body. */
#define MW_KERNEL_HEAD                                                                             \
    "static void @(void *const *operands, const MwKernelArg *args, int sets, void *stream)\n"

/* The kernel `name`: the functions of its body; `comment` may hold several lines. */
void mw_kernel_print(MwText *text, const char *name, const char *comment, const char *body);

#endif
