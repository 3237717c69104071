/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/windows.h"

int64_t mw_window_count(const MwWindow *window)
{
    const int64_t room =
        window->in + window->before + window->after - window->dilation * (window->size - 1) - 1;
    return room < 0 ? 0 : room / window->stride + 1;
}

int64_t mw_conv_groups(const MwTensor *x, const MwTensor *filter)
{
    return x->dim[x->rank - 1] / filter->dim[filter->rank - 2];
}
