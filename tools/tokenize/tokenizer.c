/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/tokenizer.h"

#include "base/vec.h"
#include "runtime/data/json.h"
#include "tools/tokenize/alphabet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { MOST_DEPTH = 64 };

/* What splits text where ByteLevel has a pattern of its own: that of GPT-2. */
static const char gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static bool unsupported(MwFault *fault, const char *what, const MwTreeNode *type)
{
    const bool is_text = type && type->kind == MW_NODE_STRING;
    return mw_fault_set(fault, "%s '%.*s' is not supported", what,
                        is_text ? (int)mw_min((int64_t)type->bytes, 80) : 1,
                        is_text ? type->text : "?");
}

/* A field that must be absent, false, empty or 0. */
static bool refuse_set(const MwTreeNode *node, const char *what, const char *field, MwFault *fault)
{
    const MwTreeNode *value = mw_tree_get(node, field);
    const bool is_set = value && value->kind != MW_NODE_FALSE &&
                        !(value->kind == MW_NODE_STRING && value->bytes == 0) &&
                        !(value->kind == MW_NODE_NUMBER && atof(value->text) == 0);
    return !is_set || mw_fault_set(fault, "%s: its %s is not supported", what, field);
}

/* ---- The model ---- */

/* Tokens are in the vocabulary as the bytes that they stand for. Those with characters outside of
 * the alphabet never come of text and are left out. */
static bool add_token(MwArena *arena, MwTokenizer *tokenizer, const MwTreeNode *node,
                      MwFault *fault)
{
    int64_t token;
    if (!mw_tree_number(node, INT32_MAX, &token))
        return mw_fault_set(fault,
                            "model.vocab: the number of '%.80s' is not a whole number from 0 to %d",
                            node->key, INT32_MAX);
    char *bytes = mw_arena_alloc(arena, node->key_bytes + 1);
    const int64_t count = mw_alphabet_decode(node->key, node->key_bytes, bytes);
    if (count > 0)
        mw_vocabulary_add(&tokenizer->vocabulary, bytes, (size_t)count, (uint32_t)token);
    tokenizer->greatest_token = (uint32_t)mw_max((int64_t)tokenizer->greatest_token, token);
    return true;
}

/* The bytes of a merge, of which the first `*left` are those of its left part. */
typedef struct {
    char *bytes;
    int64_t left, count;
} Merge;

/* Splits "a b" or takes ["a", "b"]. */
static bool read_merge(MwArena *arena, const MwTreeNode *node, Merge *merge)
{
    const char *parts[2];
    size_t bytes[2];
    if (node->kind == MW_NODE_STRING) {
        const char *space = memchr(node->text, ' ', node->bytes);
        if (!space)
            return false;
        parts[0] = node->text;
        bytes[0] = (size_t)(space - node->text);
        parts[1] = space + 1;
        bytes[1] = node->bytes - bytes[0] - 1;
    } else if (node->kind == MW_NODE_ARRAY && node->count == 2 &&
               node->first->kind == MW_NODE_STRING && node->first->next->kind == MW_NODE_STRING) {
        parts[0] = node->first->text;
        bytes[0] = node->first->bytes;
        parts[1] = node->first->next->text;
        bytes[1] = node->first->next->bytes;
    } else {
        return false;
    }
    merge->bytes = mw_arena_alloc(arena, bytes[0] + bytes[1] + 1);
    merge->left = mw_alphabet_decode(parts[0], bytes[0], merge->bytes);
    if (merge->left <= 0)
        return false;
    const int64_t right = mw_alphabet_decode(parts[1], bytes[1], merge->bytes + merge->left);
    merge->count = merge->left + right;
    return right > 0;
}

