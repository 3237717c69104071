/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States of optimizers in 16 bits.
 *
 * A step changes a moving average by a small part of it: with a beta of 0.999 by a thousandth, and
 * bf16 has numbers a hundredth apart. Rounded to nearest the average would stay where it is. So it
 * is rounded stochastically (Gupta et al., "Deep Learning with Limited Numerical Precision", 2015):
 * it moves in one step of many by much, and is on average what it is in f32. A number of bf16 is
 * rounded to itself, so a state that a step leaves as it is does not wander.
 *
 * Tables that step by rows keep f32 (passes/graph/row_steps.c). */
#include "passes/graph/steps.h"

#include "ir/build.h"

static MwType kept_type(const MwWeightStep *s)
{
    const char *weight = mw_value(s->graph, s->weight)->name;
    return mw_patterns_match(&s->train->sparse, weight) ? MW_F32 : s->train->states;
}

MwKeptState mw_kept_state(const MwWeightStep *s, const char *suffix, const MwTensor *like)
{
    MwTensor tensor = *like;
    tensor.type = kept_type(s);
    const MwValueId state = mw_step_state(s->graph, s->weight, suffix, &tensor);
    return (MwKeptState){state, mw_build_cast(s->graph, state, MW_F32)};
}

static MwValueId rounded(const MwWeightStep *s, MwValueId value, MwType type)
{
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, type),
                            mw_attr_int(MW_ATTR_KEY, (uint32_t)(*s->next_key)++)};
    return mw_build(s->graph, NULL, MW_OP_CAST_STOCHASTIC, &value, 1, attrs, MW_COUNT(attrs));
}

void mw_kept_state_assign(const MwWeightStep *s, const MwKeptState *kept, MwValueId value)
{
    const MwType type = mw_value_tensor(s->graph, kept->state)->type;
    mw_step_assign(s->graph, kept->state, type == MW_F32 ? value : rounded(s, value, type));
}
