/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/import/train.h"

#include "base/text.h"
#include "frontend/syntax/parse.h"
#include "frontend/terms/name_map.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    MwInterner *interner;
    MwDiags *diags;
    const MwOnnxModel *model;
    const MwSource *what; /* of the command line */
    MwNameMap names;      /* that the model has, and inputs that were added */
    MwText inputs;        /* declarations of these */
    bool failed;
} Trainer;

/* The losses of two operands of one shape, and of logits and classes. */
static const struct {
    const char *name;
    bool of_classes; /* targets are classes, along the last dimension of the first operand */
} losses[] = {
    {"cross_entropy", true},
#define LOSS(name, ...) {#name, false},
#include "frontend/functions/functions.def"
};

static const MwOnnxOutput *find_output(const Trainer *trainer, const MwExpr *expr)
{
    for (int i = 0; expr->kind == MW_EXPR_NAME && i < trainer->model->output_count; i++)
        if (strcmp(trainer->model->outputs[i].name, expr->text) == 0)
            return &trainer->model->outputs[i];
    return NULL;
}

static void add_input(Trainer *trainer, const char *name, const MwOnnxOutput *output,
                      bool of_classes)
{
    const int rank = output->rank - (of_classes && output->rank > 0);
    mw_text_printf(&trainer->inputs, "  input %s: %s[", name,
                   of_classes ? "i32" : mw_type_name(output->type));
    for (int i = 0; i < rank; i++)
        mw_text_printf(&trainer->inputs, "%s%s", i ? ", " : "", output->dims[i]);
    mw_text_add(&trainer->inputs, "]\n");
    *mw_name_map_add(&trainer->names, mw_intern(trainer->interner, name)) = trainer;
}

static void find_inputs(Trainer *trainer, const MwExpr *expr);

/* A call of a loss tells what its targets are. */
static void find_inputs_of_call(Trainer *trainer, const MwExpr *call)
{
    const MwArgs *args = &call->call.args;
    for (int i = 0; i < MW_COUNT(losses); i++) {
        if (strcmp(losses[i].name, call->call.callee.text) != 0 || args->count < 2)
            continue;
        const MwOnnxOutput *output = find_output(trainer, args->at[0].value);
        const MwExpr *target = args->at[1].value;
        if (output && target->kind == MW_EXPR_NAME &&
            !mw_name_map_find(&trainer->names, target->text))
            add_input(trainer, target->text, output, losses[i].of_classes);
    }
    for (int i = 0; i < args->count; i++)
        find_inputs(trainer, args->at[i].value);
}

static void find_inputs(Trainer *trainer, const MwExpr *expr)
{
    switch (expr->kind) {
    case MW_EXPR_NAME:
        if (!mw_name_map_find(&trainer->names, expr->text)) {
            mw_diag_error(trainer->diags, expr->span,
                          "the model has no '%s', and what it is as an input is not known",
                          expr->text);
            mw_diag_note(trainer->diags, mw_span_none(),
                         "an input may be the targets of a loss beside an output, as in "
                         "cross_entropy(logits, labels)");
            trainer->failed = true;
        }
        return;
    case MW_EXPR_UNARY:
        find_inputs(trainer, expr->unary.operand);
        return;
    case MW_EXPR_BINARY:
        find_inputs(trainer, expr->binary.left);
        find_inputs(trainer, expr->binary.right);
        return;
    case MW_EXPR_CALL:
        find_inputs_of_call(trainer, expr);
        return;
    case MW_EXPR_INDEX:
        find_inputs(trainer, expr->index.of);
        return;
    case MW_EXPR_LIST:
        for (int i = 0; i < expr->list.count; i++)
            find_inputs(trainer, expr->list.at[i]);
        return;
    case MW_EXPR_INT:
    case MW_EXPR_FLOAT:
    case MW_EXPR_TEXT:
    case MW_EXPR_BOOL:
    case MW_EXPR_EACH:
        return;
    }
}

