/* SPDX-License-Identifier: MIT */
/* The backends that meshwright-run is linked with: Meson chooses one of the files that define
 * them. */
#ifndef MW_TOOLS_BACKENDS_H
#define MW_TOOLS_BACKENDS_H

#include "runtime/backend.h"

/* Ends with NULL. */
extern const MwBackend *const mw_backends[];

#endif
