/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grammar of .graph files: tokens to the tree of ast.h. parse.c gives it the tokens.
 *
 * Errors name what was expected, computed from the grammar itself (look-ahead correction, LAC,
 * makes the list exact); mistakes that deserve a better sentence have productions of their own.
 * After an error the parse goes on at the next line, or at the next item of the file. */
%define api.pure full
%define api.push-pull push
%define api.prefix {mw_parser_}
%define api.token.prefix {TOKEN_}
%define api.location.type {MwSpan}
%define parse.error custom
%define parse.lac full
%locations
%param {MwParse *parse}
%expect 0

%code requires {
#include "frontend/syntax/state.h"
}

%code {
#include "base/text.h"
#include "frontend/syntax/make.h"

#include <string.h>

#define YYLLOC_DEFAULT(current, rhs, n)                                                            \
    ((current) =                                                                                   \
         (n) ? mw_span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                                    \
             : (MwSpan){YYRHSLOC(rhs, 0).source, YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end})
#define YYINITDEPTH 200
#define YYMAXDEPTH 20000

static MwStatement *new_return(MwParse *parse, const MwExprs *results, const MwArgs *annotations,
                               MwSpan span);
static MwItem *add_item(MwParse *parse);
static void add_block(MwParse *parse, MwItemKind kind, MwName name, const MwParams *params,
                      const MwBody *body);
static void mw_parser_error(MwSpan *span, MwParse *parse, const char *message);
}

%union {
    int64_t i;
    double f;
    MwName name;
    MwExpr *expr;
    MwTypeExpr type;
    MwArg arg;
    MwParam param;
    MwNames names;
    MwExprs exprs;
    MwIndexItem item;
    MwIndexItems items;
    MwArgs args;
    MwParams params;
    MwBody body;
    MwScanSource source;
    MwScanSources sources;
    MwStatement *statement;
    MwStatementKind kind;
}

%token END 0          "the end of the file"
%token NEWLINE        "the end of the line"
%token <name> SIZE    "size"
%token <name> IMPORT  "import"
%token <name> BLOCK   "block"
%token <name> MODEL   "model"
%token <name> INPUT   "input"
%token <name> WEIGHT  "weight"
%token <name> STATE   "state"
%token <name> REPEAT  "repeat"
%token <name> SCAN    "scan"
%token <name> COLLECT "collect"
%token <name> AS      "as"
%token <name> IF      "if"
%token <name> RETURN  "return"
%token <name> OUTPUT  "output"
%token <name> SHOW    "show"
%token <name> ASSIGN  "assign"
%token <name> PRECISION "precision"
%token <name> TRAIN   "train"
%token <name> WITH    "with"
%token <name> ELSE    "else"
%token <name> FOR     "for"
%token <name> IN      "in"
%token <name> AND     "and"
%token <name> OR      "or"
%token <name> NOT     "not"
%token TRUE           "true"
%token FALSE          "false"
%token <name> NAME    "a name"
%token <i> INT        "a number"
%token <f> FLOAT      "a number with a point"
%token <name> STRING  "a string"
%token POWER          "**"
%token DOTS           "..."
%token FLOOR_DIV      "//"
%token LE             "<="
%token GE             ">="
%token EQ             "=="
%token NE             "!="
%token PLUS "+" DASH "-" STAR "*" SLASH "/" PERCENT "%" AT "@" LT "<" GT ">"
%token EQUALS "=" COMMA "," COLON ":"
%token PAREN "(" PAREN_END ")" SQUARE "[" SQUARE_END "]" CURLY "{" CURLY_END "}"

%left "or"
%left "and"
%precedence "not"
%nonassoc "<" ">" "<=" ">=" "==" "!="
%left "+" "-"
%left "*" "/" "//" "%" "@"
%precedence MINUS
%right "**"
%precedence "["

%type <expr> expr
%type <type> type
%type <arg> arg annotation
%type <param> param
%type <name> key word
%type <names> targets
%type <exprs> exprs exprs_or_none
%type <expr> bound
%type <item> place
%type <items> places
%type <args> args args_or_none annotations with options
%type <params> params params_or_none
%type <body> body statements
%type <kind> outside
%type <source> source
%type <sources> sources
%type <statement> statement choice line declaration

%%

file: items;

