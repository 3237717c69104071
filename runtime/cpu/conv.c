/* SPDX-License-Identifier: MIT */
/* Convolutions on oneDNN.
 *
 * Images stay as they are, [batch, in.., channels], but where windows of one element skip elements:
 * the elements that they see are copied to an image of their own, or from it, of as many points as
 * the convolution has windows. Filters are copied to the layout that oneDNN chooses for the
 * convolution, and gradients of filters from it: at most as many elements as a filter has. A
 * convolution is prepared at its first call and kept for the process: one entry for each distinct
 * set of arguments, of which a plan has at most as many as it has calls. The copies and what oneDNN
 * works in are memory outside the arena of the plan, and so are copies that are rounded to tf32.
 * Gradients of some filters are matrix products instead (filter_grad.h). */
#include "base/half.h"
#include "runtime/cpu/filter_grad.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <dnnl_debug.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT = 2 }; /* operand of each routine */
enum { MAX_RANK = MW_WINDOW_DIMS + 3 /* batch and channels; a filter with groups has one more */ };

/* The spatial dimensions from the first one that is more than a point on; at least one. Of the
 * image as it is stored, the convolution takes elements `step` apart: `in` of them. */
typedef struct {
    int count;
    dnnl_dims_t stored, step, in, out, size, stride, dilation, before, after;
} Space;

typedef struct Prepared Prepared;
struct Prepared {
    Prepared *next;
    MwRoutine routine;
    MwKernelArg args[MW_CONV_ARGS];
    dnnl_primitive_t conv, reorder; /* no reorder: filters are in the layout that oneDNN chose */
    dnnl_memory_t operands[3];      /* in the order of the routine's operands */
    dnnl_memory_t packed;           /* the filter in oneDNN's layout; or operands[filter] */
    Space space;
    float *seen; /* the elements of the image that the convolution takes; NULL: the image itself */
};

static struct {
    pthread_mutex_t lock; /* held through a call: memory objects are set to its operands */
    Prepared *first;
} convolutions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What the operands are to oneDNN, and which of them are the image and the filter. */
typedef struct {
    int role[3], image, filter;
} Form;

static const Form *form_of(MwRoutine routine)
{
    static const Form forms[] = {
        [MW_ROUTINE_CONV] = {.role = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                             .image = 0,
                             .filter = 1},
        [MW_ROUTINE_CONV_TRANSPOSE] = {.role = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS,
                                                DNNL_ARG_DIFF_SRC},
                                       .image = 2,
                                       .filter = 1},
        [MW_ROUTINE_CONV_FILTER_GRAD] = {.role = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST,
                                                  DNNL_ARG_DIFF_WEIGHTS},
                                         .image = 0,
                                         .filter = 2},
    };
    return &forms[routine];
}

static bool succeeded(dnnl_status_t status, MwFault *fault)
{
    return status == dnnl_success ||
           mw_fault_set(fault, "convolution: oneDNN: %s", dnnl_status2str(status));
}

/* ---- Descriptions ---- */

/* Whether windows of one element skip elements. */
static bool skips_elements(const Space *s)
{
    bool skips = false;
    for (int d = 0; d < s->count; d++) {
        if (s->size[d] != 1)
            return false;
        skips |= s->stride[d] != 1;
    }
    return skips;
}

/* Lets the convolution take the elements alone that windows of one element see, if all of them are
 * inside the image. */
static void skip_unseen(Space *s)
{
    bool is_inside = skips_elements(s);
    for (int d = 0; d < s->count; d++)
        is_inside &= s->before[d] == 0 && s->after[d] <= 0;
    for (int d = 0; d < s->count && is_inside; d++) {
        s->in[d] = s->out[d];
        s->step[d] = s->stride[d];
        s->stride[d] = 1;
        s->after[d] = 0;
    }
}

