/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front end where golden files do not reach: texts made up by the program, the graph's own
 * data, and texts in memory. */
#include "base/text.h"
#include "frontend/frontend.h"
#include "frontend/functions/functions.h"
#include "ir/print.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwGraph *graph; /* NULL after errors */
} Parsed;

static Parsed parse_bytes(const char *text, size_t bytes, const MwDefine *defines, int count)
{
    Parsed parsed = {.arena = mw_arena_new()};
    parsed.diags = mw_diags_new(parsed.arena);
    MwSource *source = MW_NEW(parsed.arena, MwSource, 1);
    *source = (MwSource){"t.graph", mw_arena_strndup(parsed.arena, text, bytes), bytes};
    parsed.graph = mw_graph_parse(parsed.arena, mw_interner_new(parsed.arena), source, defines,
                                  count, parsed.diags);
    return parsed;
}

static Parsed parse(const char *text)
{
    return parse_bytes(text, strlen(text), NULL, 0);
}

/* The names of other libraries, and what messages say of them. */
static const struct {
    const char *name, *function, *text;
} foreign[] = {
#define FOREIGN(name, function, call) {#name, #function, "here it is " call},
#define PHRASE(name, sentence) {#name, NULL, sentence},
#include "frontend/functions/foreign.def"
#undef FOREIGN
#undef PHRASE
};

static MwValueId value_named(const Parsed *parsed, const char *name)
{
    MwValueId value = mw_graph_find(parsed->graph, mw_intern(parsed->graph->interner, name));
    ck_assert_msg(mw_has_value(value), "no value '%s'", name);
    return value;
}

#define MODEL(body) "model m {\n  input x: f32[4]\n" body "  output x\n}\n"

