/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions and pooling, by their definition: for each window, each of its elements inside the
 * image. Dimensions that the node lacks are of one element. */
#include "tests/reference/evaluate_rules.h"

#include <math.h>
#include <string.h>

enum { DIMS = 3 };

typedef struct {
    int64_t in[DIMS], out[DIMS], size[DIMS], stride[DIMS], dilation[DIMS], before[DIMS];
    int64_t batch, channels, features, groups;
} Geometry;

static int64_t number(const Eval *e, MwAttrKey key, int i)
{
    return mw_node_attr(e->node, key)->ints.at[i];
}

static void set_windows(const Eval *e, const MwTensor *x, const MwTensor *y, const int64_t *size,
                        Geometry *g)
{
    const int dims = x->rank - 2;
    for (int i = 0; i < DIMS; i++) {
        const int d = i - (DIMS - dims);
        g->in[i] = d < 0 ? 1 : x->dim[d + 1];
        g->out[i] = d < 0 ? 1 : y->dim[d + 1];
        g->size[i] = d < 0 ? 1 : size[d];
        g->stride[i] = d < 0 ? 1 : number(e, MW_ATTR_STRIDE, d);
        g->before[i] = d < 0 ? 0 : number(e, MW_ATTR_PADDING, 2 * d);
        g->dilation[i] = 1;
        if (d >= 0 && mw_node_attr(e->node, MW_ATTR_DILATION))
            g->dilation[i] = number(e, MW_ATTR_DILATION, d);
    }
    g->batch = x->dim[0];
    g->channels = x->dim[x->rank - 1];
    g->features = y->dim[y->rank - 1];
}

/* A pair of a window and an element of it that is inside: elements 0 of its channels in x and in
 * y, and the number of the element in the window. */
typedef void Visit(const Eval *e, const Geometry *g, int64_t x, int64_t y, int64_t tap);

/* Finds element `tap` of window o of image b: element 0 of its channels in x. False: padding. */
static bool find_point(const Geometry *g, int64_t b, const int64_t o[DIMS], int64_t tap, int64_t *x)
{
    const int64_t k[DIMS] = {tap / g->size[2] / g->size[1], tap / g->size[2] % g->size[1],
                             tap % g->size[2]};
    bool is_inside = true;
    int64_t at = b;
    for (int d = 0; d < DIMS; d++) {
        const int64_t i = o[d] * g->stride[d] - g->before[d] + k[d] * g->dilation[d];
        is_inside &= i >= 0 && i < g->in[d];
        at = at * g->in[d] + i;
    }
    *x = at * g->channels;
    return is_inside;
}

static void visit_taps(const Eval *e, const Geometry *g, int64_t b, const int64_t o[DIMS],
                       Visit *visit)
{
    const int64_t y =
        (((b * g->out[0] + o[0]) * g->out[1] + o[1]) * g->out[2] + o[2]) * g->features;
    int64_t x;
    for (int64_t tap = 0; tap < g->size[0] * g->size[1] * g->size[2]; tap++)
        if (find_point(g, b, o, tap, &x))
            visit(e, g, x, y, tap);
}

static void visit_windows(const Eval *e, const Geometry *g, Visit *visit)
{
    int64_t o[DIMS];
    for (int64_t b = 0; b < g->batch; b++)
        for (o[0] = 0; o[0] < g->out[0]; o[0]++)
            for (o[1] = 0; o[1] < g->out[1]; o[1]++)
                for (o[2] = 0; o[2] < g->out[2]; o[2]++)
                    visit_taps(e, g, b, o, visit);
}

static void clear(const Eval *e)
{
    memset(e->out[0], 0, sizeof(double) * (size_t)mw_tensor_elements(eval_out(e, 0)));
}

/* ---- Convolutions ---- */

typedef struct {
    const double *x, *filter, *y;
} Factors;

/* Adds to the result, for all channels and features of the point, the product of the other two. */
static void multiply(const Eval *e, const Geometry *g, int64_t x, int64_t y, int64_t tap)
{
    const int64_t channels = g->channels / g->groups, features = g->features / g->groups;
    for (int64_t f = 0; f < g->features; f++)
        for (int64_t c = 0; c < channels; c++) {
            const int64_t in = x + f / features * channels + c;
            const int64_t weight = (tap * channels + c) * g->features + f;
            switch (e->node->op) {
            case MW_OP_CONV:
                e->out[0][y + f] += e->in[0][in] * e->in[1][weight];
                break;
            case MW_OP_CONV_TRANSPOSE:
                e->out[0][in] += e->in[0][y + f] * e->in[1][weight];
                break;
            default:
                e->out[0][weight] += e->in[0][in] * e->in[1][y + f];
            }
        }
}

