/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_signature.h"

#include "codegen/print/values.h"

const char *mw_cuda_parameters(MwArena *arena, const MwKernelDef *kernel)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "(");
    for (int i = 0; i < kernel->operands.count; i++) {
        const MwKernelOperand *operand = &kernel->operands.at[i];
        mw_text_printf(&text, "%s%s%s *__restrict__ p%d", i ? ", " : "",
                       operand->writes ? "" : "const ", mw_print_storage_type(operand->type), i);
    }
    for (int i = 0; i < kernel->args.count; i++)
        mw_text_printf(&text, "%s%s%d", i || kernel->operands.count ? ", " : "",
                       kernel->args.at[i].kind == MW_ARG_STEP    ? "const int64_t *__restrict__ s"
                       : kernel->args.at[i].kind == MW_ARG_FLOAT ? "double a"
                                                                 : "int64_t a",
                       i);
    mw_text_add(&text, ")");
    return text.at;
}

const char *mw_cuda_arguments(MwArena *arena, const MwKernelDef *kernel)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "(");
    for (int i = 0; i < kernel->operands.count; i++)
        mw_text_printf(&text, "%sp%d", i ? ", " : "", i);
    for (int i = 0; i < kernel->args.count; i++)
        mw_text_printf(&text, "%s%s%d", i || kernel->operands.count ? ", " : "",
                       kernel->args.at[i].kind == MW_ARG_STEP ? "s" : "a", i);
    mw_text_add(&text, ")");
    return text.at;
}

void mw_cuda_print_loaded_args(MwText *text, const MwKernelDef *kernel)
{
    for (int i = 0; i < kernel->args.count; i++)
        if (kernel->args.at[i].kind == MW_ARG_STEP)
            mw_text_printf(text, "    const int64_t a%d = *s%d;\n", i, i);
}

void mw_cuda_print_host_values(MwText *text, const MwKernelDef *kernel)
{
    for (int i = 0; i < kernel->operands.count; i++) {
        const MwKernelOperand *operand = &kernel->operands.at[i];
        const char *type = mw_print_storage_type(operand->type);
        const char *is_const = operand->writes ? "" : "const ";
        mw_text_printf(text, "    %s%s *p%d = (%s%s *)operands[%d];\n", is_const, type, i, is_const,
                       type, i);
    }
    for (int i = 0; i < kernel->args.count; i++) {
        bool real = kernel->args.at[i].kind == MW_ARG_FLOAT;
        if (kernel->args.at[i].kind == MW_ARG_STEP)
            mw_text_printf(text, "    const int64_t *s%d = args[%d].at;\n", i, i);
        else
            mw_text_printf(text, "    const %s a%d = args[%d].%s;\n", real ? "double" : "int64_t",
                           i, i, real ? "f" : "i");
    }
}
