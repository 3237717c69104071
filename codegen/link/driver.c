/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/link/driver.h"

#include "base/backend.h"
#include "base/beside.h"
#include "base/file.h"
#include "base/process.h"
#include "base/vec.h"
#include "codegen/link/driver_config.h"
#include "codegen/link/object_cache.h"
#include "runtime/plan/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef MW_VEC(const char *) Words;
typedef struct Build Build;

/* How executables for a backend are made here, besides what base/backends.def says. */
typedef struct {
    const char *missing;  /* why they cannot be made; empty: they can */
    const char *compiler; /* of kernels, where the environment names no other */
    const char *link_flags;
    void (*add_flags)(const Build *b, Words *words); /* for the compiler of kernels */
} Target;

/* Sources and objects of one executable, in a folder of their own. */
struct Build {
    MwArena *arena;
    MwDiags *diags;
    const MwPlan *plan;
    const MwBackendInfo *backend;
    const Target *target; /* of the plan's backend */
    const char *cuda_arch;
    const char *folder;
    const char *kernels, *object, *program, *text, *executable; /* files there */
    /* of the kernels that run on the host beside those of GPUs; NULL: there are none */
    const char *host_kernels, *host_object;
    const char *version;    /* what the compiler says of itself */
    const char *meshwright; /* the version of this meshwright */
    const char *archives;   /* the folder of the runtime's */
};

/* The backend whose compiler links all executables, and compiles what runs on the host. */
static const MwBackendId linker = MW_BACKEND_cpu;

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
    "                const MwKernelEntry *kernels, const MwBackend *const *backends,\n"
    "                const char *version);\n"
    "__asm__(\".section " MW_PLAN_SECTION ", \\\"a\\\"\\n\"\n"
    "        \".globl mw_plan_begin, mw_plan_end\\n\"\n"
    "        \"mw_plan_begin: .incbin \\\"%s\\\"\\n\"\n"
    "        \"mw_plan_end:\\n\"\n"
    "        \".previous\");\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    return mw_run_text(argc, argv, mw_plan_begin, (size_t)(mw_plan_end - mw_plan_begin),\n"
    "                       mw_kernel_table, backends, \"%s\");\n"
    "}\n";

/* ---- Where things are ---- */

static const char *path_of(const Build *b, const char *name, const char *suffix)
{
    return mw_arena_printf(b->arena, "%s/%s%s", b->folder, name, suffix);
}

static bool make_folder(Build *b)
{
    const char *parent = mw_file_scratch();
    char *folder = mw_arena_printf(b->arena, "%s/meshwright-XXXXXX", parent);
    if (!mkdtemp(folder))
        return fail(b, "make a folder in", parent);
    b->folder = folder;
    b->kernels = path_of(b, "kernels", b->backend->suffix);
    b->object = path_of(b, "kernels", ".o");
    b->program = path_of(b, "program", ".c");
    b->text = path_of(b, "plan", "");
    b->executable = path_of(b, "program", "");
    b->version = path_of(b, "version", "");
    for (int i = 0; i < b->plan->kernel_count; i++) {
        if (!b->plan->kernels[i].on_host)
            continue;
        b->host_kernels = path_of(b, "host", mw_backend_info(linker)->suffix);
        b->host_object = path_of(b, "host", ".o");
    }
    return true;
}

static void remove_files(const Build *b)
{
    const char *const files[] = {b->kernels,    b->object,  b->program,      b->text,
                                 b->executable, b->version, b->host_kernels, b->host_object};
    for (int i = 0; i < MW_COUNT(files); i++)
        if (files[i])
            unlink(files[i]);
    rmdir(b->folder);
}

/* The archives beside the compiler in the build folder or a tree that was installed, wherever that
 * is now, or where they are installed. */
static bool find_archives(Build *b)
{
    const char *const places[] = {mw_beside_program(b->arena, "../runtime"),
                                  mw_beside_program(b->arena, MW_RUNTIME_FROM_PROGRAMS),
                                  MW_RUNTIME_FOLDER};
    for (int i = 0; i < MW_COUNT(places) && !b->archives; i++)
        if (access(mw_arena_printf(b->arena, "%s/libmwruntime.a", places[i]), R_OK) == 0)
            b->archives = places[i];
    if (!b->archives)
        mw_diag_error(b->diags, mw_span_none(),
                      "cannot find the runtime: libmwruntime.a is neither in %s nor in %s",
                      places[1], places[2]);
    return b->archives != NULL;
}

/* ---- Commands ---- */

