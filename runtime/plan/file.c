/* SPDX-License-Identifier: MIT */
/* Where a plan is found: a file of its own, or the section .mwplan of an executable that
 * `meshwright compile` made (ELF, 64 bits, little-endian). Headers of the executable are not
 * trusted. */
#include "base/file.h"
#include "runtime/plan/format.h"
#include "runtime/plan/plan.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A copy of `bytes` at `offset`, which need not be aligned. False if they are not all there. */
static bool read_at(const MwSource *file, uint64_t offset, void *to, size_t bytes)
{
    if (offset > file->bytes || bytes > file->bytes - offset)
        return false;
    memcpy(to, file->text + offset, bytes);
    return true;
}

static bool read_section(const MwSource *file, const Elf64_Ehdr *header, uint64_t index,
                         Elf64_Shdr *section)
{
    uint64_t offset;
    return header->e_shentsize == sizeof *section && header->e_shoff < file->bytes &&
           !__builtin_add_overflow(header->e_shoff, index * sizeof *section, &offset) &&
           read_at(file, offset, section, sizeof *section);
}

static bool has_name(const MwSource *file, const Elf64_Shdr *names, const Elf64_Shdr *section)
{
    char name[sizeof MW_PLAN_SECTION];
    uint64_t offset;
    return !__builtin_add_overflow(names->sh_offset, section->sh_name, &offset) &&
           read_at(file, offset, name, sizeof name) &&
           memcmp(name, MW_PLAN_SECTION, sizeof name) == 0;
}

/* The plan's text inside an executable. */
static bool find_section(const MwSource *file, MwSource *plan)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    if (!read_at(file, 0, &header, sizeof header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        !read_section(file, &header, header.e_shstrndx, &names))
        return false;
    for (uint64_t i = 0; i < header.e_shnum && read_section(file, &header, i, &section); i++) {
        if (!has_name(file, &names, &section))
            continue;
        if (section.sh_offset > file->bytes || section.sh_size > file->bytes - section.sh_offset)
            return false;
        *plan = (MwSource){file->name, file->text + section.sh_offset, section.sh_size};
        return true;
    }
    return false;
}

/* Whether the file begins with these bytes. */
static bool begins_with(const char *path, const char *bytes, size_t count)
{
    char first[32];
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    MW_ASSERT(count <= sizeof first);
    const bool does = fread(first, 1, count, file) == count && memcmp(first, bytes, count) == 0;
    fclose(file);
    return does;
}

bool mw_plan_is_at(MwArena *arena, const char *path)
{
    MwSource file = {.name = path};
    if (begins_with(path, MW_PLAN_MAGIC, strlen(MW_PLAN_MAGIC)))
        return true;
    if (!begins_with(path, ELFMAG, SELFMAG))
        return false;
    file.text = mw_file_read(arena, path, &file.bytes);
    return file.text && find_section(&file, &file);
}

MwPlan *mw_plan_read(MwArena *arena, const char *path, MwDiags *diags)
{
    MwSource *source = MW_NEW(arena, MwSource, 1);
    source->name = mw_arena_strdup(arena, path);
    source->text = mw_file_read(arena, path, &source->bytes);
    if (!source->text) {
        mw_diag_error(diags, mw_span_none(), "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    if (source->bytes >= SELFMAG && memcmp(source->text, ELFMAG, SELFMAG) == 0 &&
        !find_section(source, source)) {
        mw_diag_error(diags, mw_span_none(),
                      "%s is an executable without a plan: it was not made by 'meshwright compile'",
                      path);
        return NULL;
    }
    return mw_plan_parse(arena, source, diags);
}
