/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_FRONTEND_DEFINE_H
#define MW_FRONTEND_DEFINE_H

/* `-D name=value`: a size of the model, overridden. */
typedef struct {
    const char *name;
    const char *value; /* a number or a truth value: "24", "1e-5", "true" */
} MwDefine;

#endif