START_TEST(hostile_texts_end_with_one_error)
{
    static const struct {
        const char *begin, *part;
        int parts;
        const char *end, *error;
    } cases[] = {
        {"size a = ", "(", 100000, "", "brackets are nested more than 200 deep"},
        {"size a = ", "[", 100000, "", "brackets are nested more than 200 deep"},
        {"model m {", "repeat 1 {", 100000, "", "brackets are nested more than 200 deep"},
        {"size a = ", "-", 100000, "1\n" MODEL(""), "this is nested too deeply"},
        {"size a = ", "not ", 3000, "true\n" MODEL(""), "nested more than 1000 deep"},
        {"size a = 1", " + 1", 100000, "\n" MODEL(""), "nested more than 1000 deep"},
        {"size a = 1", " ** 1", 3000, "\n" MODEL(""), "nested more than 1000 deep"},
        {"model m {", "if true {", 100000, "", "brackets are nested more than 200 deep"},
        {"model m { if true { x = 1 }", " else if true { x = 1 }", 5000, "\n}\n",
         "this is nested too deeply"},
        {"model m { if false { x = 1 }", " else if false { x = 1 }", 3000, "\n}\n",
         "nested more than 1000 deep"},
        {"size a = [1]", "[0]", 100000, "\n" MODEL(""), "nested more than 1000 deep"},
        {"size a = ", "[for i in 3: ", 100000, "", "brackets are nested more than 200 deep"},
        {"size a = [for i in 2000: [for j in 2000: 1]]\n" MODEL(""), "", 0, "",
         "the model is too large"},
        {"size a = [for i in 9000000000: 1]\n" MODEL(""), "", 0, "", "the model is too large"},
        {MODEL("  repeat 1000000000 {\n    x = x\n  }\n"), "", 0, "", "cannot repeat 1000000000"},
        {MODEL("  repeat 2000 {\n  repeat 2000 {\n    y = 1\n  }\n  }\n"), "", 0, "",
         "the model is too large"},
        {MODEL("  repeat 1000000 {\n    x = x + 1\n  }\n"), "", 0, "",
         "more than 131072 operators"},
        {"model m {\n  input x: f32[1000000000]\n  output y = split(x, 1000000000)\n}\n", "", 0, "",
         "the model is too large"},
        {"model m {\n  input x: f32[1]\n", "  x = concat(x, x, axis = 0)\n", 100, "  output x\n}\n",
         "too many elements"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwArena *arena = mw_arena_new();
        MwText text = {.arena = arena};
        mw_text_add(&text, cases[i].begin);
        for (int k = 0; k < cases[i].parts; k++)
            mw_text_add(&text, cases[i].part);
        mw_text_add(&text, cases[i].end);
        Parsed parsed = parse(text.at);
        ck_assert_ptr_null(parsed.graph);
        const char *shown = diags_text(parsed.arena, parsed.diags);
        ck_assert_msg(strstr(shown, cases[i].error) != NULL, "case %d: %.300s", i, shown);
        ck_assert_msg(mw_diags_error_count(parsed.diags) == 1, "case %d has %d errors", i,
                      mw_diags_error_count(parsed.diags));
        mw_arena_free(&parsed.arena);
        mw_arena_free(&arena);
    }
}
END_TEST

/* Each block calls the one before twice: 2^60 expansions. */
START_TEST(blocks_that_double_end_with_an_error)
{
    MwArena *arena = mw_arena_new();
    MwText text = {.arena = arena};
    mw_text_add(&text, "block b0(x) {\n  return x\n}\n");
    for (int i = 1; i <= 60; i++)
        mw_text_printf(&text, "block b%d(x) {\n  return b%d(b%d(x))\n}\n", i, i - 1, i - 1);
    mw_text_add(&text, MODEL("  y = b60(x)\n"));
    Parsed parsed = parse(text.at);
    ck_assert_ptr_null(parsed.graph);
    ck_assert_ptr_nonnull(strstr(diags_text(parsed.arena, parsed.diags), "the model is too large"));
    mw_arena_free(&parsed.arena);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(any_byte_is_read)
{
    static const char nul[] = "model m {\n  input x: f32[4]\n  y = x \0 + 1\n  output x\n}\n";
    Parsed parsed = parse_bytes(nul, sizeof nul - 1, NULL, 0);
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags),
                     "t.graph:3:9: error: unexpected byte 0x00\n"
                     "    3 |   y = x   + 1\n"
                     "      |         ^\n");
    mw_arena_free(&parsed.arena);

    parsed = parse("model m {\r\n  input x: f32[4]\r\n  output x\r\n}\r\n");
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    ck_assert_ptr_nonnull(parsed.graph);
    mw_arena_free(&parsed.arena);

    parsed = parse("size caf\xc3\xa9 = 1\n" MODEL(""));
    ck_assert_ptr_nonnull(strstr(diags_text(parsed.arena, parsed.diags),
                                 "t.graph:1:9: error: unexpected '\xc3\xa9'"));
    mw_arena_free(&parsed.arena);

    static const char *const utf16[] = {"\xff\xfem\0o\0d", "\xfe\xff\0m\0o", "m\0o\0d\0",
                                        "\0m\0o\0d"};
    for (int i = 0; i < MW_COUNT(utf16); i++) {
        parsed = parse_bytes(utf16[i], 6, NULL, 0);
        ck_assert_str_eq(diags_text(parsed.arena, parsed.diags),
                         "meshwright: error: t.graph: the file is UTF-16; save it as UTF-8\n");
        mw_arena_free(&parsed.arena);
    }

    parsed = parse("size a = \xc3");
    ck_assert_ptr_nonnull(strstr(diags_text(parsed.arena, parsed.diags),
                                 "t.graph:1:10: error: unexpected byte 0xc3"));
    mw_arena_free(&parsed.arena);

    parsed = parse("\xef\xbb\xbfmodel m { input x: f32[4]\n output x }");
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    mw_arena_free(&parsed.arena);
    parsed = parse("model m { input x: f32[4]\xef\xbb\xbf\n output x }");
    ck_assert_ptr_nonnull(
        strstr(diags_text(parsed.arena, parsed.diags), "t.graph:1:26: error: unexpected mark"));
    mw_arena_free(&parsed.arena);

    parsed = parse("model m { input x: f32[4]\n output x }");
    ck_assert_ptr_nonnull(parsed.graph);
    mw_arena_free(&parsed.arena);

    parsed = parse("");
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags),
                     "meshwright: error: t.graph has no model\n");
    mw_arena_free(&parsed.arena);
}
END_TEST

