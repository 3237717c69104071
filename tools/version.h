/* SPDX-License-Identifier: MIT */
/* The version of this meshwright. */
#ifndef MW_TOOLS_VERSION_H
#define MW_TOOLS_VERSION_H

/* "0.1.0", or "0.1.0 (commit 6e07e53b1a2c)" in what a clone was built to; where its files were
 * not as committed, "0.1.0 (commit 6e07e53b1a2c, modified)". */
extern const char mw_version[];

#endif
