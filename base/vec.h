/* SPDX-License-Identifier: MIT */
/* A growable array in an arena: `MW_VEC(int) v = {0}; *mw_vec_add(arena, &v) = 7; v.at[0]`.
 *
 * Growing copies the array and leaves the old one in the arena, so pointers into `at` are valid
 * only until the next element is added. */
#ifndef MW_BASE_VEC_H
#define MW_BASE_VEC_H

#include "base/arena.h"

#define MW_VEC(type)                                                                               \
    struct {                                                                                       \
        type *at;                                                                                  \
        int count, capacity;                                                                       \
    }

/* A pointer to a new zeroed element at the end. */
#define mw_vec_add(arena, vec)                                                                     \
    ((vec)->count == (vec)->capacity                                                               \
         ? (void)((vec)->at =                                                                      \
                      mw_vec_grow((arena), (vec)->at, &(vec)->capacity, sizeof *(vec)->at))        \
         : (void)0,                                                                                \
     &(vec)->at[(vec)->count++])

#define mw_vec_push(arena, vec, value) ((void)(*mw_vec_add((arena), (vec)) = (value)))

#define mw_vec_last(vec) ((vec)->at[(vec)->count - 1])

/* Makes room for `room` elements in an array that has none yet. */
#define mw_vec_reserve(arena, vec, room)                                                           \
    ((void)((vec)->at = mw_arena_alloc((arena), sizeof *(vec)->at * (size_t)(room)),               \
            (vec)->capacity = (room)))

void *mw_vec_grow(MwArena *arena, const void *at, int *capacity, size_t element_bytes);

#endif