items: %empty | items item;

item:
    "size" sizes NEWLINE
  | "import" STRING NEWLINE {
        *add_item(parse) = (MwItem){.kind = MW_ITEM_IMPORT, .span = @2, .name = $2};
    }
  | "block" NAME "(" params_or_none ")" body {
        add_block(parse, MW_ITEM_BLOCK, $2, &$4, &$6);
    }
  | "model" NAME body                 { add_block(parse, MW_ITEM_MODEL, $2, NULL, &$3); }
  | "block" error body                { yyerrok; }
  | "model" error body                { yyerrok; }
  | error
  ;

sizes: size | sizes "," size;

size:
    NAME "=" expr {
        *add_item(parse) = (MwItem){.kind = MW_ITEM_SIZE, .span = @$, .name = $1, .value = $3};
    }
  ;

params_or_none: %empty                { $$ = (MwParams){0}; }
  | params trailing_comma
  ;

params:
    param                             { $$ = (MwParams){0}; mw_vec_push(parse->arena, &$$, $1); }
  | params "," param                  { $$ = $1; mw_vec_push(parse->arena, &$$, $3); }
  ;

param:
    NAME                              { $$ = (MwParam){$1, NULL}; }
  | NAME "=" expr                     { $$ = (MwParam){$1, $3}; }
  ;

trailing_comma: %empty | ",";

body:
    "{" statements "}"                { $$ = $2; }
  | "{" statements error "}"          { $$ = $2; yyerrok; }
  ;

statements:
    %empty                            { $$ = (MwBody){0}; }
  | statements statement              { $$ = $1; if ($2) mw_vec_push(parse->arena, &$$, $2); }
  ;

statement:
    line NEWLINE
  | "repeat" source with body {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_REPEAT, @2);
        $$->repeat.count = $2.value;
        $$->repeat.index = $2.name;
        $$->annotations = $3;
        $$->repeat.body = $4;
    }
  | "scan" sources with body {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_SCAN, @2);
        $$->scan.sources = $2;
        $$->annotations = $3;
        $$->scan.body = $4;
    }
  | choice
  | "scan" error body                 { $$ = NULL; yyerrok; }
  | "repeat" error body               { $$ = NULL; yyerrok; }
  | "if" error body                   { $$ = NULL; yyerrok; }
  | error NEWLINE                     { $$ = NULL; yyerrok; }
  ;

sources:
    source {
        $$ = (MwScanSources){0};
        mw_vec_push(parse->arena, &$$, $1);
    }
  | sources "," source                { $$ = $1; mw_vec_push(parse->arena, &$$, $3); }
  ;

source:
    expr                              { $$ = (MwScanSource){$1, (MwName){0}}; }
  | expr "as" NAME                    { $$ = (MwScanSource){$1, $3}; }
  ;

choice:
    "if" expr body                    { $$ = mw_new_choice(parse->arena, $2, &$3, &(MwBody){0}); }
  | "if" expr body "else" body        { $$ = mw_new_choice(parse->arena, $2, &$3, &$5); }
  | "if" expr body "else" choice {
        MwBody no = {0};
        mw_vec_push(parse->arena, &no, $5);
        $$ = mw_new_choice(parse->arena, $2, &$3, &no);
    }
  ;