static bool add_merge(MwArena *arena, MwTokenizer *tokenizer, const MwTreeNode *node, int rank,
                      MwFault *fault)
{
    Merge merge;
    if (!read_merge(arena, node, &merge))
        return mw_fault_set(fault, "model.merges[%d] is not \"a b\" or [\"a\", \"b\"] of bytes",
                            rank);
    const MwVocabulary *words = &tokenizer->vocabulary;
    const uint32_t left = mw_vocabulary_find(words, merge.bytes, (size_t)merge.left);
    const uint32_t right =
        mw_vocabulary_find(words, merge.bytes + merge.left, (size_t)(merge.count - merge.left));
    const uint32_t both = mw_vocabulary_find(words, merge.bytes, (size_t)merge.count);
    if (left == MW_NO_TOKEN || right == MW_NO_TOKEN || both == MW_NO_TOKEN)
        return mw_fault_set(fault,
                            "model.merges[%d]: its parts, or what they become, are not in the "
                            "vocabulary",
                            rank);
    mw_vocabulary_add_merge(&tokenizer->vocabulary, left, right, (MwMerge){(uint32_t)rank, both});
    return true;
}

static bool read_model(MwArena *arena, const MwTreeNode *model, MwTokenizer *tokenizer,
                       MwFault *fault)
{
    static const char *const unset[] = {"dropout", "continuing_subword_prefix",
                                        "end_of_word_suffix"};
    const MwTreeNode *vocab = mw_tree_get(model, "vocab"), *merges = mw_tree_get(model, "merges");
    const MwTreeNode *type = mw_tree_get(model, "type");
    if (!model)
        return mw_fault_set(fault, "it has no 'model': this is no tokenizer.json");
    if (type && !mw_tree_is(type, "BPE"))
        return unsupported(fault, "model.type", type);
    if (!vocab || vocab->kind != MW_NODE_OBJECT || !merges || merges->kind != MW_NODE_ARRAY)
        return mw_fault_set(fault, "model.vocab must be an object and model.merges an array");
    for (int i = 0; i < MW_COUNT(unset); i++)
        if (!refuse_set(model, "model", unset[i], fault))
            return false;
    tokenizer->ignore_merges = mw_tree_true(mw_tree_get(model, "ignore_merges"));
    tokenizer->vocabulary = mw_vocabulary(arena, vocab->count, merges->count);
    for (const MwTreeNode *at = vocab->first; at; at = at->next)
        if (!add_token(arena, tokenizer, at, fault))
            return false;
    int rank = 0;
    for (const MwTreeNode *at = merges->first; at; at = at->next)
        if (!add_merge(arena, tokenizer, at, rank++, fault))
            return false;
    return true;
}

/* ---- The normalizer ---- */

char *mw_normal_form(int normal_form, const char *text, size_t bytes, size_t *normal_bytes)
{
    utf8proc_uint8_t *normal = NULL;
    const utf8proc_ssize_t count =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)bytes, &normal,
                     (utf8proc_option_t)normal_form);
    *normal_bytes = (size_t)mw_max(count, 0);
    return count < 0 ? NULL : (char *)normal;
}

