/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that is registered with a communicator of the fake of NCCL. */
#ifndef FAKE_CUDA_FAKE_REGISTERED_H
#define FAKE_CUDA_FAKE_REGISTERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_MOST_REGISTERED = 8 };

typedef struct {
    struct {
        char *memory; /* NULL: none */
        size_t bytes;
    } at[FAKE_MOST_REGISTERED];
} FakeRegistered;

/* A handle; NULL: there is no room. */
void *fake_registered_add(FakeRegistered *registered, void *memory, size_t bytes);
/* False if there is no such handle. */
bool fake_registered_remove(FakeRegistered *registered, void *handle);
int fake_registered_count(const FakeRegistered *registered);
bool fake_registered_has(const FakeRegistered *registered, const void *memory);
/* Where an address is in memory that is registered; -1: it is in none. */
int64_t fake_registered_place(const FakeRegistered *registered, const char *address);

#endif
