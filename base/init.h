/* SPDX-License-Identifier: MIT */
/* How weights and states begin. */
#ifndef MW_BASE_INIT_H
#define MW_BASE_INIT_H

#include <stdbool.h>

typedef enum {
    MW_INIT_ZEROS,
    MW_INIT_ONES,
    MW_INIT_NORMAL,   /* mean 0, and a standard deviation */
    MW_INIT_UNIFORM,  /* in (-limit, limit) */
    MW_INIT_CONSTANT, /* a value */
} MwInit;
enum { MW_INIT_COUNT = MW_INIT_CONSTANT + 1 };

typedef struct {
    const char *name;   /* in models, dumps and plans */
    const char *number; /* what it takes; NULL: nothing */
    bool is_random;     /* makes random floats, of a number of at least 0 */
} MwInitInfo;

const MwInitInfo *mw_init_info(MwInit init);
/* The initialiser with that name; false if there is none. */
bool mw_init_parse(const char *name, MwInit *init);

#endif
