/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plan may be made again with, and the values it is tried with: "batch=256,512" */
#ifndef MW_TOOLS_WHAT_IF_AXIS_H
#define MW_TOOLS_WHAT_IF_AXIS_H

#include "base/diag.h"
#include "frontend/cluster/figure.h"
#include "tools/compile_options.h"

typedef enum {
    MW_WHAT_IF_SIZE,   /* a size of the model */
    MW_WHAT_IF_FIGURE, /* a figure of the cluster */
    MW_WHAT_IF_OPTION, /* an option of planning */
} MwWhatIfKind;

typedef struct {
    MwWhatIfKind kind;
    const char *name;  /* of the size or of the option, "--stages"; path of the figure */
    const char *title; /* for messages: what of the command line it is of */
    const MwClusterFigure *figure; /* NULL: it is none */
    MW_VEC(const char *) values;   /* each a number with its unit, a factor "0.5x", or a word */
} MwWhatIfAxis;

/* Reads "NAME=VALUE,VALUE" of the option --over, where a value may be a range "A..B" of what comes
 * of doubling A, up to B and B itself. NAME is a size of the model of `options`, else the path of a
 * figure, else an option of planning with or without its dashes. False after an error. */
bool mw_what_if_axis(MwArena *arena, const MwToolOptions *options, const char *text,
                     MwWhatIfAxis *axis, MwDiags *diags);

/* Appends the values of "VALUE,VALUE" to those of the axis. False after an error. */
bool mw_what_if_axis_values(MwArena *arena, const char *text, MwWhatIfAxis *axis, MwDiags *diags);

/* Whether each value of a figure is one; errors have its place. */
bool mw_what_if_axis_check(MwArena *arena, const MwWhatIfAxis *axis, const MwCluster *cluster,
                           MwDiags *diags);

/* A value of an axis, as a text whose name is that of the axis. */
const MwSource *mw_what_if_axis_source(MwArena *arena, const MwWhatIfAxis *axis, const char *value);

#endif