static void add_word(const Build *b, Words *words, const char *word)
{
    mw_vec_push(b->arena, words, word);
}

/* Adds the words of a text, which blanks separate. */
static void add_words(const Build *b, Words *words, const char *text)
{
    char *rest = mw_arena_strdup(b->arena, text), *word;
    while ((word = strsep(&rest, " ")))
        if (*word)
            add_word(b, words, word);
}

static void add_flags(const Build *b, Words *words, const char *const *flags, int count)
{
    for (int i = 0; i < count; i++)
        add_word(b, words, flags[i]);
}

static void add_cpu_flags(const Build *b, Words *words)
{
    static const char *const flags[] = {MW_KERNEL_C_FLAGS};
    add_flags(b, words, flags, MW_COUNT(flags));
}

/* Adds flags for code for each wanted kind of GPU, and for PTX for the last, from which later GPUs
 * make their code. */
static void add_cuda_flags(const Build *b, Words *words)
{
    static const char *const flags[] = {MW_KERNEL_CUDA_FLAGS, "--threads", "0"};
    char *rest = mw_arena_strdup(b->arena, b->cuda_arch), *arch;
    add_flags(b, words, flags, MW_COUNT(flags));
    while ((arch = strsep(&rest, ","))) {
        const char *format =
            rest ? "arch=compute_%s,code=sm_%s" : "arch=compute_%s,code=[sm_%s,compute_%s]";
        add_word(b, words, "-gencode");
        add_word(b, words, mw_arena_printf(b->arena, format, arch, arch, arch));
    }
}