static Space space_of(const MwKernelArg *args)
{
    Space space = {0};
    int i = 0;
    while (i < MW_WINDOW_DIMS - 1 && args[MW_WINDOW_IN + i].i == 1 &&
           args[MW_WINDOW_OUT + i].i == 1 && args[MW_WINDOW_SIZE + i].i == 1)
        i++;
    for (; i < MW_WINDOW_DIMS; i++) {
        const int d = space.count++;
        space.stored[d] = space.in[d] = args[MW_WINDOW_IN + i].i;
        space.step[d] = 1;
        space.out[d] = args[MW_WINDOW_OUT + i].i;
        space.size[d] = args[MW_WINDOW_SIZE + i].i;
        space.stride[d] = args[MW_WINDOW_STRIDE + i].i;
        space.dilation[d] = args[MW_WINDOW_DILATION + i].i - 1; /* elements that are left out */
        space.before[d] = args[MW_WINDOW_BEFORE + i].i;
        space.after[d] = (space.out[d] - 1) * space.stride[d] +
                         (space.size[d] - 1) * (space.dilation[d] + 1) + 1 - space.in[d] -
                         space.before[d];
    }
    skip_unseen(&space);
    return space;
}

/* oneDNN names the dimensions of an image batch, channels, space.. whatever their strides. */
static dnnl_status_t describe_image(const Space *space, const int64_t *spatial, int64_t batch,
                                    int64_t channels, dnnl_memory_desc_t *image)
{
    dnnl_dims_t dims = {batch, channels}, strides;
    int64_t stride = channels;
    strides[1] = 1;
    for (int d = space->count - 1; d >= 0; d--) {
        dims[d + 2] = spatial[d];
        strides[d + 2] = stride;
        stride *= spatial[d];
    }
    strides[0] = stride;
    return dnnl_memory_desc_init_by_strides(image, space->count + 2, dims, dnnl_f32, strides);
}

/* And those of a filter groups, features, channels, space... */
static dnnl_status_t describe_filter(const Space *space, const MwKernelArg *args,
                                     dnnl_memory_desc_t *stored, dnnl_memory_desc_t *chosen)
{
    const int64_t groups = args[MW_CONV_GROUPS].i;
    const int64_t channels = args[MW_WINDOW_CHANNELS].i / groups;
    const int64_t features = args[MW_CONV_FEATURES].i;
    dnnl_dims_t dims, strides;
    int rank = 0;
    if (groups > 1) {
        dims[rank] = groups;
        strides[rank++] = features / groups;
    }
    dims[rank] = features / groups;
    strides[rank++] = 1;
    dims[rank] = channels;
    strides[rank++] = features;
    int64_t stride = features * channels;
    for (int d = space->count - 1; d >= 0; d--) {
        dims[rank + d] = space->size[d];
        strides[rank + d] = stride;
        stride *= space->size[d];
    }
    rank += space->count;
    MW_ASSERT(rank <= MAX_RANK);
    const dnnl_status_t status =
        dnnl_memory_desc_init_by_tag(chosen, rank, dims, dnnl_f32, dnnl_format_tag_any);
    return status != dnnl_success
               ? status
               : dnnl_memory_desc_init_by_strides(stored, rank, dims, dnnl_f32, strides);
}

typedef struct {
    dnnl_memory_desc_t x, y, filter; /* as the operands are stored */
    dnnl_memory_desc_t chosen;       /* the filter, in a layout of oneDNN's choice */
    dnnl_primitive_desc_t desc;
} Plan;

/* Creates the description by the first implementation that is not passed over. oneDNN's kernels for
 * windows of one element that skip elements copy the image to a workspace, which is too small for
 * the gradient of a filter if channels do not fill a vector (2.6.3: valgrind finds the writes; at
 * 8 x 8, 4 channels, 8 features, stride 2). They are passed over. */
