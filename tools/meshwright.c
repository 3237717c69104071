/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: finds the command and calls it. */
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/version.h"

#include "base/base.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *what;
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND(name, what) {#name, what, mw_command_##name},
    MW_COMMANDS(COMMAND)
#undef COMMAND
};

static void print_usage(FILE *out)
{
    fputs("usage: meshwright COMMAND [options]\n\n", out);
    for (int i = 0; i < MW_COUNT(commands); i++)
        fprintf(out, "  %-11s  %s\n", commands[i].name, commands[i].what);
    fputs(
        "\n`meshwright COMMAND --help` lists a command's options, `meshwright --version` says the "
        "version.\n",
        out);
}

/* Planning makes and frees many copies of graphs. By default malloc returns their memory to the
 * system as soon as it is free, which then gives and clears it anew, page by page: a sixth of the
 * time of planning a small network of convolutions. Both in bytes; what base/arena.c maps itself is
 * larger than the first, and returned at once. */
enum { LARGEST_KEPT_BLOCK = 1 << 22, MOST_KEPT_FREE = 1 << 28 };

int main(int argc, char **argv)
{
    mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BLOCK);
    mallopt(M_TRIM_THRESHOLD, MOST_KEPT_FREE);
    if (argc < 2) {
        print_usage(stderr);
        return 64;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return mw_output_finish(0);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("meshwright %s\n", mw_version);
        return mw_output_finish(0);
    }
    for (int i = 0; i < MW_COUNT(commands); i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        char name[64];
        static char version[160]; /* argp keeps the address */
        snprintf(name, sizeof name, "meshwright %s", commands[i].name);
        snprintf(version, sizeof version, "meshwright %s", mw_version);
        argp_program_version = version;
        argv[1] = name;
        return mw_output_finish(commands[i].run(argc - 1, argv + 1));
    }
    fprintf(stderr, "meshwright: error: there is no command '%s'\n\n", argv[1]);
    print_usage(stderr);
    return 64;
}
