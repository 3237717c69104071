/* SPDX-License-Identifier: MIT */
/* What meshwright-run was linked with; Meson chooses the file that says so. */
#ifndef MW_TOOLS_BACKENDS_H
#define MW_TOOLS_BACKENDS_H

#include "runtime/backend.h"

/* NULL after the last. */
extern const MwBackend *const mw_backends[];

#endif