line:
    declaration with                  { $$ = $1; if ($$) $$->annotations = $2; }
  | targets "=" expr with {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_LET, @1);
        $$->let.targets = $1;
        $$->let.value = $3;
        $$->annotations = $4;
    }
  | "return" exprs with {
        $$ = new_return(parse, &$2, &$3, @$);
    }
  | outside targets with {
        $$ = mw_new_statement(parse->arena, $1, @2);
        $$->let.targets = $2;
        $$->annotations = $3;
    }
  | outside NAME "=" expr with {
        $$ = mw_new_statement(parse->arena, $1, @2);
        mw_vec_push(parse->arena, &$$->let.targets, $2);
        $$->let.value = $4;
        $$->annotations = $5;
    }
  | "assign" NAME "=" expr {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_ASSIGN, @2);
        $$->assign.target = $2;
        $$->assign.value = $4;
    }
  | "collect" NAME "=" expr with {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_COLLECT, @2);
        $$->collect.target = $2;
        $$->collect.value = $4;
        $$->annotations = $5;
    }
  | "precision" expr {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_PRECISION, @2);
        $$->precision = $2;
    }
  | "train" expr "with" expr options {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_TRAIN, @$);
        $$->train.loss = $2;
        $$->train.optimizer = $4;
        $$->annotations = $5;
    }
  | "repeat" NAME "=" expr {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_REPEATED, @2);
        $$->repeated.name = $2;
        $$->repeated.count = $4;
    }
  | "repeat" NAME "=" expr "with" "repeat" "=" expr {
        $$ = mw_new_statement(parse->arena, MW_STATEMENT_REPEATED, @2);
        $$->repeated.name = $2;
        $$->repeated.count = $4;
        $$->repeated.parent = $8;
    }
  | "assign" NAME "=" expr "with" annotations {
        mw_diag_error(parse->diags, @5,
                      "'assign' takes no annotations: give the value a name, as in "
                      "'y = ... with ...', and assign that");
        $$ = NULL;
    }
  | "train" expr {
        mw_diag_error(parse->diags, @2,
                      "'train' needs an optimizer: train LOSS with adamw(lr = 3e-4)");
        $$ = NULL;
    }
  | expr {
        mw_diag_error(parse->diags, @1,
                      "this value is not used: give it a name, as in 'x = ...'");
        $$ = NULL;
    }
  ;

outside:
    "output"                          { $$ = MW_STATEMENT_OUTPUT; }
  | "show"                            { $$ = MW_STATEMENT_SHOW; }
  ;

declaration:
    "input" NAME ":" type {
        $$ = mw_new_declare(parse->arena, MW_STATEMENT_INPUT, $2, $4, NULL);
    }
  | "weight" NAME ":" type "=" expr {
        $$ = mw_new_declare(parse->arena, MW_STATEMENT_WEIGHT, $2, $4, $6);
    }
  | "state" NAME ":" type "=" expr {
        $$ = mw_new_declare(parse->arena, MW_STATEMENT_STATE, $2, $4, $6);
    }
  | "weight" NAME ":" type {
        mw_diag_error(parse->diags, @$,
                      "weight '%s' needs an initialiser, as in '= normal(0.02)' or '= zeros'",
                      $2.text);
        $$ = NULL;
    }
  | "state" NAME ":" type {
        mw_diag_error(parse->diags, @$, "state '%s' needs an initialiser, as in '= zeros'",
                      $2.text);
        $$ = NULL;
    }
  | "weight" NAME "=" expr {
        mw_diag_error(parse->diags, @2,
                      "weight '%s' needs a type, as in 'weight %s: f32[rows, columns] = zeros'",
                      $2.text, $2.text);
        $$ = NULL;
    }
  | "input" NAME ":" type "=" expr {
        mw_diag_error(parse->diags, @6,
                      "an input has no value: it comes from outside at every step");
        $$ = NULL;
    }
  ;

type:
    NAME "[" exprs_or_none "]"        { $$ = (MwTypeExpr){$1, $3, @$}; }
  | NAME                              { $$ = (MwTypeExpr){$1, (MwExprs){0}, @$}; }
  ;

targets:
    NAME                              { $$ = (MwNames){0}; mw_vec_push(parse->arena, &$$, $1); }
  | targets "," NAME                  { $$ = $1; mw_vec_push(parse->arena, &$$, $3); }
  ;

with:
    %empty                            { $$ = (MwArgs){0}; }
  | "with" annotations                { $$ = $2; }
  ;

options:
    %empty                            { $$ = (MwArgs){0}; }
  | "," annotations                   { $$ = $2; }
  ;

annotations:
    annotation                        { $$ = (MwArgs){0}; mw_vec_push(parse->arena, &$$, $1); }
  | annotations "," annotation        { $$ = $1; mw_vec_push(parse->arena, &$$, $3); }
  ;

/* A scope may have the name of a statement, as that of a scan does. */
annotation:
    key "=" expr                      { $$ = (MwArg){$1, $3}; }
  | key "=" word {
        $$ = (MwArg){$1, mw_new_name(parse->arena, MW_EXPR_NAME, $3)};
    }
  ;

