/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/argument.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mw_argument_count(const struct argp_state *state, const char *what, const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1)
        argp_error(state, "%s must be a whole number of at least 1, not '%s'", what, text);
    if (value > 1 << 20)
        argp_error(state, "%s is at most %d, not '%s'", what, 1 << 20, text);
    return (int)value;
}

int mw_argument_choice(const struct argp_state *state, const char *what, const char *const *names,
                       int count, const char *text)
{
    char list[256] = "";
    for (int i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0)
            return i;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s",
                 i == 0           ? ""
                 : i == count - 1 ? " or "
                                  : ", ",
                 names[i]);
    }
    argp_error(state, "there is no %s '%s': choose %s", what, text, list);
    return 0;
}

MwMeshShape mw_argument_mesh(const struct argp_state *state, const char *text)
{
    MwMeshShape mesh;
    if (!mw_mesh_parse(text, &mesh))
        argp_error(state, "'%s' is no mesh: write 4 or 2x4, of %d axes at most", text, MW_MAX_AXES);
    return mesh;
}

double mw_argument_seconds(const struct argp_state *state, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0 && value <= 1e9))
        argp_error(state, "a time limit is a positive number of seconds, at most 1e9, not '%s'",
                   text);
    return value;
}

double mw_argument_duration(const struct argp_state *state, const char *what, const char *text)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    char *end;
    const double value = strtod(text, &end);
    for (int i = 0; i < MW_COUNT(units); i++)
        if (end > text && strcmp(end, units[i].name) == 0 && value >= 0 &&
            value * units[i].seconds <= 1e9)
            return value * units[i].seconds;
    argp_error(state, "%s is a time such as 30s, 90min, 12h or 30d, at most 1e9 s, not '%s'", what,
               text);
    return 0;
}

MwDefine mw_argument_define(const struct argp_state *state, MwArena *arena, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        argp_error(state, "-D wants SIZE=VALUE, not '%s'", text);
    return (MwDefine){mw_arena_strndup(arena, text, (size_t)(equals - text)), equals + 1};
}

void mw_result_write(const char *path, const MwText *text, MwDiags *diags)
{
    bool good;
    if (path)
        good = mw_file_write(path, text->at, text->bytes, 0644);
    else
        good = fwrite(text->at, 1, text->bytes, stdout) == text->bytes && fflush(stdout) == 0;
    if (!good)
        mw_diag_error(diags, mw_span_none(), "cannot write %s: %s", path ? path : "the output",
                      strerror(errno));
}

int mw_output_finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "meshwright: error: cannot write the output: %s\n", strerror(errno));
    return status ? status : 1;
}