/* The text that a node's span covers. */
static const char *span_text(const Parsed *parsed, const char *value)
{
    MwSpan span = mw_value_node(parsed->graph, value_named(parsed, value))->origin.span;
    return mw_arena_strndup(parsed->arena, span.source->text + span.begin, span.end - span.begin);
}

START_TEST(nodes_know_their_source)
{
    Parsed parsed = parse("block f(x) {\n  weight w: f32[4] = ones\n  return x * w + 1\n}\n" MODEL(
        "  repeat 2 as l {\n    y = f(relu( x ))\n  }\n"));
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    static const struct {
        const char *value, *text, *scope;
        int iteration;
    } cases[] = {
        {"l.1.relu", "relu( x )", "l.1", 1},         {"l.0.f.mul", "x * w", "l.0.f", 0},
        {"l.1.f", "x * w + 1", "l.1.f", 1},          {"l.1.f.constant", "x * w + 1", "l.1.f", 1},
        {"l.0.f.w", "w: f32[4] = ones", "l.0.f", 0}, {"x", "x: f32[4]", "", -1},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        const MwOrigin *origin =
            &mw_value_node(parsed.graph, value_named(&parsed, cases[i].value))->origin;
        ck_assert_str_eq(span_text(&parsed, cases[i].value), cases[i].text);
        ck_assert_str_eq(origin->scope, cases[i].scope);
        ck_assert_int_eq(origin->repeat, cases[i].iteration < 0 ? -1 : 0);
        ck_assert(cases[i].iteration < 0 || origin->iteration == cases[i].iteration);
    }
    mw_arena_free(&parsed.arena);
}
END_TEST

START_TEST(defines_override_sizes)
{
    static const char text[] = "size n = 4, twice = 2 * n, rate = 0.5, third = n / 4, on = true\n"
                               "model m {\n  input x: f32[n, twice]\n"
                               "  output y = where(on, x * rate, x)\n}\n";
    static const struct {
        MwDefine define;
        const char *error; /* "": none */
        int64_t rows, columns;
        double rate;
    } cases[] = {
        {{"n", "8"}, "", 8, 16, 0.5},
        {{"twice", "3"}, "", 4, 3, 0.5},
        {{"rate", "2"}, "", 4, 8, 2},
        {{"rate", "1e-3"}, "", 4, 8, 1e-3},
        {{"n", "2"}, "t.graph:1:48: error: 2 is not divisible by 4", 0, 0, 0},
        {{"n", "0.5"}, "must be a whole number", 0, 0, 0},
        {{"n", "0"}, "must be at least 1, not 0", 0, 0, 0},
        {{"n", "4x"}, "error: -D n=4x: '4x' is not a number", 0, 0, 0},
        {{"n", ""}, "error: -D n=: '' is not a number", 0, 0, 0},
        {{"n", "99999999999999999999"}, "must be a whole number", 0, 0, 0},
        {{"rate", "inf"}, "'inf' is not a number", 0, 0, 0},
        {{"m", "4"}, "the model has no size 'm'", 0, 0, 0},
        {{"tiwce", "4"}, "the model has no size 'tiwce'; did you mean 'twice'?", 0, 0, 0},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        Parsed parsed = parse_bytes(text, sizeof text - 1, &cases[i].define, 1);
        const char *shown = diags_text(parsed.arena, parsed.diags);
        ck_assert_msg(strstr(shown, cases[i].error) != NULL, "case %d: %s", i, shown);
        ck_assert((parsed.graph == NULL) == (*cases[i].error != '\0'));
        if (parsed.graph) {
            const MwTensor *x = mw_value_tensor(parsed.graph, value_named(&parsed, "x"));
            const MwNode *rate = mw_value_node(parsed.graph, value_named(&parsed, "constant"));
            ck_assert_int_eq(x->dim[0], cases[i].rows);
            ck_assert_int_eq(x->dim[1], cases[i].columns);
            ck_assert(mw_node_float(rate, MW_ATTR_VALUE) == cases[i].rate);
        }
        mw_arena_free(&parsed.arena);
    }
}
END_TEST

