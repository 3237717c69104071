/* SPDX-License-Identifier: MIT */
#include "runtime/data/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

typedef struct {
    MwTreeNode *node, *last; /* an array or object, and its last element so far */
} Level;

typedef struct {
    MwArena *arena;
    Level *open; /* [depth], room for most_depth */
    int depth, most_depth;
    MwTreeNode *root;
    const char *key; /* of the next element */
    size_t key_bytes;
    bool is_deep;
} Builder;

static MwTreeNode *add(Builder *builder, MwNodeKind kind, const char *text, size_t bytes)
{
    MwTreeNode *node = MW_NEW(builder->arena, MwTreeNode, 1);
    *node = (MwTreeNode){.kind = kind,
                         .text = text ? mw_arena_strndup(builder->arena, text, bytes) : NULL,
                         .bytes = bytes,
                         .key = builder->key,
                         .key_bytes = builder->key_bytes};
    builder->key = NULL;
    if (builder->depth == 0) {
        builder->root = node;
        return node;
    }
    Level *level = &builder->open[builder->depth - 1];
    if (level->last)
        level->last->next = node;
    else
        level->node->first = node;
    level->last = node;
    level->node->count++;
    return node;
}

static int on_null(void *builder)
{
    add(builder, MW_NODE_NULL, NULL, 0);
    return 1;
}

static int on_boolean(void *builder, int value)
{
    add(builder, value ? MW_NODE_TRUE : MW_NODE_FALSE, NULL, 0);
    return 1;
}

static int on_number(void *builder, const char *text, size_t bytes)
{
    add(builder, MW_NODE_NUMBER, text, bytes);
    return 1;
}

static int on_string(void *builder, const unsigned char *text, size_t bytes)
{
    add(builder, MW_NODE_STRING, (const char *)text, bytes);
    return 1;
}

static int on_key(void *context, const unsigned char *text, size_t bytes)
{
    Builder *builder = context;
    builder->key = mw_arena_strndup(builder->arena, (const char *)text, bytes);
    builder->key_bytes = bytes;
    return 1;
}

static int begin(Builder *builder, MwNodeKind kind)
{
    builder->is_deep = builder->depth == builder->most_depth;
    if (builder->is_deep)
        return 0;
    MwTreeNode *node = add(builder, kind, NULL, 0);
    builder->open[builder->depth++] = (Level){.node = node};
    return 1;
}

static int on_object(void *builder)
{
    return begin(builder, MW_NODE_OBJECT);
}

static int on_array(void *builder)
{
    return begin(builder, MW_NODE_ARRAY);
}

static int on_end(void *builder)
{
    ((Builder *)builder)->depth--;
    return 1;
}

/* Says what yajl found wrong, in one line. */
static void set_fault(yajl_handle parser, const Builder *builder, const char *name,
                      const char *text, size_t bytes, MwFault *fault)
{
    if (builder->is_deep) {
        mw_fault_set(fault, "%s: more than %d arrays and objects in one another", name,
                     builder->most_depth);
        return;
    }
    const size_t at = mw_min((int64_t)yajl_get_bytes_consumed(parser), (int64_t)bytes);
    int line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    unsigned char *message = yajl_get_error(parser, 0, NULL, 0);
    message[strcspn((char *)message, "\n")] = '\0';
    mw_fault_set(fault, "%s:%d: this is not JSON: %s", name, line, (char *)message);
    yajl_free_error(parser, message);
}

const MwTreeNode *mw_json_tree(MwArena *arena, const char *name, const char *text, size_t bytes,
                               int most_depth, MwFault *fault)
{
    static const yajl_callbacks callbacks = {.yajl_null = on_null,
                                             .yajl_boolean = on_boolean,
                                             .yajl_number = on_number,
                                             .yajl_string = on_string,
                                             .yajl_start_map = on_object,
                                             .yajl_map_key = on_key,
                                             .yajl_end_map = on_end,
                                             .yajl_start_array = on_array,
                                             .yajl_end_array = on_end};
    Builder builder = {
        .arena = arena, .open = MW_NEW(arena, Level, most_depth), .most_depth = most_depth};
    yajl_handle parser = yajl_alloc(&callbacks, NULL, &builder);
    const bool good = yajl_parse(parser, (const unsigned char *)text, bytes) == yajl_status_ok &&
                      yajl_complete_parse(parser) == yajl_status_ok;
    if (!good)
        set_fault(parser, &builder, name, text, bytes, fault);
    yajl_free(parser);
    return good ? builder.root : NULL;
}

const MwTreeNode *mw_tree_get(const MwTreeNode *node, const char *key)
{
    const MwTreeNode *found = NULL;
    for (const MwTreeNode *at = node && node->kind == MW_NODE_OBJECT ? node->first : NULL; at;
         at = at->next)
        if (at->key_bytes == strlen(key) && memcmp(at->key, key, at->key_bytes) == 0)
            found = at;
    return found && found->kind != MW_NODE_NULL ? found : NULL;
}

bool mw_tree_is(const MwTreeNode *node, const char *text)
{
    return node && node->kind == MW_NODE_STRING && node->bytes == strlen(text) &&
           memcmp(node->text, text, node->bytes) == 0;
}

bool mw_tree_true(const MwTreeNode *node)
{
    return node && node->kind == MW_NODE_TRUE;
}

bool mw_tree_number(const MwTreeNode *node, int64_t most, int64_t *number)
{
    char *end;
    if (!node || node->kind != MW_NODE_NUMBER)
        return false;
    errno = 0;
    *number = strtoll(node->text, &end, 10);
    return !*end && !errno && *number >= 0 && *number <= most;
}

void mw_json_add_string(MwText *text, const char *value)
{
    mw_text_add(text, "\"");
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            mw_text_printf(text, "\\%c", *c);
        else if ((unsigned char)*c < ' ')
            mw_text_printf(text, "\\u%04x", (unsigned char)*c);
        else
            mw_text_add_n(text, c, 1);
    }
    mw_text_add(text, "\"");
}
