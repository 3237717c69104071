/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model planned with something else than the command line says, and what comes of it in one row.
 * All commands that ask "what if" plan by it. */
#ifndef MW_TOOLS_WHAT_IF_VARIANT_H
#define MW_TOOLS_WHAT_IF_VARIANT_H

#include "tools/session.h"
#include "tools/what_if/axis.h"
#include "tools/what_if/kinds.h"

/* A weight or a state of the optimizer, as the devices of a mesh hold it together. */
typedef struct {
    const char *name;
    MwTensor tensor;
    bool is_state;
} MwVariantWeight;

/* What a plan gives; texts lie in the arena of the variants. */
typedef struct {
    const char *error; /* why there is no plan, one line; NULL: there is one, of which: */
    double step_s, samples_per_s, tokens_per_s;     /* predicted; rates 0: not known */
    double usd_per_h, usd_per_step, usd_per_sample; /* 0: not known */
    int64_t memory_bytes;                           /* of the device with the greatest arena */
    /* where the variant asks for them: */
    MwMemoryKinds memory;           /* of that device */
    int64_t host_bytes;             /* that it has on the host */
    const MwVariantWeight *weights; /* of all meshes, each once */
    int weight_count;
    int devices, stages, micro_batches;
    const char *parallelism; /* "data 4 x tensor 2" */
    const char *mesh;        /* "4x2", of all meshes; "4x2, 8" where they differ */
    const char *schedule;    /* "none" where there is one mesh */
} MwVariantResult;

/* A figure of the cluster that is set to another value. */
typedef struct {
    const MwWhatIfAxis *axis;
    const char *value;
} MwVariantFigure;

typedef struct {
    MwToolOptions options; /* sizes and options of planning are set here */
    MW_VEC(MwVariantFigure) figures;
    bool lists_memory; /* the result is to have memory by kinds, and weights */
    MwVariantResult result;
} MwVariant;

typedef MW_VEC(MwVariant) MwVariants;

/* A variant that differs in nothing yet. */
MwVariant mw_variant(const MwToolOptions *options);
/* Sets the thing that an axis is about to one of its values. Ends the process on values that are
 * wrong for an option. */
void mw_variant_set(MwArena *arena, MwVariant *variant, const MwWhatIfAxis *axis,
                    const char *value);

/* Whether the options are such that many plans can be made: none writes what one plan gives. */
bool mw_variants_can_plan(const MwToolOptions *options, MwDiags *diags);

/* Plans each variant, at most `jobs` at a time (0: as many as there are cores), and fills in its
 * result, in `arena`; says on the terminal how many are planned. */
void mw_variants_plan(MwArena *arena, MwVariants *variants, int jobs);

/* Adds an error where no variant could be planned: that of the first. */
void mw_variants_check_any(const MwVariants *variants, MwDiags *diags);

#endif