word:
    "size" | "import" | "block" | "model" | "input" | "weight" | "state" | "repeat" | "scan"
  | "collect" | "as" | "if" | "return" | "output" | "show" | "assign" | "precision" | "train"
  | "with" | "else" | "for" | "in"
  ;

key: NAME | "repeat";

exprs_or_none: %empty                 { $$ = (MwExprs){0}; }
  | exprs trailing_comma
  ;

exprs:
    expr                              { $$ = (MwExprs){0}; mw_vec_push(parse->arena, &$$, $1); }
  | exprs "," expr                    { $$ = $1; mw_vec_push(parse->arena, &$$, $3); }
  ;

places:
    place
    {
        $$ = (MwIndexItems){0};
        mw_vec_push(parse->arena, &$$, $1);
    }
  | places "," place                  { $$ = $1; mw_vec_push(parse->arena, &$$, $3); }
  ;

place:
    expr                              { $$ = (MwIndexItem){MW_INDEX_ELEMENT, @$, .at = $1}; }
  | bound ":" bound
    {
        $$ = (MwIndexItem){MW_INDEX_RANGE, @$, .begin = $1, .end = $3};
    }
  | bound ":" bound ":" bound
    {
        $$ = (MwIndexItem){MW_INDEX_RANGE, @$, .begin = $1, .end = $3, .stride = $5};
    }
  | "..."                             { $$ = (MwIndexItem){MW_INDEX_REST, @$}; }
  ;

bound: %empty                         { $$ = NULL; }
  | expr
  ;

args_or_none: %empty                  { $$ = (MwArgs){0}; }
  | args trailing_comma
  ;

args:
    arg                               { $$ = (MwArgs){0}; mw_vec_push(parse->arena, &$$, $1); }
  | args "," arg                      { $$ = $1; mw_vec_push(parse->arena, &$$, $3); }
  ;

arg:
    expr                              { $$ = (MwArg){(MwName){0}, $1}; }
  | NAME "=" expr                     { $$ = (MwArg){$1, $3}; }
  ;

expr:
    INT                       { $$ = mw_new_expr(parse->arena, MW_EXPR_INT, @$); $$->i = $1; }
  | FLOAT                     { $$ = mw_new_expr(parse->arena, MW_EXPR_FLOAT, @$); $$->f = $1; }
  | STRING                    { $$ = mw_new_name(parse->arena, MW_EXPR_TEXT, $1); }
  | "true"                    { $$ = mw_new_expr(parse->arena, MW_EXPR_BOOL, @$); $$->b = true; }
  | "false"                   { $$ = mw_new_expr(parse->arena, MW_EXPR_BOOL, @$); $$->b = false; }
  | NAME                      { $$ = mw_new_name(parse->arena, MW_EXPR_NAME, $1); }
  | "[" exprs_or_none "]"     { $$ = mw_new_expr(parse->arena, MW_EXPR_LIST, @$); $$->list = $2; }
  | "[" "for" NAME "in" expr ":" expr "]" { $$ = mw_new_each(parse->arena, $3, $5, $7, @$); }
  | expr "[" places trailing_comma "]" { $$ = mw_new_index(parse->arena, $1, &$3, @$); }
  | "(" expr ")"              { $$ = $2; $$->span = @$; }
  | NAME "(" args_or_none ")" { $$ = mw_new_call(parse->arena, $1, &$3, @$); }
  | "and" "(" args_or_none ")" { $$ = mw_new_call(parse->arena, $1, &$3, @$); }
  | "or" "(" args_or_none ")" { $$ = mw_new_call(parse->arena, $1, &$3, @$); }
  | "-" expr %prec MINUS      { $$ = mw_new_unary(parse->arena, MW_UNARY_MINUS, $2, @$); }
  | "not" expr                { $$ = mw_new_unary(parse->arena, MW_UNARY_NOT, $2, @$); }
  | expr "+" expr             { $$ = mw_new_binary(parse->arena, MW_BINARY_ADD, $1, $3); }
  | expr "-" expr             { $$ = mw_new_binary(parse->arena, MW_BINARY_SUB, $1, $3); }
  | expr "*" expr             { $$ = mw_new_binary(parse->arena, MW_BINARY_MUL, $1, $3); }
  | expr "/" expr             { $$ = mw_new_binary(parse->arena, MW_BINARY_DIV, $1, $3); }
  | expr "//" expr            { $$ = mw_new_binary(parse->arena, MW_BINARY_FLOOR_DIV, $1, $3); }
  | expr "%" expr             { $$ = mw_new_binary(parse->arena, MW_BINARY_MOD, $1, $3); }
  | expr "@" expr             { $$ = mw_new_binary(parse->arena, MW_BINARY_MATMUL, $1, $3); }
  | expr "**" expr            { $$ = mw_new_binary(parse->arena, MW_BINARY_POW, $1, $3); }
  | expr "<" expr             { $$ = mw_new_binary(parse->arena, MW_BINARY_LT, $1, $3); }
  | expr ">" expr             { $$ = mw_new_binary(parse->arena, MW_BINARY_GT, $1, $3); }
  | expr "<=" expr            { $$ = mw_new_binary(parse->arena, MW_BINARY_LE, $1, $3); }
  | expr ">=" expr            { $$ = mw_new_binary(parse->arena, MW_BINARY_GE, $1, $3); }
  | expr "==" expr            { $$ = mw_new_binary(parse->arena, MW_BINARY_EQ, $1, $3); }
  | expr "!=" expr            { $$ = mw_new_binary(parse->arena, MW_BINARY_NE, $1, $3); }
  | expr "and" expr           { $$ = mw_new_binary(parse->arena, MW_BINARY_AND, $1, $3); }
  | expr "or" expr            { $$ = mw_new_binary(parse->arena, MW_BINARY_OR, $1, $3); }
  ;

