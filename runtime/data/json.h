/* SPDX-License-Identifier: MIT */
/* JSON: a document of an untrusted file as a tree in an arena, by libyajl's parser; strings, as a
 * new document has them. */
#ifndef MW_RUNTIME_DATA_JSON_H
#define MW_RUNTIME_DATA_JSON_H

#include "base/arena.h"
#include "base/text.h"
#include "runtime/exec/fault.h"

typedef enum {
    MW_NODE_NULL,
    MW_NODE_FALSE,
    MW_NODE_TRUE,
    MW_NODE_NUMBER,
    MW_NODE_STRING,
    MW_NODE_ARRAY,
    MW_NODE_OBJECT
} MwNodeKind;

typedef struct MwTreeNode MwTreeNode;
struct MwTreeNode {
    MwNodeKind kind;
    const char *text; /* [bytes] and a NUL: of a string, decoded, or of a number, as written */
    size_t bytes;
    const char *key; /* [key_bytes] and a NUL, in an object; NULL: in an array, or the document */
    size_t key_bytes;
    const MwTreeNode *first, *next; /* its first element, and the element after it */
    int count;                      /* of its elements */
};

/* Parses a document of at most `most_depth` arrays and objects in one another. `name` is that of
 * the file, for messages. NULL after a fault. An element takes some 80 bytes besides its text. */
const MwTreeNode *mw_json_tree(MwArena *arena, const char *name, const char *text, size_t bytes,
                               int most_depth, MwFault *fault);
/* The last element with a key; NULL: there is none, it is null, or `node` is no object. */
const MwTreeNode *mw_tree_get(const MwTreeNode *node, const char *key);
/* Whether a node is a string of this text. NULL is none. */
bool mw_tree_is(const MwTreeNode *node, const char *text);
/* Whether a node is there and true. */
bool mw_tree_true(const MwTreeNode *node);
/* The value of a whole number in [0, most]; false where the node is none. */
bool mw_tree_number(const MwTreeNode *node, int64_t most, int64_t *number);

/* Adds a text as a JSON string, in quotes. */
void mw_json_add_string(MwText *text, const char *value);

#endif
