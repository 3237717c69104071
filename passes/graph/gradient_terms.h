/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on values, for gradient rules. */
#ifndef MW_PASSES_GRAPH_GRADIENT_TERMS_H
#define MW_PASSES_GRAPH_GRADIENT_TERMS_H

#include "ir/build.h"
#include "passes/graph/gradients.h"

/* A constant of the type of the gradient by the result. */
static inline MwValueId scalar_like(const MwGradient *g, double value)
{
    MwTensor scalar = mw_tensor_scalar(mw_value_tensor(g->graph, g->results[0])->type);
    return mw_build_constant(g->graph, &scalar, value);
}

static inline MwValueId mul(const MwGradient *g, MwValueId a, MwValueId b)
{
    return mw_build_binary(g->graph, MW_OP_MUL, a, b);
}

static inline MwValueId plus(const MwGradient *g, MwValueId a, MwValueId b)
{
    return mw_build_binary(g->graph, MW_OP_ADD, a, b);
}

static inline MwValueId minus(const MwGradient *g, MwValueId a, MwValueId b)
{
    return mw_build_binary(g->graph, MW_OP_SUB, a, b);
}

static inline MwValueId neg(const MwGradient *g, MwValueId a)
{
    return mw_build_unary(g->graph, MW_OP_NEG, a);
}

static inline MwValueId scaled(const MwGradient *g, MwValueId a, double factor)
{
    return mul(g, a, scalar_like(g, factor));
}

/* Adds `more` to each element. */
static inline MwValueId shifted(const MwGradient *g, MwValueId a, double more)
{
    return plus(g, a, scalar_like(g, more));
}

#endif