static bool read_normalizer(const MwTreeNode *node, MwTokenizer *tokenizer, MwFault *fault)
{
    static const struct {
        const char *type;
        int options;
    } forms[] = {{"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
                 {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
                 {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                 {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
    const MwTreeNode *type = mw_tree_get(node, "type"), *list = mw_tree_get(node, "normalizers");
    if (!node)
        return true;
    if (mw_tree_is(type, "Sequence") && list && list->kind == MW_NODE_ARRAY && list->count <= 1)
        return read_normalizer(list->first, tokenizer, fault);
    for (int i = 0; i < MW_COUNT(forms); i++)
        if (mw_tree_is(type, forms[i].type))
            tokenizer->normal_form = forms[i].options;
    return tokenizer->normal_form || unsupported(fault, "normalizer.type", type);
}

/* ---- The pre-tokenizer ---- */

static bool add_split(MwTokenizer *tokenizer, const char *pattern, size_t bytes, bool literal,
                      MwTextSplitKind kind, MwFault *fault)
{
    if (tokenizer->split_count == MW_MOST_SPLITS)
        return mw_fault_set(fault, "more than %d pre-tokenizers", MW_MOST_SPLITS);
    MwTextSplit *split = &tokenizer->splits[tokenizer->split_count];
    split->kind = kind;
    split->pattern = mw_pattern_new(pattern, bytes, literal, fault);
    tokenizer->split_count += split->pattern != NULL;
    return split->pattern || mw_fault_prefix(fault, "pre_tokenizer");
}

static bool read_split(const MwTreeNode *node, MwTokenizer *tokenizer, MwFault *fault)
{
    const MwTreeNode *pattern = mw_tree_get(node, "pattern");
    const MwTreeNode *regex = mw_tree_get(pattern, "Regex");
    const MwTreeNode *text = regex ? regex : mw_tree_get(pattern, "String");
    const MwTreeNode *behavior = mw_tree_get(node, "behavior");
    const bool inverted = mw_tree_true(mw_tree_get(node, "invert"));
    if (!text || text->kind != MW_NODE_STRING || text->bytes == 0)
        return mw_fault_set(fault, "pre_tokenizer: a Split has no pattern Regex or String");
    MwTextSplitKind kind = MW_SPLIT_ISOLATED;
    if (mw_tree_is(behavior, "Removed"))
        kind = inverted ? MW_SPLIT_MATCHES : MW_SPLIT_REMOVED;
    else if (!mw_tree_is(behavior, "Isolated"))
        return unsupported(fault, "pre_tokenizer: a Split's behavior", behavior);
    return add_split(tokenizer, text->text, text->bytes, !regex, kind, fault);
}

static bool read_byte_level(const MwTreeNode *node, MwTokenizer *tokenizer, MwFault *fault)
{
    const MwTreeNode *regex = mw_tree_get(node, "use_regex");
    tokenizer->prefix_space = mw_tree_true(mw_tree_get(node, "add_prefix_space"));
    tokenizer->prefix_split = tokenizer->split_count;
    return (regex && regex->kind == MW_NODE_FALSE) ||
           add_split(tokenizer, gpt2_pattern, strlen(gpt2_pattern), false, MW_SPLIT_ISOLATED,
                     fault);
}

/* Reads a pre-tokenizer; the last of all is ByteLevel. */
static bool read_pre_tokenizer(const MwTreeNode *node, bool is_last, MwTokenizer *tokenizer,
                               MwFault *fault)
{
    const MwTreeNode *type = mw_tree_get(node, "type"), *list = mw_tree_get(node, "pretokenizers");
    const bool is_single = mw_tree_true(mw_tree_get(node, "individual_digits"));
    if (mw_tree_is(type, "Sequence") && list && list->kind == MW_NODE_ARRAY && list->count) {
        for (const MwTreeNode *at = list->first; at; at = at->next)
            if (!read_pre_tokenizer(at, is_last && !at->next, tokenizer, fault))
                return false;
        return true;
    }
    const bool is_byte_level = mw_tree_is(type, "ByteLevel");
    if (is_last && is_byte_level)
        return read_byte_level(node, tokenizer, fault);
    if (is_last || is_byte_level)
        return mw_fault_set(fault, "pre_tokenizer: ByteLevel must be the last one, since only "
                                   "byte-level BPE is supported");
    if (mw_tree_is(type, "Split"))
        return read_split(node, tokenizer, fault);
    if (mw_tree_is(type, "Digits"))
        return add_split(tokenizer, is_single ? "\\p{N}" : "\\p{N}+", is_single ? 5 : 6, false,
                         MW_SPLIT_ISOLATED, fault);
    return unsupported(fault, "pre_tokenizer.type", type);
}

/* ---- Added tokens ---- */

static bool read_added_token(const MwTreeNode *node, int index, MwAddedToken *token, MwFault *fault)
{
    static const char *const unset[] = {"single_word", "lstrip", "rstrip"};
    const MwTreeNode *content = mw_tree_get(node, "content");
    char what[32];
    int64_t number;
    snprintf(what, sizeof what, "added_tokens[%d]", index);
    if (!content || content->kind != MW_NODE_STRING || content->bytes > UINT16_MAX ||
        !mw_tree_number(mw_tree_get(node, "id"), INT32_MAX, &number))
        return mw_fault_set(fault, "%s has no 'content', or no 'id' from 0 to %d", what, INT32_MAX);
    for (int i = 0; i < MW_COUNT(unset); i++)
        if (!refuse_set(node, what, unset[i], fault))
            return false;
    *token = (MwAddedToken){content->text, (uint32_t)content->bytes, (uint32_t)number};
    return true;
}

/* A token that is found in normalized text is looked for in its normalized form. */
static bool normalize_token(MwArena *arena, int normal_form, MwAddedToken *token, MwFault *fault)
{
    size_t bytes;
    if (!normal_form)
        return true;
    char *normal = mw_normal_form(normal_form, token->text, token->bytes, &bytes);
    if (!normal)
        return mw_fault_set(fault, "added token '%.80s': it cannot be normalized", token->text);
    token->text = mw_arena_strndup(arena, normal, bytes);
    token->bytes = (uint32_t)bytes;
    free(normal);
    return true;
}

static bool read_added(MwArena *arena, const MwTreeNode *list, MwTokenizer *tokenizer,
                       MwFault *fault)
{
    MW_VEC(MwAddedToken) plain = {0}, normal = {0};
    int index = 0;
    if (list && list->kind != MW_NODE_ARRAY)
        return mw_fault_set(fault, "added_tokens is no array");
    for (const MwTreeNode *at = list ? list->first : NULL; at; at = at->next, index++) {
        MwAddedToken token;
        if (!read_added_token(at, index, &token, fault))
            return false;
        tokenizer->greatest_token =
            (uint32_t)mw_max((int64_t)tokenizer->greatest_token, (int64_t)token.token);
        const bool is_normal = mw_tree_true(mw_tree_get(at, "normalized"));
        if (is_normal && !normalize_token(arena, tokenizer->normal_form, &token, fault))
            return false;
        if (token.bytes && is_normal)
            mw_vec_push(arena, &normal, token);
        else if (token.bytes)
            mw_vec_push(arena, &plain, token);
    }
    tokenizer->added = mw_added(arena, plain.at, plain.count);
    tokenizer->added_normal = mw_added(arena, normal.at, normal.count);
    return true;
}

/* ---- The whole ---- */

bool mw_tokenizer_read(MwArena *arena, const char *name, const char *text, size_t bytes,
                       MwTokenizer *tokenizer, MwFault *fault)
{
    *tokenizer = (MwTokenizer){0};
    const MwTreeNode *root = mw_json_tree(arena, name, text, bytes, MOST_DEPTH, fault);
    if (!root)
        return false;
    if (!read_model(arena, mw_tree_get(root, "model"), tokenizer, fault) ||
        !read_normalizer(mw_tree_get(root, "normalizer"), tokenizer, fault) ||
        !read_pre_tokenizer(mw_tree_get(root, "pre_tokenizer"), true, tokenizer, fault) ||
        !read_added(arena, mw_tree_get(root, "added_tokens"), tokenizer, fault)) {
        mw_tokenizer_close(tokenizer);
        return mw_fault_prefix(fault, "%s", name);
    }
    return true;
}

void mw_tokenizer_close(MwTokenizer *tokenizer)
{
    for (int i = 0; i < tokenizer->split_count; i++)
        mw_pattern_free(&tokenizer->splits[i].pattern);
    tokenizer->split_count = 0;
}

uint32_t mw_tokenizer_token(const MwTokenizer *tokenizer, const char *text)
{
    const size_t bytes = strlen(text);
    const MwVocabulary *const tables[] = {&tokenizer->added.texts, &tokenizer->added_normal.texts,
                                          &tokenizer->vocabulary};
    for (int i = 0; i < MW_COUNT(tables); i++) {
        const uint32_t token = mw_vocabulary_find(tables[i], text, bytes);
        if (token != MW_NO_TOKEN)
            return token;
    }
    return MW_NO_TOKEN;
}