static dnnl_status_t create_desc(const dnnl_convolution_desc_t *conv, const Space *s,
                                 dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *desc)
{
    dnnl_primitive_desc_iterator_t each;
    const char *name = "";
    dnnl_status_t status =
        dnnl_primitive_desc_iterator_create(&each, conv, NULL, mw_onednn()->engine, hint);
    if (status != dnnl_success)
        return status;
    for (bool is_found = false; status == dnnl_success && !is_found;) {
        *desc = dnnl_primitive_desc_iterator_fetch(each);
        status = dnnl_primitive_desc_query(*desc, dnnl_query_impl_info_str, 0, (void *)&name);
        is_found = status == dnnl_success && !(skips_elements(s) && strstr(name, "1x1"));
        if (!is_found) {
            dnnl_primitive_desc_destroy(*desc);
            status = dnnl_primitive_desc_iterator_next(each);
        }
    }
    dnnl_primitive_desc_iterator_destroy(each);
    return status;
}

/* Stores the description of the convolution. That of a gradient is made with the help of the
 * forward's. */
static dnnl_status_t describe_conv(MwRoutine routine, const Space *s, Plan *plan)
{
    dnnl_convolution_desc_t conv;
    dnnl_primitive_desc_t forward;
    const dnnl_alg_kind_t direct = dnnl_convolution_direct;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &conv, dnnl_forward_training, direct, &plan->x, &plan->chosen, NULL, &plan->y, s->stride,
        s->dilation, s->before, s->after);
    if (status == dnnl_success)
        status = create_desc(&conv, s, NULL, &forward);
    if (status != dnnl_success || routine == MW_ROUTINE_CONV) {
        plan->desc = forward;
        return status;
    }
    status = routine == MW_ROUTINE_CONV_TRANSPOSE
                 ? dnnl_dilated_convolution_backward_data_desc_init(
                       &conv, direct, &plan->x, &plan->chosen, &plan->y, s->stride, s->dilation,
                       s->before, s->after)
                 : dnnl_dilated_convolution_backward_weights_desc_init(
                       &conv, direct, &plan->x, &plan->chosen, NULL, &plan->y, s->stride,
                       s->dilation, s->before, s->after);
    if (status == dnnl_success)
        status = create_desc(&conv, s, forward, &plan->desc);
    dnnl_primitive_desc_destroy(forward);
    return status;
}

/* ---- Preparation ---- */

static dnnl_status_t make_reorder(Prepared *p, const dnnl_memory_desc_t *from,
                                  const dnnl_memory_desc_t *to)
{
    dnnl_primitive_desc_t desc;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&desc, from, mw_onednn()->engine, to,
                                                              mw_onednn()->engine, NULL);
    if (status != dnnl_success)
        return status;
    status = dnnl_primitive_create(&p->reorder, desc);
    dnnl_primitive_desc_destroy(desc);
    return status;
}

