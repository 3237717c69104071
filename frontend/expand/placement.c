/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/placement.h"

typedef struct {
    MwDiags *diags;
    const MwBlock *block;
    bool is_model;
} Place;

/* The statement around a body, of those that run it more than once. */
typedef enum { AROUND_NONE, AROUND_REPEAT, AROUND_SCAN } Around;

static const char *const around_words[] = {"", "repeat", "scan"};

static const char *statement_word(MwStatementKind kind)
{
    switch (kind) {
    case MW_STATEMENT_INPUT:
        return "input";
    case MW_STATEMENT_OUTPUT:
        return "output";
    case MW_STATEMENT_SHOW:
        return "show";
    case MW_STATEMENT_PRECISION:
        return "precision";
    case MW_STATEMENT_TRAIN:
        return "train";
    case MW_STATEMENT_REPEATED:
        return "repeat ... =";
    default:
        return NULL;
    }
}

/* What a scan can hold and what it cannot. */
static void check_scan(const Place *place, const MwStatement *statement, Around around)
{
    if (statement->kind == MW_STATEMENT_COLLECT && around != AROUND_SCAN)
        mw_diag_error(place->diags, statement->span, "'collect' stands in a 'scan'%s",
                      around == AROUND_REPEAT ? ", outside of 'repeat'" : "");
    if (statement->kind == MW_STATEMENT_ASSIGN && around == AROUND_SCAN)
        mw_diag_error(place->diags, statement->span,
                      "'assign' cannot stand inside 'scan': what is assigned has one value for all "
                      "of its steps");
}

static bool returns(const MwBody *body);

/* Whether a block ends with the statement: it returns, in every branch if it is a choice. The
 * nesting of brackets and the grammar's stack bound the recursion. */
static bool ends_block(const MwStatement *statement)
{
    return statement->kind == MW_STATEMENT_RETURN ||
           (statement->kind == MW_STATEMENT_IF && returns(&statement->choice.yes) &&
            returns(&statement->choice.no));
}

/* Whether the body returns, by whatever branches of its choices are taken. */
static bool returns(const MwBody *body)
{
    for (int i = 0; i < body->count; i++)
        if (ends_block(body->at[i]))
            return true;
    return false;
}

/* `is_last`: nothing of its body follows the statement. */
static void check_statement(const Place *place, const MwStatement *statement, Around around,
                            bool is_last)
{
    const char *word = statement_word(statement->kind);
    if (word && (around || !place->is_model))
        mw_diag_error(place->diags, statement->span, "'%s' belongs to the model, %s%s%s", word,
                      around ? "outside of '" : "not to a block", around_words[around],
                      around ? "'" : "");
    check_scan(place, statement, around);
    if (!ends_block(statement))
        return;
    const bool is_return = statement->kind == MW_STATEMENT_RETURN;
    if (is_return && place->is_model)
        mw_diag_error(place->diags, statement->span,
                      "a model does not return: it has 'output' and 'train'");
    else if (is_return && around)
        mw_diag_error(place->diags, statement->span, "'return' cannot stand inside '%s'",
                      around_words[around]);
    else if (!is_last && !place->is_model && !around)
        mw_diag_error(place->diags, statement->span, "what follows this '%s' is never reached",
                      is_return ? "return" : "if");
}

/* The nesting of brackets (MW_MAX_NESTING) and the grammar's stack bound the recursion. */
static void check_body(const Place *place, const MwBody *body, Around around)
{
    for (int i = 0; i < body->count; i++) {
        const MwStatement *statement = body->at[i];
        check_statement(place, statement, around, i == body->count - 1);
        if (statement->kind == MW_STATEMENT_REPEAT)
            check_body(place, &statement->repeat.body, AROUND_REPEAT);
        if (statement->kind == MW_STATEMENT_SCAN)
            check_body(place, &statement->scan.body, AROUND_SCAN);
        if (statement->kind != MW_STATEMENT_IF)
            continue;
        check_body(place, &statement->choice.yes, around);
        check_body(place, &statement->choice.no, around);
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

static bool ends_in_choice(const MwBody *body)
{
    return body->count && mw_vec_last(body)->kind == MW_STATEMENT_IF;
}

bool mw_placement_check(const MwItems *items, MwDiags *diags)
{
    int errors = mw_diags_error_count(diags);
    for (int i = 0; i < items->count; i++) {
        const MwItem *item = &items->at[i];
        if (!item->block)
            continue;
        Place place = {diags, item->block, item->kind == MW_ITEM_MODEL};
        check_body(&place, &item->block->body, AROUND_NONE);
        check_params(&place);
        if (!place.is_model && !returns(&item->block->body))
            mw_diag_error(diags, item->span, "block '%s' has no 'return'%s", item->name.text,
                          ends_in_choice(&item->block->body) ? " in every branch" : "");
    }
    return mw_diags_error_count(diags) == errors;
}
