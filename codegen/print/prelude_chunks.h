/* SPDX-License-Identifier: MIT */
/* The number of chunks that a flat kernel cuts its points into. This is the part of the text of
 * generated CUDA C (codegen/print/prelude_reduce.h lists the parts) that the compiler includes,
 * too, because it gives a kernel memory for the sums of the chunks. It has no include guard: it is
 * embedded in one unit, or included by one file.
 *
 * MW_MOST_SUM_CHUNKS   maximum number of chunks of a sum over one set of operands. More chunks keep
 *                      more of the GPU busy and leave more work for the function that adds them up:
 *                      2 KiB of sums here. Not measured: needs a GPU
 * MW_BLOCKS_WANTED     number of blocks below which elements of all sets are cut into smaller
 *                      chunks, down to what the threads of a block take at once: a GPU of 132
 *                      multiprocessors runs some 8 blocks of 256 threads on each. Not measured:
 *                      needs a GPU */
enum { MW_MOST_SUM_CHUNKS = 256, MW_BLOCKS_WANTED = 1024 };
