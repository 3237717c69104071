/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright list KIND`: what is known by name, a line each. Shells complete names by it. */
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "schedule/schedule.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/data_files.h"

#include <string.h>

typedef struct {
    const char *kind, *model; /* `model` is there for KIND_SIZES alone */
    MwArena *arena;
    MwDiags *diags;
} List;

static void print_names(const MwDataNames *names)
{
    for (int i = 0; i < names->count; i++)
        printf("%s\n", names->at[i]);
}

static void list_models(const List *list)
{
    const MwDataNames names = mw_data_names(list->arena, &mw_data_models);
    print_names(&names);
}

/* Without the suffix, as --cluster takes them. */
static void list_clusters(const List *list)
{
    const MwDataNames names = mw_data_names(list->arena, &mw_data_clusters);
    for (int i = 0; i < names.count; i++)
        printf("%.*s\n", (int)(strlen(names.at[i]) - strlen(mw_data_clusters.suffix)), names.at[i]);
}

static void list_passes(const List *list)
{
    (void)list;
    for (int i = 0; i < MW_PASS_COUNT; i++)
        printf("%s\n", mw_pass_name((MwPass)i));
}

static void list_schedules(const List *list)
{
    (void)list;
    for (int i = 0; i < MW_PIPELINE_COUNT; i++)
        printf("%s\n", mw_pipeline_info((MwPipelineKind)i)->name);
}

static void list_sizes(const List *list)
{
    MwSizeTexts sizes = {0};
    const char *path = mw_data_file(list->arena, &mw_data_models, list->model);
    if (mw_graph_sizes(list->arena, path, &sizes, list->diags))
        for (int i = 0; i < sizes.count; i++)
            printf("%s=%s\n", sizes.at[i].name, sizes.at[i].value);
}

static const struct {
    const char *name;
    bool of_model;
    void (*print)(const List *list);
} kinds[] = {
    {"models", false, list_models}, {"clusters", false, list_clusters},
    {"passes", false, list_passes}, {"schedules", false, list_schedules},
    {"sizes", true, list_sizes},
};

/* The index of the kind that is asked for. */
static int find_kind(const struct argp_state *state, const List *list)
{
    const char *names[MW_COUNT(kinds)];
    for (int i = 0; i < MW_COUNT(kinds); i++)
        names[i] = kinds[i].name;
    if (!list->kind)
        argp_error(state, "a list of what?");
    return mw_argument_choice(state, "list of", names, MW_COUNT(kinds), list->kind);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    List *list = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (list->model)
            argp_error(state, "'%s' is one argument too many", arg);
        *(list->kind ? &list->model : &list->kind) = arg;
        return 0;
    case ARGP_KEY_END:
        if (kinds[find_kind(state, list)].of_model != (list->model != NULL))
            argp_error(state, list->model ? "a list of %s is not of a model" : "%s of which model?",
                       list->kind);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int mw_command_list(int argc, char **argv)
{
    static const struct argp argp = {
        NULL,
        parse_option,
        "models|clusters|passes|schedules\nsizes MODEL.graph",
        "Lists what options and commands know by name: the models and clusters that come with "
        "meshwright, passes, pipeline schedules; or the sizes of a model, with their values.",
        NULL,
        NULL,
        NULL};
    List list = {.arena = mw_arena_new()};
    list.diags = mw_diags_new(list.arena);
    argp_parse(&argp, argc, argv, 0, NULL, &list);
    for (int i = 0; i < MW_COUNT(kinds); i++)
        if (strcmp(kinds[i].name, list.kind) == 0)
            kinds[i].print(&list);
    mw_diags_print(list.diags, stderr);
    const int status = mw_diags_error_count(list.diags) != 0;
    mw_arena_free(&list.arena);
    return status;
}
