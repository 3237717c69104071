/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/windows.h"

int64_t mw_window_count(const MwWindow *window)
{
    const int64_t room =
        window->in + window->before + window->after - window->dilation * (window->size - 1) - 1;
    return room < 0 ? 0 : room / window->stride + 1;
}

MwWindowReach mw_window_reach(const MwWindow *window)
{
    return (MwWindowReach){.before = window->before,
                           .after = window->dilation * (window->size - 1) + 1 - window->stride -
                                    window->before};
}

int64_t mw_window_blocks(const MwWindow *window)
{
    const MwWindowReach reach = mw_window_reach(window);
    const int64_t most = mw_max(reach.before, reach.after);
    if (window->in != window->out * window->stride)
        return 1;
    return most > 0 ? mw_max(mw_min(window->out, window->in / most), 1) : window->out;
}

int64_t mw_conv_groups(const MwTensor *x, const MwTensor *filter)
{
    return x->dim[x->rank - 1] / filter->dim[filter->rank - 2];
}