static const Target targets[MW_BACKEND_COUNT] = {
#define BACKEND(id, ...)                                                                           \
    [MW_BACKEND_##                                                                                 \
        id] = {MW_##id##_MISSING, MW_##id##_COMPILER, MW_##id##_LINK_FLAGS, add_##id##_flags},
#include "base/backends.def"
#undef BACKEND
};

static void add_compiler(const Build *b, Words *words, MwBackendId backend)
{
    const char *named = getenv(mw_backend_info(backend)->variable);
    add_words(b, words, named && *named ? named : targets[backend].compiler);
}

/* The status of a command, which ends with NULL, or -1 after an error. */
static int run(const Build *b, const Words *words, int output, const char *what)
{
    const int status = mw_process_run(words->at, output);
    if (status < 0)
        fail(b, mw_arena_printf(b->arena, "run %s", what), words->at[0]);
    return status;
}

/* ---- Kernels ---- */

static bool write_text(const Build *b, const char *path, const char *text, size_t bytes)
{
    return mw_file_write(path, text, bytes, 0600) || fail(b, "write", path);
}

/* All that the object depends on: the compiler, its flags, what it adds to them, and the source.
 * False where the compiler does not tell its version. */
static bool object_key(const Build *b, const Words *flags, MwText *key)
{
    static const char *const added[] = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"};
    Words words = {0};
    size_t bytes;
    const int output = open(b->version, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (output < 0)
        return false;
    add_compiler(b, &words, b->backend->id);
    add_word(b, &words, "--version");
    add_word(b, &words, NULL);
    const int status = mw_process_run(words.at, output);
    close(output);
    const char *version = status == 0 ? mw_file_read(b->arena, b->version, &bytes) : NULL;
    mw_text_printf(key, "%s\n", version ? version : "");
    for (int i = 0; i < flags->count; i++)
        mw_text_printf(key, "%s\n", flags->at[i]);
    for (int i = 0; i < MW_COUNT(added); i++)
        mw_text_printf(key, "%s\n", getenv(added[i]) ? getenv(added[i]) : "");
    mw_text_add(key, b->plan->kernel_source);
    return version != NULL;
}

static int run_compiler(const Build *b, const Words *command)
{
    const char *const files[] = {"-c", "-o", b->object, b->kernels, NULL};
    Words words = {0};
    add_flags(b, &words, command->at, command->count);
    add_flags(b, &words, files, MW_COUNT(files));
    return run(b, &words, -1, b->backend->compiler);
}

/* The status of the compiler, or -1 after an error; 0 where the object was there. */
static int compile_kernels(const Build *b)
{
    Words words = {0};
    MwText key = {.arena = b->arena};
    size_t bytes;
    add_compiler(b, &words, b->backend->id);
    b->target->add_flags(b, &words);
    const bool is_kept = b->backend->keeps_objects && object_key(b, &words, &key);
    const char *object = is_kept ? mw_object_cache_find(b->arena, &key, &bytes) : NULL;
    if (object)
        return write_text(b, b->object, object, bytes) ? 0 : -1;
    const int status = run_compiler(b, &words);
    if (status == 0 && is_kept && (object = mw_file_read(b->arena, b->object, &bytes)))
        mw_object_cache_keep(b->arena, &key, object, bytes);
    return status;
}

/* The same for the kernels of the host, if there are any. */
static int compile_host_kernels(const Build *b)
{
    const char *const files[] = {"-c", "-o", b->host_object, b->host_kernels, NULL};
    Words words = {0};
    if (!b->host_kernels)
        return 0;
    add_compiler(b, &words, linker);
    add_cpu_flags(b, &words);
    add_flags(b, &words, files, MW_COUNT(files));
    return run(b, &words, -1, mw_backend_info(linker)->compiler);
}

/* ---- The executable ---- */

static bool write_host_kernels(const Build *b)
{
    MwText text = {.arena = b->arena};
    mw_text_printf(&text, "%s%s", MW_KERNEL_HOST_LINE, b->plan->kernel_source);
    return write_text(b, b->host_kernels, text.at, text.bytes);
}

static bool write_sources(const Build *b)
{
    MwText text = {.arena = b->arena};
    mw_plan_print(&text, b->plan);
    const char *backend = b->plan->backend;
    const char *program =
        mw_arena_printf(b->arena, program_text, backend, backend, b->text, b->meshwright);
    return write_text(b, b->text, text.at, text.bytes) &&
           write_text(b, b->program, program, strlen(program)) &&
           write_text(b, b->kernels, b->plan->kernel_source, strlen(b->plan->kernel_source)) &&
           (!b->host_kernels || write_host_kernels(b));
}

static int link_program(const Build *b)
{
    const char *const files[] = {"-o", b->executable, b->program, b->object};
    const char *const archives[] = {b->backend->archive, "libmwruntime.a"};
    Words words = {0};
    add_compiler(b, &words, linker);
    add_cpu_flags(b, &words);
    add_flags(b, &words, files, MW_COUNT(files));
    if (b->host_object)
        add_word(b, &words, b->host_object);
    for (int i = 0; i < MW_COUNT(archives); i++)
        if (*archives[i])
            add_word(b, &words, mw_arena_printf(b->arena, "%s/%s", b->archives, archives[i]));
    add_words(b, &words, b->target->link_flags);
    add_word(b, &words, NULL);
    return run(b, &words, -1, mw_backend_info(linker)->compiler);
}

static bool deliver(const Build *b, const char *path)
{
    size_t bytes;
    const char *program = mw_file_read(b->arena, b->executable, &bytes);
    if (!program)
        return fail(b, "read", b->executable);
    return mw_file_write(path, program, bytes, 0755) || fail(b, "write", path);
}

static bool make(Build *b, const char *path)
{
    const char *what = b->backend->compiler;
    if (!find_archives(b) || !make_folder(b))
        return false;
    int status = write_sources(b) ? compile_kernels(b) : -1;
    if (status == 0) {
        what = mw_backend_info(linker)->compiler;
        status = compile_host_kernels(b);
    }
    status = status == 0 ? link_program(b) : status;
    if (status > 0) {
        mw_diag_error(b->diags, mw_span_none(),
                      "%s could not make the executable; its input is in %s", what, b->folder);
        return false;
    }
    const bool made = status == 0 && deliver(b, path);
    remove_files(b);
    return made;
}

/* False after an error: this meshwright has no such backend. */
static bool find_target(Build *b)
{
    const char *name = b->plan->backend;
    b->backend = mw_backend_named(name);
    if (!b->backend) {
        mw_diag_error(b->diags, mw_span_none(), "there is no backend '%s'", name);
        return false;
    }
    b->target = &targets[b->backend->id];
    if (!*b->target->missing)
        return true;
    mw_diag_error(b->diags, mw_span_none(),
                  "this meshwright was built without the backend '%s': %s", name,
                  b->target->missing);
    mw_diag_note(b->diags, mw_span_none(),
                 "`meshwright plan` plans for it; --backend %s makes an executable",
                 mw_backend_info(linker)->name);
    return false;
}

bool mw_codegen_executable(MwArena *arena, const MwPlan *plan, const char *cuda_arch,
                           const char *version, const char *path, MwDiags *diags)
{
    Build b = {.arena = arena,
               .diags = diags,
               .plan = plan,
               .meshwright = version,
               .cuda_arch = cuda_arch ? cuda_arch : MW_CUDA_ARCH};
    return find_target(&b) && make(&b, path);
}
