/* SPDX-License-Identifier: MIT */
/* Inputs by name, and what is said of one that is not there or has no data. */
#ifndef MW_RUNTIME_FEED_FEED_HINT_H
#define MW_RUNTIME_FEED_FEED_HINT_H

#include "runtime/exec/fault.h"
#include "runtime/plan/plan.h"

/* The inputs that a text feeds: its tokens, and the tokens that follow them. */
static const char *const mw_text_inputs[] = {"tokens", "targets"};

/* An input named `name` of any mesh; NULL: there is none. */
const MwPlanInput *mw_find_input(const MwPlan *plan, const char *name);
/* Says that the model has no input `name`, and which it may mean. */
bool mw_no_such_input(MwArena *arena, const MwPlan *plan, const char *name, MwFault *fault);
/* Says that the model has no input for tokens, and which input could take them. */
bool mw_no_text_input(const MwPlan *plan, MwFault *fault);
/* What is known of the feeds that were given. */
typedef struct {
    const char *option;          /* "--feed" */
    const char *tokens;          /* a file of tokens; NULL: none is given */
    const char *array, *archive; /* an array that has rows of the input's shape; NULL: none has */
} MwFeedHint;

/* Says that an input has no data, and which feeds could give it. */
bool mw_no_data(const MwPlanInput *input, const MwFeedHint *hint, MwFault *fault);

#endif