START_TEST(the_last_define_of_a_size_counts)
{
    static const MwDefine defines[] = {{"n", "8"}, {"n", "3"}};
    static const char text[] = "size n = 4\nmodel m {\n  input x: f32[n]\n  output x\n}\n";
    Parsed parsed = parse_bytes(text, sizeof text - 1, defines, 2);
    ck_assert_int_eq(mw_value_tensor(parsed.graph, value_named(&parsed, "x"))->dim[0], 3);
    mw_arena_free(&parsed.arena);
}
END_TEST

/* A model of the folder models/, with short text for "-D" sizes: "layers=2 width=8". */
static Parsed load_model(const char *name, const MwDefine *defines, int count)
{
    Parsed parsed = {.arena = mw_arena_new()};
    parsed.diags = mw_diags_new(parsed.arena);
    parsed.graph = mw_graph_load(parsed.arena, mw_interner_new(parsed.arena),
                                 mw_arena_printf(parsed.arena, "%s/models/%s", SOURCE_ROOT, name),
                                 defines, count, parsed.diags);
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    return parsed;
}

/* These are the names in checkpoints: a change here breaks the users' files. */
START_TEST(weights_of_gpt_keep_their_names)
{
    static const char *const names[] = {"wte",
                                        "wpe",
                                        "layers.0.norm.scale",
                                        "layers.0.norm.shift",
                                        "layers.0.attention.wqkv",
                                        "layers.0.attention.bqkv",
                                        "layers.0.attention.wo",
                                        "layers.0.attention.bo",
                                        "layers.0.norm.1.scale",
                                        "layers.0.norm.1.shift",
                                        "layers.0.mlp.w1",
                                        "layers.0.mlp.b1",
                                        "layers.0.mlp.w2",
                                        "layers.0.mlp.b2",
                                        "norm.scale",
                                        "norm.shift"};
    static const MwDefine one_layer = {"layers", "1"};
    Parsed parsed = load_model("gpt.graph", &one_layer, 1);
    int found = 0;
    for (int i = 0; i < parsed.graph->values.count; i++) {
        if (mw_value_node(parsed.graph, (MwValueId){i})->op != MW_OP_WEIGHT)
            continue;
        ck_assert_int_lt(found, MW_COUNT(names));
        ck_assert_str_eq(parsed.graph->values.at[i].name, names[found++]);
    }
    ck_assert_int_eq(found, MW_COUNT(names));
    mw_arena_free(&parsed.arena);
}
END_TEST

/* Layers are alike: node k of each has the same operator, and its scope differs in the number. */
START_TEST(iterations_of_a_repeat_are_alike)
{
    static const MwDefine layers = {"layers", "5"};
    Parsed parsed = load_model("llama.graph", &layers, 1);
    const MwGraph *graph = parsed.graph;
    int first = 0, count = 0;
    while (graph->nodes.at[first].origin.repeat < 0)
        first++;
    while (graph->nodes.at[first + count].origin.iteration == 0 &&
           graph->nodes.at[first + count].origin.repeat == 0)
        count++;
    ck_assert_int_gt(count, 20);
    ck_assert_int_eq(graph->repeats.count, 1);
    ck_assert_str_eq(graph->repeats.at[0].name, "layers");
    ck_assert_int_eq(graph->repeats.at[0].count, 5);
    for (int i = 0; i < 5 * count; i++) {
        const MwNode *node = &graph->nodes.at[first + i],
                     *like = &graph->nodes.at[first + i % count];
        ck_assert_int_eq(node->op, like->op);
        ck_assert_int_eq(node->origin.repeat, 0);
        ck_assert_int_eq(node->origin.iteration, i / count);
        ck_assert_str_eq(node->origin.scope + strlen("layers.0"),
                         like->origin.scope + strlen("layers.0"));
    }
    mw_arena_free(&parsed.arena);
}
END_TEST

