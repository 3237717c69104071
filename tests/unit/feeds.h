/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of feeds share: files in a folder of their own, and a mesh with inputs. */
#ifndef MW_TESTS_UNIT_FEEDS_H
#define MW_TESTS_UNIT_FEEDS_H

#include "runtime/feed/feed.h"

extern MwArena *arena;
extern const char *folder; /* of the test's files */

void feeds_setup(void);
void feeds_teardown(void);

/* Each returns the path of a file in the folder. */
const char *file_with(const char *name, const void *data, size_t bytes);
const char *npy_with(const char *name, const MwTensor *tensor, const void *data);

enum { BATCH = 8, LENGTH = 6, WIDTH = 4 };

/* tokens and targets i32[8, 6], x f32[8, 4], all split by `spec`. */
MwPlanMesh *mesh_with(MwMeshShape shape, MwSpec spec);
MwSpec spec_of(const char *text);
/* One device. */
MwPlanMesh *mesh_of_one(void);

/* The feeds of two texts, with seed 7. */
MwFeeds *opened(const MwPlanMesh *mesh, const char *first, const char *second);
/* NULL after a fault. */
MwFeeds *tried_feeds(const MwPlanMesh *mesh, const char *const *texts, int count, bool is_shuffled,
                     MwFault *fault);
/* The whole batch of an input, put together from every device's part of every micro-batch. */
void whole_batch(const MwFeeds *feeds, const MwPlanMesh *mesh, int input, int64_t step, int micros,
                 int32_t *to);

#endif