static dnnl_status_t make_packed(Prepared *p, const Form *form, const Plan *plan)
{
    const bool is_result = form->role[form->filter] == DNNL_ARG_DIFF_WEIGHTS;
    const dnnl_memory_desc_t *packed = dnnl_primitive_desc_query_md(
        plan->desc, is_result ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    p->packed = p->operands[form->filter];
    if (dnnl_memory_desc_equal(packed, &plan->filter))
        return dnnl_success;
    const dnnl_status_t status =
        dnnl_memory_create(&p->packed, packed, mw_onednn()->engine, DNNL_MEMORY_ALLOCATE);
    if (status != dnnl_success)
        return status;
    return is_result ? make_reorder(p, packed, &plan->filter)
                     : make_reorder(p, &plan->filter, packed);
}

static dnnl_status_t make_operands(Prepared *p, const Form *form, const Plan *plan)
{
    for (int k = 0; k < 3; k++) {
        const int role = form->role[k];
        const dnnl_memory_desc_t *operand = k == form->filter ? &plan->filter
                                            : role == DNNL_ARG_SRC || role == DNNL_ARG_DIFF_SRC
                                                ? &plan->x
                                                : &plan->y;
        const dnnl_status_t status =
            dnnl_memory_create(&p->operands[k], operand, mw_onednn()->engine, DNNL_MEMORY_NONE);
        if (status != dnnl_success)
            return status;
    }
    return dnnl_success;
}

static dnnl_status_t make_seen(Prepared *p)
{
    int64_t elements = p->args[MW_WINDOW_BATCH].i * p->args[MW_WINDOW_CHANNELS].i;
    bool is_part = false;
    for (int d = 0; d < p->space.count; d++) {
        elements *= p->space.in[d];
        is_part |= p->space.step[d] != 1;
    }
    if (is_part)
        p->seen = malloc((size_t)elements * sizeof(float));
    return is_part && !p->seen ? dnnl_out_of_memory : dnnl_success;
}

/* What a failure leaves behind is lost: the run ends. */
static dnnl_status_t prepare(Prepared *p)
{
    const Form *form = form_of(p->routine);
    const int64_t batch = p->args[MW_WINDOW_BATCH].i;
    const Space *space = &p->space;
    Plan plan;
    p->space = space_of(p->args);
    dnnl_status_t status = mw_onednn()->status;
    if (status == dnnl_success)
        status = describe_image(space, space->in, batch, p->args[MW_WINDOW_CHANNELS].i, &plan.x);
    if (status == dnnl_success)
        status = describe_image(space, space->out, batch, p->args[MW_CONV_FEATURES].i, &plan.y);
    if (status == dnnl_success)
        status = describe_filter(space, p->args, &plan.filter, &plan.chosen);
    if (status == dnnl_success)
        status = describe_conv(p->routine, space, &plan);
    if (status != dnnl_success)
        return status;
    status = make_seen(p);
    if (status == dnnl_success)
        status = make_operands(p, form, &plan);
    if (status == dnnl_success)
        status = make_packed(p, form, &plan);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&p->conv, plan.desc);
    dnnl_primitive_desc_destroy(plan.desc);
    return status;
}

static bool same_args(const MwKernelArg *a, const MwKernelArg *b)
{
    for (int i = 0; i < MW_CONV_ARGS; i++)
        if (a[i].i != b[i].i)
            return false;
    return true;
}

/* The prepared convolution of a call; NULL after a fault. */
static Prepared *prepared(MwRoutine routine, const MwKernelArg *args, MwFault *fault)
{
    for (Prepared *p = convolutions.first; p; p = p->next)
        if (p->routine == routine && same_args(p->args, args))
            return p;
    Prepared *p = calloc(1, sizeof *p);
    if (!p) {
        mw_fault_set(fault, "convolution: no memory");
        return NULL;
    }
    p->routine = routine;
    memcpy(p->args, args, sizeof p->args);
    if (!succeeded(prepare(p), fault)) {
        free(p);
        return NULL;
    }
    p->next = convolutions.first;
    convolutions.first = p;
    return p;
}

/* ---- Calls ---- */

static dnnl_status_t reorder(const Prepared *p, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return p->reorder ? dnnl_primitive_execute(p->reorder, mw_onednn()->stream, 2, args)
                      : dnnl_success;
}

/* Copies the elements that the convolution takes from the image, or to it and 0 between them. */
static void copy_seen(const Prepared *p, float *image, bool to_image)
{
    const Space *s = &p->space;
    const int64_t channels = p->args[MW_WINDOW_CHANNELS].i;
    const size_t bytes = (size_t)channels * sizeof(float);
    int64_t rows = p->args[MW_WINDOW_BATCH].i, stored = rows * channels;
    for (int d = 0; d < s->count; d++) {
        rows *= s->in[d];
        stored *= s->stored[d];
    }
    if (to_image)
        memset(image, 0, (size_t)stored * sizeof(float));
    for (int64_t row = 0; row < rows; row++) {
        int64_t rest = row, at = 0, stride = channels;
        for (int d = s->count - 1; d >= 0; d--) {
            at += rest % s->in[d] * s->step[d] * stride;
            rest /= s->in[d];
            stride *= s->stored[d];
        }
        at += rest * stride;
        float *seen = p->seen + row * channels;
        memcpy(to_image ? image + at : seen, to_image ? seen : image + at, bytes);
    }
}

