/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/explain/layout.h"

#include "tools/argument.h"

#include <string.h>

static const char pipeline_word[] = "pipeline";

MwLayoutWords mw_layout_words(const struct argp_state *state, const char *text)
{
    MwLayoutWords words = {.pipeline = 1};
    for (int role = 0; role < MW_ROLE_COUNT; role++)
        words.ways[role] = 1;
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, ","), name = strcspn(at, "=,");
        char number[16];
        MwRole role = MW_ROLE_NONE;
        mw_role_parse(at, name, &role);
        const bool is_pipeline =
            name == strlen(pipeline_word) && strncmp(at, pipeline_word, name) == 0;
        if (name == length || (role == MW_ROLE_NONE && !is_pipeline))
            argp_error(state,
                       "a layout is data=A,tensor=B,expert=C,context=D,pipeline=E, any of "
                       "these, not '%s'",
                       text);
        snprintf(number, sizeof number, "%.*s", (int)(length - name - 1), at + name + 1);
        *(is_pipeline ? &words.pipeline : &words.ways[role]) =
            mw_argument_count(state, "the number of ways", number);
        at += length + (at[length] == ',');
    }
    return words;
}

const char *mw_layout_words_text(MwArena *arena, const MwLayoutWords *words)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "");
    for (int role = 0; role < MW_ROLE_COUNT; role++)
        if (words->ways[role] > 1)
            mw_text_printf(&text, "%s%s %d", text.bytes ? " x " : "", mw_role_name((MwRole)role),
                           words->ways[role]);
    if (words->pipeline > 1)
        mw_text_printf(&text, "%spipeline %d", text.bytes ? " x " : "", words->pipeline);
    return text.bytes ? text.at : "one device";
}

/* Sets the mesh and the roles of its axes. Axis 0 is the slowest link: data first, then experts and
 * context, and tensor last, as people lay them out (Narayanan et al., SC 2021, section 3). Devices
 * that no word has go to data. */
static bool make_mesh(const MwPlan *plan, const MwLayoutWords *words, MwCompileOptions *options,
                      MwDiags *diags)
{
    static const MwRole order[] = {MW_ROLE_DATA, MW_ROLE_EXPERT, MW_ROLE_CONTEXT, MW_ROLE_TENSOR};
    MwMeshShape *mesh = &options->mesh;
    const int devices = plan->rank_count;
    int ways[MW_ROLE_COUNT], named = words->pipeline;
    memcpy(ways, words->ways, sizeof ways);
    for (int role = 0; role < MW_ROLE_COUNT; role++)
        named *= ways[role];
    if (devices % named != 0) {
        mw_diag_error(diags, mw_span_none(), "%d devices are not shared evenly by %d", devices,
                      named);
        return false;
    }
    ways[MW_ROLE_DATA] *= devices / named;
    *mesh = (MwMeshShape){0};
    options->roles = (MwAxisRolePins){.count = 0};
    for (int i = 0; i < MW_COUNT(order); i++) {
        if (ways[order[i]] == 1)
            continue;
        if (mesh->axis_count == MW_MAX_AXES) {
            mw_diag_error(diags, mw_span_none(), "a mesh has at most %d axes", MW_MAX_AXES);
            return false;
        }
        options->roles.at[options->roles.count++] = order[i];
        mesh->size[mesh->axis_count++] = ways[order[i]];
    }
    if (mesh->axis_count == 0) {
        options->roles.at[options->roles.count++] = MW_ROLE_DATA;
        mesh->size[mesh->axis_count++] = 1;
    }
    return true;
}

const MwPlan *mw_layout_plan(MwSession *session, const MwPlan *plan, const MwLayoutWords *words,
                             const char **text, MwDiags *diags)
{
    MwCompileOptions options = session->options.compile;
    MwText words_text = {.arena = session->options.arena};
    char mesh[MW_MESH_TEXT_BYTES];
    if (!make_mesh(plan, words, &options, diags))
        return NULL;
    options.stages = words->pipeline;
    mw_text_printf(&words_text, "--stages %d --mesh %s --roles ", options.stages,
                   mw_mesh_text(&options.mesh, mesh));
    for (int axis = 0; axis < options.roles.count; axis++)
        mw_text_printf(&words_text, "%s%s", axis ? "," : "", mw_role_name(options.roles.at[axis]));
    *text = words_text.at;
    return mw_session_plan_with(session, &options, diags);
}

bool mw_layout_is_so(const MwPlan *plan, const MwLayoutWords *words)
{
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwMeshShape *shape = &plan->meshes[m].shape;
        int ways[MW_ROLE_COUNT];
        for (int role = 0; role < MW_ROLE_COUNT; role++)
            ways[role] = 1;
        for (int axis = 0; axis < shape->axis_count; axis++) {
            const MwAxisRoles roles = mw_inspect_axis_roles(&plan->meshes[m], axis);
            ways[mw_axis_greatest_role(&roles)] *= shape->size[axis];
        }
        for (int role = 0; role < MW_ROLE_COUNT; role++)
            if (words->ways[role] > 1 && ways[role] != words->ways[role])
                return false;
    }
    return true;
}
