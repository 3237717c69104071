/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front end alone, for golden tests: graphcheck [-D name=value]... [--dump | --weights] FILE
 *
 * Prints the diagnostics, or the graph (--dump), or its weights and how many parameters they hold.
 * Whatever it reads, it verifies, prints, parses back and compares; a difference is a failure. */
#include "frontend/frontend.h"
#include "ir/print.h"
#include "ir/verify.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_DEFINES = 32 };

typedef struct {
    const char *path;
    bool dump, weights;
    MwDefine defines[MAX_DEFINES];
    int define_count;
} Options;

static bool read_define(MwArena *arena, Options *options, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || options->define_count == MAX_DEFINES)
        return false;
    options->defines[options->define_count++] =
        (MwDefine){mw_arena_strndup(arena, text, (size_t)(equals - text)), equals + 1};
    return true;
}

static bool read_options(MwArena *arena, int count, char **args, Options *options)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(args[i], "--dump") == 0)
            options->dump = true;
        else if (strcmp(args[i], "--weights") == 0)
            options->weights = true;
        else if (strcmp(args[i], "-D") == 0 && i + 1 < count)
            i++;
        else if (args[i][0] == '-' || options->path)
            return false;
        else
            options->path = args[i];
        if (strcmp(args[i - 1], "-D") == 0 && !read_define(arena, options, args[i]))
            return false;
    }
    return options->path != NULL;
}

/* Whether the dump of `graph` reads back as the same. */
static bool reads_back(MwArena *arena, const MwGraph *graph, const MwText *dump, MwDiags *diags)
{
    MwSource source = {.name = "dump", .text = dump->at, .bytes = dump->bytes};
    MwGraph *again = mw_graph_parse(arena, graph->interner, &source, NULL, 0, diags);
    MwText text = {.arena = arena};
    if (!again || !mw_graph_verify(again, "reading the dump", diags))
        return false;
    mw_graph_print(&text, again);
    if (strcmp(text.at, dump->at) == 0)
        return true;
    mw_diag_error(diags, mw_span_none(), "the dump reads back differently:\n%s", text.at);
    return false;
}

static void print_weights(const MwGraph *graph, bool each)
{
    int weights = 0;
    int64_t parameters = 0;
    char text[MW_TENSOR_TEXT_BYTES];
    for (int i = 0; i < graph->nodes.count; i++) {
        const MwNode *node = &graph->nodes.at[i];
        if (node->op != MW_OP_WEIGHT)
            continue;
        const MwValue *value = &graph->values.at[node->first_result];
        weights++;
        parameters += mw_tensor_elements(&value->tensor);
        if (each)
            printf("%s: %s\n", value->name, mw_tensor_text(&value->tensor, text));
    }
    printf("%d operators, %d weights, %" PRId64 " parameters\n", graph->nodes.count, weights,
           parameters);
}

static int check(MwArena *arena, const Options *options)
{
    MwDiags *diags = mw_diags_new(arena);
    MwGraph *graph = mw_graph_load(arena, mw_interner_new(arena), options->path, options->defines,
                                   options->define_count, diags);
    MwText dump = {.arena = arena};
    if (graph)
        mw_graph_print(&dump, graph);
    bool good = graph && mw_graph_check_model(graph, diags) &&
                mw_graph_verify(graph, "the front end", diags) &&
                reads_back(arena, graph, &dump, diags);
    if (good && options->dump)
        fputs(dump.at, stdout);
    else if (good)
        print_weights(graph, options->weights);
    mw_diags_print(diags, stdout);
    return !good;
}

int main(int count, char **args)
{
    MwArena *arena = mw_arena_new();
    Options options = {0};
    int status = 2;
    if (read_options(arena, count, args, &options))
        status = check(arena, &options);
    else
        fputs("usage: graphcheck [-D name=value]... [--dump | --weights] FILE\n", stderr);
    mw_arena_free(&arena);
    return status;
}
