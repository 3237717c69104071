/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/placement.h"

typedef struct {
    MwDiags *diags;
    const MwBlock *block;
    bool is_model;
} Place;

static const char *statement_word(MwStatementKind kind)
{
    switch (kind) {
    case MW_STATEMENT_INPUT:
        return "input";
    case MW_STATEMENT_OUTPUT:
        return "output";
    case MW_STATEMENT_PRECISION:
        return "precision";
    case MW_STATEMENT_TRAIN:
        return "train";
    case MW_STATEMENT_REPEATED:
        return "repeat ... =";
    case MW_STATEMENT_ASSIGN:
        return "assign";
    default:
        return NULL;
    }
}

static void check_statement(const Place *place, const MwStatement *statement, bool in_repeat,
                            bool is_last)
{
    const char *word = statement_word(statement->kind);
    if (word && (in_repeat || !place->is_model))
        mw_diag_error(place->diags, statement->span, "'%s' belongs to the model, %s", word,
                      in_repeat ? "outside of 'repeat'" : "not to a block");
    if (statement->kind != MW_STATEMENT_RETURN)
        return;
    if (place->is_model)
        mw_diag_error(place->diags, statement->span,
                      "a model does not return: it has 'output' and 'train'");
    else if (in_repeat)
        mw_diag_error(place->diags, statement->span, "'return' cannot stand inside 'repeat'");
    else if (!is_last)
        mw_diag_error(place->diags, statement->span, "what follows this 'return' is never reached");
}

/* The nesting of brackets (MW_MAX_NESTING) bounds the recursion. */
static void check_body(const Place *place, const MwBody *body, bool in_repeat)
{
    for (int i = 0; i < body->count; i++) {
        check_statement(place, body->at[i], in_repeat, i == body->count - 1);
        if (body->at[i]->kind == MW_STATEMENT_REPEAT)
            check_body(place, &body->at[i]->repeat.body, true);
    }
}

static void check_params(const Place *place)
{
    const MwParams *params = &place->block->params;
    for (int i = 0; i < params->count; i++)
        for (int k = 0; k < i; k++)
            if (params->at[k].name.text == params->at[i].name.text) {
                mw_diag_error(place->diags, params->at[i].name.span,
                              "there already is a parameter '%s'", params->at[i].name.text);
                break;
            }
}

static bool returns(const MwBlock *block)
{
    for (int i = 0; i < block->body.count; i++)
        if (block->body.at[i]->kind == MW_STATEMENT_RETURN)
            return true;
    return false;
}

bool mw_placement_check(const MwItems *items, MwDiags *diags)
{
    int errors = mw_diags_error_count(diags);
    for (int i = 0; i < items->count; i++) {
        const MwItem *item = &items->at[i];
        if (!item->block)
            continue;
        Place place = {diags, item->block, item->kind == MW_ITEM_MODEL};
        check_body(&place, &item->block->body, false);
        check_params(&place);
        if (!place.is_model && !returns(item->block))
            mw_diag_error(diags, item->span, "block '%s' has no 'return'", item->name.text);
    }
    return mw_diags_error_count(diags) == errors;
}
