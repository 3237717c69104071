/* SPDX-License-Identifier: MIT */
#include "runtime/data/feed_hint.h"

#include "base/suggest.h"
#include "base/vec.h"

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

bool mw_no_data(const MwPlanInput *input, const char *option, MwFault *fault)
{
    char text[MW_TENSOR_TEXT_BYTES];
    const char *name = input->name;
    mw_tensor_text(&input->global, text);
    const char *tokens = takes_tokens(input) ? "tokens:" : "";
    for (int n = 0; n < MW_COUNT(mw_text_inputs); n++)
        if (takes_tokens(input) && strcmp(name, mw_text_inputs[n]) == 0)
            return mw_fault_set(fault,
                                "no data for the input %s: %s. Give %s tokens:FILE, lm:FILE, "
                                "npy:%s=FILE or random",
                                name, text, option, name);
    return mw_fault_set(fault, "no data for the input %s: %s. Give %s %s%s%snpy:%s=FILE or random",
                        name, text, option, tokens, *tokens ? name : "", *tokens ? "=FILE, " : "",
                        name);
}
