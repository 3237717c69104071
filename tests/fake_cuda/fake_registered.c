/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/fake_cuda/fake_registered.h"

/* The entry of the memory, or with NULL a free one; -1: there is none. */
static int find(const FakeRegistered *registered, const void *memory)
{
    for (int i = 0; i < FAKE_MOST_REGISTERED; i++)
        if (registered->at[i].memory == memory)
            return i;
    return -1;
}

void *fake_registered_add(FakeRegistered *registered, void *memory, size_t bytes)
{
    const int i = find(registered, NULL);
    if (i < 0)
        return NULL;
    registered->at[i].memory = memory;
    registered->at[i].bytes = bytes;
    return &registered->at[i];
}

bool fake_registered_remove(FakeRegistered *registered, void *handle)
{
    for (int i = 0; i < FAKE_MOST_REGISTERED; i++) {
        if (handle != &registered->at[i] || !registered->at[i].memory)
            continue;
        registered->at[i].memory = NULL;
        return true;
    }
    return false;
}

int fake_registered_count(const FakeRegistered *registered)
{
    int count = 0;
    for (int i = 0; i < FAKE_MOST_REGISTERED; i++)
        count += registered->at[i].memory != NULL;
    return count;
}

bool fake_registered_has(const FakeRegistered *registered, const void *memory)
{
    return memory && find(registered, memory) >= 0;
}

int64_t fake_registered_place(const FakeRegistered *registered, const char *address)
{
    for (int i = 0; i < FAKE_MOST_REGISTERED; i++) {
        const char *memory = registered->at[i].memory;
        if (memory && address >= memory && address < memory + registered->at[i].bytes)
            return address - memory;
    }
    return -1;
}
