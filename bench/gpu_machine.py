# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine with a GPU has: hardware, driver, toolkit and libraries, and what of that does not
go together or is missing."""
import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys

from gpu_tools import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import gpus  # noqa: E402

# The library, and its function for the version, which it returns or, as NCCL's, stores.
LIBRARIES = {"cuBLASLt": ("libcublasLt.so", "cublasLtGetVersion"),
             "cuDNN": ("libcudnn.so", "cudnnGetVersion"),
             "NCCL": ("libnccl.so", "ncclGetVersion")}
MAJORS = {"libcublasLt.so": (14, 13, 12), "libcudnn.so": (10, 9), "libnccl.so": (2,)}


def output(*words):
    """What a command prints; "" if it is not there or fails."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def load(name):
    """The library of the newest major version that the loader finds, or None."""
    for major in MAJORS[name]:
        try:
            return ctypes.CDLL(f"{name}.{major}")
        except OSError:
            pass
    return None


def version_of(name, function):
    """Its number, or None."""
    library = load(name)
    if library is None:
        return None
    if name == "libnccl.so":
        number = ctypes.c_int()
        return number.value if library.ncclGetVersion(ctypes.byref(number)) == 0 else None
    call = getattr(library, function)
    call.restype = ctypes.c_size_t
    return call()


def driver_cuda():
    """The newest version of CUDA that the driver has, as (13, 0), or None."""
    number = ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    return divmod(number.value // 10, 100) if driver.cuDriverGetVersion(
        ctypes.byref(number)) == 0 else None


def toolkit_cuda(nvcc):
    found = re.search(r"release (\d+)\.(\d+)", output(nvcc, "--version"))
    return (int(found[1]), int(found[2])) if found else None


def named(version):
    return f"{version[0]}.{version[1]}" if version else "none"


def facts(commit, python):
    """{what: as text}; `python` is the interpreter that may have PyTorch."""
    nvcc = os.environ.get("NVCC") or program("nvcc") or "nvcc"
    driver, toolkit = driver_cuda(), toolkit_cuda(nvcc)
    found = {"commit": commit,
             "GPU": output("nvidia-smi", "--query-gpu=name,memory.total,compute_cap",
                           "--format=csv,noheader") or ", ".join(gpus.names()) or "none",
             "driver": output("nvidia-smi", "--query-gpu=driver_version",
                              "--format=csv,noheader").split("\n")[0] or "none",
             "CUDA of the driver": named(driver), "CUDA toolkit": named(toolkit)}
    for library, (name, function) in LIBRARIES.items():
        found[library] = str(version_of(name, function) or "none")
    found["compute-sanitizer"] = program("compute-sanitizer") or "none"
    found["PyTorch"] = output(python, "-c", "import torch; print(torch.__version__)") or "none"
    found["C library, cores"] = f"{' '.join(platform.libc_ver())}, {os.cpu_count()}"
    return found


def program(name):
    """Its path, in PATH or where the toolkit is by default; None: it is not there."""
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def troubles(found):
    """Sentences on what keeps GPUs from running our programs."""
    if found["GPU"] == "none":
        yield "CUDA finds no GPU: is there a driver, and may this user open /dev/nvidia*?"
    if found["CUDA toolkit"] == "none":
        yield "there is no nvcc, by which kernels are compiled: NVCC names one that is not in PATH"
    elif found["CUDA of the driver"] != "none" and (
            int(found["CUDA toolkit"].split(".")[0]) > int(found["CUDA of the driver"].split(".")[0])):
        yield (f"the toolkit is of CUDA {found['CUDA toolkit']}, and the driver has CUDA "
               f"{found['CUDA of the driver']} at most: it needs a newer driver")
    if found["cuBLASLt"] == "none":
        yield "there is no cuBLASLt, by which products are computed"
