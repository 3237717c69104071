/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/optimizer.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#define ALWAYS (-1)
#define NON_ZERO(id) MW_ATTR_##id
#define GIVES_new_weight false
#define GIVES_change true
#define RESTS_NEVER false
#define RESTS_WITHOUT_DECAY true
#define OPTION(id, fallback) {MW_ATTR_##id, fallback},
#define OPTIMIZER(id, name, source, needs, states, state_names, takes_step, gives, rests, flops,   \
                  options, program)                                                                \
    static const MwOptimizerOption options_of_##id[] = {options};
#define COMPOSED(id, source, options, step)                                                        \
    static const MwOptimizerOption options_of_##id[] = {options};
#include "ir/optimizers.def"

static const MwOptimizerInfo optimizers[MW_OPTIMIZER_COUNT] = {
#define OPTIMIZER(id, name, source_, needs_, states, names, takes_step_, gives, rests, flops,      \
                  options_, program_)                                                              \
    [MW_OPTIMIZER_##id] = {.op = MW_OP_##id,                                                       \
                           .source = source_,                                                      \
                           .needs = needs_,                                                        \
                           .state_count = states,                                                  \
                           .state_names = names,                                                   \
                           .takes_step = takes_step_,                                              \
                           .gives_change = GIVES_##gives,                                          \
                           .rests_without_decay = RESTS_##rests,                                   \
                           .option_count = MW_COUNT(options_of_##id),                              \
                           .options = options_of_##id,                                             \
                           .program = program_},
#define COMPOSED(id, source_, options_, step)                                                      \
    [MW_OPTIMIZER_##id] = {.op = MW_OP_COUNT,                                                      \
                           .source = source_,                                                      \
                           .needs = ALWAYS,                                                        \
                           .option_count = MW_COUNT(options_of_##id),                              \
                           .options = options_of_##id},
#include "ir/optimizers.def"
};

const MwHyperparameter mw_hyperparameters[] = {
#define HYPERPARAMETER(id, name, kind, least, below)                                               \
    {MW_ATTR_##id, name, MW_HYPERPARAMETER_##kind, least, below},
#include "ir/hyperparameters.def"
#undef HYPERPARAMETER
};

const MwOptimizerInfo *mw_optimizer_info(MwOptimizer optimizer)
{
    MW_ASSERT(optimizer < MW_OPTIMIZER_COUNT);
    return &optimizers[optimizer];
}

bool mw_optimizer_parse(const char *source, MwOptimizer *optimizer)
{
    for (int i = 0; i < MW_OPTIMIZER_COUNT; i++) {
        if (strcmp(optimizers[i].source, source) == 0) {
            *optimizer = (MwOptimizer)i;
            return true;
        }
    }
    return false;
}

const MwOptimizerInfo *mw_optimizer_of(MwOp op)
{
    for (int i = 0; i < MW_OPTIMIZER_COUNT; i++)
        if (optimizers[i].op == op)
            return &optimizers[i];
    return NULL;
}

MwOptimizer mw_optimizer_choose(const MwTrain *train)
{
    const char *source = optimizers[train->optimizer].source;
    for (int i = 0; i < MW_OPTIMIZER_COUNT; i++)
        if (strcmp(optimizers[i].source, source) == 0 &&
            (optimizers[i].needs < 0 || train->option[optimizers[i].needs] != 0))
            return (MwOptimizer)i;
    MW_UNREACHABLE(); /* the last row of a name is ALWAYS taken */
}

const char *mw_optimizer_state(MwArena *arena, const MwOptimizerInfo *info, int k)
{
    const char *name = info->state_names;
    MW_ASSERT(k < info->state_count);
    for (; k > 0; k--)
        name = strchr(name, ' ') + 1;
    return mw_arena_printf(arena, "%.*s", (int)strcspn(name, " "), name);
}

const MwOptimizerOption *mw_optimizer_option(const MwOptimizerInfo *info,
                                             const MwHyperparameter *hyperparameter)
{
    for (int i = 0; i < info->option_count; i++)
        if (info->options[i].key == hyperparameter->key)
            return &info->options[i];
    return NULL;
}

bool mw_pattern_matches(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, 0) == 0;
}

bool mw_patterns_match(const MwPatterns *patterns, const char *name)
{
    for (int i = 0; i < patterns->count; i++)
        if (mw_pattern_matches(patterns->at[i], name))
            return true;
    return false;
}

bool mw_train_moves(const MwTrain *train, const char *weight)
{
    return train->only.count == 0 || mw_patterns_match(&train->only, weight);
}

const MwTrain *mw_train_of(const MwGraph *graph, const char *weight)
{
    for (int i = 0; i < graph->trains.count; i++)
        if (mw_train_moves(&graph->trains.at[i], weight))
            return &graph->trains.at[i];
    return NULL;
}

int mw_override_find(const MwOverrides *overrides, const char *name)
{
    for (int i = 0; i < overrides->count; i++)
        if (mw_pattern_matches(overrides->at[i].pattern, name))
            return i;
    return -1;
}

double mw_train_decay(const MwTrain *train, const char *weight)
{
    if (mw_patterns_match(&train->no_decay, weight))
        return 0;
    int i = mw_override_find(&train->decays, weight);
    return i < 0 ? train->option[MW_ATTR_WEIGHT_DECAY] : train->decays.at[i].value.number;
}
