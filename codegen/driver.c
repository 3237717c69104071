/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/driver.h"

#include "base/file.h"
#include "base/vec.h"
#include "codegen/driver_config.h"
#include "runtime/kernel.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Sources and objects of one executable, in a folder of their own. */
typedef struct {
    MwArena *arena;
    MwDiags *diags;
    const char *folder;
    const char *kernels, *program, *plan; /* kernels.c, program.c, the plan's text */
    const char *executable;
    const char *archive; /* of the runtime */
} Build;

static bool fail(const Build *b, const char *what, const char *path)
{
    mw_diag_error(b->diags, mw_span_none(), "cannot %s %s: %s", what, path, strerror(errno));
    return false;
}

/* The program: the plan as it stands in a section of its own, and a main that runs it. */
static const char program_text[] =
    "#include <stddef.h>\n"
    "typedef struct {\n"
    "    const char *name;\n"
    "    void *function;\n"
    "} MwKernelEntry;\n"
    "typedef struct MwBackend MwBackend;\n"
    "extern const MwKernelEntry mw_kernel_table[];\n"
    "extern const MwBackend mw_backend_%s;\n"
    "static const MwBackend *const backends[] = {&mw_backend_%s, NULL};\n"
    "extern const char mw_plan_begin[], mw_plan_end[];\n"
    "int mw_run_text(int argc, char **argv, const char *text, size_t bytes,\n"
    "                const MwKernelEntry *kernels, const MwBackend *const *backends);\n"
    "__asm__(\".section " MW_PLAN_SECTION ", \\\"a\\\"\\n\"\n"
    "        \".globl mw_plan_begin, mw_plan_end\\n\"\n"
    "        \"mw_plan_begin: .incbin \\\"%s\\\"\\n\"\n"
    "        \"mw_plan_end:\\n\"\n"
    "        \".previous\");\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    return mw_run_text(argc, argv, mw_plan_begin, (size_t)(mw_plan_end - mw_plan_begin),\n"
    "                       mw_kernel_table, backends);\n"
    "}\n";

/* ---- Where things are ---- */

static bool make_folder(Build *b)
{
    const char *parent = mw_file_scratch();
    char *folder = mw_arena_printf(b->arena, "%s/meshwright-XXXXXX", parent);
    if (!mkdtemp(folder))
        return fail(b, "make a folder in", parent);
    b->folder = folder;
    b->kernels = mw_arena_printf(b->arena, "%s/kernels.c", folder);
    b->program = mw_arena_printf(b->arena, "%s/program.c", folder);
    b->plan = mw_arena_printf(b->arena, "%s/plan", folder);
    b->executable = mw_arena_printf(b->arena, "%s/program", folder);
    return true;
}

/* The archive beside the compiler in the build tree, or where it is installed. */
static bool find_archive(Build *b)
{
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return fail(b, "read", "/proc/self/exe");
    const char *const places[] = {
        mw_arena_printf(b->arena, "%s/../runtime/libmwruntime.a", dirname(self)),
        MW_RUNTIME_FOLDER "/libmwruntime.a"};
    for (int i = 0; i < MW_COUNT(places) && !b->archive; i++)
        if (access(places[i], R_OK) == 0)
            b->archive = places[i];
    if (!b->archive)
        mw_diag_error(b->diags, mw_span_none(),
                      "cannot find the runtime: neither %s nor %s is there", places[0], places[1]);
    return b->archive != NULL;
}

/* ---- Compiling ---- */

static bool write_text(const Build *b, const char *path, const char *text, size_t bytes)
{
    return mw_file_write(path, text, bytes, 0600) || fail(b, "write", path);
}

static bool write_sources(const Build *b, const MwPlan *plan)
{
    MwText text = {.arena = b->arena};
    mw_plan_print(&text, plan);
    const char *program =
        mw_arena_printf(b->arena, program_text, plan->backend, plan->backend, b->plan);
    return write_text(b, b->plan, text.at, text.bytes) &&
           write_text(b, b->program, program, strlen(program)) &&
           write_text(b, b->kernels, plan->kernel_source, strlen(plan->kernel_source));
}

typedef MW_VEC(const char *) Words;

static void add_words(const Build *b, Words *words, const char *text)
{
    char *rest = mw_arena_strdup(b->arena, text), *word;
    while ((word = strsep(&rest, " ")))
        if (*word)
            mw_vec_push(b->arena, words, word);
}

static void compiler_words(const Build *b, Words *words)
{
    static const char *const flags[] = {MW_KERNEL_C_FLAGS};
    add_words(b, words, getenv("CC") && *getenv("CC") ? getenv("CC") : "cc");
    for (int i = 0; i < MW_COUNT(flags); i++)
        mw_vec_push(b->arena, words, flags[i]);
    const char *const files[] = {"-o", b->executable, b->program, b->kernels, b->archive};
    for (int i = 0; i < MW_COUNT(files); i++)
        mw_vec_push(b->arena, words, files[i]);
    add_words(b, words, MW_LINK_FLAGS);
    mw_vec_push(b->arena, words, NULL);
}

/* The status of the C compiler, or -1 after an error. */
static int run_compiler(const Build *b)
{
    Words words = {0};
    compiler_words(b, &words);
    pid_t pid;
    int status;
    errno =
        posix_spawnp(&pid, words.at[0], NULL, NULL, (char *const *)(uintptr_t)words.at, environ);
    if (errno) {
        fail(b, "run the C compiler", words.at[0]);
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            fail(b, "wait for", words.at[0]);
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static bool deliver(const Build *b, const char *path)
{
    size_t bytes;
    const char *program = mw_file_read(b->arena, b->executable, &bytes);
    if (!program)
        return fail(b, "read", b->executable);
    return mw_file_write(path, program, bytes, 0755) || fail(b, "write", path);
}

static void remove_files(const Build *b)
{
    unlink(b->kernels);
    unlink(b->program);
    unlink(b->plan);
    unlink(b->executable);
    rmdir(b->folder);
}

bool mw_codegen_executable(MwArena *arena, const MwPlan *plan, const char *path, MwDiags *diags)
{
    if (strcmp(plan->backend, "cpu") != 0) {
        mw_diag_error(diags, mw_span_none(), "there is no code generator for backend '%s' yet",
                      plan->backend);
        mw_diag_note(diags, mw_span_none(),
                     "`meshwright plan` plans for it; --backend cpu makes an executable");
        return false;
    }
    Build b = {.arena = arena, .diags = diags};
    if (!find_archive(&b) || !make_folder(&b))
        return false;
    int status = write_sources(&b, plan) ? run_compiler(&b) : -1;
    if (status > 0) {
        mw_diag_error(diags, mw_span_none(),
                      "the C compiler could not make the executable; its input is in %s", b.folder);
        return false;
    }
    bool made = status == 0 && deliver(&b, path);
    remove_files(&b);
    return made;
}
