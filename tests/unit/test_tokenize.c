/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of tricky texts are those of the package `tokenizers`, in whatever pieces the text comes;
 * tokenizers that ask for more than there is are refused by name. The files are made by
 * tests/tools/tokenizers/make. */
#include "base/file.h"
#include "runtime/data/json.h"
#include "tests/unit/support.h"
#include "tools/tokenize/bpe.h"
#include "tools/tokenize/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER SOURCE_ROOT "/tests/tools/tokenizers/data"

static MwArena *arena;

static void setup(void)
{
    arena = mw_arena_new();
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

static const char *const names[] = {"gpt2",  "prefix",    "llama3",  "qwen2",
                                    "o200k", "starcoder", "removed", "behind"};

static const MwTreeNode *tree(const char *name)
{
    MwFault fault;
    size_t bytes;
    const char *path = mw_arena_printf(arena, FOLDER "/%s", name);
    const char *text = mw_file_read(arena, path, &bytes);
    ck_assert_msg(text, "%s", path);
    const MwTreeNode *node = mw_json_tree(arena, path, text, bytes, 2, &fault);
    ck_assert_msg(node, "%s", fault.text);
    return node;
}

static MwTokenizer tokenizer_of(const char *text, size_t bytes)
{
    MwTokenizer tokenizer;
    MwFault fault;
    ck_assert_msg(mw_tokenizer_read(arena, "t.json", text, bytes, &tokenizer, &fault), "%s",
                  fault.text);
    return tokenizer;
}

static MwTokenizer tokenizer_named(const char *name)
{
    size_t bytes;
    const char *text = mw_file_read(arena, mw_arena_printf(arena, FOLDER "/%s.json", name), &bytes);
    ck_assert_ptr_nonnull(text);
    return tokenizer_of(text, bytes);
}

enum { MOST_TOKENS = 10000 };

typedef struct {
    uint32_t at[MOST_TOKENS];
    int64_t count;
} Tokens;

static bool take(void *context, const uint32_t *tokens, int64_t count, MwFault *fault)
{
    Tokens *taken = context;
    (void)fault;
    ck_assert_int_le(taken->count + count, MOST_TOKENS);
    memcpy(taken->at + taken->count, tokens, sizeof *tokens * (size_t)count);
    taken->count += count;
    return true;
}

/* Encodes a document that comes in pieces of so many bytes. */
static void encode(MwEncoder *encoder, const char *text, size_t bytes, size_t piece)
{
    MwFault fault;
    for (size_t at = 0, part; at < bytes; at += part) {
        part = (size_t)mw_min((int64_t)piece, (int64_t)(bytes - at));
        ck_assert_msg(mw_encoder_add(encoder, text + at, part, false, &fault), "%s", fault.text);
    }
    ck_assert_msg(mw_encoder_add(encoder, "", 0, true, &fault), "%s", fault.text);
}

static void check_tokens(const Tokens *found, const MwTreeNode *expected, const MwTreeNode *text)
{
    int64_t i = 0, token;
    for (const MwTreeNode *at = expected->first; at; at = at->next, i++) {
        ck_assert(mw_tree_number(at, INT32_MAX, &token));
        ck_assert_msg(i < found->count && found->at[i] == (uint32_t)token,
                      "token %d of '%s' is %d and should be %d (%d of %d)", (int)i, text->text,
                      i < found->count ? (int)found->at[i] : -1, (int)token, (int)found->count,
                      expected->count);
    }
    ck_assert_msg(found->count == i, "'%s' has %d tokens and should have %d", text->text,
                  (int)found->count, (int)i);
}

START_TEST(tokens_are_those_of_tokenizers)
{
    static const size_t pieces[] = {1, 2, 3, 7, 64, 1 << 20};
    MwTokenizer tokenizer = tokenizer_named(names[_i]);
    const MwTreeNode *texts = tree("texts.json");
    const MwTreeNode *tokens = tree(mw_arena_printf(arena, "%s.ids.json", names[_i]));
    ck_assert_int_eq(texts->count, tokens->count);
    Tokens found;
    MwEncoder *encoder = mw_encoder_new(&tokenizer, take, &found);
    for (int p = 0; p < MW_COUNT(pieces); p++) {
        const MwTreeNode *expected = tokens->first;
        for (const MwTreeNode *text = texts->first; text; text = text->next) {
            found.count = 0;
            encode(encoder, text->text, text->bytes, pieces[p]);
            check_tokens(&found, expected, text);
            expected = expected->next;
        }
    }
    ck_assert_int_eq(mw_encoder_replaced(encoder), 0);
    mw_encoder_free(&encoder);
    mw_tokenizer_close(&tokenizer);
}
END_TEST

/* Bytes that are no UTF-8, and the text that they are read as. */
static const struct {
    const char *bytes, *text;
    int replaced;
} broken[] = {
    {"a\xff"
     "b",
     "a\uFFFDb", 1},
    {"\xc3", "\uFFFD", 1},
    {"\xc3(", "\uFFFD(", 1},
    {"\xe2\x82", "\uFFFD", 1},
    {"\xe2\x82z", "\uFFFDz", 1},
    {"\xe2(\xa1", "\uFFFD(\uFFFD", 2},
    {"\xf0\x9f\x98", "\uFFFD", 1},
    {"\xf0\x9f\x98\x80\xf0\x9f", "\U0001F600\uFFFD", 1},
    {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD", 3}, /* a surrogate */
    {"\xc0\xaf\xe0\x80\xaf", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD", 5},
    {"\xf4\x90\x80\x80\xf8", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD", 5},
    {"\x80\xbf", "\uFFFD\uFFFD", 2},
};

START_TEST(bytes_that_are_no_text_are_replaced)
{
    MwTokenizer tokenizer = tokenizer_named("qwen2");
    Tokens expected = {.count = 0};
    MwEncoder *encoder = mw_encoder_new(&tokenizer, take, &expected);
    encode(encoder, broken[_i].text, strlen(broken[_i].text), 100);
    mw_encoder_free(&encoder);
    for (size_t piece = 1; piece < 8; piece++) {
        Tokens found = {.count = 0};
        encoder = mw_encoder_new(&tokenizer, take, &found);
        encode(encoder, broken[_i].bytes, strlen(broken[_i].bytes), piece);
        ck_assert_int_eq(mw_encoder_replaced(encoder), broken[_i].replaced);
        ck_assert_int_eq(found.count, expected.count);
        ck_assert_mem_eq(found.at, expected.at, sizeof *found.at * (size_t)found.count);
        mw_encoder_free(&encoder);
    }
    mw_tokenizer_close(&tokenizer);
}
END_TEST

/* The definition: merge the leftmost pair of the lowest rank until there is none. */
static int64_t merge_plainly(const MwVocabulary *vocabulary, uint32_t *tokens, int64_t count)
{
    for (;;) {
        MwMerge best = {MW_NO_TOKEN, MW_NO_TOKEN};
        int64_t at = 0;
        for (int64_t i = 0; i + 1 < count; i++) {
            const MwMerge merge = mw_vocabulary_merge(vocabulary, tokens[i], tokens[i + 1]);
            if (merge.rank < best.rank) {
                best = merge;
                at = i;
            }
        }
        if (best.rank == MW_NO_TOKEN)
            return count;
        tokens[at] = best.token;
        count--;
        memmove(tokens + at + 1, tokens + at + 2, sizeof *tokens * (size_t)(count - at - 1));
    }
}

START_TEST(words_of_any_length_merge_by_rank)
{
    static const char letters[] = "aaabbcd";
    MwTokenizer tokenizer = tokenizer_named("gpt2");
    MwBpe *bpe = mw_bpe_new(&tokenizer.vocabulary, false);
    uint64_t state = (uint64_t)_i;
    for (int round = 0; round < tried(400); round++) {
        char word[200];
        uint32_t expected[200];
        const uint32_t *tokens;
        unsigned char missing;
        const int64_t bytes = 1 + round % 200;
        for (int64_t i = 0; i < bytes; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            word[i] = _i ? letters[state >> 33 & 7 ? (state >> 36) % 7 : 0]
                         : "theoing r"[(state >> 40) % 9];
            expected[i] = mw_vocabulary_find(&tokenizer.vocabulary, word + i, 1);
        }
        const int64_t count = mw_bpe_word(bpe, word, (size_t)bytes, &tokens, &missing);
        ck_assert_int_eq(count, merge_plainly(&tokenizer.vocabulary, expected, bytes));
        ck_assert_mem_eq(tokens, expected, sizeof *tokens * (size_t)count);
    }
    mw_bpe_free(&bpe);
    mw_tokenizer_close(&tokenizer);
}
END_TEST

/* Parts of a tokenizer.json: the model; all else. */
#define BYTES "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}"
#define MODEL "\"model\":{\"type\":\"BPE\"," BYTES ",\"merges\":[\"a b\"]}"
#define LEVEL "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define SPLIT(pattern)                                                                             \
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","             \
    "\"pattern\":{\"Regex\":\"" pattern "\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\","  \
    "\"use_regex\":false}]}"

static const struct {
    const char *text, *message; /* NULL: it is read */
} files[] = {
    {"{" MODEL "," LEVEL "}", NULL},
    {"", "this is not JSON"},
    {"{" MODEL "," LEVEL, "this is not JSON"},
    {"[]", "it has no 'model'"},
    {"{" LEVEL "}", "it has no 'model'"},
    {"{\"model\":{\"type\":\"Unigram\"}}", "t.json: model.type 'Unigram' is not supported"},
    {"{\"model\":{\"type\":\"BPE\"}}", "model.vocab must be an object and model.merges an array"},
    {"{\"model\":{" BYTES ",\"merges\":[\"ab\"]}}", "model.merges[0] is not"},
    {"{\"model\":{" BYTES ",\"merges\":[[\"a\"]]}}", "model.merges[0] is not"},
    {"{\"model\":{" BYTES ",\"merges\":[\"a \"]}}", "model.merges[0] is not"},
    {"{\"model\":{" BYTES ",\"merges\":[7]}}", "model.merges[0] is not"},
    {"{\"model\":{" BYTES ",\"merges\":[\"a b\",\"b a\"]}}",
     "model.merges[1]: its parts, or what they become, are not in the vocabulary"},
    {"{\"model\":{\"vocab\":{\"a\":-1},\"merges\":[]}}", "the number of 'a' is not a whole number"},
    {"{\"model\":{\"vocab\":{\"a\":1.5},\"merges\":[]}}",
     "the number of 'a' is not a whole number"},
    {"{\"model\":{\"vocab\":{\"a\":99999999999},\"merges\":[]}}", "is not a whole number from 0"},
    {"{\"model\":{\"dropout\":0.1," BYTES ",\"merges\":[]}}", "its dropout is not supported"},
    {"{\"model\":{\"end_of_word_suffix\":\"</w>\"," BYTES ",\"merges\":[]}}",
     "its end_of_word_suffix is not supported"},
    {"{" MODEL "}", "ByteLevel must be the last one"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Metaspace\"}}", "ByteLevel must be the last one"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
     "\"Whitespace\"},{\"type\":\"ByteLevel\"}]}}",
     "pre_tokenizer.type 'Whitespace' is not supported"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
     "\"pattern\":{\"String\":\" \"},\"behavior\":\"MergedWithNext\"},{\"type\":\"ByteLevel\"}]}}",
     "behavior 'MergedWithNext' is not supported"},
    {"{" MODEL "," SPLIT("\\\\w+|(?<!x)y") "}", "its construct '\\w' is not supported"},
    {"{" MODEL "," SPLIT("a{2}+") "}", "its construct '}+' is not supported"},
    {"{" MODEL "," SPLIT("[a&&b]") "}", "its construct '&&' is not supported"},
    {"{" MODEL "," SPLIT("[[:alpha:]]") "}", "its construct '[' is not supported"},
    {"{" MODEL "," SPLIT("(?<n>a)") "}", "its construct '(?<' is not supported"},
    {"{" MODEL "," SPLIT("(a") "}", "the pattern '(a': missing closing parenthesis"},
    {"{" MODEL "," SPLIT("a*") "}", "it matches the empty text"},
    {"{" MODEL "," SPLIT("\\\\p{Klingon}") "}", "unknown property"},
    {"{" MODEL "," SPLIT("(?<=a)b|(?=c).|\\\\p{Han}|[^\\\\s]") "}", NULL},
    {"{" MODEL "," LEVEL ",\"normalizer\":{\"type\":\"Lowercase\"}}",
     "normalizer.type 'Lowercase' is not supported"},
    {"{" MODEL "," LEVEL ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":"
     "\"NFC\"},{\"type\":\"NFD\"}]}}",
     "normalizer.type 'Sequence' is not supported"},
    {"{" MODEL "," LEVEL ",\"added_tokens\":[{\"id\":3,\"content\":\"x\",\"lstrip\":true}]}",
     "added_tokens[0]: its lstrip is not supported"},
    {"{" MODEL "," LEVEL ",\"added_tokens\":[{\"content\":\"x\"}]}", "added_tokens[0] has no"},
    {"{" MODEL "," LEVEL ",\"added_tokens\":7}", "added_tokens is no array"},
};

START_TEST(what_is_not_supported_is_named)
{
    MwTokenizer tokenizer;
    MwFault fault = {0};
    const char *text = files[_i].text;
    const bool good = mw_tokenizer_read(arena, "t.json", text, strlen(text), &tokenizer, &fault);
    ck_assert_msg(good == !files[_i].message, "%s", fault.text);
    if (good)
        mw_tokenizer_close(&tokenizer);
    else
        ck_assert_msg(strstr(fault.text, files[_i].message), "%s", fault.text);
}
END_TEST

START_TEST(deep_documents_are_refused)
{
    char text[200];
    MwFault fault;
    memset(text, '[', sizeof text);
    ck_assert_ptr_null(mw_json_tree(arena, "deep", text, sizeof text, 64, &fault));
    ck_assert_str_eq(fault.text, "deep: more than 64 arrays and objects in one another");
}
END_TEST

/* Encodes a text that cannot be, to be told why. */
static void refuses(const char *file, const char *text, size_t bytes, const char *message)
{
    MwTokenizer tokenizer = tokenizer_of(file, strlen(file));
    Tokens found = {.count = 0};
    MwEncoder *encoder = mw_encoder_new(&tokenizer, take, &found);
    MwFault fault;
    ck_assert(!mw_encoder_add(encoder, text, bytes, true, &fault));
    ck_assert_msg(strstr(fault.text, message), "%s", fault.text);
    mw_encoder_free(&encoder);
    mw_tokenizer_close(&tokenizer);
}

START_TEST(texts_that_cannot_be_encoded_are_refused)
{
    const size_t bytes = MW_MOST_WORD_BYTES + 1;
    char *word = mw_arena_alloc(arena, bytes);
    memset(word, 'a', bytes);
    refuses("{" MODEL "," LEVEL "}", word, bytes, "a word of the text has more than 4 MiB");
    refuses("{" MODEL "," LEVEL "}", "abc", 3, "has no token for the byte 0x63 of 'abc'");
    memset(word, 'b', bytes);
    refuses("{" MODEL "," SPLIT("(a?){18}a{18}|(b+)+c") "}", word, 100, "cannot be matched");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokenize");
    TCase *tests = tcase_create("tokenize");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, tokens_are_those_of_tokenizers, 0, MW_COUNT(names));
    tcase_add_loop_test(tests, bytes_that_are_no_text_are_replaced, 0, MW_COUNT(broken));
    tcase_add_loop_test(tests, words_of_any_length_merge_by_rank, 0, 2);
    tcase_add_loop_test(tests, what_is_not_supported_is_named, 0, MW_COUNT(files));
    tcase_add_test(tests, deep_documents_are_refused);
    tcase_add_test(tests, texts_that_cannot_be_encoded_are_refused);
    return run_suite(suite);
}
