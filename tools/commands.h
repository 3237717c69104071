/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands of `meshwright`. Each takes its own arguments, argv[0] being "meshwright NAME", and
 * gives the exit status: 0, or 1 after errors, which it has printed. argp ends the process with 64
 * for wrong usage. (Those of `diff` are diff(1)'s.) */
#ifndef MW_TOOLS_COMMANDS_H
#define MW_TOOLS_COMMANDS_H

#define MW_COMMANDS(COMMAND)                                                                       \
    COMMAND(compile, "make a parallel executable of a .graph file")                                \
    COMMAND(plan, "plan a .graph file for a cluster")                                              \
    COMMAND(inspect, "show what a plan or executable does, and why")                               \
    COMMAND(explain, "explain why a value is sharded so, or why a layout is not taken")            \
    COMMAND(sweep, "plan with many values of sizes, of figures of a cluster, and of options")      \
    COMMAND(advise, "tell which cluster, and how many nodes of it, take least time or cost")       \
    COMMAND(memory, "show what each way to save memory costs and gives")                           \
    COMMAND(diff, "show what two plans differ in")                                                 \
    COMMAND(trace, "tell where a run and its prediction differ")                                   \
    COMMAND(simulate, "simulate a plan on devices and links that are not here")                    \
    COMMAND(check, "parse and verify a .graph file")                                               \
    COMMAND(import, "make a .graph file of an ONNX model, or of a flat one")                       \
    COMMAND(schedule, "draw a pipeline schedule and compute its bubble")                           \
    COMMAND(export, "write the weights of a checkpoint for other software")                        \
    COMMAND(profile, "measure this machine into a .cluster file")                                  \
    COMMAND(tokenize, "turn text into tokens by a tokenizer.json")                                 \
    COMMAND(collectives, "compare the algorithms of a collective on a cluster")                    \
    COMMAND(list, "list models, clusters, passes, schedules, or the sizes of a model")

#define MW_DECLARE_COMMAND(name, what) int mw_command_##name(int argc, char **argv);
MW_COMMANDS(MW_DECLARE_COMMAND)
#undef MW_DECLARE_COMMAND

#endif
