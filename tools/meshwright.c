/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: finds the command and calls it. */
#include "tools/argument.h"
#include "tools/commands.h"

#include "base/base.h"

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
        fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].what);
    fputs("\n`meshwright COMMAND --help` lists a command's options.\n", out);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return 64;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    for (int i = 0; i < MW_COUNT(commands); i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        char name[64];
        snprintf(name, sizeof name, "meshwright %s", commands[i].name);
        argv[1] = name;
        return mw_output_finish(commands[i].run(argc - 1, argv + 1));
    }
    fprintf(stderr, "meshwright: error: there is no command '%s'\n\n", argv[1]);
    print_usage(stderr);
    return 64;
}