static void convolve(const Eval *e, const MwTensor *x, const MwTensor *filter, const MwTensor *y)
{
    Geometry g;
    set_windows(e, x, y, filter->dim, &g);
    g.groups = g.channels / filter->dim[filter->rank - 2];
    clear(e);
    visit_windows(e, &g, multiply);
}

/* ---- Pooling ---- */

static void raise_to(const Eval *e, const Geometry *g, int64_t x, int64_t y, int64_t tap)
{
    (void)tap;
    for (int64_t c = 0; c < g->channels; c++)
        if (!(e->in[0][x + c] <= e->out[0][y + c]) && !isnan(e->out[0][y + c]))
            e->out[0][y + c] = e->in[0][x + c];
}

static void add_to_window(const Eval *e, const Geometry *g, int64_t x, int64_t y, int64_t tap)
{
    (void)tap;
    for (int64_t c = 0; c < g->channels; c++)
        e->out[0][y + c] += e->in[0][x + c];
}

static void add_to_points(const Eval *e, const Geometry *g, int64_t x, int64_t y, int64_t tap)
{
    (void)tap;
    for (int64_t c = 0; c < g->channels; c++)
        e->out[0][x + c] += e->in[0][y + c];
}

static void pool(const Eval *e, const MwTensor *x, const MwTensor *y, double value, Visit *visit)
{
    Geometry g;
    set_windows(e, x, y, mw_node_attr(e->node, MW_ATTR_WINDOW)->ints.at, &g);
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++)
        e->out[0][i] = value;
    visit_windows(e, &g, visit);
}

/* The place in x of the first of the greatest elements of the window whose maximum is element i of
 * y; of a NaN, the first. */
static int64_t first_greatest(const Eval *e, const Geometry *g, int64_t i)
{
    const double *in = e->in[0];
    const int64_t window = i / g->channels, channel = i % g->channels;
    const int64_t o[DIMS] = {window / g->out[2] / g->out[1] % g->out[0],
                             window / g->out[2] % g->out[1], window % g->out[2]};
    const int64_t b = window / (g->out[0] * g->out[1] * g->out[2]);
    int64_t best = -1, x;
    for (int64_t tap = 0; tap < g->size[0] * g->size[1] * g->size[2]; tap++)
        if (find_point(g, b, o, tap, &x) && (best < 0 || in[x + channel] > in[best] ||
                                             (isnan(in[x + channel]) && !isnan(in[best]))))
            best = x + channel;
    return best;
}

static void max_pool_grad(const Eval *e)
{
    Geometry g;
    const MwTensor *x = eval_in(e, 0), *y = eval_in(e, 1);
    set_windows(e, x, y, mw_node_attr(e->node, MW_ATTR_WINDOW)->ints.at, &g);
    clear(e);
    for (int64_t i = 0; i < mw_tensor_elements(y); i++) {
        const int64_t at = first_greatest(e, &g, i);
        e->out[0][at] += e->in[1][i];
    }
}

static void max_pool_pick(const Eval *e)
{
    Geometry g;
    const MwTensor *x = eval_in(e, 0), *y = eval_out(e, 0);
    set_windows(e, x, y, mw_node_attr(e->node, MW_ATTR_WINDOW)->ints.at, &g);
    for (int64_t i = 0; i < mw_tensor_elements(y); i++)
        e->out[0][i] = e->in[1][first_greatest(e, &g, i)];
}

bool eval_windows(const Eval *e)
{
    switch (e->node->op) {
    case MW_OP_CONV:
        return convolve(e, eval_in(e, 0), eval_in(e, 1), eval_out(e, 0)), true;
    case MW_OP_CONV_TRANSPOSE:
        return convolve(e, eval_out(e, 0), eval_in(e, 1), eval_in(e, 0)), true;
    case MW_OP_CONV_FILTER_GRAD:
        return convolve(e, eval_in(e, 0), eval_out(e, 0), eval_in(e, 1)), true;
    case MW_OP_MAX_POOL:
        return pool(e, eval_in(e, 0), eval_out(e, 0), -INFINITY, raise_to), true;
    case MW_OP_MAX_POOL_GRAD:
        return max_pool_grad(e), true;
    case MW_OP_MAX_POOL_PICK:
        return max_pool_pick(e), true;
    case MW_OP_SUM_POOL:
        return pool(e, eval_in(e, 0), eval_out(e, 0), 0, add_to_window), true;
    case MW_OP_SUM_POOL_GRAD:
        return pool(e, eval_out(e, 0), eval_in(e, 0), 0, add_to_points), true;
    default:
        return false;
    }
}
