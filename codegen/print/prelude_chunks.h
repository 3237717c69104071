/* SPDX-License-Identifier: MIT */
/* Into how many chunks a flat kernel cuts what it walks: the part of the text of generated CUDA C
 * (codegen/print/prelude_reduce.h says how the parts follow each other) that the compiler includes too, because
 * it gives a kernel memory for what the chunks of a sum leave. It has no include guard: it is embedded in one
 * unit, or included by one file.
 *
 * MW_MOST_SUM_CHUNKS   chunks of one set of operands that a sum is cut into, at most. More of them keep more of
 *                      the GPU busy and leave more for the function that adds them up: 2 KiB of sums here.
 *                      Not measured: needs a GPU
 * MW_BLOCKS_WANTED     blocks below which elements of all sets are cut into smaller chunks, down to what the
 *                      threads of a block take at once: a GPU of 132 multiprocessors runs some 8 blocks of 256
 *                      threads on each. Not measured: needs a GPU */
enum { MW_MOST_SUM_CHUNKS = 256, MW_BLOCKS_WANTED = 1024 };