%%

/* What is returned cannot be pinned: a pin is of a value with a name. */
static MwStatement *new_return(MwParse *parse, const MwExprs *results, const MwArgs *annotations,
                               MwSpan span)
{
    for (int i = 0; i < annotations->count; i++)
        if (strcmp(annotations->at[i].key.text, "scope") != 0) {
            mw_diag_error(parse->diags, annotations->at[i].key.span,
                          "'return' takes no annotation but 'scope': give the value a name, as in "
                          "'y = ... with ...', and return that");
            return NULL;
        }
    MwStatement *statement = mw_new_statement(parse->arena, MW_STATEMENT_RETURN, span);
    statement->results = *results;
    statement->annotations = *annotations;
    return statement;
}

static MwItem *add_item(MwParse *parse)
{
    return mw_vec_add(parse->arena, &parse->items);
}

static void add_block(MwParse *parse, MwItemKind kind, MwName name, const MwParams *params,
                      const MwBody *body)
{
    MwBlock *block = MW_NEW(parse->arena, MwBlock, 1);
    block->name = name;
    if (params)
        block->params = *params;
    block->body = *body;
    *add_item(parse) =
        (MwItem){.kind = kind, .span = name.span, .name = name, .block = block};
}

/* The tokens that were expected, and the words that a message uses for them. */
typedef struct {
    bool expected[YYNTOKENS];
    const char *words[8];
    int count;
} Expected;

static bool is_operator(int kind)
{
    return (kind >= YYSYMBOL_POWER && kind < YYSYMBOL_EQUALS) || kind == YYSYMBOL_AND ||
           kind == YYSYMBOL_OR;
}

/* Whether `kind` only adds to what a gathered word, such as "an expression", already says. */
static bool is_implied(const Expected *e, int kind)
{
    static const char begins_expression[YYNTOKENS] = {
        [YYSYMBOL_INT] = 1,   [YYSYMBOL_FLOAT] = 1, [YYSYMBOL_STRING] = 1, [YYSYMBOL_TRUE] = 1,
        [YYSYMBOL_FALSE] = 1, [YYSYMBOL_NAME] = 1,  [YYSYMBOL_NOT] = 1,    [YYSYMBOL_AND] = 1,
        [YYSYMBOL_OR] = 1,    [YYSYMBOL_PAREN] = 1, [YYSYMBOL_SQUARE] = 1, [YYSYMBOL_DASH] = 1};
    if (e->expected[YYSYMBOL_INT] && begins_expression[kind])
        return true;
    if (e->expected[YYSYMBOL_IMPORT] && kind == YYSYMBOL_YYEOF)
        return true;
    if (e->expected[YYSYMBOL_RETURN] && kind >= YYSYMBOL_INPUT && kind <= YYSYMBOL_TRAIN)
        return true;
    return e->expected[YYSYMBOL_POWER] &&
           (is_operator(kind) || kind == YYSYMBOL_PAREN || kind == YYSYMBOL_SQUARE);
}