START_TEST(every_model_dumps_and_reads_back)
{
    static const char *const models[] = {"mlp.graph",  "gpt.graph", "llama.graph",
                                         "bert.graph", "vit.graph", "resnet.graph"};
    for (int i = 0; i < MW_COUNT(models); i++) {
        Parsed parsed = load_model(models[i], NULL, 0);
        MwText dump = {.arena = parsed.arena}, again = {.arena = parsed.arena};
        mw_graph_print(&dump, parsed.graph);
        Parsed copy = parse(dump.at);
        ck_assert_str_eq(diags_text(copy.arena, copy.diags), "");
        mw_graph_print(&again, copy.graph);
        ck_assert_str_eq(again.at, dump.at);
        mw_arena_free(&copy.arena);
        mw_arena_free(&parsed.arena);
    }
}
END_TEST

/* What a random number generator or a checkpoint depends on must not hang on the order of calls in
 * other places: dropout keys count calls, in order. */
START_TEST(each_dropout_has_its_own_key)
{
    Parsed parsed = parse(MODEL("  repeat 3 {\n    x = dropout(dropout(x, 0.1), 0)\n  }\n"
                                "  x = dropout(x, 0.1, key = 1)\n  x = dropout(x, 0.2)\n"));
    static const int64_t keys[] = {0, 1, 2, 1, 3};
    int found = 0;
    for (int i = 0; i < parsed.graph->nodes.count; i++)
        if (parsed.graph->nodes.at[i].op == MW_OP_DROPOUT)
            ck_assert_int_eq(mw_node_int(&parsed.graph->nodes.at[i], MW_ATTR_KEY), keys[found++]);
    ck_assert_int_eq(found, MW_COUNT(keys));
    mw_arena_free(&parsed.arena);
}
END_TEST

START_TEST(names_that_meet_stay_apart)
{
    /* The weight keeps its name though an operator of that name comes first; a name with a dot that
     * a source chooses does not clash with one that is made up. */
    Parsed parsed = parse(MODEL("  a = x + x\n  x.1 = x * 2\n  x = x * 3\n  x = x * 4\n"
                                "  weight add: f32[4] = ones\n  b = (x + x) * add\n"));
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    ck_assert_int_eq(mw_value_node(parsed.graph, value_named(&parsed, "add"))->op, MW_OP_WEIGHT);
    ck_assert_int_eq(mw_value_node(parsed.graph, value_named(&parsed, "add.1"))->op, MW_OP_ADD);
    ck_assert_int_eq(mw_value_node(parsed.graph, value_named(&parsed, "x.2"))->op, MW_OP_MUL);
    ck_assert_int_eq(mw_value_node(parsed.graph, value_named(&parsed, "x.3"))->op, MW_OP_MUL);
    mw_arena_free(&parsed.arena);
}
END_TEST

START_TEST(names_of_other_libraries_lead_to_functions)
{
    const char *name = foreign[_i].name, *function = foreign[_i].function;
    MwArena *arena = mw_arena_new();
    ck_assert_msg(!mw_function_exists(name), "'%s' is a function of the language", name);
    ck_assert_msg(!function || mw_function_exists(function), "there is no '%s'", function);
    for (int i = 0; i < _i; i++)
        ck_assert_str_ne(foreign[i].name, name);
    Parsed parsed = parse(mw_arena_printf(arena, MODEL("  y = torch.%s(x)\n"), name));
    ck_assert_ptr_nonnull(strstr(diags_text(parsed.arena, parsed.diags), foreign[_i].text));
    mw_arena_free(&parsed.arena);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frontend");
    TCase *tests = tcase_create("frontend");
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, hostile_texts_end_with_one_error);
    tcase_add_test(tests, blocks_that_double_end_with_an_error);
    tcase_add_test(tests, any_byte_is_read);
    tcase_add_test(tests, nodes_know_their_source);
    tcase_add_test(tests, defines_override_sizes);
    tcase_add_test(tests, the_last_define_of_a_size_counts);
    tcase_add_test(tests, weights_of_gpt_keep_their_names);
    tcase_add_test(tests, iterations_of_a_repeat_are_alike);
    tcase_add_test(tests, every_model_dumps_and_reads_back);
    tcase_add_test(tests, each_dropout_has_its_own_key);
    tcase_add_loop_test(tests, names_of_other_libraries_lead_to_functions, 0, MW_COUNT(foreign));
    tcase_add_test(tests, names_that_meet_stay_apart);
    return run_suite(suite);
}
