/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/names.h"

#include "frontend/syntax/parse.h"
#include "frontend/terms/names.h"

#include <ctype.h>
#include <string.h>

enum { MAX_PATH_BYTES = 1000 };

static const char scopes_key[] = "pkg.torch.onnx.name_scopes";

const char *mw_onnx_clean_name(MwInterner *interner, const char *text)
{
    char name[MAX_PATH_BYTES + 8];
    size_t length = 0;
    if (isdigit((unsigned char)*text))
        name[length++] = '_';
    for (; *text && length < MAX_PATH_BYTES; text++) {
        const char c = *text;
        const bool separates = c == '.' || c == '/';
        if (separates && length > 0 && name[length - 1] != '.')
            name[length++] = '.';
        else if (!separates)
            name[length++] = isalnum((unsigned char)c) ? c : '_';
    }
    while (length > 0 && name[length - 1] == '.')
        length--;
    name[length] = '\0';
    if (length == 0 || !mw_text_is_name(name) || mw_name_is_predefined(name))
        strcat(name, "_");
    return mw_intern(interner, name);
}

/* The last but one of the quoted texts of a list such as ['', 'h.0', 'h.0.attn', 'view'], as the
 * exporter writes it. */
static const char *module_of_scopes(MwInterner *interner, const char *scopes)
{
    const char *begin[2] = {NULL, NULL};
    size_t length[2] = {0, 0};
    while ((scopes = strchr(scopes, '\''))) {
        const char *end = strchr(++scopes, '\'');
        if (!end)
            break;
        begin[0] = begin[1];
        length[0] = length[1];
        begin[1] = scopes;
        length[1] = (size_t)(end - scopes);
        scopes = end + 1;
    }
    if (!begin[0] || length[0] == 0)
        return "";
    return mw_onnx_clean_name(interner, mw_intern_n(interner, begin[0], length[0]));
}

/* "/features/features.1/block/block.0/Conv": features.1.block.0. A part that begins with the one
 * before stands for both, as names of elements of a sequence do. */
static const char *module_of_path(MwInterner *interner, const char *path)
{
    char module[MAX_PATH_BYTES];
    size_t length = 0, last = 0; /* of the path so far, and where its last part begins */
    for (const char *part = path + 1, *end; (end = strchr(part, '/')); part = end + 1) {
        const size_t bytes = (size_t)(end - part), before = length - last;
        if (length + bytes + 2 > sizeof module)
            break;
        const bool extends = before > 0 && bytes > before && part[before] == '.' &&
                             strncmp(part, module + last, before) == 0;
        if (extends) {
            length = last;
        } else if (length > 0) {
            module[length++] = '.';
            last = length;
        }
        memcpy(module + length, part, bytes);
        length += bytes;
    }
    if (length == 0)
        return "";
    return mw_onnx_clean_name(interner, mw_intern_n(interner, module, length));
}

const char *mw_onnx_module(MwInterner *interner, const MwOnnxNode *node)
{
    const MwOnnx__NodeProto *proto = node->proto;
    for (size_t i = 0; i < proto->n_metadata_props; i++) {
        const MwOnnx__StringEntry *entry = proto->metadata_props[i];
        if (entry->key && entry->value && strcmp(entry->key, scopes_key) == 0)
            return module_of_scopes(interner, entry->value);
    }
    if (proto->name && *proto->name == '/')
        return module_of_path(interner, proto->name);
    const MwOnnxValue *first = mw_onnx_input(node, 0);
    return first && first->producer ? first->producer->module : "";
}

const char *mw_onnx_common_module(MwInterner *interner, const char *a, const char *b)
{
    size_t common = 0, i = 0;
    if (!a)
        return b;
    for (; a[i] && a[i] == b[i]; i++)
        if (a[i] == '.')
            common = i;
    if ((!a[i] || a[i] == '.') && (!b[i] || b[i] == '.'))
        common = i;
    return mw_intern_n(interner, a, common);
}

/* Names of values that the exporter of PyTorch computes beforehand: those of its functions. */
static const char *const made_up[] = {
    "val",         "scalar_tensor", "Constant", "const",     "_to_copy", "unsqueeze", "squeeze",
    "cos",         "sin",           "mul",      "add",       "sub",      "div",       "cat",
    "expand",      "view",          "reshape",  "transpose", "permute",  "where",     "clone",
    "arange",      "slice",         "select",   "full",      "zeros",    "ones",      "pow",
    "neg",         "exp",           "log",      "matmul",    "bmm",      "index",     "cumsum",
    "einsum",      "rsqrt",         "sqrt",     "repeat",    "stack",    "tril",      "triu",
    "masked_fill", "outer",
};

bool mw_onnx_is_given_name(const char *name)
{
    if (strstr(name, "::") || strchr(name, '/') || isdigit((unsigned char)*name))
        return false;
    if (strchr(name, '.'))
        return true;
    size_t length = strlen(name); /* without a number at its end */
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    length -= length > 0 && name[length - 1] == '_';
    for (int i = 0; i < MW_COUNT(made_up); i++)
        if (strlen(made_up[i]) == length && strncmp(made_up[i], name, length) == 0)
            return false;
    return true;
}
