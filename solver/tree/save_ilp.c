/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the whole unreduced problem as the integer linear program of ilp.c. */
#include "base/text.h"
#include "solver/file/replace.h"
#include "solver/tree/ilp.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

typedef struct {
    const MwProblem *problem;
    bool mps, zipped;
} Saving;

/* Writes the program uncompressed. GLPK takes only a file name, so the name refers to the open
 * file. */
static bool write_plain(const Saving *saving, int fd)
{
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const MwProblem *problem = saving->problem;
    MwArena *scratch = mw_arena_new();
    MwCore *core = mw_core_build(scratch, mw_tables_new(scratch), problem, true);
    MwIlp ilp = mw_ilp_build(scratch, core, ldexp(1, -core->scale));
    if (problem->name && strlen(problem->name) < 256)
        glp_set_prob_name(ilp.program, problem->name);
    glp_term_out(GLP_OFF);
    errno = EIO; /* GLPK reports a failed write without a reason */
    bool good = saving->mps ? glp_write_mps(ilp.program, GLP_MPS_FILE, NULL, name) == 0
                            : glp_write_lp(ilp.program, NULL, name) == 0;
    glp_delete_prob(ilp.program);
    mw_arena_free(&scratch);
    return good;
}

/* Compresses all of `from`, from its beginning. */
static bool zip(int from, int to)
{
    char bytes[1 << 16];
    int own = dup(to); /* gzclose closes this duplicate */
    gzFile file = own < 0 ? NULL : gzdopen(own, "wb6");
    if (!file) {
        if (own >= 0)
            close(own);
        return false;
    }
    ssize_t got;
    off_t at = 0;
    bool good = true;
    while (good && (got = pread(from, bytes, sizeof bytes, at)) > 0) {
        good = gzwrite(file, bytes, (unsigned)got) == (int)got;
        at += got;
    }
    return gzclose(file) == Z_OK && good && got == 0;
}

static bool write_program(int fd, const void *context)
{
    const Saving *saving = context;
    if (!saving->zipped)
        return write_plain(saving, fd);
    int plain = memfd_create("ilp", MFD_CLOEXEC);
    if (plain < 0)
        return false;
    bool good = write_plain(saving, plain) && zip(plain, fd);
    close(plain);
    return good;
}

bool mw_problem_save_ilp(const MwProblem *problem, const char *path, MwDiags *diags)
{
    const Saving saving = {.problem = problem,
                           .mps = mw_text_ends_in(path, ".mps") || mw_text_ends_in(path, ".mps.gz"),
                           .zipped = mw_text_ends_in(path, ".gz")};
    return mw_file_replace(path, write_program, &saving, diags);
}
