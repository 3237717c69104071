/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/kernel_pool.h"

#include "base/hash.h"
#include "codegen/plan/report.h"
#include "runtime/plan/plan.h"

#include <string.h>

/* The operators of a unit, each once with the first place it comes from. */
static const char *unit_comment(MwArena *arena, const MwLegal *legal, const MwUnit *unit)
{
    MwText text = {.arena = arena};
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(legal, unit->nodes.at[i]);
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || mw_legal_at(legal, unit->nodes.at[k])->op == node->op;
        if (seen)
            continue;
        const char *source = mw_plan_report_source(arena, node);
        mw_text_printf(&text, "%s%s%s%s", i ? "\n * " : "", mw_op_info(node->op)->name,
                       *source ? ", " : "", source);
    }
    for (char *c = text.at; *c; c++)
        if (c[0] == '*' && c[1] == '/')
            *c = '+';
    return text.at;
}

/* "k7_gelu_add": the operators that say most, up to three. */
static const char *kernel_name(MwArena *arena, const MwLegal *legal, const MwUnit *unit, int index)
{
    MwText text = {.arena = arena};
    mw_text_printf(&text, "k%d", index);
    int named = 0;
    for (int i = unit->nodes.count - 1; i >= 0 && named < 3; i--) {
        const char *name = mw_op_info(mw_legal_at(legal, unit->nodes.at[i])->op)->name;
        if (strstr(text.at, name))
            continue;
        mw_text_printf(&text, "_%s", name);
        named++;
    }
    return text.at;
}

static int find_body(const MwKernelPool *pool, const char *text, uint64_t hash, bool on_host)
{
    for (int i = 0; i < pool->bodies.count; i++)
        if (pool->bodies.at[i].hash == hash && pool->bodies.at[i].on_host == on_host &&
            strcmp(pool->bodies.at[i].text, text) == 0)
            return i;
    return -1;
}

/* Most bodies are there already, so that they are printed beside the pool. */
static int add_body(MwKernelPool *pool, const MwKernelDef *kernel, bool on_host)
{
    MwArena *scratch = mw_arena_new();
    MwText text = {.arena = scratch};
    mw_kernel_pool_printer(pool, on_host)->body(&text, kernel);
    const uint64_t hash = mw_hash_bytes(text.at, text.bytes);
    int index = find_body(pool, text.at, hash, on_host);
    if (index < 0) {
        index = pool->bodies.count;
        mw_vec_push(pool->arena, &pool->bodies,
                    ((MwKernelBody){.hash = hash,
                                    .text = mw_arena_strdup(pool->arena, text.at),
                                    .kernel = -1,
                                    .operand_count = kernel->operands.count,
                                    .arg_count = kernel->args.count,
                                    .takes_sets = kernel->is_flat,
                                    .on_host = on_host}));
    }
    mw_arena_free(&scratch);
    return index;
}

static MwAccess access_of(const MwKernelOperand *operand)
{
    if (operand->reads && operand->writes)
        return MW_ACCESS_READ_WRITE;
    return operand->reads ? MW_ACCESS_READ : MW_ACCESS_WRITE;
}

/* Whether a kernel on the host is another than on a device. */
static bool is_apart(const MwKernelPool *pool, bool on_host)
{
    return on_host && pool->host_printer != pool->printer;
}

const MwKernelPrinter *mw_kernel_pool_printer(const MwKernelPool *pool, bool on_host)
{
    return on_host ? pool->host_printer : pool->printer;
}

MwKernelCall mw_kernel_pool_call(MwKernelPool *pool, const MwKernelDef *kernel, bool on_host)
{
    if (mw_kernel_is_idle(kernel))
        return (MwKernelCall){.body = -1};
    const int operands = kernel->operands.count, args = kernel->args.count;
    const MwKernelCall call = {
        .body = add_body(pool, kernel, is_apart(pool, on_host)),
        .operands = MW_NEW(pool->arena, MwPlanOperand, operands),
        .operand_count = operands,
        .args = mw_arena_dup(pool->arena, kernel->args.at, sizeof(MwPlanArg) * (size_t)args),
        .arg_count = args,
        .flops = mw_kernel_flops(kernel),
        .bytes = mw_kernel_bytes(kernel),
        .rows = mw_kernel_rows(kernel)};
    for (int i = 0; i < operands; i++)
        call.operands[i] =
            (MwPlanOperand){kernel->operands.at[i].buffer, access_of(&kernel->operands.at[i])};
    return call;
}

int mw_kernel_pool_use(MwKernelPool *pool, const MwLegal *legal, const MwUnit *unit, int body)
{
    MwKernelBody *of = &pool->bodies.at[body];
    if (of->kernel >= 0)
        return of->kernel;
    of->kernel = pool->kernels.count;
    const char *name = kernel_name(pool->arena, legal, unit, of->kernel);
    mw_kernel_print(of->on_host ? &pool->host_source : &pool->source, name,
                    unit_comment(pool->arena, legal, unit), of->text);
    mw_vec_push(pool->arena, &pool->kernels,
                ((MwPlanKernel){.name = name,
                                .operand_count = of->operand_count,
                                .arg_count = of->arg_count,
                                .takes_sets = of->takes_sets,
                                .on_host = of->on_host}));
    return of->kernel;
}

MwKernelPool *mw_kernel_pool_new(MwArena *arena, const MwKernelPrinter *printer)
{
    MwKernelPool *pool = MW_NEW(arena, MwKernelPool, 1);
    pool->arena = arena;
    pool->printer = printer;
    pool->host_printer = mw_kernel_printer(MW_BACKEND_cpu);
    pool->source.arena = pool->host_source.arena = arena;
    pool->printer->prelude(&pool->source);
    pool->host_printer->prelude(&pool->host_source);
    return pool;
}

/* A function that others can call for each kernel of the host, in C; and how they are declared. */
static void link_host_kernels(MwKernelPool *pool, MwText *declared)
{
    static const char arguments[] =
        "(void *const *operands, const MwKernelArg *args, int sets, void *stream)";
    mw_text_add(declared, "\nMW_C_BEGIN\n");
    for (int i = 0; i < pool->kernels.count; i++) {
        const MwPlanKernel *kernel = &pool->kernels.at[i];
        if (!kernel->on_host)
            continue;
        mw_text_printf(declared, "void mw_host_%s%s;\n", kernel->name, arguments);
        mw_text_printf(&pool->host_source,
                       "\nvoid mw_host_%s%s;\n"
                       "void mw_host_%s%s\n{\n    %s(operands, args, sets, stream);\n}\n",
                       kernel->name, arguments, kernel->name, arguments, kernel->name);
    }
    mw_text_add(declared, "MW_C_END\n");
}

const char *mw_kernel_pool_source(MwKernelPool *pool)
{
    MwKernelNames names = {0};
    int on_host = 0;
    for (int i = 0; i < pool->kernels.count; i++) {
        const MwPlanKernel *kernel = &pool->kernels.at[i];
        const char *function = kernel->on_host
                                   ? mw_arena_printf(pool->arena, "mw_host_%s", kernel->name)
                                   : kernel->name;
        mw_vec_push(pool->arena, &names, ((MwKernelName){kernel->name, function}));
        on_host += kernel->on_host;
    }
    if (on_host)
        link_host_kernels(pool, &pool->source);
    pool->printer->table(&pool->source, names.at, names.count);
    if (!on_host)
        return pool->source.at;
    return mw_arena_printf(pool->arena, "#ifndef %s\n%s#else\n%s#endif\n", MW_KERNEL_HOST_MACRO,
                           pool->source.at, pool->host_source.at);
}