static dnnl_status_t execute(const Prepared *p, void *const *operands)
{
    const Form *form = form_of(p->routine);
    const dnnl_memory_t filter = p->operands[form->filter];
    const bool is_result = form->role[form->filter] == DNNL_ARG_DIFF_WEIGHTS;
    dnnl_exec_arg_t args[3];
    dnnl_status_t status = dnnl_success;
    for (int k = 0; k < 3 && status == dnnl_success; k++) {
        args[k] = (dnnl_exec_arg_t){form->role[k], k == form->filter ? p->packed : p->operands[k]};
        status = dnnl_memory_set_data_handle(p->operands[k],
                                             k == form->image && p->seen ? p->seen : operands[k]);
    }
    if (p->seen && form->image != RESULT)
        copy_seen(p, operands[form->image], false);
    if (status == dnnl_success && !is_result)
        status = reorder(p, filter, p->packed);
    if (status == dnnl_success)
        status = dnnl_primitive_execute(p->conv, mw_onednn()->stream, 3, args);
    if (status == dnnl_success && is_result)
        status = reorder(p, p->packed, filter);
    if (status == dnnl_success)
        status = dnnl_stream_wait(mw_onednn()->stream);
    if (status == dnnl_success && p->seen && form->image == RESULT)
        copy_seen(p, operands[RESULT], true);
    return status;
}

static bool run(MwRoutine routine, void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    bool good;
    pthread_mutex_lock(&convolutions.lock);
    if (routine == MW_ROUTINE_CONV_FILTER_GRAD && mw_filter_grad_is_product(args)) {
        good = mw_filter_grad(operands, args, fault);
    } else {
        const Prepared *p = prepared(routine, args, fault);
        good = p && succeeded(execute(p, operands), fault);
    }
    pthread_mutex_unlock(&convolutions.lock);
    return good;
}

/* The same on copies of what it reads, rounded to tf32. */
static bool run_rounded(MwRoutine routine, void *const *operands, const MwKernelArg *args,
                        MwFault *fault)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    MwKernelArg in_f32[MW_CONV_ARGS];
    const bool good = mw_routine_extents(routine, args, bytes);
    MW_ASSERT(good); /* else the plan would be refused */
    float *copy = malloc((size_t)(bytes[0] + bytes[1]));
    if (!copy)
        return mw_fault_set(fault, "convolution: no memory");
    float *const second = copy + bytes[0] / (int64_t)sizeof *copy;
    memcpy(copy, operands[0], (size_t)bytes[0]);
    memcpy(second, operands[1], (size_t)bytes[1]);
    for (int64_t i = 0; i < (bytes[0] + bytes[1]) / (int64_t)sizeof *copy; i++)
        copy[i] = mw_tf32_from_f32(copy[i]);
    memcpy(in_f32, args, sizeof in_f32);
    in_f32[MW_WINDOW_TYPE].i = MW_F32;
    const bool done = run(routine, (void *[]){copy, second, operands[RESULT]}, in_f32, fault);
    free(copy);
    return done;
}

static bool call(MwRoutine routine, void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    return args[MW_WINDOW_TYPE].i == MW_TF32 ? run_rounded(routine, operands, args, fault)
                                             : run(routine, operands, args, fault);
}

bool mw_cpu_conv(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    return call(MW_ROUTINE_CONV, operands, args, fault);
}

bool mw_cpu_conv_transpose(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    return call(MW_ROUTINE_CONV_TRANSPOSE, operands, args, fault);
}

bool mw_cpu_conv_filter_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    return call(MW_ROUTINE_CONV_FILTER_GRAD, operands, args, fault);
}