/* The names of sizes and of what the statements of a model name. */
static void add_names(Trainer *trainer, const MwItems *items)
{
    for (int i = 0; i < items->count; i++) {
        const MwItem *item = &items->at[i];
        *mw_name_map_add(&trainer->names, item->name.text) = trainer;
        for (int k = 0; item->kind == MW_ITEM_MODEL && k < item->block->body.count; k++) {
            const MwStatement *statement = item->block->body.at[k];
            const bool lets =
                statement->kind == MW_STATEMENT_LET || statement->kind == MW_STATEMENT_OUTPUT;
            if (statement->kind == MW_STATEMENT_INPUT || statement->kind == MW_STATEMENT_WEIGHT ||
                statement->kind == MW_STATEMENT_STATE)
                *mw_name_map_add(&trainer->names, statement->declare.name.text) = trainer;
            for (int t = 0; lets && t < statement->let.targets.count; t++)
                *mw_name_map_add(&trainer->names, statement->let.targets.at[t].text) = trainer;
        }
    }
}

/* Parses `train WHAT`, and finds the inputs that it adds. False after errors of its text. */
static bool read_train(Trainer *trainer)
{
    static const char before[] = "model trained { train ";
    MwSource *source = MW_NEW(trainer->arena, MwSource, 1);
    const MwTrainText place = {trainer->what, sizeof before - 1};
    MwItems items = {0};
    source->text = mw_arena_printf(trainer->arena, "%s%s\n}\n", before, trainer->what->text);
    source->bytes = strlen(source->text);
    const bool good =
        mw_source_parse(trainer->arena, trainer->interner, source, trainer->diags, &items);
    const MwBody *body = good && items.count == 1 ? &items.at[0].block->body : NULL;
    const bool is_one = body && body->count == 1 && body->at[0]->kind == MW_STATEMENT_TRAIN;
    if (good && !is_one)
        mw_diag_error(trainer->diags, mw_span_none(), "--train wants one LOSS with OPTIMIZER(..)");
    if (is_one)
        find_inputs(trainer, body->at[0]->train.loss);
    mw_train_text_move(&place, source, trainer->diags);
    return good && is_one;
}

/* The text with the inputs behind its own, and the statement at its end, which begins at the
 * result. */
static uint32_t insert(Trainer *trainer, MwOnnxModel *model)
{
    MwText text = {.arena = trainer->arena};
    const char *begin = strstr(model->text, " {\n") + strlen(" {\n"), *end;
    while (strncmp(begin, "  input ", strlen("  input ")) == 0)
        begin = strchr(begin, '\n') + 1;
    end = model->text + model->bytes - strlen("}\n");
    mw_text_add_n(&text, model->text, (size_t)(begin - model->text));
    mw_text_add_n(&text, trainer->inputs.at, trainer->inputs.bytes);
    mw_text_add_n(&text, begin, (size_t)(end - begin));
    mw_text_add(&text, "  train ");
    const size_t place = text.bytes;
    mw_text_printf(&text, "%s\n}\n", trainer->what->text);
    model->text = text.at;
    model->bytes = text.bytes;
    return (uint32_t)place;
}

bool mw_import_train(MwArena *arena, MwOnnxModel *model, const char *what, MwTrainText *train,
                     MwDiags *diags)
{
    MwSource *said = MW_NEW(arena, MwSource, 1), *source = MW_NEW(arena, MwSource, 1);
    *said = (MwSource){"--train", what, strlen(what)};
    *source = (MwSource){"model.graph", model->text, model->bytes};
    Trainer trainer = {.arena = arena,
                       .interner = mw_interner_new(arena),
                       .diags = diags,
                       .model = model,
                       .what = said,
                       .names = {.arena = arena},
                       .inputs = {.arena = arena}};
    MwItems items = {0};
    mw_text_add(&trainer.inputs, "");
    if (!mw_source_parse(arena, trainer.interner, source, diags, &items))
        return false;
    add_names(&trainer, &items);
    if (!read_train(&trainer) || trainer.failed)
        return false;
    *train = (MwTrainText){said, insert(&trainer, model)};
    return true;
}

void mw_train_text_move(const MwTrainText *train, const MwSource *text, MwDiags *diags)
{
    const MwSpan rest = {text, train->begin, (uint32_t)text->bytes};
    mw_diags_move(diags, rest, train->source);
}
