/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/kernel_pool.h"

#include "base/hash.h"
#include "codegen/plan/report.h"

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

static int find_kernel(const MwKernelPool *pool, const char *body, uint64_t hash)
{
    for (int i = 0; i < pool->bodies.count; i++)
        if (pool->bodies.at[i].hash == hash && strcmp(pool->bodies.at[i].body, body) == 0)
            return i;
    return -1;
}

static int add_kernel(MwKernelPool *pool, const MwLegal *legal, const MwUnit *unit,
                      const MwKernelDef *kernel, MwKernelBody body)
{
    const int index = pool->kernels.count;
    const char *name = kernel_name(pool->arena, legal, unit, index);
    mw_kernel_print(&pool->source, name, unit_comment(pool->arena, legal, unit), body.body);
    mw_vec_push(pool->arena, &pool->bodies, body);
    mw_vec_push(pool->arena, &pool->kernels,
                ((MwPlanKernel){.name = name,
                                .operand_count = kernel->operands.count,
                                .arg_count = kernel->args.count,
                                .takes_sets = kernel->is_flat}));
    return index;
}

/* Most bodies are there already, so that they are printed beside the pool. */
int mw_kernel_pool_add(MwKernelPool *pool, const MwLegal *legal, const MwUnit *unit,
                       const MwKernelDef *kernel)
{
    MwArena *scratch = mw_arena_new();
    MwText body = {.arena = scratch};
    pool->printer->body(&body, kernel);
    const uint64_t hash = mw_hash_bytes(body.at, body.bytes);
    int index = find_kernel(pool, body.at, hash);
    if (index < 0)
        index = add_kernel(pool, legal, unit, kernel,
                           (MwKernelBody){hash, mw_arena_strdup(pool->arena, body.at)});
    mw_arena_free(&scratch);
    return index;
}

MwKernelPool *mw_kernel_pool_new(MwArena *arena, const MwKernelPrinter *printer)
{
    MwKernelPool *pool = MW_NEW(arena, MwKernelPool, 1);
    pool->arena = arena;
    pool->printer = printer;
    pool->source.arena = arena;
    pool->printer->prelude(&pool->source);
    return pool;
}

const char *mw_kernel_pool_source(MwKernelPool *pool)
{
    const char **names = MW_NEW(pool->arena, const char *, pool->kernels.count);
    for (int i = 0; i < pool->kernels.count; i++)
        names[i] = pool->kernels.at[i].name;
    pool->printer->table(&pool->source, names, pool->kernels.count);
    return pool->source.at;
}
