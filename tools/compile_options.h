/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that `check`, `plan` and `compile` share, parsed by argp. */
#ifndef MW_TOOLS_COMPILE_OPTIONS_H
#define MW_TOOLS_COMPILE_OPTIONS_H

#include "frontend/frontend.h"
#include "passes/pass.h"

#include <argp.h>

typedef struct {
    MwArena *arena; /* where lists are kept; set before parsing */
    const char *model;
    const char *output;
    const char *cluster;
    const char *backend; /* NULL: the cluster's */
    MW_VEC(MwDefine) defines;
    MW_VEC(MwPinOption) pins;
    MwCompileOptions compile;
    MwPipelineOptions pipeline;
} MwToolOptions;

/* Options about the model alone: -D, --dump-after, --stop-after, --time-passes. argp's input for
 * it is the MwToolOptions. */
extern const struct argp mw_model_argp;
/* Options about what to compile for and how: --cluster, --mesh, --pin, … */
extern const struct argp mw_plan_argp;

#endif
