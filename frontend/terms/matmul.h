/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operator @. */
#ifndef MW_FRONTEND_TERMS_MATMUL_H
#define MW_FRONTEND_TERMS_MATMUL_H

#include "frontend/terms/emit.h"

MwValueId mw_emit_matmul(MwExpander *ex, MwSite site, MwValueId left, MwValueId right);

#endif
