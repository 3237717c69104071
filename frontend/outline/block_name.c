/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/outline/block_name.h"

#include "frontend/functions/functions.h"
#include "frontend/syntax/parse.h"
#include "frontend/terms/names.h"

#include <ctype.h>
#include <string.h>

/* What a module is, by what its operations have in their shapes; called as in PyTorch. */
static const struct {
    const char *shape, *name;
    bool is_spatial; /* its name has the number of spatial dimensions after it */
} kinds[] = {
    {"layer_norm(", "layernorm", false},
    {"rms_norm(", "rmsnorm", false},
    {"batch_norm(", "batchnorm", false},
    {"group_norm(", "groupnorm", false},
    {"conv(", "conv", true},
    {"conv_transpose(", "conv_transpose", true},
    {"embedding(", "embed", false},
    {"einsum(", "linear", false},
    {"@(", "linear", false},
};

enum { MAX_KIND_SIZE = 8 /* operations of a module that is known by one of them */ };

/* The last component of the path of a module; NULL: it is a number. */
static const char *last_word(const char *path)
{
    const char *dot = strrchr(path, '.');
    const char *last = dot ? dot + 1 : path;
    return isdigit((unsigned char)*last) ? NULL : last;
}

/* The word that all modules of the class end with; NULL: there is none. */
static const char *shared_word(const MwFlat *flat, const MwClass *class)
{
    const char *shared = NULL;
    for (int i = 0; i < class->units.count; i++) {
        const char *word = last_word(flat->modules.at[class->units.at[i]->module].path);
        if (!word || (shared && strcmp(shared, word) != 0))
            return NULL;
        shared = word;
    }
    return shared;
}

/* `name`, and for convolutions how many dimensions they have: those of the filter but its channels,
 * as in conv2d. */
static const char *spatial_name(const MwFlat *flat, const MwModuleUnit *unit, const char *name,
                                bool is_spatial)
{
    int rank = 0;
    for (int i = 0; i < unit->declarations.count; i++) {
        const MwStatement *statement = flat->ops.at[unit->declarations.at[i]].statement;
        rank = (int)mw_max(rank, statement->declare.type.dims.count);
    }
    return is_spatial && rank > 2 ? mw_intern_printf(flat->interner, "%s%dd", name, rank - 2)
                                  : name;
}

/* The kind of a small module without modules in it; NULL: unknown. */
static const char *kind_of(const MwFlat *flat, const MwModuleUnit *unit)
{
    if (!unit->declarations.count || unit->size > MAX_KIND_SIZE)
        return NULL;
    for (int k = 0; k < MW_COUNT(kinds); k++)
        for (int i = 0; i < unit->items.count; i++) {
            if (unit->items.at[i].unit)
                return NULL;
            if (strstr(flat->ops.at[unit->items.at[i].op].shape, kinds[k].shape))
                return spatial_name(flat, unit, kinds[k].name, kinds[k].is_spatial);
        }
    return NULL;
}

/* The word of the first module, or of the one around it if that is a number: `layer` for
 * `encoder.layers.0`. */
static const char *first_word(const MwFlat *flat, const MwClass *class)
{
    int module = mw_class_unit(class)->module;
    const char *word = NULL;
    while (module > 0 && !(word = last_word(flat->modules.at[module].path)))
        module = flat->modules.at[module].parent;
    if (!word)
        return "module";
    size_t length = strlen(word);
    while (length > 1 && (isdigit((unsigned char)word[length - 1]) || word[length - 1] == '_'))
        length--;
    const bool is_numbered = module != mw_class_unit(class)->module;
    if (is_numbered && length > 3 && word[length - 1] == 's')
        length--;
    if (is_numbered && length == 1)
        return "layer";
    return mw_intern_n(flat->interner, word, length);
}

static const char *new_name(const MwFlat *flat, MwNameMap *taken, const char *word)
{
    const char *name = mw_intern(flat->interner, word);
    if (!mw_text_is_name(name) || mw_function_exists(name) || mw_name_is_predefined(name))
        word = mw_intern_printf(flat->interner, "%s_block", name);
    const char *base = name = mw_intern(flat->interner, word);
    intptr_t suffix = (intptr_t)mw_name_map_get(taken, base);
    while (mw_name_map_find(taken, name) || mw_function_exists(name))
        name = mw_intern_printf(flat->interner, "%s_%ld", word, (long)(++suffix + 1));
    *mw_name_map_add(taken, base) = (void *)suffix;
    mw_name_map_add(taken, name);
    return name;
}

void mw_blocks_name(MwClasses *classes)
{
    const MwFlat *flat = classes->flat;
    MwNameMap taken = {.arena = flat->arena};
    for (int c = 0; c < classes->classes.count; c++) {
        MwClass *class = &classes->classes.at[c];
        if (!class->is_block)
            continue;
        const char *word = shared_word(flat, class);
        word = word ? word : kind_of(flat, mw_class_unit(class));
        class->name = new_name(flat, &taken, word ? word : first_word(flat, class));
    }
}
