#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of this machine, by CUDA's driver; it needs no toolkit. As a program, prints their
names, and fails where there are none. Those of tests/fake_cuda count where FAKE_CUDA_DEVICES has so
many."""
import ctypes
import os
import sys


def names():
    """One for each GPU that this process can use; none where there is no driver."""
    fakes = os.environ.get("FAKE_CUDA_DEVICES")
    if fakes is not None:
        return ["a fake"] * int(fakes)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    found = []
    for device in range(count.value):
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(name, len(name), device)
        found.append(name.value.decode())
    return found


def main():
    found = names()
    if not found:
        print("this machine has no GPU that CUDA can use", file=sys.stderr)
        return 1
    print("\n".join(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
