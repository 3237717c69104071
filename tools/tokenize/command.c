/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright tokenize --tokenizer tokenizer.json TEXT... -o corpus.bin`. */
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/tokenize/documents.h"
#include "tools/tokenize/encoder.h"
#include "tools/tokenize/token_file.h"

#include "base/file.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    MwArena *arena;
    const char *tokenizer, *output;
    const char *begin, *end; /* tokens of every document; NULL: none */
    MwDocumentKind kind;
    const char *field;
    MW_VEC(const char *) texts;
} Options;

enum { OPTION_END = 256, OPTION_BEGIN, OPTION_DOCUMENT };

static const struct argp_option option_list[] = {
    {"tokenizer", 't', "FILE", 0, "The tokenizer.json", 0},
    {"output", 'o', "FILE", 0, "Write the tokens to FILE", 0},
    {"end-of-text", OPTION_END, "TOKEN", 0, "A token after every document, e.g. <|endoftext|>", 0},
    {"begin-of-text", OPTION_BEGIN, "TOKEN", 0, "A token before every document", 0},
    {"document", OPTION_DOCUMENT, "file|line|json:FIELD", 0,
     "What a document is: a whole file (default), a line, or the text of a field of the JSON "
     "object "
     "in a line",
     0},
    {0}};

static void parse_kind(Options *options, const struct argp_state *state, const char *text)
{
    if (strcmp(text, "file") == 0) {
        options->kind = MW_DOCUMENT_FILE;
    } else if (strcmp(text, "line") == 0) {
        options->kind = MW_DOCUMENT_LINE;
    } else if (strncmp(text, "json:", 5) == 0 && text[5]) {
        options->kind = MW_DOCUMENT_JSON;
        options->field = text + 5;
    } else {
        argp_error(state, "a document is file, line or json:FIELD, not '%s'", text);
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *options = state->input;
    switch (key) {
    case 't':
        options->tokenizer = arg;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case OPTION_END:
        options->end = arg;
        return 0;
    case OPTION_BEGIN:
        options->begin = arg;
        return 0;
    case OPTION_DOCUMENT:
        parse_kind(options, state, arg);
        return 0;
    case ARGP_KEY_ARG:
        mw_vec_push(options->arena, &options->texts, arg);
        return 0;
    case ARGP_KEY_END:
        if (!options->tokenizer)
            argp_error(state, "which tokenizer? Say --tokenizer FILE");
        if (!options->output)
            argp_error(state, "where do the tokens go? Say -o FILE");
        if (!options->texts.count)
            argp_error(state, "which text? Name files, or - for standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What documents are encoded by and into. */
typedef struct {
    MwEncoder *encoder;
    MwTokenFile *file;
    uint32_t begin, end; /* MW_NO_TOKEN: none */
    bool is_open;        /* a document has begun */
    int64_t documents;
} Corpus;

static bool take_tokens(void *file, const uint32_t *tokens, int64_t count, MwFault *fault)
{
    return mw_token_file_add(file, tokens, count, fault);
}

static bool take_text(void *context, const char *text, size_t bytes, bool is_end, MwFault *fault)
{
    Corpus *corpus = context;
    if (!corpus->is_open && corpus->begin != MW_NO_TOKEN &&
        !mw_token_file_add(corpus->file, &corpus->begin, 1, fault))
        return false;
    corpus->is_open = !is_end;
    corpus->documents += is_end;
    return mw_encoder_add(corpus->encoder, text, bytes, is_end, fault) &&
           (!is_end || corpus->end == MW_NO_TOKEN ||
            mw_token_file_add(corpus->file, &corpus->end, 1, fault));
}

/* Whether the output leaves what is read as it is. */
static bool check_output(const Options *options, MwFault *fault)
{
    if (mw_file_is_same(options->output, options->tokenizer))
        return mw_fault_set(fault, "cannot write %s: it is the tokenizer", options->output);
    for (int i = 0; i < options->texts.count; i++)
        if (mw_file_is_same(options->output, options->texts.at[i]))
            return mw_fault_set(fault, "cannot write %s: it is a text", options->output);
    return true;
}

static bool read_tokenizer(const Options *options, MwTokenizer *tokenizer, MwFault *fault)
{
    size_t bytes;
    const char *text = mw_file_read(options->arena, options->tokenizer, &bytes);
    return text ? mw_tokenizer_read(options->arena, options->tokenizer, text, bytes, tokenizer,
                                    fault)
                : mw_fault_set(fault, "cannot read %s: %s", options->tokenizer, strerror(errno));
}

/* `text` may be NULL. */
static bool find_token(const MwTokenizer *tokenizer, const char *text, uint32_t *token,
                       MwFault *fault)
{
    *token = text ? mw_tokenizer_token(tokenizer, text) : MW_NO_TOKEN;
    return !text || *token != MW_NO_TOKEN ||
           mw_fault_set(fault, "the tokenizer has no token '%s'", text);
}

static bool encode_all(const Options *options, Corpus *corpus, MwFault *fault)
{
    for (int i = 0; i < options->texts.count; i++)
        if (!mw_documents(options->texts.at[i], options->kind, options->field, take_text, corpus,
                          fault))
            return false;
    return true;
}

static bool encode(const Options *options, const MwTokenizer *tokenizer, MwFault *fault)
{
    MwTokenFile file;
    Corpus corpus = {.file = &file};
    const int bits = tokenizer->greatest_token > UINT16_MAX ? 32 : 16;
    if (!find_token(tokenizer, options->begin, &corpus.begin, fault) ||
        !find_token(tokenizer, options->end, &corpus.end, fault) ||
        !mw_token_file_open(&file, options->output, bits, fault))
        return false;
    corpus.encoder = mw_encoder_new(tokenizer, take_tokens, &file);
    const bool good = encode_all(options, &corpus, fault);
    const int64_t replaced = mw_encoder_replaced(corpus.encoder);
    mw_encoder_free(&corpus.encoder);
    MwFault ignored;
    if (!mw_token_file_close(&file, good, good ? fault : &ignored) || !good)
        return false;
    printf("%s: %lld tokens of %d bits, the greatest below %lld, of %lld document%s\n",
           options->output, (long long)file.count, bits, (long long)tokenizer->greatest_token + 1,
           (long long)corpus.documents, corpus.documents == 1 ? "" : "s");
    if (replaced)
        fprintf(stderr,
                "meshwright: warning: U+FFFD stands %lld time%s for bytes that are no UTF-8\n",
                (long long)replaced, replaced == 1 ? "" : "s");
    return true;
}

int mw_command_tokenize(int argc, char **argv)
{
    static const struct argp parser = {
        .options = option_list,
        .parser = parse_option,
        .args_doc = "TEXT...",
        .doc = "Turns text files into a file of tokens, for --feed tokens:FILE.",
    };
    MwArena *arena = mw_arena_new();
    Options options = {.arena = arena};
    MwDiags *diags = mw_diags_new(arena);
    MwTokenizer tokenizer;
    MwFault fault;
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    if (!check_output(&options, &fault) || !read_tokenizer(&options, &tokenizer, &fault)) {
        mw_diag_error(diags, mw_span_none(), "%s", fault.text);
    } else {
        if (!encode(&options, &tokenizer, &fault))
            mw_diag_error(diags, mw_span_none(), "%s", fault.text);
        mw_tokenizer_close(&tokenizer);
    }
    mw_diags_print(diags, stderr);
    const int status = mw_diags_error_count(diags) > 0;
    mw_arena_free(&arena);
    return status;
}
