/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/json_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum { MOST_DEPTH = 64 };

typedef struct {
    MwArena *arena;
    MwTreeNode *open[MOST_DEPTH]; /* [depth] arrays and objects, and the last element of each */
    MwTreeNode *last[MOST_DEPTH];
    int depth;
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
    MwTreeNode *parent = builder->open[builder->depth - 1];
    MwTreeNode **last = &builder->last[builder->depth - 1];
    if (*last)
        (*last)->next = node;
    else
        parent->first = node;
    *last = node;
    parent->count++;
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
    builder->is_deep = builder->depth == MOST_DEPTH;
    if (builder->is_deep)
        return 0;
    MwTreeNode *node = add(builder, kind, NULL, 0);
    builder->open[builder->depth] = node;
    builder->last[builder->depth++] = NULL;
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
        mw_fault_set(fault, "%s: more than %d arrays and objects in one another", name, MOST_DEPTH);
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
                               MwFault *fault)
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
    Builder builder = {.arena = arena};
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
