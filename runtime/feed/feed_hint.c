/* SPDX-License-Identifier: MIT */
#include "runtime/feed/feed_hint.h"

#include "base/suggest.h"
#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const MwPlanInput *mw_find_input(const MwPlan *plan, const char *name)
{
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].input_count; i++)
            if (strcmp(plan->meshes[m].inputs[i].name, name) == 0)
                return &plan->meshes[m].inputs[i];
    return NULL;
}

bool mw_no_such_input(MwArena *arena, const MwPlan *plan, const char *name, MwFault *fault)
{
    MW_VEC(const char *) names = {0};
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].input_count; i++)
            mw_vec_push(arena, &names, plan->meshes[m].inputs[i].name);
    const char *meant = mw_suggest(name, names.at, names.count);
    return meant
               ? mw_fault_set(fault, "the model has no input '%s'; did you mean '%s'?", name, meant)
               : mw_fault_set(fault, "the model has no input '%s'", name);
}

/* Rows of integers, as tokens are. */
static bool takes_tokens(const MwPlanInput *input)
{
    return !input->whole && input->global.rank == 2 && mw_type_is_index(input->global.type);
}

bool mw_no_text_input(const MwPlan *plan, MwFault *fault)
{
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].input_count; i++)
            if (takes_tokens(&plan->meshes[m].inputs[i]))
                return mw_fault_set(fault,
                                    "text goes to an input '%s', and this model has none: give "
                                    "tokens:%s=FILE, or the name of another of its inputs",
                                    mw_text_inputs[0], plan->meshes[m].inputs[i].name);
    return mw_fault_set(fault, "text goes to an input '%s', and this model has none",
                        mw_text_inputs[0]);
}

/* Adds to the text of a fault. */
MW_PRINTF(2, 3) static bool add(MwFault *fault, const char *format, ...)
{
    const size_t used = strlen(fault->text);
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text + used, sizeof fault->text - used, format, args);
    va_end(args);
    return false;
}

bool mw_no_data(const MwPlanInput *input, const MwFeedHint *hint, MwFault *fault)
{
    char text[MW_TENSOR_TEXT_BYTES];
    const char *name = input->name, *file = hint->tokens ? hint->tokens : "FILE";
    bool is_text = false;
    for (int n = 0; n < MW_COUNT(mw_text_inputs); n++)
        is_text |= takes_tokens(input) && strcmp(name, mw_text_inputs[n]) == 0;
    mw_fault_set(fault, "no data for the input %s: %s. Give %s ", name,
                 mw_tensor_text(&input->global, text), hint->option);
    if (hint->array)
        return add(fault, "npz:FILE with the array '%s' of %s, which fits, by the name '%s'",
                   hint->array, hint->archive, name);
    if (is_text && !hint->tokens)
        add(fault, "tokens:FILE, lm:FILE, ");
    else if (takes_tokens(input))
        add(fault, "tokens:%s=%s, ", name, file);
    return add(fault, "npy:%s=FILE%s or random", name, input->global.rank > 2 ? ", npz:FILE" : "");
}
