/* SPDX-License-Identifier: MIT */
/* The tags of messages on MPI_COMM_WORLD. */
#ifndef MW_RUNTIME_MPI_TAGS_H
#define MW_RUNTIME_MPI_TAGS_H

enum {
    MW_TAG_HOST = 1,       /* messages between hosts */
    MW_TAG_CONTROL = 2,    /* control messages */
    MW_TAG_ALL_REDUCE = 3, /* messages of all_reduce.h, on any communicator */
    MW_TAG_FIRST_TRANSFER =
        16, /* messages between devices: this plus the tag of their message set */
};

#endif
