/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that stop in the middle and go on later, each on a stack of its own. One runs at a
 * time; what entered it goes on when it leaves. */
#ifndef MW_TESTS_KERNELS_FIBERS_H
#define MW_TESTS_KERNELS_FIBERS_H

typedef struct Fiber Fiber;

/* What __builtin_setjmp keeps. */
typedef void *FiberPlace[5];

/* A fiber at rest, or a new one. The first fiber_enter calls `run`, which does not return. A
 * program gives all of its fibers the same `run`. Ends the program where there is no memory. */
Fiber *fiber_take(void (*run)(void));

/* Puts a fiber to rest: the next to take it finds it where it left. */
void fiber_rest(Fiber *fiber);

/* Forgets where a fiber left: the next fiber_enter calls its `run` anew. */
void fiber_forget(Fiber *fiber);

/* Runs a fiber until it leaves for `back`. */
void fiber_enter(Fiber *fiber, FiberPlace back);

/* Called on the fiber's stack; returns when it is entered again. */
void fiber_leave(Fiber *fiber, FiberPlace back);

#endif