static void add_word(Expected *e, const char *word)
{
    if (e->count < MW_COUNT(e->words))
        e->words[e->count++] = word;
}

static void gather_expected(const yypcontext_t *context, Expected *e)
{
    yysymbol_kind_t kinds[YYNTOKENS];
    int count = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
    for (int i = 0; i < count; i++)
        e->expected[kinds[i]] = true;
    for (int kind = 0; kind < YYNTOKENS; kind++)
        if (e->expected[kind] && !is_implied(e, kind))
            add_word(e, yysymbol_name((yysymbol_kind_t)kind));
    if (e->expected[YYSYMBOL_RETURN])
        add_word(e, "a statement");
    else if (e->expected[YYSYMBOL_INT])
        add_word(e, "an expression");
    else if (e->expected[YYSYMBOL_POWER])
        add_word(e, "an operator");
}

/* Adds a token as messages show it: in quotes if it stands so in the source, without if it is a
 * kind of token ("a name"). */
static void add_symbol(MwText *text, const char *name)
{
    mw_text_printf(text, strchr(name, ' ') ? "%s" : "'%s'", name);
}

/* Explains a mistake that other languages lead to. */
static void add_advice(const Expected *e, MwSpan span, yysymbol_kind_t found, MwParse *parse)
{
    const char *advice = NULL;
    const char before = span.begin > 0 ? span.source->text[span.begin - 1] : 0;
    if (found == YYSYMBOL_IF && e->expected[YYSYMBOL_POWER])
        advice = "in an expression, where(condition, a, b) chooses";
    else if (found == YYSYMBOL_FOR && e->expected[YYSYMBOL_RETURN])
        advice = "'repeat COUNT as i { … }' repeats statements, 'scan x as x_t { … }' goes over a "
                 "tensor";
    else if (found == YYSYMBOL_PAREN && before == ')')
        advice = "what a call gives is not called: a layer is a block, as in linear(x, 64)";
    else if (found == YYSYMBOL_SIZE && e->expected[YYSYMBOL_RETURN])
        advice = "sizes stand outside of blocks and the model; here a name is given as in "
                 "half = 4 // 2";
    else if (found == YYSYMBOL_EQUALS && before && strchr("+-*/@%", before))
        advice = "a name is given again in full, as in x = x + 1";
    else if (e->expected[YYSYMBOL_EQUALS] && e->expected[YYSYMBOL_WITH] &&
             !e->expected[YYSYMBOL_POWER])
        advice = "an expression is named, as in show accuracy = mean(x)";
    if (advice)
        mw_diag_note(parse->diags, mw_span_none(), "%s", advice);
}

/* Reports "expected ',' or ')', found 'x'". Bison does not call this for MW_TOKEN_BAD, which the
 * lexer has reported. */
static int yyreport_syntax_error(const yypcontext_t *context, MwParse *parse)
{
    if (parse->abandoned)
        return 0;
    Expected e = {0};
    gather_expected(context, &e);
    MwText text = {.arena = parse->arena};
    for (int i = 0; i < e.count; i++) {
        mw_text_add(&text, i == 0 ? "expected " : i < e.count - 1 ? ", " : " or ");
        add_symbol(&text, e.words[i]);
    }
    MwSpan span = *yypcontext_location(context);
    yysymbol_kind_t found = yypcontext_token(context);
    uint32_t bytes = span.end - span.begin;
    mw_text_add(&text, e.count ? ", found " : "unexpected ");
    if (found > YYSYMBOL_NEWLINE && bytes > 0 && bytes <= 40)
        mw_text_printf(&text, "'%.*s'", (int)bytes, span.source->text + span.begin);
    else
        add_symbol(&text, yysymbol_name(found));
    mw_diag_error(parse->diags, span, "%s", text.at);
    add_advice(&e, span, found, parse);
    parse->failed = true;
    return 0;
}

/* Bison calls this when its stack is full. */
static void mw_parser_error(MwSpan *span, MwParse *parse, const char *message)
{
    (void)message;
    mw_diag_error(parse->diags, *span, "this is nested too deeply");
}
