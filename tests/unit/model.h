/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model taken through the first passes of the pipeline, and run by the reference interpreter on
 * made-up data. */
#ifndef MW_TESTS_UNIT_MODEL_H
#define MW_TESTS_UNIT_MODEL_H

#include "passes/pass.h"
#include "tests/reference/interpret.h"

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwCompilation compilation;
    bool ok;          /* no errors */
    Interpreter *run; /* NULL after errors */
} TestModel;

/* The text of a model, or models/NAME where `text` is "NAME.graph SIZE=VALUE ...", and perhaps "in
 * bf16", its precision, taken as far as `last` on `micro_batches`. Inputs are drawn: floats in (-1,
 * 1), indices below 5, which are the same on any number of micro-batches. */
TestModel test_model_new(const char *text, int micro_batches, MwPass last);
/* The same with any options of the user's. */
TestModel test_model_compile(const char *text, const MwCompileOptions *options, MwPass last);
void test_model_free(TestModel *model);

double test_model_loss(const TestModel *model);

#endif
