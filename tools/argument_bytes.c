/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/argument_bytes.h"

#include "frontend/cluster/units.h"

#include <stdlib.h>

int64_t mw_argument_bytes(const struct argp_state *state, const char *what, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    double bytes = *end ? value * mw_unit_scale(MW_QUANTITY_BYTES, end) : value;
    if (end > text && bytes >= 1 && bytes < 0x1p60)
        return (int64_t)bytes;
    argp_error(state, "'%s' is no %s: write 16GB or 512MiB", text, what);
    return 0;
}
