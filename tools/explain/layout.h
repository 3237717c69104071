/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layout in words: "data=4,tensor=2,pipeline=4". */
#ifndef MW_TOOLS_EXPLAIN_LAYOUT_H
#define MW_TOOLS_EXPLAIN_LAYOUT_H

#include "tools/inspect/roles.h"
#include "tools/session.h"

typedef struct {
    int ways[MW_ROLE_COUNT]; /* devices that share a mesh in this way; 1: none */
    int pipeline;            /* meshes */
} MwLayoutWords;

/* Reads words; `state` as in tools/argument.h. */
MwLayoutWords mw_layout_words(const struct argp_state *state, const char *text);
/* "data 4 x tensor 2 x pipeline 4", in `arena`. */
const char *mw_layout_words_text(MwArena *arena, const MwLayoutWords *words);

/* The best plan on a mesh with an axis for each word, which has that role in products and
 * attention. `*text` is the options that plan it. NULL where there is none, after errors that say
 * why. */
const MwPlan *mw_layout_plan(MwSession *session, const MwPlan *plan, const MwLayoutWords *words,
                             const char **text, MwDiags *diags);

/* Whether each mesh of the plan has as many ways of each role as the words say, by the greatest
 * role of its axes. */
bool mw_layout_is_so(const MwPlan *plan, const MwLayoutWords *words);

#endif
